from .node_prices import (
    PriceAscent as PriceAscent,
    ReservationPriceBound as ReservationPriceBound,
    node_prices as node_prices,
)
