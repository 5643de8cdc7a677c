"""Serial generation: plan all jobs of a workload one after the other, knowing their run times.

The module also holds what clairvoyant searches share: the sizes that jobs may take (`job_sizes`), costs and
values of plans, a plan that can be changed (`Plan`), and the best plan of a search (`BestPlan`).
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from allocsolve.errors import InvalidOption, UnsupportedProblem
from allocsolve.heuristics.workload import _kernels_serial as kernels
from allocsolve.heuristics.workload._kernels_serial import change_plan, reinsert
from allocsolve.heuristics.workload.resources import check_rigid, given_to_kernels
from allocsolve.kernels.free_nodes import FreeNodes
from allocsolve.model import (
    SLOWDOWN_FLOOR_S,
    SPEEDUP_TABLE,
    Result,
    SpeedupTable,
    Status,
    WorkloadSchedule,
    shown_values,
)
from allocsolve.model.arrays import array_of, frozen
from allocsolve.model.job_kinds import ALL_SIZES, EVOLVING, allowed_sizes
from allocsolve.model.options import Options, Within

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_serial import Moves, Placed
    from allocsolve.model import (
        Budget,
        Clock,
        FloatArray,
        IntArray,
        Speedup,
        Value,
        WorkloadObjective,
        WorkloadProblem,
        WorkloadTerm,
    )


class FreeSteps(NamedTuple):
    """What is free of one resource in a span, step by step, and what jobs need of it."""

    #: Of the resource.
    there: int
    #: Shape (steps,): starts in seconds, and amounts.
    times: FloatArray
    free: IntArray
    #: Shape (jobs,).
    demand: IntArray


class FreeOverTime:
    """What is free of a machine, at first without jobs. O(jobs + windows^2)."""

    #: Shape (jobs,), seconds: no job starts before.
    release: FloatArray

    def __init__(self, problem: WorkloadProblem) -> None:
        given = given_to_kernels(problem, len(problem.jobs))
        self.release, self._nodes = given.release, given.free
        self._there = [problem.num_nodes, *(amount for _, amount in problem.resources)]
        #: Closed nodes are not free: kernels need a machine for other resources only.
        self._machine = given.machine if problem.resources else None

    def change(self, sizes: Sizes, jobs: IntArray, placed: Placed, what: int) -> None:
        """Take jobs out of the plan, or put them into it, one after the other; see `change_plan`."""
        change_plan(self._nodes, sizes, self.release, frozen(jobs), placed, what, self._machine)

    def reinsert(
        self, sizes: Sizes, costs: tuple[Costs, Costs], placed: Placed, moves: Moves, count: int
    ) -> None:
        """Make moves, see `reinsert`."""
        reinsert(self._nodes, sizes, self.release, *costs, placed, moves, count, self._machine)

    def steps(self, begin: float, end: float, nodes: IntArray) -> list[FreeSteps]:
        """Return what is free of each resource in a span, if jobs run on these numbers of nodes."""
        listed = [FreeSteps(self._there[0], *_steps_of(self._nodes, begin, end), nodes)]
        machine = self._machine
        if machine is None:
            return listed
        owner = np.repeat(np.arange(len(nodes)), np.diff(machine.offsets))
        for resource, there in enumerate(self._there[1:], 1):
            mine = machine.resource == resource
            demand = np.zeros(len(nodes), dtype=np.int64)
            demand[owner[mine]] = machine.amount[mine]
            columns = machine.numbers, machine.chunks, machine.steps
            profile = FreeNodes(*(column[resource - 1] for column in columns))  # type: ignore[arg-type]  # records
            listed.append(FreeSteps(there, *_steps_of(profile, begin, end), demand))
        return listed


def _steps_of(profile: FreeNodes, begin: float, end: float) -> tuple[FloatArray, IntArray]:
    """Return the steps of a profile that overlap a span: their starts (s) and amounts."""
    chunks, steps = profile.chunks, profile.steps
    begun = chunks["begin"][: profile.numbers["used"]]
    first = max(0, int(np.searchsorted(begun, begin, side="right")) - 1)
    last = max(first + 1, int(np.searchsorted(begun, end, side="left")))
    times, free = [], []
    for chunk in chunks[first:last]:
        within = steps[chunk["first"] : chunk["last"]]
        times.append(within["time"])
        free.append(within["free"] + chunk["shift"])
    begins, numbers = np.concatenate(times), np.concatenate(free)
    low = max(0, int(np.searchsorted(begins, begin, side="right")) - 1)
    high = int(np.searchsorted(begins, end, side="left"))
    return begins[low:high], numbers[low:high]


#: The sizes that jobs may take, and what they cost, as kernels take them.
Sizes: TypeAlias = kernels.Sizes
Costs: TypeAlias = kernels.Costs

#: The order in which jobs are planned; ties are broken by submission.
SerialOrder: TypeAlias = Literal[
    "few-nodes",  # increasing number of nodes, then area
    "area",  # increasing nodes x run time
    "n-sqrt-p",  # increasing nodes x square root of the run time
    "runtime",  # increasing run time
    "submit",  # submission
]

#: All serial orders, the default first.
SERIAL_ORDERS: tuple[SerialOrder, ...] = get_args(SerialOrder)

#: Of a job with more sizes than this, about this many are tried, in a geometric sequence from the fewest to
#: the most nodes: neighbouring sizes then differ by a constant factor, and time stays bounded.
_MANY_SIZES = 16

#: The most sizes of a job that are listed one by one.
MAX_LISTED_SIZES: Final = 2**20


def job_sizes(problem: WorkloadProblem, *, every: bool = False) -> Sizes:
    """Return the sizes that the jobs may take, the fastest of each job first.

    Sizes that are not faster than a smaller one are left out. Of many sizes only some are taken, unless
    `every` is set. O(rows), plus the sizes of each distinct law with its limits.
    `UnsupportedProblem` if a job is evolving, as no clairvoyant search plans such jobs; or not rigid on a
    machine that is not plain; or it has more sizes to list than 2^20.
    """
    check_rigid(problem)
    packed = problem.jobs.packed
    if problem.is_evolving:
        name = problem.jobs.names[int(np.argmax(packed.kind == EVOLVING))]
        msg = f"job {name!r} is evolving: this solver plans jobs that keep the size on which they start"
        raise UnsupportedProblem(msg)
    count = len(packed.submit)
    if problem.is_rigid:
        return Sizes(frozen(np.arange(count + 1)), packed.nodes, packed.runtime)
    # Jobs of one law and one range differ only in the unit of their times.
    columns = (packed.nodes, packed.min_nodes, packed.max_nodes, packed.size_step)
    kinds: dict[_Range, int] = {}
    kind = np.array(
        [
            kinds.setdefault(which, len(kinds))
            for which in zip(problem.jobs.speedups, *(column.tolist() for column in columns), strict=True)
        ],
        dtype=np.int64,
    )
    rows = [_sizes_in(which, every=every) for which in kinds]
    ends = np.cumsum([len(row) for row in rows])
    sizes = np.array([size for row in rows for size, _ in row], dtype=np.int64)
    times = np.array([time for row in rows for _, time in row], dtype=np.float64)
    # All rows of all jobs, the smallest size of each job first.
    counts = np.array([len(row) for row in rows], dtype=np.int64)[kind]
    firsts = np.cumsum(counts) - counts
    row_of = np.arange(counts.sum()) + np.repeat(ends[kind] - counts - firsts, counts)
    unit = np.where(packed.speedup == SPEEDUP_TABLE, 1.0, packed.runtime)
    seconds = np.repeat(unit, counts) * times[row_of]
    # Times that differ in their unit may become equal in seconds, by rounding.
    faster = np.ones(len(seconds), dtype=bool)
    faster[1:] = seconds[1:] < seconds[:-1]
    faster[firsts] = True
    offsets = np.zeros(count + 1, dtype=np.int64)
    offsets[1:] = np.cumsum(np.add.reduceat(faster, firsts, dtype=np.int64))
    smallest_first = np.flatnonzero(faster)
    # Reverse the sizes of each job, so that the fastest comes first.
    turned = np.repeat(offsets[:-1] + offsets[1:] - 1, np.diff(offsets)) - np.arange(offsets[-1])
    at = smallest_first[turned]
    return Sizes(frozen(offsets), frozen(sizes[row_of[at]]), frozen(seconds[at]))


#: A speedup law, with the nodes, the fewest and the most nodes and the size set of jobs that follow it.
_Range: TypeAlias = "tuple[Speedup | None, int, int, int, int]"


def _sizes_in(which: _Range, *, every: bool) -> list[tuple[int, float]]:
    """Return numbers of nodes with their times, each faster than all smaller ones.

    Times are seconds for a table of speedups, else in units of the time on the nodes of the job.
    """
    law, nodes, min_nodes, max_nodes, step = which
    if law is None:
        return [(nodes, 1.0)]
    if isinstance(law, SpeedupTable):
        table = dict(law.rows)
        numbers = sorted(table)
    else:
        # All numbers of a large range are listed only on request, or if some of them are not allowed.
        listed = every or max_nodes - min_nodes < _MANY_SIZES or step != ALL_SIZES
        allowed_numbers = allowed_sizes(min_nodes, max_nodes, step) if listed else ()
        if len(allowed_numbers) > MAX_LISTED_SIZES:
            msg = f"a job may have {len(allowed_numbers)} numbers of nodes: this solver lists at most 2^20"
            raise UnsupportedProblem(msg)
        numbers = list(allowed_numbers)
        table = {}
    if not numbers or (len(numbers) > _MANY_SIZES and not every):
        wanted = np.geomspace(min_nodes, max_nodes, _MANY_SIZES)
        allowed = np.array(numbers) if numbers else None
        near = np.rint(wanted) if allowed is None else allowed[np.searchsorted(allowed, wanted - 0.5)]
        numbers = sorted({*near.astype(int).tolist(), nodes})
    rows: list[tuple[int, float]] = []
    for number in numbers:
        time = table[number] if isinstance(law, SpeedupTable) else law.time_ratio(number, nodes)
        if not rows or time < rows[-1][1]:
            rows.append((number, time))
    return rows


def _releases(problem: WorkloadProblem) -> FloatArray:
    """Return when jobs may start at the earliest, shape (jobs,), in seconds."""
    return problem.jobs.requirements.release(problem.jobs.packed.submit)


def serial_plan(problem: WorkloadProblem, order: IntArray, sizes: Sizes) -> tuple[FloatArray, IntArray]:
    """Plan the jobs in the given order, each where it ends earliest in the nodes that are still free.

    The order, shape (jobs,), has each job once; the sizes are those of `job_sizes`, or a part of them. Return
    the starts in seconds, and the index of each job's size in `sizes`, both of the shape (jobs,).
    """
    count = len(problem.jobs)
    placed = kernels.Placed(np.zeros(count), sizes.offsets[:-1].copy())
    FreeOverTime(problem).change(sizes, order, placed, kernels.PUT_ON_ANY_SIZE)
    return placed.starts, placed.chosen


def schedule_of_sizes(
    problem: WorkloadProblem, starts: FloatArray, sizes: Sizes, chosen: IntArray
) -> WorkloadSchedule:
    """Return the schedule of the given starts and chosen sizes."""
    return WorkloadSchedule.of(problem, starts, None if problem.is_rigid else sizes.nodes[chosen])


@dataclass(frozen=True, slots=True)
class SerialGeneration(Options):
    """Plan the jobs one after the other, each at its earliest place in the whole plan, knowing all run times.

    Clairvoyant: it knows which jobs come and how long they run, so it tells how good schedules can be, not
    how good a policy is.

    Parameters
    ----------
    order
        Which jobs come first: those with the fewest nodes, the least area (nodes x run time), the least nodes
        x square root of the run time, the least run time, or the first submission. A moldable job is ranked
        by its `Job.nodes` and its run time on them.
    window
        Seconds: the order holds among the jobs that are submitted in one window of so many seconds, and
        earlier windows come first. None for one order of all jobs.

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
    window: Annotated[float, Within(0, above=True)] | None = None

    def list_jobs(self, problem: WorkloadProblem, starts: FloatArray | None = None) -> IntArray:
        """Return the jobs in the order in which they are planned, see `serial_order`."""
        packed = problem.jobs.packed
        nodes = packed.nodes.astype(np.float64)
        area = nodes * packed.runtime
        keys: dict[SerialOrder, tuple[FloatArray, ...]] = {
            "few-nodes": (area, nodes),
            "area": (area,),
            "n-sqrt-p": (nodes * np.sqrt(packed.runtime),),
            "runtime": (packed.runtime,),
            "submit": (),
        }
        releases = _releases(problem)
        times = releases if starts is None else array_of(starts).astype(np.float64)
        if times.shape != packed.submit.shape:
            msg = f"starts have the shape {times.shape}, not {packed.submit.shape}, one for each job"
            raise InvalidOption(msg)
        windows: tuple[FloatArray, ...] = ()
        if self.window is not None:
            windows = (np.floor(times / self.window),)
        elif starts is not None:
            windows = (times,)
        return frozen(np.lexsort((releases, *keys[self.order], *windows)))

    def __call__(self, problem: WorkloadProblem, budget: Budget, /) -> Result[WorkloadSchedule]:
        """Plan all jobs, whatever the budget."""
        clock = budget.start()
        sizes = job_sizes(problem)
        starts, chosen = serial_plan(problem, self.list_jobs(problem), sizes)
        schedule = schedule_of_sizes(problem, starts, sizes, chosen)
        return Result(Status.FEASIBLE, schedule, runtime=clock.elapsed)


