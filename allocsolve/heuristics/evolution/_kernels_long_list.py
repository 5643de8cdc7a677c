"""List scheduling of many applications, on a resource profile in leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.heuristics._kernels_fit import Request, compact
from allocsolve.heuristics.evolution._kernels_peak_index import PeakIndex, first_busy, has_room
from allocsolve.heuristics.evolution._kernels_peaks import change
from allocsolve.heuristics.evolution._kernels_windows import place_in
from allocsolve.kernels import kernel

if TYPE_CHECKING:
    from allocsolve.model import IntArray, PackedApplications


@kernel
def place_next(
    index: PeakIndex,
    position: int,
    order: IntArray,
    apps: PackedApplications,
    num_nodes: int,
    compacting: bool,
    starts: IntArray,
    table: IntArray,
    work: IntArray,
) -> int:
    """Place applications from this position of the order on, while the index has room.

    Writes `starts`, shape (steps,); returns the position of the first application that was not placed.
    """
    while position < len(order):
        app = order[position]
        a, b = apps.offsets[app], apps.offsets[app + 1]
        request = Request(apps.durations[a:b], apps.nodes[a:b], apps.max_durations[a:b])
        placed = starts[a:b]
        span = 0
        for step in range(a, b):
            span += apps.durations[step]
        if not has_room(index, apps.releases[app], span, b - a):
            break
        place_in(index, request, num_nodes, apps.releases[app], placed, table, work)
        completion = starts[b - 1] + apps.durations[b - 1]
        late = work[0, : b - a]
        if (
            compacting
            and completion - starts[a] > span
            and compact(index, first_busy, index.origin, request, num_nodes, completion, late)
        ):
            for i in range(b - a):
                placed[i] = late[i]
        change(index, placed, request.nodes, completion, 1)
        position += 1
    return position
