"""The clearing price of a node: at which jobs together want as many nodes as there are."""

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
    from allocsolve.model.jobs import FloatArray, PackedJobs

__all__ = [
    "HIGHEST",
    "LINEAR",
    "Demand",
    "Offers",
    "accept_requests",
    "cheapness_at",
    "clearing",
    "grant_accepted",
    "initial_offers",
    "price_takers",
    "profit_takers",
    "size_at",
    "wanted_nodes",
]

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


#: A scale that wants more nodes than any cluster has, however dear they are.
_ALL: Final = 1e150

#: The largest scale: beyond that of a job without a serial share whose work is paid as well as can be.
_STEEPEST: Final = 1e300

#: The scale of a job without a serial share: of what is left when all others have their least nodes, each
#: such job wants as many. At the highest price there is it wants less than a node.
LINEAR: Final = 1e9


def price_takers(packed: PackedJobs) -> Demand:
    """Return the demand of jobs that want a unit of their work to cost least: time, and nodes at the price.

    With Amdahl's law (parallel share p) and a price l, ``(1 + l n) (1 - p + p / n)`` is least at ``n =
    sqrt(p / (l (1 - p)))``; with a power law (exponent e), ``(1 + l n) n^-e`` at ``n = e / (l (1 - e))``;
    with an overhead that makes it fastest on f nodes where ``n^2 (1 + 2 l n) = f^2``. Jobs with phases have
    no serial share.
    """
    count, share = len(packed.submit), packed.parameter
    scale, exponent = np.zeros(count), np.ones(count)
    with np.errstate(divide="ignore"):
        ratio = np.minimum(np.sqrt(share / (1 - share)), LINEAR)
    amdahl, power = packed.speedup == AMDAHL, packed.speedup == POWER
    scale[amdahl], scale[power] = ratio[amdahl], ratio[power]
    exponent[power] = 2.0
    scale[packed.speedup == NO_SPEEDUP] = LINEAR
    return _demand(scale, exponent, _fastest(packed), np.full(count, np.nan))


def _fastest(packed: PackedJobs) -> FloatArray:
    """Return on how many nodes jobs with an overhead are fastest; 0 of others."""
    fastest = np.zeros(len(packed.submit))
    overhead = packed.speedup == OVERHEAD
    with np.errstate(divide="ignore"):
        fastest[overhead] = np.minimum(packed.parameter[overhead] ** -0.5, LINEAR)
    return fastest


def profit_takers(packed: PackedJobs, work_prices: FloatArray) -> Demand:
    """Return the demand of jobs that are paid for their work: they want the most profit each second.

    On n nodes a job does ``1 / seconds(n)`` of its work a second, for which it is paid its work price w, and
    pays the price l for each node. With Amdahl's law, the time on one node being T, ``w n / (T ((1 - p) n +
    p)) - l n`` is most at ``n = (sqrt(w p / (l T)) - p) / (1 - p)``; with a power law (exponent e), ``w n^e /
    T - l n`` at ``n = (w e / (l T))^(1 / (1 - e))``. With an overhead, T being the time on one node without
    it and f the nodes on which it is fastest, ``w n / (T (1 + n^2 / f^2)) - l n`` is most where ``(1 - z) /
    (1 + z)^2 = l T / w``, z being ``n^2 / f^2``.

    Parameters
    ----------
    work_prices
        Shape (jobs,): for all work of a job, >= 0.
    """
    count, share = len(packed.submit), packed.parameter
    scale, exponent, shift = np.zeros(count), np.ones(count), np.zeros(count)
    amdahl, power = packed.speedup == AMDAHL, packed.speedup == POWER
    serial = np.maximum(1 - share, 1 / _ALL)
    on_one = packed.runtime / (1 - share + share / packed.nodes)
    scale[amdahl] = (np.sqrt(work_prices * share / on_one) / serial)[amdahl]
    shift[amdahl] = np.minimum(share / serial, _ALL)[amdahl]
    on_one = packed.runtime * packed.nodes.astype(np.float64) ** share
    scale[power] = np.sqrt(work_prices * share / on_one)[power]
    exponent[power] = np.minimum(2 / serial, 300.0)[power]
    overhead = packed.speedup == OVERHEAD
    scale[overhead] = (packed.runtime / (1 / packed.nodes + share * packed.nodes))[overhead]
    shift[overhead] = _fastest(packed)[overhead]
    return _demand(np.minimum(scale, _STEEPEST), exponent, shift, np.asarray(work_prices, dtype=np.float64))


def _demand(scale: FloatArray, exponent: FloatArray, shift: FloatArray, gain: FloatArray) -> Demand:
    return Demand(*(frozen(column.copy()) for column in (scale, exponent, shift, gain)))


class Offers(NamedTuple):
    """Requests that pay, in a call. Shape (jobs,) or as said."""

    #: Jobs whose requests are accepted; shape (1,): how many these are.
    accepted: IntArray
    total: IntArray
    #: Jobs whose requests may be; and at which cheapness of a node each of them just pays.
    jobs: IntArray
    cheapness: FloatArray


def initial_offers(count: int) -> Offers:
    """Return room for the requests of so many jobs."""
    return Offers(
        np.zeros(count, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(count, dtype=np.int64),
        np.zeros(count),
    )


@inner_kernel
def paying_cheapness(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> float:
    """Return from which cheapness of a node on the request of a job pays, infinite for never.

    It does if a unit of the work costs less on the nodes asked for: its time, and nodes at the price. Where
    more nodes do as much more it pays at any price, but not before others like it have as many.
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

    One is accepted if, at the price at which it just pays, the members want so few nodes that there are
    enough for it and all that were accepted before. `rung` is that of the clearing price without requests:
    what does not pay there is left out at once. O(members) for each request that does.
    """
    queue, cheapness, number = offers.jobs, offers.cheapness, 0
    limit = cheapness_at(rung + 1) if rung + 1 < HIGHEST else np.inf
    for nth in range(resizing.ledger.requests):
        job = resizing.requests[nth]
        least = paying_cheapness(jobs, state, resizing, job)
        if least >= limit:
            continue
        place = number
        while place and cheapness[place - 1] > least:
            queue[place], cheapness[place] = queue[place - 1], cheapness[place - 1]
            place -= 1
        queue[place], cheapness[place] = job, least
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
    """Grant accepted requests for which there are free nodes by now; the others stay open."""
    for nth in range(offers.total[0]):
        job = offers.accepted[nth]
        if resizing.job[job].request - state.job[job].size <= state.engine.free:
            answer(jobs, state, resizing, job, True)
