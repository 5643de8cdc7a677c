"""When will my job start? An interval for each job that waits, calibrated on the past of the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.prediction.answers import analogue_quantiles, best_method, features, past_answers
from allocsolve.prediction.scenarios import predicted, run_times_until
from allocsolve.simulation import QueueSnapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model.columns import FloatArray
    from allocsolve.prediction.answers import Method, PastAnswers
    from allocsolve.prediction.history import JobHistory
    from allocsolve.simulation import PolicyLike, QueueView


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
