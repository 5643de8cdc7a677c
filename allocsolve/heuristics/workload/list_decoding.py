"""Plans of malleable jobs from lists: each job in turn takes as many nodes as are free, up to a cap.

A list decides in which order jobs take nodes, and a cap on how many each may take. A job begins at the first
instant at which its fewest nodes are free and holds ``min(cap, free)`` nodes until its work is done; where
fewer than its fewest nodes are free on the way, it begins anew behind.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.heuristics.workload.serial import job_sizes, plan_costs, serial_order
from allocsolve.kernels import bisect_right, inner_kernel, kernel
from allocsolve.kernels.random import uniform
from allocsolve.model import EVOLVING, MALLEABLE, WorkloadSchedule, frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.heuristics.workload._kernels_serial import Costs
    from allocsolve.heuristics.workload.serial import SerialOrder
    from allocsolve.model import FloatArray, IntArray, WorkloadProblem, WorkloadTerm

#: The share of the work of a job that counts as none: what rounding leaves when a job ends with a step.
NO_WORK: Final = 1e-12

#: The shares of moves: a job goes to a place near its own, to any place, or changes places with another one.
#: The other moves draw a new cap.
_NEAR, _FAR, _SWAP = 0.39, 0.16, 0.15

#: A job is moved near its place by up to this part of the list, and by up to `_CLOSE` places at least.
_NEIGHBOURHOOD, _CLOSE = 0.06, 3


class Listed(NamedTuple):
    """What a decoder knows of the jobs; read-only. Shape (jobs,) unless another one is given."""

    #: Seconds.
    release: FloatArray
    #: Shape (jobs + 1,), and the sizes of all jobs and seconds on them, the largest size of each job first.
    offsets: IntArray
    nodes: IntArray
    seconds: FloatArray
    #: Whether the job keeps the size on which it starts: the cap is its size.
    keeps: NDArray[np.bool_]
    #: Into how many equal parts the work is divided, between which the size may change; 0: at any time.
    points: IntArray
    #: Shape (any,): the jobs that have more than one size.
    choosers: IntArray


class DecoderWork(NamedTuple):
    """The free nodes over time, and what a decoder writes on the way."""

    #: Shape (room,): when steps begin (s), and how many nodes are free from there on.
    times: FloatArray
    free: IntArray
    #: Shape (room,): steps that take the place of others.
    new_times: FloatArray
    new_free: IntArray
    #: Shape (most,): the pieces of the present job: start and end (s), nodes.
    starts: FloatArray
    ends: FloatArray
    held: IntArray


class PieceLog(NamedTuple):
    """The pieces of a decoded list, in the order of the list."""

    #: Shape (jobs,): the first piece of each job and the number of its pieces.
    first: IntArray
    pieces: IntArray
    #: Shape (room,): start and end in seconds, nodes. Pieces beyond the room are counted only.
    starts: FloatArray
    ends: FloatArray
    held: IntArray


class ListSearch(NamedTuple):
    """The state of annealing; all is written."""

    #: Shape (jobs,): the present list, and the row of `Listed` that is the cap of each job.
    order: IntArray
    caps: IntArray
    #: The same of the best list.
    best_order: IntArray
    best_caps: IntArray
    #: Shape (jobs,): the list that is tried.
    tried: IntArray
    #: Shape (2,): what the present and the best list cost above the least costs.
    cost: FloatArray
    #: Shape (1,).
    random: NDArray[np.uint64]


@inner_kernel
def _row(listed: Listed, job: int, cap: int, limit: int) -> int:
    """Return the row of the largest size, at most that of row `cap`, of at most `limit` nodes.

    The job must have one. O(1) where it may have every number of nodes, else O(log sizes).
    """
    nodes = listed.nodes
    if nodes[cap] <= limit:
        return cap
    low, high = cap, int(listed.offsets[job + 1]) - 1
    guess = int(cap + nodes[cap] - limit)
    if guess <= high and nodes[guess] == limit:
        return guess
    while high - low > 1:
        middle = (low + high) >> 1
        if nodes[middle] <= limit:
            high = middle
        else:
            low = middle
    return high


@inner_kernel
def _add_piece(work: DecoderWork, pieces: int, start: float, end: float, nodes: int) -> int:
    """Add a piece to those of the present job; return their number, -1 if there is no room."""
    if pieces and work.held[pieces - 1] == nodes:
        work.ends[pieces - 1] = end
        return pieces
    if pieces == len(work.held):
        return -1
    work.starts[pieces], work.ends[pieces], work.held[pieces] = start, end, nodes
    return pieces + 1


@inner_kernel
def _run_freely(
    listed: Listed, job: int, cap: int, need: int, work: DecoderWork, count: int, first: int, begin: float
) -> tuple[int, int]:
    """Let a job run from `begin`, in step `first`, with sizes that change at any time.

    Returns the number of its pieces and the step in which it ends; no pieces and the step of the hole if one
    is on the way. O(steps).
    """
    time, left, step, pieces = begin, 1.0, first, 0
    while True:
        row = _row(listed, job, cap, work.free[step])
        seconds = listed.seconds[row]
        end = time + left * seconds
        until = work.times[step + 1] if step + 1 < count else np.inf
        if end <= until or end - until <= NO_WORK * seconds:
            end = min(end, until)
            if end > time or not pieces:
                pieces = _add_piece(work, pieces, time, end, listed.nodes[row])
            return pieces, step
        pieces = _add_piece(work, pieces, time, until, listed.nodes[row])
        if pieces < 0:
            return pieces, step
        left -= (until - time) / seconds
        time = until
        step += 1
        if work.free[step] < need:
            return 0, step


@inner_kernel
def _run_in_parts(
    listed: Listed, job: int, cap: int, need: int, work: DecoderWork, count: int, first: int, begin: float
) -> tuple[int, int]:
    """Do the same with sizes that change only between the parts of the work.

    Each part has the largest size that is free throughout the part.
    """
    points = listed.points[job]
    time, done, step, pieces = begin, 0, first, 0
    while True:
        largest = _row(listed, job, cap, work.free[step])
        row, last = largest, step
        end = time + listed.seconds[row] / points
        while last + 1 < count and work.times[last + 1] < end:
            last += 1
            if work.free[last] < need:
                return 0, last
            if work.free[last] < listed.nodes[row]:
                row = _row(listed, job, row, work.free[last])
                end = time + listed.seconds[row] / points
        parts = 1
        if row == largest:  # as many parts as this step holds
            seconds = listed.seconds[row]
            until = work.times[step + 1] if step + 1 < count else np.inf
            fitting = (until - time) / seconds * points
            parts = points - done if fitting >= points - done else max(1, int(fitting))
            end = time + seconds * parts / points
            while parts > 1 and end > until:
                parts -= 1
                end = time + seconds * parts / points
        pieces = _add_piece(work, pieces, time, end, listed.nodes[row])
        done += parts
        if pieces < 0 or done == points:
            while step + 1 < count and work.times[step + 1] < end:
                step += 1
            return pieces, step
        time = end
        while step + 1 < count and work.times[step + 1] <= time:
            step += 1
        if work.free[step] < need:
            return 0, step


@inner_kernel
def take(work: DecoderWork, count: int, pieces: int, first: int, last: int) -> int:
    """Take the nodes of the pieces, which lie in the steps ``first..last``, out of what is free.

    Neighbouring steps with equally many free nodes become one. Returns the number of steps, -1 if there is no
    room. O(steps).
    """
    times, free, new_times, new_free = work.times, work.free, work.new_times, work.new_free
    room = len(times)
    new, before = 0, -1
    if first:
        before = free[first - 1]
    piece, end = 0, work.ends[pieces - 1]
    for step in range(first, last + 1):
        until = times[step + 1] if step + 1 < count else np.inf
        time = times[step]
        while time < until:
            while piece < pieces and work.ends[piece] <= time:
                piece += 1
            held, stop = 0, until
            if piece < pieces:
                if work.starts[piece] > time:
                    stop = min(until, work.starts[piece])
                else:
                    held, stop = work.held[piece], min(until, work.ends[piece])
            if free[step] - held != before:
                if new == room:
                    return -1
                before = free[step] - held
                new_times[new], new_free[new] = time, before
                new += 1
            time = stop
            if time >= end and held == 0:
                break
    tail = last + 1
    if tail < count and free[tail] == before:
        tail += 1
    moved, target = count - tail, first + new
    if target + moved > room:
        return -1
    if target < tail:
        for at in range(moved):
            times[target + at], free[target + at] = times[tail + at], free[tail + at]
    elif target > tail:
        for at in range(moved - 1, -1, -1):
            times[target + at], free[target + at] = times[tail + at], free[tail + at]
    for at in range(new):
        times[first + at], free[first + at] = new_times[at], new_free[at]
    return target + moved


@inner_kernel
def run_earliest(listed: Listed, job: int, cap: int, work: DecoderWork, count: int) -> tuple[int, int, int]:
    """Let a job take nodes as soon as it can, and write its pieces.

    Returns their number, -1 if there is no room, and the steps in which they begin and end. O(steps).
    """
    need = listed.nodes[cap if listed.keeps[job] else listed.offsets[job + 1] - 1]
    release = listed.release[job]
    step = bisect_right(work.times, count, release) - 1  # the first one begins before all jobs
    pieces, last = 0, step
    while pieces == 0:
        step = last
        while work.free[step] < need:
            step += 1
        begin = max(release, work.times[step])
        if listed.points[job] and not listed.keeps[job]:
            pieces, last = _run_in_parts(listed, job, cap, need, work, count, step, begin)
        else:
            pieces, last = _run_freely(listed, job, cap, need, work, count, step, begin)
    return pieces, step, last


@inner_kernel
def _decode(
    listed: Listed,
    costs: Costs,
    is_maximum: bool,
    num_nodes: int,
    order: IntArray,
    caps: IntArray,
    limit: float,
    work: DecoderWork,
    log: PieceLog,
) -> float:
    """Return what a list costs above the least costs; infinite once it is above `limit`, or without room.

    The pieces are written into a log that has room for jobs. O(jobs x steps).
    """
    work.times[0], work.free[0] = -np.inf, num_nodes
    count, total, logged = 1, 0.0, 0
    for job in order:
        pieces, step, last = run_earliest(listed, job, caps[job], work, count)
        if pieces < 0:
            return np.inf
        time = work.ends[pieces - 1] if costs.of_end[0] else work.starts[0]
        cost = max(costs.floor[job], costs.slope[job] * (time - costs.reference[job]))
        total = max(total, cost) if is_maximum else total + (cost - costs.least[job])
        if total > limit:
            return np.inf
        if len(log.first):
            log.first[job], log.pieces[job] = logged, pieces
            for piece in range(min(pieces, len(log.held) - logged)):
                log.starts[logged + piece], log.ends[logged + piece] = work.starts[piece], work.ends[piece]
                log.held[logged + piece] = work.held[piece]
            logged += pieces
        count = take(work, count, pieces, step, last)
        if count < 0:
            return np.inf
    return total


@kernel
def decode(
    listed: Listed,
    costs: Costs,
    is_maximum: bool,
    num_nodes: int,
    order: IntArray,
    caps: IntArray,
    work: DecoderWork,
    log: PieceLog,
) -> float:
    """Decode a list; return its cost above the least costs, the largest cost of a job if `is_maximum`.

    Infinite without room for the steps.
    """
    return _decode(listed, costs, is_maximum, num_nodes, order, caps, np.inf, work, log)


@inner_kernel
def move_entry(
    order: IntArray, tried: IntArray, random: NDArray[np.uint64], is_near: bool, is_swap: bool
) -> None:
    """Write a list with one entry in another place, near its own or anywhere, or with two swapped."""
    count = len(order)
    for place in range(count):
        tried[place] = order[place]
    at = int(uniform(random) * count)
    to = int(uniform(random) * (count - 1))
    to += to >= at
    if is_near:
        reach = max(_CLOSE, int(_NEIGHBOURHOOD * count))
        ahead = 1 + int(uniform(random) * reach)
        to = at - ahead if uniform(random) < 0.5 else at + ahead
        to = min(max(to, 0), count - 1)
    elif is_swap:
        tried[at], tried[to] = order[to], order[at]
        return
    entry = order[at]
    while at < to:
        tried[at] = tried[at + 1]
        at += 1
    while at > to:
        tried[at] = tried[at - 1]
        at -= 1
    tried[to] = entry


@kernel
def anneal(
    listed: Listed,
    costs: Costs,
    is_maximum: bool,
    num_nodes: int,
    search: ListSearch,
    temperature: float,
    moves: int,
    work: DecoderWork,
    log: PieceLog,
) -> None:
    """Try lists near the present one, at a temperature in the unit of the costs.

    A list is taken that costs less than the present one plus a random amount (Metropolis); so what it may
    cost is known before it is decoded.
    """
    order, caps, random, choosers = search.order, search.caps, search.random, listed.choosers
    count = len(order)
    for _ in range(moves):
        kind = uniform(random)
        limit = search.cost[0] - temperature * math.log(1.0 - uniform(random))
        caps_move = len(choosers) > 0 and (count < 2 or kind >= _NEAR + _FAR + _SWAP)
        if caps_move:
            job = choosers[int(uniform(random) * len(choosers))]
            low, high = listed.offsets[job], listed.offsets[job + 1]
            old = caps[job]
            row = low + int(uniform(random) * (high - low - 1))
            caps[job] = row + (row >= old)
            cost = _decode(listed, costs, is_maximum, num_nodes, order, caps, limit, work, log)
            if cost > limit:
                caps[job] = old
                continue
        else:
            if count < 2:
                return
            move_entry(order, search.tried, random, kind < _NEAR, kind >= _NEAR + _FAR)
            cost = _decode(listed, costs, is_maximum, num_nodes, search.tried, caps, limit, work, log)
            if cost > limit:
                continue
            for place in range(count):
                order[place] = search.tried[place]
        search.cost[0] = cost
        if cost < search.cost[1]:
            search.cost[1] = cost
            for place in range(count):
                search.best_order[place] = order[place]
                search.best_caps[place] = caps[place]


#: With more sizes than this in all, jobs have about 16 sizes each to choose from.
_EVERY_SIZE = 1_000_000
#: Steps for which there is room, for each job: a job that changes its size at any time adds two, one with
#: points as many as it has pieces.
_STEPS, _STEPS_WITH_POINTS = 2, 64


class SizeList(NamedTuple):
    """The order in which jobs take nodes, and how many each may take."""

    #: Shape (jobs,): each job once.
    order: IntArray
    #: Shape (jobs,): the cap of each job, a row of the sizes of `Decoder`.
    caps: IntArray


def check_listed(problem: WorkloadProblem) -> None:
    """Raise `UnsupportedProblem` if lists do not know a job or the machine."""
    problem.check_plain("sizes")
    why = "is evolving: this solver plans jobs that change their size when it says so"
    problem.jobs.refuse(problem.jobs.packed.kind == EVOLVING, why)


class Decoder:
    """Makes schedules of lists, and lists of schedules.

    A job begins at the first instant, from its submission on, at which its fewest nodes are free, and holds
    the most nodes that are free and at most its cap, until its work is done; where fewer than its fewest
    nodes are free before that, it begins anew behind. Where it has points, each part of its work has the most
    nodes that are free throughout. A rigid or moldable job needs its cap all the time, and so does one that
    stalls when its size changes: of these there are schedules that no list has.

    `UnsupportedProblem` if a job is evolving, or the machine is not plain.

    Notes
    -----
    *Complexity*: O(jobs x steps of the plan) for a list: a microsecond for 10 jobs, .05 ms for 150.
    """

    def __init__(self, problem: WorkloadProblem, term: WorkloadTerm) -> None:
        check_listed(problem)
        self._problem = problem
        packed, evolving, count = problem.packed, problem.jobs.evolving, len(problem.jobs)
        every = int((packed.max_nodes - packed.min_nodes + 1).sum()) <= _EVERY_SIZE
        self.sizes = sizes = job_sizes(problem, every=every)
        stalls = evolving.stall_fixed + evolving.stall_per_node + evolving.stall_shared > 0
        keeps = frozen((packed.kind != MALLEABLE) | stalls)
        #: The jobs and what they cost, for kernels.
        self.listed = Listed(
            packed.submit, *sizes, keeps, packed.points, frozen(np.flatnonzero(np.diff(sizes.offsets) > 1))
        )
        self.costs = plan_costs(problem, term, sizes)
        self._fixed = self.listed, self.costs, term == "makespan", problem.num_nodes
        steps = _STEPS_WITH_POINTS if packed.points.any() else _STEPS
        self._work = new_work(steps * count + 2, steps * count + 2)

    @property
    def has_choices(self) -> bool:
        """Whether some job has more than one size."""
        return len(self.listed.choosers) > 0

    def cost(self, listed: SizeList) -> float:
        """Return what a list costs above the least cost of each job; see `Costs`."""
        return self._decode(listed, _log(0, 0))

    def schedule(self, listed: SizeList) -> WorkloadSchedule | None:
        """Return the schedule of a list; None if it has more pieces than there is room for."""
        count = len(self._problem.jobs)
        log = _log(count, 4 * count)
        cost = self._decode(listed, log)
        pieces = int(log.pieces.sum())
        if cost == math.inf:
            return None
        if pieces > len(log.held):
            log = _log(count, pieces)
            self._decode(listed, log)
        offsets = np.concatenate([[0], np.cumsum(log.pieces)])
        at = np.arange(pieces) + np.repeat(log.first - offsets[:-1], log.pieces)
        return WorkloadSchedule(offsets, log.starts[at], log.ends[at], log.held[at])

    def lists_of(self, schedule: WorkloadSchedule) -> list[SizeList]:
        """Return the jobs by their starts and by their ends, with the most nodes that each held as caps.

        A number of nodes that is not among the sizes is replaced by the next smaller one.
        """
        sizes, caps = self.sizes, self._largest()
        starts, ends = schedule.first_starts, schedule.last_ends
        most = np.maximum.reduceat(schedule.nodes, schedule.offsets[:-1])
        for job in self.listed.choosers.tolist():
            span = sizes.nodes[sizes.offsets[job] : sizes.offsets[job + 1]]
            caps[job] += min(int((span > most[job]).sum()), len(span) - 1)
        return [SizeList(np.lexsort(keys), caps) for keys in ((ends, starts), (starts, ends))]

    def serial_lists(self) -> list[SizeList]:
        """Return the jobs in two orders of serial generation, with all their nodes as caps."""
        orders: tuple[SerialOrder, ...] = ("few-nodes", "area")
        return [SizeList(serial_order(self._problem, order), self._largest()) for order in orders]

    def _largest(self) -> IntArray:
        return self.sizes.offsets[:-1].copy()

    def anneal(self, search: ListSearch, temperature: float, moves: int) -> None:
        """Try lists near the present one of a search, see `ListAnnealer`."""
        anneal(*self._fixed, search, temperature, moves, self._work, _log(0, 0))

    def costs_above_least(self, starts: FloatArray, ends: FloatArray) -> FloatArray:
        """Return what jobs with these starts and ends (s) cost above their least costs."""
        costs = self.costs
        times = ends if costs.of_end[0] else starts
        above: FloatArray = np.maximum(costs.floor, costs.slope * (times - costs.reference)) - costs.least
        return above

    def free_steps(self, schedule: WorkloadSchedule) -> tuple[FloatArray, IntArray]:
        """Return when the number of free nodes changes (s), from minus infinity on, and the numbers."""
        times = np.concatenate([[-np.inf], schedule.starts, schedule.ends])
        edges, at = np.unique(times, return_inverse=True)
        change = np.zeros(len(edges), dtype=np.int64)
        np.add.at(change, at, np.concatenate([[self._problem.num_nodes], -schedule.nodes, schedule.nodes]))
        kept = change != 0
        return edges[kept], np.cumsum(change)[kept]

    def _decode(self, listed: SizeList, log: PieceLog) -> float:
        return decode(*self._fixed, listed.order, listed.caps, self._work, log)


class ListAnnealer:
    """The state of simulated annealing over lists: the order of the jobs and their caps.

    The same seed gives the same moves.
    """

    def __init__(self, decoder: Decoder, start: SizeList, seed: int) -> None:
        self._decoder = decoder
        cost = decoder.cost(start)
        self._search = ListSearch(
            order=start.order.copy(),
            caps=start.caps.copy(),
            best_order=start.order.copy(),
            best_caps=start.caps.copy(),
            tried=np.zeros(len(start.order), dtype=np.int64),
            cost=np.array([cost, cost]),
            random=np.random.SeedSequence(seed).generate_state(1, np.uint64) | np.uint64(1),
        )

    @property
    def best_cost(self) -> float:
        """What the best list costs."""
        return float(self._search.cost[1])

    def best(self) -> SizeList:
        """Return the best list."""
        return SizeList(self._search.best_order.copy(), self._search.best_caps.copy())

    def schedule(self) -> WorkloadSchedule | None:
        """Return the schedule of the best list, or None if it has none."""
        return self._decoder.schedule(self.best())

    def run(self, temperature: float, moves: int) -> None:
        """Try lists at a temperature, in the unit of costs."""
        self._decoder.anneal(self._search, temperature, moves)


def new_work(steps: int, pieces: int) -> DecoderWork:
    """Return arrays with room for so many steps, and for so many pieces of a job."""
    times, new_times = np.zeros((2, steps))
    free, new_free = np.zeros((2, steps), dtype=np.int64)
    starts, ends = np.zeros((2, pieces))
    return DecoderWork(times, free, new_times, new_free, starts, ends, np.zeros(pieces, dtype=np.int64))


def _log(jobs: int, pieces: int) -> PieceLog:
    first, number_of_pieces, held = (np.zeros(number, dtype=np.int64) for number in (jobs, jobs, pieces))
    return PieceLog(first, number_of_pieces, np.zeros(pieces), np.zeros(pieces), held)
