"""The registered names of solvers: of classes and aliases, each with options."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, NamedTuple

from allocsolve.errors import InvalidOption
from allocsolve.families import families
from allocsolve.registry.names import parse_name
from allocsolve.registry.options import name_of, with_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.families import AnyFamily, AnySolver, SolverRow
    from allocsolve.registry.names import OptionValue, SolverName

__all__ = [
    "Registered",
    "canonical",
    "registered_names",
    "registered_solver",
    "solver_names",
    "solver_row",
    "solver_rows",
]


def solver_rows() -> tuple[tuple[AnyFamily, SolverRow], ...]:
    """Return all registered classes of solvers, family by family."""
    return tuple((family, row) for family in families() for row in family.solvers)


def solver_names(family: AnyFamily) -> Mapping[str, SolverRow]:
    """Return one registered name of each solver of a family, with the row of its class.

    Of several names for equal solvers, aliases come before the name of the class.
    """
    names = registered_names(family)
    distinct: dict[str, str] = {}
    for name, (row, options) in sorted(names.items(), key=lambda item: not item[1].options):
        solver = canonical(row, with_options(row.load(), options)) if options else row.name
        distinct.setdefault(solver, name)
    return {name: names[name].row for name in distinct.values()}


def solver_row(name: str, family: AnyFamily) -> SolverRow | None:
    """Return the row of the class of a registered name, an alias or one with options; None of other texts."""
    try:
        parsed = parse_name(name)
        if parsed.base not in registered_names(family):
            return None
        if parsed.options:
            registered_solver(parsed, family)
    except InvalidOption:
        return None
    return registered_names(family)[parsed.base].row


class Registered(NamedTuple):
    """What a registered name stands for."""

    row: SolverRow
    #: Those that an alias stands for.
    options: Mapping[str, OptionValue]


@functools.cache
def registered_names(family: AnyFamily) -> Mapping[str, Registered]:
    """Return all names of a family: those of classes, then aliases."""
    rows = {row.name: Registered(row, {}) for row in family.solvers}
    aliases: dict[str, Registered] = {}
    for name, text in itertools.chain.from_iterable(alias.expanded() for alias in family.aliases):
        meaning = parse_name(text)
        if meaning.base in rows and name not in rows:
            aliases[name] = Registered(rows[meaning.base].row, dict(meaning.options))
    return {**rows, **aliases}


def registered_solver(name: SolverName, family: AnyFamily) -> AnySolver:
    """Return the solver of a registered name and options.

    Raises
    ------
    InvalidOption
        If it has no such option, or not with this value.
    """
    row, options = registered_names(family)[name.base]
    solver = row.load()
    if options or name.options:
        try:
            solver = with_options(solver, {**options, **dict(name.options)})
        except InvalidOption as error:
            msg = f"{family.kind} solver {name}: {error}"
            raise InvalidOption(msg) from error
    return solver


def canonical(row: SolverRow, solver: AnySolver) -> str:
    """Return the name of a solver of the class of a row."""
    return name_of(row.name, row.load(), solver)
