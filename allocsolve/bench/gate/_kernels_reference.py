"""The reference works of the gate as kernels: fixed work, in character like the kernels of the heuristics.

Each leaves its arguments as they are or fills them first: the same call does the same work again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.kernels import inner_kernel, kernel

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, FloatArray, IntArray


@kernel
def draw(array: IntArray) -> None:
    """Fill an array with pseudo-random numbers of 15 bits."""
    drawn = 2011
    for idx in range(len(array)):
        drawn = (drawn * 1_103_515_245 + 12_345) % 2_147_483_648
        array[idx] = drawn >> 16


@kernel
def walk(array: IntArray, steps: int) -> int:
    """Walk pseudo-randomly over an array of its own indices and change it on the way; return a checksum.

    Each step is a load, a branch that is hard to guess and a store, all of which depend on the step before:
    where the arrays happen to lie in memory makes no difference, as it does to loops that copy.
    """
    length = len(array)
    for idx in range(length):
        array[idx] = (idx * 7_919) % length
    drawn = 2011
    total = 0
    for _ in range(steps):
        drawn = (drawn * 1_103_515_245 + 12_345) % 2_147_483_648
        place = array[drawn % length]
        if place > drawn % length:
            total += place
        else:
            total -= 1
        array[place] = (place + total) % length
    return total


@kernel
def scan(free: BoolArray, nodes: IntArray, size: int) -> int:
    """Look for the runs of a mask that have at least `size` elements, and gather all; return a checksum.

    The loops are those of an allocation on a node order. `nodes` is as long as the mask and written to.
    """
    total = 0
    length = 0
    for position in range(len(free) + 1):
        if position < len(free) and free[position]:
            length += 1
            continue
        if length >= size:
            total += position - length
        length = 0
    count = 0
    for position in range(len(free)):
        if free[position]:
            nodes[count] = position
            count += 1
    for place in range(count):
        total += nodes[place] % 3
    return total


@kernel
def sort(keys: IntArray, ordered: IntArray, spare: IntArray) -> int:
    """Sort keys into `ordered` by merging longer and longer runs; return a checksum of places and keys."""
    count = len(keys)
    for idx in range(count):
        ordered[idx] = keys[idx]
    length = 1
    while length < count:
        for start in range(0, count, 2 * length):
            _merge(ordered, spare, start, min(start + length, count), min(start + 2 * length, count))
        for idx in range(count):
            ordered[idx] = spare[idx]
        length *= 2
    total = 0
    for idx in range(count):
        total += (idx % 7) * ordered[idx]
    return total


@inner_kernel
def _merge(ordered: IntArray, merged: IntArray, start: int, middle: int, stop: int) -> None:
    left, right = start, middle
    for place in range(start, stop):
        if left < middle and (right >= stop or ordered[left] <= ordered[right]):
            merged[place] = ordered[left]
            left += 1
        else:
            merged[place] = ordered[right]
            right += 1


@kernel
def relax(weights: FloatArray, values: FloatArray, rounds: int) -> float:
    """Bring each value nearer to the one before, from left to right, again and again; return a checksum."""
    for idx in range(len(values)):
        values[idx] = 1.0 + weights[idx]
    for _ in range(rounds):
        for idx in range(1, len(values)):
            change = weights[idx] * (values[idx] - values[idx - 1])
            values[idx] -= change / (1.0 + values[idx - 1])
    total = 0.0
    for idx in range(len(values)):
        total += weights[idx] * values[idx]
    return total


@kernel
def sweep(first: IntArray, second: IntArray, changes: IntArray, rounds: int) -> int:
    """Add up distances between two arrays in `changes`, then the changes to a level; return the sum of peaks.

    The first loop of each round can work on several elements at a time, the second cannot: the sums and peaks
    of a resource profile are such loops. A work of vectors only would tell more of the width of the vectors
    than any solver does, and would excuse whatever becomes slower.
    """
    for idx in range(len(changes)):
        changes[idx] = 0
    total = 0
    for repetition in range(rounds):
        for idx in range(len(changes)):
            changes[idx] += abs(first[idx] - second[idx] - repetition)
        level = peak = 0
        for idx in range(len(changes)):
            level = abs(level - changes[idx])
            peak = max(peak, level)
        total += peak
    return total
