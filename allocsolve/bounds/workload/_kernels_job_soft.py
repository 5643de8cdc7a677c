"""The smoothed dual: soft minima over the starts of each job, soft maxima over the fitting sets of a slot."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.bounds.workload._kernels_job_breaks import PricedJobs, break_points, new_breaks
from allocsolve.kernels import allocating_kernel, inner_kernel, kernel

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray

__all__ = ["SlotEntries", "fullest_slots", "soft_jobs", "soft_slots"]

#: What is behind the best by so many times the temperature has no share.
_FAR = 40.0

#: A smaller probability that a set fits is computed again in logarithms.
_RARE = 1e-200


class SlotEntries(NamedTuple):
    """Who has a price in which slot; read-only."""

    offsets: IntArray  #: shape (slots + 1,): where each slot begins in `entries`
    entries: IntArray  #: positions among the slots of all windows
    nodes: IntArray  #: of each entry


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
    """Return the sum of the soft least costs, and fill in by how much each level enters it."""
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
        least = breaks.cost[0]
        for row in range(1, rows):
            least = min(least, breaks.cost[row])
        mass = 0.0
        for row in range(rows):
            depth = (breaks.cost[row] - least) / temperature
            breaks.cost[row] = math.exp(-depth) if depth < _FAR else 0.0
            mass += breaks.cost[row]
        total += least - temperature * math.log(mass)
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
        beyond = 0.0  # of those that end behind the slot, less those that start behind it
        for slot in range(count - 1, -1, -1):
            beyond += passed[slot + 1]
            gradient[base + slot] += beyond
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
def _log_sum(one: float, other: float) -> float:
    high, low = max(one, other), min(one, other)
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

    Every item is in with a probability of its own, tilted by the density of the critical item such that the
    sets of about `capacity` nodes are the likely ones; row i of `ahead` has the probability of each size of
    the items before i, `behind` the expected weight of what the items from i on make of a size.
    """
    density = _critical_density(odds, nodes, count, capacity)
    scale = 0.0
    for item in range(count):
        tilted = odds[item] - density * nodes[item]
        small = math.exp(-abs(tilted))
        scale += math.log1p(small) + max(tilted, 0.0)
        inside[item] = (1.0 if tilted >= 0 else small) / (1.0 + small)
        outside[item] = (small if tilted >= 0 else 1.0) / (1.0 + small)  # 1 less the other is rounded to 0
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
        # Four sums at once: one alone would wait for each of its additions.
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
    most = 0
    for slot in range(slots_from, slots_to):
        most = max(most, slots.offsets[slot + 1] - slots.offsets[slot])
    return most


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
    """Return the sum of the soft greatest levels of fitting sets; take each probability off the gradient.

    `prior` are the log odds of an entry at level 0. O(entries * capacity).
    """
    most = _most_entries(slots, slots_from, slots_to)
    odds, inside, outside = np.empty(most), np.empty(most), np.empty(most)
    nodes = np.empty(most, np.int64)
    ahead, behind = np.empty((most + 1, capacity + 1)), np.empty((2, capacity + 1))
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
