"""A problem and a certificate that its judge takes, of each kind."""

from __future__ import annotations

from typing import Any, NamedTuple

from evolution_proofs import HORIZON, certificate_of

from allocsolve.judge.workload.date_trees import tree_totals
from allocsolve.model import (
    DeadlineJob,
    EvolutionProblem,
    EvolutionProfile,
    Job,
    Mesh,
    PartitionProblem,
    PlacementProblem,
    ReservationProblem,
    SwitchTree,
    WorkloadProblem,
)


class Example(NamedTuple):
    """What is bounded, and by which certificate."""

    problem: Any
    term: str
    certificate: dict[str, Any]


def certificate_examples() -> dict[str, Example]:
    """Return an example of each kind of certificate by its name in the schema."""
    tree = SwitchTree.regular([2, 3])
    placement = PlacementProblem.of(tree, busy=[1], size=3)
    reservation = ReservationProblem(Mesh((2, 2)), (DeadlineJob(0, 4, 3, 5), DeadlineJob(1, 2, 3, 6)))
    return {
        **_of_profiles(),
        **_of_partitions(),
        **_of_workloads(),
        "knapsack": Example(placement, "pairwise", {"kind": "knapsack", "term": "pairwise", "bound": 6}),
        "knapsack-real": Example(
            placement, "bottleneck", {"kind": "knapsack", "term": "bottleneck", "bound": -0.5}
        ),
        "reservation-certificate": Example(
            reservation, "rejected", {"method": "prices", "edges": [0, 3, 5], "prices": [2, 1], "unit": 8}
        ),
    }


def _of_profiles() -> dict[str, Example]:
    profiles = (EvolutionProfile([(2, 1), (2, 3)]), EvolutionProfile([(3, 2)]))
    problem = EvolutionProblem(3, profiles)
    return {
        "area": Example(problem, "makespan", {"kind": "area"}),
        "learned-clauses": Example(problem, "makespan", certificate_of(problem, [(HORIZON, 3)])),
    }


def _of_partitions() -> dict[str, Example]:
    mesh = PartitionProblem.of(Mesh((3, 3)), busy=[4], size=4)
    roots = [{"medians": [median], "multipliers": [[0, -1, 1, 0]]} for median in range(3)]
    tree = {"medians": [0], "multipliers": [0, -1, 1, 0], "steps": [1, 0, 0, 0, 0, 0]}
    cut_tree = {"kind": "cut-tree", "axes": [0, 1], "scale": 2, "bound": 6, "roots": [tree]}
    return {
        "boxes": Example(
            PartitionProblem.of(Mesh((3, 3)), busy=[4], size=2, box=True),
            "pairwise",
            {"kind": "boxes", "bound": 1},
        ),
        "cut-tree": Example(mesh, "pairwise", cut_tree),
        "partition-certificate": Example(mesh, "pairwise", {"axes": [0, 1], "scale": 2, "roots": roots}),
    }


def _of_workloads() -> dict[str, Example]:
    problem = WorkloadProblem(2, (Job(0, 2, 4), Job(1, 1, 3), Job(1, 1, 2)))
    term = "turnaround"
    by_slot = {"term": term, "edges": [0, 4, 9], "unit": 4}
    windows = {"first_slots": [0, 1, 0], "offsets": [0, 1, 1, 3], "prices": [2, 0, 1]}
    given = {
        "parent": -1,
        "jobs": [0, 2],
        "first_slots": [0, 1],
        "offsets": [0, 2, 3],
        "differences": [2, 1, 3],
    }
    less = {"parent": 0, "jobs": [0], "first_slots": [1], "offsets": [0, 1], "differences": [-1]}
    tree = {"jobs": [1, -1, -1], "cuts": [4, 0, 1], "lists": [given, less]}
    date_tree: dict[str, Any] = {"kind": "date-tree", **by_slot, "nodes": 1, **tree}
    date_tree["totals"] = tree_totals(problem, date_tree, term)[0]
    date_trees: dict[str, Any] = {
        "kind": "date-trees",
        **by_slot,
        "nodes": 1,
        "shared": windows,
        "stretches": [0, 0, 0],
        "trees": [{"slots": [0, 2], **tree}],
    }
    for each, totals in zip(date_trees["trees"], tree_totals(problem, date_trees, term), strict=True):
        each["totals"] = totals
    certificates = [
        {"kind": "time-prices", **by_slot, "prices": [2, 1]},
        {"kind": "job-prices", **by_slot, "nodes": 1, **windows},
        date_tree,
        date_trees,
        {"kind": "machine-prices", **by_slot, "prices": {"nodes": [2, 1]}},
    ]
    examples = {proof["kind"]: Example(problem, term, proof) for proof in certificates}
    makespan = {"kind": "makespan", "rule": "area", "after": 0.5}
    return {**examples, "makespan": Example(problem, "makespan", makespan)}
