"""Laws of certificates of trees: each proven optimum is confirmed, and nothing else proves more."""

from __future__ import annotations

import copy
import itertools
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import naive_cuts
import naive_partition as naive
import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from kernel_tools import entry
from naive_cuts import assert_through, axes
from strategies import partition_problems, partitions
from tiers import examples

from allocsolve.errors import InvalidAnswer
from allocsolve.exact import PartitionBranchAndBound
from allocsolve.exact.partition import _cut_search
from allocsolve.exact.partition.branch_and_bound import PartitionBranchAndBoundParams
from allocsolve.instances import uniform_occupancy
from allocsolve.judge import certified_bound, confirm
from allocsolve.judge.partition import _kernels_tree as tree
from allocsolve.judge.partition.certificate import (
    PartitionAxes,
    is_complete,
    is_line,
    is_ring,
    stars,
)
from allocsolve.model import Budget, HyperX, Mesh, PartitionProblem, Status, Topology, Torus, terms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.judge.partition._kernels_tree import Branch, Windows

SCALE = 2
problems = partition_problems(max_nodes=16, max_axes=4, max_size=7, contiguous=None)

narrow = entry(tree._narrow)
reach = entry(tree._reach)
forward = entry(tree.forward)
backward = entry(tree.backward)
least_through = entry(tree.least_through)
trim = entry(tree.trim)


# --- Certificates ---

#: Their trees have steps of all kinds.
LARGER = (
    uniform_occupancy(Mesh((16, 8)), 0.3, 16, 1),
    uniform_occupancy(Mesh((16, 8)), 0.4, 21, 3),
    uniform_occupancy(Mesh((12, 12)), 0.45, 20, 1, contiguous=True),
    uniform_occupancy(Torus((8, 8)), 0.4, 11, 1),
    uniform_occupancy(Torus((7, 7)), 0.3, 16, 4, contiguous=True),
    uniform_occupancy(Topology((5, 6, 4), (True, False, True)), 0.5, 10, 1),
    uniform_occupancy(Torus((3, 4, 3, 4)), 0.4, 8, 5),
)


def proven(
    problem: PartitionProblem, params: PartitionBranchAndBoundParams = PartitionBranchAndBoundParams()
) -> tuple[int, dict[str, Any]]:
    """Return the optimum of a problem that has an answer, and the certificate."""
    result = PartitionBranchAndBound(params)(problem, Budget())
    assert result.status is Status.OPTIMAL
    assert result.certificate is not None
    return int(terms(result.bound)[0]), copy.deepcopy(dict(result.certificate))


@settings(max_examples=examples(300))
@given(problems)
@example(PartitionProblem.of(Torus((5, 3)), busy=[0, 4, 8], size=5))
@example(PartitionProblem.of(Torus((7, 2)), busy=[0, 4, 8], size=6, contiguous=True))
@example(PartitionProblem.of(Mesh((3, 1, 3)), busy=[3, 4, 5], size=3, contiguous=True))
@example(PartitionProblem.of(Mesh((3, 1, 3)), busy=[3, 4, 5], size=4, contiguous=True))
@example(PartitionProblem.of(Mesh((3, 3)), busy=[4], size=5, contiguous=True))
@example(PartitionProblem.of(Topology((4, 1, 2), (True, True, True)), busy=[2], size=5))
@example(PartitionProblem.of(HyperX((4, 4)), busy=[0, 5, 10], size=5))
@example(
    PartitionProblem.of(Topology((3, 4), (True, False), (False, True)), busy=[2], size=5, contiguous=True)
)
def test_each_optimum_is_that_of_brute_force_and_confirmed(problem: PartitionProblem) -> None:
    result = PartitionBranchAndBound()(problem, Budget())
    best = naive.optimum(problem)
    if best is None:
        assert (result.status, result.certificate) == (Status.INFEASIBLE, None)
        return
    confirm(problem, result, ("pairwise",))
    assert (result.status, result.limit, result.objective) == (Status.OPTIMAL, None, best)
    certificate = json.loads(json.dumps(result.certificate))
    assert certified_bound(problem, certificate) == best


