"""The clearing price of a node: at which jobs together want as many nodes as there are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.kernels import inner_kernel
from allocsolve.model.job_kinds import POWERS_OF_TWO
from allocsolve.model.speedup import OVERHEAD, SPEEDUP_TABLE
from allocsolve.simulation.kernels import largest_size

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.jobs import FloatArray, PackedJobs

__all__ = ["HIGHEST", "Demand", "cheapness_at", "clearing", "size_at", "wanted_nodes"]

#: By what the cheapness differs from rung to rung (relative), and the rungs that there are.
_RUNG: Final = 1e-4
_LOWEST: Final = -300_000
HIGHEST: Final = 300_000


class Demand(NamedTuple):
    """How many nodes jobs want at a price. Shape (jobs,) each.

    Without a table a job wants ``(scale * cheapness) ** exponent - shift`` nodes, the cheapness of a node
    being the price to the power of -1/2. With a table it wants those of its rows on which ``gain / seconds -
    price * nodes`` is most; without a gain those on which ``seconds * (1 + price * nodes)`` is least. The
    same with an overhead that grows with the nodes: such a job is fastest on `shift` nodes, and its time on
    few is `scale` over the nodes. Without any law of speedup, as of jobs with phases, the formula counts.
    """

    scale: FloatArray
    exponent: FloatArray
    shift: FloatArray
    gain: FloatArray


@inner_kernel
def cheapness_at(rung: int) -> float:
    """Return the cheapness at a rung, that of rung 0 being 1."""
    return math.exp(_RUNG * rung)


@inner_kernel
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


@inner_kernel
def _with_overhead(demand: Demand, job: int, price: float) -> float:
    """Return how many nodes a job wants whose overhead grows with them, as a real number.

    Its time on n nodes is ``scale * (1 / n + n / fastest^2)``. Without a gain, a unit of work costs least
    where ``n^2 (1 + 2 price n) = fastest^2``: for ``y = fastest / n`` that is ``y^3 - y = 2 price fastest``.
    With one, the profit is most where, for ``z = (n / fastest)^2``, ``(1 - z) / (1 + z)^2`` is the price over
    that at which the job wants no node.
    """
    fastest, gain = demand.shift[job], demand.gain[job]
    if np.isnan(gain):
        scaled = 3 * math.sqrt(3.0) * price * fastest
        angle = math.acosh(scaled) / 3 if scaled > 1 else math.acos(scaled) / 3
        wave = math.cosh(angle) if scaled > 1 else math.cos(angle)
        return float(fastest * (math.sqrt(3.0) / 2) / wave)
    dear = price * demand.scale[job]
    if dear >= gain:
        return 0.0
    ratio = dear / gain
    return float(fastest * math.sqrt(2 * (1 - ratio) / (2 * ratio + 1 + math.sqrt(8 * ratio + 1))))


@inner_kernel
def size_at(jobs: PackedJobs, demand: Demand, job: int, cheapness: float) -> int:
    """Return the size that a job wants, among those that it allows."""
    if jobs.speedup[job] == SPEEDUP_TABLE:
        return _from_table(jobs, demand, job, cheapness**-2.0)
    if jobs.speedup[job] == OVERHEAD:
        wanted = _with_overhead(demand, job, cheapness**-2.0)
    else:
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


@inner_kernel
def wanted_nodes(jobs: PackedJobs, demand: Demand, members: IntArray, count: int, cheapness: float) -> int:
    """Return how many nodes so many members want together. O(those)."""
    total = 0
    for at in range(count):
        total += size_at(jobs, demand, members[at], cheapness)
    return total


@inner_kernel
def clearing(
    jobs: PackedJobs, demand: Demand, members: IntArray, count: int, capacity: int, rung: int
) -> int:
    """Return the highest rung of cheapness at which jobs want no more nodes than there are.

    Rungs are so close that it does not matter between which of them the price is; so it is the same wherever
    the search starts, which is at a rung near it if possible. O(jobs) for each of its ten steps or so.
    """
    low, high, step = _LOWEST, HIGHEST, 64
    if wanted_nodes(jobs, demand, members, count, cheapness_at(rung)) <= capacity:
        low = rung
        while low + step < high:
            if wanted_nodes(jobs, demand, members, count, cheapness_at(low + step)) > capacity:
                high = low + step
            else:
                low += step
                step *= 2
    else:
        high = rung
        while high - step > low:
            if wanted_nodes(jobs, demand, members, count, cheapness_at(high - step)) <= capacity:
                low = high - step
            else:
                high -= step
                step *= 2
    while high - low > 1:
        middle = (low + high) // 2
        if wanted_nodes(jobs, demand, members, count, cheapness_at(middle)) <= capacity:
            low = middle
        else:
            high = middle
    return low
