"""The family of partition problems."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.families import Alias, CertificateKind, Codec, Family, Feature, Rules, imported
from allocsolve.instances.formats.own import partition as codec, partition as tables
from allocsolve.instances.generators.examples import partition_examples
from allocsolve.instances.generators.occupancy import uniform_occupancy
from allocsolve.judge.partition.rules import (
    PARTITION_TERMS,
    partition_metrics,
    partition_violations,
)
from allocsolve.model import NODE_ORDERS, Mesh, Partition, PartitionProblem, Topology
from allocsolve.pictures.partition import PARTITION_VIEW
from allocsolve.registry.table import exact, heuristic, quick_solvers

if TYPE_CHECKING:
    from allocsolve.families import AnySolver

#: The warm-up problem has at least this number of nodes, or all of a smaller machine.
_WARM_UP_NODES: Final = 24


_TABLE = (
    heuristic("manhattan-median", "Bender et al.: nearest to a median, 7/4 in 2-D", "ManhattanMedian"),
    heuristic("gen-alg", "Krumke et al.: nearest to a free node, 2 - 2/k", "GenAlg"),
    heuristic("mc1x1", "Mache et al.: least sum of square shells", "Mc1x1"),
    heuristic("growth", "Linnert et al., Fig. 8: growth from seeds", "Growth"),
    heuristic("leak", "Linnert et al.: leak from the snake, or fail", "Leak"),
    heuristic("curve-fit", "free runs on a node order; SST and Slurm", "CurveFit"),
    heuristic("submesh", "free box of the size, or fail", "Submesh"),
    heuristic("multiple-buddy", "square blocks of 2^i by 2^i", "MultipleBuddy"),
    heuristic("paging", "pages of 2^i by 2^i on a node order", "Paging"),
    heuristic("random", "random free nodes", "RandomNodes"),
    exact("branch-and-bound", "Lagrangian search over cut counts", "PartitionBranchAndBound"),
    exact("cpsat", "CP-SAT, cut counts and median cuts", "PartitionCpSat", ("ortools",)),
    exact("milp", "unary cut counts by CBC, for very small problems", "PartitionMilp", ("pulp",)),
)

#: By node id: names without an order.
_BY_ID: Final = "row-major"
_ORDERS: Final = {"order": [order for order in NODE_ORDERS if order != _BY_ID]}
#: The methods on a node order: what the name ends with, and the options of ``curve-fit``.
_ON_ORDERS: Final = {
    "sorted-free-list": "method=sorted-free-list",
    "first-fit": "method=first-fit",
    "best-fit": "method=best-fit, fallback=fail",
    "best-fit+min-span": "method=best-fit, fallback=min-span",
    "best-fit+largest-runs": "method=best-fit, fallback=largest-runs",
    "min-span": "method=min-span",
}
_ALIASES = (
    Alias("manhattan-median+greedy-ring", "manhattan-median(last_ring=greedy)"),
    Alias("manhattan-median+swaps", "manhattan-median(centres=all, last_ring=greedy, swaps_from=30)"),
    Alias("mc1x1+greedy-shell", "mc1x1(last_shell=greedy)"),
    Alias("growth-best", "growth(seeds=all)"),
    Alias("leak-noncontiguous", "leak(contiguous=False)"),
    Alias("submesh-first-fit", "submesh(choice=first)"),
    Alias("submesh-best-fit", "submesh(choice=best)"),
    *(Alias(name, f"curve-fit({options}, order={_BY_ID})") for name, options in _ON_ORDERS.items()),
    *(
        Alias(f"{{order}}-{name}", f"curve-fit({options}, order={{order}})", _ORDERS)
        for name, options in _ON_ORDERS.items()
    ),
)


def _features(problem: PartitionProblem) -> dict[str, Feature]:
    topology = problem.topology
    features: dict[str, Feature] = {
        "shape": "x".join(map(str, topology.shape)),
        "wrap": "x".join(str(int(ring)) for ring in topology.wrap),
        "free": int(np.count_nonzero(problem.free)),
        "size": problem.size,
        "contiguous": problem.contiguous,
    }
    if any(topology.complete):
        features["complete"] = "x".join(str(int(full)) for full in topology.complete)
    if problem.box:
        features["box"] = "x".join(map(str, problem.box)) if isinstance(problem.box, tuple) else True
    return features


def _warm_up(problem: PartitionProblem) -> tuple[PartitionProblem, ...]:
    """Return a small machine with short free runs, with long ones, and with every free node asked for.

    Each is another way through a solver. The first has a connected set of the size, and stars do not prove
    its optimum.
    """
    shape, longest = problem.topology.shape, 5
    while longest < max(shape) and math.prod(min(side, longest) for side in shape) < _WARM_UP_NODES:
        longest += 1
    kinds = problem.topology.wrap, problem.topology.complete
    topology = Topology(tuple(min(side, longest) for side in shape), *kinds)
    is_line = sum(side > 1 for side in shape) < 2
    busy = range(1, 2) if is_line and topology.num_nodes > 1 else range(1, topology.num_nodes, 4)
    free = topology.num_nodes - len(busy)
    size = min(6, max(free // 3, min(4, free - 1)), free) or 1
    runs = range(1, topology.num_nodes // 2, 3)
    part = max(1, (topology.num_nodes - len(runs)) // 3)
    apart = range(1, topology.num_nodes, 2)
    return tuple(
        PartitionProblem.of(
            topology, busy=nodes, size=count, contiguous=problem.contiguous, box=bool(problem.box)
        )
        for nodes, count in ((busy, size), (runs, min(part, 12)), (apart, topology.num_nodes - len(apart)))
    )


def _quick_solvers(*_: object) -> tuple[AnySolver, ...]:
    return quick_solvers(PARTITION)


def _kind(name: str, title: str, place: str) -> CertificateKind[PartitionProblem, Partition]:
    check = imported(f"allocsolve.judge.partition.{place}")
    return CertificateKind(
        *(name, ("pairwise",), title, lambda problem, certificate, _: check(problem, certificate)),
        schema=functools.partial(codec.certificate_schema, name),
        names_term=False,
    )


_CERTIFICATES: Final = (
    _kind("boxes", "the least cost of a free box", "boxes:partition_box_bound"),
    _kind("cut-tree", "trees of a search over cuts", "certificate:partition_tree_bound"),
    _kind("", "multipliers of cuts", "certificate:partition_multiplier_bound"),
)


PARTITION: Final = Family(
    kind="partition",
    problem=PartitionProblem,
    answer=Partition,
    objectives=PARTITION_TERMS,
    rules=Rules(partition_violations, partition_metrics, _CERTIFICATES),
    codec=Codec(
        answer_kind="partition-set",
        problem=codec.PROBLEM,
        answer=codec.ANSWER,
        problem_table=tables.PROBLEM_TABLE,
        answer_table=tables.PARTITION_TABLE,
    ),
    view=PARTITION_VIEW,
    solvers=_TABLE,
    aliases=_ALIASES,
    baseline="branch-and-bound",
    features=_features,
    warm_up=_warm_up,
    examples=partition_examples,
    large_example=lambda: uniform_occupancy(Mesh((40, 40)), 0.4, 60, 5),
    # The largest mesh has more nodes than a processor can learn the branches of: on one of 128x128 the same
    # scan takes one or four times as long, depending on what else is running.
    timing_problems={
        f"{size}-of-{side}x{side}": functools.partial(uniform_occupancy, Mesh((side, side)), 0.3, size, 1)
        for side, size in ((8, 4), (16, 16), (32, 64), (64, 256), (256, 4096))
    },
    quick_solvers=_quick_solvers,
)
