"""Who refuses a machine that is not plain says why, by the one table of reasons."""

from __future__ import annotations

import pytest
from offenders import all_offenders

from allocsolve.errors import UnsupportedProblem
from allocsolve.heuristics import Fcfs
from allocsolve.judge import workload_violations
from allocsolve.model import Budget, ClosedWindow, Job, WorkloadProblem
from allocsolve.model.plain_only import WHY_PLAIN
from allocsolve.registry import make_solver, solver_names
from allocsolve.registry.workload import WORKLOAD
from allocsolve.simulation import simulate

JOBS = [Job(0, 2, 8, 10), Job(0, 3, 6, 9), Job(1, 1, 9, 12), Job(2, 4, 1, 2)]
MACHINES = {
    "counted resources": WorkloadProblem(4, JOBS, resources={"gpus": 1}),
    "closed windows": WorkloadProblem(4, JOBS, closed=[ClosedWindow(4, 9, {"nodes": 2})]),
    "head starts": WorkloadProblem(4, [Job(0, 2, 8, 10, boost=3), *JOBS]),
}
_PRESETS = tuple(f"easy(like={tool})" for tool in ("hpcopt", "raps", "mjs2023", "flux"))


@pytest.mark.parametrize("there", MACHINES)
def test_every_solver_takes_a_machine_or_says_why_not(there: str) -> None:
    problem = MACHINES[there]
    ends = [f"the workload has {there}, {why}" for name, why in WHY_PLAIN.items() if name != "nodes"]
    with all_offenders() as each:
        for name in (*solver_names(WORKLOAD), *_PRESETS):
            with each(name):
                assert _outcome(name, problem) in ("feasible", *ends)


def _outcome(name: str, problem: WorkloadProblem) -> str:
    """Return the message of a refusal, or whether the answer is feasible."""
    try:
        answer = make_solver(name, problem)(problem, Budget(seconds=2, iterations=20)).answer
    except UnsupportedProblem as refusal:
        return str(refusal)
    return "feasible" if answer is not None and not workload_violations(problem, answer) else "not feasible"


def test_policies_on_views_name_those_that_know_such_machines() -> None:
    with pytest.raises(UnsupportedProblem, match=r"counted resources, but policies .* see free nodes only"):
        simulate(MACHINES["counted resources"], Fcfs().decide)
