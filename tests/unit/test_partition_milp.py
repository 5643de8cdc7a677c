"""Partitions by MILP: connected sets, and honest answers when it does not finish."""

from __future__ import annotations

import itertools
import subprocess
from typing import TYPE_CHECKING

import naive_partition as naive
import pulp
import pytest
from hypothesis import assume, given, strategies as st
from partition_tools import WALLS, random_problem
from strategies import topologies

from allocsolve.errors import SolverUnavailable
from allocsolve.exact.partition import milp
from allocsolve.exact.partition.milp import PartitionMilp
from allocsolve.judge import confirm
from allocsolve.model import Budget, Limit, Mesh, Partition, PartitionProblem, Result, Status, Torus

if TYPE_CHECKING:
    from collections.abc import Callable


def solved(problem: PartitionProblem, budget: Budget | None = None) -> Result[Partition]:
    result = PartitionMilp()(problem, budget or Budget(seconds=600))
    confirm(problem, result, ("pairwise",))
    return result


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


@pytest.mark.parametrize("contiguous", [False, True])
@pytest.mark.parametrize("seconds", [1e-9, 0.5])
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
