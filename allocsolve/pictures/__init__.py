"""Pictures of problems and answers, drawn once: as SVG, as text, as fields."""

from __future__ import annotations

from allocsolve.pictures.evolution import EVOLUTION_VIEW
from allocsolve.pictures.partition import PARTITION_VIEW
from allocsolve.pictures.svg import Drawing
from allocsolve.pictures.view import View
from allocsolve.pictures.views import view_of

__all__ = ["EVOLUTION_VIEW", "PARTITION_VIEW", "Drawing", "View", "view_of"]
