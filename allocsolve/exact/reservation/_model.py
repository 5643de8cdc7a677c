"""Reservations as a model of CP-SAT: variables, constraints, terms, read-back. Imports ortools."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from ortools.sat.python import cp_model

from allocsolve.backends.cpsat import add_capacity
from allocsolve.heuristics.reservation.greedy import placed
from allocsolve.judge.reservation.rules import curve_bits
from allocsolve.model import MAX_INTEGER, ReservationSchedule, node_order

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.model import ReservationProblem, ReservationTerm, Topology

#: The most connected sets of all jobs together; with more, the model leaves out shapes of node sets.
_MOST_SETS = 20_000


class ScaledTerm(NamedTuple):
    """How much each job counts in a term, as integers."""

    counts: list[int]
    whole: int  #: the sum of the counts
    #: By how much a sum of counts may be too large: counts are rounded up if they are not exact.
    rounding: int

    def bound(self, rejected: int) -> float:
        """Return the least share that is rejected if the counts of the rejected jobs add up to this sum."""
        if not self.whole:
            return 0.0
        share = Fraction(max(0, rejected - self.rounding), self.whole)
        return float(share) if not self.rounding else math.nextafter(float(share * (1 - 2**-50)), 0.0)

    def at_least(self, share: float) -> int:
        """Return the least sum of the counts of rejected jobs if their share is at least `share`.

        The share may be off by its rounding, which is less than the margin.
        """
        margin = Fraction(share) * (1 - Fraction(1, 10**12))
        return max(0, math.ceil(margin * (self.whole - self.rounding)))

    def rejected(self, schedule: ReservationSchedule) -> int:
        """Return the sum of the counts of the jobs that a schedule rejects."""
        accepted = set(schedule.accepted.tolist())
        return sum(count for job, count in enumerate(self.counts) if job not in accepted)


def scaled_term(problem: ReservationProblem, term: ReservationTerm) -> ScaledTerm:
    """Return a term in integers: exact if weights are multiples of a power of two that is not too small."""
    counted = [Fraction(job.weight) * (job.area if term == "rejected-area" else 1) for job in problem.jobs]
    scale = Fraction(max((count.denominator for count in counted), default=1))
    whole = sum(counted, Fraction(0))
    is_exact = whole * scale <= MAX_INTEGER
    if not is_exact:
        scale = MAX_INTEGER / whole
    counts = [math.ceil(count * scale) for count in counted]
    return ScaledTerm(counts, sum(counts), 0 if is_exact else len(counts))


def connected_sets(topology: Topology, sizes: set[int], limit: int) -> dict[int, list[int]] | None:
    """Return the connected sets of nodes of some sizes, as bits; None if a size has more than `limit`."""
    near = [sum(1 << other for other in topology.neighbours(node)) for node in range(topology.num_nodes)]
    level = {1 << node for node in range(topology.num_nodes)}
    sets: dict[int, list[int]] = {}
    for size in range(1, max(sizes, default=0) + 1):
        if size in sizes:
            sets[size] = sorted(level)
        if size == max(sizes):
            break
        larger: set[int] = set()
        for members in level:
            around = 0
            for node in _bits(members):
                around |= near[node]
            larger.update(members | 1 << node for node in _bits(around & ~members))
            if len(larger) > limit:
                return None
        level = larger
    return sets


def _bits(number: int) -> list[int]:
    return [at for at in range(number.bit_length()) if number >> at & 1]


class ReservationModel:
    """The model of a problem.

    With `has_shape` it has node sets of the problem's shape; without, it is the relaxation to counts.
    """

    def __init__(self, problem: ReservationProblem) -> None:
        self.problem = problem
        self.model = cp_model.CpModel()
        packed = problem.packed
        latest = packed.deadline - packed.runtime
        self._jobs = np.flatnonzero(latest >= packed.arrival).tolist()
        self._origin = int(packed.arrival.min(initial=MAX_INTEGER))
        times = [int(packed.arrival[job]) - self._origin for job in self._jobs]
        self._step = math.gcd(*times, *(int(packed.runtime[job]) for job in self._jobs)) or 1
        self._accepted: dict[int, cp_model.IntVar] = {}
        self._starts: dict[int, cp_model.IntVar] = {}
        self._intervals: dict[int, cp_model.IntervalVar] = {}
        self._ranks: dict[int, cp_model.IntVar] = {}
        self._sets: dict[int, list[tuple[int, cp_model.IntVar]]] = {}
        self._add_jobs(latest.tolist())
        demands = [int(packed.nodes[job]) for job in self._jobs]
        add_capacity(self.model, [*self._intervals.values()], demands, problem.topology.num_nodes)
        self.has_shape = True
        if problem.shape == "run":
            self._add_runs()
        elif problem.shape == "connected":
            self.has_shape = self._add_connected_sets()

    # Variables

    def _add_jobs(self, latest: list[int]) -> None:
        """arrival_j <= start_j <= deadline_j - runtime_j, if accepted_j."""
        packed = self.problem.packed
        for job in self._jobs:
            first, last = (
                (moment - self._origin) // self._step for moment in (int(packed.arrival[job]), latest[job])
            )
            self._accepted[job] = self.model.new_bool_var(f"a{job}")
            self._starts[job] = self.model.new_int_var(first, last, f"s{job}")
            self._intervals[job] = self._new_interval(job, self._accepted[job], f"i{job}")

    def _new_interval(self, job: int, present: cp_model.IntVar, name: str) -> cp_model.IntervalVar:
        length = int(self.problem.packed.runtime[job]) // self._step
        return self.model.new_optional_fixed_size_interval_var(self._starts[job], length, present, name)

    # Constraints

    def _add_runs(self) -> None:
        """Rectangles of time and ranks on the Hilbert curve do not overlap."""
        num_nodes = self.problem.topology.num_nodes
        runs = []
        for job in self._jobs:
            nodes = int(self.problem.packed.nodes[job])
            self._ranks[job] = self.model.new_int_var(0, num_nodes - nodes, f"r{job}")
            runs.append(
                self.model.new_optional_fixed_size_interval_var(
                    self._ranks[job], nodes, self._accepted[job], f"n{job}"
                )
            )
        self.model.add_no_overlap_2d(self._intervals.values(), runs)

    def _add_connected_sets(self) -> bool:
        """Give each accepted job a connected set, and each node one job at a time; False: too many sets."""
        topology = self.problem.topology
        sizes = {job: int(self.problem.packed.nodes[job]) for job in self._jobs}
        sets = connected_sets(topology, set(sizes.values()), _MOST_SETS)
        if sets is None or sum(len(sets[size]) for size in sizes.values()) > _MOST_SETS:
            return False
        on_node: list[list[cp_model.IntervalVar]] = [[] for _ in range(topology.num_nodes)]
        for job, size in sizes.items():
            chosen = [(members, self.model.new_bool_var(f"c{job}_{members}")) for members in sets[size]]
            self._sets[job] = chosen
            self.model.add(cp_model.LinearExpr.sum([literal for _, literal in chosen]) == self._accepted[job])
            for node in range(topology.num_nodes):
                holds = self.model.new_bool_var(f"h{job}_{node}")
                with_node = [literal for members, literal in chosen if members >> node & 1]
                self.model.add(cp_model.LinearExpr.sum(with_node) == holds)
                on_node[node].append(self._new_interval(job, holds, f"i{job}_{node}"))
        for intervals in on_node:
            self.model.add_no_overlap(intervals)
        return True

    # Objective

    def rejected(self, term: ScaledTerm) -> cp_model.LinearExpr:
        """Return the sum of the counts of the rejected jobs."""
        accepted = [self._accepted[job] for job in self._jobs]
        counts = [term.counts[job] for job in self._jobs]
        return term.whole - cp_model.LinearExpr.weighted_sum(accepted, counts)

    # Read-back

    def read(self, value: Callable[[cp_model.LinearExpr], int]) -> ReservationSchedule:
        """Return the schedule of an answer; without shape in the model, nodes are chosen afterwards."""
        starts = {
            job: self._origin + self._step * value(self._starts[job])
            for job in self._jobs
            if value(self._accepted[job])
        }
        if self._ranks:
            curve = node_order(
                self.problem.topology, "hilbert", bits=curve_bits(self.problem.topology)
            ).tolist()
            nodes = self.problem.packed.nodes.tolist()
            runs = {job: value(self._ranks[job]) for job in starts}
            sets = {job: curve[rank : rank + nodes[job]] for job, rank in runs.items()}
        elif self._sets:
            sets = {
                job: next(_bits(members) for members, literal in self._sets[job] if value(literal))
                for job in starts
            }
        else:
            column = np.full(len(self.problem.jobs), -1, dtype=np.int64)
            column[list(starts)] = list(starts.values())
            return placed(self.problem, column)
        return ReservationSchedule.of(self.problem, {job: (starts[job], sets[job]) for job in starts})

    def hint(self, schedule: ReservationSchedule) -> None:
        """Give CP-SAT a schedule to begin with."""
        model, firsts = self.model, schedule.first_starts
        model.clear_hints()  # type: ignore[no-untyped-call]  # ortools
        curve = node_order(self.problem.topology, "hilbert", bits=curve_bits(self.problem.topology)).tolist()
        rank_of = {node: rank for rank, node in enumerate(curve)}
        for job in self._jobs:
            is_accepted = not math.isnan(firsts[job])
            model.add_hint(self._accepted[job], int(is_accepted))
            if not is_accepted:
                continue
            model.add_hint(self._starts[job], (int(firsts[job]) - self._origin) // self._step)
            nodes = schedule.nodes[schedule.offsets[job] : schedule.offsets[job + 1]].tolist()
            if job in self._ranks:
                model.add_hint(self._ranks[job], min(rank_of[node] for node in nodes))
            members = sum(1 << node for node in nodes)
            for other, literal in self._sets.get(job, []):
                model.add_hint(literal, int(other == members))
