"""When will my job start? An interval for each job that waits, calibrated on the past of the machine.

Two methods predict waits. The simulation runs the policy forward in scenarios. Analogues are the earlier
questions that are most like a new one: their waits are its distribution, whatever the policy was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from allocsolve.model.arrays import frozen
from allocsolve.prediction.intervals import LEVELS, Shifts, conformal_shifts, interval_scores, log_wait
from allocsolve.prediction.scenarios import RECENT_JOBS, predicted, run_times_until
from allocsolve.simulation import QueueSnapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from allocsolve.model import BoolArray, FloatArray
    from allocsolve.prediction.history import JobHistory, Moment
    from allocsolve.simulation import PolicyLike, QueueView

#: How waits are predicted.
Method: TypeAlias = Literal["simulation", "analogues"]
#: All methods, the first where nothing tells them apart.
METHODS: tuple[Method, ...] = get_args(Method)
#: How many questions of the past are asked, how many of the latest calibrate the ends of intervals, and how
#: many of the latest choose the method.
QUESTIONS: Final = 1000
CALIBRATING: Final = 600
CHOOSING: Final = 400
#: How many earlier questions are analogues of one.
ANALOGUES: Final = 40
#: With fewer earlier questions, a question of the past tells nothing of a method.
_LEAST: Final = 100
#: What is known of run times is made anew when so many more jobs have been submitted, as a share of all that
#: tell about them.
_NEW_JOBS: Final = 0.01
#: How many numbers `features` makes of a question.
_FEATURES: Final = 9


class PastAnswers(NamedTuple):
    """Questions of the past with the predictions of the simulation, and how long the waits were."""

    moment: Moment
    #: Shape (questions,): when each was asked, in seconds, rising.
    times: FloatArray
    #: Shape (questions, 3): the quantiles 5 %, 50 % and 95 % of the wait in scenarios, in seconds.
    quantiles: FloatArray
    #: Shape (questions, features): what tells questions apart.
    features: FloatArray
    #: Shape (questions,): how long each job waited from then on, in seconds; infinite if it still waits.
    waits: FloatArray

    def seen(self, now: float) -> FloatArray:
        """Return what is known of the waits at an instant: of jobs that waited, how long they had by then."""
        return np.where(self.ended(now), self.waits, now - self.times)

    def ended(self, now: float) -> BoolArray:
        """Return which waits are over at an instant. Shape (questions,)."""
        over: BoolArray = self.times + self.waits <= now
        return over


def features(snapshot: QueueSnapshot, quantiles: FloatArray, plan: FloatArray) -> FloatArray:
    """Return what tells questions about the jobs of a queue apart. Shape (queued, features).

    It is what the simulation predicts, the wait if all run as long as they may, how long the job has waited,
    its nodes and limit, and the hour of the day.
    """
    hour = 2 * np.pi * (snapshot.now % 86_400) / 86_400
    return np.column_stack(
        [
            log_wait(quantiles),
            log_wait(plan),
            log_wait(snapshot.now - snapshot.submits),
            np.log2(snapshot.nodes),
            np.log2(snapshot.limits),
            np.full(len(snapshot.nodes), np.sin(hour)),
            np.full(len(snapshot.nodes), np.cos(hour)),
        ]
    )


def past_answers(
    history: JobHistory,
    policy: PolicyLike,
    moment: Moment,
    *,
    count: int = QUESTIONS,
    before: float = np.inf,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> PastAnswers:
    """Ask questions of the past, each with what was known when it is asked.

    The policy is what the machine is thought to do. `moment`, `count` and `before` are as for
    `JobHistory.questions`, and the seed is that of instants and scenarios. `progress` is called after each
    question with how many have been asked, and how many there are.

    Notes
    -----
    *Complexity*: for each question, that of 40 runs of the policy over the jobs that run or wait.
    """
    asked = history.questions(count, moment, before=before, seed=seed)
    rows: list[FloatArray] = []
    told: list[FloatArray] = []
    known, seen = run_times_until(history, -np.inf), 0
    for idx, (job, now) in enumerate(zip(asked.jobs.tolist(), asked.times.tolist(), strict=True)):
        snapshot, queued = history.snapshot(now)
        submitted = int(np.searchsorted(history.submits, now, side="right"))
        if submitted - seen > _NEW_JOBS * min(seen, RECENT_JOBS):
            known, seen = run_times_until(history, now), submitted
        quantiles, plan = predicted(snapshot, policy, known, seed=seed + idx)
        at = int(np.searchsorted(queued, job))
        told.append(quantiles[at])
        rows.append(features(snapshot, quantiles, plan)[at])
        if progress is not None:
            progress(idx + 1, len(asked.times))
    return PastAnswers(
        moment,
        asked.times,
        frozen(np.array(told).reshape(-1, 3)),
        frozen(np.array(rows).reshape(-1, _FEATURES)),
        frozen(history.starts[asked.jobs] - asked.times),
    )


def analogue_quantiles(past: PastAnswers, wanted: FloatArray, now: float) -> FloatArray:
    """Return `LEVELS` of the waits of the earlier questions that are most like new ones.

    Of the past those count that were asked before `now`. `wanted`, shape (n, features), are the new
    questions. Shape (n, 3), seconds; NaN if nothing was asked before.

    Notes
    -----
    *Complexity*: O(n questions). Features count by their distance in standard deviations. The levels are
    estimates, interpolated as in `allocsolve.prediction.scenarios.levels`.
    """
    earlier = int(np.searchsorted(past.times, now, side="left"))
    if not earlier:
        return np.full((len(wanted), 3), np.nan)
    pool, waits = past.features[:earlier], past.seen(now)[:earlier]
    spread = pool.std(axis=0)
    spread[spread == 0] = np.inf
    nearest = min(ANALOGUES, earlier)
    quantiles = np.empty((len(wanted), 3))
    for row, point in enumerate(wanted):
        distance = (((pool - point) / spread) ** 2).sum(axis=1)
        quantiles[row] = np.quantile(waits[np.argpartition(distance, nearest - 1)[:nearest]], LEVELS)
    return quantiles


class CalibratedMethod(NamedTuple):
    """A method, and what the past says of it."""

    method: Method
    #: What moves the ends of its intervals.
    shifts: Shifts
    #: Its mean interval score in the past, NaN if nothing is known.
    score: float
    #: Shape (questions, 3): the intervals that it would have given in the past, in seconds; NaN for the first
    #: ones.
    intervals: FloatArray


def calibrated(past: PastAnswers, method: Method, now: float) -> CalibratedMethod:
    """Return how the intervals of a method are moved, and how good the moved ones were.

    Each interval of the past is moved by what was known when it was asked for: by the `CALIBRATING` questions
    before it.
    """
    predicted = past.quantiles
    if method == "analogues":
        rows = [
            analogue_quantiles(past, past.features[idx : idx + 1], time)
            for idx, time in enumerate(past.times.tolist())
        ]
        predicted = np.concatenate([np.empty((0, 3)), *rows])
    intervals = np.full(predicted.shape, np.nan)
    first = _LEAST if method == "analogues" else 0  # whose analogues are too few to tell anything
    for idx in range(first + _LEAST, len(predicted)):
        before = slice(max(first, idx - CALIBRATING), idx)
        then = past.times[idx]
        shifts = conformal_shifts(predicted[before], past.seen(then)[before], past.ended(then)[before])
        intervals[idx] = shifts.applied(predicted[idx : idx + 1])[0]
    known = np.flatnonzero(~np.isnan(intervals[:, 0]) & past.ended(now))[-CHOOSING:]
    scores = interval_scores(intervals[known], past.waits[known])
    last = slice(max(first, len(predicted) - CALIBRATING), None)
    shifts = conformal_shifts(predicted[last], past.seen(now)[last], past.ended(now)[last])
    return CalibratedMethod(method, shifts, float(scores.mean()) if len(known) else np.nan, intervals)


def best_method(past: PastAnswers, now: float) -> CalibratedMethod:
    """Return the method whose intervals of the past have the least mean score; the first of equal ones."""
    methods = [calibrated(past, method, now) for method in METHODS]
    known = [method for method in methods if not np.isnan(method.score)]
    return min(known, key=lambda method: method.score, default=methods[0])


class StartIntervals(NamedTuple):
    """When each queued job will start, in the order of the queue; shape (queued,), times in seconds."""

    #: The chance that a job starts before this is 5 %, and that it starts later than `latest`, too.
    earliest: FloatArray
    #: As likely before as after.
    median: FloatArray
    latest: FloatArray
    #: The start if all jobs run as long as they may and no more are submitted.
    by_limits: FloatArray
    #: How each was predicted, and from how many questions of the past: with none, the chances are those of
    #: the scenarios alone.
    methods: tuple[Method, ...]
    questions: tuple[int, ...]


def when(
    view: QueueView | QueueSnapshot,
    policy: PolicyLike,
    history: JobHistory,
    *,
    past: Sequence[PastAnswers] | None = None,
    seed: int = 0,
) -> StartIntervals:
    """Return when each queued job will start.

    `InvalidOption` if a job of the view is not rigid.

    The view is what a policy sees, or a snapshot of the queue; the policy is what the machine does, as for
    `allocsolve.simulation.forecast`, and the history has its jobs of the past, up to now. Whoever asks again
    and again makes answers of the past once a day, by `past_answers`, for submissions, for instants, or both;
    they are made of the history if left out. The seed is that of the scenarios. NaN for a job that the policy
    never starts.

    Notes
    -----
    Run times are drawn from the past by classes of limit and nodes, given how long jobs have run; the policy
    goes on in 40 scenarios; the ends of the intervals are moved so that they would have held 90 % of the last
    600 times. A job that is submitted now is judged by questions at submissions, others by those at any
    instant. Where the waits of similar questions of the past would have given better intervals, by the
    interval score of the last 400, they are taken in place of the scenarios. Questions of the past are asked
    of a machine that is always open: what windows and counted resources add, the scenarios of now know.

    *Guarantee*: none for a single job; over many, 90 % if the future is as the past.
    *Complexity*: 40 runs of the policy over the jobs that run or wait; without `past` a thousand times as
    much.
    """
    snapshot = view if isinstance(view, QueueSnapshot) else QueueSnapshot.of(view)
    now = snapshot.now
    is_new = snapshot.submits == now
    if past is None:
        moments = [("submission", is_new.any()), ("instant", (~is_new).any())]
        past = [
            past_answers(history, policy, moment, before=now, seed=seed)  # type: ignore[arg-type]  # both are moments
            for moment, is_asked in moments
            if is_asked
        ]
    quantiles, plan = predicted(snapshot, policy, run_times_until(history, now), seed=seed)
    asked = features(snapshot, quantiles, plan)
    waits = quantiles.copy()
    methods: list[Method] = ["simulation"] * len(waits)
    questions = [0] * len(waits)
    for answers in past:
        rows = np.flatnonzero(is_new == (answers.moment == "submission"))
        if not (len(rows) and len(answers.times)):
            continue
        best = best_method(answers, now)
        chosen = quantiles[rows]
        if best.method == "analogues":
            chosen = analogue_quantiles(answers, asked[rows], now)
        waits[rows] = best.shifts.applied(chosen)
        for row in rows.tolist():
            methods[row] = best.method
            questions[row] = len(answers.times)
    waits = np.maximum(waits, (snapshot.eligible - now)[:, None])  # moved ends, too, are not before that
    earliest, median, latest = snapshot.first_open(waits + now).T
    return StartIntervals(earliest, median, latest, plan + now, tuple(methods), tuple(questions))