def serial_order(
    problem: WorkloadProblem,
    order: SerialOrder = "few-nodes",
    window: float | None = None,
    starts: FloatArray | None = None,
) -> IntArray:
    """Return the jobs in the order in which `SerialGeneration` with this order and window plans them.

    `InvalidOption` if the number of starts differs from that of jobs.
    The times that are divided into windows are `starts`, shape (jobs,), in seconds, such as the cheapest ones
    under the prices of a bound (`allocsolve.bounds.workload`); when jobs may start at the earliest if left
    out.
    """
    return SerialGeneration(order, window).list_jobs(problem, starts)


def plan_costs(problem: WorkloadProblem, term: WorkloadTerm, sizes: Sizes, target: float = 0.0) -> Costs:
    """Return the costs of the jobs under a term.

    The makespan is a maximum and not a sum: in its place, the cost of a job is the time by which it ends
    after `target` (seconds).
    """
    packed = problem.jobs.packed
    slope, floor, reference = packed.weight, np.zeros(len(packed.weight)), packed.submit
    of_end = np.array([float(term != "wait")])
    if term == "slowdown":
        slope, floor = packed.weight / np.maximum(packed.runtime, SLOWDOWN_FLOOR_S), packed.weight
    elif term == "makespan":
        slope, reference = np.ones(len(slope)), np.full(len(slope), target)
    fastest = sizes.seconds[sizes.offsets[:-1]]
    earliest = _releases(problem) + fastest * of_end
    costs = Costs(slope, floor, reference, np.maximum(floor, slope * (earliest - reference)), of_end)
    for array in costs:
        array.setflags(write=False)
    return costs


