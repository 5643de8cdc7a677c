"""Forecasts of when queued jobs will start, and how good such promises are."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.model import (
    AMDAHL,
    OVERHEAD,
    POWER,
    SPEEDUP_TABLE,
    Amdahl,
    Jobs,
    Overhead,
    PowerLaw,
    SpeedupTable,
    WorkloadProblem,
)
from allocsolve.model.arrays import array_of
from allocsolve.model.job_kinds import EVOLVING, size_set
from allocsolve.model.places import shape_columns
from allocsolve.simulation.decisions import Start, Wake
from allocsolve.simulation.engine import CompiledPolicy, Engine
from allocsolve.simulation.policy import instantiated, runnable

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray, Speedup
    from allocsolve.simulation.node_choice import Pieces
    from allocsolve.simulation.policy import PolicyLike
    from allocsolve.simulation.rules import EngineRules
    from allocsolve.simulation.view import JobColumns, QueueView


@runtime_checkable
class Reserving(CompiledPolicy, Protocol):
    """A policy that gives every job a reservation at its submission, such as conservative backfilling."""

    def first_reservations(self, problem: WorkloadProblem) -> FloatArray:
        """Return the first reservation of each job. Shape (jobs,), seconds."""


@runtime_checkable
class Continuing(CompiledPolicy, Protocol):
    """A policy whose compiled event loop can begin at a moment at which jobs run."""

    @property
    def rules(self) -> EngineRules:
        """The rules of a simulation under this policy."""

    def starts_from(
        self,
        problem: WorkloadProblem,
        running: IntArray,
        now: float,
        runtimes: FloatArray,
        pieces: Pieces | None = None,
    ) -> FloatArray | None:
        """Return the start of each job in each scenario if the policy goes on now.

        The jobs `running` have started at their submission on their own nodes (where nodes are places, on
        those that `pieces` says); the others wait, and come to
        the queue as soon as the policy is called: now, or an instant later where one has started now. All
        events of an instant come at once.

        As for `starts_in_scenarios`; None if the policy has no such loop.
        """


def forecast(view: QueueView, policy: PolicyLike | Reserving, rules: EngineRules | None = None) -> FloatArray:
    """Return when each queued job will start if jobs run as long as expected and no more are submitted.

    A copy of the policy is run forward from the view on; it is reset before, for jobs are numbered anew.

    `InvalidOption` if a job that runs or waits is evolving.

    A running job ends when it is expected to; a queued one runs for its estimate, or for its run time where
    the view shows it. The policy, a function from views to decisions or one of `allocsolve.heuristics`, sees
    only the jobs that wait or run, numbered anew. A policy with reservations makes them anew on the view, in
    queue order, since a view does not show the earlier ones. The rules are those of the policy (its attribute
    ``rules``) if left out, or `EngineRules()` if it has none. Shape of ``view.queue``, in its order: seconds;
    NaN for a job that the policy never starts.

    Notes
    -----
    Jobs that have ended are not part of the forecast, so a policy cannot learn from them in it.
    *Complexity*: a call of the policy for the end of each job that runs or waits, until all have started.
    `fcfs`, `first-fit` and `easy` are run in their compiled loop: 10,000 queued jobs take less than a second.

    Examples
    --------
    >>> from allocsolve.model import Job
    >>> def fcfs(view):
    ...     free = view.free
    ...     for job in view.queue:
    ...         if (nodes := int(view.jobs.nodes[job])) > free:
    ...             break
    ...         free -= nodes
    ...         yield Start(job, nodes)
    >>> engine = Engine(WorkloadProblem(4, [Job(0, 3, 50, limit=100), Job(1, 4, 10), Job(1, 1, 10)]))
    >>> engine.apply(fcfs(engine.advance()))
    >>> forecast(engine.advance(), fcfs).tolist()
    [100.0, 112.5]
    """
    policy = instantiated(policy)
    if isinstance(policy, Reserving) and view.places is None:
        members = np.concatenate([view.running, view.queue])
        reserved = policy.first_reservations(_expected(view, members, submitted=view.now))[
            len(view.running) :
        ]
        return _now_or_later(reserved, view.now)
    members = np.sort(np.concatenate([view.running, view.queue]))
    running = np.searchsorted(members, view.running)
    pieces = None if view.places is None else view.places.pieces
    starts = starts_after(_expected(view, members), running, view.now, policy, rules, pieces=pieces)
    return starts[np.searchsorted(members, view.queue)]


def starts_after(
    problem: WorkloadProblem,
    running: IntArray,
    now: float,
    policy: PolicyLike | Reserving,
    rules: EngineRules | None = None,
    *,
    pieces: Pieces | None = None,
) -> FloatArray:
    """Return when each job starts if a policy goes on at a moment at which jobs run.

    The problem has the jobs that run, in any order, wait or will be submitted. A job that runs was submitted
    when it started, and has the nodes that it holds; its run time ends after now, or now. Policy and rules
    are as for `forecast`; a copy of the policy is run. What it keeps from call to call, such as reservations,
    it makes now, in the order of the queue. Where nodes are places, `pieces` says where the running jobs are.
    Shape (jobs,), seconds; NaN for a job that the policy never starts.

    Notes
    -----
    *Complexity*: as of `forecast`.
    """
    policy, runtimes = instantiated(policy), problem.jobs.packed.runtime[None]
    scenarios = _compiled_starts(problem, running, now, policy, runtimes, rules, pieces=pieces)
    if scenarios is not None:
        starts: FloatArray = scenarios[0]
        return starts
    return _starts_on_engine(problem, running, now, policy, rules, pieces=pieces)


def starts_in_scenarios(
    problem: WorkloadProblem,
    running: IntArray,
    now: float,
    policy: PolicyLike | Reserving,
    runtimes: FloatArray,
    rules: EngineRules | None = None,
    *,
    pieces: Pieces | None = None,
) -> FloatArray:
    """Return when each job starts, as `starts_after` does, in scenarios that differ in the run times.

    Run times have the shape (scenarios, jobs), in seconds, and are read-only; so has what is returned, NaN
    for a job that the policy never starts.
    """
    policy = instantiated(policy)
    starts = _compiled_starts(problem, running, now, policy, runtimes, rules, pieces=pieces)
    if starts is not None:
        return starts
    scenarios = (replace(problem, jobs=problem.jobs.with_runtimes(row)) for row in runtimes)
    return np.array([_starts_on_engine(one, running, now, policy, rules, pieces=pieces) for one in scenarios])


def _compiled_starts(
    problem: WorkloadProblem,
    running: IntArray,
    now: float,
    policy: PolicyLike | Reserving,
    runtimes: FloatArray,
    rules: EngineRules | None,
    *,
    pieces: Pieces | None,
) -> FloatArray | None:
    """Return the start of each job in each scenario; None if the policy has no loop for that."""
    if isinstance(policy, Continuing) and rules in {None, policy.rules} and policy.rules.coalesce:
        starts = policy.starts_from(problem, running, now, runtimes, pieces)
        if starts is not None:
            return _now_or_later(starts, now)
    if problem.node_types:
        return None  # views show them
    name = getattr(policy, "__name__", type(policy).__name__)
    problem.check_plain("forecast", name)
    return None


def _starts_on_engine(
    problem: WorkloadProblem,
    running: IntArray,
    now: float,
    policy: PolicyLike | Reserving,
    rules: EngineRules | None,
    *,
    pieces: Pieces | None,
) -> FloatArray:
    """Return the start of each job, calling a copy of the policy from Python."""
    copied = runnable(copy.deepcopy(policy))
    told = [None] * len(running) if pieces is None else map(pieces.pairs, range(len(running)))
    where, sizes = dict(zip(running.tolist(), told, strict=True)), problem.on_nodes.nodes
    engine = Engine(problem, rules or copied.rules)
    missing, to_come = len(running), len(problem.jobs)
    while (seen := engine.advance()) is not None:
        # Jobs that already run start when they did; the policy is called only after all of them have.
        given = [
            Start(job, int(sizes[job]), places=where[job]) for job in seen.queue.tolist() if job in where
        ]
        to_come -= len(seen.submitted)
        if not (to_come or len(seen.queue)):
            break
        if seen.now < now:
            engine.apply([*given, Wake(now)])
        elif missing:
            engine.apply([*given, Wake(math.nextafter(now, math.inf))])
        else:
            engine.apply(copied.decide(seen))
        missing -= len(given)
    return _now_or_later(engine.result().first_starts, now)


def _now_or_later(starts: FloatArray, now: float) -> FloatArray:
    """Return starts in which those up to the instant after now are moved to now."""
    return np.where(starts <= math.nextafter(now, math.inf), now, starts)


def promised_starts(
    problem: WorkloadProblem, policy: PolicyLike | Reserving, rules: EngineRules | None = None
) -> FloatArray:
    """Return the forecast of the start of each job at its submission.

    If the policy makes reservations, these are its forecasts.

    Policy and rules are as for `forecast`. Shape (jobs,), seconds.

    Notes
    -----
    *Complexity*: that of one `forecast` for each instant at which jobs are submitted.
    """
    policy = instantiated(policy)
    if isinstance(policy, Reserving):
        return policy.first_reservations(rules.applied(problem) if rules else problem)
    promised = np.full(len(problem.jobs), np.nan)
    ready = runnable(policy)
    engine = Engine(problem, rules or ready.rules)
    while (view := engine.advance()) is not None:
        if len(view.submitted):
            expected = dict(zip(view.queue.tolist(), forecast(view, policy, rules).tolist(), strict=True))
            for job in view.submitted.tolist():
                promised[job] = expected[job]
        engine.apply(ready.decide(view))
    return promised


class PromiseError(NamedTuple):
    """How far promised and actual starts are apart, over all jobs; seconds, and a share."""

    #: Mean of the distance.
    mean: float
    #: Share of jobs that start after their promise, 0..1.
    late: float
    #: Mean delay of the start after its promise; 0 for a job that is not late.
    mean_delay: float
    #: The largest such delay.
    max_delay: float


def promise_error(promised: object, starts: object) -> PromiseError:
    """Return how far promised and actual starts are apart.

    Both have the shape (jobs,), in seconds; promises are the result of `promised_starts`, or from any other
    source. `InvalidAnswer` if the shapes differ, or a time is no number.

    Examples
    --------
    >>> promise_error([100, 50], [90, 80])
    PromiseError(mean=20.0, late=0.5, mean_delay=15.0, max_delay=30.0)
    """
    before, after = array_of(promised), array_of(starts)
    if before.shape != after.shape or before.ndim != 1:
        msg = f"promised starts have the shape {before.shape}, but starts have the shape {after.shape}"
        raise InvalidAnswer(msg)
    if not len(before):
        return PromiseError(0.0, 0.0, 0.0, 0.0)
    if before.dtype.kind not in "iuf" or after.dtype.kind not in "iuf":
        raise InvalidAnswer("promised starts and starts are not numbers")
    difference = after.astype(np.float64) - before
    if not np.isfinite(difference).all():
        msg = f"job {int(np.argmin(np.isfinite(difference)))} has no promised start or no start"
        raise InvalidAnswer(msg)
    delay = np.maximum(difference, 0)
    return PromiseError(
        float(np.abs(difference).mean()), float((delay > 0).mean()), float(delay.mean()), float(delay.max())
    )


def _expected(view: QueueView, members: IntArray, *, submitted: float | None = None) -> WorkloadProblem:
    """Return a workload of the jobs that run or wait, with their expected run times.

    Waiting jobs keep their submission, unless a time is given for all of them.
    """
    jobs = view.jobs
    evolves = members[jobs.kind[members] == EVOLVING]
    if len(evolves):
        msg = f"job {evolves[0]} is evolving: what it will ask for is not known, so there is no forecast"
        raise InvalidOption(msg)
    submit, nodes = jobs.submit.copy(), jobs.nodes.copy()
    runtime = np.where(np.isnan(jobs.runtime), jobs.estimate, jobs.runtime)
    limit, low, high = jobs.estimate.copy(), jobs.min_nodes.copy(), jobs.max_nodes.copy()
    running = view.running
    fixed = set(running.tolist())
    if submitted is not None:
        submit[view.queue] = submitted
    submit[running] = jobs.start[running]
    runtime[running] = limit[running] = view.expected_ends - jobs.start[running]
    columns: dict[str, Any] = {}
    if view.places is None:
        nodes[running] = low[running] = high[running] = view.held
    else:
        columns = shape_columns([view.places.shapes[kind] for kind in view.places.given.shape[members]])
    laws = [None if job in fixed else _law(jobs, job, runtime) for job in members.tolist()]
    return WorkloadProblem(
        view.num_nodes,
        Jobs(
            submit[members],
            nodes[members],
            runtime[members],
            limit[members],
            users=[None if user < 0 else str(user) for user in jobs.user[members].tolist()],
            weight=jobs.weight[members],
            min_nodes=low[members],
            max_nodes=high[members],
            speedups=laws,
            size_sets=[
                1 if law is None else size_set(jobs.size_step[job])
                for job, law in zip(members.tolist(), laws, strict=True)
            ],
            **columns,
        ),
        node_types=() if view.places is None else view.places.node_types,
    )


def _law(jobs: JobColumns, job: int, runtime: FloatArray) -> Speedup | None:
    """Return the speedup law of a job; the times of a table are in seconds."""
    code, parameter = jobs.speedup[job], float(jobs.parameter[job])
    if code == AMDAHL:
        return Amdahl(parameter)
    if code == POWER:
        return PowerLaw(parameter)
    if code == OVERHEAD:
        weight = parameter * float(jobs.nodes[job]) ** 2
        return Overhead(weight / (1 + weight))
    if code == SPEEDUP_TABLE:
        rows = slice(jobs.table_offsets[job], jobs.table_offsets[job + 1])
        seconds = jobs.table_seconds[rows] * runtime[job]
        return SpeedupTable(zip(jobs.table_nodes[rows].tolist(), seconds.tolist(), strict=True))
    return None
