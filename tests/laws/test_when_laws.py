"""Laws of answers to "when will my job start?": run times of the past, scenarios, intervals."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tiers import examples

from allocsolve.errors import InvalidOption, InvalidProblem
from allocsolve.heuristics import Conservative, Easy, Fcfs, FirstFit
from allocsolve.model import Amdahl, Job, WorkloadProblem
from allocsolve.prediction import JobHistory, RunTimes, past_answers, when
from allocsolve.prediction.intervals import LEVELS, MISSED, conformal_shifts, interval_scores, log_wait
from allocsolve.prediction.scenarios import PRIOR_JOBS, drawn, run_times_until
from allocsolve.prediction.when import METHODS, PastAnswers, best_method, calibrated
from allocsolve.simulation import Engine, QueueSnapshot, forecast, simulate


class PastJob(NamedTuple):
    """A job of the past; seconds."""

    nodes: int
    limit: int
    span: int
    ended: bool

    @property
    def share(self) -> Fraction:
        """The part of its limit that it used, or has used so far."""
        return min(Fraction(self.span, self.limit), Fraction(1))


def octave(value: int, parts: int) -> int:
    """Return how many times 2^(1/parts) fits into a number, as a product."""
    count = 0
    while 2 ** (count + 1) <= value**parts:
        count += 1
    return count


def naive_survival(past: list[PastJob], nodes: int, limit: int, share: Fraction, prior: int) -> float:
    """Return the chance that a job uses more than a share of its limit: a product over all ends before it."""
    if share >= 1:
        return 0.0
    same_limit = [job for job in past if octave(job.limit, 2) == octave(limit, 2)]

    def weight(job: PastJob) -> Fraction:
        total = Fraction(prior, len(past))
        if job in same_limit:
            total += Fraction(prior, len(same_limit))
            total += octave(job.nodes, 1) == octave(nodes, 1)
        return total

    survived = Fraction(1)
    for end in sorted({job.share for job in past if job.ended and job.share <= share}):
        at_risk = sum(weight(job) for job in past if job.share >= end)
        ended = sum(weight(job) for job in past if job.share == end and job.ended)
        survived *= 1 - Fraction(ended) / Fraction(at_risk)
    return float(survived)


def naive_rank(count: int, missed: Fraction) -> int:
    """Return which of so many values, from 1, a further one exceeds with at most this chance, or the last."""
    rank = 1
    while rank < count and Fraction(rank, count + 1) < 1 - missed:
        rank += 1
    return min(rank, count)


def naive_quantile(waits: list[tuple[int, bool]], rank: int, otherwise: int) -> int:
    """Return the least wait that `rank` are expected not to exceed; of too few ended ones, as if all had."""
    survived = Fraction(1)
    for end in sorted({wait for wait, over in waits if over}):
        at_risk = sum(wait >= end for wait, _ in waits)
        survived *= 1 - Fraction(sum(wait == end and over for wait, over in waits), at_risk)
        if len(waits) * (1 - survived) >= rank:
            return end
    return sorted(wait for wait, _ in waits)[otherwise - 1]


def is_close(first: float, second: float) -> bool:
    """Return whether two chances are equal but for rounding."""
    return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-9)


POLICIES = (Fcfs(), FirstFit(), Easy(), Easy(order="shortest-estimate"), Easy(reservations="all"))
policies = pytest.mark.parametrize("policy", POLICIES, ids=str)


@st.composite
def past_jobs(draw: Any) -> list[PastJob]:
    limits = st.sampled_from([1, 2, 3, 60, 64, 85, 90, 3600])
    return [
        PastJob(draw(st.integers(1, 9)), draw(limits), draw(st.integers(0, 100)), draw(st.booleans()))
        for _ in range(draw(st.integers(1, 12)))
    ]


def run_times(past: list[PastJob]) -> RunTimes:
    columns = [np.array(column) for column in zip(*past, strict=True)]
    return RunTimes(columns[0], columns[1].astype(float), columns[2].astype(float), columns[3])


@settings(max_examples=examples(60))
@given(
    past=past_jobs(),
    nodes=st.integers(1, 9),
    limit=st.sampled_from([1, 2, 60, 64, 90, 3600]),
    share=st.fractions(0, 1, max_denominator=64),
)
def test_survival_is_the_product_over_all_ends(
    past: list[PastJob], nodes: int, limit: int, share: Fraction
) -> None:
    told = run_times(past).survival(nodes, float(limit), np.array([float(share)]))[0]
    # a share that is that of a job, but for rounding, may be on either side of it
    near = {naive_survival(past, nodes, limit, share + step, int(PRIOR_JOBS)) for step in (-TINY, 0, TINY)}
    assert any(is_close(told, value) for value in near)


TINY = Fraction(1, 10**9)


@settings(max_examples=examples(60))
@given(past=past_jobs(), elapsed=st.floats(0, 2), seed=st.integers(0, 99))
def test_drawn_run_times_are_distributed_as_what_survives(
    past: list[PastJob], elapsed: float, seed: int
) -> None:
    known, nodes, limit = run_times(past), 2, 64.0  # shares of it are not rounded
    chances = np.sort(np.random.default_rng(seed).random(50))
    so_far = elapsed * limit
    drawn = known.drawn(np.array([nodes]), np.array([limit]), np.array([so_far]), chances[None])[0]
    assert (drawn >= so_far).all()
    assert (drawn <= max(limit, so_far)).all()
    assert (np.diff(drawn) <= 0).all()  # the smaller the chance to run longer, the longer the run
    if elapsed < 1:
        before = known.survival(nodes, limit, np.array([elapsed]))[0]
        after = known.survival(nodes, limit, drawn / limit)
        assert (after <= chances * before + 1e-12).all()
        earlier = known.survival(nodes, limit, np.nextafter(drawn / limit, 0))
        assert (earlier >= chances * before - 1e-12).all()


def test_who_still_runs_is_no_end() -> None:
    job = PastJob(1, 100, 50, ended=False)
    assert run_times([job] * 3).survival(1, 100.0, np.array([0.4, 0.5, 0.99, 1.0])).tolist() == [1, 1, 1, 0]
    assert run_times([job._replace(ended=True)]).survival(1, 100.0, np.array([0.4, 0.5])).tolist() == [1, 0]


@st.composite
def workloads(draw: Any) -> WorkloadProblem:
    num_nodes = draw(st.integers(1, 8))
    jobs = []
    for _ in range(draw(st.integers(1, 10))):
        runtime = draw(st.integers(2, 12))
        limit = runtime + draw(st.integers(0, 12))
        jobs.append(Job(draw(st.integers(0, 20)), draw(st.integers(1, num_nodes)), runtime, limit))
    return WorkloadProblem(num_nodes, jobs)


@policies
@settings(max_examples=examples(30))
@given(problem=workloads())
def test_a_scenario_of_the_limits_is_the_forecast(problem: WorkloadProblem, policy: Any) -> None:
    engine = Engine(problem, policy.rules)
    while (view := engine.advance()) is not None:
        snapshot = QueueSnapshot.of(view)
        # who has run for as long as he may ends a moment later in a scenario, now in a forecast
        if not (view.expected_ends <= view.now + 1).any():
            told = snapshot.starts(policy, snapshot.running_limits, snapshot.limits)
            assert told.tolist() == pytest.approx(forecast(view, policy).tolist(), abs=1e-9)
        engine.apply(policy.decide(view))


@policies
@settings(max_examples=examples(30))
@given(problem=workloads())
def test_a_scenario_of_the_true_run_times_comes_true(problem: WorkloadProblem, policy: Any) -> None:
    starts, runtime = simulate(problem, policy).first_starts, problem.packed.runtime
    last = problem.packed.submit.max()
    engine = Engine(problem, policy.rules)
    while (view := engine.advance()) is not None:
        ends_now = (view.jobs.start[view.running] + runtime[view.running] < view.now + 1).any()
        if view.now >= last and not ends_now:
            told = QueueSnapshot.of(view).starts(policy, runtime[view.running], runtime[view.queue])
            assert told.tolist() == pytest.approx(starts[view.queue].tolist(), abs=1e-9)
        engine.apply(policy.decide(view))


@settings(max_examples=examples(30))
@given(problem=workloads(), delay=st.integers(1, 30))
def test_who_must_not_start_yet_comes_later(problem: WorkloadProblem, delay: int) -> None:
    packed = problem.packed
    nothing = np.empty(0)
    eligible = np.where(np.arange(len(packed.submit)) % 2, packed.submit + delay, packed.submit)
    now = float(packed.submit.max())
    order = np.lexsort((np.arange(len(eligible)), np.maximum(eligible, now)))
    for policy in (Fcfs(), Easy(), Easy().decide):
        told = QueueSnapshot(
            problem.num_nodes,
            now,
            nothing.astype(np.int64),
            nothing,
            nothing,
            packed.nodes,
            packed.submit,
            packed.estimate,
            eligible,
        ).starts(policy, nothing, packed.runtime)
        assert (told >= np.maximum(eligible, now)).all()
        later = WorkloadProblem(
            problem.num_nodes,
            [
                Job(max(eligible[job], now), packed.nodes[job], packed.runtime[job], packed.estimate[job])
                for job in order.tolist()
            ],
        )
        assert told[order].tolist() == pytest.approx(
            simulate(later, Fcfs() if policy == Fcfs() else Easy()).first_starts.tolist()
        )


@given(count=st.integers(1, 300), seed=st.integers(0, 9))
def test_moved_ends_would_have_held(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    quantiles = np.sort(rng.exponential(1000, (count, 3)), axis=1)
    waits = rng.exponential(2000, count)
    shifts = conformal_shifts(quantiles, waits, np.ones(count, dtype=bool))
    seen, ends = log_wait(waits), log_wait(quantiles)
    rank = naive_rank(count, Fraction(MISSED).limit_denominator(100) / 2)
    assert np.sum(ends[:, 0] - shifts.lower <= seen + 1e-9) >= rank
    assert np.sum(seen <= ends[:, 2] + shifts.upper + 1e-9) >= rank
    assert np.sum(seen < ends[:, 2] + shifts.upper - 1e-9) <= rank
    moved = shifts.applied(quantiles)
    assert (moved[:, 0] >= 0).all()
    assert (np.diff(moved, axis=1) >= 0).all()
    assert moved[:, 1] == pytest.approx(quantiles[:, 1])


@given(
    waits=st.lists(st.tuples(st.integers(0, 40), st.booleans()), min_size=1, max_size=30),
    predicted=st.integers(0, 30),
)
def test_open_waits_count_by_the_estimator_of_kaplan_and_meier(
    waits: list[tuple[int, bool]], predicted: int
) -> None:
    """With one prediction for all, ends are quantiles of the waits, of which some are longer than seen."""
    count = len(waits)
    quantiles = np.full((count, 3), float(predicted))
    seen = np.array([wait for wait, _ in waits], dtype=float)
    shifts = conformal_shifts(quantiles, seen, np.array([over for _, over in waits]))
    rank = naive_rank(count, Fraction(MISSED).limit_denominator(100) / 2)
    lower = naive_quantile(waits, count - rank + 1, count - rank + 1)
    upper = naive_quantile(waits, rank, count)
    middle = log_wait(np.array([float(predicted)]))[0]
    assert middle - shifts.lower == pytest.approx(log_wait(np.array([float(lower)]))[0])
    assert middle + shifts.upper == pytest.approx(log_wait(np.array([float(upper)]))[0])


def test_nothing_known_moves_nothing() -> None:
    assert conformal_shifts(np.empty((0, 3)), np.empty(0), np.empty(0, dtype=bool)) == (0.0, 0.0)


@given(seed=st.integers(0, 20))
def test_true_quantiles_have_the_least_score(seed: int) -> None:
    rng = np.random.default_rng(seed)
    waits = rng.exponential(1000, 4000)
    true = np.quantile(waits, LEVELS)

    def score(ends: Any) -> float:
        return float(interval_scores(np.tile(ends, (len(waits), 1)), waits).mean())

    for share in (0.3, 0.7, 1.5, 4.0):
        assert score(true) < score(true * [share, 1, 1])
        assert score(true) < score(true * [1, 1, share])


def made_history(count: int, seed: int = 0) -> JobHistory:
    """Return jobs that ran under EASY on 16 nodes, with limits that are used in part."""
    rng = np.random.default_rng(seed)
    submit = np.cumsum(rng.exponential(1100, count)).round()
    limit = rng.choice([600.0, 3600.0, 14_400.0], count)
    runtime = np.ceil(limit * rng.beta(0.6, 1.2, count)) + 1
    jobs = [
        Job(*row)
        for row in zip(submit, rng.integers(1, 13, count), np.minimum(runtime, limit), limit, strict=True)
    ]
    problem = WorkloadProblem(16, jobs)
    starts, packed = simulate(problem, Easy()).first_starts, problem.packed
    return JobHistory(16, packed.submit, starts, starts + packed.runtime, packed.nodes, packed.estimate)


def test_made_logs_are_covered() -> None:
    """On a log whose future is as its past, nine of ten intervals hold; analogues are worse here."""
    past = past_answers(made_history(1000), Easy(), "submission", count=320)
    simulation, analogues = (calibrated(past, method, np.inf) for method in METHODS)
    intervals, waits = simulation.intervals[200:], past.waits[200:]
    holds = (intervals[:, 0] <= waits) & (waits <= intervals[:, 2])
    assert 0.82 <= holds.mean() <= 0.97
    assert simulation.score < analogues.score
    assert best_method(past, np.inf).method == "simulation"


def test_a_machine_that_does_something_else_is_told_by_analogues() -> None:
    """Jobs that all wait an hour, whatever the policy is thought to do."""
    history = made_history(600)
    starts = history.submits + 3600.0
    other = JobHistory(16 * 50, history.submits, starts, starts + 60, history.nodes, history.limits)
    past = past_answers(other, Easy(), "submission", count=260)
    best = best_method(past, np.inf)
    assert best.method == "analogues"
    snapshot, _ = other.snapshot(float(other.submits[-1]))
    told = when(snapshot, Easy(), other, past=[past])
    assert told.methods[-1] == "analogues"
    assert snapshot.submits[-1] == snapshot.now
    assert told.earliest[-1] <= snapshot.now + 3600 <= told.latest[-1] + 1e-6


def test_answers_know_nothing_of_the_future() -> None:
    history = made_history(70)
    now = float(history.submits[60])
    is_known = history.submits <= now
    cut = JobHistory(
        16,
        history.submits[is_known],
        np.where(history.starts <= now, history.starts, np.inf)[is_known],
        np.where(history.ends <= now, history.ends, np.inf)[is_known],
        history.nodes[is_known],
        history.limits[is_known],
    )
    snapshot, _ = history.snapshot(now)
    whole, part = (when(snapshot, Easy(), known, seed=1) for known in (history, cut))
    assert np.array(whole[:4]) == pytest.approx(np.array(part[:4]))
    assert (whole.earliest >= now).all()
    assert (whole.earliest <= whole.median).all()
    assert (whole.median <= whole.latest).all()
    again = when(snapshot, Easy(), history, seed=1)
    assert np.array(again[:4]).tolist() == np.array(whole[:4]).tolist()


@given(waited=st.lists(st.booleans(), max_size=60), count=st.integers(0, 12), before=st.integers(0, 70))
def test_questions_at_submissions_are_spread_over_ten_times_as_many_jobs(
    waited: list[bool], count: int, before: int
) -> None:
    submits = np.arange(float(len(waited)))
    starts = submits + np.array(waited, dtype=float)
    ones = np.ones(len(waited))
    history = JobHistory(4, submits, starts, starts + 1, ones.astype(int), ones)
    asked = history.questions(count, "submission", before=before)
    waits = [job for job, it in enumerate(waited) if it and job < before]
    pool = waits[max(0, len(waits) - 10 * count) :] if count else []
    assert len(asked.jobs) == min(count, len(waits))
    assert asked.times.tolist() == submits[asked.jobs].tolist()
    places = [pool.index(job) for job in asked.jobs.tolist()]
    assert places[-1:] == ([len(pool) - 1] if pool else [])
    gaps = np.diff([-1, *places])
    assert not places or ((gaps >= 1).all() and gaps.max() - gaps.min() <= 1)


def test_questions_at_instants_are_asked_while_jobs_wait() -> None:
    history = made_history(600)
    asked = history.questions(200, "instant", before=float(history.submits[500]))
    assert (np.diff(asked.times) >= 0).all()
    assert (history.submits[asked.jobs] <= asked.times).all()
    assert (asked.times < np.minimum(history.starts[asked.jobs], history.submits[500])).all()
    for job, now in zip(asked.jobs.tolist(), asked.times.tolist(), strict=True):
        snapshot, queued = history.snapshot(now)
        assert job in queued
        assert snapshot.running_nodes.sum() <= 16


def test_open_questions_count_as_long_as_they_have_waited() -> None:
    past = PastAnswers(
        "submission", np.array([0.0, 10.0]), np.zeros((2, 3)), np.zeros((2, 1)), np.array([100.0, np.inf])
    )
    assert past.seen(60.0).tolist() == [60.0, 50.0]
    assert past.seen(100.0).tolist() == [100.0, 90.0]


def test_draws_are_spread_evenly() -> None:
    """Forty scenarios of a job whose run time is uniform have one draw in each fortieth."""
    spans = np.arange(1.0, 4001.0)
    ones = np.ones(4000, dtype=np.int64)
    known = RunTimes(ones, np.full(4000, 4000.0), spans, ones.astype(bool))
    one, now, limit = np.array([1]), np.array([0.0]), np.array([4000.0])
    snapshot = QueueSnapshot(1, 0.0, one, now, limit, one, now, limit, now)
    draws = np.sort(drawn(snapshot, known, 0)[:, 0])
    assert (np.floor((draws - 1e-6) / 100) == np.arange(40)).all()


def test_what_cannot_be_is_refused() -> None:
    ones, nothing = np.array([1]), np.empty(0)

    def snapshot(**changed: Any) -> QueueSnapshot:
        columns = {
            "num_nodes": 4,
            "now": 10.0,
            "running_nodes": ones,
            "running_starts": ones,
            "running_limits": ones,
            "nodes": ones,
            "submits": ones,
            "limits": ones,
            "eligible": ones,
        }
        return QueueSnapshot(**{**columns, **changed})

    assert snapshot().num_nodes == 4
    cases = {
        "running jobs hold 5 nodes of a machine of 4": {"running_nodes": ones * 5},
        "queued job 0: nodes are above those of the machine, 4": {"nodes": ones * 5},
        "running job 0: starts after now": {"running_starts": ones * 11},
        "queued job 0: is submitted after now": {"submits": ones * 11},
        "queued job 0: limit is not above 0": {"limits": ones * np.nan},
        "running job 0: limit is not above 0": {"running_limits": ones * 0},
        "queued job 0: its earliest start is no time": {"eligible": ones * np.inf},
        "queued job 0: nodes are below 1": {"nodes": ones * 0},
        "the columns of queued jobs have the shapes": {"limits": nothing},
    }
    for said, changed in cases.items():
        with pytest.raises(InvalidProblem, match=said):
            snapshot(**changed)
    past = {
        "job 1 of a history is submitted before": {"submits": np.array([1.0, 0.0])},
        "job 0 of a history starts before": {"starts": np.array([0.0, 2.0])},
        "job 1 of a history ends before": {"ends": np.array([9.0, 1.0])},
        "job 0 of a history has a limit": {"limits": np.array([0.0, 2.0])},
        "job 0 of a history has no nodes": {"nodes": np.array([0, 2])},
        "shapes": {"nodes": ones},
    }
    good: dict[str, Any] = {
        name: np.array([1, 2]) for name in ("submits", "starts", "ends", "nodes", "limits")
    }
    for said, changed in past.items():
        with pytest.raises(InvalidProblem, match=said):
            JobHistory(4, **{**good, **changed})


def test_only_rigid_jobs_have_intervals() -> None:
    problem = WorkloadProblem(8, [Job(0, 4, 10, speedup=Amdahl(0.5), min_nodes=1, max_nodes=8)])
    view = Engine(problem).advance()
    assert view is not None
    with pytest.raises(InvalidOption, match="job 0 is not rigid"):
        QueueSnapshot.of(view)


def test_a_view_is_answered_as_its_snapshot() -> None:
    problem = WorkloadProblem(4, [Job(0, 3, 50, limit=100), Job(1, 4, 10), Job(1, 1, 10)])
    engine = Engine(problem)
    first = engine.advance()
    assert first is not None
    engine.apply(Fcfs().decide(first))
    view = engine.advance()
    assert view is not None
    history = made_history(100)
    told = when(view, Fcfs(), history, past=[])
    assert told.by_limits.tolist() == [100.0, 112.5]
    assert told.questions == (0, 0)
    same = when(QueueSnapshot.of(view), Fcfs(), history, past=[])
    assert np.array(told[:4]).tolist() == np.array(same[:4]).tolist()
    assert run_times_until(history, 0.0) is not None
    assert len(when(QueueSnapshot.of(view), Conservative(), history, past=[]).median) == 2
