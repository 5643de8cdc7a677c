"""The clearing price of a node, at which the jobs together want as many nodes as there are.

The module holds the demand of a job at a price, the search for the clearing price, the two kinds of demand
(jobs that minimise the cost of their work, and jobs that maximise their profit), and the requests of running
jobs that pay at a price.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.kernels import inner_kernel
from allocsolve.model.arrays import frozen
from allocsolve.model.evolving import REACTIVE
from allocsolve.model.job_kinds import POWERS_OF_TWO
from allocsolve.model.speedup import AMDAHL, NO_SPEEDUP, OVERHEAD, POWER, SPEEDUP_TABLE
from allocsolve.simulation.kernels import Resizing, State, answer, largest_size, time_ratio

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.columns import FloatArray
    from allocsolve.model.packed_jobs import PackedJobs

#: The relative difference of the cheapness of neighbouring rungs: so small that sizes, rounded to whole
#: nodes, hardly depend on it. The lowest and the highest rung lie at a cheapness of e^-30 and e^30, beyond
#: any price.
_RUNG: Final = 1e-4
_LOWEST: Final = -300_000
HIGHEST: Final = 300_000


class Demand(NamedTuple):
    """The number of nodes that each job wants as a function of the price. Shape (jobs,) each.

    The cheapness of a node is its price to the power of -1/2. A job without a table wants ``(scale *
    cheapness) ** exponent - shift`` nodes; this holds also without a law of speedup, as for jobs with phases.
    A job with a table wants the row with the largest ``gain / seconds - price * nodes``; if it has no gain
    (NaN), the row with the least ``seconds * (1 + price * nodes)``. A job with an overhead that grows with
    the nodes optimises the same quantities: it is fastest on `shift` nodes, and on few nodes its time is
    `scale` over their number.
    """

    scale: FloatArray
    exponent: FloatArray
    shift: FloatArray
    gain: FloatArray


@inner_kernel
def cheapness_at(rung: int) -> float:
    """Return the cheapness at a rung; it is 1 at rung 0."""
    return math.exp(_RUNG * rung)


@inner_kernel
def _from_table(jobs: PackedJobs, demand: Demand, job: int, price: float) -> int:
    """Return how many nodes a job with a table of speedups wants. O(rows of its table)."""
    best = jobs.table_offsets[job]
    gain = demand.gain[job]
    for row in range(best + 1, jobs.table_offsets[job + 1]):
        # Terms without the price are subtracted first. Otherwise rounding hides them at high prices, and
        # the size no longer falls as the price rises.
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
    """Return how many nodes a job wants if its overhead grows with them, as a real number.

    Its time on n nodes is ``scale * (1 / n + n / fastest^2)``. Without a gain, a unit of work costs least
    where ``n^2 (1 + 2 price n) = fastest^2``; with ``y = fastest / n`` that is ``y^3 - y = 2 price fastest``.
    With a gain, the profit is largest where ``(1 - z) / (1 + z)^2``, with ``z = (n / fastest)^2``, equals the
    ratio of the price to the price at which the job wants no node.
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
    """Return the size that a job wants, out of those on which it can run."""
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
    # From halfway to the next larger size on, the job wants that size.
    smaller = largest_size(jobs, job, int(wanted))
    larger = 2 * smaller if step == POWERS_OF_TWO else smaller + step
    return int(larger if 2 * wanted >= smaller + larger and larger <= high else smaller)


@inner_kernel
def wanted_nodes(jobs: PackedJobs, demand: Demand, members: IntArray, count: int, cheapness: float) -> int:
    """Return how many nodes the first `count` members want together. O(count)."""
    total = 0
    for at in range(count):
        total += size_at(jobs, demand, members[at], cheapness)
    return total


