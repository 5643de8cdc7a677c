"""What compiled policies take of a machine with counted resources and closed windows, or refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allocsolve.errors import UnsupportedProblem
from allocsolve.heuristics.workload._kernels_resources import Machine
from allocsolve.kernels.free_nodes import free_steps, new_free_nodes
from allocsolve.model import ALL_SIZES, NO_SPEEDUP, RIGID, frozen, packed_machine
from allocsolve.model.columns import plain
from allocsolve.simulation.kernels import NOBODY, initial_state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.kernels.free_nodes import FreeNodes
    from allocsolve.model import FloatArray, IntArray, PackedJobs, PackedMachine, WorkloadProblem
    from allocsolve.simulation.kernels import Continuation, State


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

    Other policies are for plain machines: those that are called with views, which show nodes only
    (`allocsolve.simulation.forecast`), and those that change sizes of running jobs.

    `expected` are the run times that the policy takes for true, of waiting and of running jobs where these
    differ, `runtime` those that jobs have, those of the workload if left out; all of the shape (jobs,), in
    seconds. `learning` says whether it changes them while it runs, and `variant` whether it is the EASY of a
    tool with a loop of its own, see `_kernels_easy_variants`. Of the jobs that are `running` already nobody
    asks whether they may.

    `UnsupportedProblem` if it is the EASY of a tool, as no tool says what it would do; or if a part of the
    machine is closed for a time, and a job may run longer than expected, so that it would run into what is
    closed.
    """
    if variant:
        problem.check_plain("which the tool that like= names does not know")
    if not problem.closed:
        return
    if learning:
        msg = (
            "estimate='user-average': with closed windows jobs must not run longer than expected, "
            "and jobs run longer than the mean of others"
        )
        raise UnsupportedProblem(msg)
    packed, least = problem.jobs.packed, np.minimum.reduce(expected)
    runtime = packed.runtime if runtime is None else runtime
    longer = runtime > least
    longer[running] = False
    if longer.any():
        idx = int(np.argmax(longer))
        msg = (
            f"job {problem.jobs.names[idx]!r} runs for {plain(runtime[idx])} s, but is expected to run for "
            f"{plain(least[idx])} s: it would run into closed windows, unless limits cut it"
        )
        raise UnsupportedProblem(msg)


def check_rigid(problem: WorkloadProblem) -> None:
    """Raise `UnsupportedProblem` if the machine is not plain and a job is not rigid.

    So do searches, which move jobs of one size among resources; policies take moldable jobs.
    """
    if problem.is_rigid or not problem.beyond_plain:
        return
    idx = int(np.argmax(problem.jobs.packed.kind != RIGID))
    job = problem.jobs[idx]
    msg = f"job {job.name!r} is {job.kind}: with {problem.beyond_plain} jobs must be rigid"
    raise UnsupportedProblem(msg)


def on_own_nodes(jobs: PackedJobs) -> PackedJobs:
    """Return jobs that run on their own numbers of nodes only."""
    law, sizes = (frozen(np.full_like(jobs.kind, code)) for code in (NO_SPEEDUP, ALL_SIZES))
    return jobs._replace(min_nodes=jobs.nodes, max_nodes=jobs.nodes, speedup=law, size_step=sizes)
