"""Solvers by kind of problem and name, plug-ins included, and the front door `solve`."""

from __future__ import annotations

from allocsolve.registry.allocators import make_allocator
from allocsolve.registry.code import code_of
from allocsolve.registry.front_door import solve, solve_and_assess
from allocsolve.registry.names import split_names
from allocsolve.registry.options import SolverOption, solver_options
from allocsolve.registry.plugins import identity, is_reference, plugins, provider, solver_fault
from allocsolve.registry.readiness import announce_once, ready
from allocsolve.registry.registered import solver_names, solver_row, solver_rows
from allocsolve.registry.resuming import resumed
from allocsolve.registry.table import (
    canonical_name,
    check_solver_name,
    families_named,
    families_solved,
    load_plugin,
    make_solver,
    plugin_place,
    with_objective,
)

__all__ = [
    "SolverOption",
    "announce_once",
    "canonical_name",
    "check_solver_name",
    "code_of",
    "families_named",
    "families_solved",
    "identity",
    "is_reference",
    "load_plugin",
    "make_allocator",
    "make_solver",
    "plugin_place",
    "plugins",
    "provider",
    "ready",
    "resumed",
    "solve",
    "solve_and_assess",
    "solver_fault",
    "solver_names",
    "solver_options",
    "solver_row",
    "solver_rows",
    "split_names",
    "with_objective",
]
