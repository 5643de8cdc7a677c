"""One contract for the registered solvers of partition problems; of `distinct_solvers` each has it once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import naive_partition as naive
import numpy as np
import pytest
from distinct_solvers import distinct_solvers
from hypothesis import HealthCheck, given, settings, strategies as st
from offenders import all_offenders
from tiers import examples, some

from allocsolve import Budget, Result, Status, solve
from allocsolve.errors import InvalidProblem, UnknownName
from allocsolve.families import family_of
from allocsolve.heuristics import CurveFit
from allocsolve.instances import uniform_occupancy
from allocsolve.judge import confirm, violations
from allocsolve.model import Mesh, PartitionProblem, Topology, Torus, node_order, terms
from allocsolve.registry import make_allocator, make_solver, solver_names
from allocsolve.registry.table import registered_names
from allocsolve.testing import check_solver

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

ROWS = solver_names(family_of(PartitionProblem))
DISTINCT = distinct_solvers(family_of(PartitionProblem))
EXACT = [name for name in ROWS if ROWS[name].method == "exact"]

solvers = pytest.mark.parametrize("name", list(DISTINCT))
heuristics = pytest.mark.parametrize("name", [name for name in DISTINCT if DISTINCT[name].method != "exact"])
exact = pytest.mark.parametrize("name", EXACT)
few = settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow])

#: Have an answer whenever one exists, unless a connected set is asked for.
ALWAYS = {
    *("manhattan-median", "manhattan-median+greedy-ring", "manhattan-median+swaps", "gen-alg", "mc1x1"),
    *("leak-noncontiguous", "hilbert-sorted-free-list", "hilbert-min-span", "hilbert-best-fit+min-span"),
    *("hilbert-best-fit+largest-runs", "multiple-buddy", "random", *EXACT),
}
#: Have an answer whenever there is a connected set.
CONNECTED = {"growth", "growth-best", *EXACT}
#: What fails on a large machine without a run or a box that is long enough.
ONE_PIECE = ("first-fit", "best-fit")

#: Meshes, rings of one, two and odd length, mixed wrap, one to three axes.
SMALL = (
    Mesh((4, 3)),
    Mesh((11,)),
    Torus((3, 4)),
    Torus((5, 2)),
    Topology((3, 4), (False, True)),
    Mesh((3, 2, 2)),
    Topology((2, 2, 3), (False, True, True)),
)


@st.composite
def problems(draw: DrawFn, *, contiguous: bool | None = None, least: int = 1) -> PartitionProblem:
    topology = draw(st.sampled_from(SMALL))
    max_busy = topology.num_nodes - least
    busy = sorted(draw(st.sets(st.integers(0, topology.num_nodes - 1), max_size=max_busy)))
    size = draw(st.integers(least, topology.num_nodes - len(busy)))
    connected = draw(st.booleans()) if contiguous is None else contiguous
    return PartitionProblem.of(topology, busy=busy, size=size, contiguous=connected)


def _solved(name: str, problem: PartitionProblem, **budget: Any) -> Result[Any]:
    return solve(problem, name, **{"seconds": 20, **budget})


@solvers
@few
@given(problem=problems())
def test_answers_are_feasible_and_bounded(name: str, problem: PartitionProblem) -> None:
    result = make_solver(name, problem)(problem, Budget(seconds=20))
    judged = confirm(problem, result, ("pairwise",))
    best = naive.optimum(problem)
    if best is None:
        assert result.status is Status.INFEASIBLE
        assert result.answer is None
        return
    assert result.status is not Status.INFEASIBLE
    assert terms(result.bound)[0] <= best
    if result.answer is not None:
        nodes = result.answer.nodes.tolist()
        assert not violations(problem, result.answer)
        assert not naive.violates(problem, nodes)
        assert judged.objective == naive.pairwise(problem.topology, nodes)
        assert terms(judged.bound)[0] <= best <= judged.objective
    else:
        assert name not in (CONNECTED if problem.contiguous else ALWAYS)


@exact
@few
@given(problem=problems())
def test_optima_are_those_of_brute_force(name: str, problem: PartitionProblem) -> None:
    result = _solved(name, problem)
    best = naive.optimum(problem)
    assert result.status is (Status.INFEASIBLE if best is None else Status.OPTIMAL)
    assert result.objective == best


@pytest.mark.parametrize("name", [name for name in DISTINCT if name not in ("cpsat", "milp")])
def test_larger_machines(name: str) -> None:
    topologies = (Mesh((16, 8)), Torus((9, 8)), Mesh((5, 4, 4)), Torus((3, 4, 5)))
    examples = [uniform_occupancy(topology, 0.4, 6, 11) for topology in topologies]
    check_solver(make_solver(name, PartitionProblem), examples=examples)


@exact
def test_what_time_has_stopped_is_bounded(name: str) -> None:
    problem = uniform_occupancy(Mesh((64, 64)), 0.4, 300, 5)
    result = make_solver(name, problem)(problem, Budget(seconds=0.5))
    assert result.status in (Status.FEASIBLE, Status.UNKNOWN)
    assert result.limit in ("time", "size")
    assert terms(result.bound)[0] >= 300 * 299 // 2
    judged = confirm(problem, result, ("pairwise",))
    assert terms(judged.bound) == terms(result.bound)
    assert result.answer is not None or result.limit == "size"


@heuristics
def test_a_large_machine(name: str) -> None:
    problem = uniform_occupancy(Mesh((64, 64)), 0.3, 100, 2)
    result = _solved(name, problem, seconds=20)
    # no run and no box of free nodes is that large
    assert (result.answer is None) == (name.endswith(ONE_PIECE))


@heuristics
def test_heuristics_as_functions(name: str) -> None:
    topology, free = Mesh((6, 4)), np.repeat(np.ones(24, dtype=np.bool_), 2)[::2]
    free[[3, 9, 10]] = False
    nodes = make_allocator(name, seed=4)(topology, free, 4)
    if nodes is not None:
        answer = make_solver(name, PartitionProblem)(
            PartitionProblem(topology, free, 4), Budget(seed=4)
        ).answer
        assert answer is not None
        assert nodes.tolist() == answer.nodes.tolist()
    assert free.flags.writeable
    for size in (0, 22):
        with pytest.raises(InvalidProblem, match=f"size {size} is"):
            make_allocator(name)(topology, free, size)


def test_an_order_of_nodes_is_data() -> None:
    """What has the contract under another name takes in any order what it takes of a line in that order."""
    rng = np.random.default_rng(7)
    with all_offenders() as offender:
        for name in sorted({*ROWS} - {*DISTINCT}):
            solver = make_solver(name, PartitionProblem)
            assert isinstance(solver, CurveFit)
            on_line = replace(solver, order="row-major", bits=None)
            for topology in (*SMALL, Mesh((16, 8)), Torus((5, 4, 3))):
                order = node_order(topology, solver.order, bits=solver.bits)
                for size in (1, 2, 3, 5):
                    free = rng.random(topology.num_nodes) < 0.7
                    free[:5] = True
                    line = PartitionProblem(Mesh(order.shape), free[order], size)
                    with offender(f"{name} on {topology}, {size} of {np.flatnonzero(free).tolist()}"):
                        nodes = solver(PartitionProblem(topology, free, size), Budget()).answer
                        places = on_line(line, Budget()).answer
                        assert (nodes is None) == (places is None)
                        if nodes is not None and places is not None:
                            assert nodes.nodes.tolist() == sorted(order[places.nodes].tolist())


def test_exact_methods_agree_on_meshes_and_tori() -> None:
    for topology in some((Topology((6, 4), (True, False)), Mesh((6, 5)), Torus((5, 5)), Mesh((3, 3, 3)))):
        for contiguous in (False, True):
            problem = uniform_occupancy(topology, 0.4, 7, 1, contiguous=contiguous)
            results = [_solved(name, problem, seconds=60) for name in EXACT]
            assert {result.status for result in results} <= {Status.OPTIMAL, Status.INFEASIBLE}
            assert len({result.objective for result in results}) == 1


def test_the_registered_names() -> None:
    names = registered_names(family_of(PartitionProblem))
    assert len(ROWS) == 54, "one name of each solver"
    assert {*ALWAYS, *CONNECTED, "leak", "submesh-first-fit", "submesh-best-fit"} <= {*names}
    for order in ("", "hilbert-", "generalised-hilbert-", "snake-", "short-side-snake-", "morton-"):
        for method in ("first-fit", "best-fit", "min-span", "sorted-free-list"):
            assert f"{order}{method}" in names
        for fallback in ("min-span", "largest-runs"):
            assert f"{order}best-fit+{fallback}" in names
    with pytest.raises(UnknownName, match="unknown partition solver 'grwth'; did you mean growth"):
        make_solver("grwth", PartitionProblem)
    with pytest.raises(UnknownName, match="unknown partition solver 'noX'"):
        make_solver("noX", PartitionProblem)
