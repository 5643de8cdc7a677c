"""The reference works of the gate: a fraction of a millisecond each, with the results that they must have.

A work that is changed needs a new name, for baselines hold times in its unit.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.bench.gate import _kernels_reference as kernels
from allocsolve.bench.gate.units import References

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from allocsolve.model import BoolArray, FloatArray, IntArray

__all__ = ["RESULTS", "WORKS", "do"]


#: Elements of the arrays: about as many as a busy resource profile has segments, or a mesh of 32x32 nodes.
LENGTH: Final = 1_500
#: Of the mask, as on a mesh of 256x256: a processor would learn a shorter one by heart.
MASK_LENGTH: Final = 65_536
#: Of the sweep: a whole number of lines of the cache, but not of pages.
WIDTH: Final = 1_088
#: What is asked of the works.
STEPS: Final = 100_000
RUN_LENGTH: Final = 2
KEYS: Final = 4_096
RELAXATIONS: Final = 20
SWEEPS: Final = 240
INSTRUCTIONS: Final = 1_500
#: What the works come to.
RESULTS: Final = References(
    walk=49_882_810,
    scan=267_192_701,
    sort=199_639_015,
    floats=934.6176929781523,
    sweep=825_571_752,
    interpreter=294_260,
)


@functools.cache
def draws(count: int) -> IntArray:
    """Return pseudo-random numbers, the same ones each time; nobody may change them."""
    array = np.empty(count, dtype=np.int64)
    kernels.draw(array)
    return array


@functools.cache
def mask() -> BoolArray:
    """Return what is scanned; nobody may change it."""
    free: BoolArray = draws(MASK_LENGTH) % 2 == 1
    return free


@functools.cache
def weights() -> FloatArray:
    """Return fractions; nobody may change them."""
    fractions: FloatArray = draws(LENGTH) / 32_768
    return fractions


@functools.cache
def _space(length: int) -> IntArray:
    """Return an array to write to: making one would be work of the operating system."""
    return np.empty(length, dtype=np.int64)


def _walk() -> int:
    return kernels.walk(_space(LENGTH), STEPS)


def _scan() -> int:
    return kernels.scan(mask(), _space(MASK_LENGTH), RUN_LENGTH)


def _sort() -> int:
    ordered, spare = _space(2 * KEYS)[:KEYS], _space(2 * KEYS)[KEYS:]
    return kernels.sort(draws(KEYS), ordered, spare)


def _floats() -> float:
    return kernels.relax(weights(), np.empty(LENGTH), RELAXATIONS)


@functools.cache
def _rows() -> IntArray:
    """Return the arrays of the sweep: they begin with a line of the cache, or vectors would straddle two."""
    space = np.empty(3 * WIDTH + 8, dtype=np.int64)
    start = -space.ctypes.data % 64 // 8
    rows = space[start : start + 3 * WIDTH].reshape(3, WIDTH)
    rows[:2] = draws(2 * WIDTH).reshape(2, WIDTH)
    return rows


def _sweep() -> int:
    first, second, changes = _rows()
    return kernels.sweep(first, second, changes, SWEEPS)


def interpreted(steps: int) -> int:
    """Count pseudo-random numbers in a dictionary and list what was counted; return a checksum."""
    counts: dict[int, int] = {}
    listed: list[tuple[int, int]] = []
    drawn = 2011
    for _ in range(steps):
        drawn = (drawn * 1_103_515_245 + 12_345) % 2_147_483_648
        key = drawn % 61
        counts[key] = counts.get(key, 0) + 1
        if drawn & 65_536:
            listed.append((counts[key], key))
    return sum(count * key for count, key in listed)


WORKS: Final[Mapping[str, Callable[[], float]]] = {
    "walk": _walk,
    "scan": _scan,
    "sort": _sort,
    "floats": _floats,
    "sweep": _sweep,
    "interpreter": lambda: interpreted(INSTRUCTIONS),
}


def do(name: str) -> None:
    """Do the work of this name once and check what it comes to."""
    result = WORKS[name]()
    expected = getattr(RESULTS, name)
    assert result == expected, f"the reference work {name} found {result}, not {expected}"
