"""Kernels of prices per job on machines with several resources: the smooth and the exact price of a slot.

Sets of jobs fit into a slot if they do by each resource. Their sums are tables over what is used of each
resource; the last resource is the one that runs fastest, and a *row* is what has the same use of the others.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.bounds.workload._kernels_job_prices import _log_sum
from allocsolve.kernels import allocating_kernel, inner_kernel, kernel

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray

#: The least probability that a set fits for which doubles suffice; smaller ones are computed in logarithms.
_RARE = 1e-200

#: How often the densities of all resources are made to fit each other, and halvings of a span of densities.
_TURNS, _HALVINGS = 3, 12


class MachineEntries(NamedTuple):
    """The jobs that have a price in each slot, where each fits, and what they need; read-only."""

    offsets: IntArray  #: shape (slots + 1,): where each slot begins in `entries`
    entries: IntArray  #: positions among the slots of all windows
    needs: IntArray  #: shape (entries, resources)
    room: IntArray  #: shape (slots, resources)


class _Table(NamedTuple):
    """The shape of the table of a slot, and room for the sums."""

    width: int  #: of a row: one more than the room of the last resource
    digits: IntArray  #: shape (rows, resources - 1): the use of the others
    ahead: FloatArray  #: shape (items + 1, cells)
    behind: FloatArray  #: shape (2, cells)
    sums: FloatArray  #: shape (width,): of each use of the last resource


@inner_kernel
def _rows_back(needs: IntArray, room: IntArray) -> int:
    """Return by how many rows an item leads on; no row before that one is led to."""
    shift, stride = 0, 1
    for resource in range(len(needs) - 2, -1, -1):
        shift += needs[resource] * stride
        stride *= room[resource] + 1
    return shift


@inner_kernel
def _leads(table: _Table, needs: IntArray, row: int) -> bool:
    """Return whether an item leads to a row from one before it."""
    leads = True
    for resource in range(len(needs) - 1):
        leads = leads and needs[resource] <= table.digits[row, resource]
    return leads


@allocating_kernel
def _table_of(room: IntArray, items: int) -> _Table:
    resources = len(room)
    rows = 1
    for resource in range(resources - 1):
        rows *= room[resource] + 1
    digits = np.zeros((rows, resources - 1), np.int64)
    for row in range(rows):
        left = row
        for resource in range(resources - 2, -1, -1):
            digits[row, resource] = left % (room[resource] + 1)
            left //= room[resource] + 1
    width = room[resources - 1] + 1
    return _Table(
        width, digits, np.empty((items + 1, rows * width)), np.empty((2, rows * width)), np.empty(width)
    )


@inner_kernel
def _densities(odds: FloatArray, needs: IntArray, count: int, room: IntArray, densities: FloatArray) -> None:
    """Fill in log odds per unit of each resource at which the items above just fit.

    They are about the prices of the linear relaxation of the knapsack, found resource by resource.
    """
    resources = len(room)
    densities[:] = 0.0
    for _ in range(_TURNS):
        for resource in range(resources):
            densities[resource] = 0.0
            held, high = 0, 0.0
            for item in range(count):
                left = odds[item]
                for other in range(resources):
                    left -= densities[other] * needs[item, other]
                if left > 0 and needs[item, resource]:
                    held += needs[item, resource]
                    high = max(high, left / needs[item, resource])
            if held <= room[resource]:
                continue
            low = 0.0
            for _ in range(_HALVINGS):
                densities[resource] = 0.5 * (low + high)
                held = 0
                for item in range(count):
                    left = odds[item]
                    for other in range(resources):
                        left -= densities[other] * needs[item, other]
                    if left > 0:
                        held += needs[item, resource]
                if held > room[resource]:
                    low = densities[resource]
                else:
                    high = densities[resource]
            densities[resource] = high


@inner_kernel
def _by_logarithms(
    table: _Table, odds: FloatArray, needs: IntArray, count: int, room: IntArray, inside: FloatArray
) -> float:
    """Return the logarithm of the sum over all fitting sets; fill in the probabilities of the items."""
    ahead, behind, width, rows = table.ahead, table.behind, table.width, len(table.digits)
    wide = len(room) - 1
    ahead[0, :] = -np.inf
    ahead[0, 0] = 0.0
    behind[count % 2, :] = 0.0
    for item in range(count):
        last, shift = needs[item, wide], _rows_back(needs[item], room)
        back = shift * width + last
        for row in range(rows):
            is_led_to = row >= shift and _leads(table, needs[item], row)
            for used in range(width):
                cell = row * width + used
                value = ahead[item, cell]
                if is_led_to and used >= last:
                    value = _log_sum(value, ahead[item, cell - back] + odds[item])
                ahead[item + 1, cell] = value
    total = -np.inf
    for cell in range(rows * width):
        total = _log_sum(total, ahead[count, cell])
    for item in range(count - 1, -1, -1):
        last, shift = needs[item, wide], _rows_back(needs[item], room)
        later, here = behind[(item + 1) % 2], behind[item % 2]
        for cell in range(rows * width):
            here[cell] = later[cell]
        mass = -np.inf
        for row in range(shift, rows):
            if not _leads(table, needs[item], row):
                continue
            for used in range(last, width):
                taken = later[row * width + used]
                before = (row - shift) * width + used - last
                mass = _log_sum(mass, ahead[item, before] + taken)
                here[before] = _log_sum(later[before], taken + odds[item])
        inside[item] = math.exp(min(0.0, mass + odds[item] - total))
    return total


@inner_kernel
def _by_probabilities(
    table: _Table,
    odds: FloatArray,
    needs: IntArray,
    count: int,
    room: IntArray,
    inside: FloatArray,
    outside: FloatArray,
    densities: FloatArray,
) -> float:
    """Return what `_by_logarithms` returns, or minus infinity if the tables cannot hold it.

    Every item is taken with a probability of its own, tilted by the densities, so that sets that fill what is
    scarce are likely. The row of an item in `ahead` has the probability of each use by the items before.
    `behind` has, by the use so far, the expected weight of the sets that the items from this one on add.
    """
    ahead, behind, width, rows = table.ahead, table.behind, table.width, len(table.digits)
    wide = len(room) - 1
    _densities(odds, needs, count, room, densities)
    scale, full = 0.0, 0.0
    for resource in range(wide + 1):
        full += densities[resource] * room[resource]
    for item in range(count):
        tilted = odds[item]
        for resource in range(wide + 1):
            tilted -= densities[resource] * needs[item, resource]
        small = math.exp(-abs(tilted))
        scale += math.log1p(small) + max(tilted, 0.0)
        inside[item] = (1.0 if tilted >= 0 else small) / (1.0 + small)
        outside[item] = (small if tilted >= 0 else 1.0) / (1.0 + small)
    ahead[0, :] = 0.0
    ahead[0, 0] = 1.0
    for used in range(width):
        table.sums[used] = math.exp(densities[wide] * (used - width + 1))
    for row in range(rows):
        weight = densities[wide] * (width - 1) - full
        for resource in range(wide):
            weight += densities[resource] * table.digits[row, resource]
        fullest, begin = math.exp(weight), row * width
        for used in range(width):
            behind[count % 2, begin + used] = fullest * table.sums[used]
    for item in range(count):
        last, into, out = needs[item, wide], inside[item], outside[item]
        before, after = ahead[item], ahead[item + 1]
        shift = _rows_back(needs[item], room)
        for cell in range(shift * width):
            after[cell] = out * before[cell]
        for row in range(shift, rows):
            begin = row * width
            if _leads(table, needs[item], row):
                for cell in range(begin, begin + last):
                    after[cell] = out * before[cell]
                back = shift * width + last
                for cell in range(begin + last, begin + width):
                    after[cell] = out * before[cell] + into * before[cell - back]
            else:
                for cell in range(begin, begin + width):
                    after[cell] = out * before[cell]
    mass = 0.0
    for cell in range(rows * width):
        mass += ahead[count, cell] * behind[count % 2, cell]
    if not mass > _RARE:
        return -np.inf
    for item in range(count - 1, -1, -1):
        last, into, out = needs[item, wide], inside[item], outside[item]
        later, here, before = behind[(item + 1) % 2], behind[item % 2], ahead[item]
        for cell in range(rows * width):
            here[cell] = out * later[cell]
        for used in range(width):
            table.sums[used] = 0.0
        shift = _rows_back(needs[item], room)
        for row in range(shift, rows):
            if _leads(table, needs[item], row):
                at, to = row * width + last, (row - shift) * width
                for used in range(width - last):
                    here[to + used] += into * later[at + used]
                    table.sums[used] += before[to + used] * later[at + used]
        taken = 0.0
        for used in range(width):
            taken += table.sums[used]
        inside[item] = min(1.0, into * taken / mass)
    return math.log(mass) + full + scale


@kernel
def soft_slots_on_machine(
    slots: MachineEntries, levels: FloatArray, temperature: float, prior: float, gradient: FloatArray
) -> float:
    """Return the sum of soft greatest levels of fitting sets; subtract the probabilities from the gradient.

    `prior` are the log odds of an entry at level 0. O(entries * cells of a table).
    """
    most, resources = 0, slots.room.shape[1]
    for slot in range(len(slots.room)):
        most = max(most, slots.offsets[slot + 1] - slots.offsets[slot])
    odds, inside, outside = np.empty(most), np.empty(most), np.empty(most)
    densities, before = np.empty(resources), -1
    table = _table_of(slots.room[0], 0)
    total = 0.0
    for slot in range(len(slots.room)):
        begin = slots.offsets[slot]
        count = slots.offsets[slot + 1] - begin
        room, needs = slots.room[slot], slots.needs[begin : begin + count]
        fits = True
        for resource in range(resources):
            held = 0
            for item in range(count):
                held += needs[item, resource]
            fits = fits and held <= room[resource]
        for item in range(count):
            odds[item] = levels[slots.entries[begin + item]] / temperature + prior
        if fits:
            for item in range(count):
                small = math.exp(-abs(odds[item]))
                total += temperature * (math.log1p(small) + max(odds[item], 0.0))
                inside[item] = (1.0 if odds[item] >= 0 else small) / (1.0 + small)
        else:
            same = before >= 0
            for resource in range(resources):
                same = same and room[resource] == slots.room[before, resource]
            if not same:
                table = _table_of(room, most)
                before = slot
            value = _by_probabilities(table, odds, needs, count, room, inside, outside, densities)
            if value == -np.inf:
                value = _by_logarithms(table, odds, needs, count, room, inside)
            total += temperature * value
        for item in range(count):
            gradient[slots.entries[begin + item]] -= inside[item]
    return total


@kernel
def fullest_slots_on_machine(slots: MachineEntries, levels: FloatArray) -> float:
    """Return the sum of the greatest levels of fitting sets, of levels >= 0. O(entries * cells)."""
    resources = slots.room.shape[1]
    wide, before, total = resources - 1, -1, 0.0
    table = _table_of(slots.room[0], 0)
    for slot in range(len(slots.room)):
        room = slots.room[slot]
        fits, paid = True, 0.0
        for resource in range(resources):
            held = 0
            for at in range(slots.offsets[slot], slots.offsets[slot + 1]):
                if levels[slots.entries[at]] > 0:
                    held += slots.needs[at, resource]
            fits = fits and held <= room[resource]
        if fits:
            for at in range(slots.offsets[slot], slots.offsets[slot + 1]):
                paid += max(0.0, levels[slots.entries[at]])
            total += paid
            continue
        same = before >= 0
        for resource in range(resources):
            same = same and room[resource] == slots.room[before, resource]
        if not same:
            table = _table_of(room, 0)
            before = slot
        best, width, rows = table.ahead[0], table.width, len(table.digits)
        best[:] = 0.0
        for at in range(slots.offsets[slot], slots.offsets[slot + 1]):
            level, last = levels[slots.entries[at]], slots.needs[at, wide]
            if level <= 0:
                continue
            shift = _rows_back(slots.needs[at], room)
            for row in range(rows - 1, shift - 1, -1):
                if _leads(table, slots.needs[at], row):
                    to, read = row * width, (row - shift) * width - last
                    for used in range(width - 1, last - 1, -1):
                        best[to + used] = max(best[to + used], best[read + used] + level)
        total += best[rows * width - 1]
    return total
