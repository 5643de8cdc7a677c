"""Solvers by kind of problem and name, plug-ins included, and the front door `solve`."""

from __future__ import annotations

from allocsolve.registry.allocators import make_allocator
from allocsolve.registry.plugins import fault, identity, is_reference, plugins, provider
from allocsolve.registry.table import (
    check_name,
    families_named,
    families_solved,
    load_plugin,
    make_solver,
    solve,
    solver_rows,
    with_objective,
)

__all__ = [
    "check_name",
    "families_named",
    "families_solved",
    "fault",
    "identity",
    "is_reference",
    "load_plugin",
    "make_allocator",
    "make_solver",
    "plugins",
    "provider",
    "solve",
    "solver_rows",
    "with_objective",
]
