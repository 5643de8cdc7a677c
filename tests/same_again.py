"""What a process answers to problems of all families: to be compared with what other processes answer.

``python same_again.py ORDER SECONDS WORKERS KIND:SOLVER...`` solves problems of each kind by these solvers,
in an order of its own, and writes a JSON object: by solver and problem, what a run has to give again.
"""

from __future__ import annotations

import json
import random
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from allocsolve.errors import UnsupportedProblem
from allocsolve.families import family_named
from allocsolve.instances import (
    elastic_workload,
    evotree_batch,
    klein2011,
    solution_document,
    uniform_occupancy,
)
from allocsolve.instances.generators.examples import (
    leaking_reservations,
    random_reservations,
    random_workload,
)
from allocsolve.model import Budget, Mesh, PlacementProblem, SwitchTree, Torus, WorkloadProblem
from allocsolve.registry import make_solver

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from allocsolve.model import Problem, Result

#: They may take a problem beyond the first two to no end.
BUILT = ("cpsat", "milp")
#: Enough that each stage of a search has some, and ends by them.
ITERATIONS = 60


def evolution() -> list[Problem]:
    """Return problems that are proven in a second, with and without expansion, and one that is not."""
    seven = klein2011(5, num_apps=(7, 7))
    releases = tuple(range(0, 6000, 1000))
    waiting = replace(klein2011(6, num_apps=(6, 6)), expand_limit=1.5, releases=releases)
    return [seven, replace(seven, expand_limit=1), waiting]


def partition() -> list[Problem]:
    """Return meshes and rings, connected and not; the search of one takes more than a moment."""
    ring, mesh, cube = Torus((6, 5)), Mesh((16, 12)), Mesh((6, 6, 6))
    asked = [(ring, 7, True), (ring, 6, False), (mesh, 20, True), (cube, 25, False)]
    return [uniform_occupancy(machine, 0.3, size, 3, contiguous=fixed) for machine, size, fixed in asked]


def workload() -> list[Problem]:
    """Return rigid jobs, few and more, malleable ones with points and without, and evolving ones."""
    few, some = random_workload(1, 10, 8), random_workload(3, 30, 16)
    malleable = elastic_workload(random_workload(4, 20, 32), share=0.7, seed=1)
    at_any_time = elastic_workload(few, share=1, seed=1, tick=0)
    three = WorkloadProblem(8, [*at_any_time.jobs][:3])
    more = random_workload(2, 120, 64)
    return [few, three, some, more, malleable, at_any_time, evotree_batch(42, share=0.7)]


def reservation() -> list[Problem]:
    """Return jobs on nodes of each shape, so many that CP-SAT is asked and so many that it is not."""
    mesh = Mesh((8, 8))
    few = random_reservations(2, 12, Mesh((4, 3)), shape="connected")
    any_nodes, run = random_reservations(0, 40, mesh), random_reservations(1, 40, mesh, shape="run")
    return [few, any_nodes, run, random_reservations(3, 90, mesh), leaking_reservations(1, 20, mesh)]


def placement() -> list[Problem]:
    """Return racks and pods, with and without segments."""
    tree = SwitchTree.regular((4, 6, 5))
    asked: list[dict[str, Any]] = [{}, {"within": 2}, {"segment": 4}, {"balanced": True}]
    plain: list[PlacementProblem] = [uniform_occupancy(tree, 0.4, 8, 3), uniform_occupancy(tree, 0.1, 40, 3)]
    return [plain[1], *(replace(plain[0], **fields) for fields in asked)]


PROBLEMS: dict[str, Callable[[], Sequence[Problem]]] = {
    "evolution": evolution,
    "partition": partition,
    "workload": workload,
    "reservation": reservation,
    "placement": placement,
}


def essence(problem: Problem, result: Result[Any]) -> list[str]:
    """Return what a run has to give again; what it met on the way, and when, may differ with threads."""
    answer = None if result.answer is None else solution_document(problem, result.answer, {})
    claims = result.status, result.limit, result.objective, result.bound, result.certificate, answer
    return [json.dumps(claim, default=float) for claim in claims]


def main(order: int, seconds: float, workers: int, names: Sequence[str]) -> None:
    """Solve the problems and write what is to be compared."""
    budget = Budget(seconds, ITERATIONS, workers)
    runs = []
    for name in names:
        kind, _, solver = name.partition(":")
        problems = PROBLEMS[kind]()
        runs += [(name, idx, one) for idx, one in enumerate(problems[:2] if solver in BUILT else problems)]
    random.Random(order).shuffle(runs)
    answers: dict[str, list[str]] = {}
    for name, idx, problem in runs:
        kind, _, solver = name.partition(":")
        try:
            result = make_solver(solver, family_named(kind).problem)(problem, budget)
        except UnsupportedProblem:
            continue
        answers[f"{name} on problem {idx}"] = essence(problem, result)
    sys.stdout.write(json.dumps(answers))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
