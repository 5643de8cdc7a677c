"""Small problems, each of which refutes something that is easily believed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from allocsolve.model import EvolutionProblem, EvolutionProfile, Mesh, PartitionProblem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.model import Problem

__all__ = ["counterexamples"]

#: Counted up whenever a case changes.
_VERSION = 1


def counterexamples() -> tuple[Problem, ...]:
    """Return all cases; ``meta`` of each has its ``reason``, its name is that of the case.

    Examples
    --------
    >>> counterexamples()[0].name
    'list-scheduling-incomplete'
    """
    return (*_evolution(), *_partition())


def _meta(case: str, reason: str) -> dict[str, object]:
    return {"generator": "counterexamples", "version": _VERSION, "case": case, "reason": reason}


def _evolution() -> Iterator[EvolutionProblem]:
    def case(
        name: str, limit: float, num_nodes: int, *apps: Sequence[tuple[int, int]], reason: str
    ) -> EvolutionProblem:
        profiles = tuple(EvolutionProfile(tuple(steps)) for steps in apps)
        return EvolutionProblem(num_nodes, profiles, expand_limit=limit, name=name, meta=_meta(name, reason))

    yield case(
        "list-scheduling-incomplete",
        1,
        3,
        [(1, 2), (2, 2), (2, 3)],
        [(2, 1)],
        [(2, 1)],
        reason="No list order is optimal: each gives 7 s, the optimum is 6 s."
        " Lists in mirrored time find it.",
    )
    yield case(
        "published-recursion-exponential",
        2,
        2,
        [(1, 0), (9, 1)] * 80,
        [(20, 1)] * 5 + [(1, 2), (1, 1), (1, 2)],
        reason="Placed second, the second application takes the recursion of Klein & Perez 2011 (Algorithm 2)"
        " a number of loops that triples with each step of 20 s put before its last three.",
    )
    yield case(
        "misprint-line-17",
        math.inf,
        2,
        [(6, 1)],
        [(1, 1), (1, 2)],
        reason='Klein & Perez 2011, Algorithm 2, line 17: with "if i > 0" as printed, the first step of the'
        ' second application is held for 5 s too long; with "if i > 1" it is delayed, and nothing is wasted.',
    )
    yield case(
        "compacting-gap-is-left",
        math.inf,
        3,
        [(4, 1), (4, 2)],
        [(2, 2), (2, 1), (2, 3)],
        reason="Compacted, the second application starts at 2 s and holds its second step, on the left of the"
        " gap, until 8 s. The naive mirror image of the fit holds the third step, which does not fit there.",
    )
    yield case(
        "compacting-wastes",
        math.inf,
        3,
        [(2, 0), (1, 1), (3, 1)],
        [(2, 3), (1, 2), (2, 1), (1, 3)],
        reason="In this order, compacting raises the waste from 1 to 2 node-seconds: it makes the second"
        " application as short as can be, not its waste as small.",
    )
    yield case(
        "expansion-pays",
        math.inf,
        2,
        [(1, 2), (2, 1), (1, 2)],
        [(4, 1)],
        reason="Stretching the valley wastes 2 node-seconds and brings the makespan from 8 s to 6 s.",
    )
    yield case(
        "limit-is-floored",
        1.5,
        2,
        [(1, 2), (1, 1), (1, 2)],
        [(2, 1)],
        reason="A step of 1 s may be held for floor(1.5) = 1 s: the optimum is 5 s."
        " Rounded up it would be 4 s.",
    )


def _partition() -> Iterator[PartitionProblem]:
    def case(
        name: str,
        shape: tuple[int, int],
        size: int,
        busy: Sequence[int],
        *,
        linked: bool = False,
        reason: str,
    ) -> PartitionProblem:
        return PartitionProblem.of(
            Mesh(shape), busy=busy, size=size, contiguous=linked, name=name, meta=_meta(name, reason)
        )

    yield case(
        "connected-costs-more",
        (6, 4),
        8,
        [2, 3, 5, 7, 8, 15, 18, 19, 22],
        linked=True,
        reason="Connected sets cost at least 76; without that, 62 is the optimum.",
    )
    yield case(
        "median-is-not-optimal",
        (4, 4),
        5,
        [0, 1, 2, 5, 8, 9, 10, 11, 13],
        reason="The nodes nearest to the best median cost 26, the optimum is 22.",
    )
    yield case(
        "growth-is-not-median",
        (5, 5),
        6,
        [2, 5, 7, 8, 10, 12, 15, 19, 20, 24],
        reason="Growth from the first seed (Linnert et al. 2024, there called Manhattan median) costs 35, the"
        " optimum is 25. The bound of 7/4 is that of Bender et al. 2008 and not of growth, which has none.",
    )
    yield case(
        "shells-are-not-hops",
        (5, 5),
        4,
        [1, 5, 11, 14, 15, 17, 22, 24],
        reason="The least sum of square shells (MC1x1) costs 14, the optimum is 8.",
    )
    yield case(
        "runs-scatter",
        (6, 4),
        4,
        [0, 1, 2, 4, 8, 9, 13, 14, 17, 21, 22],
        reason="No run on the Hilbert order has 4 free nodes: first fit fails although 13 are free, and the"
        " largest runs (Slurm) cost 28, the optimum is 10.",
    )
