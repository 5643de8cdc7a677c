"""Orders in which queue policies look at waiting jobs."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from allocsolve.heuristics.workload._kernels_queue import ORDER_CODES

__all__ = ["QUEUE_ORDERS", "QueueOrder", "order_code"]

#: Which job comes first; of equal ones the one that was submitted first. With the estimate r (s) and the
#: size n (nodes) of a job, its submission s (s, at least 1) and its wait w (s) so far:
#:
#: ``submission``; ``shortest-estimate``: least r; ``smallest-area``: least r n; ``largest``: largest n;
#: ``smallest``: least n; ``wfp3``: largest (w/r)^3 n; ``unicef``: largest w / (r log2 n), jobs of one node
#: first; ``f1``: least log10(r) n + 870 log10(s); ``f2``: sqrt(r) n + 25,600 log10(s); ``f3``: r n +
#: 6,860,000 log10(s); ``f4``: r sqrt(n) + 530,000 log10(s) (Carastan-Santos & de Camargo, SC'17, which also
#: has WFP3 and UNICEF).
QueueOrder: TypeAlias = Literal[
    "submission",
    "shortest-estimate",
    "smallest-area",
    "largest",
    "smallest",
    "f1",
    "f2",
    "f3",
    "f4",
    "wfp3",
    "unicef",
]

#: All orders, the default first.
QUEUE_ORDERS: tuple[QueueOrder, ...] = get_args(QueueOrder)


def order_code(order: QueueOrder) -> int:
    """Return the code of an order for kernels."""
    return ORDER_CODES[order]
