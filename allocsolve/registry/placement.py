"""The family of placement problems."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.families import CertificateKind, Codec, Family, Feature, Rules, imported
from allocsolve.instances.formats.own import placement as codec
from allocsolve.instances.generators.examples import placement_examples
from allocsolve.instances.generators.occupancy import uniform_occupancy
from allocsolve.judge.placement.rules import (
    PLACEMENT_TERMS,
    placement_metrics,
    placement_violations,
)
from allocsolve.model import PLACEMENT_OBJECTIVES, Placement, PlacementProblem, SwitchTree
from allocsolve.pictures.placement import PLACEMENT_VIEW
from allocsolve.registry.table import exact, heuristic, quick_solvers

if TYPE_CHECKING:
    from allocsolve.families import AnySolver

_TABLE = (
    heuristic("lowest-switch", "best fit below the lowest switch that holds the job", "LowestSwitch"),
    heuristic("slurm-tree", "Slurm, topology/tree: leaf switch after leaf switch", "SlurmTree"),
    heuristic("slurm-block", "Slurm, topology/block: aligned blocks, or wait", "SlurmBlock"),
    heuristic("kueue", "Kueue: best fit level by level, nodes by name", "Kueue"),
    heuristic("kai", "KAI: lowest level that fits, racks by coarse scores", "Kai"),
    heuristic("volcano", "Volcano: lowest tier that fits, random racks", "Volcano"),
    heuristic("spur", "spur: the largest rack and those next to it", "Spur"),
    heuristic("pbs-placement", "PBS: the first placement set that fits", "PbsPlacement"),
    heuristic("fluxion", "Fluxion: nodes by id, or by runs of ids", "Fluxion"),
    heuristic("first-free", "the free nodes with the lowest ids", "FirstFree"),
    heuristic("random", "random free nodes", "RandomFree"),
    exact("tree-knapsack", "least values by nodes below each switch", "TreeKnapsack"),
    exact("cpsat", "CP-SAT, nodes below each switch", "PlacementCpSat", ("ortools",)),
)


def _features(problem: PlacementProblem) -> dict[str, Feature]:
    tree = problem.tree
    return {
        "nodes": tree.num_nodes,
        "switches": tree.num_switches,
        "levels": tree.height,
        "free": int(np.count_nonzero(problem.free)),
        "size": problem.size,
        "within": problem.within,
        "segment": problem.segment,
        "segment_level": problem.segment_level,
        "balanced": problem.balanced,
    }


def _warm_up(problem: PlacementProblem) -> tuple[PlacementProblem, ...]:
    """Return small trees of two and of three levels, asked for the same."""
    return tuple(
        PlacementProblem.of(
            SwitchTree.regular(sizes, (), capacities),
            busy=busy,
            size=4,
            within=problem.within,
            segment=2 if problem.segment else 0,
            segment_level=problem.segment_level,
            balanced=problem.balanced,
        )
        for sizes, capacities, busy in (((3, 4), (2,), (0, 5)), ((2, 2, 4), (2, 3), (0, 5, 9)))
    )


def _quick_solvers(*_: object) -> tuple[AnySolver, ...]:
    return quick_solvers(PLACEMENT)


def _half_busy(pods: int, size: int, seed: int = 1) -> PlacementProblem:
    return uniform_occupancy(SwitchTree.regular((pods, 16, 18)), 0.5, size, seed)


def _bound(problem: PlacementProblem, term: str) -> float:
    from allocsolve.bounds import placement_bound  # noqa: PLC0415 - loaded when asked for

    return placement_bound(problem, term)


_CERTIFICATES: Final[tuple[CertificateKind[PlacementProblem, Placement], ...]] = (
    CertificateKind(
        *("knapsack", PLACEMENT_OBJECTIVES, "the optimum, which the judge finds again"),
        check=imported("allocsolve.judge.placement.certificate:placement_certificate_bound"),
        schema=codec.certificate_schema,
    ),
)


PLACEMENT: Final = Family(
    kind="placement",
    problem=PlacementProblem,
    answer=Placement,
    objectives=PLACEMENT_TERMS,
    rules=Rules(placement_violations, placement_metrics, _CERTIFICATES),
    codec=Codec(
        answer_kind="placement-set",
        problem=codec.PROBLEM,
        answer=codec.ANSWER,
    ),
    view=PLACEMENT_VIEW,
    solvers=_TABLE,
    baseline="tree-knapsack",
    features=_features,
    warm_up=_warm_up,
    examples=placement_examples,
    large_example=lambda: _half_busy(70, 2000, 5),
    timing_problems={
        f"{size}-of-{pods}x16x18": functools.partial(_half_busy, pods, size)
        for pods, size in ((1, 16), (8, 64), (35, 512), (140, 2048))
    },
    quick_solvers=_quick_solvers,
)
