"""Lower bounds, each a named function with its proof."""

from __future__ import annotations

from allocsolve.bounds.evolution import (
    configuration_lp,
    energy,
    longest_application,
    makespan_bound,
    total_completion,
)
from allocsolve.bounds.relaxation import pairs_relaxation

__all__ = [
    "configuration_lp",
    "energy",
    "longest_application",
    "makespan_bound",
    "pairs_relaxation",
    "total_completion",
]
