"""The families: those of this package, and those that other distributions add by entry points."""

from __future__ import annotations

import functools
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Final

from allocsolve.errors import PluginError, UnknownName
from allocsolve.families.contract import AnyFamily, Family, object_at

if TYPE_CHECKING:
    from collections.abc import Mapping

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
