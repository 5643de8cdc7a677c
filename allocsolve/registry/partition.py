"""The family of partition problems."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.families import Codec, Family, Feature, Rules, SolverRow
from allocsolve.instances.formats import partition as codec
from allocsolve.instances.generators.occupancy import uniform_occupancy
from allocsolve.instances.generators.partition_examples import partition_examples
from allocsolve.judge.partition import partition_metrics, partition_value, partition_violations
from allocsolve.model import NODE_ORDERS, PARTITION_OBJECTIVES, Mesh, Partition, PartitionProblem, Topology
from allocsolve.pictures.partition import PARTITION_VIEW

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.families import AnySolver

__all__ = ["PARTITION"]

#: Nodes of the warm-up problem at least, if the machine has so many.
_WARM_UP_NODES: Final = 24


def _heuristic(name: str, summary: str, solver: str, *args: object, **options: object) -> SolverRow:
    """Return the row of a class of `allocsolve.heuristics`, with its options."""

    def load() -> AnySolver:
        from allocsolve import heuristics  # noqa: PLC0415 - loaded when asked for

        made: AnySolver = getattr(heuristics, solver)(*args, **options)
        return made

    return SolverRow(name, "heuristic", summary, load)


def _branch_and_bound() -> AnySolver:
    from allocsolve.exact.partition.branch_and_bound import (  # noqa: PLC0415 - loaded when asked for
        PartitionBranchAndBound,
    )

    return PartitionBranchAndBound()


def _cpsat() -> AnySolver:
    from allocsolve.exact.partition.cpsat import PartitionCpSat  # noqa: PLC0415 - loaded when asked for

    return PartitionCpSat()


def _milp() -> AnySolver:
    from allocsolve.exact.partition.milp import PartitionMilp  # noqa: PLC0415 - loaded when asked for

    return PartitionMilp()


#: Suffixes of the names of the methods on a node order, with what they do and the options of `CurveFit`.
_ON_ORDERS: Final[tuple[tuple[str, str, tuple[str, ...], dict[str, str]], ...]] = (
    ("sorted-free-list", "first free nodes", ("sorted-free-list",), {}),
    ("first-fit", "first run that suffices, or fail", ("first-fit",), {}),
    ("best-fit", "smallest run that suffices, or fail", ("best-fit",), {"fallback": "fail"}),
    ("best-fit+min-span", "best fit, else least span, as SST", ("best-fit",), {"fallback": "min-span"}),
    (
        "best-fit+largest-runs",
        "best fit, else largest runs, as Slurm",
        ("best-fit",),
        {"fallback": "largest-runs"},
    ),
    ("min-span", "free nodes of least span", ("min-span",), {}),
)


def _on_orders() -> Iterator[SolverRow]:
    """Yield the methods on every node order; those by node id have no prefix."""
    for order in NODE_ORDERS:
        for name, summary, args, options in _ON_ORDERS:
            full = name if order == "row-major" else f"{order}-{name}"
            yield _heuristic(full, f"{order} order: {summary}", "CurveFit", *args, order=order, **options)


_TABLE = (
    _heuristic(
        "manhattan-median",
        "Bender et al.: nearest to a median, 7/4 in 2-D",
        "ManhattanMedian",
    ),
    _heuristic(
        "manhattan-median+greedy-ring",
        "the same, last ring chosen greedily",
        "ManhattanMedian",
        last_ring="greedy",
    ),
    _heuristic(
        "manhattan-median+swaps",
        "the same from all nodes, then best swaps",
        "ManhattanMedian",
        centres="all",
        last_ring="greedy",
        swaps_from=30,
    ),
    _heuristic("gen-alg", "Krumke et al.: nearest to a free node, 2 - 2/k", "GenAlg"),
    _heuristic("mc1x1", "Mache et al.: least sum of square shells", "Mc1x1"),
    _heuristic("mc1x1+greedy-shell", "the same, last shell chosen greedily", "Mc1x1", "greedy"),
    _heuristic("growth", "Linnert et al., Fig. 8: growth from the first seed", "Growth"),
    _heuristic("growth-best", "the same, best of all seeds", "Growth", "all"),
    _heuristic("leak", "Linnert et al.: leak from the snake, or fail", "Leak"),
    _heuristic("leak-noncontiguous", "the same, going on elsewhere", "Leak", contiguous=False),
    *_on_orders(),
    _heuristic("submesh-first-fit", "first free box of the size, or fail", "Submesh", "first"),
    _heuristic("submesh-best-fit", "free box of most contact, or fail", "Submesh", "best"),
    _heuristic("multiple-buddy", "square blocks of 2^i by 2^i", "MultipleBuddy"),
    _heuristic("paging", "pages of 2^i by 2^i on a node order", "Paging"),
    _heuristic("random", "random free nodes", "RandomNodes"),
    SolverRow(
        "branch-and-bound",
        "exact",
        "Lagrangian search over cut counts",
        _branch_and_bound,
    ),
    SolverRow("cpsat", "exact", "CP-SAT, cut counts and median cuts", _cpsat),
    SolverRow("milp", "exact", "unary cut counts by CBC, toys only", _milp),
)


def _features(problem: PartitionProblem) -> dict[str, Feature]:
    topology = problem.topology
    return {
        "shape": "x".join(map(str, topology.shape)),
        "wrap": "x".join(str(int(ring)) for ring in topology.wrap),
        "free": int(np.count_nonzero(problem.free)),
        "size": problem.size,
        "contiguous": problem.contiguous,
    }


def _bound(problem: PartitionProblem, term: str) -> int:
    from allocsolve.bounds import partition_bound  # noqa: PLC0415 - loaded when asked for

    assert term == "pairwise", "the only one"
    return partition_bound(problem)


def _warm_up(problem: PartitionProblem) -> PartitionProblem:
    """Return a small machine of the same axes with some busy nodes; its solution takes more than a look.

    It has a connected set of the size, and stars do not prove its optimum.
    """
    shape, longest = problem.topology.shape, 5
    while longest < max(shape) and math.prod(min(side, longest) for side in shape) < _WARM_UP_NODES:
        longest += 1
    topology = Topology(tuple(min(side, longest) for side in shape), problem.topology.wrap)
    is_line = sum(side > 1 for side in shape) < 2
    busy = range(1, 2) if is_line and topology.num_nodes > 1 else range(1, topology.num_nodes, 4)
    free = topology.num_nodes - len(busy)
    size = min(6, max(free // 3, min(4, free - 1)), free) or 1
    return PartitionProblem.of(topology, busy=busy, size=size, contiguous=problem.contiguous)


PARTITION: Final = Family(
    kind="partition",
    problem=PartitionProblem,
    answer=Partition,
    objectives=PARTITION_OBJECTIVES,
    rules=Rules(partition_violations, partition_value, partition_metrics),
    codec=Codec(
        answer_kind="partition-set",
        decode_problem=codec.decode_problem,
        encode_problem=codec.encode_problem,
        decode_answer=codec.decode_solution,
        encode_answer=codec.encode_solution,
    ),
    view=PARTITION_VIEW,
    solvers=_TABLE,
    baseline="branch-and-bound",
    features=_features,
    bound=_bound,
    warm_up=_warm_up,
    examples=partition_examples,
    large_example=lambda: uniform_occupancy(Mesh((40, 40)), 0.4, 60, 5),
    # The largest mesh has more nodes than a processor can learn the branches of: on one of 128x128 the same
    # scan takes one or four times as long, depending on what else is running.
    timing_problems={
        f"{size}-of-{side}x{side}": functools.partial(uniform_occupancy, Mesh((side, side)), 0.3, size, 1)
        for side, size in ((32, 64), (64, 256), (256, 4096))
    },
)
