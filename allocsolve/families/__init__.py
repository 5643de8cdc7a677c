"""Families of problems: the contract that each one is, and how they are found by kind and by problem."""

from __future__ import annotations

from allocsolve.families.contract import (
    Alias,
    AnyFamily,
    AnySolver,
    Codec,
    Family,
    Feature,
    Rules,
    Setting,
    SolverRow,
    TableFormat,
    relative_gap,
)
from allocsolve.families.settings import setting_fault, with_settings
from allocsolve.families.table import families, family_named, family_of, unusable_families
from allocsolve.families.view import Exhibit, Export, Line, Picture, View

__all__ = [
    "Alias",
    "AnyFamily",
    "AnySolver",
    "Codec",
    "Exhibit",
    "Export",
    "Family",
    "Feature",
    "Line",
    "Picture",
    "Rules",
    "Setting",
    "SolverRow",
    "TableFormat",
    "View",
    "families",
    "family_named",
    "family_of",
    "relative_gap",
    "setting_fault",
    "unusable_families",
    "with_settings",
]