def plan_values(
    problem: WorkloadProblem, objective: WorkloadObjective, starts: FloatArray, ends: FloatArray
) -> tuple[float, ...]:
    """Return the terms of an objective for given starts and ends (s); sums are rounded only once."""
    packed = problem.jobs.packed
    values = []
    for term in objective:
        if term == "makespan":
            values.append(float(ends.max(initial=0)))
            continue
        times = (starts if term == "wait" else ends) - packed.submit
        if term == "slowdown":
            times = np.maximum(1, times / np.maximum(packed.runtime, SLOWDOWN_FLOOR_S))
        total = math.fsum(packed.weight.tolist())
        values.append(math.fsum((times * packed.weight).tolist()) / total if total else 0.0)
    return tuple(values)


class Plan:
    """The places of all jobs, and what they leave free over time.

    `starts` and `chosen`, shape (jobs,), are a feasible plan: seconds, and the index of each job's size among
    `sizes`, those that jobs may take; they are copied.
    """

    def __init__(self, problem: WorkloadProblem, sizes: Sizes, starts: FloatArray, chosen: IntArray) -> None:
        self.problem, self.sizes = problem, sizes
        self.placed = kernels.Placed(starts.copy(), chosen.copy())
        self.free = FreeOverTime(problem)
        self._change(np.argsort(starts, kind="stable"), kernels.PUT_BACK)

    @classmethod
    def in_order(cls, problem: WorkloadProblem, sizes: Sizes, chosen: IntArray, order: IntArray) -> Plan:
        """Return the plan of serial generation in a given order, with given sizes.

        If the order is that of the starts of a feasible plan, no job starts later than in that plan.
        """
        plan = cls.__new__(cls)
        plan.problem, plan.sizes = problem, sizes
        plan.placed = kernels.Placed(np.zeros(len(chosen)), chosen.copy())
        plan.free = FreeOverTime(problem)
        plan.put(order)
        return plan

    @classmethod
    def repeating(cls, problem: WorkloadProblem, sizes: Sizes, schedule: WorkloadSchedule) -> Plan:
        """Return the plan of serial generation in the order of a feasible schedule, on its sizes.

        A size that is not among the given ones is replaced by the next smaller one.
        """
        chosen = sizes.offsets[:-1].copy()
        for job, nodes in enumerate([] if problem.is_rigid else schedule.nodes.tolist()):
            span = sizes.nodes[sizes.offsets[job] : sizes.offsets[job + 1]]
            chosen[job] += int(np.argmin(np.where(span <= nodes, nodes - span, np.inf)))
        return cls.in_order(problem, sizes, chosen, frozen(np.argsort(schedule.starts, kind="stable")))

    @property
    def seconds(self) -> FloatArray:
        """The run time of each job on its size, in seconds. Shape (jobs,)."""
        seconds: FloatArray = self.sizes.seconds[self.placed.chosen]
        return seconds

    @property
    def nodes(self) -> IntArray:
        """The nodes of each job. Shape (jobs,)."""
        nodes: IntArray = self.sizes.nodes[self.placed.chosen]
        return nodes

    def values(self, objective: WorkloadObjective) -> tuple[float, ...]:
        """Return the terms of an objective."""
        return plan_values(self.problem, objective, self.placed.starts, self.placed.starts + self.seconds)

    def schedule(self) -> WorkloadSchedule:
        """Return the present plan as a schedule."""
        return schedule_of_sizes(self.problem, self.placed.starts.copy(), self.sizes, self.placed.chosen)

    def take_out(self, jobs: IntArray) -> None:
        """Take jobs out of the plan; they keep their sizes."""
        self._change(jobs, kernels.TAKE_OUT)

    def put(self, jobs: IntArray, *, where_they_are: bool = False) -> None:
        """Put jobs into the plan one after the other, each at its earliest place or at its present start."""
        self._change(jobs, kernels.PUT_BACK if where_they_are else kernels.PUT_EARLIEST)

    def _change(self, jobs: IntArray, what: int) -> None:
        self.free.change(self.sizes, jobs, self.placed, what)


