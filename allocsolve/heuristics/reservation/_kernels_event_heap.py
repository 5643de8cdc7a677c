"""Heaps of events for executions: each thing that waits has at most one event, which may change its time.

A heap is two arrays, times and keys, ordered by (time, key); a key is ``kind << BITS | slot``, so that at one
instant kinds come in their order. ``places[slot]`` is where the event of a slot is, -1 if it has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray

__all__ = ["BITS", "MASK", "change", "insert", "remove"]

#: How many bits of a key say which slot it belongs to.
BITS: Final = 40
MASK: Final = (1 << BITS) - 1


@inner_kernel
def _rise(times: FloatArray, keys: IntArray, places: IntArray, at: int, time: float, key: int) -> None:
    """Put an event at a place, whose own one is gone, or above it."""
    while at > 0:
        parent = (at - 1) >> 1
        if times[parent] < time or (times[parent] == time and keys[parent] < key):
            break
        times[at], keys[at] = times[parent], keys[parent]
        places[keys[at] & MASK] = at
        at = parent
    times[at], keys[at] = time, key
    places[key & MASK] = at


@inner_kernel
def _sink(
    times: FloatArray, keys: IntArray, places: IntArray, count: int, at: int, time: float, key: int
) -> None:
    """Put an event at a place, whose own one is gone, or below it."""
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        right = child + 1
        if right < count and (
            times[right] < times[child] or (times[right] == times[child] and keys[right] < keys[child])
        ):
            child = right
        if time < times[child] or (time == times[child] and key < keys[child]):
            break
        times[at], keys[at] = times[child], keys[child]
        places[keys[at] & MASK] = at
        at = child
    times[at], keys[at] = time, key
    places[key & MASK] = at


@inner_kernel
def insert(times: FloatArray, keys: IntArray, places: IntArray, count: int, time: float, key: int) -> None:
    """Add an event to so many, of which there is one more then."""
    _rise(times, keys, places, count, time, key)


@inner_kernel
def change(
    times: FloatArray, keys: IntArray, places: IntArray, count: int, at: int, time: float, key: int
) -> None:
    """Put another event of the same slot at the place of one."""
    if time < times[at] or (time == times[at] and key < keys[at]):
        _rise(times, keys, places, at, time, key)
    else:
        _sink(times, keys, places, count, at, time, key)


@inner_kernel
def remove(times: FloatArray, keys: IntArray, places: IntArray, count: int, at: int) -> None:
    """Take an event out of so many, of which there is one less then."""
    places[keys[at] & MASK] = -1
    last = count - 1
    if at < last:
        change(times, keys, places, last, at, times[last], keys[last])
