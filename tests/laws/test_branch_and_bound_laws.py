"""Laws of branch and bound: optima against brute force, bounds at any budget, kernels against slow twins."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import naive_cuts
import naive_partition as naive
import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kernel_tools import entry
from nearest_tools import with_swaps
from strategies import partition_problems, partitions

from allocsolve.exact.partition import _kernels_cuts as cuts
from allocsolve.exact.partition import _kernels_leaf as leaf
from allocsolve.exact.partition import _kernels_relaxation as relaxation
from allocsolve.exact.partition import _kernels_ring as rings
from allocsolve.exact.partition._cut_model import cases
from allocsolve.exact.partition._cut_search import CutSearch
from allocsolve.exact.partition._kernels_star import NONE, stars
from allocsolve.exact.partition.branch_and_bound import PartitionBranchAndBound
from allocsolve.heuristics.partition.lattice import lattice
from allocsolve.judge import confirm
from allocsolve.model import Budget, Mesh, PartitionProblem, Status, Topology, Torus, frozen, terms

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from allocsolve.exact.partition._cut_model import Case
    from allocsolve.model import IntArray

problems = partition_problems(contiguous=None)

sort_cells = entry(relaxation.sort_cells)
evaluate = entry(relaxation.evaluate)
restrict = entry(relaxation.restrict)
forward = entry(cuts.forward)
backward = entry(cuts.backward)
trace = entry(cuts.trace)
trim = entry(cuts.trim)
pass_through = entry(cuts.pass_through)
solve_ring = entry(rings.solve_ring)
restrict_ring = entry(rings.restrict_ring)
fill = entry(leaf.fill)
keep_reachable = entry(leaf.keep_reachable)
least_component = entry(leaf.least_component)
is_connected = entry(leaf.is_connected)


def optimum(problem: PartitionProblem) -> int | None:
    result = PartitionBranchAndBound()(problem, Budget())
    confirm(problem, result, ("pairwise",))
    assert result.status in (Status.OPTIMAL, Status.INFEASIBLE)
    assert result.limit is None
    return None if result.objective is None else int(terms(result.objective)[0])


@settings(max_examples=300)
@given(problems)
@example(PartitionProblem.of(Torus((5, 3)), busy=[0, 4, 8], size=5))
@example(PartitionProblem.of(Mesh((3, 3)), busy=[4], size=5, contiguous=True))
@example(PartitionProblem.of(Mesh((3, 1, 3)), busy=[3, 4, 5], size=4, contiguous=True))
def test_the_optimum_is_that_of_brute_force(problem: PartitionProblem) -> None:
    assert optimum(problem) == naive.optimum(problem)


@settings(max_examples=100)
@given(partition_problems(max_nodes=20, max_size=5, contiguous=None), st.booleans())
def test_the_optimum_of_larger_machines_is_that_of_brute_force(
    problem: PartitionProblem, linked: bool
) -> None:
    problem = replace(problem, contiguous=linked)
    assert optimum(problem) == naive.optimum(problem)


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


@settings(max_examples=25)
@given(st.integers(0, 2**31), st.integers(2, 48), st.floats(0, 0.6), st.booleans(), st.floats(1e-5, 0.01))
def test_bound_optimum_and_heuristic_are_in_this_order(
    seed: int, size: int, busy: float, ring: bool, seconds: float
) -> None:
    topology = Topology((10, 12), (ring, False))
    size = min(size, 12) if ring else size
    free = np.random.default_rng(seed).random(120) >= busy
    problem = PartitionProblem(topology, free, min(size, int(free.sum())))
    early = PartitionBranchAndBound()(problem, Budget(seconds=seconds))
    best = optimum(problem)
    assert best is not None
    nodes = with_swaps(topology, problem.free, problem.size)
    assert early.bound <= best <= naive.pairwise(topology, nodes.tolist())  # type: ignore[operator]  # the value of one term is a number


@settings(max_examples=30)
@given(partition_problems(max_nodes=40, contiguous=None, max_size=16), st.data())
def test_reflection_and_rotation_keep_the_optimum(problem: PartitionProblem, data: st.DataObject) -> None:
    topology = problem.topology
    grid = problem.free.reshape(topology.shape, order="F")
    for axis, (side, ring) in enumerate(zip(topology.shape, topology.wrap, strict=True)):
        if data.draw(st.booleans()):
            grid = np.flip(grid, axis)
        if ring:
            grid = np.roll(grid, data.draw(st.integers(0, side - 1)), axis)
    moved = replace(problem, free=grid.ravel(order="F"))
    assert optimum(moved) == optimum(problem)


@settings(max_examples=30)
@given(partition_problems(max_nodes=40, max_size=16), st.data())
def test_more_free_nodes_never_raise_the_optimum(problem: PartitionProblem, data: st.DataObject) -> None:
    freed = data.draw(st.sets(st.integers(0, problem.topology.num_nodes - 1)))
    free = problem.free.copy()
    free[list(freed)] = True
    more, fewer = optimum(replace(problem, free=free)), optimum(problem)
    assert more is not None
    assert fewer is not None
    assert more <= fewer


# --- The cut model ---


def case_cost(case: Case, members: set[int]) -> int:
    return naive.pairwise(
        case.topology, [i for i, node in enumerate(case.origin.tolist()) if node in members]
    )


def axis_counts(case: Case, members: set[int], medians: tuple[int, ...]) -> IntArray:
    """Counts of positions and stages of a set, as `Walks` orders them."""
    model = case.model
    walks = model.walks(medians)
    chosen = [i for i, node in enumerate(case.origin[model.nodes].tolist()) if node in members]
    counts: list[int] = []
    for t, (side, ring) in enumerate(zip(model.sides, model.rings, strict=True)):
        layers = (walks.layer_of[chosen, t] - walks.layers[t]).tolist()
        held = [layers.count(layer) for layer in range(side)]
        counts += [sum(held[:p]) for p in range(side + 1)]
        counts += naive_cuts.windows(held) if ring else []
    return np.array(counts)


@given(partition_problems(max_nodes=30), st.data())
def test_every_set_is_in_a_case_at_its_cost_and_at_some_medians(
    problem: PartitionProblem, data: st.DataObject
) -> None:
    members = set(data.draw(partitions(problem)).nodes.tolist())
    cost = naive.pairwise(problem.topology, members)
    covered = False
    for case in cases(problem.topology, problem.free, problem.size):
        in_case = case_cost(case, members)
        assert in_case >= cost
        assert in_case % case.model.parity == 0
        search = CutSearch(case, None)
        assert search.prepare(Budget().start())
        for i, medians in enumerate(np.ndindex(*search._grid)):
            low, high = case.model.intervals(search._fixed_medians(medians))
            counts = axis_counts(case, members, medians)
            weights = case.model.walks(medians).halves
            assert (weights * counts * (problem.size - counts)).sum() == 2 * in_case
            within = bool(((low <= counts) & (counts <= high)).all())
            covered = covered or (within and in_case == cost and search._stars[i] <= cost)
    assert covered


@given(partition_problems(max_nodes=24), st.data())
def test_the_relaxation_bounds_every_set_at_any_multipliers(
    problem: PartitionProblem, data: st.DataObject
) -> None:
    members = set(data.draw(partitions(problem)).nodes.tolist())
    every = list(cases(problem.topology, problem.free, problem.size))
    case = data.draw(st.sampled_from(every))
    model = case.model
    medians = tuple(data.draw(st.integers(0, side - 1)) for side in model.sides)
    walks = model.walks(medians)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31)))
    positions = sum(model.lengths)
    counts = axis_counts(case, members, medians)
    node = relaxation.Node(
        low=np.maximum(counts - rng.integers(0, 4, positions), 0),
        high=np.minimum(counts + rng.integers(0, 4, positions), problem.size),
        multipliers=rng.integers(-500, 500, positions),
        status=np.full(len(model.nodes), relaxation.OPEN, dtype=np.int8),
    )
    begins = walks.positions[:-1]
    ends = begins + model.sides
    for fixed in (begins, ends):
        node.low[fixed] = node.high[fixed] = counts[fixed]
    work = relaxation.new_work(len(model.nodes), model.sides, model.rings, model.size)
    ring_tables = relaxation.new_ring_tables(model.sides, model.rings, model.size) if case.on_rings else None
    assert sort_cells(walks, node, work, model.size)
    bound = evaluate(walks, node, work, ring_tables, model.size)
    cost = cuts.SCALE * case_cost(case, members)
    assert bound <= cost
    assert len(set(work.chosen[: model.size].tolist())) == model.size
    # narrowing keeps what costs no more than the slack allows
    assert restrict(walks, node, work, ring_tables, model.size, cost - bound) >= 0
    assert ((node.low <= counts) & (counts <= node.high)).all()
    for cell, place in enumerate(case.origin[model.nodes].tolist()):
        assert node.status[cell] != (relaxation.OUT if place in members else relaxation.FORCED)


# --- Kernels against twins ---


@st.composite
def axes(draw: DrawFn, *, ring: bool) -> tuple[naive_cuts.Axis, int]:
    side = draw(st.integers(3, 6) if ring else st.integers(1, 5))
    size = draw(st.integers(1, 6))
    length = 2 * side + 2 if ring else side + 1
    small = st.integers(0, size)
    # mostly loose
    low = [max(0, draw(small) - draw(st.sampled_from((0, size)))) for _ in range(length)]
    high = [min(size, draw(small) + draw(st.sampled_from((0, size)))) for _ in range(length)]
    low[0] = high[0] = 0
    low[side] = high[side] = size
    least = [draw(st.integers(0, 1)) for _ in range(side)]
    greatest = [draw(st.integers(a, max(size, a))) for a in least]
    prices = st.integers(-300, 300)
    costs = [[draw(prices) for _ in range(b + 1)] for b in greatest]
    multipliers = [draw(prices) for _ in range(side + 1)]
    return naive_cuts.Axis(side, ring, low, high, multipliers, least, greatest, costs), size


def arrays(axis: naive_cuts.Axis, size: int) -> cuts.Axis:
    """The axis as kernels take it."""
    if axis.ring:
        halves = (
            [0] * (axis.side + 1) + ([1] * axis.side if axis.side % 2 else [2, 0] * (axis.side // 2)) + [0]
        )
    else:
        halves = [0, *[2] * (axis.side - 1), 0]
    flat = [cost for costs in axis.costs for cost in costs]
    offsets = np.cumsum([0, *map(len, axis.costs)])[:-1]
    multipliers = [*axis.multipliers, *[0] * (len(halves) - axis.side - 1)]
    every = (axis.low, axis.high, halves, multipliers, axis.least, axis.greatest, flat, offsets)
    low, high, weights, paid, least, greatest, costs, offsets = (
        np.array(array, dtype=np.int64) for array in every
    )
    return cuts.Axis(low, high, weights, paid, least, greatest, costs, offsets, size)


@given(axes(ring=False), st.integers(0, 20_000))
def test_programs_of_a_line(drawn: tuple[naive_cuts.Axis, int], slack: int) -> None:
    axis, size = drawn
    walks = list(naive_cuts.all_walks(axis, size, cuts.SCALE))
    packed = arrays(axis, size)
    ahead, behind = np.zeros((2, axis.side + 1, size + 1), dtype=np.int64)
    best = forward(ahead, packed)
    if not walks:
        assert best >= cuts.INFINITE // 2
        return
    assert best == min(walk.cost for walk in walks)
    counts = np.zeros(axis.side + 1, dtype=np.int64)
    trace(ahead, packed, counts)
    assert tuple(counts.tolist()) in {walk.counts for walk in walks if walk.cost == best}
    backward(behind, packed)
    through = np.zeros((axis.side, size + 2), dtype=np.int64)
    pass_through(ahead, behind, packed, through)
    assert_through(axis, walks, through)
    removed = trim(ahead, behind, packed, best + slack)
    assert_trimmed(axis, walks, best + slack, packed.low, packed.high, removed)


@given(axes(ring=True), st.integers(0, 20_000))
def test_programs_of_a_ring(drawn: tuple[naive_cuts.Axis, int], slack: int) -> None:
    axis, size = drawn
    walks = list(naive_cuts.all_walks(axis, size, cuts.SCALE))
    packed = arrays(axis, size)
    tables = np.zeros((2, axis.side + 1, (size + 2) ** 2 // 4), dtype=np.int64)
    counts = np.zeros(2 * axis.side + 2, dtype=np.int64)
    best = solve_ring(tables, packed, counts)
    if not walks:
        assert best >= cuts.INFINITE // 2
        return
    assert best == min(walk.cost for walk in walks)
    assert tuple(counts.tolist()) in {walk.counts for walk in walks if walk.cost == best}
    through = np.zeros((axis.side, size + 2), dtype=np.int64)
    reach = np.zeros((2 * axis.side + 2, 2), dtype=np.int64)
    removed = restrict_ring(tables, packed, best + slack, through, reach)
    cheap = [walk for walk in walks if walk.cost <= best + slack]
    assert_through(axis, walks, through, limit=best + slack)
    assert_trimmed(axis, cheap, best + slack, packed.low, packed.high, removed)


def assert_through(
    axis: naive_cuts.Axis, walks: list[naive_cuts.Walk], through: IntArray, limit: int | None = None
) -> None:
    """Each entry is the least cost of the walks with so many nodes in the layer, exact up to the limit."""
    for layer in range(axis.side):
        for q in range(axis.least[layer], axis.greatest[layer] + 1):
            costs = [walk.cost for walk in walks if walk.held[layer] == q]
            least = min(costs, default=cuts.INFINITE // 2)
            if costs and (limit is None or least <= limit):
                assert through[layer, q] == least
            else:
                assert through[layer, q] > (cuts.INFINITE // 3 if limit is None else limit)


def assert_trimmed(
    axis: naive_cuts.Axis,
    walks: list[naive_cuts.Walk],
    limit: int,
    low: IntArray,
    high: IntArray,
    removed: int,
) -> None:
    """The intervals are the hull of the counts of the walks within the limit."""
    within = np.array([walk.counts for walk in walks if walk.cost <= limit])
    assert low.tolist() == within.min(axis=0).tolist()
    assert high.tolist() == within.max(axis=0).tolist()
    assert removed == (low - axis.low + axis.high - high).sum()


@given(partition_problems(max_nodes=24), st.lists(st.integers(0, 4), min_size=3, max_size=3))
def test_stars_are_sums_of_the_nearest_with_one_far_along_each_ring(
    problem: PartitionProblem, drawn: list[int]
) -> None:
    topology, num = problem.topology, problem.topology.num_nodes
    reach = [r if ring else 0 for r, ring in zip(drawn, topology.wrap, strict=False)]
    totals = np.zeros(num, dtype=np.int64)
    stars(lattice(topology), problem.free, problem.size, np.array(reach), 0, num, totals)
    free = naive.free_nodes(problem)
    for node in range(num):
        distances = naive.distances(topology, node)
        expected = sum(sorted(distances[other] for other in free)[: problem.size])
        for axis, (side, least) in enumerate(zip(topology.shape, reach, strict=True)):
            here, *there = topology.coordinates([node, *free])[:, axis].tolist()
            far = [
                other
                for other, c in zip(free, there, strict=True)
                if naive_cuts.ring_hops(here, c, side, ring=True) >= least
            ]
            if least and not far:
                expected = NONE
            elif least:
                nearest = min(far, key=lambda other: distances[other])
                others = sorted(distances[other] for other in free if other != nearest)
                with_far = distances[nearest] + sum(others[: problem.size - 1])
                expected = max(expected, with_far)
        assert totals[node] == expected


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
    is_filled = fill(states, ends, np.array(demands, dtype=np.int64), chosen)
    assert is_filled == bool(possible)
    if is_filled:
        assert set(chosen[: sum(demands[:3])].tolist()) in possible


@given(partition_problems(max_nodes=14, contiguous=True), st.data())
def test_reach_keeps_every_connected_set(problem: PartitionProblem, data: st.DataObject) -> None:
    topology = problem.topology
    grid = lattice(topology)
    status = np.where(problem.free, relaxation.OPEN, relaxation.OUT).astype(np.int8)
    forced = set(data.draw(st.lists(st.sampled_from(naive.free_nodes(problem)), max_size=3)))
    status[list(forced)] = relaxation.FORCED
    before = status.copy()
    sets = [chosen for chosen in naive.answers(problem) if forced <= set(chosen)]
    left = keep_reachable(grid.offsets, grid.neighbours, status, problem.size)
    assert left or not sets
    if left:
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
