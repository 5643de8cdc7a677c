"""All methods of the nearest family, as functions and as solvers, by the same names."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from allocsolve.heuristics.partition.nearest import (
    GenAlg,
    ManhattanMedian,
    Mc1x1,
    gen_alg,
    manhattan_median,
    mc1x1,
)

if TYPE_CHECKING:
    from allocsolve.model import Partition, PartitionProblem, Solver

#: The median method with each of its improvements.
greedy_ring = partial(manhattan_median, last_ring="greedy")
with_swaps = partial(manhattan_median, centres="all", last_ring="greedy", swaps_from=30)

ALLOCATORS: dict[str, Any] = {
    "mm": manhattan_median,
    "mm free": partial(manhattan_median, centres="free"),
    "mm all": partial(manhattan_median, centres="all"),
    "mm greedy": greedy_ring,
    "mm swaps": with_swaps,
    "gen-alg": gen_alg,
    "mc1x1": mc1x1,
    "mc1x1 greedy": partial(mc1x1, last_shell="greedy"),
}
SOLVERS: dict[str, Solver[PartitionProblem, Partition]] = {
    "mm": ManhattanMedian(),
    "mm free": ManhattanMedian("free"),
    "mm all": ManhattanMedian("all"),
    "mm greedy": ManhattanMedian(last_ring="greedy"),
    "mm swaps": ManhattanMedian("all", "greedy", 30),
    "gen-alg": GenAlg(),
    "mc1x1": Mc1x1(),
    "mc1x1 greedy": Mc1x1("greedy"),
}
