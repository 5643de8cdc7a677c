"""Compiled, for the judge: a bound of rigid jobs whose starts lie in windows, by prices per job."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.kernels import allocating_kernel, bisect_right, inner_kernel, kernel

if TYPE_CHECKING:
    from allocsolve.judge.workload._kernels_prices import JobRows, WindowPrices
    from allocsolve.model import IntArray

#: A latest start that is none, in ticks.
OPEN = 2**62

#: How often windows are narrowed by what surely runs in others.
_ROUNDS = 8


class StartWindows(NamedTuple):
    """When jobs may start, in ticks; shape (jobs,) each. What is barred narrows them."""

    earliest: IntArray
    #: `OPEN` for jobs that may wait for ever.
    latest: IntArray


class Knapsacks(NamedTuple):
    """The knapsacks of the slots as they were last: leaves of a tree have most of them in common."""

    #: Shape (slots + 1,): where the items of each slot begin in `sizes` and `gains`.
    begins: IntArray
    #: Shape (prices,), of which as many count as there are items.
    sizes: IntArray
    gains: IntArray
    #: Shape (slots,): the units of nodes that items share, -1 at first, and the greatest sum of gains.
    room: IntArray
    fullest: IntArray


class _Surely(NamedTuple):
    """What surely runs."""

    #: Shape (jobs,): from which slot and to before which one each job surely runs; equal if nowhere.
    begin: IntArray
    end: IntArray
    #: Shape (slots,): the units of nodes that such jobs hold.
    held: IntArray
    #: Shape (slots,), of which as many count as there are slots in which such jobs run: these slots, rising.
    busy: IntArray


class _Spans(NamedTuple):
    """Closed spans of starts that a job may take, in order; room for one more than there are slots."""

    low: IntArray
    high: IntArray


@inner_kernel
def _hold(jobs: JobRows, edges: IntArray, nodes: IntArray, windows: StartWindows, surely: _Surely) -> int:
    """Fill in where jobs surely run, from their latest start to their earliest end; return the busy slots."""
    surely.held[:] = 0
    slots = len(edges) - 1
    for job in range(len(nodes)):
        until = windows.earliest[job] + jobs.runtime[job]
        surely.begin[job] = surely.end[job] = 0
        if windows.latest[job] >= until:
            continue
        slot = bisect_right(edges, len(edges), windows.latest[job] - 1)
        surely.begin[job] = slot
        while slot < slots and edges[slot + 1] <= until:
            surely.held[slot] += nodes[job]
            slot += 1
        surely.end[job] = slot
    busy = 0
    for slot in range(slots):
        if surely.held[slot]:
            surely.busy[busy] = slot
            busy += 1
    return busy


@inner_kernel
def _allow(
    jobs: JobRows,
    edges: IntArray,
    needed: tuple[int, int],
    busy: int,
    windows: StartWindows,
    surely: _Surely,
    spans: _Spans,
    job: int,
) -> int:
    """Fill in the spans of starts with which a job meets no slot that has no room; return their number.

    `needed` are the units of nodes of the job, and those of the cluster.
    """
    nodes, capacity = needed
    earliest, latest, runtime = windows.earliest[job], windows.latest[job], jobs.runtime[job]
    count = 0
    if runtime > 0:  # a run that was rounded to nothing meets nothing
        first = bisect_right(edges, len(edges), earliest) - 1
        for at in range(bisect_right(surely.busy, busy, first - 1), busy):
            slot = surely.busy[at]
            if edges[slot] - runtime >= latest:
                break
            own = surely.begin[job] <= slot < surely.end[job]
            if not own and nodes > capacity - surely.held[slot]:
                if earliest <= edges[slot] - runtime:
                    spans.low[count], spans.high[count] = earliest, edges[slot] - runtime
                    count += 1
                earliest = max(earliest, edges[slot + 1])
    if earliest <= latest:
        spans.low[count], spans.high[count] = earliest, latest
        count += 1
    return count


@inner_kernel
def _paid_until(edges: IntArray, paid: IntArray, first: int, count: int, time: int) -> int:
    """Return what a job pays up to a time; `paid` has the sums up to each slot of its prices."""
    if not count or time <= edges[first]:
        return 0
    slot = bisect_right(edges, len(edges), time) - 1 - first
    if slot >= count:
        return int(paid[count])
    begin = edges[first + slot]
    price = (paid[slot + 1] - paid[slot]) // (edges[first + slot + 1] - begin)
    return int(paid[slot] + price * (time - begin))


@inner_kernel
def _least(
    jobs: JobRows,
    prices: WindowPrices,
    fixed: IntArray,
    surely: _Surely,
    spans: _Spans,
    found: int,
    paid: IntArray,
    job: int,
) -> int:
    """Return the least cost of a job whose start lies in one of `found` spans, rounded down."""
    edges, first = prices.edges, prices.first[job]
    base = prices.offsets[job]
    count = prices.offsets[job + 1] - base
    for slot in range(count):
        length, price = edges[first + slot + 1] - edges[first + slot], fixed[base + slot]
        if not surely.begin[job] <= first + slot < surely.end[job]:  # else it has no price of the leaf
            price += prices.prices[base + slot]
        paid[slot + 1] = paid[slot] + price * length
    runtime, slope, floor = jobs.runtime[job], jobs.slope[job], jobs.floor[job]
    late, divisor = jobs.late[job], jobs.divisor[job]
    leaves = late + floor - runtime  # the start with which the cost leaves its floor
    best = np.int64(2**63 - 1)
    for span in range(found):
        low, high = spans.low[span], spans.high[span]
        # Starts: the ends of the span, where the floor is left, at edges, and a run time before edges.
        for kind in range(3):
            begin, end = 0, 3
            if kind:
                shift = 0 if kind == 1 else runtime
                begin = max(0, bisect_right(edges, len(edges), low + shift - 1) - first)
                end = min(count + 1, bisect_right(edges, len(edges), min(high, OPEN - shift) + shift) - first)
            for at in range(begin, end):
                start = low
                if kind == 0:
                    start = low if at == 0 else (high if at == 1 else leaves)
                    if start < low or start > high or start == OPEN:
                        continue
                elif kind == 1:
                    start = edges[first + at]
                else:
                    start = edges[first + at] - runtime
                # What is paid up to an edge is known.
                pays = paid[at] if kind == 2 else _paid_until(edges, paid, first, count, start + runtime)
                pays -= paid[at] if kind == 1 else _paid_until(edges, paid, first, count, start)
                best = min(best, slope * max(floor, start + runtime - late) + divisor * pays)
    return int(best // divisor)


@inner_kernel
def _as_before(
    last: Knapsacks, slot: int, room: int, items: tuple[IntArray, IntArray], begin: int, end: int
) -> bool:
    """Return whether a slot has the same room and the same items, as sizes and gains, as it had last."""
    first = last.begins[slot]
    if last.room[slot] != room or last.begins[slot + 1] - first != end - begin:
        return False
    sizes, gains = items
    for at in range(end - begin):
        if last.sizes[first + at] != sizes[begin + at] or last.gains[first + at] != gains[begin + at]:
            return False
    return True


@allocating_kernel
def _nowhere(jobs: int, slots: int) -> _Surely:
    begin, end = np.zeros(jobs, np.int64), np.zeros(jobs, np.int64)
    return _Surely(begin, end, np.zeros(slots, np.int64), np.empty(slots, np.int64))


@kernel
def least_costs_in_windows(
    jobs: JobRows,
    prices: WindowPrices,
    fixed: IntArray,
    nodes: IntArray,
    capacity: int,
    windows: StartWindows,
    last: Knapsacks,
    costs: IntArray,
) -> bool:
    """Fill in the least cost of each job, and in `last` the greatest sums of prices of jobs that fit.

    Return False if no schedule has all starts in their windows. A job surely runs from its latest start to
    its earliest end: there it has no price, and others share what it leaves. The prices `fixed`, of the same
    slots, jobs pay wherever they run, and in no sum. O(prices * capacity).
    """
    slots = len(last.room)
    surely = _nowhere(len(nodes), slots)
    spans = _Spans(np.empty(slots + 1, np.int64), np.empty(slots + 1, np.int64))
    longest = 0
    for job in range(len(nodes)):
        longest = max(longest, prices.offsets[job + 1] - prices.offsets[job])
    paid = np.zeros(longest + 1, np.int64)
    for turn in range(_ROUNDS):
        busy = _hold(jobs, prices.edges, nodes, windows, surely)
        for at in range(busy):
            if surely.held[surely.busy[at]] > capacity:
                return False
        narrower = False
        for job in range(len(nodes)):
            found = _allow(jobs, prices.edges, (nodes[job], capacity), busy, windows, surely, spans, job)
            if not found:
                return False
            low, high = spans.low[0], spans.high[found - 1]
            narrower |= low > windows.earliest[job] or high < windows.latest[job]
            windows.earliest[job], windows.latest[job] = low, high
            if not narrower or turn == _ROUNDS - 1:  # else the windows of others may change the costs
                costs[job] = _least(jobs, prices, fixed, surely, spans, found, paid, job)
        if not narrower:
            break
    begins = np.zeros(slots + 1, np.int64)
    sizes, gains = np.empty(0, np.int64), np.empty(0, np.int64)
    for filling in range(2):
        at_slot = begins.copy()
        for job in range(len(nodes)):
            until = windows.latest[job] + jobs.runtime[job]
            shift = prices.first[job] - prices.offsets[job]
            for entry in range(prices.offsets[job], prices.offsets[job + 1]):
                slot = shift + entry
                if (
                    prices.prices[entry] > 0
                    and not surely.begin[job] <= slot < surely.end[job]
                    and prices.edges[slot + 1] > windows.earliest[job]
                    and prices.edges[slot] < until
                    and nodes[job] <= capacity - surely.held[slot]
                ):
                    if filling:
                        sizes[at_slot[slot]], gains[at_slot[slot]] = nodes[job], prices.prices[entry]
                        at_slot[slot] += 1
                    else:
                        begins[slot + 1] += 1
        if not filling:
            for slot in range(slots):
                begins[slot + 1] += begins[slot]
            sizes, gains = np.empty(begins[slots], np.int64), np.empty(begins[slots], np.int64)
    best = np.zeros(capacity + 1, np.int64)
    for slot in range(slots):
        room, wanted, gained = capacity - surely.held[slot], 0, 0
        if _as_before(last, slot, room, (sizes, gains), begins[slot], begins[slot + 1]):
            continue
        for at in range(begins[slot], begins[slot + 1]):
            wanted += sizes[at]
            gained += gains[at]
        if wanted > room:
            best[: room + 1] = 0
            for at in range(begins[slot], begins[slot + 1]):
                for size in range(room, sizes[at] - 1, -1):
                    best[size] = max(best[size], best[size - sizes[at]] + gains[at])
            gained = best[room]
        last.room[slot], last.fullest[slot] = room, gained
    last.begins[:] = begins
    last.sizes[: begins[slots]], last.gains[: begins[slots]] = sizes, gains
    return True
