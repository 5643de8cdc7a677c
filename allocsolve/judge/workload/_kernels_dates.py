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


class Machine(NamedTuple):
    """What jobs need of a machine and what is there, in units of each resource."""

    #: Shape (jobs, resources).
    needs: IntArray
    #: Shape (slots, resources): the most that is there within each slot.
    room: IntArray


class StartWindows(NamedTuple):
    """When jobs may start, in ticks; shape (jobs,) each. What is barred narrows them."""

    earliest: IntArray
    #: `OPEN` for jobs that may wait for ever.
    latest: IntArray


class Knapsacks(NamedTuple):
    """The knapsacks of the slots as they were last: leaves of a tree have most of them in common."""

    #: Shape (slots + 1,): where the items of each slot begin in `sizes` and `gains`.
    begins: IntArray
    #: Shape (prices,), of which as many count as there are items: their jobs, and what they gain.
    jobs: IntArray
    gains: IntArray
    #: Shape (slots, resources): the units that items share, -1 at first.
    room: IntArray
    #: Shape (slots,): the greatest sum of gains.
    fullest: IntArray


class _Surely(NamedTuple):
    """What surely runs."""

    #: Shape (jobs,): from which slot and to before which one each job surely runs; equal if nowhere.
    begin: IntArray
    end: IntArray
    #: Shape (slots, resources): the units that such jobs leave.
    left: IntArray
    #: Shape (slots,), of which as many count as there are slots in which some job does not fit into what is
    #: left: these slots, rising.
    full: IntArray


class _Spans(NamedTuple):
    """Closed spans of starts that a job may take, in order; room for one more than there are slots."""

    low: IntArray
    high: IntArray


@inner_kernel
def fits(needs: IntArray, room: IntArray, item: int, slot: int) -> bool:
    """Return whether what a job needs is there in a slot."""
    inside = True
    for resource in range(needs.shape[1]):
        inside = inside and needs[item, resource] <= room[slot, resource]
    return inside


@inner_kernel
def put_in(best: IntArray, needs: IntArray, item: int, gain: int, room: IntArray, slot: int) -> None:
    """Let a table of the greatest gains, by what is used of each resource at most, have one item more.

    The last resource is the one that runs fastest. The table is gone through from its end, so that what is
    read has not got the item yet.
    """
    last = room.shape[1] - 1
    width, rows = room[slot, last] + 1, 1
    for resource in range(last):
        rows *= room[slot, resource] + 1
    for row in range(rows - 1, -1, -1):
        left, stride, shift = row, 1, 0
        inside = True
        for resource in range(last - 1, -1, -1):
            used = left % (room[slot, resource] + 1)
            left //= room[slot, resource] + 1
            inside = inside and needs[item, resource] <= used
            shift += needs[item, resource] * stride
            stride *= room[slot, resource] + 1
        if inside:
            to, source = row * width, (row - shift) * width
            for used in range(width - 1, needs[item, last] - 1, -1):
                best[to + used] = max(best[to + used], best[source + used - needs[item, last]] + gain)


@inner_kernel
def _hold(
    jobs: JobRows, edges: IntArray, machine: Machine, most: IntArray, windows: StartWindows, surely: _Surely
) -> int:
    """Fill in where jobs surely run, from their latest start to their earliest end; return the full slots.

    There are -1 if in some slot not all of them fit. `most` is the most that a job needs; shape (resources,).
    """
    slots, resources = machine.room.shape
    for slot in range(slots):
        for resource in range(resources):
            surely.left[slot, resource] = machine.room[slot, resource]
    for job in range(len(machine.needs)):
        until = windows.earliest[job] + jobs.runtime[job]
        surely.begin[job] = surely.end[job] = 0
        if windows.latest[job] >= until:
            continue
        slot = bisect_right(edges, len(edges), windows.latest[job] - 1)
        surely.begin[job] = slot
        while slot < slots and edges[slot + 1] <= until:
            for resource in range(resources):
                surely.left[slot, resource] -= machine.needs[job, resource]
            slot += 1
        surely.end[job] = slot
    full = 0
    for slot in range(slots):
        some = False
        for resource in range(resources):
            if surely.left[slot, resource] < 0:
                return -1
            some = some or surely.left[slot, resource] < most[resource]
        if some:
            surely.full[full] = slot
            full += 1
    return full


@inner_kernel
def _allow(
    jobs: JobRows,
    edges: IntArray,
    needs: IntArray,
    full: int,
    windows: StartWindows,
    surely: _Surely,
    spans: _Spans,
    job: int,
) -> int:
    """Fill in the spans of starts with which a job meets no slot that has no room; return their number."""
    earliest, latest, runtime = windows.earliest[job], windows.latest[job], jobs.runtime[job]
    count = 0
    if runtime > 0:  # a run that was rounded to nothing meets nothing
        first = bisect_right(edges, len(edges), earliest) - 1
        for at in range(bisect_right(surely.full, full, first - 1), full):
            slot = surely.full[at]
            if edges[slot] - runtime >= latest:
                break
            own = surely.begin[job] <= slot < surely.end[job]
            if not own and not fits(needs, surely.left, job, slot):
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
    last: Knapsacks, slot: int, left: IntArray, items: tuple[IntArray, IntArray], begin: int, end: int
) -> bool:
    """Return whether a slot has the same room and the same items, as jobs and gains, as it had last."""
    first = last.begins[slot]
    if last.begins[slot + 1] - first != end - begin:
        return False
    for resource in range(left.shape[1]):
        if last.room[slot, resource] != left[slot, resource]:
            return False
    jobs, gains = items
    for at in range(end - begin):
        if last.jobs[first + at] != jobs[begin + at] or last.gains[first + at] != gains[begin + at]:
            return False
    return True