@inner_kernel
def clearing(
    jobs: PackedJobs, demand: Demand, members: IntArray, count: int, capacity: int, rung: int
) -> int:
    """Return the highest rung of cheapness at which jobs want no more nodes than there are.

    Rungs are so close together that a price between two of them makes no difference. The result therefore
    does not depend on where the search starts; a start near the result is faster. O(jobs) for each of about
    ten steps.
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


#: The largest value in place of an infinite one, without a unit: a job of this scale wants more nodes than
#: any cluster has, at any price.
_ALL: Final = 1e150

#: The limit of scales of paid jobs, without a unit: larger than that of any job, even without a serial share
#: (see `_ALL`) and however well its work is paid.
_STEEPEST: Final = 1e300

#: The scale of a job without a serial share. It is so large that all other jobs have their fewest nodes
#: before such jobs get fewer than they can use; these share the rest equally. At the highest price such a job
#: wants less than one node.
LINEAR: Final = 1e9


def price_takers(packed: PackedJobs) -> Demand:
    """Return the demand of jobs that minimise the cost of a unit of work: its time, and nodes at a price.

    At a price l and with Amdahl's law (parallel share p), ``(1 + l n) (1 - p + p / n)`` is least at ``n =
    sqrt(p / (l (1 - p)))``. With a power law (exponent e), ``(1 + l n) n^-e`` is least at ``n = e / (l (1 -
    e))``. With an overhead that makes a job fastest on f nodes, the cost is least where ``n^2 (1 + 2 l n) =
    f^2``. Jobs with phases have no serial share.
    """
    count, share = len(packed.submit), _parallel_shares(packed)
    scale, exponent = np.zeros(count), np.ones(count)
    with np.errstate(divide="ignore"):
        ratio = np.minimum(np.sqrt(share / (1 - share)), LINEAR)
    amdahl, power = packed.speedup == AMDAHL, packed.speedup == POWER
    scale[amdahl], scale[power] = ratio[amdahl], ratio[power]
    exponent[power] = 2.0
    scale[packed.speedup == NO_SPEEDUP] = LINEAR
    return _demand(scale, exponent, _fastest(packed), np.full(count, np.nan))


def _parallel_shares(packed: PackedJobs) -> FloatArray:
    """Return the parameters of laws that are at most 1; 0 for an overhead, of which they may be more."""
    return np.where(packed.speedup == OVERHEAD, 0.0, packed.parameter)


def _fastest(packed: PackedJobs) -> FloatArray:
    """Return the number of nodes on which each job with an overhead is fastest; 0 for other jobs."""
    fastest = np.zeros(len(packed.submit))
    overhead = packed.speedup == OVERHEAD
    with np.errstate(divide="ignore"):
        fastest[overhead] = np.minimum(packed.parameter[overhead] ** -0.5, LINEAR)
    return fastest


def profit_takers(packed: PackedJobs, work_prices: FloatArray) -> Demand:
    """Return the demand of jobs that are paid for their work and maximise their profit in each second.

    On n nodes a job does ``1 / seconds(n)`` of its work a second, for which it is paid its work price w, and
    it pays the price l for each node. Let T be its time on one node. With Amdahl's law (parallel share p),
    ``w n / (T ((1 - p) n + p)) - l n`` is largest at ``n = (sqrt(w p / (l T)) - p) / (1 - p)``; with a power
    law (exponent e), ``w n^e / T - l n`` is largest at ``n = (w e / (l T))^(1 / (1 - e))``. With an overhead
    that makes it fastest on f nodes, and T the time on one node without it, ``w n / (T (1 + n^2 / f^2)) - l
    n`` is largest where ``(1 - z) / (1 + z)^2 = l T / w`` with ``z = n^2 / f^2``.

    `work_prices`, shape (jobs,), are the pay for the whole work of each job, >= 0, in the unit in which a
    node is paid per second.
    """
    count, share = len(packed.submit), _parallel_shares(packed)
    scale, exponent, shift = np.zeros(count), np.ones(count), np.zeros(count)
    amdahl, power = packed.speedup == AMDAHL, packed.speedup == POWER
    serial = np.maximum(1 - share, 1 / _ALL)
    on_one = packed.runtime / (1 - share + share / packed.nodes)
    scale[amdahl] = (np.sqrt(work_prices * share / on_one) / serial)[amdahl]
    shift[amdahl] = np.minimum(share / serial, _ALL)[amdahl]
    on_one = packed.runtime * packed.nodes.astype(np.float64) ** share
    scale[power] = np.sqrt(work_prices * share / on_one)[power]
    exponent[power] = np.minimum(2 / serial, 300.0)[power]  # bounded for jobs almost without a serial share
    overhead = packed.speedup == OVERHEAD
    scale[overhead] = (packed.runtime / (1 / packed.nodes + packed.parameter * packed.nodes))[overhead]
    shift[overhead] = _fastest(packed)[overhead]
    return _demand(np.minimum(scale, _STEEPEST), exponent, shift, np.asarray(work_prices, dtype=np.float64))


def _demand(scale: FloatArray, exponent: FloatArray, shift: FloatArray, gain: FloatArray) -> Demand:
    """Return a demand of read-only copies."""
    return Demand(*(frozen(column.copy()) for column in (scale, exponent, shift, gain)))


class Offers(NamedTuple):
    """The requests that pay in a call. Shape (jobs,) unless another one is given."""

    #: Jobs whose requests are accepted, and (shape (1,)) their number.
    accepted: IntArray
    total: IntArray
    #: Jobs whose requests may be accepted, and the least cheapness of a node at which each of them pays.
    jobs: IntArray
    cheapness: FloatArray


def initial_offers(count: int) -> Offers:
    """Return the empty offers of `count` jobs."""
    return Offers(
        np.zeros(count, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(count, dtype=np.int64),
        np.zeros(count),
    )


@inner_kernel
def paying_cheapness(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> float:
    """Return the least cheapness of a node at which the request of a job pays, infinite for never.

    A request pays if a unit of the work, its time plus nodes at the price, costs less on the nodes asked for.
    Where the speed is proportional to the nodes it pays at any price, but similar jobs with fewer nodes come
    first.
    """
    held, asked = state.job[job].size, resizing.job[job].request
    linear = asked / LINEAR
    if resizing.job[job].reading == REACTIVE:
        return float(linear)
    slower, faster = time_ratio(jobs, job, held), time_ratio(jobs, job, asked)
    if faster >= slower:
        return float(np.inf)
    more_area = asked * faster - held * slower
    return float(max(linear, np.sqrt(max(0.0, more_area) / (slower - faster))))


@inner_kernel
def accept_requests(
    jobs: PackedJobs,
    state: State,
    resizing: Resizing,
    offers: Offers,
    demand: Demand,
    members: IntArray,
    count: int,
    shared: int,
    rung: int,
) -> int:
    """Accept requests, those that pay at the highest prices first; return the nodes that these take.

    A request is accepted if the members leave enough nodes for it and for all requests accepted before, at
    the price at which it just pays. `rung` is the rung of the clearing price without requests: a request that
    does not pay there is left out at once. O(members) for each other request.
    """
    queue, cheapness, number = offers.jobs, offers.cheapness, 0
    limit = cheapness_at(rung + 1) if rung + 1 < HIGHEST else np.inf
    for nth in range(resizing.ledger.requests):
        job = resizing.requests[nth]
        paying = paying_cheapness(jobs, state, resizing, job)
        if paying >= limit:
            continue
        place = number
        while place and cheapness[place - 1] > paying:
            queue[place], cheapness[place] = queue[place - 1], cheapness[place - 1]
            place -= 1
        queue[place], cheapness[place] = job, paying
        number += 1
    taken = 0
    for nth in range(number):
        job = queue[nth]
        more = resizing.job[job].request - state.job[job].size
        left = shared - taken - more
        if left >= 0 and wanted_nodes(jobs, demand, members, count, cheapness[nth]) <= left:
            offers.accepted[offers.total[0]] = job
            offers.total[0] += 1
            taken += more
    return taken


@inner_kernel
def grant_accepted(jobs: PackedJobs, state: State, resizing: Resizing, offers: Offers) -> None:
    """Grant the accepted requests for which enough nodes are free now; the others stay open."""
    for nth in range(offers.total[0]):
        job = offers.accepted[nth]
        if resizing.job[job].request - state.job[job].size <= state.engine.free:
            answer(jobs, state, resizing, job, True)
