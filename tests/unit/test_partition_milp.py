"""Partitions by MILP: the slow twin, the other exact method, and honest answers when it does not finish."""

from __future__ import annotations

import itertools
import subprocess
from typing import TYPE_CHECKING

import naive_partition as naive
import numpy as np
import pulp
import pytest
from hypothesis import assume, given, settings, strategies as st
from strategies import partition_problems, topologies
from tiers import examples

from allocsolve.errors import SolverUnavailable
from allocsolve.exact.partition import milp
from allocsolve.exact.partition.cpsat import PartitionCpSat
from allocsolve.exact.partition.milp import PartitionMilp
from allocsolve.judge import confirm
from allocsolve.model import (
    Budget,
    Limit,
    Mesh,
    Partition,
    PartitionProblem,
    Result,
    Status,
    Topology,
    Torus,
)

if TYPE_CHECKING:
    from collections.abc import Callable

#: Of `Mesh((5, 6))`: leave two blocks of four nodes that are near to each other, and a long way round.
WALLS = (2, 7, 11, 12, 13, 16, 17, 18, 21, 22, 23)


def random_problem(
    topology: Topology, num_busy: int, size: int, seed: int, *, contiguous: bool = False
) -> PartitionProblem:
    busy = np.random.default_rng(seed).permutation(topology.num_nodes)[:num_busy].tolist()
    return PartitionProblem.of(topology, busy=busy, size=size, contiguous=contiguous)


def solved(problem: PartitionProblem, budget: Budget | None = None) -> Result[Partition]:
    result = PartitionMilp()(problem, budget or Budget(seconds=600))
    confirm(problem, result, ("pairwise",))
    return result


def assert_optimal(problem: PartitionProblem) -> None:
    result, best = solved(problem), naive.optimum(problem)
    assert result.objective == best
    assert result.status is (Status.INFEASIBLE if best is None else Status.OPTIMAL)
    assert result.limit is None


@settings(max_examples=examples(20))
@given(partition_problems(contiguous=None))
def test_the_same_as_the_slow_twin(problem: PartitionProblem) -> None:
    assert_optimal(problem)


