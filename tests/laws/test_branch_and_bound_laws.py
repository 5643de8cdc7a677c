"""Laws of branch and bound: optima against brute force, bounds at any budget, the cut model."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import naive_cuts
import naive_partition as naive
import numpy as np
from hypothesis import given, settings, strategies as st
from kernel_tools import entry
from random_toys import partition_toy
from strategies import partition_problems, partitions
from tiers import draws, examples

from allocsolve.exact.partition import _kernels_relaxation as relaxation
from allocsolve.exact.partition._cut_search import CutSearch, cut_model, with_line
from allocsolve.exact.partition.branch_and_bound import PartitionBranchAndBound
from allocsolve.judge import confirm
from allocsolve.model import Budget, PartitionProblem, Status, terms

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
