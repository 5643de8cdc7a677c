"""List scheduling as a kernel: applications placed one after the other in a given order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics._jit import kernel
from allocsolve.heuristics._kernels_fit import add, compact, place

if TYPE_CHECKING:
    from allocsolve.model import IntArray

__all__ = ["list_schedule"]


@kernel
def list_schedule(
    order: IntArray,
    offsets: IntArray,
    durations: IntArray,
    nodes: IntArray,
    max_durations: IntArray,
    releases: IntArray,
    num_nodes: int,
    compacting: bool,
) -> IntArray:
    """Return the starts of all steps, shape (steps,).

    `order` may name some of the applications only; the steps of the others keep start 0.
    """
    num_steps = len(durations)
    num_apps = len(releases)
    longest = 0
    for app in range(num_apps):
        longest = max(longest, offsets[app + 1] - offsets[app])
    times = np.empty(num_steps + num_apps + 1, dtype=np.int64)
    usage = np.empty(num_steps + num_apps + 1, dtype=np.int64)
    work = np.empty((2, longest), dtype=np.int64)
    latest = np.empty(longest, dtype=np.int64)
    starts = np.zeros(num_steps, dtype=np.int64)
    times[0] = 0
    usage[0] = 0
    count = 1
    for app in order:
        a, b = offsets[app], offsets[app + 1]
        ds, ns, ls, placed = durations[a:b], nodes[a:b], max_durations[a:b], starts[a:b]
        place(times, usage, count, ds, ns, ls, num_nodes, releases[app], placed, work)
        completion = placed[-1] + ds[-1]
        # An application that was not stretched has nothing to gain.
        stretched = completion - placed[0] > ds.sum()
        late = latest[: b - a]
        if compacting and stretched and compact(times, usage, count, ds, ns, ls, num_nodes, completion, late):
            placed[:] = late
        count = add(times, usage, count, placed, ns, completion)
    return starts
