"""Exact solvers of reservations, and the baseline: a schedule and a certified bound together."""

from __future__ import annotations

from allocsolve.exact.reservation.cpsat import ReservationCpSat
from allocsolve.exact.reservation.prices import ReservationPrices

__all__ = ["ReservationCpSat", "ReservationPrices"]