class BestPlan:
    """The best plan of a search, which may run in several threads, and the times of all improvements."""

    def __init__(self, problem: WorkloadProblem, objective: WorkloadObjective, clock: Clock) -> None:
        self.problem, self.objective, self.clock = problem, objective, clock
        self.values: tuple[float, ...] = ()
        self.incumbents: list[tuple[float, Value]] = []
        self._sizes: Sizes
        self._placed: kernels.Placed
        self._lock = threading.Lock()

    def offer(self, plan: Plan) -> bool:
        """Store a copy of a plan if it is better; return whether it is."""
        values = plan.values(self.objective)
        with self._lock:
            if self.values and values >= self.values:
                return False
            placed = kernels.Placed(plan.placed.starts.copy(), plan.placed.chosen.copy())
            self._sizes, self._placed, self.values = plan.sizes, placed, values
            self.incumbents.append((self.clock.elapsed, shown_values(values)))
        return True

    def plan(self) -> Plan:
        """Return a copy of the best plan that can be changed."""
        return Plan(self.problem, self._sizes, *self._placed)

    def placed(self, sizes: Sizes) -> kernels.Placed:
        """Return the starts and chosen sizes of the best plan, which must have been made with these sizes."""
        assert sizes is self._sizes
        return self._placed

    def schedule(self) -> WorkloadSchedule:
        """Return the best schedule."""
        return schedule_of_sizes(self.problem, self._placed.starts, self._sizes, self._placed.chosen)
