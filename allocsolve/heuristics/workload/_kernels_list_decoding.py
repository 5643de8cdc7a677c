"""List decoding: jobs that may change their sizes, one after the other, as large as they can be; annealing.

A list decides in which order jobs take nodes, and a cap on how many each may take. A job begins at the first
instant at which its fewest nodes are free and holds ``min(cap, free)`` nodes until its work is done; where
fewer than its fewest nodes are free on the way, it begins anew behind.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.kernels import bisect_right, inner_kernel, kernel
from allocsolve.kernels.random import uniform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.heuristics.workload._kernels_serial import Costs
    from allocsolve.model import FloatArray, IntArray

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
