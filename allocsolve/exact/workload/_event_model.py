"""A schedule of malleable jobs as a mixed-integer program over the order of starts and ends.

Time is continuous. Between two events in a row, each running job holds nodes for the whole interval. Only its
node-seconds and its work there matter: as its speed is concave in its nodes, shares of time on two
neighbouring sizes give every mean size, and the shares of all jobs fit beside each other.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.model import SLOWDOWN_FLOOR_S, WorkloadSchedule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.model import FloatArray, IntArray, WorkloadProblem, WorkloadTerm

#: The latest end in the unit of the program: tolerances of its solver are absolute.
_SPAN = 1000.0
#: By how much latest ends are later than need be, relative: they are rounded.
_SLACK = 1e-6
#: In the same unit: an event no further from a submission is meant to be at it, as no job starts before.
_ROUNDING = 1e-9
#: The most jobs of whose subsets all get a cut.
_ALL_SUBSETS = 8


class Speeds(NamedTuple):
    """The sizes of a job up to its fastest one, and the share of its work done in a second on each."""

    sizes: IntArray
    rates: FloatArray


class EventAnswer(NamedTuple):
    """What a solver of mixed-integer programs says of the order of events."""

    schedule: WorkloadSchedule | None
    bound: float  #: on the term; minus infinity if there is none
    timed_out: bool


class _Rows:
    """Rows and columns of a program, as they are added."""

    def __init__(self) -> None:
        self.low: list[float] = []
        self.high: list[float] = []
        self.is_integer: list[int] = []
        self._entries: list[tuple[int, int, float]] = []
        self._bounds: list[tuple[float, float]] = []

    def column(self, low: float, high: float, *, is_integer: bool = False) -> int:
        self.low.append(low)
        self.high.append(high)
        self.is_integer.append(int(is_integer))
        return len(self.low) - 1

    def row(self, terms: Sequence[tuple[int, float]], low: float, high: float) -> None:
        self._entries += [(len(self._bounds), column, factor) for column, factor in terms]
        self._bounds.append((low, high))

    def solved(
        self, cost: FloatArray, seconds: float, low: FloatArray, high: FloatArray, *, relaxed: bool
    ) -> tuple[FloatArray | None, float, bool]:
        """Return the values of the columns, the bound, and whether the time was over."""
        from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415 - slow to load
        from scipy.sparse import coo_array  # noqa: PLC0415 - slow to load

        rows, columns, factors = zip(*self._entries, strict=True)
        shape = len(self._bounds), len(self.low)
        matrix = coo_array((factors, (rows, columns)), shape=shape).tocsc()
        limits = np.array(self._bounds)
        found = milp(
            cost,
            integrality=np.array(self.is_integer, dtype=np.int64) * (not relaxed),
            bounds=Bounds(low, high),
            constraints=LinearConstraint(matrix, limits[:, 0], limits[:, 1]),
            options={"mip_rel_gap": 1e-9, **({"time_limit": seconds} if seconds < math.inf else {})},
        )
        # Whatever else there is means that numbers were too hard: nothing is proven then.
        bound = {0: found.fun, 1: getattr(found, "mip_dual_bound", None)}.get(found.status)
        return found.x, -math.inf if bound is None else float(bound), found.status == 1


class EventModel:
    """The program of a problem with at least one job, one term and a schedule that is known.

    Jobs are rigid, or malleable ones that change their size at any time and at no cost; between the fewest
    and the most nodes there are all sizes, with concave rates (`speeds`). `lower` is a bound on the term,
    `upper` the value of a schedule.

    Notes
    -----
    There are twice as many events as jobs, each the start or the end of one; in each interval a job has
    seconds, node-seconds and a share of its work. Ends obey the inequalities of mean busy times: where a set
    of jobs takes at least A node-seconds on N nodes, the mean of the times at which their nodes work is at
    least A / 2N after the first submission of them, and each job ends half of its shortest run time after its
    mean.
    """

    def __init__(
        self,
        problem: WorkloadProblem,
        speeds: Sequence[Speeds],
        term: WorkloadTerm,
        lower: float,
        upper: float,
    ) -> None:
        self._problem, self._speeds = problem, speeds
        packed = problem.packed
        self._count = len(problem.jobs)
        self._origin = float(packed.submit.min())
        total = float(packed.weight.sum())
        shares = packed.weight / total if total else np.zeros(self._count)
        fastest = np.array([1 / speed.rates.max() for speed in speeds])
        latest = self._latest(term, upper, shares, fastest)
        latest = latest * (1 + _SLACK)
        self._unit = float(latest.max()) / _SPAN
        self._submit = (packed.submit - self._origin) / self._unit
        self._fastest, self._latest_end = fastest / self._unit, latest / self._unit
        self._rows = _Rows()
        self._times = [self._rows.column(0, _SPAN) for _ in range(2 * self._count)]
        for before, after in itertools.pairwise(self._times):
            self._rows.row([(after, 1), (before, -1)], 0, math.inf)
        self._begins, self._finishes = (
            [[self._rows.column(0, 1, is_integer=True) for _ in self._times] for _ in speeds] for _ in "be"
        )
        self._held: list[list[tuple[int, int, int]]] = []
        self._ends: list[int] = []
        for job in range(self._count):
            self._add_job(job)
        self._add_events()
        self._add_cuts()
        self._cost, self._offset = self._add_term(term, shares)
        self._scale = 1.0 if term == "slowdown" else self._unit
        entries = [(int(column), float(self._cost[column])) for column in np.flatnonzero(self._cost)]
        limits = (lower - self._offset) / self._scale, (upper - self._offset) / self._scale
        margin = 1e-7 * max(1.0, *map(abs, limits))
        self._rows.row(entries, limits[0] - margin, limits[1] + margin)

    def _latest(
        self, term: WorkloadTerm, upper: float, shares: FloatArray, fastest: FloatArray
    ) -> FloatArray:
        """Return the latest ends in schedules that are no worse than `upper`, in seconds from the origin."""
        packed = self._problem.packed
        submit = packed.submit - self._origin
        horizon = np.full(self._count, self._problem.horizon - self._origin)
        if term == "makespan":
            horizon = np.minimum(horizon, upper - self._origin)
        if term in {"makespan", "wait"}:
            return horizon
        per_second, floor = shares, np.zeros(self._count)
        if term == "slowdown":
            per_second = shares / np.maximum(packed.runtime, SLOWDOWN_FLOOR_S)
            floor = shares
        least = np.maximum(floor, per_second * fastest)
        with np.errstate(divide="ignore", invalid="ignore"):
            longest = (max(0.0, upper - float(least.sum())) + least) / per_second
        longest = np.where(per_second > 0, np.maximum(longest, fastest), math.inf) * (1 + 1e-9)
        ends: FloatArray = np.minimum(horizon, submit + longest)
        return ends

    def _add_job(self, job: int) -> None:
        rows, speed = self._rows, self._speeds[job]
        submit, latest = float(self._submit[job]), float(self._latest_end[job])
        sizes, rates = speed.sizes.astype(float), speed.rates * self._unit
        begins, finishes = self._begins[job], self._finishes[job]
        for column in (begins[-1], finishes[0]):
            rows.row([(column, 1)], 0, 0)
        rows.row([(column, 1) for column in begins], 1, 1)
        rows.row([(column, 1) for column in finishes], 1, 1)
        end = rows.column(submit + float(self._fastest[job]), latest)
        self._ends.append(end)
        held, running = [], -1
        for event in range(len(self._times) - 1):
            before, running = running, rows.column(0, 1)
            past = [(before, -1.0), (finishes[event], 1.0)] if event else []
            rows.row([(running, 1), (begins[event], -1), *past], 0, 0)
            seconds = rows.column(0, latest - submit)
            area = rows.column(0, (latest - submit) * float(sizes[-1]))
            work = rows.column(0, 1)
            held.append((seconds, area, work))
            length = [(self._times[event + 1], -1.0), (self._times[event], 1.0)]
            rows.row([(seconds, 1), *length], -math.inf, 0)
            rows.row([(seconds, 1), (running, submit - latest)], -math.inf, 0)
            rows.row([(seconds, 1), *length, (running, -_SPAN)], -_SPAN, math.inf)
            rows.row([(area, 1), (seconds, -float(sizes[0]))], 0, math.inf)
            rows.row([(area, 1), (seconds, -float(sizes[-1]))], -math.inf, 0)
            rows.row([(work, 1), (running, -1)], -math.inf, 0)
            if len(sizes) == 1:
                rows.row([(work, 1), (seconds, -float(rates[0]))], -math.inf, 0)
            for one in range(len(sizes) - 1):
                slope = float((rates[one + 1] - rates[one]) / (sizes[one + 1] - sizes[one]))
                level = float(rates[one] - slope * sizes[one])
                rows.row([(work, 1), (area, -slope), (seconds, -level)], -math.inf, 0)
        self._held.append(held)
        for event, moment in enumerate(self._times):
            rows.row([(moment, 1), (begins[event], -submit)], 0, math.inf)
            rows.row([(end, 1), (moment, -1), (finishes[event], -_SPAN)], -_SPAN, math.inf)
            rows.row([(moment, 1), (finishes[event], _SPAN - latest)], -math.inf, _SPAN)
        rows.row([(end, 1), *((seconds, -1.0) for seconds, _, _ in held)], submit, math.inf)
        rows.row([(work, 1) for _, _, work in held], 1, math.inf)

    def _add_events(self) -> None:
        for event in range(len(self._times)):
            columns = [column[event] for column in (*self._begins, *self._finishes)]
            self._rows.row([(column, 1) for column in columns], 1, 1)
        nodes = float(self._problem.num_nodes)
        for event in range(len(self._times) - 1):
            areas = [(held[event][1], 1.0) for held in self._held]
            self._rows.row(
                [*areas, (self._times[event + 1], -nodes), (self._times[event], nodes)], -math.inf, 0
            )

    def _add_cuts(self) -> None:
        """Add the inequalities of mean busy times."""
        area = np.array([(speed.sizes / speed.rates).min() for speed in self._speeds]) / self._unit
        most = self._count if self._count <= _ALL_SUBSETS else 2
        for size in range(1, most + 1):
            for some in itertools.combinations(range(self._count), size):
                jobs = [*some]
                least = float(area[jobs].sum())
                busy = least * (least / (2 * self._problem.num_nodes) + float(self._submit[jobs].min()))
                rest = float((area[jobs] * self._fastest[jobs]).sum()) / 2
                entries = [(self._ends[job], float(area[job])) for job in jobs]
                self._rows.row(entries, (busy + rest) * (1 - 1e-9), math.inf)

    def _add_term(self, term: WorkloadTerm, shares: FloatArray) -> tuple[FloatArray, float]:
        """Return the cost of each column, and what is added to their sum in the unit of the term."""
        rows, packed = self._rows, self._problem.packed
        costs: dict[int, float] = {}
        offset = 0.0
        if term == "makespan":
            last = rows.column(0, math.inf)
            for end in self._ends:
                rows.row([(last, 1), (end, -1)], 0, math.inf)
            costs, offset = {last: 1.0}, self._origin
        elif term == "turnaround":
            costs = {end: float(share) for end, share in zip(self._ends, shares, strict=True)}
            offset = -float((shares * self._submit).sum()) * self._unit
        for job in range(self._count if term in {"wait", "slowdown"} else 0):
            column = rows.column(0 if term == "wait" else 1, math.inf)
            costs[column] = float(shares[job])
            if term == "slowdown":
                length = float(max(packed.runtime[job], SLOWDOWN_FLOOR_S)) / self._unit
                rows.row([(column, length), (self._ends[job], -1)], -float(self._submit[job]), math.inf)
                continue
            for event, moment in enumerate(self._times):
                entries = [(column, 1.0), (moment, -1.0), (self._begins[job][event], -_SPAN)]
                rows.row(entries, -_SPAN - float(self._submit[job]), math.inf)
        cost = np.zeros(len(rows.low))
        for column, factor in costs.items():
            cost[column] = factor
        return cost, offset

    def solve(self, seconds: float) -> EventAnswer:
        """Minimise within the time; then solve the order of events that was found as a linear program."""
        rows = self._rows
        low, high = np.array(rows.low), np.array(rows.high)
        values, bound, timed_out = rows.solved(self._cost, seconds, low, high, relaxed=False)
        bound = bound * self._scale + self._offset
        if values is None:
            return EventAnswer(None, bound, timed_out)
        fixed = np.array(rows.is_integer, dtype=bool)
        low[fixed] = high[fixed] = np.rint(values[fixed])
        exact, _, _ = rows.solved(self._cost, math.inf, low, high, relaxed=True)
        if exact is None:
            return EventAnswer(None, bound, timed_out)
        return EventAnswer(self._schedule(exact), bound, timed_out)

    def _schedule(self, values: FloatArray) -> WorkloadSchedule:
        """Return the schedule of an answer: mean sizes become neighbouring sizes for shares of the time."""
        pieces: list[list[tuple[float, float, int]]] = [[] for _ in range(self._count)]
        moments = np.maximum.accumulate(values[self._times]) * self._unit + self._origin
        submit = self._problem.packed.submit
        near = submit[np.abs(moments[:, None] - submit).argmin(axis=1)]
        moments = np.where(np.abs(moments - near) <= _ROUNDING * self._unit, near, moments)
        for event, (begin, end) in enumerate(itertools.pairwise(moments.tolist())):
            means = {}
            for job in range(self._count):
                if end > begin and values[self._held[job][event][0]] * self._unit > (end - begin) / 2:
                    mean = values[self._held[job][event][1]] * self._unit / (end - begin)
                    sizes = self._speeds[job].sizes
                    means[job] = float(np.clip(mean, sizes[0], sizes[-1]))
            for job, *piece in _shared(means, self._problem.num_nodes, begin, end):
                pieces[job].append((piece[0], piece[1], int(piece[2])))
        done = [self._finished(job, pieces[job]) for job in range(self._count)]
        offsets = np.cumsum([0, *map(len, done)])
        starts, ends, nodes = (np.array(column) for column in zip(*itertools.chain(*done), strict=True))
        return WorkloadSchedule(offsets, starts, ends, nodes.astype(np.int64))

    def _finished(self, job: int, pieces: list[tuple[float, float, int]]) -> list[tuple[float, float, int]]:
        """Return the pieces of a job up to the moment at which its work is done."""
        speed, left = self._speeds[job], 1.0
        rate = dict(zip(speed.sizes.tolist(), speed.rates.tolist(), strict=True))
        merged: list[tuple[float, float, int]] = []
        for begin, end, size in sorted(pieces):
            if merged and merged[-1][2] == size:
                merged[-1] = (merged[-1][0], end, size)
            else:
                merged.append((begin, end, size))
        kept: list[tuple[float, float, int]] = []
        for place, (begin, end, size) in enumerate(merged):
            takes = left / rate[size]
            if takes <= end - begin or place == len(merged) - 1:
                kept.append((begin, begin + takes, size))
                break
            kept.append((begin, end, size))
            left -= (end - begin) * rate[size]
        return kept


def _shared(
    means: dict[int, float], num_nodes: int, begin: float, end: float
) -> Iterator[tuple[int, float, float, int]]:
    """Yield pieces of jobs in an interval that have these mean sizes and fit beside each other.

    Each job holds the whole part of its mean throughout, and one node more for the rest of it. These shares
    are laid out node by node, as in McNaughton's rule: what does not fit to the end of the interval on a node
    goes on at its begin on the next one.
    """
    length, at = end - begin, 0.0
    free = num_nodes - sum(math.floor(mean) for mean in means.values())
    for job, mean in means.items():
        size = math.floor(mean)
        share = (mean - size) * length
        first, last = at, min(at + share, free * length)
        at = last
        if last - first <= 1e-12 * length:
            yield job, begin, end, size
            continue
        node = math.floor(first / length)
        inside, beyond = first - node * length, last - (node + 1) * length
        spans = [(inside, min(last - node * length, length))]
        if beyond > 0:
            spans.insert(0, (0.0, beyond))
        now = 0.0
        for low, high in spans:
            if low > now:
                yield job, begin + now, begin + low, size
            yield job, begin + low, begin + high, size + 1
            now = high
        if now < length:
            yield job, begin + now, end, size
