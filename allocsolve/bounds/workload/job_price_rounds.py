"""Rounds of ascent: temperatures fall, windows are cut, slots are halved."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.bounds.workload.job_price_ascent import ascend
from allocsolve.bounds.workload.job_price_dual import PRIOR, DualJobs, JobDual
from allocsolve.bounds.workload.job_price_windows import JobWindows, joined
from allocsolve.kernels.threads import run_in_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from allocsolve.model import FloatArray, IntArray

__all__ = ["Ascended", "ascended", "ascended_pieces"]

#: Shares of the prior that are taken off the levels before their exact value is computed.
_SHARES: Final = (0.5, 1.0)

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
    stop: Callable[[], bool],
    workers: int = 1,
) -> Ascended:
    """Return the best prices met on the way from those of the windows through falling temperatures."""
    dual = JobDual(jobs, capacity, windows, workers)
    lengths = windows.lengths
    levels = windows.prices * lengths
    best, best_value = levels, dual.exact(levels)
    for temperature in temperatures:
        shift = -PRIOR * temperature
        levels = ascend(
            lambda point, temperature=temperature: dual.soft(point, temperature),  # type: ignore[misc]
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
        if stop():
            break
    return Ascended(windows.with_prices(best / lengths), best_value)


def ascended_pieces(
    jobs: DualJobs,
    capacity: int,
    windows: JobWindows,
    pieces: Sequence[IntArray],
    temperatures: Sequence[float],
    *,
    steps: int,
    stop: Callable[[int], bool],
    workers: int,
) -> JobWindows:
    """Return prices of all jobs after an ascent of each piece of them by itself; pieces run in threads.

    `stop` is asked with the number of pieces that are not done.
    """
    parts: list[tuple[IntArray, JobWindows]] = []
    waiting = list(enumerate(pieces))[::-1]
    halt = threading.Event()

    def work() -> None:
        while waiting:
            try:
                _, piece = waiting.pop()
            except IndexError:  # another thread took the last one
                return
            own = ascended(
                jobs.of(piece),
                capacity,
                windows.of_jobs(piece),
                temperatures,
                steps=steps,
                stop=lambda: halt.is_set() or stop(len(pieces) - len(parts)),
            )
            parts.append((piece, own.windows))

    run_in_threads([work] * min(workers, len(pieces)), halt)
    return joined(parts, windows.edges, len(jobs.submit))
