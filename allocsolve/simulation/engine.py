"""The engine in pull style: whoever drives it asks for the next view and applies decisions to it."""

from __future__ import annotations

import bisect
import math
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.model.arrays import frozen
from allocsolve.model.checks import shown, whole
from allocsolve.simulation._columns import KnownColumns
from allocsolve.simulation._kernels_events import (
    COMPLETED,
    FREE,
    HEAD,
    RUNNING,
    SUBMITTED,
    TAIL,
    initial_state,
    start_job,
    to_next_event,
)
from allocsolve.simulation.decisions import IllegalDecision, Reason, Start, Wake
from allocsolve.simulation.outcome import log_of, schedule_of
from allocsolve.simulation.rules import Rules
from allocsolve.simulation.sizes import can_run_on, relative_time, run_time
from allocsolve.simulation.view import View

if TYPE_CHECKING:
    from collections.abc import Iterable

    from allocsolve.model import WorkloadProblem, WorkloadSchedule
    from allocsolve.model.jobs import FloatArray
    from allocsolve.simulation.decisions import Decision
    from allocsolve.simulation.outcome import Log

__all__ = ["Engine"]


class Engine:
    """Runs a workload from event to event; who drives it decides.

    Parameters
    ----------
    problem
        The jobs and the cluster.
    rules
        When the policy is called and what it may know.

    Notes
    -----
    A job that ends at an instant leaves its nodes before the policy is called at that instant.

    Examples
    --------
    >>> from allocsolve.model import Job, WorkloadProblem
    >>> engine = Engine(WorkloadProblem(4, [Job(0, 3, 100), Job(1, 2, 10)]))
    >>> view = engine.advance()
    >>> engine.apply([Start(job=0, nodes=3)])
    >>> view = engine.advance()
    >>> view.now, view.free, view.queue.tolist(), view.running.tolist(), view.expected_ends.tolist()
    (1.0, 1, [1], [0], [125.0])
    >>> engine.apply([Start(1, 2)])
    Traceback (most recent call last):
        ...
    allocsolve.simulation.decisions.IllegalDecision: job 1: starts on 2 nodes, but 1 are free
    """

    def __init__(self, problem: WorkloadProblem, rules: Rules | None = None) -> None:
        self.problem = problem
        self.rules = rules or Rules()
        self._state = initial_state(problem.num_nodes, problem.packed.submit, ordered=True)
        self._known = KnownColumns(problem, self.rules, self._state.start)
        self._estimates = (
            problem.packed.runtime if self.rules.knowledge == "actual" else problem.packed.estimate
        )
        self._wakes: list[float] = []

    def advance(self) -> View | None:
        """Go on to the next instant at which a policy may speak; None if nothing will happen any more.

        Jobs may still be queued then, if the policy did not start them.
        """
        state, wakes = self._state, self._wakes
        counts = state.counts
        # Without a job that waits or is to come, there is nothing left to decide.
        if not (counts[TAIL] > counts[HEAD] or counts[RUNNING] or len(state.arrivals) > counts[TAIL]):
            return None
        if not to_next_event(state, wakes[0] if wakes else math.inf, self.rules.coalesce):
            return None
        completed, submitted = int(counts[COMPLETED]), int(counts[SUBMITTED])
        now = float(state.clock[0])
        events = frozen(state.events[: completed + submitted].copy())
        woken = bool(wakes) and wakes[0] == now and (self.rules.coalesce or not len(events))
        if woken:
            wakes.pop(0)
        ended, entered = events[:completed], events[completed:]
        if completed:
            self._known.complete(ended, now)
        if submitted:
            self._known.reveal(entered)
        running = frozen(state.ordered_jobs[: counts[RUNNING]].copy())
        return View(
            now=now,
            completed=ended,
            submitted=entered,
            woken=woken,
            num_nodes=self.problem.num_nodes,
            free=int(counts[FREE]),
            queue=frozen(state.queue[counts[HEAD] : counts[TAIL]].copy()),
            running=running,
            expected_ends=_at_least(state.ordered_keys[: counts[RUNNING]], now),
            held=frozen(state.size[running]),
            jobs=self._known.seen,
        )

    def apply(self, decisions: Iterable[Decision]) -> None:
        """Do what was decided, in this order, all or nothing.

        Raises
        ------
        IllegalDecision
            If a decision breaks a rule: nothing has been changed then.
        """
        starts, wakes = self._checked(decisions)
        packed = self.problem.packed
        for start in starts:
            job, nodes = start.job, start.nodes
            seconds = run_time(packed, job, nodes)
            estimate = float(self._estimates[job]) * relative_time(packed, job, nodes)
            blocked = -1 if start.blocked is None else start.blocked
            start_job(self._state, job, nodes, seconds, estimate, int(start.reason), blocked)
        for at in wakes:
            if at not in self._wakes:
                bisect.insort(self._wakes, at)

    def _checked(self, decisions: Iterable[Decision]) -> tuple[list[Start], list[float]]:
        starts: list[Start] = []
        wakes: list[float] = []
        free, chosen = int(self._state.counts[FREE]), set[int]()
        for decision in decisions:
            if isinstance(decision, Wake):
                wakes.append(self._checked_wake(decision))
                continue
            if not isinstance(decision, Start):
                raise IllegalDecision(None, f"{shown(decision)} is no decision")
            start = self._checked_start(decision)
            if start.job in chosen:
                raise IllegalDecision(start.job, "is started twice")
            if start.nodes > free:
                raise IllegalDecision(start.job, f"starts on {start.nodes} nodes, but {free} are free")
            free -= start.nodes
            chosen.add(start.job)
            starts.append(start)
        return starts, wakes

    def _checked_start(self, start: Start) -> Start:
        jobs, state = self.problem.packed, self._state
        try:
            job, nodes = whole(start.job), whole(start.nodes)
            blocked = None if start.blocked is None else whole(start.blocked)
            reason = Reason(start.reason)
        except (TypeError, ValueError):
            raise IllegalDecision(None, f"{shown(start)} is malformed") from None
        if not (0 <= job < len(jobs.submit) and self._known.seen.nodes[job]):
            raise IllegalDecision(job, "is not in the queue: no such job has been submitted")
        if not math.isnan(state.start[job]):
            raise IllegalDecision(job, f"is not in the queue: it started at {state.start[job]:.15g} s")
        if not can_run_on(jobs, job, nodes):
            raise IllegalDecision(job, f"cannot run on {nodes} nodes")
        if blocked is not None and not 0 <= blocked < len(jobs.submit):
            raise IllegalDecision(job, f"is backfilled before job {blocked}, which does not exist")
        return Start(job, nodes, reason, blocked)

    def _checked_wake(self, wake: Wake) -> float:
        try:
            at = float(wake.at)
        except (TypeError, ValueError, OverflowError):
            raise IllegalDecision(None, f"wake-up at {shown(wake.at)} is at no time") from None
        if not self._state.clock[0] < at < math.inf:
            raise IllegalDecision(None, f"wake-up at {at} is not after now, {self._state.clock[0]:.15g}")
        return at

    def result(self) -> WorkloadSchedule:
        """Return the schedule so far: running jobs to their ends; jobs that have not started have no pieces."""
        return schedule_of(self._state)

    @property
    def log(self) -> Log:
        """Why jobs have started so far."""
        return log_of(self._state)


def _at_least(values: FloatArray, least: float) -> FloatArray:
    bounded = np.maximum(values, least)
    bounded.setflags(write=False)
    return bounded