def test_optima_of_larger_machines_are_confirmed_by_steps_of_all_kinds() -> None:
    kinds: set[int] = set()
    for problem in LARGER:
        optimum, certificate = proven(problem)
        assert certificate["kind"] == "cut-tree"
        assert certified_bound(problem, certificate) == optimum
        kinds.update(itertools.chain.from_iterable(root["steps"][::3] for root in certificate["roots"]))
    assert kinds == set(range(6))


@pytest.mark.parametrize("topology", [Mesh((12, 12)), Torus((8, 12))])
def test_a_tree_that_is_too_large_is_left_out(monkeypatch: pytest.MonkeyPatch, topology: Topology) -> None:
    problem = uniform_occupancy(topology, 0.3, 12, 1)
    optimum = proven(problem)[0]
    monkeypatch.setattr(_cut_search, "_MAX_LOG", 100)
    result = PartitionBranchAndBound()(problem, Budget())
    assert (result.status, result.objective) == (Status.OPTIMAL, optimum)
    assert (result.certificate or {}).get("kind") is None


def test_a_search_goes_on_for_its_proof_when_a_cheap_bound_is_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cut_search, "_SLICE", 1e-5)
    problem = PartitionProblem.of(Mesh((8, 8)), size=10)
    params = PartitionBranchAndBoundParams(patience_s=0, proof_times=1e9)
    optimum, certificate = proven(problem, params)
    assert certified_bound(problem, certificate) == optimum == 96
    optimum, certificate = proven(problem, replace(params, proof_times=0))
    assert optimum == 96
    assert "kind" not in certificate


GOOD: dict[str, Any] = {"kind": "cut-tree", "axes": [0, 1], "scale": 2, "bound": 9, "roots": []}
ROOT: dict[str, Any] = {"medians": [0], "steps": [0, 0, 0], "multipliers": [0] * 4}


@pytest.mark.parametrize(
    ("change", "root", "message"),
    [
        ({"axes": [0, 0]}, {}, "axes"),
        ({"scale": 3}, {}, "scale 3"),
        ({"scale": 0}, {}, "scale 0"),
        ({"bound": 2**60}, {}, "bound .* above the cost 80 of all sets"),
        ({"roots": []}, {}, "no root for the medians"),
        ({}, {"multipliers": [0] * 3}, "multipliers of root 0 .* 4 at a time"),
        ({}, {"multipliers": [2**57] * 4}, "too large for sums of 64 bits"),
        ({}, {"steps": [0, 0]}, "steps of root 0 .* 3 at a time"),
        ({}, {"steps": []}, "make no tree"),
        ({}, {"steps": [1, 0, 0]}, "make no tree"),
        ({}, {"steps": [0, 0, 0, 0, 0, 0]}, "make no tree"),
        ({}, {"steps": [9, 0, 0, 0, 0, 0, 0, 0, 0]}, "make no tree"),
        ({}, {"steps": [1, 1, 0, 0, 0, 0]}, "names 1 in step 0, which is not in 0..0"),
        ({}, {"steps": [3, 9, 0, 0, 0, 0, 0, 0, 0]}, "names 9 in step 0, which is not in 0..8"),
        ({}, {"steps": [5, 3, 0, 0, 0, 0, 0, 0, 0]}, "names node 3, which is in no answer"),
        ({}, {"steps": [0, 0, 0]}, "proves no bound: step 0 ends"),
    ],
)
def test_malformed_certificates_are_refused(
    change: dict[str, Any], root: dict[str, Any], message: str
) -> None:
    problem = PartitionProblem.of(Mesh((4, 3)), busy=[3], size=4)
    certificate = {**GOOD, "roots": [{**ROOT, **root}], **change}
    with pytest.raises(InvalidAnswer, match=message):
        certified_bound(problem, certificate)


@pytest.mark.parametrize(
    ("limit", "number", "message"), [("_MAX_TABLE", 60, "too deep"), ("_MAX_NODES", 11, "at most 11 nodes")]
)
def test_what_is_too_large_is_refused(
    monkeypatch: pytest.MonkeyPatch, limit: str, number: int, message: str
) -> None:
    monkeypatch.setattr(f"allocsolve.judge.partition.certificate.{limit}", number)
    problem = PartitionProblem.of(Mesh((4, 3)), busy=[3], size=4)
    certificate = {**GOOD, "roots": [{**ROOT, "steps": [5, 1, 0] * 3 + [0] * 12}]}
    with pytest.raises(InvalidAnswer, match=message):
        certified_bound(problem, certificate)


