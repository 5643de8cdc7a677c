"""Kernels compute what the functions do of which they are made, in few instructions of LLVM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import pytest
from hypothesis import given, strategies as st

from allocsolve.kernels import allocating_kernel, inner_kernel, kernel
from allocsolve.kernels.linking import _InnerLibrary
from allocsolve.kernels.records import Record, Records, records

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from allocsolve.model import IntArray


class Item(Record):
    weight: float
    count: int


class Parts(NamedTuple):
    values: IntArray
    grid: IntArray
    cube: NDArray[np.float64]
    marks: NDArray[np.bool_]
    few: NDArray[np.int32]
    items: Records[Item]


def walk(parts: Parts, start: int, steps: int) -> float:
    """Read and write entries of all sorts, with values that live for a branch, a round or the whole call."""
    values, grid, cube, marks, few, items = parts
    size, rows, columns = len(values), grid.shape[0], grid.shape[1]
    at, total, last = start, 0.0, 0
    for step in range(steps):
        here = values[at]
        before = at
        if marks[step % len(marks)]:
            other = few[here % len(few)]
            grid[here % rows, other % columns] += step
            last = other
        else:
            marks[-1 - step % len(marks)] = here % 2 == 0
            other = step
        while other > 3:
            other -= 3
            if other == 5:
                break
        item = items[here % len(items)]
        item.count += other
        items[-1].weight = item.weight + total
        cube[0, here % 2, -1] += item.count
        values[before], values[at - 1] = values[at - 1] + 1, values[before]
        at = (at + here + last) % size
        total += cube[0, 1, -1] - grid[rows - 1, columns - 1] + items[0].weight
    return total + at


@inner_kernel
def inner_walk(parts: Parts, start: int, steps: int) -> float:
    """Do the same as an inner kernel, which takes arrays by their addresses."""
    return _walk(parts, start, steps)


@allocating_kernel
def counting_walk(parts: Parts, start: int, steps: int) -> float:
    """Do the same as a kernel that counts references."""
    copied = np.empty(len(parts.values), dtype=np.int64)
    for idx in range(len(copied)):
        copied[idx] = parts.values[idx]
    rest = Parts(copied, parts.grid, parts.cube, parts.marks, parts.few, parts.items)
    return _counted_walk(rest, start, steps)


_walk = inner_kernel(walk)
_counted_walk = allocating_kernel(walk)
_entry_walk = kernel(walk)


@kernel
def walk_by_inner(parts: Parts, start: int, steps: int) -> float:
    return inner_walk(parts, start, steps)


@kernel
def walk_by_counting(parts: Parts, start: int, steps: int) -> float:
    return counting_walk(parts, start, steps)


def _parts(seed: int) -> Parts:
    random = np.random.default_rng(seed)
    lengths = random.integers(2, 6, 5)
    items = records(Item, int(lengths[4]), weight=random.integers(0, 9, lengths[4]))
    return Parts(
        random.integers(0, 99, lengths[0]),
        random.integers(0, 9, (int(lengths[1]), int(lengths[2]))),
        random.integers(0, 9, (2, 2, 3)).astype(np.float64),
        random.integers(0, 2, lengths[3]).astype(np.bool_),
        random.integers(0, 9, lengths[3]).astype(np.int32),
        items,
    )


@pytest.mark.parametrize("made", [_entry_walk, walk_by_inner, walk_by_counting])
@given(seed=st.integers(0, 2**32), steps=st.integers(0, 30))
def test_a_kernel_computes_what_its_function_does(
    made: Callable[[Parts, int, int], float], seed: int, steps: int
) -> None:
    plain, compiled = _parts(seed), _parts(seed)
    records_of = plain._replace(items=plain.items.view(np.recarray))  # type: ignore[attr-defined]  # an array
    assert made(compiled, 1, steps) == walk(records_of, 1, steps)
    for one, other in zip(plain[1:], compiled[1:], strict=True):
        assert np.array_equal(cast("Any", one), cast("Any", other))


def test_an_entry_of_an_array_takes_few_instructions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before LLVM simplifies anything. numba takes 24 for an entry, and 30 more to count references."""
    monkeypatch.setenv("ALLOCSOLVE_KERNELS", str(tmp_path))  # so that it is compiled

    def one(values: IntArray, at: int) -> int:
        return int(values[at])

    def four(values: IntArray, at: int) -> int:
        return int(values[at] + values[at + 1] + values[at + 2] + values[at + 3])

    def instructions(function: Callable[[IntArray, int], int]) -> int:
        inner = inner_kernel(function)
        assert kernel(_calling(inner))(np.arange(9), 2) in {2, 14}
        (result,) = cast("Any", inner).overloads.values()
        assert isinstance(result.library, _InnerLibrary)
        return str(result.library._final_module).count("\n  ")

    assert instructions(four) - instructions(one) <= 3 * 12


def _calling(inner: Callable[[IntArray, int], int]) -> Callable[[IntArray, int], int]:
    def entry(values: IntArray, at: int) -> int:
        return inner(values, at)

    return entry
