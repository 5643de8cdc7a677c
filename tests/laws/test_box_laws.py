"""Laws of boxes, and of the certificates of partitions."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import naive_partition as naive
import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from kernel_tools import entry
from strategies import box_problems, topologies
from tiers import examples

from allocsolve.bounds import star_bound
from allocsolve.errors import InvalidAnswer, InvalidProblem, UnsupportedProblem
from allocsolve.exact import PartitionBranchAndBound, cheapest_box
from allocsolve.exact.partition import _cut_search, _kernels_relaxation as relaxation, _kernels_search
from allocsolve.exact.partition._cut_search import cut_model, with_line
from allocsolve.exact.partition._kernels_relaxation import SCALE
from allocsolve.exact.partition.branch_and_bound import box_cost, every_sides, number_of_sides
from allocsolve.heuristics import RandomNodes, Submesh
from allocsolve.instances import uniform_occupancy
from allocsolve.judge import certified_bound, certify, confirm
from allocsolve.judge.partition import certificate as partition_certificate
from allocsolve.judge.partition.boxes import runs_along
from allocsolve.judge.partition.certificate import PartitionAxes, _relaxed
from allocsolve.judge.partition.rules import partition_violations
from allocsolve.model import (
    Budget,
    HyperX,
    Limit,
    Mesh,
    Partition,
    PartitionProblem,
    Result,
    Status,
    Topology,
    Torus,
    terms,
)
from allocsolve.registry.partition import PARTITION

if TYPE_CHECKING:
    from allocsolve.model import Result


def solved(problem: PartitionProblem) -> Result[Partition]:
    return PartitionBranchAndBound()(problem, Budget())


@settings(max_examples=examples(600))
@given(box_problems())
@example(PartitionProblem.of(Torus((5,)), busy=[2], size=4, box=True))
@example(PartitionProblem.of(Torus((4, 3)), busy=[5], size=8, box=(4, 2)))
@example(PartitionProblem.of(HyperX((4, 4)), busy=[5], size=6, box=True))
@example(PartitionProblem.of(Topology((3, 2, 2), (True, True, False)), busy=[0], size=11, box=True))
def test_the_optimum_is_that_of_brute_force_and_the_judge_confirms_it(problem: PartitionProblem) -> None:
    result = solved(problem)
    best = naive.optimum(problem)
    if best is None:
        assert (result.status, result.answer) == (Status.INFEASIBLE, None)
        return
    assert (result.status, result.objective, result.bound) == (Status.OPTIMAL, best, best)
    assert result.answer is not None
    confirm(problem, result, ("pairwise",))
    assert tuple(result.answer.nodes.tolist()) in naive.boxes_of(problem)
    certificate = json.loads(json.dumps(result.certificate))
    assert certified_bound(problem, certificate) == best
    with pytest.raises(InvalidAnswer, match="certificate"):
        certified_bound(problem, {**certificate, "bound": best + 1})


@settings(max_examples=examples(150))
@given(box_problems(max_nodes=24, max_axes=3), st.data())
def test_the_judge_takes_free_boxes_and_nothing_else(problem: PartitionProblem, data: st.DataObject) -> None:
    boxes = sorted(naive.boxes_of(problem))
    near = [(*box[:-1], (box[-1] + 1) % problem.topology.num_nodes) for box in boxes]
    free = st.permutations(naive.free_nodes(problem)).map(lambda nodes: tuple(nodes[: problem.size]))
    nodes = data.draw(st.one_of(*(st.sampled_from(some) for some in (boxes, near) if some), free))
    violated = bool(partition_violations(problem, Partition(np.array(nodes))))
    assert violated == naive.violates(problem, nodes)


@given(topologies(max_nodes=40, max_axes=4, complete=True), st.data())
def test_a_box_costs_what_its_sides_say(topology: Topology, data: st.DataObject) -> None:
    sides = tuple(data.draw(st.integers(1, side)) for side in topology.shape)
    assert {box_cost(topology, sides)} == {
        naive.pairwise(topology, box) for box in naive.boxes(topology, sides)
    }
    size = math.prod(sides)
    every = every_sides(topology, size)
    assert sides in every
    assert len(every) == len({*every}) == number_of_sides(topology, size)
    assert all(math.prod(some) == size for some in every)


@given(st.data(), st.booleans())
def test_runs_are_counted_from_each_place_on(data: st.DataObject, ring: bool) -> None:
    shape = tuple(data.draw(st.integers(1, 4)) for _ in range(3))
    flat = data.draw(st.lists(st.booleans(), min_size=math.prod(shape), max_size=math.prod(shape)))
    members = np.array(flat).reshape(shape)
    runs = np.empty(shape, dtype=np.int64)
    runs_along(members, ring, runs)
    for later, x, earlier in np.ndindex(*shape):
        line = members[later, :, earlier].tolist()
        ahead = line[x:] + (line[:x] if ring else [])
        assert runs[later, x, earlier] == [*ahead, False].index(False)


@given(box_problems(max_nodes=24))
def test_submesh_finds_a_box_wherever_there_is_one(problem: PartitionProblem) -> None:
    answer = Submesh(all_shapes=True)(problem, Budget()).answer
    assert (answer is None) == (naive.optimum(problem) is None)
    assert answer is None or not partition_violations(problem, answer)


def test_the_plain_function_takes_sides_or_any() -> None:
    topology, free = Torus((6, 4)), np.ones(24, dtype=np.bool_)
    free[[0, 13]] = False
    nodes = cheapest_box(topology, free, 4)
    assert nodes is not None
    assert naive.pairwise(topology, nodes.tolist()) == 8
    box = cheapest_box(topology, free, 4, sides=(4, 1))
    assert box is not None
    assert box.tolist() == [1, 2, 3, 4]
    assert cheapest_box(topology, free, 12, sides=(6, 2)) is None
    with pytest.raises(InvalidProblem, match="has 12 nodes, but size is 4"):
        cheapest_box(topology, free, 4, sides=(6, 2))


def test_solvers_that_know_no_boxes_refuse_them() -> None:
    problem = PartitionProblem.of(Mesh((4, 4)), busy=[5], size=4, box=True)
    taking = set()
    for row in PARTITION.solvers:
        with contextlib.suppress(UnsupportedProblem):
            row.load()(problem, Budget())
            taking.add(row.name)
    assert taking == {"branch-and-bound", "submesh"}
    with pytest.raises(UnsupportedProblem, match="a box, which only branch-and-bound and submesh look for"):
        RandomNodes()(problem, Budget())


def test_too_many_sides_are_left_alone() -> None:
    hypercube = PartitionProblem.of(Mesh((2,) * 20), busy=[], size=1024, box=True)
    result = solved(hypercube)
    assert (result.status, result.limit, result.bound) == (Status.UNKNOWN, Limit.SIZE, 1024 * 1023 // 2)
    with pytest.raises(InvalidAnswer, match="184756 different sides, too many"):
        certified_bound(hypercube, {"kind": "boxes", "bound": 1})


def test_without_time_the_cheapest_sides_are_a_bound() -> None:
    problem = PartitionProblem.of(Mesh((6, 6)), busy=[14], size=6, box=True)
    result = PartitionBranchAndBound()(problem, Budget(seconds=1e-9))
    assert (result.status, result.limit, result.bound) == (Status.UNKNOWN, Limit.TIME, 25)


@pytest.mark.parametrize(
    ("certificate", "message"),
    [
        ({"bound": 10**9}, "bound 1000000000 of the certificate is not an integer, or above"),
        ({"bound": 9}, r"claims the bound 9, but a free box of sides \[2, 2\] costs 8"),
    ],
)
def test_what_proves_nothing_is_refused(certificate: dict[str, object], message: str) -> None:
    problem = PartitionProblem.of(Mesh((4, 4)), busy=[5], size=4, box=True)
    with pytest.raises(InvalidAnswer, match=message):
        certified_bound(problem, {"kind": "boxes", **certificate})
    with pytest.raises(InvalidAnswer, match="the problem asks for none"):
        certified_bound(replace(problem, box=False), {"kind": "boxes", "bound": 8})


def test_trees_hold_for_boxes_too() -> None:
    problem = PartitionProblem.of(Mesh((4, 4)), busy=[5, 10], size=5)
    result = solved(problem)
    assert result.certificate is not None
    boxed = replace(problem, box=True)
    assert certified_bound(boxed, result.certificate) == result.objective
    four = solved(replace(boxed, size=4))
    assert certify(replace(boxed, size=4), four, ("pairwise",)) == four.objective


# --- Partition certificate ----------------------------------------------------------------------------

MACHINES = (
    *(Mesh((4, 3)), Mesh((11,)), Mesh((3, 2, 2)), Mesh((1, 6)), Mesh((2, 5)), Mesh((2, 4, 1))),
    *(Torus((4, 3)), Torus((9,)), Topology((3, 2, 2), (True, True, False)), Torus((1, 6)), Torus((5, 2))),
)
sort_cells = entry(relaxation.sort_cells)
evaluate = entry(relaxation.evaluate)


@st.composite
def problems(draw: st.DrawFn) -> PartitionProblem:
    topology = draw(st.sampled_from(MACHINES))
    busy = draw(st.sets(st.integers(0, topology.num_nodes - 1), max_size=topology.num_nodes - 1))
    size = draw(st.integers(1, topology.num_nodes - len(busy)))
    return PartitionProblem.of(topology, busy=sorted(busy), size=size)


def without_trees(problem: PartitionProblem) -> Result[Partition]:
    """What the solver returns if its trees are too large, or not needed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_cut_search, "_MAX_LOG", -1)
        result = PartitionBranchAndBound()(problem, Budget())
    assert result.certificate is not None
    return result


