"""Which registered names stand for the others in tests that take long for each solver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.model import NODE_ORDERS
from allocsolve.registry import make_solver, solver_names, solver_options

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from allocsolve.families import AnyFamily, SolverRow
    from allocsolve.model.options import Option


def distinct_solvers(family: AnyFamily) -> Mapping[str, SolverRow]:
    """Return the names of solvers that differ in more than an order of nodes, with the rows of their classes.

    Three rules drop a name. Of several names for equal solvers one is left: `solver_names` sees to that. Of
    several solvers of one class whose options are equal but for those that take an order of nodes
    (`allocsolve.model.NODE_ORDERS`), the one with the order that the class has by default is left. Where
    there is none with this order, the first one is left. An order is data to a kernel: a solver does with
    any order what it does with a line of nodes, as a test of the partition solvers shows for each name that
    is dropped, and the orders have laws of their own. All other options stay, since they may lead another
    way through the code.
    """
    names = solver_names(family)
    left: dict[Hashable, str] = {}
    for name, row in sorted(names.items(), key=lambda item: not _has_order_of_class(family, *item)):
        left.setdefault((row.name, *_beside_orders(family, name)), name)
    return {name: row for name, row in names.items() if name in left.values()}


def _is_order(option: Option) -> bool:
    return option.choices == NODE_ORDERS


def _beside_orders(family: AnyFamily, name: str) -> list[Hashable]:
    """Return the options of a solver that are no orders of nodes."""
    options = solver_options(make_solver(name, family.problem)).values()
    return [(option.name, repr(option.value)) for option in options if not _is_order(option)]


def _has_order_of_class(family: AnyFamily, name: str, row: SolverRow) -> bool:
    own, of_class = solver_options(make_solver(name, family.problem)), solver_options(row.load())
    return all(own[key].value == one.value for key, one in of_class.items() if _is_order(one))
