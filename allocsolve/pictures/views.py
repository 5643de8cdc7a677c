"""The views of all families."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from allocsolve.model import EvolutionProblem, PartitionProblem
from allocsolve.pictures.evolution import EVOLUTION_VIEW
from allocsolve.pictures.partition import PARTITION_VIEW

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.model import Problem
    from allocsolve.pictures.view import View

__all__ = ["view_of"]

_VIEWS: Final[Mapping[type, View[Any, Any, Any]]] = {
    EvolutionProblem: EVOLUTION_VIEW,
    PartitionProblem: PARTITION_VIEW,
}


def view_of(problem: Problem) -> View[Any, Any, Any]:
    """Return what the family of a problem shows."""
    return _VIEWS[type(problem)]