def test_a_certificate_of_any_size_takes_no_time_without_end() -> None:
    problem = PartitionProblem.of(Mesh((32, 32, 32)), busy=[], size=1000)
    roots = [{"medians": list(medians), "multipliers": [[2**40] * 33] * 2} for medians in np.ndindex(32, 32)]
    bound = certified_bound(problem, {"axes": [0, 1, 2], "scale": 1, "roots": roots})
    assert bound >= star_bound(problem)
    huge = PartitionProblem.of(Mesh((64, 64, 64)), busy=[], size=1000)
    assert certified_bound(huge, {"axes": [0, 1, 2], "scale": 1, "roots": []}) == 0


@settings(max_examples=examples(60))
@given(problems())
def test_the_bound_of_the_solver_is_that_of_the_judge_at_each_root(problem: PartitionProblem) -> None:
    result = without_trees(problem)
    certificate: dict[str, Any] = json.loads(json.dumps(result.certificate))
    assert certified_bound(problem, certificate) <= terms(result.bound)[0]
    if "kind" in certificate:
        assert certificate["roots"] == []  # stars prove it
        return
    topology = with_line(problem.topology)
    model = cut_model(topology, problem.free, problem.size)
    axes = PartitionAxes.of(problem, certificate["axes"], SCALE)
    for root in certificate["roots"]:
        listed = tuple(root["medians"])
        medians = (0,) * (len(model.sides) - len(listed)) + listed
        low, high = model.intervals((None, *listed) if model.all_lines else medians)
        flat = np.array([u for each in root["multipliers"] for u in each], dtype=np.int64)
        multipliers = np.concatenate([np.zeros(model.sides[0] + 1, dtype=np.int64), flat])
        node = relaxation.Node(low, high, multipliers, np.full(len(model.nodes), relaxation.OPEN, np.int8))
        work = relaxation.new_work(len(model.nodes), model.sides, model.size)
        assert sort_cells(model.walks(medians), node, work, model.size)
        bound = evaluate(model.walks(medians), node, work, model.size)
        judged = _relaxed(axes, axes.tables(), listed, flat)
        if any(model.rings):  # the judge bounds the count of the first window by the cells in it
            assert judged is None or judged >= bound
        else:
            assert judged == (None if bound >= 2**59 else bound)


