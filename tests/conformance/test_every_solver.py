"""The public suite on the registered solvers of every kind, and what holds for each of their names."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import pytest
from distinct_solvers import distinct_solvers
from offenders import all_offenders
from tiers import some

from allocsolve.families import families
from allocsolve.model import NODE_ORDERS
from allocsolve.registry import make_solver, solver_names, solver_options
from allocsolve.registry.names import name_of
from allocsolve.registry.table import registered_names
from allocsolve.testing import check_solver, example_problems

if TYPE_CHECKING:
    from allocsolve.families import AnyFamily

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
