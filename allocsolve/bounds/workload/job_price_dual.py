"""The dual of prices per job: its windows of slots, its exact value, a smooth one, and the ascent on it.

The ascent is a quasi-Newton method of limited memory (Liu & Nocedal 1989).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np

from allocsolve.bounds.ascent import ascend
from allocsolve.bounds.workload._kernels_job_prices import (
    PricedJobs,
    SlotEntries,
    cheapest_starts,
    fullest_slots,
    list_entries,
    mean_prices,
    soft_jobs,
    soft_slots,
)
from allocsolve.judge.quantiles import quantile
from allocsolve.model import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from allocsolve.model import FloatArray, IntArray


def slots_of(edges: FloatArray, times: FloatArray) -> IntArray:
    """Return the slot of each time; for times outside the grid, the first or the last slot."""
    slots: IntArray = np.clip(np.searchsorted(edges, times, side="right") - 1, 0, len(edges) - 2)
    return slots


class Rooms(NamedTuple):
    """What jobs need of a machine and what is there, in units of each resource; read-only."""

    needs: IntArray  #: shape (jobs, resources)
    room: IntArray  #: shape (slots, resources): the most that is there within each slot


@dataclass(frozen=True, slots=True, eq=False)
class JobWindows:
    """A price per second for each job and each slot of its window; 0 outside. One row a job.

    The seconds `edges`, shape (slots + 1,), rise. A window begins in the slot `first`, shape (jobs,), and its
    prices in `prices` at `offsets`, shape (jobs + 1,).
    """

    edges: FloatArray
    first: IntArray
    offsets: IntArray
    prices: FloatArray

    def __post_init__(self) -> None:
        for array in (self.edges, self.first, self.offsets, self.prices):
            frozen(array)

    @classmethod
    def empty(cls, edges: FloatArray, first: IntArray, last: IntArray) -> JobWindows:
        """Return windows without prices, from the first to the last slot of each job."""
        offsets = np.concatenate(([0], np.cumsum(np.maximum(last - first, -1) + 1)))
        return cls(edges, first, offsets, np.zeros(int(offsets[-1])))

    @classmethod
    def of_certificate(cls, certificate: Mapping[str, Any], jobs: IntArray) -> JobWindows:
        """Return the prices of some jobs in a certificate that the judge admits, on its whole grid."""
        first, offsets = (np.array(certificate[key], dtype=np.int64) for key in ("first_slots", "offsets"))
        prices = np.array(certificate["prices"], dtype=np.float64) / certificate["unit"]
        edges = np.array(certificate["edges"], dtype=np.float64)
        entries, own = entries_of(offsets, jobs)
        return cls(edges, first[jobs], own, prices[entries])

    @property
    def lengths(self) -> FloatArray:
        """Seconds of each slot of each window."""
        lengths: FloatArray = np.diff(self.edges)[self.slots]
        return lengths

    @property
    def usual_length(self) -> float:
        """The median length of a slot, in seconds."""
        return quantile(np.diff(self.edges), 0.5)

    @property
    def owners(self) -> IntArray:
        """The job of each slot of each window."""
        return np.repeat(np.arange(len(self.first)), np.diff(self.offsets))

    @property
    def slots(self) -> IntArray:
        """The slot in the grid of each slot of each window."""
        shift: IntArray = np.repeat(self.first - self.offsets[:-1], np.diff(self.offsets))
        return np.arange(len(self.prices)) + shift

    def with_prices(self, prices: FloatArray) -> JobWindows:
        """Return the same windows with other prices."""
        return JobWindows(self.edges, self.first, self.offsets, prices)

    def onto(self, windows: JobWindows) -> JobWindows:
        """Return other windows of the same jobs with the mean prices of these."""
        prices = np.empty(int(windows.offsets[-1]))
        mean_prices(
            self.edges, self.first, self.offsets, self.prices, windows.edges, windows.first, windows.offsets,
            prices,
        )  # fmt: skip
        return windows.with_prices(prices)

    def halved(self) -> JobWindows:
        """Return the same prices on slots of half the length, in whole seconds; slots have at least 2 s."""
        middles = np.floor(0.5 * (self.edges[:-1] + self.edges[1:]))
        edges = np.empty(2 * len(self.edges) - 1)
        edges[::2], edges[1::2] = self.edges, middles
        return self.onto(JobWindows.empty(edges, 2 * self.first, 2 * self.first + 2 * self._counts() - 1))

    def cut(self, submit: FloatArray, margin: float) -> JobWindows:
        """Return windows that reach from the submission to `margin` seconds behind the last price above 0."""
        owners, slots = self.owners, self.slots
        ends = submit.copy()
        priced = self.prices > 0
        np.maximum.at(ends, owners[priced], self.edges[slots[priced] + 1])
        first = slots_of(self.edges, submit)
        return self.onto(JobWindows.empty(self.edges, first, slots_of(self.edges, ends + margin)))

    def of_jobs(self, jobs: IntArray) -> JobWindows:
        """Return the windows of some jobs, on those slots of the grid that they touch."""
        entries, offsets = entries_of(self.offsets, jobs)
        low = int(self.first[jobs].min())
        high = max(int((self.first[jobs] + np.diff(offsets)).max()), low + 1)
        return JobWindows(
            self.edges[low : high + 1].copy(), self.first[jobs] - low, offsets, self.prices[entries]
        )

    def _counts(self) -> IntArray:
        return np.diff(self.offsets)


def entries_of(offsets: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return the entries of some rows, and their own offsets."""
    counts = np.diff(offsets)[rows]
    own = np.concatenate(([0], np.cumsum(counts)))
    return np.arange(int(own[-1])) + np.repeat(offsets[rows] - own[:-1], counts), own


