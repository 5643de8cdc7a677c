"""The rules by which static admission chooses nodes: by name, or as a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from allocsolve.heuristics.partition.growth import growth
from allocsolve.heuristics.partition.nearest import manhattan_median
from allocsolve.heuristics.reservation import _kernels_shapes as kernels
from allocsolve.model import BoolArray, IntArray, Topology
from allocsolve.model.checks import choice

#: A function from a topology, the mask of free nodes and a number of nodes to the nodes taken, or to None.
Allocator: TypeAlias = Callable[[Topology, BoolArray, int], IntArray | None]


class Rule(NamedTuple):
    """A rule by its code for kernels; a rule with an allocator calls a function in Python instead."""

    number: int
    #: Whether growth starts from the first free node only.
    first_only: bool = False
    allocate: Allocator | None = None


def _town(topology: Topology, free: BoolArray, size: int) -> IntArray | None:
    """Return the cheapest growth from all free nodes."""
    return growth(topology, free, size, seeds="all")


#: The rules by name.
_RULES: Final[dict[str, Rule]] = {
    "hilbert": Rule(kernels.RUN),
    "any": Rule(kernels.ANY),
    "count": Rule(kernels.COUNT_ONLY),
    "growth": Rule(kernels.GROWTH),
    "growth-one": Rule(kernels.GROWTH, first_only=True),
    "literal": Rule(kernels.LITERAL),
    "literal-one": Rule(kernels.LITERAL, first_only=True),
    "literal-set": Rule(kernels.LITERAL_SET),
    "literal-set-one": Rule(kernels.LITERAL_SET, first_only=True),
    "literal-exact": Rule(kernels.LITERAL_EXACT),
    "literal-exact-one": Rule(kernels.LITERAL_EXACT, first_only=True),
    "town": Rule(kernels.ANY, allocate=_town),
    "manhattan-median": Rule(kernels.ANY, allocate=manhattan_median),
}

#: The names of rules; `allocsolve.heuristics.admit` describes them.
ALLOCATORS: Final = tuple(_RULES)


def rule_of(allocator: str | Allocator) -> Rule:
    """Return the rule of a name, or the rule that calls a function."""
    if callable(allocator):
        return Rule(kernels.ANY, allocate=allocator)
    return _RULES[choice("allocator", allocator, ALLOCATORS)]
