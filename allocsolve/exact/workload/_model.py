"""Jobs on a cluster as a model of CP-SAT: variables, constraints, terms, read-back. Imports ortools."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from ortools.sat.python import cp_model

from allocsolve.backends.cpsat import add_capacity
from allocsolve.exact.workload._windows import TOLERANCE, term_slopes, value_step
from allocsolve.model import SLOWDOWN_FLOOR_S, packed_machine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from allocsolve.backends.cpsat import Outcome
    from allocsolve.exact.workload._windows import Grid
    from allocsolve.heuristics.workload.serial import Sizes
    from allocsolve.model import FloatArray, IntArray, WorkloadProblem, WorkloadTerm
    from allocsolve.model.packed_machine import PackedMachine

#: Sums in models stay below this, as CP-SAT has integers of 64 bits.
_MOST = 2**58


class ScaledTerm(NamedTuple):
    """A term as an integer expression: its value is at least ``expression * factor + offset``."""

    expression: cp_model.LinearExpr
    factor: Fraction
    offset: Fraction
    #: Whether the value is exactly that.
    exact: bool
    #: By how much rounded coefficients may lower the expression; None if times are rounded.
    rounding: int | None

    def bound(self, reached: int) -> Fraction:
        """Return the value of the term at a value of the expression."""
        return reached * self.factor + self.offset

    def at_least(self, value: float) -> int:
        """Return the least value of the expression if the term is at least `value`, rounded on the safe side.

        Values in floating point may be off by their rounding, which is less than the margin.
        """
        if self.rounding is None:
            return -(2**62)
        margin = Fraction(value) * (1 - Fraction(1, 10**10))
        return math.ceil((margin - self.offset) / self.factor) - self.rounding

    def at_most(self, value: float) -> int:
        """Return the greatest value of the expression if the term is at most `value`."""
        margin = Fraction(value) * (1 + Fraction(1, 10**10))
        return math.floor((margin - self.offset) / self.factor)

    def proven(self, outcome: Outcome, reached: int, value: float, before: float) -> float:
        """Return what a search proves: the best value, if that is optimal; no less than the bound before.

        `reached` is the least value of the expression that it has found.
        """
        lowest = reached if outcome.optimal else math.ceil(outcome.bound * (1 - 1e-15) - 1e-6)
        bound = float(self.bound(lowest))
        if value - bound <= TOLERANCE * value and (self.exact or outcome.optimal):
            return value
        return max(before, math.nextafter(bound, -math.inf))


class WorkloadModel:
    """The model of a problem.

    No job ends later than `latest` says, shape (jobs,), in units of the grid (`grid_of`) from its origin.
    """

    def __init__(self, problem: WorkloadProblem, sizes: Sizes, grid: Grid, latest: Sequence[int]) -> None:
        self.problem, self.sizes, self.grid = problem, sizes, grid
        self.model = cp_model.CpModel()
        self._latest = latest
        self.starts: list[cp_model.IntVar] = []
        self.ends: list[cp_model.LinearExpr] = []
        #: For each job a literal for each of its sizes; empty if it has one size.
        self.on_size: list[list[cp_model.IntVar]] = []
        self._intervals: list[cp_model.IntervalVar] = []
        self._demands: list[int] = []
        self._add_jobs()
        self._add_machine()

    # Variables

    def _add_jobs(self) -> None:
        """release_j <= start_j, end_j = start_j + time of the chosen size <= latest_j."""
        model, offsets = self.model, self.sizes.offsets.tolist()
        nodes, times = (
            self.sizes.nodes.tolist(),
            [self.grid.down(time) for time in self.sizes.seconds.tolist()],
        )
        jobs = self.problem.jobs
        for job, earliest in enumerate(jobs.requirements.release(jobs.packed.submit).tolist()):
            release, latest = self.grid.point(earliest), self._latest[job]
            span = range(offsets[job], offsets[job + 1])
            start = model.new_int_var(
                release, max(release, latest - min(times[at] for at in span)), f"s{job}"
            )
            self.starts.append(start)
            if len(span) == 1:
                self.on_size.append([])
                self.ends.append(start + times[span[0]])
                self._intervals.append(model.new_fixed_size_interval_var(start, times[span[0]], f"i{job}"))
                self._demands.append(nodes[span[0]])
                continue
            literals = [model.new_bool_var(f"n{job}_{nodes[at]}") for at in span]
            model.add_exactly_one(literals)
            end = model.new_int_var(release + min(times[at] for at in span), latest, f"e{job}")
            lasted = sum(times[at] * chosen for at, chosen in zip(span, literals, strict=True))
            model.add(end == start + lasted)
            for at, chosen in zip(span, literals, strict=True):
                self._intervals.append(
                    model.new_optional_fixed_size_interval_var(
                        start, times[at], chosen, f"i{job}_{nodes[at]}"
                    )
                )
                self._demands.append(nodes[at])
            self.on_size.append(literals)
            self.ends.append(end)

    # Constraints

    def _add_machine(self) -> None:
        """Add what the machine has room for, and an order of jobs that can swap."""
        machine = packed_machine(self.problem)
        self._add_resources(machine)
        self._add_twins(machine)

    def _add_resources(self, machine: PackedMachine) -> None:
        """At each instant and for each resource: sum of what running jobs need <= what is there.

        What is closed is an interval that holds it. Only rigid jobs need others than nodes.
        """
        points = [self.grid.point(time) for time in machine.times.tolist()]
        owner = np.repeat(np.arange(len(self.starts)), np.diff(machine.offsets))
        for row in range(len(machine.names)):
            there = int(machine.capacity[:, row].max())
            held, demands = [*self._intervals], [*self._demands]
            if row:
                mine = machine.resource == row
                held = [self._intervals[job] for job in owner[mine].tolist()]
                demands = machine.amount[mine].tolist()
            for step in range(len(points) - 1):  # the last step is open
                closed = there - int(machine.capacity[step, row])
                length = points[step + 1] - points[step]
                if closed and length > 0 and held:
                    held.append(
                        self.model.new_fixed_size_interval_var(points[step], length, f"c{row}_{step}")
                    )
                    demands.append(closed)
            add_capacity(self.model, held, demands, there)

    def _add_twins(self, machine: PackedMachine) -> None:
        """start_i <= start_j for jobs of equal needs, time and weight, i submitted first: they can swap.

        Neither may i be eligible later than j.
        """
        packed = self.problem.jobs.packed
        release = self.problem.jobs.requirements.release(packed.submit)
        last: dict[tuple[float, ...], int] = {}
        for job in np.argsort(packed.submit, kind="stable").tolist():
            if self.on_size[job]:
                continue
            shape = (float(packed.nodes[job]), float(packed.runtime[job]), float(packed.weight[job]))
            rows = slice(*machine.offsets[job : job + 2])
            shape += (*machine.resource[rows].tolist(), *machine.amount[rows].tolist())
            if shape in last and release[last[shape]] <= release[job]:
                self.model.add(self.starts[last[shape]] <= self.starts[job])
            last[shape] = job

    # Objective

    def term(self, term: WorkloadTerm) -> ScaledTerm:
        """Return a term of the objective, scaled to integers."""
        grid, packed = self.grid, self.problem.jobs.packed
        if term == "makespan":
            latest = self.model.new_int_var(0, max(self._latest, default=0), "makespan")
            for end in self.ends:
                self.model.add(latest >= end)
            return ScaledTerm(latest, grid.unit, grid.origin, grid.exact, 0 if grid.exact else None)
        all_slopes = term_slopes(self.problem, term, grid)
        delays: list[cp_model.LinearExpr] = []
        slopes: list[Fraction] = []
        limits: list[int] = []
        for job, slope in enumerate(all_slopes):
            if not slope:
                continue
            release = math.ceil((Fraction(float(packed.submit[job])) - grid.origin) / grid.unit)
            delay = (self.starts[job] if term == "wait" else self.ends[job]) - release
            largest = self._latest[job] - release
            if term == "slowdown":
                shortest = math.floor(Fraction(max(float(packed.runtime[job]), SLOWDOWN_FLOOR_S)) / grid.unit)
                largest = max(largest, shortest)
                longer = self.model.new_int_var(shortest, largest, f"d{job}")
                self.model.add(longer >= delay)
                delay = longer
            delays.append(delay)
            slopes.append(slope)
            limits.append(max(largest, 1))
        if not slopes:
            return ScaledTerm(cp_model.LinearExpr.sum([]), Fraction(1), Fraction(0), exact=True, rounding=0)
        factor, coefficients = _scaled(slopes, limits)
        whole = all(number * factor == slope for number, slope in zip(coefficients, slopes, strict=True))
        expression = cp_model.LinearExpr.weighted_sum(delays, coefficients)
        rounding = (0 if whole else sum(limits)) if grid.exact else None
        return ScaledTerm(expression, factor, Fraction(0), grid.exact and whole, rounding)

    # Read-back

    def read(self, value: Callable[[cp_model.LinearExpr], int]) -> tuple[FloatArray, IntArray]:
        """Return the starts in seconds and the indices of the sizes of an answer, shape (jobs,) each."""
        starts = np.array([self.grid.seconds(value(start)) for start in self.starts], dtype=np.float64)
        chosen = self.sizes.offsets[:-1].copy()
        for job, literals in enumerate(self.on_size):
            chosen[job] += next((at for at, literal in enumerate(literals) if value(literal)), 0)
        return starts, chosen

    def hint(self, starts: FloatArray, chosen: IntArray) -> None:
        """Give CP-SAT a schedule to begin with."""
        for job, literals in enumerate(self.on_size):
            self.model.add_hint(self.starts[job], self.grid.point(float(starts[job])))
            for at, literal in enumerate(literals):
                self.model.add_hint(literal, int(chosen[job] - self.sizes.offsets[job] == at))


def _scaled(slopes: list[Fraction], limits: list[int]) -> tuple[Fraction, list[int]]:
    """Return a factor and integers: their products are the slopes, rounded down if these are too large."""
    factor = value_step(slopes)
    largest = sum((slope * top for slope, top in zip(slopes, limits, strict=True)), Fraction(0))
    if largest / factor > _MOST:
        factor = largest / _MOST
    return factor, [math.floor(slope / factor) for slope in slopes]
