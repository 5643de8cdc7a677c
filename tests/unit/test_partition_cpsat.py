"""Partitions by CP-SAT and by CBC: the model alone, its bounds, and what may stop it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import naive_partition as naive
import numpy as np
import pulp
import pytest
from hypothesis import assume, given, strategies as st
from ortools.sat.python import cp_model
from partition_tools import WALLS, random_problem
from strategies import topologies

from allocsolve.backends import cpsat as backend
from allocsolve.exact.partition import cpsat, milp
from allocsolve.exact.partition.cpsat import PartitionCpSat
from allocsolve.exact.partition.milp import PartitionMilp
from allocsolve.heuristics.partition.growth import Growth
from allocsolve.judge import confirm
from allocsolve.model import Budget, Limit, Mesh, Partition, PartitionProblem, Result, Status, Topology, Torus

if TYPE_CHECKING:
    from collections.abc import Callable


def solved(problem: PartitionProblem, budget: Budget | None = None) -> Result[Partition]:
    result = PartitionCpSat()(problem, budget or Budget(seconds=600))
    confirm(problem, result, ("pairwise",))
    return result


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave all the work to the model: a poor start set and no bound."""

    def find_start(search: cpsat._Search) -> None:
        answer = Growth()(search.problem, Budget()).answer
        nodes = np.flatnonzero(search.problem.free)[-search.problem.size :]
        if search.problem.contiguous:
            assert answer is not None
            nodes = answer.nodes
        search.offer(nodes)

    monkeypatch.setattr(cpsat._Search, "find_start", find_start)


def assert_optimal(problem: PartitionProblem) -> None:
    result, best = solved(problem), naive.optimum(problem)
    assert result.objective == best
    assert result.status is (Status.INFEASIBLE if best is None else Status.OPTIMAL)
    assert result.limit is None


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("contiguous", [False, True])
@pytest.mark.parametrize(
    "topology",
    [
        *(Mesh((4, 4)), Mesh((13,)), Mesh((2, 3, 3)), Mesh((1, 1, 14))),
        *(Torus((13,)), Torus((14,)), Torus((5, 3)), Torus((4, 4)), Topology((2, 7), (True, True))),
        *(Topology((5, 3), (False, True)), Topology((3, 2, 3), (True, False, True))),
    ],
    ids=str,
)
def test_the_model_alone_is_exact(topology: Topology, *, contiguous: bool) -> None:
    for seed, size in enumerate((2, 3, 5, 6)):
        assert_optimal(random_problem(topology, topology.num_nodes // 4, size, seed, contiguous=contiguous))


def has_answer(model: cp_model.CpModel) -> bool:
    solver = cp_model.CpSolver()
    solver.parameters.catch_sigint_signal = False  # else Ctrl-C ends Python from here on
    return bool(solver.solve(model) == cp_model.OPTIMAL)


def fits_the_tree(topology: Topology, nodes: tuple[int, ...], *, implied: bool) -> bool:
    """Whether a set fits the constraints of connected sets, all of them or without those that are implied."""
    model = cp_model.CpModel()
    everything = list(range(topology.num_nodes))
    links = cpsat._links(topology, everything)
    variables = cpsat._variables(model, topology, everything, len(nodes), links)
    for node, chosen in variables.chosen.items():
        model.add(chosen == (node in nodes))
    cpsat._root(model, variables)
    cpsat._tree(model, variables)
    cpsat._depths(model, variables)
    if implied:
        cpsat._no_small_parts(model, variables)
    return has_answer(model)


@pytest.mark.parametrize("implied", [False, True])
@pytest.mark.parametrize("topology", [Mesh((3, 2)), Mesh((3, 3)), Torus((6,))], ids=str)
def test_the_tree_allows_the_connected_sets(topology: Topology, *, implied: bool) -> None:
    for size in range(2, topology.num_nodes):
        for nodes in itertools.combinations(range(topology.num_nodes), size):
            connected = naive.is_connected(topology, nodes)
            assert fits_the_tree(topology, nodes, implied=implied) == connected


@pytest.mark.usefixtures("bare")
def test_links_cost() -> None:
    problem = PartitionProblem.of(Mesh((5, 6)), busy=WALLS, size=8, contiguous=True)
    assert solved(problem).objective == 74
    assert solved(PartitionProblem(problem.topology, problem.free, 8)).objective == 72


@pytest.mark.parametrize("contiguous", [False, True])
@pytest.mark.parametrize("seconds", [1e-9, 0.3])
def test_a_time_limit_is_a_result(seconds: float, *, contiguous: bool) -> None:
    problem = random_problem(Mesh((24, 24)), 150, 100, 1, contiguous=contiguous)
    result = solved(problem, Budget(seconds=seconds, workers=2))
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.TIME)
    assert isinstance(result.bound, int)
    assert isinstance(result.objective, int)
    assert 0 < result.bound < result.objective


def test_a_problem_that_is_too_large_gets_a_set_and_a_bound() -> None:
    problem = random_problem(Mesh((64, 64)), 1000, 50, 2)
    result = solved(problem)
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.SIZE)
    small = random_problem(Mesh((8, 8)), 32, 9, 3)
    limited = PartitionCpSat(max_nodes=31)(small, Budget())
    assert (limited.status, limited.limit) == (Status.FEASIBLE, Limit.SIZE)
    best = solved(small)
    assert best.status is Status.OPTIMAL
    assert limited.bound < best.objective <= limited.objective  # type: ignore[operator]  # plain numbers


