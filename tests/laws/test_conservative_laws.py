"""Laws of conservative backfilling and of forecasts: the twin, the promise, what comes true."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_conservative import Interval, earliest_hole, naive_list_starts
from naive_resources import naive_reservations
from resource_strategies import limited_problems
from tiers import examples

from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.heuristics.workload.conservative import (
    COMPRESSIONS,
    Compression,
    Conservative,
    conservative_plan,
)
from allocsolve.heuristics.workload.policies import Easy, Fcfs, FirstFit
from allocsolve.judge.workload.rules import workload_violations
from allocsolve.model import (
    Amdahl,
    ClosedWindow,
    Job,
    PowerLaw,
    SpeedupTable,
    WorkloadProblem,
    WorkloadSchedule,
)
from allocsolve.simulation import Engine, EngineRules, Reason, Start, run_policy, simulate
from allocsolve.simulation.forecast import PromiseError, forecast, promise_error, promised_starts

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


# --- Forecast -----------------------------------------------------------------------------------------

POLICIES = (
    Fcfs(),
    FirstFit(),
    Easy(),
    Easy(estimate="actual"),
    Easy(order="wfp3"),
    Easy(order="f1", estimate="user-average"),
    Easy(like="raps"),
    Easy(coalesce=False),
    Easy(moldable="fit"),
)
policies = pytest.mark.parametrize("policy", POLICIES, ids=str)


@st.composite
def small_workloads(draw: Any, *, exact: bool, last_submit: int = 20) -> WorkloadProblem:
    num_nodes = draw(st.integers(1, 8))
    jobs = []
    for _ in range(draw(st.integers(0, 8))):
        runtime, nodes = draw(st.integers(1, 12)), draw(st.integers(1, num_nodes))
        limit = runtime * (1 if exact else draw(st.sampled_from([0.5, 1, 2])))
        jobs.append(Job(draw(st.integers(0, last_submit)), nodes, runtime, limit))
    return WorkloadProblem(num_nodes, jobs)


@policies
@settings(max_examples=examples(30))
@given(problem=small_workloads(exact=True, last_submit=0))
def test_what_is_all_known_comes_true(problem: WorkloadProblem, policy: Any) -> None:
    # All jobs are submitted at once: every forecast afterwards knows everything. Not between two completions
    # of one instant (coalesce=False): the second one has been for the forecast, but not for the policy.
    starts = simulate(problem, policy).first_starts
    engine = Engine(problem, getattr(policy, "rules", None))
    while (view := engine.advance()) is not None:
        told = len(view.queue) + np.isfinite(view.jobs.start).sum() == len(problem.jobs)
        if told and not (view.expected_ends <= view.now).any():
            assert forecast(view, policy).tolist() == starts[view.queue].tolist()
        engine.apply(policy.decide(view))


@policies
@settings(max_examples=examples(30))
@given(problem=small_workloads(exact=False))
def test_the_compiled_loop_forecasts_what_single_calls_do(problem: WorkloadProblem, policy: Any) -> None:
    engine = Engine(problem, policy.rules)
    while (view := engine.advance()) is not None:
        expected = forecast(view, policy.decide, policy.rules).tolist()
        assert forecast(view, policy).tolist() == expected
        engine.apply(policy.decide(view))


@settings(max_examples=examples(30))
@given(problem=small_workloads(exact=True))
def test_fcfs_keeps_its_promises_if_estimates_are_exact(problem: WorkloadProblem) -> None:
    promised = promised_starts(problem, Fcfs())
    assert promised.tolist() == simulate(problem, Fcfs()).first_starts.tolist()


@given(problem=small_workloads(exact=False), compression=st.sampled_from(COMPRESSIONS))
def test_promises_of_conservative_backfilling_are_its_reservations(
    problem: WorkloadProblem, compression: Compression
) -> None:
    promised = promised_starts(problem, Conservative(compression))
    assert promised.tolist() == conservative_plan(problem, compression).promised.tolist()


@given(problem=small_workloads(exact=False))
def test_reservations_on_a_view_are_the_earliest_holes_in_queue_order(problem: WorkloadProblem) -> None:
    engine = Engine(problem)
    while (view := engine.advance()) is not None:
        taken = [Interval(0, end, int(held)) for end, held in zip(view.expected_ends, view.held, strict=True)]
        holes = []
        for job in view.queue.tolist():
            nodes, length = int(view.jobs.nodes[job]), float(view.jobs.estimate[job])
            holes.append(earliest_hole(taken, view.num_nodes, nodes, length, view.now))
            taken.append(Interval(holes[-1], holes[-1] + length, nodes))
        assert forecast(view, Conservative()).tolist() == holes
        engine.apply(FirstFit().decide(view))


@given(problem=small_workloads(exact=True))
def test_reservations_stay_if_estimates_are_exact(problem: WorkloadProblem) -> None:
    starts = conservative_plan(problem).starts
    engine = Engine(problem)
    while (view := engine.advance()) is not None:
        assert forecast(view, Conservative()).tolist() == starts[view.queue].tolist()
        due = [job for job in view.queue.tolist() if starts[job] == view.now]
        engine.apply([Start(job, int(view.jobs.nodes[job])) for job in due])


def test_the_forecast_leaves_the_policy_as_it_is() -> None:
    class Counts:
        calls = 0

        def decide(self, view: Any) -> Any:
            self.calls += 1
            return Fcfs().decide(view)

    policy = Counts()
    engine = Engine(WorkloadProblem(1, [Job(0, 1, 5), Job(0, 1, 5)]))
    view = engine.advance()
    assert view is not None
    assert forecast(view, policy).tolist() == [0, 6.25]
    assert policy.calls == 0


def test_laws_of_speedup_hold_in_forecasts() -> None:
    laws: list[Any] = [Amdahl(0.5), PowerLaw(1), SpeedupTable([(1, 40), (2, 24), (4, 16)])]
    jobs = [Job(0, 2, 24, 48, min_nodes=1, max_nodes=4, speedup=law) for law in laws]
    problem = WorkloadProblem(4, jobs)
    engine = Engine(problem)
    view = engine.advance()
    assert view is not None
    expected = WorkloadProblem(
        4,
        [Job(0, 2, 48, min_nodes=1, max_nodes=4, speedup=law) for law in laws[:2]]
        + [Job(0, 2, 48, min_nodes=1, max_nodes=4, speedup=SpeedupTable([(1, 80), (2, 48), (4, 32)]))],
    )
    assert forecast(view, Fcfs()).tolist() == simulate(expected, Fcfs()).first_starts.tolist()


def test_a_job_that_the_policy_never_starts_has_no_forecast() -> None:
    engine = Engine(WorkloadProblem(2, [Job(0, 2, 5), Job(0, 1, 5)]))
    view = engine.advance()
    assert view is not None
    narrow = forecast(view, lambda seen: [Start(job, 1) for job in seen.queue if seen.jobs.nodes[job] == 1])
    assert np.isnan(narrow[0])
    assert narrow[1] == 0


def test_what_has_started_at_the_same_instant_runs() -> None:
    engine = Engine(WorkloadProblem(2, [Job(3, 2, 8), Job(3, 1, 4)]), EngineRules(coalesce=False))
    view = engine.advance()
    assert view is not None
    engine.apply([Start(0, 2)])
    view = engine.advance()
    assert view is not None
    assert view.now == 3
    assert forecast(view, Fcfs()).tolist() == [13]


def test_promise_errors() -> None:
    assert promise_error([], []) == PromiseError(0, 0, 0, 0)
    assert promise_error([5, 5, 5, 5], [5, 3, 9, 5]) == PromiseError(1.5, 0.25, 1, 4)
    for promised, starts, message in (
        ([1, 2], [1], "shape"),
        (["a"], [1], "not numbers"),
        ([1, 1], [1, float("nan")], "job 1 has no"),
    ):
        with pytest.raises(InvalidAnswer, match=message):
            promise_error(promised, starts)
