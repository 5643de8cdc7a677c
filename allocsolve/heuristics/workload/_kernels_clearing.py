"""The clearing price of a node: at which jobs together want as many nodes as there are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.kernels import inner_kernel
from allocsolve.kernels.jit import called_kernel
from allocsolve.model.job_kinds import POWERS_OF_TWO
from allocsolve.model.speedup import SPEEDUP_TABLE
from allocsolve.simulation.kernels import largest_size

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.jobs import FloatArray, PackedJobs

__all__ = ["Demand", "cheapness_at", "clearing", "size_at"]

#: By what the cheapness differs from rung to rung (relative), and the rungs that there are.
_RUNG: Final = 1e-4
_LOWEST: Final = -300_000
_HIGHEST: Final = 300_000


class Demand(NamedTuple):
    """How many nodes jobs want at a price. Shape (jobs,) each.

    Without a table a job wants ``(scale * cheapness) ** exponent - shift`` nodes, the cheapness of a node
    being the price to the power of -1/2. With a table it wants those of its rows on which ``gain / seconds -
    price * nodes`` is most; without a gain those on which ``seconds * (1 + price * nodes)`` is least.
    """

    scale: FloatArray
    exponent: FloatArray
    shift: FloatArray
    gain: FloatArray


@inner_kernel
def cheapness_at(rung: int) -> float:
    """Return the cheapness at a rung, that of rung 0 being 1."""
    return math.exp(_RUNG * rung)


@called_kernel
def _from_table(jobs: PackedJobs, demand: Demand, job: int, price: float) -> int:
    best = jobs.table_offsets[job]
    gain = demand.gain[job]
    for row in range(best + 1, jobs.table_offsets[job + 1]):
        # What does not depend on the price is subtracted first: else rounding hides it at high prices, and
        # the size does not fall with the price.
        nodes, seconds = jobs.table_nodes[row], jobs.table_seconds[row]
        fewer, longer = jobs.table_nodes[best], jobs.table_seconds[best]
        if np.isnan(gain):
            change = (seconds - longer) + price * (nodes * seconds - fewer * longer)
        else:
            change = price * (nodes - fewer) - (gain / seconds - gain / longer)
        if change < 0:
            best = row
    return int(jobs.table_nodes[best])


@called_kernel
def size_at(jobs: PackedJobs, demand: Demand, job: int, cheapness: float) -> int:
    """Return the size that a job wants, among those that it allows."""
    if jobs.speedup[job] == SPEEDUP_TABLE:
        return _from_table(jobs, demand, job, cheapness**-2.0)
    exponent = demand.exponent[job]
    scaled = demand.scale[job] * cheapness
    wanted = (scaled if exponent == 1 else scaled**exponent) - demand.shift[job]
    low, high = jobs.min_nodes[job], jobs.max_nodes[job]
    if wanted <= low:
        return int(low)
    if wanted >= high:
        return int(high)
    step = jobs.size_step[job]
    if step == 1:
        return int(wanted + 0.5)
    # Halfway to the next larger size it is that one.
    smaller = largest_size(jobs, job, int(wanted))
    larger = 2 * smaller if step == POWERS_OF_TWO else smaller + step
    return int(larger if 2 * wanted >= smaller + larger and larger <= high else smaller)


@called_kernel
def _wanted(jobs: PackedJobs, demand: Demand, members: IntArray, count: int, cheapness: float) -> int:
    total = 0
    for at in range(count):
        total += size_at(jobs, demand, members[at], cheapness)
    return total


@called_kernel
def clearing(
    jobs: PackedJobs, demand: Demand, members: IntArray, count: int, capacity: int, rung: int
) -> int:
    """Return the highest rung of cheapness at which jobs want no more nodes than there are.

    Rungs are so close that it does not matter between which of them the price is; so it is the same wherever
    the search starts, which is at a rung near it if possible. O(jobs) for each of its ten steps or so.
    """
    low, high, step = _LOWEST, _HIGHEST, 64
    if _wanted(jobs, demand, members, count, cheapness_at(rung)) <= capacity:
        low = rung
        while low + step < high:
            if _wanted(jobs, demand, members, count, cheapness_at(low + step)) > capacity:
                high = low + step
            else:
                low += step
                step *= 2
    else:
        high = rung
        while high - step > low:
            if _wanted(jobs, demand, members, count, cheapness_at(high - step)) <= capacity:
                low = high - step
            else:
                high -= step
                step *= 2
    while high - low > 1:
        middle = (low + high) // 2
        if _wanted(jobs, demand, members, count, cheapness_at(middle)) <= capacity:
            low = middle
        else:
            high = middle
    return low
