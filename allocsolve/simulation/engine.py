"""The engine in pull style, whose driver asks for the next view and applies decisions to it; and drivers."""

from __future__ import annotations

import bisect
import math
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, runtime_checkable

import numpy as np

from allocsolve.kernels.records import numbers
from allocsolve.model import PROFILE, PackedJobs, frozen
from allocsolve.model.checks import shown, whole
from allocsolve.simulation._kernels_loop import start_job, to_next_event
from allocsolve.simulation.decisions import (
    Answer,
    IllegalDecision,
    Promise,
    Reason,
    Resize,
    Start,
    Wake,
    checked_wake,
)
from allocsolve.simulation.node_table import KnownPlaces
from allocsolve.simulation.orders import Changes, Orders
from allocsolve.simulation.outcome import Simulation, log_of, schedule_of, standstill_of
from allocsolve.simulation.policy import instantiated, runnable
from allocsolve.simulation.rules import EngineRules
from allocsolve.simulation.state import initial_state
from allocsolve.simulation.view import (
    NO_CHANGES,
    NO_PROFILES,
    KnownColumns,
    KnownProfiles,
    QueueView,
    can_run_on,
    relative_time,
    run_time,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from allocsolve.model import FloatArray, WorkloadProblem, WorkloadSchedule
    from allocsolve.simulation.decisions import Decision
    from allocsolve.simulation.outcome import Log, Standstill
    from allocsolve.simulation.policy import PolicyLike

#: A checked start: job, nodes, code of the reason, blocked job or -1.
_Chosen: TypeAlias = tuple[int, int, int, int]

#: The codes of all reasons.
_REASONS: Final = frozenset(reason.value for reason in Reason)


class Engine:
    """Runs a workload from event to event; its driver makes the decisions.

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

    def __init__(self, problem: WorkloadProblem, rules: EngineRules | None = None) -> None:
        self.rules = rules or EngineRules()
        self.problem = problem = self.rules.applied(problem)
        self.rules.check(problem)
        elastic = problem.is_elastic
        packed = problem.on_nodes
        self._state = initial_state(problem.num_nodes, packed.submit, ordered=True, resizable=elastic)
        self._arrays = tuple(self._state)
        starts = self._state.job["start"]
        self._known = KnownColumns(problem, self.rules, starts)
        # Single numbers are read from memory views several times faster than from arrays.
        self._jobs = PackedJobs(*(column.data for column in packed))  # type: ignore[arg-type]  # memory views for arrays
        self._estimates = self._jobs.runtime if self.rules.knowledge == "actual" else self._jobs.estimate
        self._shown_nodes, self._starts = self._known.seen.nodes.data, starts.data
        estimates = packed.runtime if self.rules.knowledge == "actual" else packed.estimate
        self._changes = Changes(problem, self._state, estimates) if elastic else None
        self._known_steps = (
            KnownProfiles(problem, self.rules, self._changes.present_step) if self._changes else None
        )
        self._places = KnownPlaces(problem, self.rules.choice) if problem.node_types else None
        self._wakes: list[float] = []

    def advance(self) -> QueueView | None:
        """Go on to the next instant at which a policy may speak; None if no event is left.

        Jobs may still be queued at that time, if the policy did not start them.
        """
        state, wakes, coalesce = self._state, self._wakes, self.rules.coalesce
        wake = wakes[0] if wakes else math.inf
        if self._changes is not None:
            called = self._changes.advance(wake, coalesce)
        else:
            called = to_next_event(self._arrays, wake, coalesce)
        if not called:
            return None
        engine = numbers(state.engine)
        completed, now = engine.completed, engine.clock
        num_events = completed + engine.submitted
        events = frozen(state.events[:num_events].copy())
        woken = bool(wakes) and wakes[0] == now and (coalesce or not num_events)
        if woken:
            wakes.pop(0)
        ended, entered = events[:completed], events[completed:]
        self._known.complete(ended, now)
        self._known.reveal(entered)
        listed = state.held[engine.first : engine.last]
        running, held = frozen(listed["job"].copy()), frozen(listed["nodes"].copy())
        queue = frozen(state.queue[engine.head : engine.tail].copy())
        changes = {"targets": held, **NO_CHANGES} if self._changes is None else self._changes.columns(running)
        profiles = NO_PROFILES if self._known_steps is None else self._known_steps.of(queue, running)
        places = None if self._places is None else self._places.view(ended, entered, running)
        return QueueView(
            now=now,
            completed=ended,
            submitted=entered,
            woken=woken,
            num_nodes=self.problem.num_nodes,
            free=engine.free if places is None else places.idle,
            queue=queue,
            running=running,
            expected_ends=_at_least(listed["key"], now),
            held=held,
            **changes,
            jobs=self._known.seen,
            profiles=profiles,
            places=places,
        )

    def apply(self, decisions: Iterable[Decision]) -> None:
        """Carry out the decisions in their order, either all or none of them.

        `IllegalDecision` if one breaks a rule; the state is unchanged in this case.
        """
        wakes: list[float] = []
        if self._changes is None:
            starts = (
                self._checked(decisions, wakes)
                if self._places is None
                else self._placed(decisions, wakes, self._places)
            )
            jobs = self._jobs
            for job, nodes, reason, blocked in starts:
                seconds = run_time(jobs, job, nodes)
                estimate = self._estimates[job] * relative_time(jobs, job, nodes)
                start_job(self._arrays, job, nodes, seconds, estimate, reason, blocked)
        else:
            self._changes.carry_out(self._checked_orders(decisions, wakes, self._changes))
        for at in wakes:
            if at not in self._wakes:
                bisect.insort(self._wakes, at)

    def _starts_of(
        self, decisions: Iterable[Decision], wakes: list[float]
    ) -> Iterator[tuple[Start, _Chosen]]:
        """Yield each start as said and as checked, of distinct jobs; `wakes` gets the calls asked for."""
        chosen = set[int]()
        for decision in decisions:
            if isinstance(decision, Wake):
                wakes.append(checked_wake(decision, self._state.engine["clock"]))
                continue
            if not isinstance(decision, Start):
                raise _no_start(decision)
            start = self._checked_start(decision)
            job = start[0]
            if job in chosen:
                raise IllegalDecision(job, "is started twice")
            chosen.add(job)
            yield decision, start

    def _checked(self, decisions: Iterable[Decision], wakes: list[float]) -> list[_Chosen]:
        starts: list[_Chosen] = []
        free = int(self._state.engine["free"])
        for _, start in self._starts_of(decisions, wakes):
            job, nodes = start[:2]
            if nodes > free:
                raise IllegalDecision(job, f"starts on {nodes} nodes, but {free} are free")
            free -= nodes
            starts.append(start)
        return starts

    def _placed(
        self, decisions: Iterable[Decision], wakes: list[float], places: KnownPlaces
    ) -> list[_Chosen]:
        """Return the starts, checked, whose jobs then are on nodes that are places."""
        before = places.num_new
        starts: list[_Chosen] = []
        try:
            for decision, (job, _, reason, blocked) in self._starts_of(decisions, wakes):
                starts.append((job, places.start(job, decision.places), reason, blocked))
        except BaseException:
            places.undo(before)
            raise
        return starts

    def _checked_orders(
        self, decisions: Iterable[Decision], wakes: list[float], changes: Changes
    ) -> list[list[int]]:
        orders = Orders(self._state, changes.resizing, self.problem.packed)
        for decision in decisions:
            if isinstance(decision, Wake):
                wakes.append(checked_wake(decision, self._state.engine["clock"]))
            else:
                orders.take(decision, self._checked_start)
        return orders.checked()

    def _checked_start(self, start: Start | Promise) -> _Chosen:
        count, at = len(self._shown_nodes), self._starts
        try:
            job, nodes = whole(start.job), whole(start.nodes)
            reason, before = (start.reason, start.blocked) if isinstance(start, Start) else (0, None)
            reason, blocked = whole(reason), -1 if before is None else whole(before)
        except TypeError:
            raise IllegalDecision(None, f"{shown(start)} is malformed") from None
        if not (0 <= job < count and self._shown_nodes[job]):
            raise IllegalDecision(job, "is not in the queue: no such job has been submitted")
        if not math.isnan(at[job]):
            raise IllegalDecision(job, f"is not in the queue: it started at {at[job]:.15g} s")
        if self._places is None and isinstance(start, Start) and start.places is not None:
            raise IllegalDecision(job, "starts on places, but nodes are counted here")
        if self._places is None and not can_run_on(self._jobs, job, nodes):
            raise IllegalDecision(job, f"cannot run on {nodes} nodes")
        if self._known.seen.reading[job] == PROFILE and nodes != self._jobs.nodes[job]:
            first = self._jobs.nodes[job]
            raise IllegalDecision(
                job, f"starts on {nodes} nodes, but the first step of its profile needs {first}"
            )
        if reason not in _REASONS:
            raise IllegalDecision(job, f"reason {reason} is not in 0..{max(_REASONS)}")
        if before is not None and not 0 <= blocked < count:
            raise IllegalDecision(job, f"is backfilled before job {blocked}, which is not in 0..{count - 1}")
        return job, nodes, reason, blocked

    def result(self) -> WorkloadSchedule:
        """Return the schedule so far: running jobs up to their ends, jobs not yet started without pieces."""
        schedule = schedule_of(self._state, None if self._changes is None else self._changes.resizing)
        return schedule if self._places is None else self._places.placed(schedule)

    @property
    def standstill(self) -> Standstill | None:
        """Which running jobs wait for nodes for ever, if no event is left; None if none does."""
        return None if self._changes is None else standstill_of(self._state, self._changes.resizing)

    @property
    def log(self) -> Log:
        """Why jobs have started so far."""
        return log_of(self._state)


def _no_start(decision: object) -> IllegalDecision:
    """Return the error for a decision that a workload of this kind does not allow."""
    if isinstance(decision, Resize | Promise):
        return IllegalDecision(None, f"{shown(decision)} is for workloads with malleable jobs")
    if isinstance(decision, Answer):
        return IllegalDecision(None, f"{shown(decision)} is for workloads with evolving jobs")
    return IllegalDecision(None, f"{shown(decision)} is no decision")


def _at_least(values: FloatArray, bound: float) -> FloatArray:
    """Return rising values, those below the bound raised to it, as a read-only copy."""
    return frozen(np.maximum(values, bound) if len(values) and values[0] < bound else values.copy())


@runtime_checkable
class CompiledPolicy(Protocol):
    """A policy that runs inside the compiled event loop."""

    def simulated(self, problem: WorkloadProblem, rules: EngineRules | None = None) -> Simulation:
        """Run a workload to its end; without rules, by those of the policy."""


def run_policy(
    problem: WorkloadProblem, policy: PolicyLike, rules: EngineRules | None = None, *, seed: int = 0
) -> Simulation:
    """Run a workload to its end under any policy, calling it from Python.

    Policy and rules are as for `runnable` and `forecast`; `reset`, if there is one, is called with the seed
    before the run.
    """
    ready = runnable(policy, seed=seed)
    engine = Engine(problem, rules or ready.rules)
    while (view := engine.advance()) is not None:
        engine.apply(ready.decide(view))
    return Simulation(engine.result(), engine.log, engine.standstill)


def simulate(
    problem: WorkloadProblem, policy: PolicyLike | CompiledPolicy, rules: EngineRules | None = None
) -> WorkloadSchedule:
    """Return the schedule of a workload under a policy: compiled where it can be, else as `run_policy`.

    `InvalidOption` if a policy needs to know more than the rules allow.

    The policy is a function from views to decisions, or one of `allocsolve.heuristics` such as ``Easy()``;
    rules are those of the policy if left out. Jobs that the policy did not start have no pieces. Jobs whose
    requests for nodes are never answered end at the last event, before their work is done; the judge reports
    this.

    Examples
    --------
    >>> from allocsolve.model import Job, WorkloadProblem
    >>> from allocsolve.simulation import Start
    >>> def widest_first(view):
    ...     free = view.free
    ...     for job in sorted(view.queue, key=lambda job: -view.jobs.nodes[job]):
    ...         nodes = int(view.jobs.nodes[job])
    ...         if nodes <= free:
    ...             free -= nodes
    ...             yield Start(job, nodes)
    >>> problem = WorkloadProblem(4, [Job(0, 1, 100), Job(0, 4, 10), Job(0, 3, 50)])
    >>> simulate(problem, widest_first).first_starts.tolist()
    [10.0, 0.0, 10.0]
    """
    made = instantiated(policy)
    if isinstance(made, CompiledPolicy):
        return made.simulated(problem, rules).schedule
    return run_policy(problem, made, rules).schedule