@pytest.mark.parametrize("contiguous", [False, True])
@pytest.mark.parametrize(
    "topology",
    [
        Mesh((4, 4)),
        Torus((13,)),
        Torus((5, 3)),
        Torus((4, 4)),
        Topology((5, 3), (False, True)),
        Mesh((2, 3, 3)),
        Topology((3, 2, 3), (True, False, True)),
    ],
    ids=str,
)
def test_every_kind_of_topology(topology: Topology, *, contiguous: bool) -> None:
    for seed, size in enumerate((3, 6)):
        assert_optimal(random_problem(topology, topology.num_nodes // 4, size, seed, contiguous=contiguous))


@pytest.mark.parametrize(
    ("topology", "num_busy", "size"),
    [(Mesh((6, 6)), 12, 8), (Mesh((8, 5)), 20, 9), (Torus((5, 6)), 9, 6), (Mesh((3, 3, 3)), 9, 7)],
    ids=str,
)
@pytest.mark.parametrize("contiguous", [False, True])
def test_both_exact_methods_agree(topology: Topology, num_busy: int, size: int, *, contiguous: bool) -> None:
    for seed in range(2):
        problem = random_problem(topology, num_busy, size, seed, contiguous=contiguous)
        other = PartitionCpSat()(problem, Budget(seconds=600))
        result = solved(problem)
        assert result.status is other.status
        assert result.status in (Status.OPTIMAL, Status.INFEASIBLE)
        assert result.objective == other.objective


def test_a_set_in_two_parts_is_given_new_rows() -> None:
    problem = PartitionProblem.of(Mesh((5, 6)), busy=WALLS, size=8, contiguous=True)
    assert solved(PartitionProblem(problem.topology, problem.free, 8)).objective == 72
    result = solved(problem)
    assert (result.status, result.objective) == (Status.OPTIMAL, 74)


@given(data=st.data())
def test_rows_for_parts_allow_every_connected_set(data: st.DataObject) -> None:
    topology = data.draw(topologies(max_nodes=9, complete=True))
    everything = list(range(topology.num_nodes))
    sets = [nodes for size in everything for nodes in itertools.combinations(everything, size + 1)]
    apart = [nodes for nodes in sets if not naive.is_connected(topology, nodes)]
    assume(apart)  # on a machine of two nodes, or with one complete axis, all sets are connected
    chosen = data.draw(st.sampled_from(apart))
    size, part = len(chosen), set(data.draw(st.sampled_from(naive.components(topology, chosen))))
    model = pulp.LpProblem("rows", pulp.LpMinimize)
    variables = milp._variables(model, size, everything, [])

    def fits(nodes: tuple[int, ...]) -> bool:
        for node, x in variables.chosen.items():
            x.setInitialValue(int(node in nodes))
        return all(row.valid() for row in milp._connected(variables, topology, part))

    assert not fits(chosen)
    for nodes in itertools.combinations(everything, size):
        assert fits(nodes) or not naive.is_connected(topology, nodes)


def test_an_objective_that_is_constant() -> None:
    for topology in (Mesh((2, 2)), Torus((3,)), Mesh((1, 2))):
        for size in range(1, topology.num_nodes + 1):
            assert_optimal(PartitionProblem.of(topology, size=size))


@pytest.mark.parametrize("topology", [Mesh((1,)), Torus((1, 1)), Mesh((3, 2)), Torus((4, 3, 2))], ids=str)
@pytest.mark.parametrize("contiguous", [False, True])
def test_one_node_and_all_nodes(topology: Topology, *, contiguous: bool) -> None:
    busy = list(range(1, topology.num_nodes, 5))
    one = solved(PartitionProblem.of(topology, busy=busy, size=1, contiguous=contiguous))
    assert (one.status, one.objective, one.bound) == (Status.OPTIMAL, 0, 0)
    result = solved(PartitionProblem.of(topology, size=topology.num_nodes, contiguous=contiguous))
    assert result.status is Status.OPTIMAL
    assert result.objective == naive.pairwise(topology, range(topology.num_nodes))


def test_no_component_is_large_enough() -> None:
    problem = PartitionProblem.of(Mesh((5, 1)), busy=[2], size=3, contiguous=True)
    result = solved(problem, Budget(seconds=1e-9))
    assert (result.status, result.answer, result.limit) == (Status.INFEASIBLE, None, None)
    ring = PartitionProblem.of(Torus((5, 1)), busy=[2], size=3, contiguous=True)
    assert solved(ring).objective == 4


@pytest.mark.parametrize("contiguous", [False, True])
@pytest.mark.parametrize("seconds", [1e-9, 1.0])
def test_a_time_limit_is_a_result(seconds: float, *, contiguous: bool) -> None:
    problem = random_problem(Mesh((16, 16)), 70, 40, 1, contiguous=contiguous)
    result = solved(problem, Budget(seconds=seconds))
    assert result.status in (Status.FEASIBLE, Status.UNKNOWN)
    assert result.limit is Limit.TIME
    assert result.bound == 40 * 39 // 2


def test_a_problem_that_is_too_large_ends_at_once() -> None:
    for topology in (Mesh((128, 128)), Torus((9999,))):
        result = solved(PartitionProblem.of(topology, size=64))
        assert (result.status, result.limit, result.bound) == (Status.UNKNOWN, Limit.SIZE, 64 * 63 // 2)
    # 5 nodes, and 1, 2, 2 and 1 levels: with one node outside, one of two inside a cut is for sure.
    problem = PartitionProblem.of(Mesh((5,)), size=2)
    assert PartitionMilp(max_variables=11)(problem, Budget()).status is Status.OPTIMAL
    assert PartitionMilp(max_variables=10)(problem, Budget()).limit is Limit.SIZE


def answering(status: int, nodes: tuple[int, ...]) -> Callable[..., int]:
    """Return a CBC that always has this answer."""

    def run(model: pulp.LpProblem, *_: object) -> int:
        for variable in model.variables():
            kind, *place = variable.name.split("_")
            inside = sum(node <= int(place[0]) for node in nodes)
            variable.varValue = int(int(place[0]) in nodes if kind == "x" else int(place[1]) <= inside) + 1e-7
        return status

    return run


@pytest.mark.parametrize("contiguous", [False, True])
def test_an_incumbent_is_no_proof(monkeypatch: pytest.MonkeyPatch, *, contiguous: bool) -> None:
    problem = PartitionProblem.of(Mesh((5,)), size=3, contiguous=contiguous)
    monkeypatch.setattr(milp, "run_cbc", answering(pulp.LpSolutionIntegerFeasible, (0, 1, 4)))
    result = solved(problem)
    if contiguous:
        assert (result.status, result.limit, result.bound) == (Status.UNKNOWN, Limit.TIME, 3)
    else:
        assert (result.status, result.objective, result.bound) == (Status.FEASIBLE, 8, 3)


def test_answers_of_another_size_or_value_are_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = PartitionProblem.of(Mesh((5,)), size=3)
    monkeypatch.setattr(milp, "run_cbc", answering(pulp.LpSolutionOptimal, ()))
    assert solved(problem).status is Status.UNKNOWN
    monkeypatch.setattr(milp, "run_cbc", answering(pulp.LpSolutionOptimal, (0, 1, 2)))
    assert solved(problem).status is Status.OPTIMAL
    monkeypatch.setattr(milp, "pairwise_cost", lambda *_: 5)
    assert PartitionMilp()(problem, Budget()).status is Status.UNKNOWN


def test_a_relaxation_that_is_solved_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = iter([pulp.LpSolutionOptimal, pulp.LpSolutionNoSolutionFound])
    monkeypatch.setattr(milp, "run_cbc", lambda model, *_: answering(next(runs), (0, 1, 3))(model))
    result = solved(PartitionProblem.of(Mesh((4,)), size=3, contiguous=True))
    assert (result.status, result.bound, result.limit) == (Status.UNKNOWN, 6, Limit.TIME)


def test_a_broken_cbc_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **_: object) -> None:
        raise subprocess.CalledProcessError(1, str(args))

    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(SolverUnavailable, match="CBC that comes with PuLP does not run"):
        PartitionMilp()(PartitionProblem.of(Mesh((5,)), size=3), Budget())
