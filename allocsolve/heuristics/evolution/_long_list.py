"""List scheduling of many applications: it makes the index, and a larger one when that is full."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.evolution._kernels_long_list import place_next
from allocsolve.heuristics.evolution._kernels_windows import TABLE_COLUMNS
from allocsolve.heuristics.evolution._peak_index import duration_classes, flat, make_index

if TYPE_CHECKING:
    from allocsolve.model import IntArray, PackedApplications


def long_list_schedule(
    order: IntArray, apps: PackedApplications, num_nodes: int, *, compacting: bool
) -> IntArray:
    """Return the starts of all steps, shape (steps,), equal to those of `list_schedule`.

    *Complexity*: no bound better than that of the flat profile is proven; measured n^1.2 to n^1.4.
    """
    offsets, durations, nodes, _, releases = apps
    sizes = np.diff(offsets)
    spans = np.add.reduceat(durations, offsets[:-1])
    classes = duration_classes(durations, spans)
    longest = int(sizes.max())
    table = np.empty((3 * longest, TABLE_COLUMNS), dtype=np.int64)
    work = np.empty((2, max(longest, len(classes))), dtype=np.int64)
    starts = np.zeros(len(durations), dtype=np.int64)
    times = used = np.zeros(1, dtype=np.int64)
    # The idle share that lists leave on average; a wrong guess costs another index. (It is no scalar product,
    # since the threads of the BLAS behind it would go on spinning beside the kernel for as long as it runs.)
    busy = float((durations.astype(float) * nodes).sum()) / num_nodes
    until = int(releases.max()) + int(1.45 * busy) + 2 * int(spans.max())
    segments = len(durations) + len(releases) + 1
    position = 0
    while True:
        index = make_index(times, used, num_nodes=num_nodes, until=until, segments=segments, classes=classes)
        position = place_next(index, position, order, apps, num_nodes, compacting, starts, table, work)
        if position == len(order):
            return starts
        times, used = flat(index, 0)
        until = 2 * until
