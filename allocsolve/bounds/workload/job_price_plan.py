"""Where the ascent of prices per job begins, and on which slots and temperatures it goes on."""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.bounds.workload.job_price_windows import JobWindows, slots_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.bounds.workload.job_price_dual import DualJobs
    from allocsolve.bounds.workload.price_bound import PriceBound
    from allocsolve.model import FloatArray, IntArray

__all__ = ["MARGIN", "PIECE", "Plan", "Round", "further", "plan"]

#: Up to so many jobs every job may have a price until all are done.
_FEW: Final = 100

#: Jobs of a log that are priced by themselves at first.
PIECE: Final = 1200

#: Of few jobs, the most slots as fine as the times themselves, and about how many coarser ones.
_FINE, _COARSE = 400, 100

#: Of a log, the most slots at first, and the length of one as a share of the mean run time.
_MOST_SLOTS, _LENGTH = 20_000, 0.8

#: Slots that a window of a log reaches beyond what the first prices ask for.
_FIRST_MARGIN: Final = 6

#: Slots that a window reaches behind its last price after a round.
MARGIN: Final = 2


class Round(NamedTuple):
    """An ascent on slots of 1/`divisor` of the first length; temperatures in costs of a delay by one slot."""

    divisor: int
    temperatures: tuple[float, ...]
    by_pieces: bool = False


_FINE_ROUNDS = (Round(1, (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003)),)
_COARSE_ROUNDS = (
    Round(1, (0.5, 0.15, 0.05)),
    Round(2, (0.05, 0.015)),
    Round(4, (0.03, 0.01)),
    Round(8, (0.02,)),
)
_ROUNDS = (
    Round(1, (0.14, 0.042)),
    Round(2, (0.028, 0.0083)),
    Round(4, (0.028, 0.011)),
    Round(8, (0.022,)),
)
_FURTHER_ROUNDS = (Round(1, (0.022, 0.011)), Round(2, (0.022, 0.011)), Round(4, (0.022, 0.011)))
_PIECE_ROUNDS = tuple(each._replace(by_pieces=True) for each in _ROUNDS[:2])


class Plan(NamedTuple):
    """Windows with the first prices, and rounds from them on: others if the first ones are no gain."""

    windows: JobWindows
    rounds: Sequence[Sequence[Round]]


def plan(jobs: DualJobs, capacity: int, sizes: FloatArray, starts: FloatArray, given: PriceBound) -> Plan:
    """Return where to begin: with the prices per node-second of a bound.

    Parameters
    ----------
    jobs, capacity
        The jobs that count, and what they share.
    sizes, starts
        Shape (jobs,), their nodes, and cheapest starts under the prices of the bound.
    given
        The bound.
    """
    rounds: tuple[tuple[Round, ...], ...]
    paid = np.concatenate(([0.0], np.cumsum(given.prices * np.diff(given.edges))))
    low = math.floor(jobs.submit.min())
    if len(jobs.submit) <= _FEW:
        horizon = _serial_horizon(jobs, capacity)
        unit = _unit(jobs, low)
        if horizon - low <= _FINE * unit:
            length, rounds = unit, (_FINE_ROUNDS,)
        else:
            length, rounds = 8 * math.ceil((horizon - low) / (8 * _COARSE)), (_COARSE_ROUNDS,)
        ends = np.full(len(sizes), float(horizon))
    else:
        ends = _latest_ends(jobs, sizes, starts, given, paid)
        span = float(jobs.submit.max() + jobs.runtime.max()) - low
        eighth = max(_LENGTH * float(jobs.runtime.mean()), span / _MOST_SLOTS) / 8
        length = 8 * max(1, round(eighth))
        ends += _FIRST_MARGIN * length
        rounds = (_ROUNDS,) if len(sizes) <= PIECE else (_PIECE_ROUNDS + _ROUNDS[1:], _ROUNDS)
    edges = low + length * np.arange(math.ceil((float(ends.max()) - low) / length) + 1, dtype=np.float64)
    windows = JobWindows.empty(edges, slots_of(edges, jobs.submit), slots_of(edges, ends - 1e-6 * length))
    price = np.diff(np.interp(edges, given.edges, paid)) / length
    return Plan(windows.with_prices(price[windows.slots] * sizes[windows.owners]), rounds)


def further(windows: JobWindows, submit: FloatArray) -> Plan:
    """Return how the ascent goes on from prices of an earlier one: on their slots, then on finer ones."""
    return Plan(windows.cut(submit, MARGIN * windows.usual_length), (_FURTHER_ROUNDS,))


def _latest_ends(
    jobs: DualJobs, sizes: FloatArray, starts: FloatArray, given: PriceBound, paid: FloatArray
) -> FloatArray:
    """Return by when each job ends even if it starts as late as its delay costs what it pays now."""
    ends = starts + jobs.runtime
    prices = np.interp(ends, given.edges, paid) - np.interp(starts, given.edges, paid)
    costs = np.maximum(jobs.floor, jobs.slope * (ends - jobs.submit)) + sizes * prices
    latest: FloatArray = jobs.submit + costs / jobs.slope
    return latest


def _unit(jobs: DualJobs, low: int) -> int:
    """Return the greatest number of whole seconds of which all times are multiples; 1 if there is none."""
    times = np.concatenate((jobs.submit - low, jobs.runtime))
    if (times != np.floor(times)).any():
        return 1
    return max(1, int(np.gcd.reduce(times.astype(np.int64))))


def _serial_horizon(jobs: DualJobs, capacity: int) -> int:
    """Return when the last job ends if they start in order of submission."""
    running: list[tuple[float, int]] = []
    now, free = 0.0, capacity
    order: IntArray = np.argsort(jobs.submit, kind="stable")
    rows = zip(
        jobs.submit[order].tolist(), jobs.runtime[order].tolist(), jobs.nodes[order].tolist(), strict=True
    )
    for submit, runtime, nodes in rows:
        now = max(now, submit)
        while running and (running[0][0] <= now or free < nodes):
            end, freed = heapq.heappop(running)
            now, free = max(now, end), free + freed
        heapq.heappush(running, (now + runtime, nodes))
        free -= nodes
    return math.ceil(max((end for end, _ in running), default=now))
