"""Pictures of problems and answers, drawn once: as SVG, as text, as fields."""

from __future__ import annotations

from allocsolve.pictures.svg import Drawing
from allocsolve.pictures.views import describe, plot, undrawable, units

__all__ = ["Drawing", "describe", "plot", "undrawable", "units"]
