"""Pictures of problems and answers, drawn once: as SVG, as text, as fields."""

from __future__ import annotations

from allocsolve.pictures.evolution import EVOLUTION_VIEW
from allocsolve.pictures.partition import PARTITION_VIEW
from allocsolve.pictures.reservation import RESERVATION_VIEW
from allocsolve.pictures.svg import Drawing
from allocsolve.pictures.workload import WORKLOAD_VIEW

__all__ = ["EVOLUTION_VIEW", "PARTITION_VIEW", "RESERVATION_VIEW", "WORKLOAD_VIEW", "Drawing"]
