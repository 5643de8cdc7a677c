"""Kernels under prices of node-seconds: cheapest ends of phases, and best numbers of nodes by speedup law."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.bounds.workload._kernels_prices import Cheapest, PriceList, paid_until, slot_of
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.model import AMDAHL, OVERHEAD, POWER, SPEEDUP_TABLE

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray, PackedJobs

#: The share by which a path may be dearer than a run without waiting: above the rounding of both.
_LOOSE = 1e-9


class PhaseRows(NamedTuple):
    """The least that jobs with phases do, in one or more readings each; those of a job are neighbours.

    The phases of a reading are ``offsets[i]:offsets[i + 1]``.
    """

    #: Shape (readings,): indices of jobs.
    jobs: IntArray
    #: Shape (readings + 1,).
    offsets: IntArray
    #: Shape (readings,): the least seconds from the start of the job to its end.
    shortest: FloatArray
    #: Shape (phases,): seconds of each phase on the most nodes that it uses, and that number.
    seconds: FloatArray
    nodes: FloatArray


class Phased(NamedTuple):
    """Work space of `cheapest_phases`, for the slots and the phases of one job."""

    #: Shape (phases, slots + 2): by slot, from the time before the first to that behind the last, the least
    #: price of all phases up to one that ends in that slot or earlier.
    paid: FloatArray
    #: The slots in which the phase then begins and ends.
    begun: IntArray
    ended: IntArray
    #: Shape (slots + 8,): the seconds that a phase takes, the dearest first; 8 are spare.
    prices: FloatArray
    lengths: FloatArray
    slots: IntArray


def phased(num_phases: int, num_slots: int) -> Phased:
    """Return work space for the phases and slots of one job."""
    by_slot = (num_phases, num_slots + 2)
    paid = np.empty(by_slot)
    begun, ended = np.zeros(by_slot, dtype=np.int64), np.zeros(by_slot, dtype=np.int64)
    room = num_slots + 8
    return Phased(paid, begun, ended, np.empty(room), np.empty(room), np.empty(room, dtype=np.int64))


class Taken(NamedTuple):
    """The seconds in the work space that a phase takes: those from `head` to `tail`."""

    head: int
    tail: int
    seconds: float
    #: Of one node.
    paid: float


class Reading(NamedTuple):
    """One reading of a job: its first phase, the phase behind its last, and the cost of ends."""

    first: int
    until: int
    submit: float
    slope: float
    floor: float
    #: The least seconds from its start to its end.
    shortest: float
    #: The first end that may be best: the earliest one, or that at which the cost leaves the floor.
    earliest: float


@inner_kernel
def _begin(listed: PriceList, slot: int, since: float) -> float:
    """Return when a slot begins, or `since`, if that is later."""
    return max(float(listed.edges[slot]), since) if slot >= 0 else since


@inner_kernel
def _end(listed: PriceList, slot: int) -> float:
    return float(listed.edges[slot + 1]) if slot + 1 < len(listed.edges) else np.inf


@inner_kernel
def _price(listed: PriceList, slot: int) -> float:
    return float(listed.prices[slot]) if slot >= 0 else 0.0


@inner_kernel
def _reading(rows: PhaseRows, at: int, submit: float, slope: float, floor: float) -> Reading:
    shortest = rows.shortest[at]
    earliest = submit + max(shortest, floor / slope)
    return Reading(rows.offsets[at], rows.offsets[at + 1], submit, slope, floor, shortest, earliest)


@inner_kernel
def _delay(job: Reading, end: float) -> float:
    return float(max(job.floor, job.slope * (end - job.submit)))


@inner_kernel
def _with(listed: PriceList, memory: Phased, taken: Taken, needed: float, slot: int, length: float) -> Taken:
    """Return the cheapest `needed` seconds when those of one more slot are added."""
    prices, lengths = memory.prices, memory.lengths
    head, tail, seconds, paid = taken
    price = _price(listed, slot)
    if length <= 0 or (seconds >= needed and price >= prices[head]):
        return taken
    length = min(length, needed)
    at = tail
    while at > head and prices[at - 1] < price:
        prices[at], lengths[at], memory.slots[at] = prices[at - 1], lengths[at - 1], memory.slots[at - 1]
        at -= 1
    prices[at], lengths[at], memory.slots[at] = price, length, slot
    tail += 1
    seconds += length
    paid += price * length
    while seconds > needed:
        spare = seconds - needed
        if spare < lengths[head]:
            paid -= prices[head] * spare
            lengths[head] -= spare
            seconds = needed
        else:
            paid -= prices[head] * lengths[head]
            seconds -= lengths[head]
            head += 1
    return Taken(head, tail, seconds, paid if prices[head] > 0 else 0.0)


@inner_kernel
def _without_waiting(listed: PriceList, rows: PhaseRows, job: Reading) -> float:
    """Return the least cost of a run without waiting, from the submission or an edge on."""
    best = np.inf
    for k in range(slot_of(listed.edges, job.submit), len(listed.edges)):
        start = _begin(listed, k, job.submit)
        paid, before, moment = 0.0, paid_until(listed, start), start
        for i in range(job.first, job.until):
            moment += rows.seconds[i]
            after = paid_until(listed, moment)
            paid += rows.nodes[i] * (after - before)
            before = after
        delay = _delay(job, max(moment, start + job.shortest))
        if delay >= best:
            break
        best = min(best, delay + paid)
    return best


@inner_kernel
def _is_better(memory: Phased, row: int, first: int, slot: int) -> bool:
    """Return whether the phases before this one are cheaper if they end in this slot than earlier."""
    if row == 0:
        return slot == first
    paid = memory.paid[row - 1, slot + 1]
    return bool(paid < np.inf and (slot == first or paid < memory.paid[row - 1, slot]))


@inner_kernel
def _inner_phase(
    listed: PriceList, rows: PhaseRows, job: Reading, row: int, ready: float, limit: float, memory: Phased
) -> None:
    """Find the least price up to a phase that is not the last, by the slot in which it ends.

    It begins at `ready` at the earliest, in the slot in which the phase before it ends. Paths that cost more
    than `limit` are left out.
    """
    last, i = len(listed.edges) - 1, job.first + row
    needed, nodes, rest = rows.seconds[i], rows.nodes[i], 0.0
    for later in range(i + 1, job.until):
        rest += rows.seconds[later]
    paid, begun, ended = memory.paid[row], memory.begun[row], memory.ended[row]
    first = slot_of(listed.edges, ready)
    for k in range(slot_of(listed.edges, job.submit), last + 1):
        paid[k + 1] = np.inf
    for a in range(first, last + 1):
        start = _begin(listed, a, ready)
        if _delay(job, start + needed + rest) > limit:
            break
        if not _is_better(memory, row, first, a):
            continue
        before = memory.paid[row - 1, a + 1] if row else 0.0
        taken = Taken(0, 0, 0.0, 0.0)
        for b in range(a, last + 1):
            begin, end = _begin(listed, b, start), _end(listed, b)
            if before + _delay(job, max(begin, start + needed) + rest) > limit:
                break
            taken = _with(listed, memory, taken, needed, b, end - begin)
            if taken.seconds < needed:
                continue
            if before + nodes * taken.paid < paid[b + 1]:
                paid[b + 1], begun[b + 1], ended[b + 1] = before + nodes * taken.paid, a, b
            if taken.paid == 0:
                break
    for b in range(first + 1, last + 1):
        if paid[b] <= paid[b + 1]:
            paid[b + 1], begun[b + 1], ended[b + 1] = paid[b], begun[b], ended[b]


@inner_kernel
def _last_phase(
    listed: PriceList, rows: PhaseRows, job: Reading, ready: float, limit: float, memory: Phased
) -> tuple[float, float, int]:
    """Return the least cost of a job, its end, and the slot in which its last phase begins."""
    last, i, row = len(listed.edges) - 1, job.until - 1, job.until - 1 - job.first
    needed, nodes = rows.seconds[i], rows.nodes[i]
    best, best_end, best_begun = np.inf, np.inf, last
    first = slot_of(listed.edges, ready)
    for a in range(first, last + 1):
        if _delay(job, _begin(listed, a, ready) + needed) > limit:
            break
        if not _is_better(memory, row, first, a):
            continue
        before = memory.paid[row - 1, a + 1] if row else 0.0
        start = _begin(listed, a, ready)
        earliest = max(start + needed, job.earliest)
        taken = Taken(0, 0, 0.0, 0.0)
        for k in range(a, last + 1):
            begin, end, price = _begin(listed, k, start), _end(listed, k), _price(listed, k)
            if end > earliest:
                opens = max(begin, earliest)
                delay = _delay(job, opens)
                if before + delay >= best or before + delay > limit:
                    break
                taken = _with(listed, memory, taken, needed, k, opens - begin)
                begin, room = opens, end - opens
                longer = max(0.0, needed - taken.seconds)
                if longer <= room:
                    cost = before + delay + nodes * taken.paid + (nodes * price + job.slope) * longer
                    # A second more costs its delay and saves the dearest of the other seconds.
                    for at in range(taken.head, taken.tail):
                        gain = nodes * (memory.prices[at] - price) - job.slope
                        length = min(memory.lengths[at], room - longer)
                        if gain <= 0 or length <= 0:
                            break
                        cost -= gain * length
                        longer += length
                    if cost < best:
                        best, best_end, best_begun = cost, opens + longer, a
            taken = _with(listed, memory, taken, needed, k, end - begin)
    return best, best_end, best_begun


@inner_kernel
def _cheapest(listed: PriceList, rows: PhaseRows, job: Reading, memory: Phased) -> tuple[float, float, int]:
    """Return the least cost of a job, its end, and the slot in which its last phase begins."""
    limit = _without_waiting(listed, rows, job) * (1 + _LOOSE)
    ready = job.submit
    for row in range(job.until - 1 - job.first):
        _inner_phase(listed, rows, job, row, ready, limit, memory)
        ready += rows.seconds[job.first + row]
    return _last_phase(listed, rows, job, ready, limit, memory)


@inner_kernel
def _use(
    listed: PriceList,
    rows: PhaseRows,
    job: Reading,
    best: tuple[float, float, int],
    memory: Phased,
    usage: FloatArray,
) -> tuple[float, float]:
    """Add what a job takes; return when it begins, and its mean size while it holds nodes."""
    _, end, begun = best
    ended = slot_of(listed.edges, end)
    ready, start = job.submit, end
    for i in range(job.first, job.until - 1):
        ready += rows.seconds[i]
    area, lasted = 0.0, 0.0
    for back in range(job.until - job.first):
        i = job.until - 1 - back
        since = _begin(listed, begun, ready)
        taken = Taken(0, 0, 0.0, 0.0)
        for k in range(begun, ended + 1):
            until = min(_end(listed, k), end) if back == 0 else _end(listed, k)
            taken = _with(listed, memory, taken, rows.seconds[i], k, until - _begin(listed, k, since))
        for at in range(taken.head, taken.tail):
            # Times before the first slot and behind the last one share an entry.
            usage[memory.slots[at]] += rows.nodes[i] * memory.lengths[at]
            start = min(start, _begin(listed, memory.slots[at], since))
        area += rows.nodes[i] * rows.seconds[i]
        lasted += rows.seconds[i]
        row = i - 1 - job.first
        if row >= 0:
            ready -= rows.seconds[i - 1]
            begun, ended = memory.begun[row, begun + 1], memory.ended[row, begun + 1]
    return start, area / lasted


@kernel
def cheapest_phases(
    submit: FloatArray,
    slope: FloatArray,
    floor: FloatArray,
    rows: PhaseRows,
    listed: PriceList,
    memory: Phased,
    out: Cheapest,
) -> float:
    """Return the sum of the least costs of jobs with phases, each alone; write them, and what they use.

    The dearest reading of a job counts.

    Notes
    -----
    A phase may take any seconds of a window of slots, and the cheapest are best. It begins in the slot in
    which the one before ends, and both may take all of that slot: more than a job can do, so this bounds it,
    and the less so the shorter slots are. So the least price up to a phase that ends in a slot follows from
    that up to the phase before. The end of the last one is exact: in a slot with the price l each second
    more costs its delay, and one at l in place of the dearest second that is taken.

    *Complexity*: O(phases * slots from the submission to the cheapest end, squared) for each job.
    """
    total, at = 0.0, 0
    while at < len(rows.jobs):
        j, best, best_at = rows.jobs[at], -np.inf, at
        outcome = (0.0, 0.0, 0)
        while at < len(rows.jobs) and rows.jobs[at] == j and slope[j] > 0:
            outcome = _cheapest(listed, rows, _reading(rows, at, submit[j], slope[j], floor[j]), memory)
            if outcome[0] >= best:
                best, best_at = outcome[0], at
            at += 1
        if slope[j] == 0:
            best, start, size = floor[j], max(submit[j], listed.edges[-1]), 1.0
            while at < len(rows.jobs) and rows.jobs[at] == j:
                at += 1
        else:
            job = _reading(rows, best_at, submit[j], slope[j], floor[j])
            if best_at != at - 1:
                outcome = _cheapest(listed, rows, job, memory)
            start, size = _use(listed, rows, job, outcome, memory, out.usage)
        out.costs[j], out.starts[j], out.sizes[j] = best, start, int(size + 0.5)
        total += best
    return total


#: The most steps of Newton's method for a cubic: from its close start it converges in a few.
_NEWTON_STEPS = 20


class WorkLaw(NamedTuple):
    """A job: it does ``rate(n)`` of its work per second on n nodes, and all of it is 1."""

    submit: float
    law: int
    parameter: float
    #: The rate on one node, if the law held there; for `OVERHEAD` that without any overhead.
    speed: float
    low: float
    #: Not above the number of nodes on which the job is fastest.
    high: float
    #: Its rows in the tables.
    first: int
    last: int


@inner_kernel
def work_law(jobs: PackedJobs, j: int) -> WorkLaw:
    """Return the law of a job."""
    law, parameter, nodes = jobs.speedup[j], jobs.parameter[j], float(jobs.nodes[j])
    low, high = float(jobs.min_nodes[j]), float(jobs.max_nodes[j])
    first, last = 0, 0
    speed = 1.0 / jobs.runtime[j]
    if law == AMDAHL:
        speed *= 1 - parameter + parameter / nodes
    elif law == POWER:
        speed *= nodes**-parameter
    elif law == SPEEDUP_TABLE:
        first, last = jobs.table_offsets[j], jobs.table_offsets[j + 1]
    elif law == OVERHEAD:
        speed *= 1 / nodes + parameter * nodes
        if parameter > 0:
            high = max(low, min(high, 1 / np.sqrt(parameter)))
    return WorkLaw(jobs.submit[j], law, parameter, speed, low, high, first, last)


@inner_kernel
def _rate(job: WorkLaw, nodes: float) -> float:
    """Return the share of the work that is done per second, by a law that is no table."""
    if job.law == AMDAHL:
        return job.speed * nodes / (nodes * (1 - job.parameter) + job.parameter)
    if job.law == OVERHEAD:
        return job.speed * nodes / (1 + job.parameter * nodes * nodes)
    return float(job.speed * nodes**job.parameter)


@inner_kernel
def held_nodes(jobs: PackedJobs, job: WorkLaw, price: float, work_price: float) -> tuple[float, float]:
    """Return the number of nodes on which a second gains most, and the rate on it.

    The gain is the price of the work done less the price of the nodes held.
    """
    parameter = job.parameter
    if job.law == SPEEDUP_TABLE:
        best, nodes, rate = np.inf, job.low, 0.0
        for row in range(job.first, job.last):
            cost = price * jobs.table_nodes[row] - work_price / jobs.table_seconds[row]
            if cost < best:
                best, nodes, rate = cost, float(jobs.table_nodes[row]), 1 / jobs.table_seconds[row]
        return nodes, rate
    linear = parameter == (0 if job.law == OVERHEAD else 1)
    if parameter == 0 and not linear:
        nodes = job.low
    elif price <= 0:
        nodes = job.high
    elif linear:
        nodes = job.high if work_price * job.speed > price else job.low
    elif job.law == OVERHEAD and work_price * job.speed <= price:
        nodes = job.low
    elif job.law == OVERHEAD:
        # With q = 1 + y n^2 the rate rises by speed (2 - q) / q^2 for each node.
        root = np.sqrt(1 + 8 * price / (work_price * job.speed))
        nodes = np.sqrt(max(0.0, (3 - root) / ((1 + root) * parameter)))
        nodes = min(max(nodes, job.low), job.high)
    else:
        ratio = work_price * job.speed * parameter / price
        if job.law == AMDAHL:
            nodes = (np.sqrt(ratio) - parameter) / (1 - parameter)
        else:
            nodes = ratio ** (1 / (1 - parameter))
        nodes = min(max(nodes, job.low), job.high)
    return nodes, _rate(job, nodes)


@inner_kernel
def _level_of_overhead(slope: float, price: float, per_node: float) -> float:
    """Return the n that minimises (slope + price n) (1 / n + y n).

    As a multiple u of the fastest number it is the only root above 0 of ``c u^3 + u^2 - 1``. The start is not
    below the root, and from there Newton's steps fall towards it.
    """
    fastest = 1 / np.sqrt(per_node)
    cubic = 2 * price * fastest / slope
    u = 1.0 if cubic <= 1 else cubic ** (-1 / 3)
    for _ in range(_NEWTON_STEPS):
        after = u - (cubic * u * u * u + u * u - 1) / (3 * cubic * u * u + 2 * u)
        if after >= u:
            break
        u = after
    return float(u * fastest)


@inner_kernel
def level_price(jobs: PackedJobs, job: WorkLaw, slope: float, price: float) -> tuple[float, float]:
    """Return the work price at which one more second gains what it costs, and the rate there."""
    parameter = job.parameter
    if job.law == SPEEDUP_TABLE:
        lowest, rate = np.inf, 1.0
        for row in range(job.first, job.last):
            each = (slope + price * jobs.table_nodes[row]) * jobs.table_seconds[row]
            if each < lowest:
                lowest, rate = each, 1 / jobs.table_seconds[row]
        return lowest, rate
    linear = parameter == (0 if job.law == OVERHEAD else 1)
    if parameter == 0 and not linear:
        nodes = job.low
    elif price <= 0 or linear:
        nodes = job.high
    else:
        if job.law == OVERHEAD:
            nodes = _level_of_overhead(slope, price, parameter)
        else:
            ratio = slope * parameter / (price * (1 - parameter))
            nodes = np.sqrt(ratio) if job.law == AMDAHL else ratio
        nodes = min(max(nodes, job.low), job.high)
    rate = _rate(job, nodes)
    return (slope + price * nodes) / rate, rate
