"""The dual of prices per job: its exact value, and a smooth one with its gradient."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.bounds.workload._kernels_job_breaks import PricedJobs, cheapest_starts
from allocsolve.bounds.workload._kernels_job_soft import SlotEntries, fullest_slots, soft_jobs, soft_slots
from allocsolve.bounds.workload._kernels_job_windows import list_entries
from allocsolve.bounds.workload.job_price_windows import JobWindows, read_only

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.model import FloatArray, IntArray

__all__ = ["PRIOR", "DualJobs", "JobDual"]

#: Log odds of a job without a price against running: without them prices drift below 0.
PRIOR: Final = -3.0

#: Below so many table entries one thread is faster than several.
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
        return DualJobs(*(read_only(column[jobs]) for column in self))


@dataclass(frozen=True, slots=True, eq=False)
class JobDual:
    """The dual function on the windows of given jobs; levels are prices times the seconds of their slot.

    Its exact value is the sum over the jobs of the least cost of a start, prices included, less the sum over
    the slots of the greatest levels of jobs that fit together. For whatever levels >= 0 it is a lower bound
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
        offsets = read_only(np.concatenate(([0], np.cumsum(counts))))
        entries = np.empty(len(slots), dtype=np.int64)
        list_entries(windows.first, windows.offsets, offsets[:-1].copy(), entries)
        nodes = read_only(self.jobs.nodes[owners[entries]])
        object.__setattr__(self, "_slots", SlotEntries(offsets, read_only(entries), nodes))
        priced = PricedJobs(*self.jobs, windows.first, windows.offsets)
        object.__setattr__(self, "_priced", priced)

    def soft(self, levels: FloatArray, temperature: float) -> tuple[float, FloatArray]:
        """Return a smooth concave function of the levels and its gradient.

        The function tends to the exact value, for levels >= 0, as the temperature (in units of cost) falls.
        """
        read_only(levels)
        gradient = np.zeros(len(levels))

        def of_jobs(begin: int, end: int) -> float:
            return soft_jobs(self._priced, self.windows.edges, levels, temperature, gradient, begin, end)

        def of_slots(begin: int, end: int) -> float:
            return soft_slots(self._slots, self.capacity, levels, temperature, PRIOR, gradient, begin, end)

        value = self._summed(of_jobs, self._priced.offsets)
        return value - self._summed(of_slots, self._slots.offsets), gradient

    def exact(self, levels: FloatArray) -> float:
        """Return the bound that levels >= 0 give, but for the rounding of doubles."""
        read_only(levels)
        costs, _ = self.cheapest(levels)

        def of_slots(begin: int, end: int) -> float:
            return fullest_slots(self._slots, self.capacity, levels, begin, end)

        return float(costs.sum()) - self._summed(of_slots, self._slots.offsets)

    def cheapest(self, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the least cost of each job, prices included, and a start that has it."""
        costs, starts = np.empty(len(self.jobs.submit)), np.empty(len(self.jobs.submit))
        cheapest_starts(self._priced, self.windows.edges, read_only(levels), costs, starts, 0, len(costs))
        return costs, starts

    def _summed(self, part: Callable[[int, int], float], offsets: IntArray) -> float:
        """Sum a kernel over all rows, in threads if there is enough to do."""
        rows = len(offsets) - 1
        if self.workers == 1 or offsets[-1] * self.capacity < _SHARED:
            return part(0, rows)
        shares = np.linspace(0, int(offsets[-1]), 4 * self.workers + 1)
        cuts = [0, *np.searchsorted(offsets, shares[1:-1]).tolist(), rows]
        with ThreadPoolExecutor(self.workers) as pool:
            return sum(pool.map(part, cuts[:-1], cuts[1:]))
