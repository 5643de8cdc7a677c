"""A lower bound on what is rejected, from prices of node-seconds: the Lagrangian dual of the capacity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.bounds.ascent import ascend
from allocsolve.judge import certified_bound
from allocsolve.kernels import allocating_kernel, bisect_right, inner_kernel, kernel
from allocsolve.model.arrays import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from allocsolve.model import Clock, FloatArray, IntArray, ReservationProblem, ReservationTerm

#: In temperatures: a window that is farther behind the best has no share, as exp(-40) is lost in a double.
_FAR = 40.0


class PricedJobs(NamedTuple):
    """Jobs that can end in time; shape (jobs,) each, read-only."""

    arrival: FloatArray  #: seconds
    runtime: FloatArray  #: seconds
    deadline: FloatArray  #: seconds
    share: FloatArray  #: of the machine that a job books
    weight: FloatArray


class _Windows(NamedTuple):
    """Windows of one job, one of which is cheapest; written by the kernels."""

    start: FloatArray
    price: FloatArray  #: of the whole machine
    from_slot: IntArray  #: the slots of start and end
    to_slot: IntArray


@allocating_kernel
def _new_windows(slots: int) -> _Windows:
    room = 2 * slots + 4
    return _Windows(np.empty(room), np.empty(room), np.empty(room, np.int64), np.empty(room, np.int64))


@inner_kernel
def _slot(edges: FloatArray, moment: float) -> int:
    """Return the slot of a moment not before the first edge; the slot behind the last edge has no end."""
    return bisect_right(edges, len(edges), moment) - 1


@inner_kernel
def _later_slot(edges: FloatArray, slot: int, moment: float) -> int:
    """Return the slot of a moment that is not before this slot."""
    while slot + 1 < len(edges) and edges[slot + 1] <= moment:
        slot += 1
    return slot


@inner_kernel
def _paid_until(edges: FloatArray, levels: FloatArray, until: FloatArray, slot: int, moment: float) -> float:
    if slot >= len(levels):
        return float(until[slot])
    part = (moment - edges[slot]) / (edges[slot + 1] - edges[slot])
    return float(until[slot] + levels[slot] * part)


@inner_kernel
def _list_windows(
    jobs: PricedJobs, edges: FloatArray, levels: FloatArray, until: FloatArray, job: int, windows: _Windows
) -> int:
    """Fill in the windows at which the price of a job may be least; return their number.

    The price is piecewise linear in the start, and turns where the window begins or ends at an edge.
    """
    first, length = jobs.arrival[job], jobs.runtime[job]
    last = jobs.deadline[job] - length
    count = 0
    windows.start[count] = first
    count += 1
    for ends in range(2):
        shift = ends * length
        ahead = _slot(edges, first + shift) + 1
        while ahead < len(edges) and edges[ahead] - shift < last:
            windows.start[count] = edges[ahead] - shift
            count += 1
            ahead += 1
    windows.start[count] = last
    count += 1
    begin, end = _slot(edges, first), _slot(edges, first + length)
    for row in range(count):
        start = windows.start[row]
        if row and start < windows.start[row - 1]:
            begin, end = _slot(edges, start), _slot(edges, start + length)
        begin, end = _later_slot(edges, begin, start), _later_slot(edges, end, start + length)
        windows.from_slot[row], windows.to_slot[row] = begin, end
        paid = _paid_until(edges, levels, until, end, start + length)
        windows.price[row] = paid - _paid_until(edges, levels, until, begin, start)
    return count


@inner_kernel
def _add_up(
    jobs: PricedJobs, edges: FloatArray, levels: FloatArray, until: FloatArray, job: int
) -> tuple[int, int]:
    """Fill in the sums of the levels from the slot of the arrival to that of the deadline; return both."""
    first, last = _slot(edges, jobs.arrival[job]), _slot(edges, jobs.deadline[job])
    until[first] = 0.0
    for slot in range(first, min(last + 1, len(levels))):
        until[slot + 1] = until[slot] + levels[slot]
    return first, last


@kernel
def cheapest_windows(
    jobs: PricedJobs, edges: FloatArray, levels: FloatArray, prices: FloatArray, starts: FloatArray
) -> None:
    """Fill in the least price of each job, and a start that has it. O(jobs * slots).

    `edges`, shape (slots + 1,), are rising seconds, the first not after any arrival; `levels`, shape
    (slots,), are the price of the whole machine for the whole slot. `prices` and `starts`, shape (jobs,), are
    written.
    """
    windows, until = _new_windows(len(levels)), np.empty(len(levels) + 1)
    for job in range(len(jobs.arrival)):
        _add_up(jobs, edges, levels, until, job)
        count = _list_windows(jobs, edges, levels, until, job, windows)
        best = 0
        for row in range(1, count):
            if windows.price[row] < windows.price[best]:
                best = row
        prices[job] = windows.price[best] * jobs.share[job]
        starts[job] = windows.start[best]


@kernel
def soft_gains(
    jobs: PricedJobs, edges: FloatArray, levels: FloatArray, temperature: float, gradient: FloatArray
) -> float:
    """Return a smooth sum of what the jobs gain, their weights less their prices; fill in its gradient.

    A job gains nothing if it is rejected. The sum tends to that of the greatest gains as the temperature (in
    units of weight) falls. Arguments as in `cheapest_windows`; O(jobs * slots).
    """
    slots = len(levels)
    windows, until = _new_windows(slots), np.empty(slots + 1)
    begun = np.zeros(slots + 2)
    gradient[:] = 0.0
    total = 0.0
    for job in range(len(jobs.arrival)):
        first, last = _add_up(jobs, edges, levels, until, job)
        count = _list_windows(jobs, edges, levels, until, job, windows)
        share, weight, length = jobs.share[job], jobs.weight[job], jobs.runtime[job]
        greatest = 0.0
        for row in range(count):
            greatest = max(greatest, weight - share * windows.price[row])
        mass = math.exp(-greatest / temperature)
        for row in range(count):
            depth = (greatest - weight + share * windows.price[row]) / temperature
            windows.price[row] = math.exp(-depth) if depth < _FAR else 0.0
            mass += windows.price[row]
        total += greatest + temperature * math.log(mass)
        for row in range(count):
            part = share * windows.price[row] / mass
            if part > 0.0:
                begin, end = windows.from_slot[row], windows.to_slot[row]
                start = windows.start[row]
                begun[begin] -= part
                begun[end] += part
                if end < slots:
                    gradient[end] -= part * (start + length - edges[end]) / (edges[end + 1] - edges[end])
                if begin < slots:
                    gradient[begin] += part * (start - edges[begin]) / (edges[begin + 1] - edges[begin])
        held = 0.0  # the share of windows that end behind the slot, less that of those that begin there
        for slot in range(min(last, slots), first - 1, -1):
            if slot < slots:
                gradient[slot] -= held
            held += begun[slot]
            begun[slot] = 0.0
    return total


#: Numbers of slots, and the temperatures on each grid in mean weights of a job: from coarse and smooth to
#: fine.
_ROUNDS: Final = (
    (64, (0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003)),
    (256, (0.003, 0.001, 0.0003)),
    (1024, (0.001, 0.0003)),
)
#: The most steps at a temperature.
_STEPS: Final = 60
#: The share of the value that the last ten steps must gain together; below it the ascent has converged.
_TOLERANCE: Final = 3e-5
#: The length of the first step, in mean weights of a job.
_FIRST_STEP: Final = 0.1
#: The price of the machine for a slot at the start, in mean weights of a job: low, but not at the border.
_FIRST_LEVEL: Final = 1e-3
#: Log odds that a slot without a price is full. At log odds of 0 prices would drift below 0.
_PRIOR: Final = -3.0
#: Temperatures to take off smooth prices, which are too high where there should be none. Each is tried.
_EXCESSES: Final = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)
#: Bits of the cost of the whole machine in a certificate: sums of them stay within 64 bits.
_BITS: Final = 54
#: Bits of a price in a certificate: JSON readers keep integers of 53 bits.
_BITS_OF_A_PRICE: Final = 52


@dataclass(frozen=True, slots=True, eq=False)
class ReservationPriceBound:
    """A lower bound on a term, the prices that prove it, and what the jobs would do under them.

    The arrays are read-only.
    """

    value: float  #: of the term, as the judge recomputes it from the certificate
    certificate: Mapping[str, Any] | None  #: none where jobs may leak
    edges: IntArray  #: shape (slots + 1,), seconds; outside of the slots nodes cost nothing
    prices: FloatArray  #: shape (slots,): what a node costs in a second, in units of weight
    #: Shape (jobs,): the weight less the price of the cheapest window; minus infinity of a job that cannot
    #: end in time.
    gains: FloatArray
    starts: IntArray  #: shape (jobs,), seconds: where that window begins


class _Prices(NamedTuple):
    """Prices of the whole machine for whole slots of a grid, in mean weights of a job."""

    edges: FloatArray
    levels: FloatArray


def counted_weights(problem: ReservationProblem, term: ReservationTerm) -> FloatArray:
    """Return how much each job counts in a term, shape (jobs,): its weight, or its weight times its area."""
    packed = problem.packed
    area = packed.nodes.astype(np.float64) * packed.runtime
    return packed.weight * area if term == "rejected-area" else packed.weight


class PriceAscent:
    """An ascent to good prices, of which the best can be taken after an interruption at any time.

    It begins with the prices of the certificate of an earlier one.

    Notes
    -----
    *Method*: the dual function is smoothed on both sides, a soft maximum over the windows of each job and
    over full and idle in each slot; a quasi-Newton ascent at falling temperatures, on 64, 256 and 1024 slots
    whose edges are quantiles of arrivals, deadlines, latest starts and earliest ends. For 1000 jobs that
    arrive within a quarter of an hour and have deadlines within minutes to months it takes a second.
    *Complexity*: O(jobs * slots) for a step, about 100 steps at a temperature.
    """

    def __init__(
        self,
        problem: ReservationProblem,
        term: ReservationTerm,
        certificate: Mapping[str, object] | None = None,
    ) -> None:
        self.problem, self.term = problem, term
        packed = problem.packed
        weights = counted_weights(problem, term)
        self._idx = np.flatnonzero((packed.arrival + packed.runtime <= packed.deadline) & (weights > 0))
        self._scale = float(weights[self._idx].mean()) if len(self._idx) else 1.0
        columns = (
            packed.arrival,
            packed.runtime,
            packed.deadline,
            packed.nodes / problem.topology.num_nodes,
            weights / self._scale,
        )
        self._jobs = PricedJobs(*(frozen(column[self._idx].astype(np.float64)) for column in columns))
        self._best = _Prices(frozen(np.zeros(1)), frozen(np.zeros(0)))
        self._accepted = math.fsum(self._jobs.weight)  # the best prices allow at most all jobs
        if certificate is not None:
            certified_bound(problem, certificate, (term,))
            self._begin(certificate)

    def _begin(self, certificate: Mapping[str, Any]) -> None:
        """Take the prices of a certificate."""
        edges = np.array(certificate["edges"], dtype=np.float64)
        if len(edges) == 1 or not len(self._idx):
            return
        if edges[0] > self._jobs.arrival[0]:  # nothing has a price before the first edge
            edges = np.concatenate([self._jobs.arrival[:1], edges])
            certificate = {**certificate, "prices": [0, *certificate["prices"]]}
        rates = np.array(certificate["prices"], dtype=np.float64) / certificate["unit"]
        levels = rates * np.diff(edges) * (self.problem.topology.num_nodes / self._scale)
        self._offer(_Prices(frozen(edges), frozen(levels)))

    def climb(self, clock: Clock | None = None) -> None:
        """Ascend until the end, or until the clock's time is over."""
        if not len(self._idx):
            return
        levels = None
        for slots, temperatures in _ROUNDS:
            edges = self._grid(slots)
            if levels is None and len(self._best.levels) == 0:
                levels = np.full(len(edges) - 1, _FIRST_LEVEL)
            else:
                levels = _onto(self._best, edges)
            for temperature in temperatures:
                levels = self._ascended(edges, levels, temperature, clock)
                if clock is not None and clock.remaining == 0:
                    return
            if len(edges) <= slots:  # every moment at which the price of a window can turn is an edge
                return

    def bound(self) -> ReservationPriceBound:
        """Return the best bound so far; where jobs may leak, 0: prices hold for bookings only."""
        problem, count = self.problem, len(self.problem.jobs)
        num_nodes, scale = problem.topology.num_nodes, self._scale
        edges, levels = self._best
        rates = levels * (scale / num_nodes) / np.diff(edges)
        paid, highest = float(levels.sum()) * scale, float(rates.max(initial=0.0))
        bits = [_BITS_OF_A_PRICE]
        if highest:
            bits += [_BITS - math.frexp(paid)[1], _BITS_OF_A_PRICE - math.frexp(highest)[1]]
        unit = 2 ** max(0, min(bits))
        certificate = {
            "method": "prices",
            "edges": edges.astype(np.int64).tolist(),
            "prices": np.floor(rates * unit).astype(np.int64).tolist(),
            "unit": unit,
        }
        gains, starts = np.full(count, -np.inf), np.zeros(count, dtype=np.int64)
        if len(self._idx):
            costs, begins = self._cheapest(self._best)
            gains[self._idx] = (self._jobs.weight - costs) * scale
            starts[self._idx] = begins.astype(np.int64)
        certified = not problem.leaking
        return ReservationPriceBound(
            certified_bound(problem, certificate, (self.term,)) if certified else 0.0,
            certificate if certified else None,
            frozen(edges.astype(np.int64)),
            frozen(rates),
            frozen(gains),
            frozen(starts),
        )

    def _grid(self, slots: int) -> FloatArray:
        """Return edges, equally many moments apart at which the prices of windows can turn.

        They are interpolated between moments, unlike the quantiles that describe results.
        """
        jobs = self._jobs
        moments = (jobs.arrival, jobs.deadline, jobs.deadline - jobs.runtime, jobs.arrival + jobs.runtime)
        turns = np.unique(np.concatenate(moments))
        if len(turns) <= slots:
            return frozen(turns)
        return frozen(np.unique(np.rint(np.quantile(turns, np.linspace(0, 1, slots + 1)))))

    def _ascended(
        self, edges: FloatArray, levels: FloatArray, temperature: float, clock: Clock | None
    ) -> FloatArray:
        """Ascend at a temperature, note the prices if they are the best, and return the levels."""

        def smooth(at: FloatArray) -> tuple[float, FloatArray]:
            gradient = np.empty(len(at))
            value = soft_gains(self._jobs, edges, frozen(at), temperature, gradient)
            odds = at / temperature + _PRIOR
            value += temperature * float(np.logaddexp(0.0, odds).sum())
            gradient += 0.5 + 0.5 * np.tanh(0.5 * odds)
            return -value, -gradient

        levels = ascend(
            smooth,
            levels,
            first_step=_FIRST_STEP,
            steps=_STEPS,
            tolerance=_TOLERANCE,
            stop=lambda: clock is not None and clock.remaining == 0,
        )
        for excess in _EXCESSES:
            self._offer(_Prices(edges, frozen(np.maximum(0.0, levels - excess * temperature))))
        return levels

    def _offer(self, prices: _Prices) -> None:
        paid, _ = self._cheapest(prices)
        gains = np.maximum(0.0, self._jobs.weight - paid)
        accepted = math.fsum(gains) + math.fsum(prices.levels)
        if accepted < self._accepted:
            self._best, self._accepted = prices, accepted

    def _cheapest(self, prices: _Prices) -> tuple[FloatArray, FloatArray]:
        """Return what the cheapest window of each job costs, and where it begins."""
        paid, starts = np.empty(len(self._idx)), np.empty(len(self._idx))
        cheapest_windows(self._jobs, prices.edges, prices.levels, paid, starts)
        return paid, starts


def node_prices(
    problem: ReservationProblem, term: ReservationTerm, clock: Clock | None = None
) -> ReservationPriceBound:
    """Return a lower bound on a term of all schedules of bookings, with a certificate.

    The term is ``rejected``, ``unsuccessful``, for which the bound is the same, or ``rejected-area``. Shapes
    of node sets play no part: the bound is on the count of nodes alone. When the time of the clock is over,
    the best bound so far is returned; without a clock the ascent runs to its end.

    Notes
    -----
    *Guarantee*: the judge recomputes the value from the certificate, where the proof is
    (`allocsolve.judge.reservation.certificate`). *Method* and *complexity*: see `PriceAscent`.
    """
    ascent = PriceAscent(problem, term)
    ascent.climb(clock)
    return ascent.bound()


def _onto(prices: _Prices, edges: FloatArray) -> FloatArray:
    """Return the levels of the same prices on another grid."""
    paid = np.concatenate([[0.0], np.cumsum(prices.levels)])
    return np.diff(np.interp(edges, prices.edges, paid))
