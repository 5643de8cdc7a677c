"""Kernels of prices per job: the costs of starts and the smooth dual.

The price of a job is constant on each slot of its window and 0 outside; its *levels* are what it pays for
the whole of a slot. So the cost of a start is piecewise linear: it turns at the submission, where the start
or the end meets an edge of a slot of the window, and where the cost of an end leaves its floor. The dual is
smoothed by soft minima over the starts of each job and soft maxima over the fitting sets of a slot.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.kernels import allocating_kernel, inner_kernel, kernel

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray


class PricedJobs(NamedTuple):
    """Jobs and the windows of slots in which they may have a price; one row a job, read-only."""

    submit: FloatArray
    runtime: FloatArray
    slope: FloatArray  #: the cost of a delay of the job's end by a second, > 0
    floor: FloatArray  #: the least cost of the job
    nodes: IntArray  #: nodes, or units of the capacity
    first: IntArray  #: the first slot of the window
    offsets: IntArray  #: shape (jobs + 1,): where the slots of each window begin among those of all windows


class Breaks(NamedTuple):
    """The starts of a job at which its cost can turn, and where its start and end lie in the window.

    Slots are counted within the window: -1 is all time before it, its number of slots all time behind it.
    """

    cost: FloatArray
    start: FloatArray
    from_slot: IntArray
    from_share: FloatArray  #: the share of that slot before the start
    to_slot: IntArray
    to_share: FloatArray
    paid: FloatArray  #: the levels of all slots before each slot of the window


@allocating_kernel
def new_breaks(slots: int) -> Breaks:
    """Return room for windows of up to `slots` slots."""
    room = 2 * slots + 4
    return Breaks(
        np.empty(room),
        np.empty(room),
        np.empty(room, np.int64),
        np.empty(room),
        np.empty(room, np.int64),
        np.empty(room),
        np.empty(slots + 1),
    )


@inner_kernel
def meet(
    jobs: PricedJobs,
    edges: FloatArray,
    levels: FloatArray,
    breaks: Breaks,
    job: int,
    row: int,
    start: float,
    held: int,
    freed: int,
) -> None:
    """Fill in a row: the start lies in the slot `held` of the window and the end in the slot `freed`."""
    first, base = jobs.first[job], jobs.offsets[job]
    count = jobs.offsets[job + 1] - base
    end = start + jobs.runtime[job]
    cost = max(jobs.floor[job], jobs.slope[job] * (end - jobs.submit[job]))
    from_share, to_share = 0.0, 0.0
    if held >= count:
        cost -= breaks.paid[count]
    elif held >= 0:
        edge = edges[first + held]
        from_share = (start - edge) / (edges[first + held + 1] - edge)
        cost -= breaks.paid[held] + from_share * levels[base + held]
    if freed >= count:
        cost += breaks.paid[count]
    elif freed >= 0:
        edge = edges[first + freed]
        to_share = (end - edge) / (edges[first + freed + 1] - edge)
        cost += breaks.paid[freed] + to_share * levels[base + freed]
    breaks.cost[row] = cost
    breaks.start[row] = start
    breaks.from_slot[row] = held
    breaks.from_share[row] = from_share
    breaks.to_slot[row] = freed
    breaks.to_share[row] = to_share


@inner_kernel
def break_points(jobs: PricedJobs, edges: FloatArray, levels: FloatArray, breaks: Breaks, job: int) -> int:
    """Fill in the rows of a job and return their number; the first row is the start at submission.

    Behind the window no start is cheaper than at its last edge.
    """
    first, base = jobs.first[job], jobs.offsets[job]
    count = jobs.offsets[job + 1] - base
    submit, runtime = jobs.submit[job], jobs.runtime[job]
    breaks.paid[0] = 0.0
    for slot in range(count):
        breaks.paid[slot + 1] = breaks.paid[slot] + levels[base + slot]
    rows = 0
    held, freed = -1, -1
    while held < count and edges[first + held + 1] <= submit:
        held += 1
    while freed < count and edges[first + freed + 1] <= submit + runtime:
        freed += 1
    meet(jobs, edges, levels, breaks, job, rows, submit, held, freed)
    rows += 1
    ahead = held
    if jobs.floor[job] > 0:
        start = submit + jobs.floor[job] / jobs.slope[job] - runtime
        if start > submit:
            late = freed
            while ahead < count and edges[first + ahead + 1] <= start:
                ahead += 1
            while late < count and edges[first + late + 1] <= start + runtime:
                late += 1
            meet(jobs, edges, levels, breaks, job, rows, start, ahead, late)
            rows += 1
    for slot in range(held + 1, count + 1):  # the job starts at an edge
        start = edges[first + slot]
        while freed < count and edges[first + freed + 1] <= start + runtime:
            freed += 1
        meet(jobs, edges, levels, breaks, job, rows, start, slot, freed)
        rows += 1
    for slot in range(count + 1):  # the job ends at an edge
        start = edges[first + slot] - runtime
        if start > submit:
            while held < count and edges[first + held + 1] <= start:
                held += 1
            meet(jobs, edges, levels, breaks, job, rows, start, held, slot)
            rows += 1
    return rows


@kernel
def cheapest_starts(
    jobs: PricedJobs,
    edges: FloatArray,
    levels: FloatArray,
    costs: FloatArray,
    starts: FloatArray,
    jobs_from: int,
    jobs_to: int,
) -> None:
    """Fill in the least cost of each job and a start that has it. O(slots of the windows)."""
    longest = 0
    for job in range(jobs_from, jobs_to):
        longest = max(longest, jobs.offsets[job + 1] - jobs.offsets[job])
    breaks = new_breaks(longest)
    for job in range(jobs_from, jobs_to):
        best = 0
        for row in range(break_points(jobs, edges, levels, breaks, job)):
            if breaks.cost[row] < breaks.cost[best]:
                best = row
        costs[job] = breaks.cost[best]
        starts[job] = breaks.start[best]


#: In temperatures: what is farther behind the best has no share, as exp(-40) is lost in a double.
_FAR = 40.0

#: The least probability that a set fits for which doubles suffice; smaller ones are computed in logarithms.
_RARE = 1e-200


class SlotEntries(NamedTuple):
    """The jobs that have a price in each slot; read-only."""

    offsets: IntArray  #: shape (slots + 1,): where each slot begins in `entries`
    entries: IntArray  #: positions among the slots of all windows
    nodes: IntArray  #: of each entry


@inner_kernel
def soften(
    breaks: Breaks,
    rows: int,
    temperature: float,
    passed: FloatArray,
    gradient: FloatArray,
    base: int,
    count: int,
) -> float:
    """Return the soft least cost of the rows, and fill in its derivative by the levels from `base` on.

    The costs in the rows are overwritten.
    """
    least_cost = breaks.cost[0]
    for row in range(1, rows):
        least_cost = min(least_cost, breaks.cost[row])
    mass = 0.0
    for row in range(rows):
        depth = (breaks.cost[row] - least_cost) / temperature
        breaks.cost[row] = math.exp(-depth) if depth < _FAR else 0.0
        mass += breaks.cost[row]
    for slot in range(count):
        passed[slot] = 0.0
        gradient[base + slot] = 0.0
    passed[count] = 0.0
    for row in range(rows):
        share = breaks.cost[row] / mass
        if share > 0.0:
            held, freed = breaks.from_slot[row], breaks.to_slot[row]
            if freed >= 0:
                passed[freed] += share
                if freed < count:
                    gradient[base + freed] += share * breaks.to_share[row]
            if held >= 0:
                passed[held] -= share
                if held < count:
                    gradient[base + held] -= share * breaks.from_share[row]
    beyond = 0.0  # the share of the starts whose end is behind the slot, less that of those behind it
    for slot in range(count - 1, -1, -1):
        beyond += passed[slot + 1]
        gradient[base + slot] += beyond
    return float(least_cost - temperature * math.log(mass))


@kernel
def soft_jobs(
    jobs: PricedJobs,
    edges: FloatArray,
    levels: FloatArray,
    temperature: float,
    gradient: FloatArray,
    jobs_from: int,
    jobs_to: int,
) -> float:
    """Return the sum of the soft least costs, and fill in its derivative by each level."""
    longest = 0
    for job in range(jobs_from, jobs_to):
        longest = max(longest, jobs.offsets[job + 1] - jobs.offsets[job])
    breaks = new_breaks(longest)
    passed = np.empty(longest + 1)
    total = 0.0
    for job in range(jobs_from, jobs_to):
        base = jobs.offsets[job]
        count = jobs.offsets[job + 1] - base
        rows = break_points(jobs, edges, levels, breaks, job)
        total += soften(breaks, rows, temperature, passed, gradient, base, count)
    return total


@inner_kernel
def _critical_density(odds: FloatArray, nodes: IntArray, count: int, capacity: int) -> float:
    """Return the log odds per node at which the items above just fit; 0 if all positive ones do."""
    low, high = 0.0, 0.0
    held = 0
    for item in range(count):
        if odds[item] > 0:
            held += nodes[item]
            if nodes[item]:
                high = max(high, odds[item] / nodes[item])
    if held <= capacity:
        return 0.0
    for _ in range(24):
        middle = 0.5 * (low + high)
        held = 0
        for item in range(count):
            if odds[item] > middle * nodes[item]:
                held += nodes[item]
        if held > capacity:
            low = middle
        else:
            high = middle
    return high


@inner_kernel
def _log_sum(first: float, second: float) -> float:
    high, low = max(first, second), min(first, second)
    if not low > high - _FAR:  # nearly always at low temperatures, where this is called
        return high
    return high + math.log1p(math.exp(low - high))


@inner_kernel
def _by_logarithms(
    odds: FloatArray,
    nodes: IntArray,
    count: int,
    capacity: int,
    ahead: FloatArray,
    behind: FloatArray,
    inside: FloatArray,
) -> float:
    """Return the logarithm of the sum over all fitting sets; fill in the probabilities of the items."""
    for size in range(capacity + 1):
        ahead[0, size] = 0.0 if size == 0 else -np.inf
        behind[count % 2, size] = 0.0
    for item in range(count):
        wide = nodes[item]
        for size in range(capacity + 1):
            value = ahead[item, size]
            if size >= wide:
                value = _log_sum(value, ahead[item, size - wide] + odds[item])
            ahead[item + 1, size] = value
    total = -np.inf
    for size in range(capacity + 1):
        total = _log_sum(total, ahead[count, size])
    for item in range(count - 1, -1, -1):
        wide = nodes[item]
        later, here = (item + 1) % 2, item % 2
        mass = -np.inf
        for size in range(capacity + 1):
            value = behind[later, size]
            if size + wide <= capacity:
                mass = _log_sum(mass, ahead[item, size] + behind[later, size + wide])
                value = _log_sum(value, behind[later, size + wide] + odds[item])
            behind[here, size] = value
        inside[item] = math.exp(min(0.0, mass + odds[item] - total))
    return total


@inner_kernel
def _by_probabilities(
    odds: FloatArray,
    nodes: IntArray,
    count: int,
    capacity: int,
    ahead: FloatArray,
    behind: FloatArray,
    inside: FloatArray,
    outside: FloatArray,
) -> float:
    """Return what `_by_logarithms` returns, or minus infinity if the tables cannot hold it.

    Every item is taken with a probability of its own, tilted by the density of the critical item, so that
    sets of about `capacity` nodes are likely. Row i of `ahead` has the probability of each total size of the
    items before i. `behind` has, by the size taken so far, the expected weight of the sets that the items
    from i on add.
    """
    density = _critical_density(odds, nodes, count, capacity)
    scale = 0.0
    for item in range(count):
        tilted = odds[item] - density * nodes[item]
        small = math.exp(-abs(tilted))
        scale += math.log1p(small) + max(tilted, 0.0)
        inside[item] = (1.0 if tilted >= 0 else small) / (1.0 + small)
        outside[item] = (small if tilted >= 0 else 1.0) / (1.0 + small)  # 1 - inside would be rounded to 0
    for size in range(capacity + 1):
        ahead[0, size] = 1.0 if size == 0 else 0.0
        behind[count % 2, size] = math.exp(density * (size - capacity))
    for item in range(count):
        wide, into, out = nodes[item], inside[item], outside[item]
        for size in range(min(wide, capacity + 1)):
            ahead[item + 1, size] = out * ahead[item, size]
        for size in range(wide, capacity + 1):
            ahead[item + 1, size] = out * ahead[item, size] + into * ahead[item, size - wide]
    mass = 0.0
    for size in range(capacity + 1):
        mass += ahead[count, size] * behind[count % 2, size]
    if not mass > _RARE:
        return -np.inf
    for item in range(count - 1, -1, -1):
        wide, into, out = nodes[item], inside[item], outside[item]
        later, here = (item + 1) % 2, item % 2
        room = capacity + 1 - wide
        # Four sums at once: a single sum would wait for each of its additions.
        sum_0, sum_1, sum_2, sum_3 = 0.0, 0.0, 0.0, 0.0
        for size in range(0, room - 3, 4):
            sum_0 += ahead[item, size] * behind[later, size + wide]
            sum_1 += ahead[item, size + 1] * behind[later, size + 1 + wide]
            sum_2 += ahead[item, size + 2] * behind[later, size + 2 + wide]
            sum_3 += ahead[item, size + 3] * behind[later, size + 3 + wide]
        for size in range(room // 4 * 4, room):
            sum_0 += ahead[item, size] * behind[later, size + wide]
        inside[item] = min(1.0, into * (sum_0 + sum_1 + sum_2 + sum_3) / mass)
        for size in range(room):
            behind[here, size] = out * behind[later, size] + into * behind[later, size + wide]
        for size in range(room, capacity + 1):
            behind[here, size] = out * behind[later, size]
    return math.log(mass) + density * capacity + scale


@allocating_kernel
def _most_entries(slots: SlotEntries, slots_from: int, slots_to: int) -> int:
    largest = 0
    for slot in range(slots_from, slots_to):
        largest = max(largest, slots.offsets[slot + 1] - slots.offsets[slot])
    return largest


@kernel
def soft_slots(
    slots: SlotEntries,
    capacity: int,
    levels: FloatArray,
    temperature: float,
    prior: float,
    gradient: FloatArray,
    slots_from: int,
    slots_to: int,
) -> float:
    """Return the sum of soft greatest levels of fitting sets; subtract the probabilities from the gradient.

    `prior` are the log odds of an entry at level 0. O(entries * capacity).
    """
    room = _most_entries(slots, slots_from, slots_to)
    odds, inside, outside = np.empty(room), np.empty(room), np.empty(room)
    nodes = np.empty(room, np.int64)
    ahead, behind = np.empty((room + 1, capacity + 1)), np.empty((2, capacity + 1))
    total = 0.0
    for slot in range(slots_from, slots_to):
        begin = slots.offsets[slot]
        count = slots.offsets[slot + 1] - begin
        held = 0
        for item in range(count):
            odds[item] = levels[slots.entries[begin + item]] / temperature + prior
            nodes[item] = slots.nodes[begin + item]
            held += nodes[item]
        if held <= capacity:
            for item in range(count):
                small = math.exp(-abs(odds[item]))
                total += temperature * (math.log1p(small) + max(odds[item], 0.0))
                inside[item] = (1.0 if odds[item] >= 0 else small) / (1.0 + small)
        else:
            value = _by_probabilities(odds, nodes, count, capacity, ahead, behind, inside, outside)
            if value == -np.inf:
                value = _by_logarithms(odds, nodes, count, capacity, ahead, behind, inside)
            total += temperature * value
        for item in range(count):
            gradient[slots.entries[begin + item]] -= inside[item]
    return total


@kernel
def fullest_slots(
    slots: SlotEntries, capacity: int, levels: FloatArray, slots_from: int, slots_to: int
) -> float:
    """Return the sum of the greatest levels of fitting sets, of levels >= 0. O(entries * capacity)."""
    best = np.empty(capacity + 1)
    total = 0.0
    for slot in range(slots_from, slots_to):
        begin, end = slots.offsets[slot], slots.offsets[slot + 1]
        held, paid = 0, 0.0
        for at in range(begin, end):
            level = levels[slots.entries[at]]
            if level > 0:
                held += slots.nodes[at]
                paid += level
        if held <= capacity:
            total += paid
            continue
        best[:] = 0.0
        for at in range(begin, end):
            level, wide = levels[slots.entries[at]], slots.nodes[at]
            if level > 0:
                for size in range(capacity, wide - 1, -1):
                    best[size] = max(best[size], best[size - wide] + level)
        total += best[capacity]
    return total


@kernel
def mean_prices(
    old_edges: FloatArray,
    old_first: IntArray,
    old_offsets: IntArray,
    old_prices: FloatArray,
    edges: FloatArray,
    first: IntArray,
    offsets: IntArray,
    prices: FloatArray,
) -> None:
    """Fill in the mean of the old prices over each slot of the new windows. O(slots of both)."""
    for job in range(len(first)):
        at, end = old_offsets[job], old_offsets[job + 1]
        shift = old_first[job] - at
        for entry in range(offsets[job], offsets[job + 1]):
            slot = first[job] + entry - offsets[job]
            low, high = edges[slot], edges[slot + 1]
            while at < end and old_edges[at + shift + 1] <= low:
                at += 1
            paid = 0.0
            overlap = at
            while overlap < end and old_edges[overlap + shift] < high:
                inside = min(high, old_edges[overlap + shift + 1]) - max(low, old_edges[overlap + shift])
                paid += old_prices[overlap] * max(inside, 0.0)
                overlap += 1
            prices[entry] = paid / (high - low)


@kernel
def list_entries(first: IntArray, offsets: IntArray, slot_offsets: IntArray, entries: IntArray) -> None:
    """Sort the slots of all windows by slot; `slot_offsets`, where each slot begins, is overwritten."""
    for job in range(len(first)):
        for entry in range(offsets[job], offsets[job + 1]):
            slot = first[job] + entry - offsets[job]
            entries[slot_offsets[slot]] = entry
            slot_offsets[slot] += 1