# --- What the judge computes from ---


def judged(problem: PartitionProblem, data: st.DataObject) -> PartitionAxes:
    """The axes in an order that certificates may have."""
    lines = is_line(problem)
    order = data.draw(st.permutations(range(len(lines))))
    return PartitionAxes.of(problem, sorted(order, key=lambda t: lines[t] < max(lines)), SCALE)


def counts_of(windows: Windows, members: list[int]) -> list[int]:
    """The counts of a set of cells."""
    layers = [layer for cell in members for layer in windows.layer_of[cell].tolist()]
    return [
        sum(windows.enter[layer] <= p < windows.leave[layer] for layer in layers)
        for p in range(windows.counts[-1])
    ]


@given(partition_problems(max_nodes=24, max_axes=4))
def test_stars_are_the_least_distances_to_the_nearest_free_nodes(problem: PartitionProblem) -> None:
    free = naive.free_nodes(problem)
    topology = problem.topology
    found = stars(
        topology.shape, is_ring(problem), is_complete(problem), topology.coordinates(free), problem.size
    )
    for node, star in enumerate(found.ravel(order="F").tolist()):
        distances = naive.distances(topology, node)
        assert star == sum(sorted(distances[other] for other in free)[: problem.size])


@given(partition_problems(max_nodes=24, max_axes=4, contiguous=None), st.data())
def test_each_set_has_its_cost_and_belongs_to_the_first_branch_of_some_medians(
    problem: PartitionProblem, data: st.DataObject
) -> None:
    nodes = data.draw(partitions(problem)).nodes
    if naive.violates(problem, nodes.tolist()):
        return
    axes = judged(problem, data)
    cost = naive.pairwise(problem.topology, nodes.tolist())
    assert cost % axes.parity == 0
    members = np.searchsorted(axes.cells, nodes).tolist()
    covered = False
    for medians, star in axes.stars():
        windows = axes.windows(axes.layers_from(medians))
        counts = counts_of(windows, members)
        layers = np.bincount(windows.layer_of[members].ravel(), minlength=windows.layers[-1])
        crossing = sum(windows.price * counts * np.subtract(problem.size, counts))
        assert crossing + sum(windows.apart * layers * (problem.size - layers)) == SCALE * cost
        first = axes.first_counts(medians, windows, cost)
        within = first is not None and bool(((first[0] <= counts) & (counts <= first[1])).all())
        covered = covered or (within and axes.least_cost(star) <= cost)
    assert covered


