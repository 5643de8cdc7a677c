"""A plan of a whole workload that jobs are taken out of and put back into, and what it costs."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.workload._kernels_reinsertion import Costs, Placed, fill, put, take_out
from allocsolve.heuristics.workload._kernels_serial import new_free_nodes
from allocsolve.heuristics.workload.serial import schedule_of_sizes
from allocsolve.model import SLOWDOWN_FLOOR_S
from allocsolve.model.arrays import frozen

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_serial import Sizes
    from allocsolve.model import (
        Clock,
        FloatArray,
        IntArray,
        Value,
        WorkloadObjective,
        WorkloadProblem,
        WorkloadSchedule,
        WorkloadTerm,
    )

__all__ = ["BestPlan", "Costs", "Plan", "plan_costs", "plan_values", "shown_values"]


def plan_costs(problem: WorkloadProblem, term: WorkloadTerm, sizes: Sizes, target: float = 0.0) -> Costs:
    """Return what the jobs cost under a term.

    The makespan is a maximum, no sum: its costs are how much later than `target` (seconds) the jobs end.
    """
    packed = problem.packed
    slope, floor, reference = packed.weight, np.zeros(len(packed.weight)), packed.submit
    of_end = np.array([float(term != "wait")])
    if term == "slowdown":
        slope, floor = packed.weight / np.maximum(packed.runtime, SLOWDOWN_FLOOR_S), packed.weight
    elif term == "makespan":
        slope, reference = np.ones(len(slope)), np.full(len(slope), target)
    fastest = sizes.seconds[sizes.offsets[:-1]]
    earliest = packed.submit + fastest * of_end
    costs = Costs(slope, floor, reference, np.maximum(floor, slope * (earliest - reference)), of_end)
    for array in costs:
        array.setflags(write=False)
    return costs


def plan_values(
    problem: WorkloadProblem, objective: WorkloadObjective, starts: FloatArray, ends: FloatArray
) -> tuple[float, ...]:
    """Return the terms of an objective for jobs that start and end then; sums are rounded once."""
    packed = problem.packed
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


def shown_values(values: tuple[float, ...]) -> Value:
    """Return values as results show them: a single term as a number."""
    return values[0] if len(values) == 1 else values


class Plan:
    """Where all jobs are, and the nodes that are free over time.

    Parameters
    ----------
    problem
        The problem.
    sizes
        The sizes that jobs may take.
    starts, chosen
        Shape (jobs,): a feasible plan, starts in seconds and the index of each job's size in `sizes`; copied.
    """

    def __init__(self, problem: WorkloadProblem, sizes: Sizes, starts: FloatArray, chosen: IntArray) -> None:
        self.problem, self.sizes = problem, sizes
        self.placed = Placed(starts.copy(), chosen.copy())
        self.profile = new_free_nodes(problem.num_nodes, len(starts))
        fill(self.profile, sizes, frozen(np.argsort(starts, kind="stable")), self.placed)
        # Which runs put jobs in is a matter of time: the kernel is compiled in all of them.
        self.put(np.zeros(0, dtype=np.int64))

    @classmethod
    def in_order(cls, problem: WorkloadProblem, sizes: Sizes, chosen: IntArray, order: IntArray) -> Plan:
        """Return the plan of serial generation in this order, with the sizes given.

        In the order of the starts of a feasible plan no job starts later than there.
        """
        plan = cls.__new__(cls)
        plan.problem, plan.sizes = problem, sizes
        plan.placed = Placed(np.zeros(len(chosen)), chosen.copy())
        plan.profile = new_free_nodes(problem.num_nodes, len(chosen))
        plan.put(order)
        return plan

    @classmethod
    def repeating(cls, problem: WorkloadProblem, sizes: Sizes, schedule: WorkloadSchedule) -> Plan:
        """Return the plan in which the jobs go in the order of a feasible schedule, on its sizes.

        A size that is not among the given ones is replaced by the next smaller one.
        """
        chosen = sizes.offsets[:-1].copy()
        for job, nodes in enumerate([] if problem.is_rigid else schedule.nodes.tolist()):
            span = sizes.nodes[sizes.offsets[job] : sizes.offsets[job + 1]]
            chosen[job] += int(np.argmin(np.where(span <= nodes, nodes - span, np.inf)))
        return cls.in_order(problem, sizes, chosen, frozen(np.argsort(schedule.starts, kind="stable")))

    @property
    def seconds(self) -> FloatArray:
        """Shape (jobs,): for how long each job runs."""
        seconds: FloatArray = self.sizes.seconds[self.placed.chosen]
        return seconds

    @property
    def nodes(self) -> IntArray:
        """Shape (jobs,): on how many nodes each job runs."""
        nodes: IntArray = self.sizes.nodes[self.placed.chosen]
        return nodes

    def values(self, objective: WorkloadObjective) -> tuple[float, ...]:
        """Return the terms of an objective."""
        return plan_values(self.problem, objective, self.placed.starts, self.placed.starts + self.seconds)

    def schedule(self) -> WorkloadSchedule:
        """Return the schedule as it is now."""
        return schedule_of_sizes(self.problem, self.placed.starts.copy(), self.sizes, self.placed.chosen)

    def free_nodes(self, begin: float, end: float) -> tuple[FloatArray, IntArray]:
        """Return the steps of the free nodes that overlap a span: when they begin (s), and the numbers."""
        profile = self.profile
        used = int(profile.used[0])
        first = max(0, int(np.searchsorted(profile.begins[:used], begin, side="right")) - 1)
        last = max(first + 1, int(np.searchsorted(profile.begins[:used], end, side="left")))
        times, free = [], []
        for chunk in profile.order[first:last].tolist():
            count = int(profile.lengths[chunk])
            times.append(profile.times[chunk, :count])
            free.append(profile.free[chunk, :count] + profile.shift[chunk])
        begins, numbers = np.concatenate(times), np.concatenate(free)
        low = max(0, int(np.searchsorted(begins, begin, side="right")) - 1)
        high = int(np.searchsorted(begins, end, side="left"))
        return begins[low:high], numbers[low:high]

    def take_out(self, jobs: IntArray) -> None:
        """Take jobs out; they keep their sizes."""
        take_out(self.profile, self.sizes, frozen(jobs), self.placed)

    def put(self, jobs: IntArray, *, where_they_are: bool = False) -> None:
        """Put jobs in, one after the other, each at its earliest place or where its start says."""
        if where_they_are:
            fill(self.profile, self.sizes, frozen(jobs), self.placed)
        else:
            put(self.profile, self.sizes, self.problem.packed.submit, frozen(jobs), self.placed)


class BestPlan:
    """The best plan of a search, which may run in several threads, and when each better one came.

    Parameters
    ----------
    problem, objective
        What is solved.
    clock
        Tells the times of the incumbents.
    """

    def __init__(self, problem: WorkloadProblem, objective: WorkloadObjective, clock: Clock) -> None:
        self.problem, self.objective, self.clock = problem, objective, clock
        self.values: tuple[float, ...] = ()
        self.incumbents: list[tuple[float, Value]] = []
        self._sizes: Sizes
        self._placed: Placed
        self._lock = threading.Lock()

    def offer(self, plan: Plan) -> bool:
        """Copy a plan if it is better; return whether it is."""
        values = plan.values(self.objective)
        with self._lock:
            if self.values and values >= self.values:
                return False
            placed = Placed(plan.placed.starts.copy(), plan.placed.chosen.copy())
            self._sizes, self._placed, self.values = plan.sizes, placed, values
            self.incumbents.append((self.clock.elapsed, shown_values(values)))
        return True

    def plan(self) -> Plan:
        """Return a plan of its own that begins as the best one."""
        return Plan(self.problem, self._sizes, *self._placed)

    def placed(self, sizes: Sizes) -> Placed:
        """Return the starts and sizes of the best plan, whose sizes are these."""
        assert sizes is self._sizes
        return self._placed

    def schedule(self) -> WorkloadSchedule:
        """Return the best schedule."""
        return schedule_of_sizes(self.problem, self._placed.starts, self._sizes, self._placed.chosen)
