"""Solvers by name, plug-ins included."""

from __future__ import annotations

import dataclasses
import itertools
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

from allocsolve.errors import InvalidOption, PluginError, UnknownName, require_packages
from allocsolve.families import families, family_of
from allocsolve.model import Problem
from allocsolve.registry.names import SolverName, parse_name
from allocsolve.registry.options import name_of
from allocsolve.registry.plugins import (
    GROUP,
    imported,
    is_reference,
    load,
    plugins,
    problem_types,
    provider,
)
from allocsolve.registry.registered import canonical, registered_names, registered_solver

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from allocsolve.families import AnyFamily, AnySolver

__all__ = [
    "canonical_name",
    "check_solver_name",
    "families_named",
    "families_solved",
    "load_plugin",
    "make_solver",
    "plugin_place",
    "with_objective",
]


def families_solved(solver: AnySolver) -> tuple[AnyFamily, ...]:
    """Return the families whose problems a solver takes, by the annotation of its first parameter.

    `allocsolve.model.Problem` stands for the problems of every family.

    Raises
    ------
    ValueError
        If it has none, or one that names no known type of problem.
    """
    named = problem_types(solver)
    if Problem in named:
        return families()
    solved = tuple(family for family in families() if family.problem in named)
    if not solved:
        problems = " or ".join(family.problem.__name__ for family in families())
        msg = f"annotate its first parameter with what it solves: {problems}"
        raise ValueError(msg)
    return solved


def load_plugin(name: str) -> tuple[AnySolver, tuple[AnyFamily, ...]]:
    """Return the solver of a third party, and the families whose problems it takes.

    Parameters
    ----------
    name
        That of an entry point of the group ``allocsolve.solvers``, or ``package.module:object``, either with
        options. The object is a solver, or a class that makes one.

    Raises
    ------
    UnknownName
        If no entry point has this name.
    PluginError
        If it cannot be loaded or is no solver, if it has no such option, if its name is that of a registered
        solver, or if several distributions use it.
    """
    parsed = parse_name(name)
    solver = load(_entry_point(parsed), dict(parsed.options))
    try:
        return solver, families_solved(solver)
    except ValueError as error:
        raise PluginError(name, str(error)) from error


def _entry_point(name: SolverName) -> EntryPoint:
    """Return the only entry point of a name; its own name is what the user has typed."""
    if is_reference(name.base):
        return EntryPoint(str(name), name.base, GROUP)
    if name.base not in plugins():
        raise UnknownName("plug-in", name.base, plugins())
    entries = plugins()[name.base]
    rivals = [provider(entry) for entry in entries]
    if any(name.base in registered_names(family) for family in families()):
        rivals.insert(0, "allocsolve itself")
    if len(rivals) > 1:
        instead = " or ".join(entry.value for entry in entries)
        reason = f"{' and '.join(rivals)} have a solver of this name; name it as {instead}"
        raise PluginError(str(name), reason)
    return EntryPoint(str(name), entries[0].value, GROUP)


def check_solver_name(what: str, name: str, registered: Iterable[str] | None = None) -> None:
    """Refuse a name that is neither one of these, nor an entry point, nor ``package.module:object``.

    Parameters
    ----------
    what
        What messages call it.
    name
        With or without options, which are not looked at.
    registered
        By default, all names of solvers of all families.

    Raises
    ------
    InvalidOption
        If the text is no name with options.
    UnknownName
        With the nearest names of those that there are.
    """
    base = parse_name(name).base
    if registered is None:
        registered = itertools.chain.from_iterable(map(registered_names, families()))
    names = dict.fromkeys([*registered, *plugins()])
    if base not in names and not is_reference(base):
        raise UnknownName(what, base, names)


def canonical_name(name: str) -> str:
    """Return the name of a solver as records have it.

    A name without options is kept as it is. Of others, an alias becomes what it stands for, the options are
    in the order of the fields, and those that are the defaults are left out: one solver, one name. A plug-in
    is imported for that.

    Raises
    ------
    UnknownName, InvalidOption, PluginError
        See `families_named`.

    Examples
    --------
    >>> canonical_name("curve-fit(order=hilbert,  method=first-fit)"), canonical_name("noX(order=longest)")
    ('curve-fit(method=first-fit)', 'list-scheduling(expand_limit=1, order=longest)')
    """
    parsed = parse_name(name)
    if not parsed.options:
        return parsed.base
    solved = families_named(name)
    if _is_plugin(parsed):
        return name_of(parsed.base, imported(_entry_point(parsed)), load_plugin(name)[0])
    rows = [(registered_names(family)[parsed.base].row, family) for family in solved]
    texts = {canonical(row, registered_solver(parsed, family)) for row, family in rows}
    return texts.pop() if len(texts) == 1 else str(parsed)


