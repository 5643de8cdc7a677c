"""Lower bounds on the terms of reservations, and the prices that prove them."""

from __future__ import annotations

from allocsolve.bounds.reservation.node_prices import PriceAscent, ReservationPriceBound, node_prices

__all__ = ["PriceAscent", "ReservationPriceBound", "node_prices"]
