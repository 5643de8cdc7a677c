from .cpsat import ReservationCpSat as ReservationCpSat
from .prices import ReservationPrices as ReservationPrices