def some_branch(
    windows: Windows, size: int, members: list[int], data: st.DataObject
) -> tuple[Branch, np.random.Generator]:
    """A branch that a set of cells belongs to."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31)))
    counts = np.array(counts_of(windows, members))
    status = np.full(len(windows.layer_of), tree.OPEN, dtype=np.int8)
    for cell in range(len(status)):
        if rng.random() < 0.3:
            status[cell] = tree.FORCED if cell in members else tree.OUT
    low = np.maximum(counts - rng.integers(0, 4, len(counts)), 0)
    high = np.minimum(counts + rng.integers(0, 4, len(counts)), size)
    return tree.Branch(low, high, status), rng


def sets_in(windows: Windows, branch: Branch, size: int) -> Iterator[tuple[int, ...]]:
    """All sets of a branch."""
    cells = np.flatnonzero(branch.status != tree.OUT).tolist()
    forced = set(np.flatnonzero(branch.status == tree.FORCED).tolist())
    for members in itertools.combinations(cells, size):
        counts = counts_of(windows, list(members))
        if forced <= set(members) and ((branch.low <= counts) & (counts <= branch.high)).all():
            yield members


@settings(max_examples=examples(150))
@given(partition_problems(max_nodes=12, max_size=5), st.data())
def test_multipliers_exclude_no_set_within_the_target(problem: PartitionProblem, data: st.DataObject) -> None:
    axes = judged(problem, data)
    members = np.searchsorted(axes.cells, data.draw(partitions(problem)).nodes).tolist()
    medians = data.draw(st.sampled_from([medians for medians, _ in axes.stars()]))
    windows = axes.windows(axes.layers_from(medians))
    branch, rng = some_branch(windows, axes.size, members, data)
    cost = {
        each: naive.pairwise(problem.topology, axes.cells[list(each)].tolist())
        for each in sets_in(windows, branch, axes.size)
    }
    target = cost[tuple(sorted(members))] + int(rng.integers(-4, 3))
    multipliers = rng.integers(-20, 20, windows.counts[-1] - windows.counts[1])
    left = narrow(windows, branch, axes.tables(), multipliers, axes.size, SCALE * target)
    kept = set(sets_in(windows, branch, axes.size)) if left else set()
    assert {each for each in cost if cost[each] <= target} <= kept


@settings(max_examples=examples(150))
@given(partition_problems(max_nodes=14, contiguous=True), st.data())
def test_reach_keeps_every_connected_set(problem: PartitionProblem, data: st.DataObject) -> None:
    lines = is_line(problem)
    axes = PartitionAxes.of(problem, sorted(range(len(lines)), key=lambda t: not lines[t]), 2)
    status = np.full(len(axes.cells), tree.OPEN, dtype=np.int8)
    cells = {node: cell for cell, node in enumerate(axes.cells.tolist())}
    answers = [{cells[node] for node in nodes} for nodes in naive.answers(problem)]
    if not cells:
        assert not answers
        return
    forced = data.draw(st.lists(st.sampled_from(range(len(cells))), max_size=3, unique=True))
    status[forced] = tree.FORCED
    source = data.draw(st.sampled_from(forced)) if forced else -1
    sets = [members for members in answers if set(forced) <= members]
    left = reach(axes.links, status, problem.size, source)
    assert left or not sets
    present = set(np.flatnonzero(status != tree.OUT).tolist())
    assert all(members <= present for members in sets)
    assert not left or (status[forced] == tree.FORCED).all()


# --- Walks ---


@given(axes(ring=False) | axes(ring=True) | axes(ring=False, complete=True), st.integers(0, 20_000))
def test_programs_of_walks(drawn: tuple[naive_cuts.Axis, int], slack: int) -> None:
    axis, size = drawn
    every = list(naive_cuts.all_walks(axis, size, SCALE))
    t = int(axis.ring or axis.complete)  # the main axis is a line: one layer comes before it
    sides = (1, axis.side) if t else (axis.side,)
    places = np.zeros((1, len(sides)), dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    rings, complete = ((False,) * t + (kind,) for kind in (axis.ring, axis.complete))
    judge = PartitionAxes(size, SCALE, 1, sides, rings, complete, none, places, (none, none), first_median=1)
    windows, tables = judge.windows(places), judge.tables()
    p, q = int(windows.counts[t]), int(windows.layers[t])
    low, high = np.zeros((2, windows.counts[-1]), dtype=np.int64)
    low[p:], high[p:] = axis.low, axis.high
    branch = tree.Branch(low, high, np.zeros(0, dtype=np.int8))
    tables.paid[p:] = axis.multipliers
    tables.least[q:], tables.greatest[q:] = axis.least, axis.greatest
    flat = [cost for costs in axis.costs for cost in costs]
    begins = np.cumsum([0, *map(len, axis.costs)])[:-1]
    tables = tables._replace(costs=np.array(flat, dtype=np.int64), offsets=np.array(begins, dtype=np.int64))
    best = forward(windows, branch, tables, size, t)
    if not every:
        assert best >= tree.NEVER // 2
        return
    assert best == min(walk.cost for walk in every)
    backward(windows, branch, tables, size, t)
    if not t:
        least_through(windows, branch, tables, size)
        within = axis._replace(greatest=[min(most, size) for most in axis.greatest])
        assert_through(within, every, tables.through)
    limit = best + slack
    assert trim(windows, branch, tables, size, t, limit)
    counts = np.array([walk.counts for walk in every if walk.cost <= limit])
    assert low[p:].tolist() == counts.min(axis=0).tolist()
    assert high[p:].tolist() == counts.max(axis=0).tolist()
    assert not trim(windows, branch, tables, size, t, best - 1)
