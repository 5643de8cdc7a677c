"""Trees over dates for stretches of a log: their bounds add up, so that trees do not multiply.

A slot in which jobs of two stretches have prices is shared: the prices there stay as they are, in all leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allocsolve.bounds.workload._kernels_dates import Rooms
from allocsolve.bounds.workload.date_dual import DateDual, plain_rooms, settled
from allocsolve.bounds.workload.job_price_dual import JobWindows
from allocsolve.bounds.workload.job_prices import PricedWorkload, root_prices
from allocsolve.bounds.workload.machine_job_prices import machine_jobs
from allocsolve.exact.workload._date_tree import DateTree, DateTreeParams
from allocsolve.judge.workload.date_trees import bound_of_trees, tree_totals
from allocsolve.model import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from allocsolve.bounds.workload.job_price_dual import DualJobs
    from allocsolve.model import FloatArray, IntArray, WorkloadProblem, WorkloadTerm


@dataclass(frozen=True, eq=False)
class Stretch:
    """Jobs that have a tree of their own."""

    tree: DateTree
    #: Their rows among all jobs that count.
    rows: IntArray
    #: The slot of the grid with which that of the tree begins.
    first_slot: int


class OnMachine(NamedTuple):
    """The jobs that count, and the machine on which they run."""

    jobs: DualJobs
    #: Their indices in the problem.
    counted: IntArray
    #: Shape (jobs,), seconds: when they may start at the earliest.
    release: FloatArray
    #: On the slots of the prices.
    rooms: Rooms
    #: The fields of a certificate that say in which units resources are.
    units: dict[str, Any]

    @classmethod
    def of(cls, problem: WorkloadProblem, term: WorkloadTerm, edges: FloatArray) -> OnMachine:
        """Return the jobs of a problem, and what is there in the slots between edges."""
        if problem.is_plain:
            jobs, counted, divisor, capacity = PricedWorkload.of(problem, term)
            rooms = plain_rooms(jobs.nodes, capacity, len(edges) - 1)
            return cls(jobs, counted, jobs.submit, rooms, {"nodes": divisor})
        machine = machine_jobs(problem, term)
        rooms = Rooms(frozen(machine.needs), frozen(machine.room(edges)))
        jobs, counted, divisor, _ = machine.priced
        units = {"nodes": divisor, "units": machine.units_of_others(problem)}
        return cls(jobs, counted, machine.release, rooms, units)


class DateForest:
    """The bound by trees of stretches: the sum of the least bounds of leaves, less what is shared.

    The jobs are rigid, the machine is any, the term is a mean over the jobs. The trees begin with a
    certificate that the judge admits: ``job-prices``, ``date-tree`` or ``date-trees``.

    Notes
    -----
    Stretches are jobs one after the other in order of submission. They meet where little is paid, so that
    few prices are shared. Up to 1,000 jobs are one stretch.
    """

    def __init__(
        self,
        problem: WorkloadProblem,
        term: WorkloadTerm,
        certificate: Mapping[str, Any],
        params: DateTreeParams = DateTreeParams(),
    ) -> None:
        self.problem, self.term, self.params = problem, term, params
        kind = certificate["kind"]
        first = certificate if kind == "job-prices" else root_prices(problem, certificate)
        edges = np.array(first["edges"], dtype=np.float64)
        self.jobs, self.counted, release, rooms, self._units = OnMachine.of(problem, term, edges)
        self._unit = int(certificate["unit"])
        if kind == "date-trees" and not _all_count(certificate, self.counted):
            kind = "job-prices"
        windows = JobWindows.of_certificate(first, self.counted)
        windows = windows.cut(self.jobs.submit, params.margin_slots * windows.usual_length)
        count, written = len(self.counted), [certificate]
        if kind == "date-trees":
            self._owner = np.array(certificate["stretches"])
            written = certificate["trees"]
        else:
            self._owner = np.zeros(len(problem.jobs), dtype=np.int64)
            if kind == "job-prices" and count > params.one_tree_jobs:
                self._owner[self.counted] = self._cut(windows)
        numbers = _numbers_within(self._owner)
        rows = np.full(len(problem.jobs), -1)
        rows[self.counted] = np.arange(count)
        if kind != "job-prices":
            windows = _wide_enough(windows, written, self._owner, rows)
        owner = self._owner[self.counted]
        shared = _shared(windows, owner)
        levels = np.where(shared[windows.slots], windows.prices, 0.0) * windows.lengths
        self._shared = windows.with_prices(np.where(shared[windows.slots], windows.prices, 0.0))
        #: What the cluster earns in the slots that are shared.
        never = np.full(count, np.inf)
        known = settled(self.jobs, rooms, windows.edges, release, never)
        assert known is not None, "all jobs fit into the machine"
        self.earned = DateDual(self.jobs, rooms, windows, known, np.zeros(len(levels))).earned(levels)
        self.stretches: list[Stretch] = []
        for number in range(int(self._owner.max(initial=0)) + 1):
            own = np.flatnonzero(owner == number)
            entries = np.repeat(owner == number, np.diff(windows.offsets))
            part = windows.of_jobs(own)
            low = int(windows.first[own].min())
            inside = np.where(shared[low : low + len(part.edges) - 1][part.slots], 0.0, part.prices)
            names = numbers[self.counted[own]]
            there = rooms.room[low : low + len(part.edges) - 1]
            tree = DateTree(
                self.jobs.of(own),
                release[own],
                Rooms(frozen(rooms.needs[own]), frozen(there.copy())),
                part.with_prices(inside),
                levels[entries],
                names=names,
                unit=self._unit,
                params=params,
            )
            stretch = Stretch(tree, own, low)
            if kind != "job-prices":
                back = np.full(int((self._owner == number).sum()), -1)
                back[names] = np.arange(len(own))
                shift = written[number]["slots"][0] - low if kind == "date-trees" else -low
                tree.repeat(_moved(written[number], shift), back)
            self.stretches.append(stretch)

    def _cut(self, windows: JobWindows) -> IntArray:
        """Return the stretch of each job that counts."""
        order = np.argsort(self.jobs.submit, kind="stable")
        slots, owners = windows.slots, windows.owners
        positive = np.flatnonzero(windows.prices > 0)
        begin = windows.first.copy()
        begin[owners[positive[::-1]]] = slots[positive[::-1]]
        end = windows.first.copy()
        np.maximum.at(end, owners[positive], slots[positive] + 1)
        summed = np.bincount(slots, windows.prices * windows.lengths, minlength=len(windows.edges) - 1)
        paid: FloatArray = np.concatenate(([0.0], np.cumsum(summed)))
        until = np.maximum.accumulate(end[order])[:-1]
        since = np.minimum.accumulate(begin[order][::-1])[::-1][1:]
        # What is paid where jobs before a cut and jobs behind it have prices.
        lost: FloatArray = paid[np.maximum(until, since)] - paid[since]
        cuts = _cheapest_cuts(lost, self.params.fewest_jobs, self.params.most_jobs)
        owner = np.empty(len(order), dtype=np.int64)
        owner[order] = np.searchsorted(cuts, np.arange(len(order)), side="right")
        return owner

    @property
    def is_one(self) -> bool:
        """Whether all jobs are one stretch."""
        return len(self.stretches) == 1

    def shared_costs(self, starts: FloatArray) -> FloatArray:
        """Return what each job that counts costs and pays in shared slots with its start. Shape (jobs,)."""
        windows = self._shared
        paid = np.concatenate(([0.0], np.cumsum(windows.prices * windows.lengths)))
        edges, first, counts = windows.edges, windows.first, np.diff(windows.offsets)
        prices = np.append(windows.prices, 0.0)

        def until(times: FloatArray) -> FloatArray:
            slot = np.searchsorted(edges, times, side="right") - 1 - first
            inside = (slot >= 0) & (slot < counts)
            slot = np.clip(slot, 0, counts)
            at = windows.offsets[:-1] + slot
            rest = np.where(inside, prices[at] * (times - edges[first + slot]), 0.0)
            return np.asarray(paid[at] + rest, dtype=np.float64)

        ends = starts + self.jobs.runtime
        costs: FloatArray = np.maximum(self.jobs.floor, self.jobs.slope * (ends - self.jobs.submit))
        return costs + until(ends) - until(starts)

    def certificate(self) -> tuple[dict[str, Any], float]:
        """Return the trees and their prices in integers, and the bound that the judge finds."""
        problem, term = self.problem, self.term
        written = [stretch.tree.written() for stretch in self.stretches]
        common = {
            "term": term,
            "edges": np.rint(self._shared.edges).astype(np.int64).tolist(),
            **self._units,
            "unit": self._unit,
        }
        if self.is_one:
            certificate = {"kind": "date-tree", **common, **_moved(written[0], self.stretches[0].first_slot)}
            trees = [certificate]
        else:
            trees = [
                {"slots": [each.first_slot, each.first_slot + len(each.tree.windows.edges) - 1], **tree}
                for each, tree in zip(self.stretches, written, strict=True)
            ]
            certificate = {
                "kind": "date-trees",
                **common,
                "shared": self._listed(),
                "stretches": self._owner.tolist(),
                "trees": trees,
            }
        for tree, totals in zip(trees, tree_totals(problem, certificate, term), strict=True):
            tree["totals"] = totals
        return certificate, bound_of_trees(problem, certificate, term)

    def _listed(self) -> dict[str, list[int]]:
        """Return the shared prices of all jobs, from the first to the last that is above 0."""
        windows, count = self._shared, len(self.problem.jobs)
        prices = np.rint(windows.prices * self._unit).astype(np.int64)
        positive = np.flatnonzero(prices)
        owners, slots = windows.owners, windows.slots
        first, last = np.zeros(count, dtype=np.int64), np.full(count, -1)
        names = self.counted[owners[positive]]
        first[names[::-1]], last[names] = slots[positive[::-1]], slots[positive]
        inside = (slots >= first[self.counted][owners]) & (slots <= last[self.counted][owners])
        return {
            "first_slots": first.tolist(),
            "offsets": [0, *np.cumsum(last - first + 1).tolist()],
            "prices": prices[inside].tolist(),
        }


def _cheapest_cuts(lost: FloatArray, fewest: int, most: int) -> IntArray:
    """Return before which jobs to cut a row so that the least is lost; cut i is before job i + 1.

    Stretches have from `fewest` to `most` jobs where that is possible.
    """
    count = len(lost) + 1
    best = np.full(count + 1, np.inf)
    best[0] = 0.0
    before = np.zeros(count + 1, dtype=np.int64)
    price = np.concatenate(([0.0], lost, [0.0]))
    for end in range(fewest, count + 1):
        low = max(0, end - most)
        at = low + int(np.argmin(best[low : end - fewest + 1]))
        best[end], before[end] = best[at] + price[end], at
    cuts, end = [], count
    while before[end]:
        end = int(before[end])
        cuts.append(end)
    return np.array(cuts[::-1], dtype=np.int64)


def _all_count(certificate: Mapping[str, Any], counted: IntArray) -> bool:
    """Return whether each stretch of a certificate has a job that counts."""
    owners = np.unique(np.array(certificate["stretches"], dtype=np.int64)[counted])
    return len(owners) == len(certificate["trees"])


def _shared(windows: JobWindows, owner: IntArray) -> NDArray[np.bool_]:
    """Return in which slots jobs of two stretches have prices."""
    slots = len(windows.edges) - 1
    low, high = np.full(slots, len(owner)), np.full(slots, -1)
    positive = windows.prices > 0
    at, whose = windows.slots[positive], owner[windows.owners[positive]]
    np.minimum.at(low, at, whose)
    np.maximum.at(high, at, whose)
    return low < high


def _numbers_within(owner: IntArray) -> IntArray:
    """Return the number of each job within its stretch."""
    order = np.argsort(owner, kind="stable")
    begins = np.concatenate(([0], np.cumsum(np.bincount(owner))))
    numbers = np.empty(len(owner), dtype=np.int64)
    numbers[order] = np.arange(len(owner)) - begins[owner[order]]
    return numbers


def _moved(tree: Mapping[str, Any], shift: int) -> dict[str, Any]:
    """Return a tree with slots that are counted from another one on."""
    if not shift:
        return dict(tree)
    lists = [
        {**each, "first_slots": [slot + shift for slot in each["first_slots"]]} for each in tree["lists"]
    ]
    return {**tree, "lists": lists}


def _wide_enough(
    windows: JobWindows, trees: list[Mapping[str, Any]], owner: IntArray, rows: IntArray
) -> JobWindows:
    """Return windows with room for all lists of the trees; `rows` are the jobs that count."""
    last = windows.first + np.diff(windows.offsets) - 1
    for number, tree in enumerate(trees):
        own = rows[owner == number]
        shift = tree["slots"][0] if "slots" in tree else 0
        for each in tree["lists"]:
            ends = np.array(each["first_slots"], dtype=np.int64) + np.diff(each["offsets"]) - 1 + shift
            jobs = own[np.array(each["jobs"], dtype=np.int64)]
            np.maximum.at(last, jobs[jobs >= 0], ends[jobs >= 0])
    return windows.onto(JobWindows.empty(windows.edges, windows.first, last))
