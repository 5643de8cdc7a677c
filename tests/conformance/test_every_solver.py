"""The public suite on the registered solvers of every kind, their names, and problems of extreme numbers."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from distinct_solvers import distinct_solvers
from offenders import all_offenders
from process_tools import python
from tiers import some

from allocsolve.errors import AllocsolveError
from allocsolve.families import families, family_of
from allocsolve.judge import confirm
from allocsolve.model import (
    NODE_ORDERS,
    Amdahl,
    Budget,
    ClosedWindow,
    DeadlineJob,
    EvolutionProblem,
    Job,
    Mesh,
    PowerLaw,
    ReservationProblem,
    SpeedupTable,
    WorkloadProblem,
)
from allocsolve.registry import make_solver, ready, solver_names, solver_options
from allocsolve.registry.names import name_of
from allocsolve.registry.table import registered_names
from allocsolve.testing import check_solver, example_problems

if TYPE_CHECKING:
    from allocsolve.families import AnyFamily
    from allocsolve.model import Problem


#: Those that take long for each example.
DEAR = ("milp", "prices", "market", "date-branching", "list-annealing", "cpsat")

of_each_family = pytest.mark.parametrize("family", families(), ids=lambda family: family.kind)


@pytest.mark.parametrize(
    ("family", "name"),
    [
        pytest.param(family, name, id=f"{family.kind}-{name}")
        for family in families()
        for name in distinct_solvers(family)
    ],
)
def test_the_contract(family: AnyFamily, name: str) -> None:
    """Each solver keeps the contract; `distinct_solvers` says which names stand for which others."""
    problems = example_problems(family.kind)
    check_solver(make_solver(name, family.problem), examples=some(problems) if name in DEAR else problems)


@of_each_family
def test_every_name_makes_a_solver(family: AnyFamily) -> None:
    """All names and aliases do; the name and the repr of the solver make it again."""
    with all_offenders() as offender:
        for name, (row, _) in registered_names(family).items():
            with offender(name):
                solver: Any = make_solver(name, family.problem)
                again = make_solver(name_of(row.name, row.load(), solver), family.problem)
                assert (again, repr(again)) == (solver, repr(solver))
                parts = [getattr(solver, field.name) for field in dataclasses.fields(solver)]
                classes = {type(thing).__name__: type(thing) for thing in (solver, *parts)}
                assert eval(repr(solver), {**classes, "inf": math.inf}) == solver  # noqa: S307 - made here


@of_each_family
def test_names_without_the_contract_differ_in_an_order_of_nodes_only(family: AnyFamily) -> None:
    """Each of them is, with another order, a solver that has the contract; of these no two are alike so."""
    alike = {name: _with_one_order(make_solver(name, family.problem)) for name in solver_names(family)}
    distinct = [alike[name] for name in distinct_solvers(family)]
    assert {*alike.values()} == {*distinct}
    assert len({*distinct}) == len(distinct)


def _with_one_order(solver: Any) -> str:
    """Return the repr of a solver after its orders of nodes were replaced by the first one."""
    orders = [name for name, option in solver_options(solver).items() if option.choices == NODE_ORDERS]
    return repr(dataclasses.replace(solver, **dict.fromkeys(orders, NODE_ORDERS[0])))


N = 2**53
_TABLE = SpeedupTable([(1, 2**40), (N // 2, 2**20), (N, 2**20 - 1)])
PROBLEMS: dict[str, Problem] = {
    "wide": WorkloadProblem(
        N, [Job(idx % 3, N // (1 + idx % 2), 1 + idx % 3, name=f"j{idx}") for idx in range(9)]
    ),
    "long": WorkloadProblem(
        N,
        [
            Job(0, N, 2**45),
            Job(1, 1, 0.25),
            Job(2**50, N // 2 + 1, 3, weight=N),
            Job(2**50, 7, 2**31, limit=N),
        ],
    ),
    "reals": WorkloadProblem(N, [Job(0.1 * idx, N // (1 + idx), 2 ** (8 * idx) / 3) for idx in range(4)]),
    "memory": WorkloadProblem(
        N,
        [Job(idx, N // 2, 10, needs={"bytes": N // (1 + idx)}, eligible=2**40, boost=N) for idx in range(4)],
        resources={"bytes": N},
        closed=[ClosedWindow(5, 2**41)] * 1536 + [ClosedWindow(2**42, 2**43, {"bytes": N})] * 2048,
    ),
    "table": WorkloadProblem(N, [Job(idx, N // 2, 2**20, speedup=_TABLE) for idx in range(3)]),
    "moldable": WorkloadProblem(
        2**36, [Job(0, 2**35, 0.25, min_nodes=1, max_nodes=2**36, speedup=Amdahl(0.5)) for _ in range(3)]
    ),
    "malleable": WorkloadProblem(  # some of its policies level sizes node by node
        2**22,
        [
            Job(0, 2**21, 0.25, min_nodes=1, max_nodes=2**22, speedup=PowerLaw(0.3), kind="malleable")
            for _ in range(3)
        ],
    ),
    "late": ReservationProblem(
        Mesh((3, 3)), tuple(DeadlineJob(N - 50 + idx, 2 + idx, 10, N - 20) for idx in range(5))
    ),
    "huge": ReservationProblem(
        Mesh((3, 3)),
        (*(DeadlineJob(0, 9, N - idx, N, None, 0) for idx in range(3)), DeadlineJob(1, 3, 4, 20)),
    ),
}
CASES = [(label, name) for label, problem in PROBLEMS.items() for name in solver_names(family_of(problem))]


@pytest.mark.parametrize(("label", "name"), CASES)
def test_the_greatest_numbers(label: str, name: str) -> None:
    problem = PROBLEMS[label]
    objective = family_of(problem).parse_objective(None)
    solver = make_solver(name, problem, objective)
    said = "it is solved"
    try:
        ready(solver, problem)
        result = solver(problem, Budget(0.05))
    except AllocsolveError as refused:
        said = str(refused)
    else:
        confirm(problem, result, objective)
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("name", solver_names(family_of(EvolutionProblem)))
def test_times_of_all_sizes(name: str) -> None:
    """Under every objective budgets are kept, memory is bounded, and the judge confirms."""
    tool = Path(__file__).resolve().parents[1] / "extreme_times.py"
    assert json.loads(python(tool, len(some(range(12))), name)[0]) == []
