"""Times and numbers of nodes as messages show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem

__all__ = ["needed_sizes", "shown_seconds"]


def shown_seconds(seconds: float) -> str:
    """Return a time as people write it: a whole number without a point."""
    return str(int(seconds)) if float(seconds).is_integer() else repr(float(seconds))


def needed_sizes(problem: WorkloadProblem, idx: int) -> str:
    """Return which numbers of nodes a job allows, for a message."""
    packed = problem.packed
    low, high = packed.min_nodes[idx], packed.max_nodes[idx]
    return f"but needs {low}" if low == high else f"but needs one of its numbers in {low}..{high}"