def joined(parts: list[tuple[IntArray, JobWindows]], edges: FloatArray, num_jobs: int) -> JobWindows:
    """Return the windows of all jobs from the windows of disjoint parts, on a grid with all their edges.

    A part is the indices of its jobs and their windows.
    """
    first, counts = np.zeros(num_jobs, dtype=np.int64), np.zeros(num_jobs, dtype=np.int64)
    for jobs, windows in parts:
        first[jobs] = windows.first + np.searchsorted(edges, windows.edges[0])
        counts[jobs] = np.diff(windows.offsets)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    prices = np.empty(int(offsets[-1]))
    for jobs, windows in parts:
        own = np.diff(windows.offsets)
        at = np.arange(len(windows.prices)) + np.repeat(offsets[jobs] - windows.offsets[:-1], own)
        prices[at] = windows.prices
    return JobWindows(edges, first, offsets, prices)


#: Log odds that a job without a price runs. At log odds of 0 prices would drift below 0.
PRIOR: Final = -3.0

#: Table entries below which one thread is faster than several.
_SHARED: Final = 200_000


class DualJobs(NamedTuple):
    """Rigid jobs whose ends cost `max(floor, slope * (end - submit))`; one row a job, slopes above 0."""

    submit: FloatArray
    runtime: FloatArray
    slope: FloatArray
    floor: FloatArray
    nodes: IntArray  #: in units of the capacity

    def of(self, jobs: IntArray) -> DualJobs:
        """Return some of the jobs."""
        return DualJobs._make(frozen(column[jobs]) for column in self)


