"""The log of a refutation: the clauses that searches have learned, in an order in which they can be checked.

The items are described in docs/formats.md; `allocsolve.judge.evolution.certificate` checks them.
"""

from __future__ import annotations

import base64
import threading
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from allocsolve.exact.evolution._kernels_proof_log import COVER, HORIZON, encode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.exact.evolution._conflicts import Block
    from allocsolve.model import IntArray

#: The level of the compression: 6 is the usual one, and takes 1-2 % of the time of a search.
_LEVEL = 6
#: The most bytes that a number of 32 bits takes.
_LONGEST = 5
#: The count of searches that hold a clause of the problem: so large that the clause is never deleted.
_ALWAYS = 1 << 30


class ProofLog:
    """The clauses of one search, or of several that exchange what they learn, with their numbers.

    Slices of searches are written as they end. A clause is deleted when no search holds it any more, neither
    in its model nor on the way to it.

    A log that grows beyond `max_bytes` is dropped. The judge knows `given` clauses by itself; they have the
    first numbers.
    """

    def __init__(self, max_bytes: int, given: int = 0) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._compressor = zlib.compressobj(_LEVEL)
        self._parts: list[bytes] = []
        self._size = 0
        self._time: int | None = None
        self._covers: dict[tuple[Block, ...], int] = {}
        self._count = 0
        #: The number of searches that hold each clause, and work space; by the numbers of clauses.
        self._holders = np.zeros(1 << 16, dtype=np.int32)
        self._marks = np.zeros(1 << 16, dtype=np.bool_)
        self._deleted = 0
        self._add(given, _ALWAYS)
        self.is_kept = max_bytes > 0

    def add_cover(self, cover: tuple[Block, ...]) -> int:
        """Write a clause of the problem, unless it is written already; return its number."""
        with self._lock:
            if cover not in self._covers:
                numbers = [len(cover) << 2 | COVER]
                for block in cover:
                    numbers += [block.app, block.first, block.last]
                self._write(_bytes(numbers))
                self._covers[cover] = int(self._add(1, _ALWAYS)[0])
            return self._covers[cover]

    def add_slice(
        self, time: int, noted: NDArray[np.int32], count: int, numbers: IntArray, held: IntArray
    ) -> IntArray:
        """Write the notes of a search for answers that end by `time`.

        `noted` is the buffer, see `_kernels_proof_log`, with `count` sorted clauses. `numbers` are those of
        the clauses that the search holds now, below 0 for those of the buffer, `held` those that it held
        before. Return a copy of the numbers in which all are set.
        """
        with self._lock:
            if not self.is_kept:
                return held
            self._lower(time)
            new = self._add(count, 1)
            first = self._count - count
            numbers[:] = np.where(numbers < 0, first - 1 - numbers, numbers)
            self._marks[numbers] = True
            before = np.concatenate([held, new])
            dropped = before[~self._marks[before]]
            self._marks[numbers] = False
            self._write_items(noted, self._without(dropped))
            return numbers.copy()

    def hold(self, numbers: IntArray) -> None:
        """Note that another search is going to have these clauses."""
        with self._lock:
            self._holders[numbers[numbers >= 0]] += 1

    def release(self, numbers: IntArray) -> None:
        """Note that a search that was going to have these clauses will not."""
        with self._lock:
            if self.is_kept:
                self._write_items(np.empty(0, dtype=np.int32), self._without(numbers))

    def certificate(
        self, time: int, points: list[list[int]], prices: list[list[int]] | None = None
    ) -> dict[str, Any] | None:
        """Return the proof that no answer ends by `time`; None if the log was dropped.

        `points` has, for each point, the pair [application, step] of the step whose start it is; `prices`
        those of the steps of each application, if the searches knew any.
        """
        with self._lock:
            if not self.is_kept:
                return None
            self._lower(time)
            self._parts.append(self._compressor.copy().flush())
            log = b"".join(self._parts)
            self._parts.pop()
        certificate = {"kind": "learned-clauses", "points": points, "log": base64.b64encode(log).decode()}
        return {**certificate, "prices": prices} if prices else certificate

    def _add(self, count: int, holders: int) -> IntArray:
        """Return the numbers of new clauses."""
        first, self._count = self._count, self._count + count
        if self._count > len(self._holders):
            more = max(self._count, len(self._holders))
            self._holders = np.concatenate([self._holders, np.zeros(more, dtype=np.int32)])
            self._marks = np.zeros(len(self._holders), dtype=np.bool_)
        self._holders[first : self._count] = holders
        return np.arange(first, self._count)

    def _without(self, numbers: IntArray) -> IntArray:
        """Subtract a holder from each clause; return the clauses that have none left."""
        self._holders[numbers] -= 1
        left: IntArray = numbers[self._holders[numbers] == 0]
        return left

    def _lower(self, time: int) -> None:
        if self._time is None or time < self._time:
            self._time = time
            self._write(_bytes([time << 2 | HORIZON]))

    def _write_items(self, noted: NDArray[np.int32], deleted: IntArray) -> None:
        out = np.empty(_LONGEST * (len(noted) + len(deleted)), dtype=np.uint8)
        size = encode(noted, deleted, self._deleted, out)
        if len(deleted):
            self._deleted = int(deleted[-1])
        self._write(out[:size].tobytes())

    def _write(self, items: bytes) -> None:
        if not self.is_kept:
            return
        part = self._compressor.compress(items)
        self._parts.append(part)
        self._size += len(part)
        if self._size > self._max_bytes:
            self.is_kept = False
            self._parts.clear()
            self._covers.clear()


def _bytes(numbers: list[int]) -> bytes:
    """Return numbers >= 0 as bytes, seven bits to a byte, the lowest first."""
    out = bytearray()
    for number in numbers:
        rest = number
        while rest > 127:
            out.append(rest & 127 | 128)
            rest >>= 7
        out.append(rest)
    return bytes(out)
