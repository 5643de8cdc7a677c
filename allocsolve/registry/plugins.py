"""Solvers of third parties: entry points of other distributions, objects named ``package.module:object``."""

from __future__ import annotations

import functools
import inspect
import itertools
import re
import sys
import types
import typing
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Final

from allocsolve import model
from allocsolve.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.families import AnySolver

__all__ = ["GROUP", "fault", "identity", "is_reference", "load", "plugins", "problem_types", "provider"]

#: The group of entry points in which a distribution names its solvers.
GROUP: Final = "allocsolve.solvers"


@functools.cache
def plugins() -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return the entry points of the installed distributions by name, in order of names; imports none."""
    found = sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, provider(entry)))
    return {name: tuple(same) for name, same in itertools.groupby(found, key=lambda entry: entry.name)}


def provider(entry: EntryPoint) -> str:
    """Return the distribution of an entry point with its version; empty for an object named as such."""
    return "" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


def is_reference(name: str) -> bool:
    """Tell whether a name is meant as ``package.module:object``; no registered name has a colon."""
    return ":" in name


def load(entry: EntryPoint) -> AnySolver:
    """Import the object of an entry point; a class is instantiated without arguments.

    Raises
    ------
    PluginError
        With the name of the plug-in and the reason: no such module or attribute, the import or the class
        raises anything at all, or what is there is not called with a problem and a budget or has no name of
        its own for the records.
    """
    module, _, attribute = entry.value.partition(":")
    if not all(part.isidentifier() for part in f"{module}.{attribute}".split(".")):
        raise PluginError(entry.name, f"{entry.value!r} is not of the form package.module:object")
    doing = f"importing {module}"
    try:
        thing = entry.load()
        doing = f"{attribute}()"
        solver: Any = thing() if isinstance(thing, type) else thing
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise PluginError(entry.name, _reason(error, module, doing)) from error
    found = fault(solver)
    if found:
        raise PluginError(entry.name, found)
    return solver  # type: ignore[no-any-return]  # a solver is whatever is called like one


def _reason(error: BaseException, module: str, doing: str) -> str:
    if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
        return f"there is no module {error.name!r}"
    if isinstance(error, AttributeError) and getattr(error.obj, "__name__", "") == module:
        return f"module {module!r} has no attribute {error.name!r}"
    return f"{doing} raised {type(error).__name__}: {error}"


def fault(solver: Any) -> str:  # noqa: ANN401 - anything that a plug-in may name
    """Return why a thing cannot be a solver; empty if it can.

    It must be callable with a problem and a budget, and its `identity` must be the same in every process and
    that of no other solver, since records are found again by it.
    """
    name = identity(solver)
    shown = name if len(name) <= 80 else f"{name[:77]}..."
    if not callable(solver):
        return f"{shown} is not callable"
    try:
        inspect.signature(solver).bind(None, None)
    except (TypeError, ValueError):
        return f"{shown} is not called with a problem and a budget"
    if "<" in name if inspect.isfunction(solver) else re.search(r" at 0x[0-9a-fA-F]+", name):
        return f"{shown} is no name to find its records by: take a function of a module or a frozen dataclass"
    return ""


def identity(solver: Any) -> str:  # noqa: ANN401 - also what turns out to be no solver
    """Return what a solver is called in records: its ``repr``; of a function, module and qualified name.

    Examples
    --------
    >>> from allocsolve.heuristics import GenAlg, Growth
    >>> identity(Growth("all")), identity(identity)
    ("Growth(seeds='all')", 'allocsolve.registry.plugins.identity')
    """
    # The repr of a function is its address.
    return f"{solver.__module__}.{solver.__qualname__}" if inspect.isfunction(solver) else repr(solver)


def problem_types(solver: AnySolver) -> tuple[object, ...]:
    """Return the types that the annotation of the first parameter names, one or the members of a union.

    Annotations that are texts may use `allocsolve`, `allocsolve.model` and the names in it without importing
    them: they often are imported for type checkers only. Empty if there is no annotation.

    Raises
    ------
    ValueError
        If a text cannot be resolved.
    """
    call = inspect.unwrap(solver if inspect.isroutine(solver) else type(solver).__call__)
    first = next(iter(inspect.signature(solver).parameters.values()))
    if first.annotation is first.empty:
        return ()
    holder = type("Annotated", (), {"__annotations__": {"problem": first.annotation}})
    ours = {**vars(model), "model": model, "allocsolve": sys.modules["allocsolve"]}
    try:
        hint = typing.get_type_hints(holder, globalns={**ours, **getattr(call, "__globals__", {})})["problem"]
    except Exception as error:
        msg = f"the annotation {first.annotation!r} cannot be resolved: {error}"
        raise ValueError(msg) from error
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