@inner_kernel
def fullest_set(
    needs: IntArray,
    room: IntArray,
    slot: int,
    items: tuple[IntArray, IntArray],
    begin: int,
    end: int,
    best: IntArray,
) -> int:
    """Return the greatest sum of gains of items, jobs with gains, that fit into the room of a slot at once.

    `best` has room for the table: for the product of one more than the room of each resource.
    """
    jobs, gains = items
    paid, cells, together = 0, 1, True
    for at in range(begin, end):
        paid += gains[at]
    for resource in range(needs.shape[1]):
        held = 0
        for at in range(begin, end):
            held += needs[jobs[at], resource]
        together = together and held <= room[slot, resource]
        cells *= room[slot, resource] + 1
    if together:
        return int(paid)
    best[:cells] = 0
    for at in range(begin, end):
        put_in(best, needs, jobs[at], gains[at], room, slot)
    return int(best[cells - 1])


@allocating_kernel
def surely_nowhere(machine: Machine) -> _Surely:
    """Return that no job surely runs anywhere."""
    jobs, slots = len(machine.needs), len(machine.room)
    begin, end = np.zeros(jobs, np.int64), np.zeros(jobs, np.int64)
    return _Surely(begin, end, machine.room.copy(), np.empty(slots, np.int64))


@kernel
def least_costs_in_windows(
    jobs: JobRows,
    prices: WindowPrices,
    fixed: IntArray,
    machine: Machine,
    cells: int,
    windows: StartWindows,
    last: Knapsacks,
    costs: IntArray,
) -> bool:
    """Fill in the least cost of each job, and in `last` the greatest sums of prices of jobs that fit.

    Return False if no schedule has all starts in their windows. A job surely runs from its latest start to
    its earliest end: there it has no price, and others share what it leaves. The prices `fixed`, of the same
    slots, jobs pay wherever they run, and in no sum. `cells` is the most that the product of one more than
    the room of each resource is in any slot. O(prices * cells).
    """
    needs, slots = machine.needs, len(machine.room)
    surely = surely_nowhere(machine)
    spans = _Spans(np.empty(slots + 1, np.int64), np.empty(slots + 1, np.int64))
    longest, most = 0, np.zeros(needs.shape[1], np.int64)
    for job in range(len(needs)):
        longest = max(longest, prices.offsets[job + 1] - prices.offsets[job])
        for resource in range(needs.shape[1]):
            most[resource] = max(most[resource], needs[job, resource])
    paid = np.zeros(longest + 1, np.int64)
    for turn in range(_ROUNDS):
        full = _hold(jobs, prices.edges, machine, most, windows, surely)
        if full < 0:
            return False
        narrower = False
        for job in range(len(needs)):
            found = _allow(jobs, prices.edges, needs, full, windows, surely, spans, job)
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
    items, gains = np.empty(0, np.int64), np.empty(0, np.int64)
    for filling in range(2):
        at_slot = begins.copy()
        for job in range(len(needs)):
            until = windows.latest[job] + jobs.runtime[job]
            shift = prices.first[job] - prices.offsets[job]
            for entry in range(prices.offsets[job], prices.offsets[job + 1]):
                slot = shift + entry
                if (
                    prices.prices[entry] > 0
                    and not surely.begin[job] <= slot < surely.end[job]
                    and prices.edges[slot + 1] > windows.earliest[job]
                    and prices.edges[slot] < until
                    and fits(needs, surely.left, job, slot)
                ):
                    if filling:
                        items[at_slot[slot]], gains[at_slot[slot]] = job, prices.prices[entry]
                        at_slot[slot] += 1
                    else:
                        begins[slot + 1] += 1
        if not filling:
            for slot in range(slots):
                begins[slot + 1] += begins[slot]
            items, gains = np.empty(begins[slots], np.int64), np.empty(begins[slots], np.int64)
    best = np.zeros(cells, np.int64)
    for slot in range(slots):
        begin, end = begins[slot], begins[slot + 1]
        if _as_before(last, slot, surely.left, (items, gains), begin, end):
            continue
        for resource in range(needs.shape[1]):
            last.room[slot, resource] = surely.left[slot, resource]
        last.fullest[slot] = fullest_set(needs, surely.left, slot, (items, gains), begin, end, best)
    last.begins[:] = begins
    last.jobs[: begins[slots]], last.gains[: begins[slots]] = items, gains
    return True
