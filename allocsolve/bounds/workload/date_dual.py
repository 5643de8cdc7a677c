"""The dual of prices per job where some jobs start in windows: its values, and the ascent near a window."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.bounds.workload._kernels_dates import (
    Dates,
    Rooms,
    Spans,
    costs_in_spans,
    list_spans,
    settle_dates,
)
from allocsolve.bounds.workload._kernels_job_prices import PricedJobs, SlotEntries, fullest_slots, soft_slots
from allocsolve.bounds.workload._kernels_machine_jobs import (
    MachineEntries,
    fullest_slots_on_machine,
    soft_slots_on_machine,
)
from allocsolve.bounds.workload.job_price_dual import PRIOR, JobWindows, entries_of
from allocsolve.model import frozen

if TYPE_CHECKING:
    from allocsolve.bounds.workload.job_price_dual import DualJobs
    from allocsolve.model import FloatArray, IntArray


class Settled(NamedTuple):
    """Windows of starts and what follows from them."""

    dates: Dates
    spans: Spans


def plain_rooms(nodes: IntArray, capacity: int, slots: int) -> Rooms:
    """Return what jobs need, nodes only, and as many units of them in each slot."""
    return Rooms(frozen(nodes[:, np.newaxis]), frozen(np.full((slots, 1), capacity)))


def settled(
    jobs: DualJobs, rooms: Rooms, edges: FloatArray, earliest: FloatArray, latest: FloatArray
) -> Settled | None:
    """Return what follows from windows of starts; None if no schedule has all starts in them.

    `earliest` and `latest` have the shape (jobs,), in seconds; infinity for jobs that may wait for ever.
    """
    count, slots = len(jobs.submit), len(edges) - 1
    dates = Dates(
        np.maximum(earliest, jobs.submit),
        latest.astype(np.float64),
        np.zeros(count, dtype=np.int64),
        np.zeros(count, dtype=np.int64),
        rooms.room.copy(),
        np.zeros(slots, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )
    if (dates.earliest > dates.latest).any():
        return None
    priced = _priced(jobs, np.zeros(count, dtype=np.int64), np.zeros(count + 1, dtype=np.int64))
    offsets, most = np.zeros(count + 1, dtype=np.int64), frozen(rooms.needs.max(axis=0, initial=0))
    if not settle_dates(priced, edges, rooms, most, dates, offsets):
        return None
    spans = Spans(offsets, np.empty(int(offsets[-1])), np.empty(int(offsets[-1])))
    list_spans(priced, edges, rooms, dates, spans)
    return Settled(dates, spans)


def _priced(jobs: DualJobs, first: IntArray, offsets: IntArray) -> PricedJobs:
    return PricedJobs(*jobs, frozen(first), frozen(offsets))


class _OfNodes:
    """What the cluster earns in each slot where jobs need nodes only."""

    def __init__(self, offsets: IntArray, entries: IntArray, needs: IntArray, left: IntArray) -> None:
        self._entries = SlotEntries(frozen(offsets), frozen(entries), frozen(needs[:, 0].copy()))
        # Runs of slots that have the same room.
        room = left[:, 0]
        cuts = np.concatenate(([0], np.flatnonzero(np.diff(room)) + 1, [len(room)]))
        self._runs = [
            (int(room[begin]), begin, end)
            for begin, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)
            if offsets[end] > offsets[begin]
        ]

    def soft(self, levels: FloatArray, temperature: float, gradient: FloatArray) -> float:
        """Return the sum of soft greatest levels; subtract the probabilities from the gradient."""
        value = 0.0
        for room, begin, end in self._runs:
            value += soft_slots(self._entries, room, levels, temperature, PRIOR, gradient, begin, end)
        return value

    def fullest(self, levels: FloatArray) -> float:
        """Return the sum of the greatest levels of jobs that fit."""
        return sum(fullest_slots(self._entries, room, levels, begin, end) for room, begin, end in self._runs)


class _OfResources:
    """What the cluster earns in each slot where jobs need several resources."""

    def __init__(self, offsets: IntArray, entries: IntArray, needs: IntArray, left: IntArray) -> None:
        self._entries = MachineEntries(*map(frozen, (offsets, entries, needs.copy(), left.copy())))

    def soft(self, levels: FloatArray, temperature: float, gradient: FloatArray) -> float:
        """Return the sum of soft greatest levels; subtract the probabilities from the gradient."""
        return soft_slots_on_machine(self._entries, levels, temperature, PRIOR, gradient)

    def fullest(self, levels: FloatArray) -> float:
        """Return the sum of the greatest levels of jobs that fit."""
        return fullest_slots_on_machine(self._entries, levels)


class DateDual:
    """The dual function on windows of prices, where starts lie in windows of dates.

    Each job has prices in its window of `windows`, whose own prices are not read; `known` is what follows
    from the windows of the starts, on the same slots. Jobs pay the levels `fixed` besides, wherever they run;
    what the cluster earns by them does not count here, nor what it earns outside of the slots `only`, where
    levels do not change.
    """

    def __init__(
        self,
        jobs: DualJobs,
        rooms: Rooms,
        windows: JobWindows,
        known: Settled,
        fixed: FloatArray,
        only: tuple[int, int] | None = None,
    ) -> None:
        self.windows, self._jobs, self._fixed = windows, jobs, fixed
        self._priced = _priced(jobs, windows.first, windows.offsets)
        self._spans, dates = known.spans, known.dates
        slots, owners = windows.slots, windows.owners
        surely = (dates.begin[owners] <= slots) & (slots < dates.end[owners])
        #: Whether a level counts: the job may run there, and does not surely.
        self.active = (
            ~surely
            & (windows.edges[slots + 1] > dates.earliest[owners])
            & (windows.edges[slots] < (dates.latest + jobs.runtime)[owners])
            & (rooms.needs[owners] <= dates.left[slots]).all(axis=1)
        )
        self._unpriced = np.flatnonzero(surely)
        low, high = (0, len(dates.left)) if only is None else only
        entries = np.flatnonzero(self.active & (slots >= low) & (slots < high))
        entries = entries[np.argsort(slots[entries], kind="stable")]
        counts = np.bincount(slots[entries], minlength=len(dates.left))
        offsets = np.concatenate(([0], np.cumsum(counts)))
        kind = _OfNodes if rooms.needs.shape[1] == 1 else _OfResources
        self._slots = kind(offsets, entries, rooms.needs[owners[entries]], dates.left)

    def exact(self, levels: FloatArray) -> float:
        """Return the bound that levels >= 0 give, apart from the rounding of doubles."""
        costs, _ = self.cheapest(levels)
        return float(costs.sum()) - self.earned(levels)

    def cheapest(self, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the least cost of each job, prices included, and a start that has it."""
        costs, starts = np.empty(len(self.windows.first)), np.empty(len(self.windows.first))
        paid = self._paid(levels)
        costs_in_spans(self._priced, self.windows.edges, paid, self._spans, 0.0, np.empty(0), costs, starts)
        return costs, starts

    def least_between(self, levels: FloatArray, job: int, edges: FloatArray) -> FloatArray:
        """Return the least cost of a job for starts between each two neighbouring instants (s), rising.

        It is infinity where the job has no start. Shape (instants - 1,).
        """
        windows, spans = self.windows, self._spans
        own = slice(spans.offsets[job], spans.offsets[job + 1])
        low = np.maximum(edges[:-1, None], spans.low[own])
        high = np.minimum(edges[1:, None], spans.high[own])
        parts, which = np.nonzero(low <= high)
        least = np.full(len(edges) - 1, np.inf)
        count = len(parts)
        own = slice(windows.offsets[job], windows.offsets[job + 1])
        lengths = np.arange(count + 1, dtype=np.int64)
        rows = np.full(count, job)
        priced = _priced(self._jobs.of(rows), windows.first[rows], lengths * (own.stop - own.start))
        paid = frozen(np.tile(self._paid(levels)[own], count))
        one = Spans(lengths, low[parts, which], high[parts, which])
        costs = np.empty(count)
        costs_in_spans(priced, windows.edges, paid, one, 0.0, np.empty(0), costs, np.empty(count))
        np.minimum.at(least, parts, costs)
        return least

    def soft(self, levels: FloatArray, temperature: float) -> tuple[float, FloatArray]:
        """Return a smooth concave function of the levels and its gradient, as `JobDual.soft`."""
        gradient, none = np.zeros(len(levels)), np.empty(0)
        paid = self._paid(levels)
        value = costs_in_spans(
            self._priced, self.windows.edges, paid, self._spans, temperature, gradient, none, none
        )
        return value - self._slots.soft(levels, temperature, gradient), gradient

    def earned(self, levels: FloatArray) -> float:
        """Return what the cluster earns by levels >= 0."""
        return self._slots.fullest(frozen(levels))

    def _paid(self, levels: FloatArray) -> FloatArray:
        paid = levels.copy()
        paid[self._unpriced] = 0.0
        paid += self._fixed
        frozen(levels)
        return frozen(paid)


