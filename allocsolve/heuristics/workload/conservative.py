"""Conservative backfilling: every job has a reservation from its submission on."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.heuristics.workload._kernels_conservative import (
    COMPRESS,
    NO_COMPRESSION,
    REPLAN,
    decide_conservative,
    no_reservations,
    run_conservative,
)
from allocsolve.heuristics.workload.machines import conservative_plan_on_machine
from allocsolve.model import WorkloadProblem, WorkloadSchedule
from allocsolve.model.arrays import frozen
from allocsolve.model.checks import choice, instance
from allocsolve.simulation import EngineRules, Log, Simulation, Wake
from allocsolve.simulation.compiled import CompiledSolver
from allocsolve.simulation.decisions import AT_HEAD, BACKFILLED
from allocsolve.simulation.kernels import (
    NOBODY,
    Continuation,
    Restart,
    initial_state,
    start_of,
    waiting_state,
)
from allocsolve.simulation.outcome import log_of, schedule_of

if TYPE_CHECKING:
    from allocsolve.model import FloatArray
    from allocsolve.model.arrays import IntArray
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
_CODES: dict[Compression, int] = {"compress": COMPRESS, "replan": REPLAN, "none": NO_COMPRESSION}

#: Where the policy takes run times from, see `Conservative`.
_ESTIMATES = ("limit", "actual")


class ConservativePlan(NamedTuple):
    """When and why jobs start, and when they were promised to start."""

    #: Shape (jobs,), seconds.
    starts: FloatArray
    #: Shape (jobs,), seconds: the reservation that each job got when it was submitted.
    promised: FloatArray
    log: Log


def conservative_plan(
    problem: WorkloadProblem,
    compression: Compression = "compress",
    estimate: Literal["limit", "actual"] = "limit",
) -> ConservativePlan:
    """Run conservative backfilling; see `Conservative`.

    Examples
    --------
    >>> from allocsolve.model import Job
    >>> problem = WorkloadProblem(4, [Job(0, 3, 50, limit=100), Job(1, 4, 10), Job(2, 1, 1000)])
    >>> plan = conservative_plan(problem)
    >>> plan.starts.tolist(), plan.promised.tolist()
    ([0.0, 50.0, 60.0], [0.0, 100.0, 112.5])
    """
    choice("compression", compression, COMPRESSIONS)
    choice("estimate", estimate, _ESTIMATES)
    if not instance("problem", problem, WorkloadProblem).is_plain:
        return _plan_on_machine(problem, compression, estimate)
    state, promised = _run(problem, compression, estimate)
    return ConservativePlan(state.job["start"].copy(), promised, log_of(state))


def _run(
    problem: WorkloadProblem, compression: Compression, estimate: Literal["limit", "actual"]
) -> tuple[State, FloatArray]:
    """Run a workload on a plain machine; return the state at its end, and what each job was promised."""
    EngineRules().check(problem, answers=False)
    packed = problem.packed
    state = initial_state(problem.num_nodes, packed.submit, ordered=None)
    order = state.arrivals["item"]
    expected = packed.estimate if estimate == "limit" else packed.runtime
    plan = no_reservations(problem.num_nodes, 0, packed.nodes[order], packed.runtime[order], expected[order])
    run_conservative(state, _CODES[compression], plan, packed, NOBODY)
    promised = np.empty(len(packed.submit))
    promised[order] = plan.jobs["promised"][:-1]
    return state, promised


def _plan_on_machine(
    problem: WorkloadProblem, compression: Compression, estimate: Literal["limit", "actual"]
) -> ConservativePlan:
    """Run conservative backfilling on a machine with counted resources or closed windows."""
    jobs = problem.jobs.packed
    expected = jobs.estimate if estimate == "limit" else jobs.runtime
    plan = conservative_plan_on_machine(problem, expected, _CODES[compression])
    reasons = np.where(plan.blocked < 0, AT_HEAD, BACKFILLED).astype(np.int64)
    started = np.argsort(plan.starts, kind="stable")
    return ConservativePlan(
        plan.starts, plan.promised, Log(frozen(started), frozen(reasons), frozen(plan.blocked))
    )


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
    has room for all that the job needs; jobs must be rigid, and with closed windows none may run longer than
    its estimate.

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

    def first_reservations(self, problem: WorkloadProblem) -> FloatArray:
        """Return the reservation that each job gets when it is submitted. Shape (jobs,), seconds."""
        return conservative_plan(problem, self.compression, self.estimate).promised

    def starts_from(
        self, problem: WorkloadProblem, running: IntArray, now: float, runtimes: FloatArray
    ) -> FloatArray:
        """Return the start of each job in each scenario, see `allocsolve.simulation.forecast.Continuing`.

        The jobs that wait get their reservations now, in the order of the queue.
        """
        then = Continuation.of(problem, running, now)
        packed = problem.jobs.packed
        if not problem.is_plain:
            return np.array(
                [
                    conservative_plan_on_machine(
                        dataclasses.replace(problem, jobs=problem.jobs.with_runtimes(row)),
                        packed.estimate if self.estimate == "limit" else row,
                        _CODES[self.compression],
                        then,
                    ).starts
                    for row in runtimes
                ]
            )
        order, begun = then.waiting, np.empty(runtimes.shape)
        state = then.state(problem, ordered=None)
        plan = no_reservations(
            problem.num_nodes,
            len(running),
            packed.nodes[order],
            packed.runtime[order],
            packed.estimate[order],
        )
        restart = Restart(state[:2], plan)
        for row, runtime in enumerate(runtimes):
            restart()
            jobs = packed._replace(runtime=runtime)
            if self.estimate == "actual":
                jobs = jobs._replace(estimate=runtime)
            plan.jobs["runtime"][:-1], plan.jobs["estimate"][:-1] = runtime[order], jobs.estimate[order]
            run_conservative(state, _CODES[self.compression], plan, jobs, then.started)
            begun[row] = state.job["start"]
        return begun

    def simulated(self, problem: WorkloadProblem, rules: EngineRules | None = None) -> Simulation:
        """Run a workload to its end in the compiled loop of this policy, with the reasons of all starts.

        Raises
        ------
        InvalidOption
            If rules are given that differ from those of the policy in more than `kill_at_limit`.
        """
        if rules is not None:
            problem = rules.applied(problem)
        if rules not in {None, self.rules, dataclasses.replace(self.rules, kill_at_limit=True)}:
            msg = f"conservative backfilling has the rules {self.rules}, not {rules}"
            raise InvalidOption(msg)
        if instance("problem", problem, WorkloadProblem).is_plain:
            state, _ = _run(problem, self.compression, self.estimate)
            return Simulation(schedule_of(state), log_of(state))
        plan = conservative_plan(problem, self.compression, self.estimate)
        return Simulation(WorkloadSchedule.of(problem, plan.starts), plan.log)


class OnlineConservative:
    """Conservative backfilling that decides on views and remembers the reservations between calls.

    Parameters
    ----------
    policy
        The options of conservative backfilling; the defaults if left out.

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

        Raises
        ------
        InvalidOption
            If the policy needs actual run times, which the view hides.
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
            msg = "the view hides actual run times, which the policy needs"
            raise InvalidOption(msg)
        early = bool((known.start[ended] + lengths[ended] > view.now).any())
        state = waiting_state(view)
        plan = no_reservations(
            view.free + int(view.held.sum()),
            len(view.held),
            known.nodes[queue],
            known.runtime[queue],
            lengths[queue],
        )
        plan.jobs["start"][:-1] = [self._reserved.get(job, np.inf) for job in queue.tolist()]
        code = _CODES[self.policy.compression]
        decide_conservative(state, code, plan, view.held, view.expected_ends, early)
        started = state.started[: state.engine["started"]].tolist()
        starts = [start_of(state, place, queue) for place in started]
        gone = {start.job for start in starts}
        reserved = zip(queue.tolist(), plan.jobs["start"][:-1].tolist(), strict=True)
        self._reserved = {job: start for job, start in reserved if job not in gone}
        self._due = float(plan.numbers["due"])
        return [*starts, Wake(self._due)] if self._due < np.inf else [*starts]
