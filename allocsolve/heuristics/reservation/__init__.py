"""Heuristics for reservations."""

from __future__ import annotations

from allocsolve.heuristics.reservation.greedy import (
    RESERVATION_ORDERS,
    ReservationGreedy,
    ReservationOrder,
    greedy_starts,
    reservation_order,
)

__all__ = [
    "RESERVATION_ORDERS",
    "ReservationGreedy",
    "ReservationOrder",
    "greedy_starts",
    "reservation_order",
]
