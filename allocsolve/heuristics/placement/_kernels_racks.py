"""Kernels over switches of level 1 with numbers of free nodes: sums of numbers, random filling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.kernels import kernel

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray


@kernel
def least_surplus(counts: IntArray, needed: int, size: int) -> IntArray:
    """Choose so many counts that their sum is at least the size and exceeds it least.

    Counts fall, shape (racks,); `needed` of them, the fewest that suffice, are chosen. Return their places,
    rising: of equal sums the one that is met first, when the counts are gone through in their order, and each
    is added to all choices without it that do not suffice yet.
    """
    most = counts[0]
    # What is still missing after so many choices, from -most on: the place of the last choice, -1 if none.
    last = np.full((needed + 1, size + most + 1), -1, dtype=np.int64)
    for place in range(len(counts)):
        count = counts[place]
        if count == 0:
            break
        for chosen in range(min(needed, place + 1), 0, -1):
            low = 1 if chosen > 1 else size
            for missing in range(max(low, size - (chosen - 1) * most), size + 1):
                if chosen > 1 and last[chosen - 1, missing + most] < 0:
                    continue
                after = missing - count + most
                if last[chosen, after] < 0:
                    last[chosen, after] = place
    missing = 0
    while last[needed, missing + most] < 0:
        missing -= 1
    places = np.empty(needed, dtype=np.int64)
    for chosen in range(needed, 0, -1):
        places[chosen - 1] = last[chosen, missing + most]
        missing += counts[places[chosen - 1]]
    return places


@kernel
def random_fill(
    parent: IntArray, is_rack: IntArray, below: IntArray, domain: int, size: int, draws: FloatArray
) -> IntArray:
    """Fill switches of level 1 below a domain one after the other, near ones first.

    `parent` is the switch above each switch, `is_rack` 1 for those of level 1, else 0, and `below` how many
    free nodes are below each, which is changed; shape (switches,). So many nodes are taken below `domain`,
    with the random numbers `draws` in [0, 1), shape (size,). Return how many are taken from each switch of
    level 1, shape (switches,).
    """
    take = np.zeros(len(parent), dtype=np.int64)
    reached, turn = domain, 0
    while size > 0:
        # The lowest switch above all that is taken so far with free nodes; one of these at random.
        while below[reached] == 0:
            reached = parent[reached]
        node = int(draws[turn] * below[reached])
        rack = -1
        while node >= 0:
            rack += 1
            if is_rack[rack] == 0 or below[rack] == 0:
                continue
            above = rack
            while above >= 0 and above != reached:
                above = parent[above]
            if above == reached:
                node -= below[rack]
        if turn == 0:
            reached = rack
        turn += 1
        count = min(size, below[rack])
        take[rack] = count
        size -= count
        above = rack
        while above >= 0:
            below[above] -= count
            above = parent[above]
    return take
