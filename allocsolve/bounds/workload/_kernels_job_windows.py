"""Prices of jobs carried from one grid of slots and windows to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.kernels import kernel

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray

__all__ = ["list_entries", "mean_prices"]


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
    """Sort the slots of all windows by slot; `slot_offsets` holds where each slot begins, and is used up."""
    for job in range(len(first)):
        for entry in range(offsets[job], offsets[job + 1]):
            slot = first[job] + entry - offsets[job]
            entries[slot_offsets[slot]] = entry
            slot_offsets[slot] += 1
