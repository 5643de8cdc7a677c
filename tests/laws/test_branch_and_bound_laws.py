"""Laws of branch and bound on partitions, and of its kernels for cuts."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import naive_cuts
import naive_partition as naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from kernel_tools import entry
from naive_cuts import assert_through, assert_trimmed, axes
from random_toys import partition_toy
from strategies import partition_problems, partitions
from tiers import draws, examples

from allocsolve.exact.partition import (
    _kernels_relaxation as relaxation,
    _kernels_search as leaf,
)
from allocsolve.exact.partition._cut_search import CutSearch, cut_model, stars, with_line
from allocsolve.exact.partition.branch_and_bound import PartitionBranchAndBound
from allocsolve.heuristics.partition.allocator import lattice
from allocsolve.judge import confirm
from allocsolve.model import Budget, PartitionProblem, Status, frozen, terms

if TYPE_CHECKING:
    from allocsolve.exact.partition._cut_search import CutModel
    from allocsolve.exact.partition._kernels_relaxation import Walks
    from allocsolve.model import IntArray


problems = partition_problems(contiguous=None)

sort_cells = entry(relaxation.sort_cells)
evaluate = entry(relaxation.evaluate)
restrict = entry(relaxation.restrict)


def optimum(problem: PartitionProblem) -> int | None:
    result = PartitionBranchAndBound()(problem, Budget())
    confirm(problem, result, ("pairwise",))
    assert result.status in (Status.OPTIMAL, Status.INFEASIBLE)
    assert result.limit is None
    return None if result.objective is None else int(terms(result.objective)[0])


@settings(max_examples=examples(100))
@given(partition_problems(max_nodes=20, max_size=5, contiguous=None), st.booleans())
def test_the_optimum_of_larger_machines_is_that_of_brute_force(
    problem: PartitionProblem, linked: bool
) -> None:
    problem = replace(problem, contiguous=linked)
    assert optimum(problem) == naive.optimum(problem)


def test_two_thousand_lines_and_rings_have_the_optima_of_brute_force() -> None:
    rng = random.Random(0)
    for number in draws(2000):
        problem = partition_toy(rng)
        assert optimum(problem) == naive.optimum(problem), (number, problem)


@given(problems, st.floats(1e-6, 1e-3))
def test_the_bound_holds_at_any_budget(problem: PartitionProblem, seconds: float) -> None:
    result = PartitionBranchAndBound()(problem, Budget(seconds=seconds))
    best = naive.optimum(problem)
    confirm(problem, result, ("pairwise",))
    if best is None:
        assert result.status is Status.INFEASIBLE
    else:
        assert isinstance(result.bound, int)
        assert result.bound <= best


# --- The cut model ---


def axis_counts(model: CutModel, members: set[int], medians: tuple[int, ...]) -> IntArray:
    """Counts of a set, as `Walks` orders them."""
    walks = model.walks(medians)
    chosen = [i for i, node in enumerate(model.nodes.tolist()) if node in members]
    counts: list[int] = []
    for t, (side, ring) in enumerate(zip(model.sides, model.rings, strict=True)):
        layers = (walks.layer_of[chosen, t] - walks.layers[t]).tolist()
        held = [layers.count(layer) for layer in range(side)]
        counts += naive_cuts.windows(held) if ring else [sum(held[:p]) for p in range(side + 1)]
    return np.array(counts)


def model_layers(model: CutModel, walks: Walks) -> list[int]:
    """The counts behind the first one of complete axes: what they grow by is a layer."""
    starts = zip(walks.positions.tolist(), model.sides, model.complete, strict=False)
    return [p for start, side, full in starts if full for p in range(start + 1, start + side + 1)]


@given(partition_problems(max_nodes=30), st.data())
def test_every_set_has_its_cost_in_the_model_and_is_within_the_intervals_of_some_medians(
    problem: PartitionProblem, data: st.DataObject
) -> None:
    members = set(data.draw(partitions(problem)).nodes.tolist())
    cost = naive.pairwise(problem.topology, members)
    search = CutSearch(problem, problem.free)
    model = search._model
    assert cost % model.parity == 0
    assert search.prepare(Budget().start())
    covered = False
    for i, medians in enumerate(np.ndindex(*search._grid)):
        low, high = model.intervals(search._fixed_medians(medians))
        counts = axis_counts(model, members, medians)
        walks = model.walks(medians)
        held = np.diff(counts, prepend=0)[np.isin(np.arange(len(counts)), model_layers(model, walks))]
        crossing = (walks.halves * counts * (problem.size - counts)).sum()
        assert crossing + (held * (problem.size - held)).sum() == 2 * cost
        if not model.all_lines:
            fewest, most = model.windows_within(medians, 2 * cost // problem.size)
            low, high = np.maximum(low, fewest), np.minimum(high, most)
        within = bool(((low <= counts) & (counts <= high)).all())
        covered = covered or (within and search._stars[i] <= cost)
    assert covered


@given(partition_problems(max_nodes=30), st.data())
def test_windows_hold_what_stars_of_a_length_allow(problem: PartitionProblem, data: st.DataObject) -> None:
    topology = with_line(problem.topology)
    model = cut_model(topology, problem.free, problem.size)
    members = data.draw(partitions(problem)).nodes.tolist()
    medians = tuple(data.draw(st.integers(0, side - 1)) for side in model.sides)
    centre = [0] * len(medians)
    for t, axis in enumerate(model.axes):
        centre[axis] = medians[t]
    distances = naive.distances(topology, topology.node_at(centre))
    longest = sum(distances[node] for node in members)
    counts = axis_counts(model, set(members), medians)
    low, high = model.windows_within(medians, longest)
    assert ((low <= counts) & (counts <= high)).all()
    low, high = model.windows_within(medians, min(distances) - 1)
    assert model.all_lines or (low > high).any()


@given(partition_problems(max_nodes=24), st.data())
def test_the_relaxation_bounds_every_set_at_any_multipliers(
    problem: PartitionProblem, data: st.DataObject
) -> None:
    members = set(data.draw(partitions(problem)).nodes.tolist())
    model = cut_model(with_line(problem.topology), problem.free, problem.size)
    medians = tuple(data.draw(st.integers(0, side - 1)) for side in model.sides)
    walks = model.walks(medians)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31)))
    positions = sum(model.lengths)
    counts = axis_counts(model, members, medians)
    node = relaxation.Node(
        low=np.maximum(counts - rng.integers(0, 4, positions), 0),
        high=np.minimum(counts + rng.integers(0, 4, positions), problem.size),
        multipliers=rng.integers(-500, 500, positions),
        status=np.full(len(model.nodes), relaxation.OPEN, dtype=np.int8),
    )
    for t, (begin, side) in enumerate(zip(walks.positions[:-1], model.sides, strict=True)):
        if not model.rings[t]:
            for fixed in (begin, begin + side):
                node.low[fixed] = node.high[fixed] = counts[fixed]
    work = relaxation.new_work(len(model.nodes), model.sides, model.size)
    assert sort_cells(walks, node, work, model.size)
    bound = evaluate(walks, node, work, model.size)
    cost = relaxation.SCALE * naive.pairwise(problem.topology, members)
    assert bound <= cost
    assert len(set(work.chosen[: model.size].tolist())) == model.size
    # narrowing keeps what costs no more than the slack allows
    assert restrict(walks, node, work, model.size, cost - bound) >= 0
    assert ((node.low <= counts) & (counts <= node.high)).all()
    for cell, place in enumerate(model.nodes.tolist()):
        assert node.status[cell] != (relaxation.OUT if place in members else relaxation.FORCED)


# --- Cut kernel ---------------------------------------------------------------------------------------

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
