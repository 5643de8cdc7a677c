"""A tree of cuts between dates of starts: its leaves, their bounds, how they are split, its certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allocsolve.bounds.workload.date_dual import DateDual, part_near, settled
from allocsolve.bounds.workload.job_price_dual import climb
from allocsolve.model.options import Params

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from allocsolve.bounds.workload._kernels_dates import Rooms
    from allocsolve.bounds.workload.date_dual import Settled
    from allocsolve.bounds.workload.job_price_dual import DualJobs, JobWindows
    from allocsolve.model import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class DateTreeParams(Params):
    """The numbers of the trees of `DateBranching`."""

    #: The most jobs that have one tree; the fewest and the most jobs of a stretch of more.
    one_tree_jobs: int = 1_000
    fewest_jobs: int = 100
    most_jobs: int = 400
    #: Slots by which a window of prices reaches behind its last price.
    margin_slots: int = 12

    #: The temperatures of an ascent, in costs of a delay by a slot, and its steps at each.
    temperatures: tuple[float, ...] = (0.1, 0.03, 0.01)
    steps: int = 40
    #: The ascents of a leaf, one after the other, are within so many run times of the window that was cut
    #: last.
    near_in_runtimes: tuple[float, ...] = (1.0, 4.0)
    #: A window is split into parts of this share of the run time; the most parts.
    part_of_runtime: float = 1 / 6
    most_parts: int = 64
    #: The most jobs, the widest first, among which the next one is chosen. The best is the one whose split
    #: raises the bound most, if by at least `least_gain` of the gap; else the one with the largest product of
    #: width and the span of its cheap starts, which raise the bound by at most `cheap_gain` of the gap.
    candidates: int = 32
    least_gain: float = 0.02
    cheap_gain: float = 0.1


class PriceLevels(NamedTuple):
    """What all jobs pay in each slot of their windows of prices, and the list from which an ascent came."""

    levels: FloatArray
    parent: PriceLevels | None


class _Split(NamedTuple):
    """A split of a window into parts between neighbouring edges."""

    job: int
    edges: FloatArray
    #: Shape (parts,), and which of them are those of the prices in the part.
    bounds: FloatArray
    valued: NDArray[np.bool_]
    least: float


@dataclass(eq=False)
class Leaf:
    """A part of all schedules, by windows of starts; after a split, a cut."""

    #: Shape (jobs that count,), seconds; infinity for jobs that may wait for ever.
    earliest: FloatArray
    latest: FloatArray
    prices: PriceLevels
    #: The sum of the costs that no schedule in it is below; infinity if there is none.
    bound: float
    #: The job whose window was cut last; -1 at the root.
    job: int = -1
    #: Whether the bound is that of the prices, and not of the start of a single job.
    valued: bool = False
    #: How many ascents have raised its bound.
    climbs: int = 0
    #: After a split: the job and the second of the cut, and the two parts.
    cut: tuple[int, float] | None = None
    parts: list[Leaf] = field(default_factory=list)

    def leaves(self) -> Iterator[Leaf]:
        """Yield the leaves below, or this one."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            if node.cut is None:
                yield node
            else:
                waiting += node.parts[::-1]


