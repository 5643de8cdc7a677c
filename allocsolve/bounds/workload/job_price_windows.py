"""Prices of jobs: on which slots of which grid, and how they move to another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.bounds.workload._kernels_job_windows import mean_prices

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from allocsolve.model import FloatArray, IntArray

__all__ = ["JobWindows", "joined", "read_only", "slots_of"]


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array itself, made read-only: kernels are compiled for such ones."""
    array.setflags(write=False)
    return array


def slots_of(edges: FloatArray, times: FloatArray) -> IntArray:
    """Return the slot of each time; the first or the last one if it lies outside."""
    slots: IntArray = np.clip(np.searchsorted(edges, times, side="right") - 1, 0, len(edges) - 2)
    return slots


@dataclass(frozen=True, slots=True, eq=False)
class JobWindows:
    """A price per second for each job and each slot of its window; 0 outside. One row a job.

    Parameters
    ----------
    edges
        Shape (slots + 1,), rising seconds.
    first
        Shape (jobs,), the first slot of each window.
    offsets
        Shape (jobs + 1,), where each window begins in `prices`.
    prices
        Shape (slots of all windows,).
    """

    edges: FloatArray
    first: IntArray
    offsets: IntArray
    prices: FloatArray

    def __post_init__(self) -> None:
        for array in (self.edges, self.first, self.offsets, self.prices):
            read_only(array)

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
        entries, own = _entries(offsets, jobs)
        return cls(edges, first[jobs], own, prices[entries])

    @property
    def lengths(self) -> FloatArray:
        """Seconds of each slot of each window."""
        lengths: FloatArray = np.diff(self.edges)[self.slots]
        return lengths

    @property
    def usual_length(self) -> float:
        """Seconds of a slot in the middle."""
        return float(np.median(np.diff(self.edges)))

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
        """Return the same prices on slots of half the length, in whole seconds: slots have 2 s at least."""
        middles = np.floor(0.5 * (self.edges[:-1] + self.edges[1:]))
        edges = np.empty(2 * len(self.edges) - 1)
        edges[::2], edges[1::2] = self.edges, middles
        return self.onto(JobWindows.empty(edges, 2 * self.first, 2 * self.first + 2 * self._counts() - 1))

    def cut(self, submit: FloatArray, margin: float) -> JobWindows:
        """Return windows that reach from the submission to some seconds behind the last price above 0."""
        owners, slots = self.owners, self.slots
        ends = submit.copy()
        priced = self.prices > 0
        np.maximum.at(ends, owners[priced], self.edges[slots[priced] + 1])
        first = slots_of(self.edges, submit)
        return self.onto(JobWindows.empty(self.edges, first, slots_of(self.edges, ends + margin)))

    def of_jobs(self, jobs: IntArray) -> JobWindows:
        """Return the windows of some jobs, on those slots of the grid that they touch."""
        entries, offsets = _entries(self.offsets, jobs)
        low = int(self.first[jobs].min())
        high = max(int((self.first[jobs] + np.diff(offsets)).max()), low + 1)
        return JobWindows(
            self.edges[low : high + 1].copy(), self.first[jobs] - low, offsets, self.prices[entries]
        )

    def _counts(self) -> IntArray:
        return np.diff(self.offsets)


def _entries(offsets: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return the entries of some rows, and their own offsets."""
    counts = np.diff(offsets)[rows]
    own = np.concatenate(([0], np.cumsum(counts)))
    return np.arange(int(own[-1])) + np.repeat(offsets[rows] - own[:-1], counts), own


def joined(parts: list[tuple[IntArray, JobWindows]], edges: FloatArray, num_jobs: int) -> JobWindows:
    """Return the windows of all jobs from those of disjoint parts of them, on a grid with all their edges.

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
