"""Laws of conservative backfilling: the twin, the promise, list scheduling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_conservative import naive_list_starts
from naive_resources import naive_reservations
from resource_strategies import limited_problems
from tiers import examples

from allocsolve.errors import InvalidOption
from allocsolve.heuristics.workload.conservative import COMPRESSIONS, Conservative, conservative_plan
from allocsolve.judge.workload.rules import workload_violations
from allocsolve.model import ClosedWindow, Job, WorkloadProblem, WorkloadSchedule
from allocsolve.simulation import EngineRules, Reason, run_policy, simulate

compressions = pytest.mark.parametrize("compression", COMPRESSIONS)


@st.composite
def workloads(draw: Any, *, over_runs: bool = False, exact: bool = False) -> WorkloadProblem:
    num_nodes = draw(st.integers(1, 8))
    jobs = []
    for _ in range(draw(st.integers(0, 12))):
        runtime = draw(st.integers(1, 12)) / draw(st.sampled_from([1, 4]))
        factor = draw(st.sampled_from([0.5, 0.75, 1, 2] if over_runs else [1, 1.25, 2, 4]))
        limit = runtime if exact else draw(st.sampled_from([None, runtime * factor]))
        jobs.append(Job(draw(st.integers(0, 20)), draw(st.integers(1, num_nodes)), runtime, limit))
    return WorkloadProblem(num_nodes, jobs)


def twin(problem: WorkloadProblem, compression: str) -> tuple[list[float], list[float]]:
    """Return the starts and the first reservations by the twin, which knows all machines."""
    return naive_reservations(problem, compression, problem.jobs.packed.estimate.tolist())


@compressions
@settings(max_examples=examples(1000), deadline=None)
@given(problem=workloads() | workloads(over_runs=True) | limited_problems(moldable=True))
def test_the_twin_starts_all_jobs_at_the_same_times(problem: WorkloadProblem, compression: Any) -> None:
    plan = conservative_plan(problem, compression)
    assert (plan.starts.tolist(), plan.promised.tolist()) == twin(problem, compression)
    assert workload_violations(problem, WorkloadSchedule.of(problem, plan.starts)) == ()


@pytest.mark.parametrize("seed", range(3))
def test_reservations_of_many_jobs_on_a_machine_are_those_of_the_twin(seed: int) -> None:
    """There are more facts of who finds no place than are kept."""
    rng = np.random.default_rng(seed)
    jobs = [
        Job(
            int(rng.integers(0, 40)),
            int(rng.integers(1, 9)),
            runtime := int(rng.integers(1, 30)),
            runtime * float(rng.choice([1, 1.5, 3])),
            needs={"gpus": int(rng.integers(0, 3))},
            boost=int(rng.integers(-9, 9)),
        )
        for _ in range(50)
    ]
    closed = [ClosedWindow(20, 60, {"nodes": 6}), ClosedWindow(150, 170)]
    problem = WorkloadProblem(10, jobs, resources={"gpus": 4}, closed=closed)
    for compression in COMPRESSIONS:
        plan = conservative_plan(problem, compression)
        assert (plan.starts.tolist(), plan.promised.tolist()) == twin(problem, compression)


@pytest.mark.parametrize("compression", ["compress", "none"])
@given(problem=workloads())
def test_no_job_starts_after_its_promise(problem: WorkloadProblem, compression: Any) -> None:
    plan = conservative_plan(problem, compression)
    assert (plan.starts <= plan.promised).all()


@given(problem=workloads())
def test_without_compression_every_job_starts_as_promised(problem: WorkloadProblem) -> None:
    plan = conservative_plan(problem, "none")
    assert plan.starts.tolist() == plan.promised.tolist()


@compressions
@given(problem=workloads(exact=True))
def test_exact_estimates_give_list_scheduling(problem: WorkloadProblem, compression: Any) -> None:
    plan = conservative_plan(problem, compression)
    assert plan.starts.tolist() == plan.promised.tolist() == naive_list_starts(problem)


@compressions
@given(problem=workloads())
def test_actual_run_times_are_exact_estimates(problem: WorkloadProblem, compression: Any) -> None:
    assert conservative_plan(problem, compression, "actual").starts.tolist() == naive_list_starts(problem)


@compressions
@given(problem=workloads(over_runs=True))
def test_the_log_says_who_was_passed(problem: WorkloadProblem, compression: Any) -> None:
    policy = Conservative(compression)
    starts, _, log = conservative_plan(problem, compression)
    assert simulate(problem, policy, policy.rules).first_starts.tolist() == starts.tolist()
    submit = problem.packed.submit
    place = {int(job): at for at, job in enumerate(np.argsort(submit, kind="stable"))}
    assert sorted(log.started.tolist()) == list(range(len(starts)))
    assert (np.diff(starts[log.started]) >= 0).all()
    for job, first in enumerate(log.blocked.tolist()):
        later = [
            k for k, start in enumerate(starts) if submit[k] <= starts[job] < start and place[k] < place[job]
        ]
        assert first == min(later, key=place.__getitem__, default=-1)
        assert log.reasons[job] == (Reason.AT_HEAD if first < 0 else Reason.BACKFILLED)


def test_other_rules_are_refused() -> None:
    with pytest.raises(InvalidOption, match="coalesce"):
        Conservative().simulated(WorkloadProblem(1, []), EngineRules(coalesce=False))


def test_run_times_that_a_view_hides_are_refused() -> None:
    problem = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10)])
    policy = Conservative(estimate="actual").online()
    with pytest.raises(InvalidOption, match="hides actual run times"):
        run_policy(problem, policy, EngineRules())


def test_the_arrays_of_the_plan_are_moved_to_the_front() -> None:
    rng = np.random.default_rng(1)
    jobs = [Job(3 * idx, int(rng.integers(1, 5)), int(rng.integers(1, 9))) for idx in range(120)]
    problem = WorkloadProblem(4, jobs)
    assert conservative_plan(problem).starts.tolist() == twin(problem, "compress")[0]
