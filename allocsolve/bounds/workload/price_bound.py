"""What a bound by prices is: its value, its certificate, and the starts that it suggests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.model import FloatArray, IntArray

__all__ = ["PriceBound"]


@dataclass(frozen=True, slots=True, eq=False)
class PriceBound:
    """A lower bound on a term of a workload, with the prices that prove it.

    The arrays are read-only.
    """

    #: In units of the term, never above what the judge recomputes from the certificate.
    value: float
    #: JSON data, for `allocsolve.judge`.
    certificate: Mapping[str, object]
    #: Shape (jobs,), seconds: a cheapest start of each job under the prices.
    starts: FloatArray
    #: Shape (jobs,): the nodes of each job there; those of a rigid job; the rounded mean of a malleable one.
    sizes: IntArray
    #: Shape (slots + 1,), increasing whole seconds; there are no prices outside.
    edges: IntArray
    #: Shape (slots,): what a node-second costs in each slot, in units of the cost of a job (see `JobCosts`).
    prices: FloatArray
    #: Whether the search for prices was ended by Ctrl-C.
    interrupted: bool = False
