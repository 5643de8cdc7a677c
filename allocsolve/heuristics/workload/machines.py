"""Queue policies on machines with counted resources and closed windows: what they take, and their driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.errors import UnsupportedProblem
from allocsolve.heuristics.workload._kernels_conservative import Plan
from allocsolve.heuristics.workload._kernels_machines import Machine, run_on_machine
from allocsolve.heuristics.workload._kernels_queue import EASY, FCFS, FIRST_FIT
from allocsolve.heuristics.workload._kernels_timetable import Queue, Timetable, conservative_on_machine
from allocsolve.kernels.heap import Entry
from allocsolve.kernels.records import records
from allocsolve.model import RIGID, packed_machine
from allocsolve.model.columns import plain
from allocsolve.simulation.kernels import initial_state
from allocsolve.simulation.outcome import Simulation, log_of, schedule_of

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_queue import Estimates, QueueRule
    from allocsolve.model import FloatArray, PackedMachine, WorkloadProblem


def check_machine(problem: WorkloadProblem, expected: FloatArray, *, learning: bool = False) -> None:
    """Refuse a workload on a machine that is not plain, if policies cannot keep its rules.

    Parameters
    ----------
    problem
        The workload.
    expected
        Shape (jobs,), seconds: the run times that the policy takes for true.
    learning
        Whether it changes them while it runs.

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
    if longer.any():
        idx = int(np.argmax(longer))
        msg = (
            f"job {names[idx]!r} runs for {plain(packed.runtime[idx])} s, but is expected to run for "
            f"{plain(expected[idx])} s: it would run into closed windows, unless limits cut it"
        )
        raise UnsupportedProblem(msg)


def run_queue_on_machine(
    problem: WorkloadProblem, rule: QueueRule, estimates: Estimates, *, coalesce: bool
) -> Simulation:
    """Run a workload to its end under FCFS, first fit or EASY; see `check_machine` for what is refused."""
    check_machine(problem, estimates.queued, learning=rule.learning)
    if rule.kind not in {FCFS, FIRST_FIT, EASY}:
        msg = f"the workload has {problem.beyond_plain}: like and reservations must be as they are by default"
        raise UnsupportedProblem(msg)
    if rule.order and len(problem.jobs.requirements.boost):
        msg = "the workload has head starts, which are for the order of submission only"
        raise UnsupportedProblem(msg)
    packed = packed_machine(problem)
    state = initial_state(problem.num_nodes, packed.release, ordered=rule.kind == EASY)
    # What was expected when a job waited must be what is expected when it runs, and new jobs come last.
    usable = rule.order == 0 and not rule.learning and not (rule.kind == EASY and rule.strict)
    run_on_machine(
        problem.jobs.packed, state, estimates, rule, machine_state(packed, remember=usable), coalesce
    )
    return Simulation(schedule_of(state), log_of(state))


def conservative_plan_on_machine(problem: WorkloadProblem, estimates: FloatArray, compression: int) -> Plan:
    """Return when jobs start under conservative backfilling, why, and what they were promised.

    See `check_machine` for what is refused. *Complexity*: O(steps of the plan) for a reservation.
    """
    check_machine(problem, estimates)
    packed, jobs = packed_machine(problem), problem.jobs.packed
    count, steps = len(jobs.submit), len(packed.times)
    room = steps + 2 * count + 4
    table = Timetable(
        np.empty(room), np.empty((room, len(packed.names)), dtype=np.int64), np.array([0, steps])
    )
    table.times[:steps], table.free[:steps] = packed.times, packed.capacity
    queue = Queue(
        np.lexsort((jobs.submit, packed.order, packed.release)),
        np.empty(count, dtype=np.int64),
        np.empty(count),
        records(Entry, count),
    )
    plan = Plan(np.empty(count), np.empty(count), np.full(count, -1, dtype=np.int64))
    machine = machine_state(packed, remember=False)
    conservative_on_machine(jobs, packed.release, estimates, machine, table, queue, compression, plan)
    return plan


def machine_state(packed: PackedMachine, *, remember: bool) -> Machine:
    """Return a machine of which nothing is held, for kernels."""
    resources = len(packed.names)
    return Machine(
        *(packed.times, packed.capacity, packed.offsets, packed.resource, packed.amount, packed.order),
        step=np.zeros(1, dtype=np.int64),
        held=np.zeros(resources, dtype=np.int64),
        expected=np.zeros(packed.capacity.shape, dtype=np.int64),
        head_needs=np.zeros(resources, dtype=np.int64),
        extra=np.zeros(resources, dtype=np.int64),
        memory=np.array([remember, 0], dtype=np.int64),
        shadow_time=np.empty(1),
    )
