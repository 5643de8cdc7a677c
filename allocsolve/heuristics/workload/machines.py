"""Queue policies on machines with counted resources and closed windows: what they take, and their driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.errors import UnsupportedProblem
from allocsolve.heuristics.workload._kernels_conservative import Plan
from allocsolve.heuristics.workload._kernels_machine_conservative import (
    PlannedJobs,
    conservative_on_machine,
    new_running,
    new_waiting,
)
from allocsolve.heuristics.workload._kernels_machine_reservations import run_reserving_on_machine
from allocsolve.heuristics.workload._kernels_machines import Machine, run_on_machine
from allocsolve.heuristics.workload._kernels_queue import EASY, FCFS, FIRST_FIT
from allocsolve.heuristics.workload._kernels_reservations import RESERVING
from allocsolve.heuristics.workload._kernels_timetable import new_timetable
from allocsolve.model import RIGID, packed_machine
from allocsolve.model.arrays import frozen
from allocsolve.model.columns import plain
from allocsolve.simulation.kernels import NOBODY, Started, initial_state
from allocsolve.simulation.outcome import Simulation, log_of, schedule_of

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_queue import Estimates, QueueRule
    from allocsolve.model import FloatArray, IntArray, PackedJobs, PackedMachine, WorkloadProblem
    from allocsolve.simulation.kernels import Continuation, State


def check_machine(
    problem: WorkloadProblem, expected: FloatArray, *, learning: bool = False, running: IntArray = NOBODY.jobs
) -> None:
    """Refuse a workload on a machine that is not plain, if policies cannot keep its rules.

    Parameters
    ----------
    expected
        Shape (jobs,), seconds: the run times that the policy takes for true.
    learning
        Whether it changes them while it runs.
    running
        Jobs that run already: nobody asks whether they may.

    Raises
    ------
    UnsupportedProblem
        If a job is not rigid; or if a part of the machine is closed for a time, and a job may run longer than
        expected, so that it would run into what is closed.
    """
    packed, names = problem.jobs.packed, problem.jobs.names
    if not problem.is_rigid:
        idx = int(np.argmax(packed.kind != RIGID))
        msg = (
            f"job {names[idx]!r} is {problem.jobs[idx].kind}: with {problem.beyond_plain} jobs must be rigid"
        )
        raise UnsupportedProblem(msg)
    if not problem.closed:
        return
    if learning:
        msg = "estimate='user-average': with closed windows jobs must not run longer than expected"
        raise UnsupportedProblem(msg)
    longer = packed.runtime > expected
    longer[running] = False
    if longer.any():
        idx = int(np.argmax(longer))
        msg = (
            f"job {names[idx]!r} runs for {plain(packed.runtime[idx])} s, but is expected to run for "
            f"{plain(expected[idx])} s: it would run into closed windows, unless limits cut it"
        )
        raise UnsupportedProblem(msg)


def run_queue_on_machine(
    problem: WorkloadProblem, rule: QueueRule, reservations: int, estimates: Estimates, *, coalesce: bool
) -> Simulation:
    """Run a workload to its end under FCFS, first fit or EASY; see `check_machine` for what is refused."""
    _check_rule(problem, rule, estimates)
    packed = packed_machine(problem)
    state = initial_state(problem.num_nodes, packed.release, ordered=_is_ordered(rule))
    _run(problem, packed, state, rule, reservations, estimates, coalesce=coalesce)
    return Simulation(schedule_of(state), log_of(state))


def queue_starts_on_machine(
    problem: WorkloadProblem, rule: QueueRule, reservations: int, estimates: Estimates, then: Continuation
) -> FloatArray:
    """Return the start of each job if some have started and FCFS, first fit or EASY goes on from there."""
    _check_rule(problem, rule, estimates, running=then.started.jobs)
    state, packed = then.state(problem, ordered=_is_ordered(rule)), packed_machine(problem)
    _run(problem, packed, state, rule, reservations, estimates, started=then.started)
    starts: FloatArray = state.job["start"]
    return starts


def _is_ordered(rule: QueueRule) -> bool:
    return rule.kind in {EASY, RESERVING}


def _check_rule(
    problem: WorkloadProblem, rule: QueueRule, estimates: Estimates, running: IntArray = NOBODY.jobs
) -> None:
    check_machine(problem, estimates.queued, learning=rule.learning, running=running)
    if rule.kind not in {FCFS, FIRST_FIT, EASY, RESERVING}:
        msg = f"the workload has {problem.beyond_plain}: like must be as it is by default"
        raise UnsupportedProblem(msg)


def _run(
    problem: WorkloadProblem,
    packed: PackedMachine,
    state: State,
    rule: QueueRule,
    reservations: int,
    estimates: Estimates,
    *,
    started: Started = NOBODY,
    coalesce: bool = True,
) -> None:
    """Run from a state on to the end of a workload."""
    # In any order of the queue a job counts as submitted earlier, by its head start.
    jobs: PackedJobs = problem.jobs.packed._replace(submit=packed.order)
    # What was expected when a job waited must be what is expected when it runs, and new jobs come last.
    usable = rule.order == 0 and not rule.learning and not (rule.kind == EASY and rule.strict)
    machine = machine_state(packed, problem.jobs.packed.submit, remember=usable)
    if rule.kind == RESERVING:
        table = new_timetable(len(packed.names), len(packed.times), len(jobs.submit))
        run_reserving_on_machine(
            jobs, state, estimates, rule, reservations, machine, table, coalesce, started
        )
    else:
        run_on_machine(jobs, state, estimates, rule, machine, coalesce, started)


def conservative_plan_on_machine(
    problem: WorkloadProblem, estimates: FloatArray, compression: int, then: Continuation | None = None
) -> Plan:
    """Return when jobs start under conservative backfilling, why, and what they were promised.

    See `check_machine` for what is refused. If `then` is given, some jobs have started, and the policy goes
    on from there.
    """
    started = NOBODY if then is None else then.started
    check_machine(problem, estimates, running=started.jobs)
    packed, jobs = packed_machine(problem), problem.jobs.packed
    count = len(jobs.submit)
    queue = np.lexsort((jobs.submit, packed.order))
    place = np.empty(count, dtype=np.int64)
    place[queue] = np.arange(count)
    comes = packed.release.copy()
    waiting = np.ones(count, dtype=np.bool_)
    if then is not None:
        comes[then.waiting] = then.arrivals
        waiting[started.jobs] = False
    release = comes[queue]
    arrivals = np.argsort(release, kind="stable")
    arrivals = arrivals[waiting[queue[arrivals]]]
    planned = PlannedJobs(
        frozen(release), frozen(jobs.runtime[queue]), frozen(estimates[queue]), frozen(arrivals)
    )
    packed = _renumbered(packed, queue)
    ordered = Plan(np.empty(count), np.empty(count), np.full(count, -1))
    conservative_on_machine(
        planned,
        machine_state(packed, planned.release, remember=False),
        new_timetable(len(packed.names), len(packed.times), count),
        new_waiting(count),
        new_running(count),
        compression,
        ordered,
        Started(frozen(place[started.jobs]), started.starts),
    )
    plan = Plan(np.empty(count), np.empty(count), np.full(count, -1))
    plan.starts[queue], plan.promised[queue] = ordered.starts, ordered.promised
    passed = ordered.blocked >= 0
    plan.blocked[queue[passed]] = queue[ordered.blocked[passed]]
    return plan


def _renumbered(packed: PackedMachine, order: IntArray) -> PackedMachine:
    """Return a machine whose jobs are numbered in another order."""
    counts = np.diff(packed.offsets)[order]
    offsets = np.zeros(len(order) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    places = np.repeat(packed.offsets[order] - offsets[:-1], counts) + np.arange(offsets[-1])
    return packed._replace(
        offsets=frozen(offsets),
        resource=frozen(packed.resource[places]),
        amount=frozen(packed.amount[places]),
        release=frozen(packed.release[order]),
        order=frozen(packed.order[order]),
    )


def machine_state(packed: PackedMachine, submit: FloatArray, *, remember: bool) -> Machine:
    """Return a machine of which nothing is held, for kernels; `submit` says when jobs are submitted."""
    resources = len(packed.names)
    return Machine(
        *(packed.times, packed.capacity, packed.offsets, packed.resource, packed.amount, submit),
        scores=packed.order.copy(),
        step=np.zeros(1, dtype=np.int64),
        held=np.zeros(resources, dtype=np.int64),
        expected=np.zeros(packed.capacity.shape, dtype=np.int64),
        head_needs=np.zeros(resources, dtype=np.int64),
        extra=np.zeros(resources, dtype=np.int64),
        memory=np.array([remember, 0], dtype=np.int64),
        shadow_time=np.empty(1),
    )