def _is_plugin(name: SolverName) -> bool:
    return name.base in plugins() or is_reference(name.base)


def plugin_place(name: str) -> str:
    """Return what the name of a plug-in stands for, ``package.module:object`` with its options.

    Empty for the name of a registered solver, and for a text that is no name.

    Raises
    ------
    PluginError
        If several distributions use the name.

    Examples
    --------
    >>> plugin_place("mine:Search(depth=3)"), plugin_place("growth")
    ('mine:Search(depth=3)', '')
    """
    try:
        parsed = parse_name(name)
    except InvalidOption:
        return ""
    if not _is_plugin(parsed):
        return ""
    return str(SolverName(_entry_point(parsed).value, parsed.options))


def families_named(name: str) -> tuple[AnyFamily, ...]:
    """Return the families that have a solver of this name and options; a plug-in is imported to find out.

    Raises
    ------
    UnknownName
        If there is none, with the nearest names.
    InvalidOption
        If no solver of this name has these options.
    PluginError
        If the plug-in of this name cannot be used.
    """
    check_solver_name("solver", name)
    parsed = parse_name(name)
    if _is_plugin(parsed):
        return load_plugin(name)[1]
    named = tuple(family for family in families() if parsed.base in registered_names(family))
    refusals: dict[AnyFamily, InvalidOption] = {}
    for family in named if parsed.options else ():
        try:
            registered_solver(parsed, family)
        except InvalidOption as error:
            refusals[family] = error
    if len(refusals) == len(named):
        raise InvalidOption("; ".join(map(str, refusals.values())))
    return tuple(family for family in named if family not in refusals)


def make_solver(
    name: str, problem: Problem | type, objective: str | Sequence[str] | None = None
) -> AnySolver:
    """Return the solver of this name for problems of this kind.

    Parameters
    ----------
    name
        A registered name (solvers of different kinds of problems may share one) or that of a plug-in, as
        `load_plugin` takes it; options may follow, as in ``curve-fit(method=first-fit, order=snake)``.
        Plug-ins are imported here, and none but the one that is asked for.
    problem
        The problem, or any other of its kind, or their type.
    objective
        What is minimised, as `with_objective`; the default of the solver if None.

    Raises
    ------
    UnknownName
        If there is no such solver of this kind of problems (with the nearest names) or no such objective.
    InvalidOption
        If the solver has no such option, or not with this value.
    PluginError
        If the plug-in of this name cannot be used, or does not solve this kind of problems.
    SolverUnavailable
        If the solver needs a package that is not installed.
    """
    family = family_of(problem)
    parsed = parse_name(name)
    check_solver_name(f"{family.kind} solver", name, registered_names(family))
    terms = family.parse_objective(objective)
    if _is_plugin(parsed):
        solver, solved = load_plugin(name)
        if family not in solved:
            kinds = " and ".join(one.kind for one in solved)
            raise PluginError(name, f"it solves {kinds} problems, not {family.kind} problems")
    else:
        row = registered_names(family)[parsed.base].row
        require_packages(row.name, row.needs)
        solver = registered_solver(parsed, family)
    return solver if objective is None else with_objective(solver, terms)


def with_objective(solver: AnySolver, objective: tuple[str, ...]) -> AnySolver:
    """Return the solver that minimises these terms.

    A solver that can minimise any is a dataclass with a field ``objective``, a tuple of terms; any other is
    returned as it is.
    """
    given: Any = solver
    if dataclasses.is_dataclass(given) and any(
        field.name == "objective" for field in dataclasses.fields(given)
    ):
        given = dataclasses.replace(given, objective=objective)  # type: ignore[type-var]  # an instance of a dataclass, none of the class itself
    return given  # type: ignore[no-any-return]  # a solver is whatever is called like one