@pytest.mark.parametrize(("side", "size", "least"), [(16, 33, 9 / 10), (16, 12, 8 / 10), (9, 20, 8 / 10)])
def test_the_root_certifies_most_of_the_optimum(side: int, size: int, least: float) -> None:
    problem = uniform_occupancy(Mesh((side, 8)), 0.3, size, 1)
    result = without_trees(problem)
    assert result.certificate is not None
    certified = certified_bound(problem, result.certificate)
    optimum = terms(result.bound)[0]
    assert least * optimum <= certified <= optimum


@pytest.mark.parametrize("topology", [Mesh((12, 12)), Torus((8, 10)), Topology((7, 9), (True, False))])
@pytest.mark.parametrize("slices", [1, 2, 5])
def test_a_search_that_is_stopped_certifies_what_it_has(
    monkeypatch: pytest.MonkeyPatch, slices: int, topology: Topology
) -> None:
    problem = uniform_occupancy(topology, 0.3, 12, 1)
    optimum = terms(PartitionBranchAndBound()(problem, Budget()).bound)[0]
    calls = itertools.count(1)

    def interrupted(*args: Any) -> int:
        if next(calls) > slices:
            raise KeyboardInterrupt
        return _kernels_search.search(*args)

    monkeypatch.setattr(_cut_search, "_SLICE", 1e-5)
    monkeypatch.setattr(_kernels_search, "search", interrupted)
    result = PartitionBranchAndBound()(problem, Budget())
    assert result.limit is Limit.INTERRUPTED
    assert result.certificate is not None
    assert star_bound(problem) <= certified_bound(problem, result.certificate) <= optimum