class Part(NamedTuple):
    """The dual of some jobs near some slots; all other levels stay."""

    dual: DateDual
    #: Where the levels of these jobs are among those of all, and which of these are free.
    entries: IntArray
    free: IntArray


def part_near(
    jobs: DualJobs,
    rooms: Rooms,
    windows: JobWindows,
    known: Settled,
    fixed: FloatArray,
    span: tuple[float, float],
) -> Part:
    """Return the part of the dual with the levels in the slots between two instants (s)."""
    begin, end = span
    edges = windows.edges
    low = max(0, int(np.searchsorted(edges, begin, side="right")) - 1)
    high = int(np.searchsorted(edges, end, side="left"))
    slots = windows.slots
    touched = np.unique(windows.owners[(slots >= low) & (slots < high)])
    if not len(touched):
        touched = np.zeros(1, dtype=np.int64)
    own = windows.of_jobs(touched)
    entries, _ = entries_of(windows.offsets, touched)
    shift = int(np.searchsorted(edges, own.edges[0]))
    dates, spans = known
    some, offsets = entries_of(spans.offsets, touched)
    within = slice(shift, shift + len(own.edges) - 1)
    there = Dates(
        dates.earliest[touched],
        dates.latest[touched],
        dates.begin[touched] - shift,
        dates.end[touched] - shift,
        dates.left[within].copy(),
        dates.full,
        dates.number,
    )
    dual = DateDual(
        jobs.of(touched),
        Rooms(frozen(rooms.needs[touched]), frozen(rooms.room[within].copy())),
        own,
        Settled(there, Spans(offsets, spans.low[some], spans.high[some])),
        fixed[entries],
        (low - shift, high - shift),
    )
    own_slots = own.slots + shift
    free = np.flatnonzero(dual.active & (own_slots >= low) & (own_slots < high))
    return Part(dual, entries, free)
