"""Laws of searching and selecting in arrays: what numpy says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, strategies as st

from allocsolve.kernels import bisect_right, kernel, select, sort_by_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel
def _bisect_right(values: NDArray[np.int64], count: int, value: int) -> int:
    return bisect_right(values, count, value)


@kernel
def _select(values: NDArray[np.float64], count: int, rank: int) -> float:
    return select(values, count, rank)


@kernel
def _sort_by_keys(items: NDArray[np.int64], keys: NDArray[np.float64], count: int) -> None:
    sort_by_keys(items, keys, count)


@given(st.lists(st.integers(-9, 9)), st.integers(0, 5), st.integers(-10, 10))
def test_bisect_right_is_searchsorted(values: list[int], ignored: int, value: int) -> None:
    array = np.array(sorted(values), dtype=np.int64)
    count = max(0, len(array) - ignored)
    assert _bisect_right(array, count, value) == np.searchsorted(array[:count], value, side="right")


@given(st.lists(st.integers(0, 9) | st.floats(0, 1e100), min_size=1), st.data())
def test_select_is_the_sorted_value(values: list[float], data: st.DataObject) -> None:
    array = np.array(values, dtype=np.float64)
    count = data.draw(st.integers(1, len(array)))
    rank = data.draw(st.integers(0, count - 1))
    expected = np.sort(array[:count])[rank]
    rest = array[count:].copy()
    assert _select(array, count, rank) == expected
    assert np.array_equal(array[count:], rest)


@given(st.lists(st.integers(0, 5) | st.floats(-1e100, 1e100)), st.integers(0, 5))
def test_sort_by_keys_is_a_stable_sort(values: list[float], ignored: int) -> None:
    items, keys = np.arange(len(values)), np.array(values, dtype=np.float64)
    count = max(0, len(values) - ignored)
    order = np.argsort(keys[:count], kind="stable")
    expected = [*order.tolist(), *range(count, len(values))]
    sorted_keys = keys[expected]
    _sort_by_keys(items, keys, count)
    assert items.tolist() == expected
    assert np.array_equal(keys, sorted_keys)
