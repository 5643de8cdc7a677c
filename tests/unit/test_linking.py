"""Inner kernels: linked into those that call them, arrays by address and shape, in few instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as npst

from allocsolve.kernels import allocating_kernel, inner_kernel, kernel
from allocsolve.kernels.linking import _EntryLibrary, _InnerLibrary
from allocsolve.kernels.records import Record, Records, records

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numba.core.dispatcher import Dispatcher
    from numpy.typing import NDArray

    from allocsolve.model import IntArray


class Parts(NamedTuple):
    grid: NDArray[np.float64]
    marks: NDArray[np.bool_]
    few: tuple[NDArray[np.int32], int]


@inner_kernel
def digest(parts: Parts, weight: int) -> float:
    """Return a number that depends on every entry and its place, on the shape, size and strides."""
    grid, (few, number) = parts.grid, parts.few
    total = 0.0
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            total += grid[i, j] * (1 + i + 10 * j)
    for i in range(len(parts.marks)):
        total += 1000 * (i + 1) if parts.marks[i] else 0
    for i in range(len(few)):
        total += few[i] * (i + 1)
    layout = grid.size + 3 * grid.strides[0] + 7 * grid.strides[1] + 11 * few.itemsize + 13 * few.nbytes
    return total + layout + weight * number


@kernel
def digest_of(parts: Parts) -> float:
    return digest(parts, 2) + digest(parts, parts.few[1])


@given(
    grid=npst.arrays(np.float64, npst.array_shapes(min_dims=2, max_dims=2), elements=st.integers(-99, 99)),
    marks=npst.arrays(np.bool_, st.integers(0, 5)),
    few=npst.arrays(np.int32, st.integers(0, 5)),
    number=st.integers(-99, 99),
)
def test_what_an_inner_kernel_sees_of_arrays_is_what_numpy_says(
    grid: NDArray[np.float64], marks: NDArray[np.bool_], few: NDArray[np.int32], number: int
) -> None:
    def told(weight: int) -> float:
        places = 1 + np.arange(grid.shape[0])[:, None] + 10 * np.arange(grid.shape[1])
        layout = grid.size + 3 * grid.shape[1] * 8 + 7 * 8 + 11 * few.itemsize + 13 * few.nbytes
        listed = few.astype(np.int64) * np.arange(1, len(few) + 1)
        entries = (grid * places).sum() + 1000 * (np.flatnonzero(marks) + 1).sum() + listed.sum()
        return float(entries + layout + weight * number)

    made = digest_of(Parts(grid, marks, (few, number)))
    assert made == pytest.approx(told(2) + told(number), rel=1e-12)


@inner_kernel
def fill(values: IntArray, first: int) -> None:
    for i in range(len(values)):
        values[i] = first + i


@allocating_kernel
def counted(first: int, count: int) -> IntArray:
    values = np.empty(count, dtype=np.int64)
    fill(values, first)
    return values


@kernel
def counted_from(first: int, count: int) -> IntArray:
    values = counted(first, count)
    fill(values[1:], first + 2)
    return values


def test_what_an_inner_kernel_allocates_belongs_to_whom_it_is_returned() -> None:
    kept = [counted_from(first, 2000) for first in range(200)]
    for first, values in enumerate(kept):
        assert values[0] == first
        assert values[1:].tolist() == list(range(first + 2, first + 2001))


@inner_kernel
def failing(value: int) -> int:
    if value > 2:
        raise ValueError("too much")
    return value


@kernel
def failing_entry(value: int) -> int:
    return failing(value) + failing(1)


def test_what_an_inner_kernel_raises_comes_out() -> None:
    assert failing_entry(2) == 3
    with pytest.raises(ValueError, match="too much"):
        failing_entry(3)


def _libraries(function: Any) -> list[Any]:
    return [result.library for result in cast("Dispatcher", function).overloads.values()]


def test_inner_kernels_are_not_optimised_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inner functions have neither machine code nor a name of their own in that of the entry kernel."""
    monkeypatch.setenv("ALLOCSOLVE_KERNELS", str(tmp_path))  # so that it is compiled
    fresh = kernel(cast("Dispatcher", failing_entry).py_func)
    assert fresh(1) == 2
    (entry,) = _libraries(fresh)
    assert isinstance(entry, _EntryLibrary)
    inner = _libraries(failing)
    assert inner
    assert all(isinstance(library, _InnerLibrary) for library in inner)
    assert not any(library._compiled for library in inner)
    exported = {one.name for one in entry.get_defined_functions() if one.linkage.name == "external"}
    assert exported
    assert not any("failing" in name and "entry" not in name for name in exported)


def test_constants_and_narrow_integers_are_compiled_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLOCSOLVE_KERNELS", str(tmp_path))

    @inner_kernel
    def doubled(value: int) -> int:
        return 2 * value

    @kernel
    def many(values: NDArray[np.int32]) -> int:
        return doubled(3) + doubled(values[0]) + doubled(values[0] + 1) + doubled(len(values))

    assert many(np.array([5], dtype=np.int32)) == 6 + 10 + 12 + 2
    assert [str(args) for args in cast("Dispatcher", doubled).overloads] == ["(int64,)"]


class Item(Record):
    weight: float
    count: int


class All(NamedTuple):
    values: IntArray
    grid: IntArray
    cube: NDArray[np.float64]
    marks: NDArray[np.bool_]
    few: NDArray[np.int32]
    items: Records[Item]


def walk(parts: All, start: int, steps: int) -> float:
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
def inner_walk(parts: All, start: int, steps: int) -> float:
    """Do the same as an inner kernel, which takes arrays by their addresses."""
    return _walk(parts, start, steps)


@allocating_kernel
def counting_walk(parts: All, start: int, steps: int) -> float:
    """Do the same as a kernel that counts references."""
    copied = np.empty(len(parts.values), dtype=np.int64)
    for idx in range(len(copied)):
        copied[idx] = parts.values[idx]
    rest = All(copied, parts.grid, parts.cube, parts.marks, parts.few, parts.items)
    return _counted_walk(rest, start, steps)


_walk = inner_kernel(walk)
_counted_walk = allocating_kernel(walk)
_entry_walk = kernel(walk)


@kernel
def walk_by_inner(parts: All, start: int, steps: int) -> float:
    return inner_walk(parts, start, steps)


@kernel
def walk_by_counting(parts: All, start: int, steps: int) -> float:
    return counting_walk(parts, start, steps)


def _parts(seed: int) -> All:
    random = np.random.default_rng(seed)
    lengths = random.integers(2, 6, 5)
    items = records(Item, int(lengths[4]), weight=random.integers(0, 9, lengths[4]))
    return All(
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
    made: Callable[[All, int, int], float], seed: int, steps: int
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
