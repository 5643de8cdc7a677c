"""The step function of free nodes says what a list with a number for each second says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, strategies as st
from kernel_tools import entry

from allocsolve.kernels import bisect_right, kernel, select, sort_by_keys
from allocsolve.kernels.free_nodes import (
    CHUNK,
    FreeNodes,
    append,
    change,
    earliest,
    forget_past,
    free_steps,
    has_room,
    least_free,
    limit_free,
    new_free_nodes,
    restart,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


class FreeBySecond:
    """Free nodes in each second of a span at whose end all nodes are free."""

    def __init__(self, num_nodes: int, seconds: int) -> None:
        self.free = np.full(seconds, num_nodes)

    def change(self, start: int, end: int, nodes: int) -> None:
        """Add free nodes from start to end."""
        self.free[start:end] += nodes

    def earliest(self, submit: int, nodes: int, seconds: int, known: float) -> float:
        """Return the first second from which the nodes are free for this long, or until `known`."""
        start = submit
        while start < known:
            end = int(min(start + seconds, known, len(self.free)))
            if (self.free[start:end] >= nodes).all():
                return start
            start += 1
        return known


change_nodes, earliest_time, forget = entry(change), entry(earliest), entry(forget_past)
begin_again, append_step = entry(restart), entry(append)
least_of, limit_to, room_for = entry(least_free), entry(limit_free), entry(has_room)


def by_second(profile: FreeNodes, seconds: int) -> list[int]:
    """Return the free nodes of each second."""
    free = np.zeros(seconds, dtype=np.int64)
    for chunk in profile.chunks[: profile.numbers["used"]]:
        steps = profile.steps[chunk["first"] : chunk["last"]]
        assert len(steps)
        assert chunk["room"] <= chunk["first"]
        assert chunk["last"] <= chunk["room"] + CHUNK
        assert steps["time"][0] == chunk["begin"]
        if profile.numbers["used"] > 1:
            assert chunk["low"] <= steps["free"].min() + chunk["shift"]
            assert chunk["high"] >= steps["free"].max() + chunk["shift"]
        for step in steps:
            free[int(step["time"]) :] = step["free"] + chunk["shift"]
    return free.tolist()


@given(seed=st.integers(0, 2**32), jobs=st.sampled_from([5, 40, 400]), longest=st.sampled_from([3, 30]))
def test_it_is_the_list_of_seconds(seed: int, jobs: int, longest: int) -> None:
    rng = np.random.default_rng(seed)
    num_nodes = int(rng.integers(1, 20))
    horizon = 2 * jobs * longest + longest + 10
    profile, naive = new_free_nodes(num_nodes, jobs), FreeBySecond(num_nodes, horizon)
    now, start = 0, 0
    held: list[tuple[int, int, int]] = []
    for _ in range(2 * jobs):
        kind = rng.random()
        if kind < 0.6 and len(held) < jobs:
            nodes, seconds = int(rng.integers(1, num_nodes + 1)), int(rng.integers(1, longest + 1))
            submit = now if kind < 0.5 else now + int(rng.integers(0, jobs))
            found = earliest_time(profile, submit, nodes, seconds, np.inf)
            assert found == naive.earliest(submit, nodes, seconds, np.inf)
            held.append((int(found), int(found) + seconds, nodes))
            sign = -1
        elif held:
            start, end, nodes = held.pop(int(rng.integers(0, len(held))))
            if kind < 0.8 and start >= now:  # put back at its earliest place
                new = earliest_time(profile, now, nodes, end - start, start)
                assert new == naive.earliest(now, nodes, end - start, start)
                change_nodes(profile, float(start), float(end), nodes)
                naive.change(start, end, nodes)
                end += int(new) - start
                start, sign = int(new), -1
                held.append((start, end, nodes))
            else:
                start, sign = max(start, now), 1
        else:
            continue
        if sign < 0:
            start, end, nodes = held[-1]
        change_nodes(profile, float(start), float(end), sign * nodes)
        naive.change(start, end, sign * nodes)
        if rng.random() < 0.2:
            now += int(rng.integers(0, longest))
            forget(profile, float(now))
        if jobs < CHUNK or rng.random() < 0.05:
            assert by_second(profile, horizon)[now:] == naive.free[now:].tolist()


def test_long_functions_are_cut_and_joined_again() -> None:
    profile = new_free_nodes(1, 2 * CHUNK)
    for second in range(2 * CHUNK):
        change_nodes(profile, 2.0 * second, 2.0 * second + 1, -1)
    assert profile.numbers["used"] > 3
    change_nodes(profile, 0.0, 4.0 * CHUNK, 1)
    assert earliest_time(profile, 0.0, 2, 1.0, np.inf) == 1
    change_nodes(profile, 0.0, 4.0 * CHUNK, -1)
    for second in range(2 * CHUNK):
        change_nodes(profile, 2.0 * second, 2.0 * second + 1, 1)
    assert profile.numbers["used"] == 1


@given(seed=st.integers(0, 2**32), count=st.sampled_from([1, 5, 3 * CHUNK]))
def test_a_plan_that_is_written_anew_is_the_list_of_seconds(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    profile = new_free_nodes(9, 4 * count)
    for _ in range(2):  # the second time over the chunks of the first
        now = int(rng.integers(0, 9))
        times = now + np.cumsum(rng.integers(1, 4, count))
        horizon = int(times[-1]) + 9
        steps = rng.integers(-9, 10, count + 1)
        begin_again(profile, float(now), int(steps[0]))
        free = np.full(horizon, steps[0])
        for time, nodes in zip(times.tolist(), steps[1:].tolist(), strict=True):
            append_step(profile, float(time), nodes)
            free[time:] = nodes
        for _ in range(20):
            start, end = sorted(rng.choice(np.arange(now, horizon), 2, replace=False).tolist())
            least = free[start:end].min()
            assert least_of(profile, float(start), float(end)) == least
            for needed in (int(least), int(least) + 1):
                assert room_for(profile, float(start), float(end), needed) == (needed <= least)
            nodes = int(rng.integers(-9, 10))
            limit_to(profile, float(start), float(end), nodes)
            free[start:end] = np.minimum(free[start:end], nodes)
            assert by_second(profile, horizon)[now:] == free[now:].tolist()


@given(seed=st.integers(0, 2**32), steps=st.sampled_from([1, 3, 64, 65, 300]))
def test_steps_that_are_given_are_those_of_the_list(seed: int, steps: int) -> None:
    """Also after changes, for which there is room."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.integers(1, 4, steps)).astype(np.float64) - 1.0
    times[0] = 0.0
    nodes = np.cumsum(rng.choice([-1, 1], steps)) + steps
    horizon = int(times[-1]) + 50
    profile, naive = free_steps(times, nodes, steps + 20), FreeBySecond(0, horizon)
    for time, free in zip(times.tolist(), nodes.tolist(), strict=True):
        naive.free[int(time) :] = free
    assert by_second(profile, horizon) == naive.free.tolist()
    for _ in range(20):
        start = int(rng.integers(0, horizon - 1))
        end, less = int(rng.integers(start + 1, horizon)), -int(rng.integers(1, 5))
        change_nodes(profile, float(start), float(end), less)
        naive.change(start, end, less)
        assert earliest_time(profile, 0, steps, 3, horizon) == naive.earliest(0, steps, 3, horizon)
    assert by_second(profile, horizon) == naive.free.tolist()


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