GOOD: dict[str, Any] = {
    "axes": [0, 1],
    "scale": 2,
    "roots": [{"medians": [1], "multipliers": [[0, 1, 2, 0]]}],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"axes": [0, 0]}, "axes"),
        ({"scale": 2**60}, "too large"),
        ({"roots": [{"medians": [3], "multipliers": [[0, 0, 0, 0]]}]}, "root 0 .* no medians"),
        ({"roots": [{"medians": [1, 1], "multipliers": [[0, 0, 0, 0]]}]}, "root 0 .* no medians"),
        ({"roots": [{"medians": [1], "multipliers": [[0, 0, 0]]}]}, "one multiplier"),
    ],
)
def test_malformed_certificates_are_refused(change: dict[str, Any], message: str) -> None:
    problem = PartitionProblem.of(Mesh((4, 3)), size=4)
    assert certified_bound(problem, GOOD) <= 8
    with pytest.raises(InvalidAnswer, match=message):
        certified_bound(problem, {**GOOD, **change})


def test_what_needs_too_large_tables_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_certificate, "_MAX_TABLE", 10)
    with pytest.raises(InvalidAnswer, match=r"4 nodes on sides of .* too many"):
        certified_bound(PartitionProblem.of(Mesh((4, 3)), size=4), GOOD)


def test_an_odd_ring_needs_an_even_scale_and_a_line_comes_before_a_ring() -> None:
    problem = PartitionProblem.of(Topology((4, 3), (False, True)), size=4)
    with pytest.raises(InvalidAnswer, match="scale 3"):
        certified_bound(problem, {**GOOD, "scale": 3, "roots": []})
    with pytest.raises(InvalidAnswer, match="a line first"):
        certified_bound(problem, {**GOOD, "axes": [1, 0], "roots": []})
