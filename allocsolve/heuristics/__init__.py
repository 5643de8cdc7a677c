"""Heuristics: fast solvers without a proof, and the plain functions under them."""

from __future__ import annotations

from allocsolve.heuristics.fit import Placement, compact, fit
from allocsolve.heuristics.list_scheduling import (
    ORDERS,
    Fit,
    ListScheduling,
    Order,
    Rigid,
    list_order,
    list_starts,
)

__all__ = [
    "ORDERS",
    "Fit",
    "ListScheduling",
    "Order",
    "Placement",
    "Rigid",
    "compact",
    "fit",
    "list_order",
    "list_starts",
]
