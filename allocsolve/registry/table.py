"""Solvers by name: the rows of the families, their aliases, and plug-ins of third parties.

A plug-in is an entry point of another distribution, or an object that is named ``package.module:object`` or
``file.py:object``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import itertools
import re
import sys
import types
import typing
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from allocsolve.errors import InvalidOption, PluginError, UnknownName, require_packages
from allocsolve.families import SolverRow, families, family_of
from allocsolve.model import Problem
from allocsolve.model.options import resolve
from allocsolve.registry.names import SolverName, name_of, parse_name, with_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from allocsolve.families import AnyFamily, AnySolver
    from allocsolve.model.options import OptionValue


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


def searches(name: str, family: AnyFamily) -> bool:
    """Tell whether a solver of this name may search until its time is over.

    Policies and other registered heuristics that do not search are done when they are done. Of plug-ins
    nothing is known, so they may.
    """
    row = solver_row(name, family)
    return row is None or row.method == "exact" or row.searches


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

    Raises `InvalidOption` if it has no such option, or not with this value.
    """
    row, options = registered_names(family)[name.base]
    solver = row.load()
    if options or name.options:
        try:
            solver = with_options(solver, {**options, **dict(name.options)})
        except InvalidOption as error:
            raise InvalidOption(f"{family.kind} solver {name}: {error}") from error
    return solver


def canonical(row: SolverRow, solver: AnySolver) -> str:
    """Return the name of a solver of the class of a row."""
    return name_of(row.name, row.load(), solver)


@functools.cache
def quick_solvers(family: AnyFamily, left_out: frozenset[str] = frozenset()) -> tuple[AnySolver, ...]:
    """Return the solvers of all names of heuristics that do not search, without those of some classes.

    `left_out` are the names of rows.
    """
    return tuple(
        registered_solver(parse_name(name), family)
        for name, row in solver_names(family).items()
        if row.method == "heuristic" and not row.searches and row.name not in left_out
    )


#: The group of entry points in which a distribution names its solvers.
GROUP: Final = "allocsolve.solvers"


