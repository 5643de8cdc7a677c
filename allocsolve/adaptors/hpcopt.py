"""hpcopt both ways: our policies as its plug-ins, and its plug-ins as policies under our engine and judge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args

from allocsolve.adaptors.policy_driver import NamedPolicy, named_policy
from allocsolve.errors import InvalidOption
from allocsolve.model.checks import choice, shown
from allocsolve.simulation import EngineRules, IllegalDecision, Knowledge, Start
from allocsolve.simulation.snapshot import stateless_view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from allocsolve.simulation import PolicyLike, QueueView


class _Queued(NamedTuple):
    """A job that waits, as a plug-in sees it; all times in whole seconds."""

    job_id: int
    submit_ts: int
    requested_cpus: int
    runtime_estimate_sec: int
    #: Careful estimates: without a predictor the estimate itself.
    runtime_p90_sec: int
    runtime_guard_sec: int
    estimate_source: str = "requested_fallback"
    #: Of fair shares, which hpcopt computes beforehand.
    priority_score: float | None = None


class _Running(NamedTuple):
    """A job that runs, as a plug-in sees it."""

    job_id: int
    end_ts: int
    allocated_cpus: int


class _Snapshot(NamedTuple):
    """What a plug-in sees: jobs that wait by submission, jobs that run by end, of equal ones by number."""

    clock_ts: int
    capacity_cpus: int
    free_cpus: int
    queued_jobs: tuple[_Queued, ...]
    running_jobs: tuple[_Running, ...]


class _Dispatch(NamedTuple):
    """A job that starts now."""

    job_id: int
    requested_cpus: int
    runtime_estimate_sec: int
    estimated_completion_ts: int
    reason: str


class _Decision(NamedTuple):
    """What a plug-in decides."""

    policy_id: str
    #: When the first blocked job can start, in seconds; our policies do not tell.
    reservation_ts: int | None
    decisions: tuple[_Dispatch, ...]


class HpcoptPlugin:
    """A policy of ours as a plug-in of hpcopt: called with a snapshot, it returns a decision.

    Parameters
    ----------
    policy
        As `allocsolve.adaptors.policy_driver.named_policy` takes it. It may not remember anything: it is
        called on each snapshot as if there had been no others.
    policy_id
        What hpcopt calls it: capital letters, digits and ``_``.

    Notes
    -----
    The snapshots of hpcopt's engine tell when running jobs will really end, so every policy knows that. A
    policy that asks for all true run times gets the estimates of jobs that wait: a snapshot has no more.
    *Complexity*: O(queued and running jobs) for each call, and the cost of the policy.

    Examples
    --------
    >>> waiting = (_Queued(7, 0, 4, 10, 10, 10), _Queued(8, 0, 1, 50, 50, 50))
    >>> decision = HpcoptPlugin("easy", "OUR_EASY")(_Snapshot(5, 4, 1, waiting, (_Running(6, 100, 3),)))
    >>> decision.policy_id, [dispatch.job_id for dispatch in decision.decisions]
    ('OUR_EASY', [8])
    """

    def __init__(self, policy: str | PolicyLike, policy_id: str) -> None:
        self.policy, self.policy_id = policy, policy_id

    @cached_property
    def _named(self) -> NamedPolicy:
        named = named_policy(self.policy)
        if named.remembers:
            raise InvalidOption(
                f"{shown(self.policy)} remembers what it has seen, but a plug-in of hpcopt is a pure "
                "function: use a policy without a method reset"
            )
        return named

    def __call__(self, snapshot: Any) -> _Decision:  # noqa: ANN401 - hpcopt's, or one of these
        """Return the jobs that start now.

        Raises `IllegalDecision` if the policy breaks a rule; hpcopt itself drops such decisions without a
        word; `InvalidOption` if the policy remembers something.
        """
        chosen = tuple(self._dispatches(snapshot)) if snapshot.queued_jobs else ()
        return _Decision(self.policy_id, None, chosen)

    def _dispatches(self, snapshot: Any) -> Iterator[_Dispatch]:  # noqa: ANN401 - as of the call
        queued, clock, free = snapshot.queued_jobs, snapshot.clock_ts, snapshot.free_cpus
        times = [(job.submit_ts, job.runtime_estimate_sec, job.requested_cpus) for job in queued]
        waits = [(at, size, size, length) for at, length, size in times]
        runs = [(job.end_ts, job.allocated_cpus) for job in snapshot.running_jobs]
        waiting = {*range(len(queued))}
        for start in self._named.decide(stateless_view(clock, snapshot.capacity_cpus, free, waits, runs)):
            if not isinstance(start, Start) or start.job not in waiting:
                raise IllegalDecision(None, f"{shown(start)} starts no job that waits")
            waiting.remove(start.job)
            job = queued[start.job]
            if start.nodes != job.requested_cpus or start.nodes > free:
                rule = f"starts on {start.nodes} of {free} free processors, and needs {job.requested_cpus}"
                raise IllegalDecision(job.job_id, rule)
            free -= start.nodes
            seconds = job.runtime_estimate_sec
            yield _Dispatch(job.job_id, start.nodes, seconds, clock + seconds, start.reason.name.lower())


# Plug-ins that hpcopt finds where this package is installed.
fcfs: Final = HpcoptPlugin("fcfs", "ALLOCSOLVE_FCFS")
easy: Final = HpcoptPlugin("easy", "ALLOCSOLVE_EASY")


@dataclass(frozen=True, slots=True)
class HpcoptPolicy:
    """A plug-in of hpcopt as a policy of ours, for `allocsolve.simulation.simulate`.

    Parameters
    ----------
    ends
        Which ends of running jobs it sees: ``actual``, as in hpcopt's engine, or ``estimate``.

    Examples
    --------
    >>> from allocsolve.model import Job, WorkloadProblem
    >>> from allocsolve.simulation import simulate
    >>> problem = WorkloadProblem(4, [Job(0, 3, 100, 100), Job(1, 4, 10, 10), Job(2, 1, 50, 50)])
    >>> simulate(problem, HpcoptPolicy(easy)).first_starts.tolist()
    [0.0, 100.0, 2.0]
    """

    chooser: Callable[[Any], Any]
    ends: Knowledge = "actual"

    def __post_init__(self) -> None:
        choice("ends", self.ends, get_args(Knowledge))

    @property
    def rules(self) -> EngineRules:
        """The rules of a simulation that has this policy, if nobody says otherwise."""
        return EngineRules(knowledge=self.ends)

    def __call__(self, view: QueueView) -> tuple[Start, ...]:
        """Return what the plug-in decides on a view, whose times have to be whole seconds."""
        jobs, rows = view.jobs, []
        for job in view.queue.tolist():
            submit, seconds = _whole(jobs.submit.item(job)), int(jobs.estimate.item(job))
            rows.append(_Queued(job, submit, jobs.nodes.item(job), seconds, seconds, seconds))
        ends = map(int, view.expected_ends.tolist())
        runs = map(_Running, view.running.tolist(), ends, view.held.tolist())
        running = sorted(runs, key=lambda job: (job.end_ts, job.job_id))
        snapshot = _Snapshot(_whole(view.now), view.num_nodes, view.free, tuple(rows), tuple(running))
        decision = self.chooser(snapshot)
        return tuple(Start(dispatch.job_id, dispatch.requested_cpus) for dispatch in decision.decisions)


def _whole(seconds: float) -> int:
    if not seconds.is_integer():
        raise InvalidOption(f"hpcopt counts whole seconds: there is no second {seconds:.15g}")
    return int(seconds)