def test_ctrl_c_ends_the_search_with_what_is_known(press_ctrl_c: Callable[[], None]) -> None:
    solved(random_problem(Mesh((3, 3)), 2, 4, 1))  # compiled before the clock matters
    press_ctrl_c()
    result = solved(random_problem(Mesh((24, 24)), 150, 100, 1), Budget(seconds=120))
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.INTERRUPTED)
    assert result.runtime < 60


def test_ctrl_c_before_there_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cpsat._Search, "find_start", interrupt)
    result = solved(random_problem(Mesh((3, 3)), 2, 4, 1))
    assert (result.status, result.limit, result.bound) == (Status.UNKNOWN, Limit.INTERRUPTED, 0)


@pytest.mark.parametrize(("bound", "proven"), [(199.0, 100), (198.0, 99), (198.0000001, 99), (1e9, 101)])
def test_bounds_are_halved_and_rounded_up(monkeypatch: pytest.MonkeyPatch, bound: float, proven: int) -> None:
    problem = random_problem(Mesh((8, 8)), 20, 9, 1)
    search = cpsat._Search(problem, Budget(), Budget().start(), cpsat.PartitionCpSatParams())
    search.best.keep(np.flatnonzero(problem.free)[:9], (101,))
    outcome = backend.Outcome(infeasible=False, optimal=False, bound=bound, interrupted=False, effort=0)
    monkeypatch.setattr(backend, "run_cpsat", lambda *_, **__: outcome)
    search.minimise()
    result = search.result()
    assert result.bound == proven
    assert result.status is (Status.OPTIMAL if proven == 101 else Status.FEASIBLE)


def test_a_bound_may_be_the_optimum() -> None:
    problem = random_problem(Mesh((6, 6)), 14, 6, 1)
    optimum = solved(problem).objective
    assert isinstance(optimum, int)
    search = cpsat._Search(problem, Budget(), Budget().start(), cpsat.PartitionCpSatParams())
    search.bound = optimum
    search.offer(np.flatnonzero(problem.free)[[0, 1, 2, -3, -2, -1]])
    assert search.best.values[0] > optimum
    search.minimise()
    assert (search.best.values[0], search.bound) == (optimum, optimum)


def solved_by_cbc(problem: PartitionProblem, budget: Budget | None = None) -> Result[Partition]:
    result = PartitionMilp()(problem, budget or Budget(seconds=600))
    confirm(problem, result, ("pairwise",))
    return result


def test_a_set_in_two_parts_is_given_new_rows() -> None:
    problem = PartitionProblem.of(Mesh((5, 6)), busy=WALLS, size=8, contiguous=True)
    assert solved_by_cbc(PartitionProblem(problem.topology, problem.free, 8)).objective == 72
    result = solved_by_cbc(problem)
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


def test_a_problem_that_is_too_large_ends_at_once() -> None:
    for topology in (Mesh((128, 128)), Torus((9999,))):
        result = solved_by_cbc(PartitionProblem.of(topology, size=64))
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
    result = solved_by_cbc(problem)
    if contiguous:
        assert (result.status, result.limit, result.bound) == (Status.UNKNOWN, Limit.TIME, 3)
    else:
        assert (result.status, result.objective, result.bound) == (Status.FEASIBLE, 8, 3)


def test_answers_of_another_size_or_value_are_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = PartitionProblem.of(Mesh((5,)), size=3)
    monkeypatch.setattr(milp, "run_cbc", answering(pulp.LpSolutionOptimal, ()))
    assert solved_by_cbc(problem).status is Status.UNKNOWN
    monkeypatch.setattr(milp, "run_cbc", answering(pulp.LpSolutionOptimal, (0, 1, 2)))
    assert solved_by_cbc(problem).status is Status.OPTIMAL
    monkeypatch.setattr(milp, "pairwise_cost", lambda *_: 5)
    assert PartitionMilp()(problem, Budget()).status is Status.UNKNOWN


def test_a_relaxation_that_is_solved_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = iter([pulp.LpSolutionOptimal, pulp.LpSolutionNoSolutionFound])
    monkeypatch.setattr(milp, "run_cbc", lambda model, *_: answering(next(runs), (0, 1, 3))(model))
    result = solved_by_cbc(PartitionProblem.of(Mesh((4,)), size=3, contiguous=True))
    assert (result.status, result.bound, result.limit) == (Status.UNKNOWN, 6, Limit.TIME)
