"""Solvers by kind of problem and name, plug-ins included, and the front door `solve`."""

from __future__ import annotations

from allocsolve.registry.family import AnySolver, Entry, Family, Feature
from allocsolve.registry.plugins import fault, identity, is_reference, plugins, provider
from allocsolve.registry.table import (
    FAMILIES,
    check_name,
    entries,
    families_named,
    families_solved,
    family_of,
    load_plugin,
    make_allocator,
    make_solver,
    solve,
    with_objective,
)

__all__ = [
    "FAMILIES",
    "AnySolver",
    "Entry",
    "Family",
    "Feature",
    "check_name",
    "entries",
    "families_named",
    "families_solved",
    "family_of",
    "fault",
    "identity",
    "is_reference",
    "load_plugin",
    "make_allocator",
    "make_solver",
    "plugins",
    "provider",
    "solve",
    "with_objective",
]
