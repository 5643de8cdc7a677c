"""What compiled policies take of a machine with counted resources and closed windows, or refuse.

A job can start at t if at each instant until its expected end the expected use of each resource, with the
job, is at most what is open. Running jobs are expected to give things back and never to take more: between
two steps of the capacities use only falls, so that it is enough to look at t and at the steps.

The free nodes of the engine are those that are open and not held now; what is said here of needs is beyond
nodes. Kernels take a machine, or None if it is plain: what they do for machines is not compiled then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allocsolve.errors import UnsupportedProblem
from allocsolve.kernels import inner_kernel
from allocsolve.kernels.free_nodes import free_steps, new_free_nodes
from allocsolve.model import ALL_SIZES, NO_SPEEDUP, RIGID, frozen, packed_machine
from allocsolve.model.columns import plain
from allocsolve.model.plain_only import LEARNED, LONGER, NOT_RIGID
from allocsolve.simulation.kernels import NOBODY, initial_state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from allocsolve.kernels.free_nodes import FreeNodes, FreeNumbers
    from allocsolve.kernels.records import Records
    from allocsolve.model import FloatArray, IntArray, PackedJobs, PackedMachine, WorkloadProblem
    from allocsolve.simulation.kernels import Continuation, State


class Machine(NamedTuple):
    """A machine, what jobs need of it, and what is held. See `allocsolve.model.PackedMachine`."""

    #: Shape (steps,), seconds, and (steps, resources), nodes first; read-only.
    times: FloatArray
    capacity: IntArray
    #: Shape (jobs + 1,), (needs,) and (needs,): of each job its nodes first; read-only.
    offsets: IntArray
    resource: IntArray
    amount: IntArray
    #: Shape (jobs,), seconds: when jobs are submitted. To kernels of queues their head starts are part of
    #: `PackedJobs.submit`, and this tells apart who is equal there; read-only.
    submit: FloatArray
    #: Shape (1,): the present step.
    step: IntArray
    #: Shape (resources,): what is held now, but for nodes.
    held: IntArray
    #: Shape (steps, resources): what is expected to be held when a later step begins.
    expected: IntArray
    #: Shape (resources,): what the blocked head needs, and what but nodes is left beside it at its shadow
    #: time.
    head_needs: IntArray
    extra: IntArray
    #: Shape (1,), seconds: when the blocked head is expected to end.
    head_end: FloatArray
    #: Shape (resources - 1,), and (resources - 1, chunks) and (resources - 1, steps): what is free over time
    #: of each resource but nodes, for kernels that plan; see `FreeNodes`.
    numbers: Records[FreeNumbers]
    chunks: NDArray[Any]
    steps: NDArray[Any]
    #: Shape (resources,): what but nodes is free from the instant on that is being written.
    level: IntArray


@inner_kernel
def hold(machine: Machine, job: int, nodes: int, until: float, sign: int) -> None:
    """Let a job hold what it needs from now on, or (sign -1) give it back. O(needs x steps)."""
    times, first, last = machine.times, machine.offsets[job] + 1, machine.offsets[job + 1]
    for at in range(first, last):
        machine.held[machine.resource[at]] += sign * machine.amount[at]
    step = machine.step[0] + 1
    while step < len(times) and times[step] < until:
        machine.expected[step, 0] += sign * nodes
        for at in range(first, last):
            machine.expected[step, machine.resource[at]] += sign * machine.amount[at]
        step += 1


@inner_kernel
def is_open(machine: Machine, job: int) -> bool:
    """Return whether what a job needs beyond nodes is there now, and nobody holds it. O(needs)."""
    now = machine.step[0]
    for at in range(machine.offsets[job] + 1, machine.offsets[job + 1]):
        resource = machine.resource[at]
        if machine.held[resource] + machine.amount[at] > machine.capacity[now, resource]:
            return False
    return True


@inner_kernel
def _fits_steps(machine: Machine, job: int, nodes: int, step: int, until: float) -> bool:
    """Return whether a job fits in all steps from one on that begin before an instant."""
    times, expected, capacity = machine.times, machine.expected, machine.capacity
    while step < len(times) and times[step] < until:
        if expected[step, 0] + nodes > capacity[step, 0]:
            return False
        for at in range(machine.offsets[job] + 1, machine.offsets[job + 1]):
            resource = machine.resource[at]
            if expected[step, resource] + machine.amount[at] > capacity[step, resource]:
                return False
        step += 1
    return True


@inner_kernel
def can_start(machine: Machine, job: int, nodes: int, until: float) -> bool:
    """Return whether a job for which nodes are free can start and run until an instant."""
    return is_open(machine, job) and _fits_steps(machine, job, nodes, machine.step[0] + 1, until)


@inner_kernel
def reserve(state: State, machine: Machine, job: int, nodes: int, seconds: float) -> tuple[float, int]:
    """Return the shadow time of a job that cannot start now, and the nodes that are left beside it then.

    What else is left is written. All jobs that are expected to end by then count. O((running jobs + steps) x
    needs).
    """
    held, last, shadow_time, free = state.held, state.engine.last, state.engine.clock, state.engine.free
    times, offsets, capacity = machine.times, machine.offsets, machine.capacity
    at, step, left = state.engine.first, machine.step[0], machine.extra
    for resource in range(1, len(left)):
        left[resource] = -machine.held[resource]
        machine.head_needs[resource] = 0
    machine.head_needs[0] = nodes
    for place in range(offsets[job] + 1, offsets[job + 1]):
        machine.head_needs[machine.resource[place]] = machine.amount[place]
    while True:
        while at < last and held[at].key <= shadow_time:
            free += held[at].nodes
            if held[at].job >= 0:
                for place in range(offsets[held[at].job] + 1, offsets[held[at].job + 1]):
                    left[machine.resource[place]] += machine.amount[place]
            at += 1
        while step + 1 < len(times) and times[step + 1] <= shadow_time:
            step += 1
            free += capacity[step, 0] - capacity[step - 1, 0]
        fits = free >= nodes
        for place in range(offsets[job] + 1, offsets[job + 1]):
            resource = machine.resource[place]
            fits = fits and capacity[step, resource] + left[resource] >= machine.amount[place]
        if fits and _fits_steps(machine, job, nodes, step + 1, shadow_time + seconds):
            break
        later = np.inf
        if at < last:
            later = held[at].key
        if step + 1 < len(times):
            later = min(later, times[step + 1])
        shadow_time = later
    for resource in range(1, len(left)):
        left[resource] += capacity[step, resource] - machine.head_needs[resource]
    machine.head_end[0] = shadow_time + seconds
    return shadow_time, free - nodes


@inner_kernel
def leaves_head(machine: Machine, job: int, nodes: int, until: float, shadow_time: float) -> bool:
    """Return whether the head has what it needs beside a job, if this runs beyond the shadow time.

    Nodes are asked for at the steps behind the shadow time only.
    """
    for at in range(machine.offsets[job] + 1, machine.offsets[job + 1]):
        resource = machine.resource[at]
        if machine.head_needs[resource] and machine.amount[at] > machine.extra[resource]:
            return False
    step, times = machine.step[0] + 1, machine.times
    while step < len(times) and times[step] <= shadow_time:
        step += 1
    end = min(until, machine.head_end[0])
    while step < len(times) and times[step] < end:
        for at in range(machine.offsets[job], machine.offsets[job + 1]):
            resource, amount = machine.resource[at], machine.amount[at]
            if resource == 0:
                amount = nodes
            needed = amount + machine.head_needs[resource]
            if (
                machine.head_needs[resource]
                and machine.expected[step, resource] + needed > machine.capacity[step, resource]
            ):
                return False
        step += 1
    return True


@inner_kernel
def use_extra(machine: Machine, job: int) -> None:
    """Take what a job needs off what is left beside the head at its shadow time."""
    for at in range(machine.offsets[job] + 1, machine.offsets[job + 1]):
        machine.extra[machine.resource[at]] -= machine.amount[at]


@inner_kernel
def move_on(state: State, machine: Machine) -> bool:
    """Let jobs that have ended give back what they held; return whether a step has begun."""
    engine, times, steps = state.engine, machine.times, machine.step[0]
    while machine.step[0] + 1 < len(times) and times[machine.step[0] + 1] <= engine.clock:
        machine.step[0] += 1
        now = machine.step[0]
        engine.free += machine.capacity[now, 0] - machine.capacity[now - 1, 0]
    for at in range(engine.completed):
        row = state.job[state.events[at]]
        hold(machine, state.events[at], row.size, row.expected, -1)
    return bool(machine.step[0] > steps)


@inner_kernel
def next_step(state: State, machine: Machine) -> float:
    """Return when the next step begins; infinite if there is none, or nobody waits for it."""
    engine, times = state.engine, machine.times
    if engine.head < engine.tail and machine.step[0] + 1 < len(times):
        return float(times[machine.step[0] + 1])
    return np.inf


class Given(NamedTuple):
    """What kernels of queue policies take of a workload."""

    #: Their submissions are earlier by their head starts.
    jobs: PackedJobs
    #: Shape (jobs,), seconds: when they come to the queue.
    release: FloatArray
    #: The nodes that are free over time.
    free: FreeNodes
    #: None if it is plain.
    machine: Machine | None

    def state(self, problem: WorkloadProblem, then: Continuation | None, *, ordered: bool | None) -> State:
        """Return the state before the first event, see `initial_state`."""
        if then is None:
            state = initial_state(problem.num_nodes, self.release, ordered=ordered)
        else:
            state = then.state(problem, ordered=ordered)
        if self.machine is not None:
            state.engine["free"] = self.machine.capacity[0, 0]
        return state


def given_to_kernels(problem: WorkloadProblem, planned: int = 0) -> Given:
    """Return what kernels of queue policies take of a workload. O(jobs + windows^2).

    At most `planned` jobs are planned: what is free over time has room for them.
    """
    packed = problem.jobs.packed
    if problem.is_plain:
        return Given(packed, packed.submit, new_free_nodes(problem.num_nodes, planned), None)
    shown = packed_machine(problem)
    nodes, *others = (free_over_time(shown, resource, planned) for resource in range(len(shown.names)))
    return Given(
        packed._replace(submit=shown.order), shown.release, nodes, machine_of(shown, packed.submit, others)
    )


def free_over_time(machine: PackedMachine, resource: int, num_jobs: int) -> FreeNodes:
    """Return what is open of a resource over time, with room for the steps of jobs."""
    capacity = machine.capacity[:, resource]
    changes = np.flatnonzero(np.diff(capacity, prepend=-1))
    return free_steps(machine.times[changes], capacity[changes], num_jobs + len(machine.times))


def machine_of(shown: PackedMachine, submit: FloatArray, others: Sequence[FreeNodes]) -> Machine:
    """Return a machine of which nothing is held, for kernels.

    Jobs are submitted at `submit`, shape (jobs,), in seconds; `others` is what is free over time of each
    resource but nodes.
    """
    resources = len(shown.names)
    rows: list[Any] = []
    column: Any
    for at, column in enumerate(others[0] if others else new_free_nodes(0, 0)):
        rows.append(np.empty((len(others), *np.shape(column)), column.dtype))
        for row, part in enumerate(others):
            rows[at][row] = part[at]
    return Machine(
        *(shown.times, shown.capacity, shown.offsets, shown.resource, shown.amount, submit),
        step=np.zeros(1, dtype=np.int64),
        held=np.zeros(resources, dtype=np.int64),
        expected=np.zeros(shown.capacity.shape, dtype=np.int64),
        head_needs=np.zeros(resources, dtype=np.int64),
        extra=np.zeros(resources, dtype=np.int64),
        head_end=np.empty(1),
        numbers=rows[0],
        chunks=rows[1],
        steps=rows[2],
        level=np.zeros(resources, dtype=np.int64),
    )


def held_now(machine: Machine | None) -> tuple[IntArray, ...]:
    """Return what kernels write of a machine as time goes on: of nothing if it is plain."""
    return () if machine is None else (machine.step, machine.held, machine.expected)


def check_machine(
    problem: WorkloadProblem,
    *expected: FloatArray,
    runtime: FloatArray | None = None,
    learning: bool = False,
    variant: bool = False,
    running: IntArray = NOBODY.jobs,
) -> None:
    """Refuse a workload on a machine that is not plain, if a compiled policy cannot keep its rules.

    Other policies are for plain machines: `allocsolve.model.plain_only` says why.

    `expected` are the run times that the policy takes for true, of waiting and of running jobs where these
    differ, `runtime` those that jobs have, those of the workload if left out; all of the shape (jobs,), in
    seconds. `learning` says whether it changes them while it runs, and `variant` whether it is the EASY of a
    tool with a loop of its own, see `_kernels_queue`. Of the jobs that are `running` already nobody
    asks whether they may.

    `UnsupportedProblem` if it is the EASY of a tool, as no tool says what it would do; or if a part of the
    machine is closed for a time, and a job may run longer than expected, so that it would run into what is
    closed.
    """
    if variant:
        problem.check_plain("tool")
    if not problem.closed:
        return
    if learning:
        raise UnsupportedProblem(LEARNED)
    packed, least = problem.jobs.packed, np.minimum.reduce(expected)
    runtime = packed.runtime if runtime is None else runtime
    longer = runtime > least
    longer[running] = False
    if longer.any():
        idx = int(np.argmax(longer))
        runs, known = plain(runtime[idx]), plain(least[idx])
        raise UnsupportedProblem(LONGER.format(job=problem.jobs.names[idx], runs=runs, expected=known))


def check_rigid(problem: WorkloadProblem) -> None:
    """Raise `UnsupportedProblem` if the machine is not plain and a job is not rigid.

    So do searches, which move jobs of one size among resources; policies take moldable jobs.
    """
    if problem.is_rigid or not problem.beyond_plain:
        return
    idx = int(np.argmax(problem.jobs.packed.kind != RIGID))
    job = problem.jobs[idx]
    raise UnsupportedProblem(NOT_RIGID.format(job=job.name, kind=job.kind, beyond=problem.beyond_plain))


def on_own_nodes(jobs: PackedJobs) -> PackedJobs:
    """Return jobs that run on their own numbers of nodes only."""
    law, sizes = (frozen(np.full_like(jobs.kind, code)) for code in (NO_SPEEDUP, ALL_SIZES))
    return jobs._replace(min_nodes=jobs.nodes, max_nodes=jobs.nodes, speedup=law, size_step=sizes)
