"""Conservative backfilling: every job has a reservation from its submission on."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.heuristics.workload import _kernels_conservative as kernels
from allocsolve.heuristics.workload.resources import check_machine, given_to_kernels
from allocsolve.kernels.free_nodes import new_free_nodes
from allocsolve.kernels.heap import Entry
from allocsolve.kernels.records import records
from allocsolve.model import WorkloadProblem
from allocsolve.model.checks import instance
from allocsolve.simulation import EngineRules, Log, Simulation, Wake
from allocsolve.simulation.compiled import CompiledSolver
from allocsolve.simulation.kernels import NOBODY, Continuation, Restart, start_of, waiting_state
from allocsolve.simulation.outcome import log_of, schedule_of

if TYPE_CHECKING:
    from allocsolve.heuristics.workload.resources import Given
    from allocsolve.model import FloatArray, IntArray
    from allocsolve.simulation import Decision, QueueView
    from allocsolve.simulation.kernels import State

#: How the reservations change when a job ends before its expected end.
Compression: TypeAlias = Literal[
    "compress",  # each job, in queue order, is taken out of the plan and put back at its earliest place
    "replan",  # all reservations are dropped and made anew in queue order
    "none",  # reservations stay; only jobs that are submitted later use the nodes
]

#: All compressions, the default first.
COMPRESSIONS: tuple[Compression, ...] = get_args(Compression)

#: Their codes for kernels.
_CODES: dict[Compression, int] = {
    "compress": kernels.COMPRESS,
    "replan": kernels.REPLAN,
    "none": kernels.NO_COMPRESSION,
}


class ConservativePlan(NamedTuple):
    """When and why jobs start, and when they were promised to start."""

    #: Shape (jobs,), seconds.
    starts: FloatArray
    #: Shape (jobs,), seconds: the reservation that each job got when it was submitted.
    promised: FloatArray
    log: Log


@dataclass(frozen=True, slots=True)
class Conservative(CompiledSolver):
    """Conservative backfilling: a job may start early if that delays no job before it in the queue.

    The queue is in the order of submission. When a job is submitted it gets the earliest reservation that
    the plan (running jobs until their expected ends, and the reservations of all queued jobs) allows, for
    its estimate; it starts when its reservation begins. At one instant jobs end first, then the plan is
    compressed, then jobs are submitted.

    A job that runs longer than estimated is expected to end at once. Where it keeps another job from starting
    in time, all reservations are made anew in queue order at the next event. A moldable job runs on
    `allocsolve.model.Job.nodes` nodes. On a machine with counted resources or closed windows a reservation
    has room for all that the job needs; with closed windows none may run longer than its estimate.

    Parameters
    ----------
    compression
        What happens to the reservations when a job ends before its expected end. ``"compress"``: in queue
        order, one job is taken out of the plan and put back at its earliest place, while all others keep
        theirs: none ever gets later. ``"replan"``: all reservations are dropped and made anew in queue
        order: a job may get later than it was promised. ``"none"``: reservations stay; jobs that are
        submitted later may use the nodes.
    estimate
        What the policy takes for the run time of a job: its limit (``"limit"``; 1.25 times the run time where
        there is none), or the run time itself (``"actual"``).

    Notes
    -----
    *Guarantee*: with ``"compress"`` or ``"none"``, no job starts after the reservation that it got when it
    was submitted, as long as no job runs longer than estimated. With exact estimates nothing is ever
    compressed, and the schedule is that of list scheduling in queue order. *Complexity*: a reservation
    passes over the stretches of the plan in which nothing can fit, and 100,000 jobs that are queued at one
    instant are planned in 1 to 4 s. A job that ends early costs one reservation for each queued job, so
    ``"compress"`` and ``"replan"`` are quadratic in the queue where limits are too long, as nearly every
    job that waits moves then. 41,524 jobs of Cori KNL take .2 s (``"replan"``: 1.5 s), 11,434 of Cirrus, of
    which up to 7,600 wait at a time, 4 s.

    References
    ----------
    Mu'alem & Feitelson, "Utilization, predictability, workloads, and user runtime estimates in scheduling the
    IBM SP2 with backfilling", IEEE Transactions on Parallel and Distributed Systems 12(6), 2001.

    Examples
    --------
    >>> from allocsolve.model import Budget, Job
    >>> problem = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 1000), Job(3, 1, 90)])
    >>> Conservative()(problem, Budget()).answer.first_starts.tolist()
    [0.0, 100.0, 110.0, 3.0]
    """

    compression: Compression = "compress"
    estimate: Literal["limit", "actual"] = "limit"

    @property
    def rules(self) -> EngineRules:
        """The rules of a simulation under this policy."""
        return EngineRules(knowledge="actual" if self.estimate == "actual" else "estimate")

    def online(self) -> OnlineConservative:
        """Return the same policy as one that decides on views, for drivers that call it at each event."""
        return OnlineConservative(self)

    def plan(self, problem: WorkloadProblem) -> ConservativePlan:
        """Return when and why jobs start, and when they were promised to."""
        state, promised = self._run(problem)
        return ConservativePlan(state.job["start"].copy(), promised, log_of(state))

    def _run(self, problem: WorkloadProblem) -> tuple[State, FloatArray]:
        """Run a workload; return the state at its end, and what each job was promised."""
        packed = instance("problem", problem, WorkloadProblem).jobs.packed
        expected = packed.estimate if self.estimate == "limit" else packed.runtime
        check_machine(problem, expected)
        EngineRules().check(problem, answers=False)
        given = given_to_kernels(problem, len(packed.submit))
        state, order = _queue(given.state(problem, None, ordered=None), given, packed.submit)
        plan = kernels.no_reservations(given.free, order, packed.nodes, packed.runtime, expected)
        kernels.run_conservative(state, _CODES[self.compression], plan, packed, NOBODY, given.machine)
        promised = np.empty(len(packed.submit))
        promised[order] = plan.jobs["promised"][:-1]
        return state, promised

    def first_reservations(self, problem: WorkloadProblem) -> FloatArray:
        """Return the reservation that each job gets when it is submitted. Shape (jobs,), seconds."""
        return self.plan(problem).promised

    def starts_from(
        self, problem: WorkloadProblem, running: IntArray, now: float, runtimes: FloatArray
    ) -> FloatArray:
        """Return the start of each job in each scenario, see `allocsolve.simulation.forecast.Continuing`.

        The jobs that wait get their reservations now, in the order of the queue.
        """
        then, packed = Continuation.of(problem, running, now), problem.jobs.packed
        given, begun = given_to_kernels(problem, len(packed.submit)), np.empty(runtimes.shape)
        state, order = _queue(given.state(problem, then, ordered=None), given, packed.submit)
        machine = given.machine
        plan = kernels.no_reservations(given.free, order, packed.nodes, packed.runtime, packed.estimate)
        restart = Restart(state[:2], plan, () if machine is None else tuple(machine))
        for row, runtime in enumerate(runtimes):
            restart()
            jobs = packed._replace(runtime=runtime)
            if self.estimate == "actual":
                jobs = jobs._replace(estimate=runtime)
            check_machine(problem, jobs.estimate, runtime=runtime, running=then.started.jobs)
            plan.jobs["runtime"][:-1], plan.jobs["estimate"][:-1] = runtime[order], jobs.estimate[order]
            kernels.run_conservative(state, _CODES[self.compression], plan, jobs, then.started, machine)
            begun[row] = state.job["start"]
        return begun

    def simulated(self, problem: WorkloadProblem, rules: EngineRules | None = None) -> Simulation:
        """Run a workload to its end in the compiled loop of this policy, with the reasons of all starts.

        `InvalidOption` if rules are given that differ from those of the policy in more than `kill_at_limit`.
        """
        if rules is not None:
            problem = rules.applied(problem)
        if rules not in {None, self.rules, dataclasses.replace(self.rules, kill_at_limit=True)}:
            raise InvalidOption(f"conservative backfilling has the rules {self.rules}, not {rules}")
        state, _ = self._run(problem)
        return Simulation(schedule_of(state), log_of(state))


def _queue(state: State, given: Given, submit: FloatArray) -> tuple[State, IntArray]:
    """Return a state in which jobs of one instant come in queue order, and the jobs to come in that order."""
    jobs, times = np.ascontiguousarray(state.arrivals["item"]), state.arrivals["time"]
    if given.machine is None:
        return state, jobs
    order = jobs[np.lexsort((jobs, submit[jobs], given.jobs.submit[jobs]))]
    place = np.empty_like(submit)
    place[order] = np.arange(len(order))
    by = np.lexsort((place[jobs], times))
    return state._replace(arrivals=records(Entry, len(by), frozen=True, time=times[by], item=jobs[by])), order


def conservative_plan(
    problem: WorkloadProblem,
    compression: Compression = "compress",
    estimate: Literal["limit", "actual"] = "limit",
) -> ConservativePlan:
    """Plan by `Conservative`, which says what its options are.

    Examples
    --------
    >>> from allocsolve.model import Job
    >>> problem = WorkloadProblem(4, [Job(0, 3, 50, limit=100), Job(1, 4, 10), Job(2, 1, 1000)])
    >>> plan = conservative_plan(problem)
    >>> plan.starts.tolist(), plan.promised.tolist()
    ([0.0, 50.0, 60.0], [0.0, 100.0, 112.5])
    """
    return Conservative(compression, estimate).plan(problem)


class OnlineConservative:
    """Conservative backfilling that decides on views and remembers the reservations between calls.

    The options are those of `policy`; the defaults if left out.

    Notes
    -----
    Under the engine of `allocsolve.simulation` it gives the schedule of `Conservative`. *Complexity*:
    O(queued jobs x segments of the plan) for each call.

    Examples
    --------
    >>> from allocsolve.model import Job, WorkloadProblem
    >>> from allocsolve.simulation import simulate
    >>> problem = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 1000), Job(3, 1, 90)])
    >>> simulate(problem, OnlineConservative().decide).first_starts.tolist()
    [0.0, 100.0, 110.0, 3.0]
    """

    def __init__(self, policy: Conservative | None = None) -> None:
        self.policy = policy or Conservative()
        self.reset()

    @property
    def rules(self) -> EngineRules:
        """The rules of a simulation under this policy."""
        return self.policy.rules

    def reset(self, seed: int = 0) -> None:  # noqa: ARG002 - nothing is random
        """Forget all reservations: a new run begins."""
        self._reserved: dict[int, float] = {}
        self._due = np.inf

    def decide(self, view: QueueView) -> list[Decision]:
        """Return which jobs start now, and when the next reservation begins.

        `InvalidOption` if the policy needs actual run times, which the view hides.
        """
        known, queue, ended = view.jobs, view.queue, view.completed
        is_known = all(job in self._reserved for job in queue.tolist())
        is_event = len(ended) or len(view.submitted) or not is_known  # who goes on elsewhere knows nobody
        if view.woken and self._due != view.now and not is_event:
            return []  # the reservation for which this call was asked no longer exists
        if not len(queue):
            self.reset()
            return []
        lengths = known.estimate if self.policy.estimate == "limit" else known.runtime
        if np.isnan(lengths[queue]).any():
            raise InvalidOption("the view hides actual run times, which the policy needs")
        early = bool((known.start[ended] + lengths[ended] > view.now).any())
        state = waiting_state(view)
        free = new_free_nodes(view.free + int(view.held.sum()), len(queue) + len(view.held))
        places = np.arange(len(queue))
        plan = kernels.no_reservations(free, places, known.nodes[queue], known.runtime[queue], lengths[queue])
        plan.jobs["start"][:-1] = [self._reserved.get(job, np.inf) for job in queue.tolist()]
        code = _CODES[self.policy.compression]
        kernels.decide_conservative(state, code, plan, view.held, view.expected_ends, early)
        started = state.started[: state.engine["started"]].tolist()
        starts = [start_of(state, place, queue) for place in started]
        gone = {start.job for start in starts}
        reserved = zip(queue.tolist(), plan.jobs["start"][:-1].tolist(), strict=True)
        self._reserved = {job: start for job, start in reserved if job not in gone}
        self._due = float(plan.numbers["due"])
        return [*starts, Wake(self._due)] if self._due < np.inf else [*starts]
