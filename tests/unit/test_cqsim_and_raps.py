"""Our policies in the loops of CQSim and of RAPS start jobs when they do in our engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fake_simulators import RapsManager, cqsim_starts, raps_starts

from allocsolve.adaptors import IllegalOrder, RapsScheduler, node_chooser
from allocsolve.errors import InvalidOption
from allocsolve.instances.generators.examples import random_workload
from allocsolve.model import Job, Jobs, WorkloadProblem
from allocsolve.registry import make_solver
from allocsolve.simulation import EngineRules, Start, simulate

POLICIES = ("fcfs", "easy", "easy(like=cqsim)", "easy(like=raps)")


def _starts(problem: WorkloadProblem, name: str, *, coalesce: bool) -> list[float]:
    policy: Any = make_solver(name, WorkloadProblem)
    knowledge = getattr(policy, "rules", EngineRules()).knowledge
    starts: list[float] = simulate(problem, policy, EngineRules(coalesce, knowledge)).first_starts.tolist()
    return starts


def _with_ends_apart(problem: WorkloadProblem) -> WorkloadProblem:
    """Return a workload of which hardly two jobs end at one instant: CQSim has an order of its own then."""
    packed = problem.packed
    runtime = packed.runtime + np.arange(len(problem.jobs)) / 1024
    return WorkloadProblem(problem.num_nodes, Jobs(packed.submit, packed.nodes, runtime, packed.estimate + 1))


@pytest.mark.parametrize("name", POLICIES)
def test_in_the_loop_of_cqsim(name: str) -> None:
    problem = _with_ends_apart(random_workload(11, 300, 16, load=0.95))
    assert cqsim_starts(problem, name) == _starts(problem, name, coalesce=False)


def test_a_policy_that_wants_wakes_is_said_to_get_none() -> None:
    problem = WorkloadProblem(4, [Job(0, 3, 50, 100), Job(1, 4, 10), Job(2, 1, 20), Job(40, 1, 1)])
    with pytest.warns(UserWarning, match="asked to be called at 30 s, and is called at 40 s") as told:
        cqsim_starts(problem, "slurm-backfill")
    assert len(told) == 1


def test_cqsim_starts_no_job_that_the_policy_holds_back() -> None:
    problem = WorkloadProblem(4, [Job(0, 1, 5), Job(1, 1, 5), Job(20, 1, 5)])
    assert cqsim_starts(problem, lambda view: [Start(0, 1)] if view.now == 1 else []) == [1, -1, -1]


@pytest.mark.parametrize("name", POLICIES)
def test_in_the_ticks_of_raps(name: str) -> None:
    problem = _quick(random_workload(12, 150, 16, load=0.95))
    packed = problem.packed
    held = WorkloadProblem(16, Jobs(packed.submit, packed.nodes, packed.runtime + 1, packed.estimate))
    assert raps_starts(problem, name) == _starts(held, name, coalesce=True)


def test_raps_takes_the_nodes_that_an_allocator_chooses() -> None:
    problem = _quick(random_workload(13, 60, 16, load=0.95))
    asked: list[list[int]] = []

    def choose(free: list[int], k: int) -> list[int] | None:
        asked.append(free)
        return node_chooser("curve-fit(method=best-fit, order=row-major)", 16)(free, k)

    assert raps_starts(problem, "easy", choose) == raps_starts(problem, "easy")
    assert len(asked) == 60
    with pytest.raises(InvalidOption, match="job 0: the allocator finds no"):
        raps_starts(problem, "easy", lambda *_: None)


def test_raps_repeats_what_was_by_itself() -> None:
    class Recorder:
        policy, bfpolicy, resource_manager = "fcfs", "easy", RapsManager(4)
        calls: list[float] = []  # noqa: RUF012 - of this one

        def schedule(self, *given: object, **_: object) -> None:
            self.calls.append(given[2])  # type: ignore[arg-type]  # the time

    recorder = Recorder()
    scheduler = RapsScheduler(recorder, "easy")
    scheduler.policy, scheduler.bfpolicy = "replay", None
    scheduler.schedule([], [], 7.0, sorted=True)
    assert (scheduler.policy, scheduler.bfpolicy, recorder.calls) == ("replay", None, [7.0])


def test_a_start_that_does_not_fit_raises() -> None:
    problem = WorkloadProblem(4, [Job(0, 3, 5), Job(0, 3, 5)])
    for starts in (cqsim_starts, raps_starts):
        with pytest.raises(IllegalOrder, match="job 1: starts on 3 nodes, but 1 are free"):
            starts(problem, lambda view: [Start(int(job), 3) for job in view.queue])


def _quick(problem: WorkloadProblem) -> WorkloadProblem:
    """Return a workload a hundred times as fast, in whole seconds: RAPS counts them one by one."""
    packed = problem.packed
    submit, runtime, limit = (
        np.ceil(column / 100) for column in (packed.submit, packed.runtime, packed.estimate)
    )
    return WorkloadProblem(problem.num_nodes, Jobs(submit, packed.nodes, runtime, limit))
