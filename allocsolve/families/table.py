"""The families: those of this package, and those that other distributions add by entry points.

Beside the table is what is asked of the family of a problem: the problem with other values of its settings,
and the answers of quick heuristics.
"""

from __future__ import annotations

import functools
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Final

from allocsolve.errors import InvalidOption, PluginError, UnknownName
from allocsolve.families.contract import AnyFamily, Family, object_at
from allocsolve.model import Budget, Clock, terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from allocsolve.model import Problem

#: The families of this package, in the order in which they are shown: the only table of them. They are loaded
#: when the family of a problem is first needed, so that files and judge need not import solvers.
FAMILIES: Final = (
    "allocsolve.registry.evolution:EVOLUTION",
    "allocsolve.registry.partition:PARTITION",
    "allocsolve.registry.workload:WORKLOAD",
    "allocsolve.registry.reservation:RESERVATION",
    "allocsolve.registry.placement:PLACEMENT",
)

#: The group of entry points in which a distribution names its families; an entry is called like its kind.
GROUP: Final = "allocsolve.families"


def families() -> tuple[AnyFamily, ...]:
    """Return all families: first those of this package, then those of other distributions by kind."""
    return _loaded()[0]


def unusable_families() -> Mapping[str, str]:
    """Return why entry points name no family, by the name of the entry point; usually empty."""
    return _loaded()[1]


def family_named(kind: str) -> AnyFamily:
    """Return the family of this kind."""
    named = {family.kind: family for family in families()}
    if kind in named:
        return named[kind]
    if kind in unusable_families():
        raise PluginError(kind, unusable_families()[kind])
    raise UnknownName("kind of problems", kind, named)


def family_of(problem: Problem | type) -> AnyFamily:
    """Return the family of a problem, or of a type of problems."""
    type_ = problem if isinstance(problem, type) else type(problem)
    for family in families():
        if issubclass(type_, family.problem):
            return family
    raise UnknownName("type of problem", type_.__name__, (family.problem.__name__ for family in families()))


@functools.cache
def _loaded() -> tuple[tuple[AnyFamily, ...], Mapping[str, str]]:
    usable = {family.kind: family for family in map(object_at, FAMILIES)}
    unusable: dict[str, str] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        fault = _add(entry, usable)
        if fault:
            unusable[entry.name] = fault
    return tuple(usable.values()), unusable


def _add(entry: EntryPoint, usable: dict[str, AnyFamily]) -> str:
    """Add the family of an entry point; return why it cannot be used, empty if it can."""
    try:
        family = entry.load()
    except Exception as error:  # noqa: BLE001 - the import of a third party may raise anything
        return f"loading {entry.value} raised {type(error).__name__}: {' '.join(str(error).split())}"
    if not isinstance(family, Family):
        return f"{entry.value} is no allocsolve.families.Family"
    if family.kind != entry.name:
        return f"{entry.value} is of the kind {family.kind!r}: name the entry point after it"
    if entry.name in usable:
        return f"there is a family of the kind {entry.name!r} already"
    usable[entry.name] = family
    return ""


def with_settings(
    problem: Problem, values: Mapping[str, object], source: str, *, tighten: bool = False
) -> Problem:
    """Return the problem with these values of its fields.

    Parameters
    ----------
    values
        By the names of `Family.settings`; a value is a text, or as a TOML file has it.
    tighten
        Whether to refuse a value under which an answer need not answer the problem as it is.

    Raises
    ------
    InvalidOption
        If the family has no such field, the value is not allowed, or it is looser than that of the problem.
    """
    family = family_of(problem)
    for name, value in values.items():
        setting = family.settings.get(name)
        if setting is None:
            msg = f"{name}={value} does not go with {source}, a problem of the kind {family.kind}"
            raise InvalidOption(msg)
        try:
            parsed = setting.read(value)
        except ValueError as error:
            raise InvalidOption(f"{name}: {error}") from None
        if tighten and not setting.tightens(problem, parsed):
            raise InvalidOption(f"{name}={value} is looser than the {name} of {source}")
        problem = setting.apply(problem, parsed)
    return problem


def setting_fault(name: str, value: object) -> str:
    """Return why no family lets a field of this name be set to this value; empty if one does."""
    named = {field: family for family in families() for field in family.settings}
    if name not in named:
        return f"there is no field {name!r} to set; there is {', '.join(named) or 'none'}"
    faults = []
    for family in families():
        if name in family.settings:
            try:
                family.settings[name].read(value)
            except ValueError as error:
                faults.append(str(error))
            else:
                return ""
    return f"{name}: {faults[0]}"


#: After this time (s), or this share of the time that is left, whichever is later, no other solver is called:
#: on problems of usual size all of them take a tenth of it together.
_ENOUGH_S: Final = 0.25
_SHARE: Final = 0.1


def quick_answers(
    problem: Problem, objective: tuple[str, ...], clock: Clock, *, seed: int = 0
) -> Iterator[tuple[Any, tuple[float, ...]]]:
    """Yield answers of the quick solvers of a problem's family, each better than those before.

    Parameters
    ----------
    objective
        By whose terms, as the rules of the family value an answer, one is better than another.
    clock
        Of the caller. All quick solvers are called as long as a quarter of a second or a tenth of the time
        left lasts, whichever is longer, and in any case until one has given an answer.

    Yields
    ------
    answer, values
        A feasible answer, and its value under each term.
    """
    family = family_of(problem)
    own = clock.stage(_SHARE)
    if own.remaining < _ENOUGH_S:
        own = Clock(_ENOUGH_S)
    best: tuple[float, ...] = ()
    for solver in family.quick_solvers(problem, objective):
        if best and own.remaining == 0:
            return
        try:
            answer = solver(problem, Budget(seconds=max(own.remaining, 1e-3), seed=seed)).answer
        except InvalidOption:  # it is not made for this problem
            continue
        if answer is None:
            continue
        values = terms(family.value(family.rules.metrics(problem, answer), objective))
        if (not best or values < best) and not family.rules.violations(problem, answer):
            best = values
            yield answer, values
