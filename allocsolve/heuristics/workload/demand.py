"""How many nodes jobs that may choose want at a price of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.heuristics.workload._kernels_clearing import Demand
from allocsolve.model.arrays import frozen
from allocsolve.model.speedup import AMDAHL, NO_SPEEDUP, OVERHEAD, POWER

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, PackedJobs

__all__ = ["LINEAR", "price_takers", "profit_takers"]

#: A scale that wants more nodes than any cluster has, however dear they are.
_ALL: Final = 1e150

#: The largest scale: beyond that of a job without a serial share whose work is paid as well as can be.
_STEEPEST: Final = 1e300

#: The scale of a job without a serial share: of what is left when all others have their least nodes, each
#: such job wants as many. At the highest price there is it wants less than a node.
LINEAR: Final = 1e9


def price_takers(packed: PackedJobs) -> Demand:
    """Return the demand of jobs that want a unit of their work to cost least: time, and nodes at the price.

    With Amdahl's law (parallel share p) and a price l, ``(1 + l n) (1 - p + p / n)`` is least at ``n =
    sqrt(p / (l (1 - p)))``; with a power law (exponent e), ``(1 + l n) n^-e`` at ``n = e / (l (1 - e))``;
    with an overhead that makes it fastest on f nodes where ``n^2 (1 + 2 l n) = f^2``. Jobs with phases have
    no serial share.
    """
    count, share = len(packed.submit), packed.parameter
    scale, exponent = np.zeros(count), np.ones(count)
    with np.errstate(divide="ignore"):
        ratio = np.minimum(np.sqrt(share / (1 - share)), LINEAR)
    amdahl, power = packed.speedup == AMDAHL, packed.speedup == POWER
    scale[amdahl], scale[power] = ratio[amdahl], ratio[power]
    exponent[power] = 2.0
    scale[packed.speedup == NO_SPEEDUP] = LINEAR
    return _demand(scale, exponent, _fastest(packed), np.full(count, np.nan))


def _fastest(packed: PackedJobs) -> FloatArray:
    """Return on how many nodes jobs with an overhead are fastest; 0 of others."""
    fastest = np.zeros(len(packed.submit))
    overhead = packed.speedup == OVERHEAD
    with np.errstate(divide="ignore"):
        fastest[overhead] = np.minimum(packed.parameter[overhead] ** -0.5, LINEAR)
    return fastest


def profit_takers(packed: PackedJobs, work_prices: FloatArray) -> Demand:
    """Return the demand of jobs that are paid for their work: they want the most profit each second.

    On n nodes a job does ``1 / seconds(n)`` of its work a second, for which it is paid its work price w, and
    pays the price l for each node. With Amdahl's law, the time on one node being T, ``w n / (T ((1 - p) n +
    p)) - l n`` is most at ``n = (sqrt(w p / (l T)) - p) / (1 - p)``; with a power law (exponent e), ``w n^e /
    T - l n`` at ``n = (w e / (l T))^(1 / (1 - e))``. With an overhead, T being the time on one node without
    it and f the nodes on which it is fastest, ``w n / (T (1 + n^2 / f^2)) - l n`` is most where ``(1 - z) /
    (1 + z)^2 = l T / w``, z being ``n^2 / f^2``.

    Parameters
    ----------
    work_prices
        Shape (jobs,): for all work of a job, >= 0.
    """
    count, share = len(packed.submit), packed.parameter
    scale, exponent, shift = np.zeros(count), np.ones(count), np.zeros(count)
    amdahl, power = packed.speedup == AMDAHL, packed.speedup == POWER
    serial = np.maximum(1 - share, 1 / _ALL)
    on_one = packed.runtime / (1 - share + share / packed.nodes)
    scale[amdahl] = (np.sqrt(work_prices * share / on_one) / serial)[amdahl]
    shift[amdahl] = np.minimum(share / serial, _ALL)[amdahl]
    on_one = packed.runtime * packed.nodes.astype(np.float64) ** share
    scale[power] = np.sqrt(work_prices * share / on_one)[power]
    exponent[power] = np.minimum(2 / serial, 300.0)[power]
    overhead = packed.speedup == OVERHEAD
    scale[overhead] = (packed.runtime / (1 / packed.nodes + share * packed.nodes))[overhead]
    shift[overhead] = _fastest(packed)[overhead]
    return _demand(np.minimum(scale, _STEEPEST), exponent, shift, np.asarray(work_prices, dtype=np.float64))


def _demand(scale: FloatArray, exponent: FloatArray, shift: FloatArray, gain: FloatArray) -> Demand:
    return Demand(*(frozen(column.copy()) for column in (scale, exponent, shift, gain)))
