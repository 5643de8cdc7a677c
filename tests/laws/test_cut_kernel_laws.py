"""The kernels of branch and bound against their slow twins: programs of an axis, stars, cells, components."""

from __future__ import annotations

import naive_cuts
import naive_partition as naive
import numpy as np
import pytest
from hypothesis import given, strategies as st
from kernel_tools import entry
from naive_cuts import assert_through, assert_trimmed, axes
from strategies import partition_problems, partitions

from allocsolve.exact.partition import (
    _kernels_relaxation as relaxation,
    _kernels_search as leaf,
)
from allocsolve.exact.partition._cut_search import stars
from allocsolve.heuristics.partition.allocator import lattice
from allocsolve.model import PartitionProblem, frozen

forward = entry(relaxation.forward)
backward = entry(relaxation.backward)
trace = entry(relaxation.trace)
trim = entry(relaxation.trim)
pass_through = entry(relaxation.pass_through)
forward_ring = entry(relaxation.forward_ring)
backward_ring = entry(relaxation.backward_ring)
trace_ring = entry(relaxation.trace_ring)
fill = entry(leaf.fill)
keep_reachable = entry(leaf.keep_reachable)
least_component = entry(leaf.least_component)
is_connected = entry(leaf.is_connected)


def arrays(axis: naive_cuts.Axis, size: int) -> relaxation.Axis:
    """The axis as kernels take it."""
    if axis.ring:
        halves = [*([1] * axis.side if axis.side % 2 else [2, 0] * (axis.side // 2)), 0]
    else:
        halves = [0, *[2] * (axis.side - 1), 0]
    flat = [cost for costs in axis.costs for cost in costs]
    offsets = np.cumsum([0, *map(len, axis.costs)])[:-1]
    every = (axis.low, axis.high, halves, axis.multipliers, axis.least, axis.greatest, flat, offsets)
    low, high, weights, paid, least, greatest, costs, offsets = (
        np.array(array, dtype=np.int64) for array in every
    )
    return relaxation.Axis(low, high, weights, paid, least, greatest, costs, offsets, size)


@pytest.mark.parametrize("ring", [False, True])
@given(data=st.data(), slack=st.integers(0, 20_000))
def test_programs_of_a_line_and_of_a_ring(ring: bool, data: st.DataObject, slack: int) -> None:
    axis, size = data.draw(axes(ring=ring))
    walks = list(naive_cuts.all_walks(axis, size, relaxation.SCALE))
    packed = arrays(axis, size)
    ahead, behind = np.zeros((2, axis.side + 1, size + 1), dtype=np.int64)
    best = (forward_ring if ring else forward)(ahead, packed)
    if not walks:
        assert best >= relaxation.INFINITE // 2
        return
    assert best == min(walk.cost for walk in walks)
    counts = np.zeros(axis.side + 1, dtype=np.int64)
    (trace_ring if ring else trace)(ahead, packed, counts)
    assert tuple(counts.tolist()) in {walk.counts for walk in walks if walk.cost == best}
    (backward_ring if ring else backward)(behind, packed)
    if not ring:
        through = np.zeros((axis.side, size + 2), dtype=np.int64)
        pass_through(ahead, behind, packed, through)
        assert_through(axis, walks, through)
    removed = trim(ahead, behind, packed, best + slack)
    assert_trimmed(axis, walks, best + slack, packed.low, packed.high, removed)


@given(partition_problems(max_nodes=24))
def test_stars_are_sums_of_the_nearest(problem: PartitionProblem) -> None:
    topology, num = problem.topology, problem.topology.num_nodes
    totals = np.zeros(num, dtype=np.int64)
    stars(lattice(topology), problem.free, problem.size, 0, num, totals)
    free = naive.free_nodes(problem)
    for node in range(num):
        distances = naive.distances(topology, node)
        assert totals[node] == sum(sorted(distances[other] for other in free)[: problem.size])


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(3, 5), st.integers(0, 2)), min_size=1, max_size=8),
    st.data(),
)
def test_fill_finds_cells_for_counts(drawn: list[tuple[int, int, int]], data: st.DataObject) -> None:
    cells = [(a, b) for a, b, _ in drawn]
    states = np.array([state for *_, state in drawn], dtype=np.int8)
    usual = [i for i, state in enumerate(states) if state != relaxation.OUT and data.draw(st.booleans())]
    demands = [sum(layer in cells[i] for i in usual) for layer in range(6)]
    if data.draw(st.booleans()):
        demands[data.draw(st.integers(0, 5))] += 1
    possible = [
        chosen
        for chosen in naive_cuts.fillings(cells, demands)
        if all(
            state == relaxation.OPEN or (state == relaxation.FORCED) == (i in chosen)
            for i, state in enumerate(states.tolist())
        )
    ]
    chosen = np.zeros(len(cells), dtype=np.int64)
    ends = np.array(cells, dtype=np.int64)
    scarce = np.zeros(len(demands), dtype=np.bool_)
    is_filled = fill(states, ends, np.array(demands, dtype=np.int64), chosen, scarce)
    assert is_filled == bool(possible)
    if is_filled:
        assert set(chosen[: sum(demands[:3])].tolist()) in possible
    elif scarce.any():  # layers of the first axis must have more cells in these of the second than fit
        left = np.array(demands)
        for cell in np.flatnonzero(states == relaxation.FORCED):
            left[ends[cell]] -= 1
        first = np.arange(len(demands)) < 3
        elsewhere = sum(
            scarce[one] and not scarce[other] and state == relaxation.OPEN
            for (one, other), state in zip(cells, states.tolist(), strict=True)
        )
        assert left[scarce & first].sum() - elsewhere > left[scarce & ~first].sum()


@given(partition_problems(max_nodes=14, contiguous=True), st.data())
def test_reach_keeps_every_connected_set(problem: PartitionProblem, data: st.DataObject) -> None:
    topology = problem.topology
    grid = lattice(topology)
    status = np.where(problem.free, relaxation.OPEN, relaxation.OUT).astype(np.int8)
    forced = set(data.draw(st.lists(st.sampled_from(naive.free_nodes(problem)), max_size=3)))
    status[list(forced)] = relaxation.FORCED
    before = status.copy()
    sets = [chosen for chosen in naive.answers(problem) if forced <= set(chosen)]
    gone = keep_reachable(grid.offsets, grid.neighbours, status, problem.size, max(forced, default=-1))
    assert gone >= 0 or not sets
    if gone >= 0:
        assert gone == (status != before).sum()
        present = set(np.flatnonzero(status != relaxation.OUT).tolist())
        assert all(set(chosen) <= present for chosen in sets)
        assert (status[status != relaxation.OUT] == before[status != relaxation.OUT]).all()


@given(partition_problems(max_nodes=14), st.data())
def test_the_least_component_is_one_of_least_size(problem: PartitionProblem, data: st.DataObject) -> None:
    topology = problem.topology
    members = data.draw(partitions(problem)).nodes
    grid = lattice(topology)
    component = least_component(grid.offsets, grid.neighbours, frozen(members.copy()))
    parts = naive.components(topology, members.tolist())
    assert set(component.tolist()) in parts
    assert len(component) == min(map(len, parts))
    assert is_connected(grid.offsets, grid.neighbours, members) == (len(parts) == 1)
