"""Jobs that would not end before a part of the machine is closed: which limits would start them before."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.prediction.scenarios import waits_by_limits

if TYPE_CHECKING:
    from collections.abc import Iterable

    from allocsolve.model.columns import FloatArray
    from allocsolve.simulation import PolicyLike, QueueSnapshot

#: Limits are whole minutes, in seconds.
_MINUTE_S: Final = 60.0


class ShorterLimit(NamedTuple):
    """The longest limit with which a job would start before a closed window, if all run to their limits."""

    limit: float  #: seconds, whole minutes
    start: float  #: seconds
    window: float  #: when the window begins, in seconds


def shorter_limits(
    snapshot: QueueSnapshot, policy: PolicyLike, plan: FloatArray, jobs: Iterable[int]
) -> dict[int, ShorterLimit]:
    """Return the longest limit with which a job would start before a closed window that delays it.

    `plan`, shape (queued,), are the starts in seconds if all jobs run as long as they may, and `jobs` places
    in the queue. By place; only jobs that would start earlier if nothing were closed, and that some shorter
    limit starts before a window that begins by their start: the last one of these that can be.

    Notes
    -----
    All other jobs keep their limits. If a limit is short enough, shorter ones are taken to be, too.
    *Complexity*: for each job three runs of the policy as a rule, at worst one for each bit of the limit.
    """
    if not snapshot.closed:
        return {}
    free = waits_by_limits(replace(snapshot, closed=()), policy) + snapshot.now
    windows = np.unique([window.start for window in snapshot.closed])
    found: dict[int, ShorterLimit] = {}
    for job in jobs:
        coming = windows[(windows > snapshot.now) & (windows <= plan[job])]
        if plan[job] > free[job] and len(coming):
            tried = (_shorter(snapshot, policy, job, window) for window in coming[::-1].tolist())
            shorter = next((one for one in tried if one is not None), None)
            if shorter is not None:
                found[job] = shorter
    return found


def _shorter(snapshot: QueueSnapshot, policy: PolicyLike, job: int, window: float) -> ShorterLimit | None:
    """Return the longest limit with which a job starts before a window; None if there is none."""

    def start(limit: float) -> float:
        limits = snapshot.limits.copy()
        limits[job] = limit
        return float(waits_by_limits(replace(snapshot, limits=limits), policy)[job] + snapshot.now)

    low, first = _MINUTE_S, start(_MINUTE_S)
    if first >= window:
        return None
    high = np.ceil(snapshot.limits[job] / _MINUTE_S) * _MINUTE_S  # with that, it starts later
    if high <= low:
        return None
    until = np.floor((window - first) / _MINUTE_S) * _MINUTE_S  # then it ends when the window begins
    guesses = [until, until + _MINUTE_S]
    while high - low > _MINUTE_S:
        limit = guesses.pop(0) if guesses else low
        if not low < limit < high:
            limit = low + np.floor((high - low) / 2 / _MINUTE_S) * _MINUTE_S
        begins = start(limit)
        if begins < window:
            low, first = limit, begins
        else:
            high = limit
    return ShorterLimit(float(low), first, window)
