"""Laws of certificates of multipliers: the judge makes a bound of any, of the solver's that at its roots."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from kernel_tools import entry
from tiers import examples

from allocsolve.bounds import star_bound
from allocsolve.errors import InvalidAnswer
from allocsolve.exact import PartitionBranchAndBound
from allocsolve.exact.partition import _cut_search, _kernels_relaxation as relaxation, _kernels_search
from allocsolve.exact.partition._cut_search import cut_model, with_line
from allocsolve.exact.partition._kernels_relaxation import SCALE
from allocsolve.instances import uniform_occupancy
from allocsolve.judge import certified_bound
from allocsolve.judge.partition import certificate as partition_certificate
from allocsolve.judge.partition.certificate import PartitionAxes, _relaxed
from allocsolve.model import Budget, Limit, Mesh, Partition, PartitionProblem, Result, Topology, Torus, terms

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
