"""Serial generation: plan the jobs of a whole workload one after the other, knowing all of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.heuristics.workload._kernels_serial import Sizes, new_free_nodes, serial_schedule
from allocsolve.model import Result, Status, WorkloadSchedule
from allocsolve.model.arrays import array_of, frozen
from allocsolve.model.checks import choice, real, shown
from allocsolve.model.job_kinds import ALL_SIZES, allowed_sizes
from allocsolve.model.speedup import NO_SPEEDUP, SPEEDUP_TABLE

if TYPE_CHECKING:
    from allocsolve.model import Budget, IntArray, WorkloadProblem
    from allocsolve.model.jobs import FloatArray

__all__ = [
    "SERIAL_ORDERS",
    "SerialGeneration",
    "SerialOrder",
    "Sizes",
    "job_sizes",
    "schedule_of_sizes",
    "serial_order",
    "serial_plan",
]

#: In which order the jobs are planned; ties go by submission.
SerialOrder: TypeAlias = Literal[
    "few-nodes",  # increasing number of nodes, then area
    "area",  # increasing nodes x run time
    "n-sqrt-p",  # increasing nodes x square root of the run time
    "runtime",  # increasing run time
    "submit",  # submission
]

#: All serial orders, the default first.
SERIAL_ORDERS: tuple[SerialOrder, ...] = get_args(SerialOrder)

#: Of a job with more sizes, about so many are tried, in a geometric row from the least to the largest.
_MANY_SIZES = 16


def job_sizes(problem: WorkloadProblem, *, every: bool = False) -> Sizes:
    """Return the sizes that the jobs may take, the fastest of each job first.

    Sizes that are no faster than a smaller one are left out, and of many sizes some, unless `every`.
    """
    packed = problem.packed
    count = len(packed.submit)
    if problem.is_rigid:
        return Sizes(frozen(np.arange(count + 1)), packed.nodes, packed.runtime)
    offsets = np.zeros(count + 1, dtype=np.int64)
    rows: list[tuple[int, float]] = []
    for idx in range(count):
        rows += _sizes_of(problem, idx, every=every)
        offsets[idx + 1] = len(rows)
    seconds = np.array([time for _, time in rows], dtype=np.float64)
    seconds.setflags(write=False)
    return Sizes(frozen(offsets), frozen(np.array([nodes for nodes, _ in rows], dtype=np.int64)), seconds)


def _sizes_of(problem: WorkloadProblem, idx: int, *, every: bool) -> list[tuple[int, float]]:
    """Return pairs of nodes and seconds of one job, the fastest first."""
    packed = problem.packed
    nodes, runtime = int(packed.nodes[idx]), float(packed.runtime[idx])
    if packed.speedup[idx] == NO_SPEEDUP:
        return [(nodes, runtime)]
    law = problem.jobs.speedups[idx]
    least, most = int(packed.min_nodes[idx]), int(packed.max_nodes[idx])
    if packed.speedup[idx] == SPEEDUP_TABLE:
        times = dict(law.rows)  # type: ignore[union-attr]  # by its code
        numbers = sorted(times)
    else:
        # Every number of a large range is listed only if asked for, or if not all are allowed.
        step = int(packed.size_step[idx])
        listed = every or most - least < _MANY_SIZES or step != ALL_SIZES
        numbers = list(allowed_sizes(least, most, step)) if listed else []
        times = {}
    if not numbers or (len(numbers) > _MANY_SIZES and not every):
        wanted = np.geomspace(least, most, _MANY_SIZES)
        allowed = np.array(numbers) if numbers else None
        near = np.rint(wanted) if allowed is None else allowed[np.searchsorted(allowed, wanted - 0.5)]
        numbers = sorted({*near.astype(int).tolist(), nodes})
    reference = 1.0 if times else law.time_factor(nodes)  # type: ignore[union-attr]
    rows: list[tuple[int, float]] = []
    for number in numbers:
        if times:
            seconds = float(times[number])
        elif number == nodes:
            seconds = runtime
        else:
            seconds = runtime * (law.time_factor(number) / reference)  # type: ignore[union-attr]
        if not rows or seconds < rows[-1][1]:
            rows.append((number, seconds))
    return rows[::-1]


def serial_order(
    problem: WorkloadProblem,
    order: SerialOrder = "few-nodes",
    window: float | None = None,
    starts: FloatArray | None = None,
) -> IntArray:
    """Return the jobs in the order in which serial generation plans them.

    Parameters
    ----------
    problem
        The problem.
    order
        See `SERIAL_ORDERS`; a moldable job counts with its `Job.nodes` and run time.
    window
        Seconds: jobs of an earlier window of so many seconds come first. None for one window.
    starts
        Shape (jobs,), seconds: the times that are cut into windows, such as starts of least cost under prices
        of a bound (`allocsolve.bounds.workload`). The submit times if left out.

    Raises
    ------
    UnknownName
        If there is no such order.
    InvalidOption
        If there is not one start for each job, or the window is not above 0.
    """
    packed = problem.packed
    choice("order", order, SERIAL_ORDERS)
    nodes = packed.nodes.astype(np.float64)
    area = nodes * packed.runtime
    keys: dict[SerialOrder, tuple[FloatArray, ...]] = {
        "few-nodes": (area, nodes),
        "area": (area,),
        "n-sqrt-p": (nodes * np.sqrt(packed.runtime),),
        "runtime": (packed.runtime,),
        "submit": (),
    }
    times = packed.submit if starts is None else array_of(starts).astype(np.float64)
    if times.shape != packed.submit.shape:
        msg = f"{times.shape} starts for {len(packed.submit)} jobs"
        raise InvalidOption(msg)
    windows: tuple[FloatArray, ...] = ()
    if window is not None:
        windows = (np.floor(times / _checked_window(window)),)
    elif starts is not None:
        windows = (times,)
    return frozen(np.lexsort((packed.submit, *keys[order], *windows)))


def _checked_window(window: float) -> float:
    seconds = real("window", window, InvalidOption)
    if not (seconds > 0 and math.isfinite(seconds)):
        msg = f"window {shown(window)} is not above 0"
        raise InvalidOption(msg)
    return seconds


def serial_plan(problem: WorkloadProblem, order: IntArray, sizes: Sizes) -> tuple[FloatArray, IntArray]:
    """Plan the jobs in the given order, each where it ends first in what is left of the cluster.

    Parameters
    ----------
    problem
        The problem.
    order
        Shape (jobs,): each job once.
    sizes
        What `job_sizes` returns, or fewer of them.

    Returns
    -------
    numpy.ndarray, numpy.ndarray
        Shape (jobs,): starts in seconds, and the index of each job's size in `sizes`.
    """
    submit = problem.packed.submit
    starts, chosen = np.zeros(len(submit)), np.zeros(len(submit), dtype=np.int64)
    profile = new_free_nodes(problem.num_nodes, len(submit))
    serial_schedule(profile, sizes, order, submit, starts, chosen)
    return starts, chosen


def schedule_of_sizes(
    problem: WorkloadProblem, starts: FloatArray, sizes: Sizes, chosen: IntArray
) -> WorkloadSchedule:
    """Return the schedule in which each job starts then and has the chosen size."""
    return WorkloadSchedule.of(problem, starts, None if problem.is_rigid else sizes.nodes[chosen])


@dataclass(frozen=True, slots=True)
class SerialGeneration:
    """Plan the jobs one after the other, each at its earliest place in the whole plan, knowing all run times.

    Clairvoyant: it knows which jobs come and how long they run, so it tells how good schedules can be, not
    how good a policy is.

    Parameters
    ----------
    order
        ``few-nodes`` (the default), ``area``, ``n-sqrt-p``, ``runtime`` or ``submit``.
    window
        Seconds: the order holds among the jobs that are submitted in one window of so many seconds, and
        earlier windows come first. None for one order of all jobs.

    Raises
    ------
    UnknownName
        If there is no such order.
    InvalidOption
        If the window is not above 0.

    Notes
    -----
    A moldable job takes the size of its earliest completion, the least area among equals; of more than 16
    sizes a geometric row is tried.

    *Guarantee*: feasible. Every job starts when it is submitted or when another one ends, and could not start
    earlier with all others where they are (on its size).
    *Complexity*: O(jobs x (log jobs + steps of the plan between submission and start)), where steps without
    a place are passed over 64 at a time; 41,524 jobs on 9,688 nodes take 0.05 s.
    *Beware*: over a long log an order by area pushes a job of the whole machine to the end. Use a window.

    References
    ----------
    Kolisch, "Serial and parallel resource-constrained project scheduling methods revisited", European Journal
    of Operational Research 90(2), 1996.

    Examples
    --------
    >>> from allocsolve.model import Budget, Job, WorkloadProblem
    >>> problem = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 50)])
    >>> SerialGeneration()(problem, Budget()).answer.starts.tolist()
    [0.0, 100.0, 2.0]
    """

    order: SerialOrder = "few-nodes"
    window: float | None = None

    def __post_init__(self) -> None:
        choice("order", self.order, SERIAL_ORDERS)
        if self.window is not None:
            object.__setattr__(self, "window", _checked_window(self.window))

    def __call__(self, problem: WorkloadProblem, budget: Budget, /) -> Result[WorkloadSchedule]:
        """Plan all jobs, whatever the budget."""
        clock = budget.start()
        sizes = job_sizes(problem)
        starts, chosen = serial_plan(problem, serial_order(problem, self.order, self.window), sizes)
        schedule = schedule_of_sizes(problem, starts, sizes, chosen)
        return Result(Status.FEASIBLE, schedule, runtime=clock.elapsed)
