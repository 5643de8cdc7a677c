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

from allocsolve.errors import InvalidOption, PluginError
from allocsolve.registry.options import resolve, with_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.families import AnySolver
    from allocsolve.registry.names import OptionValue

__all__ = [
    "GROUP",
    "identity",
    "imported",
    "is_reference",
    "load",
    "plugins",
    "problem_types",
    "provider",
    "solver_fault",
]

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

    Raises
    ------
    PluginError
        With the name of the plug-in and the reason: no such module or attribute, or what the import raises.
    """
    module, _, attribute = entry.value.partition(":")
    if not all(part.isidentifier() for part in f"{module}.{attribute}".split(".")):
        raise PluginError(entry.name, f"{entry.value!r} is not of the form package.module:object")
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

    Raises
    ------
    PluginError
        With the name of the plug-in and the reason: it cannot be imported or instantiated, has no such
        option, is not called with a problem and a budget, or has no name of its own for the records.
    """
    thing = imported(entry)
    try:
        if options:
            solver: Any = with_options(thing, options)
        else:
            solver = thing() if isinstance(thing, type) else thing
    except KeyboardInterrupt:
        raise
    except InvalidOption as error:
        raise PluginError(entry.name, str(error)) from error
    except BaseException as error:
        attribute = entry.value.partition(":")[2]
        raise PluginError(entry.name, f"{attribute}() raised {type(error).__name__}: {error}") from error
    fault = solver_fault(solver)
    if fault:
        raise PluginError(entry.name, fault)
    return solver  # type: ignore[no-any-return]  # a solver is whatever is called like one


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
        return f"{shown} is not callable"
    try:
        inspect.signature(solver).bind(None, None)
    except (TypeError, ValueError):
        return f"{shown} is not called with a problem and a budget"
    if nameless:
        return f"{shown} is no name to find its records by: take a function of a module or a frozen dataclass"
    return ""


def identity(solver: Any) -> str:  # noqa: ANN401 - also what turns out to be no solver
    """Return what a solver is called in records and baselines: its ``repr``, which says its options.

    Of a function, and of an object whose ``repr`` holds an address (another one in every process), that is
    the module and the qualified name.

    Examples
    --------
    >>> from allocsolve.heuristics import GenAlg, Growth
    >>> identity(Growth("all")), identity(identity)
    ("Growth(seeds='all')", 'allocsolve.registry.plugins.identity')
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

    Empty if there is no annotation.

    Raises
    ------
    ValueError
        If a text cannot be resolved.
    """
    call = inspect.unwrap(solver if inspect.isroutine(solver) else type(solver).__call__)
    first = next(iter(inspect.signature(solver).parameters.values()))
    if first.annotation is first.empty:
        return ()
    names: Mapping[str, Any] = getattr(call, "__globals__", {})
    hint = resolve(first.annotation, names)
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
