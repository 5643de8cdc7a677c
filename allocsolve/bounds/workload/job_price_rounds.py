"""Rounds of ascent: temperatures fall, windows are cut, slots are halved."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.bounds.workload.job_price_ascent import ascend
from allocsolve.bounds.workload.job_price_dual import PRIOR, DualJobs, JobDual
from allocsolve.bounds.workload.job_price_windows import JobWindows, joined
from allocsolve.kernels.threads import run_in_threads
from allocsolve.model import Clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import IntArray

__all__ = ["Ascended", "ascended", "ascended_pieces"]

#: Shares of the prior that are taken off the levels before their exact value is computed.
_SHARES: Final = (0.5, 1.0)

#: An ascent is over when some steps gain less than this share of the value.
_TOLERANCE: Final = 1e-6


class Ascended(NamedTuple):
    """Prices and the lower bound that they give, but for the rounding of doubles."""

    windows: JobWindows
    value: float


def ascended(
    jobs: DualJobs,
    capacity: int,
    windows: JobWindows,
    temperatures: Sequence[float],
    *,
    steps: int,
    clock: Clock,
    halt: threading.Event | None = None,
    workers: int = 1,
) -> Ascended:
    """Return the best prices met on the way from those of the windows through falling temperatures.

    It ends when the clock has run out or `halt` is set.
    """

    def stop() -> bool:
        return not clock.remaining or (halt is not None and halt.is_set())

    dual = JobDual(jobs, capacity, windows, workers)
    lengths = windows.lengths
    levels = windows.prices * lengths
    best, best_value = levels, dual.exact(levels)
    for temperature in temperatures:
        if stop():
            break
        shift = -PRIOR * temperature
        levels = ascend(
            partial(dual.soft, temperature=temperature),
            levels + shift,
            first_step=temperature,
            steps=steps,
            tolerance=_TOLERANCE,
            stop=stop,
        )
        for share in _SHARES:
            clipped = np.maximum(levels - share * shift, 0.0)
            value = dual.exact(clipped)
            if value > best_value:
                best, best_value = clipped, value
        levels = levels - shift
    return Ascended(windows.with_prices(best / lengths), best_value)


def ascended_pieces(
    jobs: DualJobs,
    capacity: int,
    windows: JobWindows,
    pieces: Sequence[IntArray],
    temperatures: Sequence[float],
    *,
    steps: int,
    clock: Clock,
    workers: int,
) -> JobWindows:
    """Return prices of all jobs after an ascent of each piece of them by itself; pieces run in threads.

    Each has its share of the time.
    """
    parts: list[tuple[IntArray, JobWindows]] = []
    waiting = list(pieces)[::-1]
    halt = threading.Event()

    def work() -> None:
        while waiting:
            left = len(waiting)
            try:
                piece = waiting.pop()
            except IndexError:  # another thread took the last one
                return
            own = ascended(
                jobs.of(piece),
                capacity,
                windows.of_jobs(piece),
                temperatures,
                steps=steps,
                clock=Clock(clock.remaining * min(1.0, workers / left)),
                halt=halt,
            )
            parts.append((piece, own.windows))

    run_in_threads([work] * min(workers, len(pieces)), halt)
    return joined(parts, windows.edges, len(jobs.submit))
