"""Laws of forecasts: what is known exactly comes true, what is over-estimated comes earlier."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_conservative import Interval, earliest_hole
from tiers import examples

from allocsolve.errors import InvalidAnswer
from allocsolve.heuristics.workload.conservative import (
    COMPRESSIONS,
    Compression,
    Conservative,
    conservative_plan,
)
from allocsolve.heuristics.workload.policies import Easy, Fcfs, FirstFit
from allocsolve.model import Amdahl, Job, PowerLaw, SpeedupTable, WorkloadProblem
from allocsolve.simulation import Engine, EngineRules, Start, simulate
from allocsolve.simulation.forecast import PromiseError, forecast, promise_error, promised_starts

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
def workloads(draw: Any, *, exact: bool, last_submit: int = 20) -> WorkloadProblem:
    num_nodes = draw(st.integers(1, 8))
    jobs = []
    for _ in range(draw(st.integers(0, 8))):
        runtime, nodes = draw(st.integers(1, 12)), draw(st.integers(1, num_nodes))
        limit = runtime * (1 if exact else draw(st.sampled_from([0.5, 1, 2])))
        jobs.append(Job(draw(st.integers(0, last_submit)), nodes, runtime, limit))
    return WorkloadProblem(num_nodes, jobs)


@policies
@settings(max_examples=examples(30))
@given(problem=workloads(exact=True, last_submit=0))
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
@given(problem=workloads(exact=False))
def test_the_compiled_loop_forecasts_what_single_calls_do(problem: WorkloadProblem, policy: Any) -> None:
    engine = Engine(problem, policy.rules)
    while (view := engine.advance()) is not None:
        expected = forecast(view, policy.decide, policy.rules).tolist()
        assert forecast(view, policy).tolist() == expected
        engine.apply(policy.decide(view))


@settings(max_examples=examples(30))
@given(problem=workloads(exact=True))
def test_fcfs_keeps_its_promises_if_estimates_are_exact(problem: WorkloadProblem) -> None:
    promised = promised_starts(problem, Fcfs())
    assert promised.tolist() == simulate(problem, Fcfs()).first_starts.tolist()


@given(problem=workloads(exact=False), compression=st.sampled_from(COMPRESSIONS))
def test_promises_of_conservative_backfilling_are_its_reservations(
    problem: WorkloadProblem, compression: Compression
) -> None:
    promised = promised_starts(problem, Conservative(compression))
    assert promised.tolist() == conservative_plan(problem, compression).promised.tolist()


@given(problem=workloads(exact=False))
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


@given(problem=workloads(exact=True))
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