@dataclass(frozen=True, slots=True, eq=False)
class JobDual:
    """The dual function on the windows of given jobs; levels are prices times the seconds of their slot.

    Its exact value is the sum over the jobs of the least cost of a start, prices included, less the sum over
    the slots of the greatest levels of jobs that fit together. For any levels >= 0 it is a lower bound
    on the total cost of any schedule.
    """

    jobs: DualJobs
    capacity: int
    windows: JobWindows
    workers: int = 1
    _priced: PricedJobs = field(init=False)
    _slots: SlotEntries = field(init=False)

    def __post_init__(self) -> None:
        windows = self.windows
        slots, owners = windows.slots, windows.owners
        counts = np.bincount(slots, minlength=len(windows.edges) - 1)
        offsets = frozen(np.concatenate(([0], np.cumsum(counts))))
        entries = np.empty(len(slots), dtype=np.int64)
        list_entries(windows.first, windows.offsets, offsets[:-1].copy(), entries)
        nodes = frozen(self.jobs.nodes[owners[entries]])
        object.__setattr__(self, "_slots", SlotEntries(offsets, frozen(entries), nodes))
        priced = PricedJobs(*self.jobs, windows.first, windows.offsets)
        object.__setattr__(self, "_priced", priced)

    def soft(self, levels: FloatArray, temperature: float) -> tuple[float, FloatArray]:
        """Return a smooth concave function of the levels and its gradient.

        The function tends to the exact value, for levels >= 0, as the temperature (in units of cost) falls.
        """
        frozen(levels)
        gradient = np.zeros(len(levels))

        def of_jobs(begin: int, end: int) -> float:
            return soft_jobs(self._priced, self.windows.edges, levels, temperature, gradient, begin, end)

        def of_slots(begin: int, end: int) -> float:
            return soft_slots(self._slots, self.capacity, levels, temperature, PRIOR, gradient, begin, end)

        value = self._summed(of_jobs, self._priced.offsets)
        return value - self._summed(of_slots, self._slots.offsets), gradient

    def exact(self, levels: FloatArray) -> float:
        """Return the bound that levels >= 0 give, apart from the rounding of doubles."""
        frozen(levels)
        costs, _ = self.cheapest(levels)

        def of_slots(begin: int, end: int) -> float:
            return fullest_slots(self._slots, self.capacity, levels, begin, end)

        return float(costs.sum()) - self._summed(of_slots, self._slots.offsets)

    def cheapest(self, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the least cost of each job, prices included, and a start that has it."""
        costs, starts = np.empty(len(self.jobs.submit)), np.empty(len(self.jobs.submit))
        cheapest_starts(self._priced, self.windows.edges, frozen(levels), costs, starts, 0, len(costs))
        return costs, starts

    def _summed(self, part: Callable[[int, int], float], offsets: IntArray) -> float:
        """Return the sum of a kernel over all rows, in threads if there is enough to do."""
        rows = len(offsets) - 1
        if self.workers == 1 or offsets[-1] * self.capacity < _SHARED:
            return part(0, rows)
        shares = np.linspace(0, int(offsets[-1]), 4 * self.workers + 1)
        cuts = [0, *np.searchsorted(offsets, shares[1:-1]).tolist(), rows]
        with ThreadPoolExecutor(self.workers) as pool:
            return sum(pool.map(part, cuts[:-1], cuts[1:]))


#: Shares of the prior, each of which is subtracted from the levels before their exact value is computed.
_SHARES: Final = (0.5, 1.0)

#: An ascent is over when some steps gain less than this share of the value.
_TOLERANCE: Final = 1e-6


class _Dual(Protocol):
    def exact(self, levels: FloatArray, /) -> float: ...

    def soft(self, levels: FloatArray, temperature: float, /) -> tuple[float, FloatArray]: ...


def climb(
    dual: _Dual,
    levels: FloatArray,
    temperatures: Sequence[float],
    *,
    steps: int,
    stop: Callable[[], bool],
    free: IntArray | slice = slice(None),
) -> tuple[FloatArray, float]:
    """Return the best levels met on the way through falling temperatures, and their value.

    Only the levels `free` change; those that the ascent begins with are among those that are compared.
    """
    best, best_value = levels, dual.exact(levels)
    point, at = levels[free], levels.copy()

    def function(some: FloatArray, temperature: float) -> tuple[float, FloatArray]:
        at[free] = some
        value, gradient = dual.soft(at.copy(), temperature)
        return value, gradient[free]

    for temperature in temperatures:
        if stop():
            break
        shift = -PRIOR * temperature
        point = ascend(
            partial(function, temperature=temperature),
            point + shift,
            first_step=temperature,
            steps=steps,
            tolerance=_TOLERANCE,
            stop=stop,
        )
        for share in _SHARES:
            other = levels.copy()
            other[free] = np.maximum(point - share * shift, 0.0)
            value = dual.exact(other)
            if value > best_value:
                best, best_value = other, value
        point = point - shift
    return best, best_value
