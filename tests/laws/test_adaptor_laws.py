"""Laws of the adaptors' core: another engine that asks our policies through it gives our schedules."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from foreign_tools import driven, submit
from naive_malleable import draw_malleable
from naive_workload_engine import draw_problem

from allocsolve.adaptors import PolicyDriver
from allocsolve.instances.generators.examples import random_workload, workload_examples
from allocsolve.model import WorkloadProblem
from allocsolve.registry import make_solver
from allocsolve.simulation import Engine, EngineRules, simulate

if TYPE_CHECKING:
    from allocsolve.simulation import Decision, QueueView

#: Policies of rigid and moldable jobs that are called at all events.
QUEUE = (
    *("fcfs", "first-fit", "easy", "easy(estimate=user-average)", "easy(order=f1)", "easy(like=cqsim)"),
    *("easy(like=hpcopt)", "easy(like=raps)", "easy(moldable=fit)"),
)
CONSERVATIVE = tuple(
    f"conservative(compression={compression})" for compression in ("compress", "replan", "none")
)
MALLEABLE = (
    *("malleable-min", "malleable-average", "malleable-pref"),
    *("malleable-prefkeeper", "static-price"),
)


def _in_order(problem: WorkloadProblem) -> WorkloadProblem:
    """Return the workload with its jobs in the order of submission, as other programs number them."""
    return WorkloadProblem(problem.num_nodes, sorted(problem.jobs, key=lambda job: job.submit))


@pytest.mark.parametrize("coalesce", [True, False])
@pytest.mark.parametrize("name", QUEUE)
def test_queue_policies_start_all_jobs_when_our_engine_does(name: str, coalesce: bool) -> None:
    policy: Any = make_solver(name, WorkloadProblem)
    rules = EngineRules(coalesce, getattr(policy, "rules", EngineRules()).knowledge)
    rng = random.Random(f"{name}{coalesce}")
    drawn = [_in_order(draw_problem(rng, moldable=True)) for _ in range(25)]
    for problem in (*drawn, random_workload(5, 300, 16)):
        assert driven(problem, name, rules) == simulate(problem, policy, rules)


@pytest.mark.parametrize("name", CONSERVATIVE)
def test_conservative_backfilling_call_by_call_is_that_of_the_whole_workload(name: str) -> None:
    policy: Any = make_solver(name, WorkloadProblem)
    rng = random.Random(name)
    drawn = [_in_order(draw_problem(rng, moldable=False)) for _ in range(60)]
    rigid = [_in_order(problem) for problem in workload_examples() if problem.is_rigid]
    for problem in (*drawn, *rigid, random_workload(6, 300, 16)):
        assert driven(problem, name) == simulate(problem, policy)


@pytest.mark.parametrize("coalesce", [True, False])
@pytest.mark.parametrize("name", MALLEABLE)
def test_malleable_policies_change_sizes_when_our_engine_does(name: str, coalesce: bool) -> None:
    policy: Any = make_solver(name, WorkloadProblem)
    rng = random.Random(f"{name}{coalesce}")
    for _ in range(25):
        problem = _in_order(draw_malleable(rng))
        rules = EngineRules(coalesce)
        assert driven(problem, name, rules) == simulate(problem, policy, rules)


def test_what_a_view_shows_is_what_the_view_of_our_engine_shows() -> None:
    problem = random_workload(7, 200, 16)
    seen: list[QueueView] = []

    def policy(view: QueueView) -> tuple[Decision, ...]:
        seen.append(view)
        return ()

    driver = PolicyDriver(policy, 16)
    engine = Engine(problem)
    view = engine.advance()
    assert view is not None
    submit(driver, problem, 0)
    driver.decide(view.now, free=16, queue=["job-0"])
    ours, columns = seen[0], view.jobs
    for name in ("now", "num_nodes", "free", "pool", "reserved", "woken"):
        assert getattr(ours, name) == getattr(view, name)
    for name in ("completed", "submitted", "queue", "running", "expected_ends", "held", "targets"):
        assert getattr(ours, name).tolist() == getattr(view, name).tolist()
        assert not getattr(ours, name).flags.writeable
    for name in ("submit", "nodes", "min_nodes", "max_nodes", "estimate", "weight", "kind", "size_step"):
        assert getattr(ours.jobs, name).tolist() == getattr(columns, name)[:1].tolist()
    for column in ours.jobs:
        assert not column.flags.writeable