class DateTree:
    """The bound by a tree: the least bound of its leaves.

    Each of the rigid jobs counts, and starts at its `release` at the earliest, shape (jobs,), seconds;
    `rooms` is in units of each resource, on the slots of `windows`, which has the prices of the root. In all
    leaves jobs pay the levels `fixed` besides, on the same windows. In certificates jobs have the numbers
    `names`, shape (jobs,) and rising, and prices are divided by `unit`.
    """

    def __init__(
        self,
        jobs: DualJobs,
        release: FloatArray,
        rooms: Rooms,
        windows: JobWindows,
        fixed: FloatArray,
        *,
        names: IntArray,
        unit: int,
        params: DateTreeParams = DateTreeParams(),
    ) -> None:
        self.params = params
        self.jobs, self.rooms, self.windows, self.fixed = jobs, rooms, windows, fixed
        #: The largest share of a resource that each job needs: two of more than half do not run at once.
        self.width = (rooms.needs / np.maximum(rooms.room.max(axis=0), 1)).max(axis=1)
        self.names, self._unit = names, unit
        self._slope = float(np.exp(np.log(self.jobs.slope).mean()))
        #: How many leaves the tree has.
        self.size = 1
        never = np.full(len(self.jobs.submit), math.inf)
        prices = PriceLevels(windows.prices * windows.lengths, None)
        self.root = Leaf(release.copy(), never, prices, 0.0)

    def repeat(self, certificate: Mapping[str, Any], rows: IntArray) -> None:
        """Make the tree of a certificate; its leaves have no values yet.

        `rows` are the jobs of the tree by their number in the certificate, -1 for those that do not count.
        """
        lists: list[PriceLevels] = []
        for each in certificate["lists"]:
            parent = lists[each["parent"]] if each["parent"] >= 0 else None
            levels = np.zeros(len(self.windows.prices)) if parent is None else parent.levels.copy()
            self._add(levels, each, rows)
            lists.append(PriceLevels(levels, parent))
        waiting = [self.root]
        for job, cut in zip(certificate["jobs"], certificate["cuts"], strict=True):
            node = waiting.pop()
            if job < 0:
                node.prices = lists[cut]
            elif rows[job] < 0:  # its date costs nothing, and is in no window
                node.cut, node.parts = (job, float(cut)), [replace(node), replace(node)]
                waiting += node.parts[::-1]
                self.size += 1
            else:
                self._divide(node, int(rows[job]), [float(cut)])
                waiting += node.parts[::-1]

    def _add(self, levels: FloatArray, each: Mapping[str, Any], rows: IntArray) -> None:
        """Add what a list of a certificate adds to its parent."""
        windows, lengths = self.windows, self.windows.lengths
        jobs, first, offsets = (
            np.array(each[key], dtype=np.int64) for key in ("jobs", "first_slots", "offsets")
        )
        counts = np.diff(offsets)
        slots = np.arange(int(offsets[-1])) + np.repeat(first - offsets[:-1], counts)
        owners = np.repeat(rows[jobs], counts)
        at = windows.offsets[owners] + slots - windows.first[owners]
        inside = (owners >= 0) & (at >= windows.offsets[owners]) & (at < windows.offsets[owners + 1])
        added = np.array(each["differences"], dtype=np.float64)[inside] / self._unit
        levels[at[inside]] += added * lengths[at[inside]]

    @property
    def cells(self) -> float:
        """The most that the product of one more than the room of each resource is in a slot."""
        return float(np.prod(self.rooms.room + 1.0, axis=1).max())

    @property
    def delay(self) -> float:
        """The typical cost of a delay by a slot."""
        return self.windows.usual_length * self._slope

    def cheapest(self, leaf: Leaf) -> FloatArray:
        """Return a cheapest start of each job that counts. Shape (jobs that count,), seconds."""
        known = self._known(leaf)
        assert known is not None, "a leaf that has a schedule"
        return self._dual(known).cheapest(leaf.prices.levels)[1]

    def is_climbed(self, leaf: Leaf) -> bool:
        """Tell whether no further ascent of a leaf is made."""
        return leaf.climbs == len(self.params.near_in_runtimes)

    def climb(self, leaf: Leaf, stop: Callable[[], bool]) -> None:
        """Raise the bound of a leaf by prices near the window that was cut last."""
        near = self.params.near_in_runtimes[leaf.climbs]
        leaf.climbs += 1
        known = self._known(leaf)
        if known is None or leaf.job < 0:
            return
        dates, runtime = known.dates, float(self.jobs.runtime[leaf.job])
        begin, end = float(dates.earliest[leaf.job]), float(dates.latest[leaf.job])
        span = begin - near * runtime, min(end, begin + runtime) + (1 + near) * runtime
        part = part_near(self.jobs, self.rooms, self.windows, known, self.fixed, span)
        levels = leaf.prices.levels
        own = levels[part.entries]
        before = part.dual.exact(own)
        temperatures = [share * self.delay for share in self.params.temperatures]
        better, after = climb(
            part.dual, own, temperatures, steps=self.params.steps, stop=stop, free=part.free
        )
        if after > before:
            changed = levels.copy()
            changed[part.entries] = better
            leaf.prices = PriceLevels(changed, leaf.prices)
            leaf.bound = max(leaf.bound, self._dual(known).exact(changed))

    def split(self, leaf: Leaf, most: float) -> list[Leaf]:
        """Split the window of a job whose date the prices leave open; return the parts below `most`.

        There are none if no window can be split.
        """
        known = self._known(leaf)
        if known is None:
            leaf.bound = math.inf
            return []
        dual, levels = self._dual(known), leaf.prices.levels
        costs, _ = dual.cheapest(levels)
        gap = most - leaf.bound
        enough = leaf.bound + self.params.least_gain * gap
        best: tuple[float, float] = (0.0, 0.0)
        chosen: _Split | None = None
        for job in self._candidates(known):
            edges = self._edges(known, job, gap + float(costs[job]))
            if len(edges) < 3:
                continue
            bounds = leaf.bound - float(costs[job]) + dual.least_between(levels, job, edges)
            left = np.flatnonzero(bounds[:-1] <= leaf.bound + self.params.cheap_gain * gap)
            if not len(left):
                continue
            area = float(edges[left[-1] + 1] - edges[left[0]]) * float(self.width[job])
            split = self._looked_ahead(leaf, job, edges, bounds, max(best[0], enough))
            rank = (split.least if split.least > enough else 0.0, area)
            if rank > best:
                best, chosen = rank, split
        if chosen is None:
            return []
        # Neighbours that are above `most` by the start of this job alone are one part.
        bounds, edges = chosen.bounds, chosen.edges
        closed = (bounds >= most) & ~chosen.valued
        kept = [0, *(np.flatnonzero(~(closed[1:] & closed[:-1])) + 1).tolist()]
        if len(kept) == 1:
            leaf.bound = most
            return []
        self._divide(leaf, chosen.job, edges[kept[1:]].tolist())
        least = np.minimum.reduceat(bounds, kept)
        for part, at, bound in zip(leaf.leaves(), kept, least, strict=True):
            part.bound, part.valued = float(bound), bool(chosen.valued[at])
        return [part for part in leaf.leaves() if part.bound < most]

    def _looked_ahead(
        self, leaf: Leaf, job: int, edges: FloatArray, bounds: FloatArray, beaten: float
    ) -> _Split:
        """Value the parts of a split, those that may have the least bound first.

        It ends when the least bound is known, or not above `beaten`.
        """
        bounds = bounds.copy()
        valued = np.zeros(len(bounds), dtype=bool)
        least = math.inf
        for at in np.argsort(bounds, kind="stable").tolist():
            if bounds[at] >= least or least <= beaten:
                break
            part = Leaf(leaf.earliest.copy(), leaf.latest.copy(), leaf.prices, leaf.bound)
            part.earliest[job] = max(leaf.earliest[job], edges[at])
            part.latest[job] = min(leaf.latest[job], edges[at + 1])
            self.value(part)
            bounds[at], valued[at] = max(part.bound, bounds[at]), True
            least = min(least, bounds[at])
        return _Split(job, edges, bounds, valued, min(least, float(bounds.min())))

    def _candidates(self, known: Settled) -> list[int]:
        width = np.where(known.dates.latest > known.dates.earliest, self.width, 0.0)
        order = np.argsort(-width, kind="stable")[: self.params.candidates]
        return [int(job) for job in order if width[job]]

    def _edges(self, known: Settled, job: int, left: float) -> FloatArray:
        """Return the edges of the parts of a window; behind the last but one a job costs more than `left`."""
        length, runtime = self.windows.usual_length, float(self.jobs.runtime[job])
        low, high = float(known.dates.earliest[job]), float(known.dates.latest[job])
        until = float(self.jobs.submit[job]) + left / float(self.jobs.slope[job]) - runtime
        end = min(high, max(low, until))
        step = max(self.params.part_of_runtime * runtime, (end - low) / self.params.most_parts)
        if end - low < 2 * step:
            step = (end - low) / 2
        slots = max(1, round(step / length))
        begin = int(np.searchsorted(self.windows.edges, low, side="right"))
        inner = self.windows.edges[begin + slots - 1 :: slots]
        inner = inner[inner < min(high, math.ceil(end))]
        tail = [math.ceil(end), high] if math.ceil(end) < high else [high]
        return np.array([low, *inner.tolist(), *tail])

    def _divide(self, leaf: Leaf, job: int, cuts: list[float]) -> None:
        """Make a leaf a balanced tree of cuts of a job."""
        middle = len(cuts) // 2
        at = cuts[middle]
        leaf.cut = (int(self.names[job]), at)
        early, late = (Leaf(leaf.earliest, leaf.latest, leaf.prices, leaf.bound, job) for _ in range(2))
        early.latest, late.earliest = leaf.latest.copy(), leaf.earliest.copy()
        early.latest[job] = min(early.latest[job], at)
        late.earliest[job] = max(late.earliest[job], at)
        leaf.parts = [early, late]
        self.size += 1
        if cuts[:middle]:
            self._divide(early, job, cuts[:middle])
        if cuts[middle + 1 :]:
            self._divide(late, job, cuts[middle + 1 :])

    def _known(self, leaf: Leaf) -> Settled | None:
        return settled(self.jobs, self.rooms, self.windows.edges, leaf.earliest, leaf.latest)

    def _dual(self, known: Settled) -> DateDual:
        return DateDual(self.jobs, self.rooms, self.windows, known, self.fixed)

    def value(self, leaf: Leaf) -> None:
        """Compute the bound of a leaf from its prices; it never falls."""
        leaf.valued = True
        known = self._known(leaf)
        exact = math.inf if known is None else self._dual(known).exact(leaf.prices.levels)
        leaf.bound = max(leaf.bound, exact)

    def written(self) -> dict[str, Any]:
        """Return the tree in integers: the ``lists``, ``jobs`` and ``cuts`` of a certificate."""
        lists: list[dict[str, Any]] = []
        numbers: dict[int, tuple[int, IntArray]] = {}
        jobs: list[int] = []
        cuts: list[int] = []
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            if node.cut is None:
                jobs.append(-1)
                cuts.append(self._listed(node.prices, numbers, lists))
            else:
                job, at = node.cut
                jobs.append(job)
                cuts.append(int(at))
                waiting += node.parts[::-1]
        return {"lists": lists, "jobs": jobs, "cuts": cuts}

    def _listed(
        self, prices: PriceLevels, numbers: dict[int, tuple[int, IntArray]], lists: list[dict[str, Any]]
    ) -> int:
        """Return the number of a list of prices, which is added to the lists if it is new."""
        path = [prices]
        while path[-1].parent is not None and id(path[-1]) not in numbers:
            path.append(path[-1].parent)
        for each in path[::-1]:
            if id(each) in numbers:
                continue
            whole = np.rint(each.levels / self.windows.lengths * self._unit).astype(np.int64)
            parent, before = (-1, np.zeros_like(whole)) if each.parent is None else numbers[id(each.parent)]
            lists.append({"parent": parent, **self._differences(whole - before)})
            numbers[id(each)] = len(lists) - 1, whole
        return numbers[id(prices)][0]

    def _differences(self, differences: IntArray) -> dict[str, list[int]]:
        """Return what is added to prices, of each job from its first to its last change."""
        windows = self.windows
        changed = np.flatnonzero(differences)
        owners = windows.owners[changed]
        jobs, begins = np.unique(owners, return_index=True)
        ends = np.append(begins[1:], len(changed))[: len(jobs)] - 1
        first, last = changed[begins], changed[ends] if len(jobs) else changed
        counts = last - first + 1
        offsets = np.concatenate(([0], np.cumsum(counts)))
        entries = np.arange(int(offsets[-1])) + np.repeat(first - offsets[:-1], counts)
        return {
            "jobs": self.names[jobs].tolist(),
            "first_slots": windows.slots[first].tolist(),
            "offsets": offsets.tolist(),
            "differences": differences[entries].tolist(),
        }
