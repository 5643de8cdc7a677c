"""Solvers by kind of problem and name, and the front door `solve`."""

from __future__ import annotations

from allocsolve.registry.family import AnySolver, Entry, Family, Feature
from allocsolve.registry.table import FAMILIES, entries, family_of, make_allocator, make_solver, solve

__all__ = [
    "FAMILIES",
    "AnySolver",
    "Entry",
    "Family",
    "Feature",
    "entries",
    "family_of",
    "make_allocator",
    "make_solver",
    "solve",
]