@functools.cache
def plugins() -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return the entry points of the installed distributions by name, in order of names; imports none."""
    entries = sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, provider(entry)))
    return {name: tuple(same) for name, same in itertools.groupby(entries, key=lambda entry: entry.name)}


def provider(entry: EntryPoint) -> str:
    """Return the distribution of an entry point with its version; empty for an object named as such."""
    return "" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


def is_reference(name: str) -> bool:
    """Tell whether a name is meant as ``package.module:object``; no registered name has a colon."""
    return ":" in name.partition("(")[0]


def imported(entry: EntryPoint) -> Any:  # noqa: ANN401 - a solver, a class of solvers, or anything else
    """Import the object of an entry point; what no distribution provides may lie in the current directory.

    Raises `PluginError` with the name of the plug-in and the reason: no such module or attribute, or what the
    import raises.
    """
    module, _, attribute = entry.value.partition(":")
    if not all(part.isidentifier() for part in f"{module}.{attribute}".split(".")):
        form = "package.module:object, or file.py:object in this folder or below"
        raise PluginError(entry.name, f"{entry.value!r} is not of the form {form}")
    if entry.dist is None and "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return entry.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise PluginError(entry.name, _reason(error, module)) from error


def load(entry: EntryPoint, options: Mapping[str, OptionValue]) -> AnySolver:
    """Return the solver of an entry point, with these options; a class is instantiated.

    Something else that a family can run, such as a queue policy, becomes a solver. Raises `PluginError` with
    the name of the plug-in and the reason: it cannot be imported or instantiated, has no such option, is not
    called with a problem and a budget, or has no name of its own for the records.
    """
    thing = imported(entry)
    made = _made(entry, thing, options)
    solver: AnySolver = adapted(made if options else thing, made, families()) or made
    fault = solver_fault(solver)
    if fault:
        raise PluginError(entry.name, fault)
    return solver


def _made(entry: EntryPoint, thing: Any, options: Mapping[str, OptionValue]) -> Any:  # noqa: ANN401 - whatever it names
    """Return an object of an entry point with these options; a class is instantiated."""
    try:
        if options:
            return with_options(thing, options)
        return thing() if isinstance(thing, type) else thing
    except KeyboardInterrupt:
        raise
    except InvalidOption as error:
        raise PluginError(entry.name, str(error)) from error
    except BaseException as error:
        attribute = entry.value.partition(":")[2]
        raise PluginError(entry.name, f"{attribute}() raised {type(error).__name__}: {error}") from error


def adapted(thing: Any, made: Any, by: Iterable[AnyFamily]) -> AnySolver | None:  # noqa: ANN401 - anything
    """Return the solver that one of these families makes of a thing that is none, such as a queue policy.

    None if it is a solver, or none of them can. `made` is the thing, or an instance if it is a class.
    """
    decide = getattr(made, "decide", made)
    if takes(made, 2) or not takes(decide, 1) or lacks_budget(made):
        return None
    return next((solver for family in by if family.adapted and (solver := family.adapted(thing))), None)


def lacks_budget(thing: Any) -> bool:  # noqa: ANN401 - anything
    """Tell whether a thing would be a solver if it had a second parameter: its only one is a problem."""
    if takes(thing, 2) or not takes(thing, 1):
        return False
    named: tuple[object, ...] = ()
    with contextlib.suppress(ValueError):  # of an annotation that nobody can resolve
        named = problem_types(thing)
    problems = {Problem, *(family.problem for family in families())}
    return next(iter(inspect.signature(thing).parameters)) == "problem" or not problems.isdisjoint(named)


def takes(thing: Any, count: int) -> bool:  # noqa: ANN401 - anything
    """Tell whether a thing can be called with so many arguments."""
    try:
        inspect.signature(thing).bind(*[None] * count)
    except (TypeError, ValueError):
        return False
    return True


def _reason(error: BaseException, module: str) -> str:
    if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
        return f"there is no module {error.name!r}"
    if isinstance(error, AttributeError) and getattr(error.obj, "__name__", "") == module:
        return f"module {module!r} has no attribute {error.name!r}"
    return f"importing {module} raised {type(error).__name__}: {error}"


def solver_fault(solver: Any) -> str:  # noqa: ANN401 - anything that a plug-in may name
    """Return why a thing cannot be a solver; empty if it can.

    It must be callable with a problem and a budget, and its `identity` must be the same in every process and
    that of no other solver, since records are found again by it.
    """
    nameless = "<" in identity(solver) if inspect.isfunction(solver) else _holds_address(repr(solver))
    name = repr(solver) if nameless and not inspect.isfunction(solver) else identity(solver)
    shown = name if len(name) <= 80 else f"{name[:77]}..."
    if not callable(solver):
        return f"{shown} is not callable{_policy_hint(solver)}"
    if lacks_budget(solver):
        return f"{shown} lacks the parameter budget: it is called with a problem and a budget"
    if not takes(solver, 2):
        return f"{shown} is not called with a problem and a budget{_policy_hint(solver)}"
    if nameless:
        return f"{shown} is no name to find its records by: take a function of a module or a frozen dataclass"
    return ""


def _policy_hint(thing: Any) -> str:  # noqa: ANN401 - anything
    """Return who checks a thing if it is a queue policy; empty if it cannot be one."""
    decides = takes(getattr(thing, "decide", thing), 1)
    return "; a queue policy is checked by allocsolve.testing.policies.check_policy" if decides else ""


def identity(solver: Any) -> str:  # noqa: ANN401 - also what turns out to be no solver
    """Return what a solver is called in records and baselines: its ``repr``, which says its options.

    Of a function, and of an object whose ``repr`` holds an address (another one in every process), that is
    the module and the qualified name.

    Examples
    --------
    >>> from allocsolve.heuristics import GenAlg, Growth
    >>> identity(Growth("all")), identity(identity)
    ("Growth(seeds='all')", 'allocsolve.registry.table.identity')
    """
    text = repr(solver)
    if not _holds_address(text):
        return text
    named = solver if inspect.isroutine(solver) else type(solver)
    return f"{named.__module__}.{named.__qualname__}"


def _holds_address(text: str) -> bool:
    return re.search(r" at 0x[0-9a-fA-F]+", text) is not None


def problem_types(solver: AnySolver) -> tuple[object, ...]:
    """Return the types that the annotation of the first parameter names, one or the members of a union.

    Empty if there is no annotation. Raises `ValueError` if a text cannot be resolved.
    """
    call = inspect.unwrap(solver if inspect.isroutine(solver) else type(solver).__call__)
    first = next(iter(inspect.signature(solver).parameters.values()))
    if first.annotation is first.empty:
        return ()
    names: Mapping[str, Any] = getattr(call, "__globals__", {})
    hint = resolve(first.annotation, names)
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


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
        raise ValueError(f"annotate its first parameter with what it solves: {problems}")
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
    name
        With or without options, which are not looked at.
    registered
        By default, all names of solvers of all families.

    Raises
    ------
    InvalidOption
        If the text is no name with options, or the name of a file.
    UnknownName
        With the nearest names of those that there are.
    """
    base = parse_name(name).base
    if registered is None:
        registered = itertools.chain.from_iterable(map(registered_names, families()))
    names = dict.fromkeys([*registered, *plugins()])
    if base not in names and not is_reference(base):
        if base.endswith(".py"):
            msg = f"{what} {base!r}: a solver in a file of this folder is named as {base[:-3]}:NAME"
            raise InvalidOption(msg)
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
        entry = _entry_point(parsed)
        thing = imported(entry)
        return name_of(parsed.base, thing, _made(entry, thing, dict(parsed.options)))
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
            kinds = " and ".join(other.kind for other in solved)
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


#: What solvers by CP-SAT need; scipy, for their bounds.
CP_SAT = ("ortools", "scipy")


def heuristic(name: str, summary: str, solver: str, *, searches: bool = False) -> SolverRow:
    """Return the row of a class of `allocsolve.heuristics`."""
    return SolverRow(name, "heuristic", summary, f"allocsolve.heuristics:{solver}", searches=searches)


def exact(name: str, summary: str, solver: str, needs: tuple[str, ...] = ()) -> SolverRow:
    """Return the row of a class of `allocsolve.exact`."""
    return SolverRow(name, "exact", summary, f"allocsolve.exact:{solver}", needs)
