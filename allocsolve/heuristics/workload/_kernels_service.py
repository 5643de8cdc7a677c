"""Service in the order of a list: who of the waiting and the evolving jobs gets free nodes; annealing.

A list has an entry for the start of each job, and one for its requests in each of its phases (or steps, or
moments). At each event free nodes go to the jobs that want some, in the order of their entries: one that
waits starts on as many as are free, up to its size; one that runs is granted its request if it then holds no
more than the size of the entry. An entry that insists takes its size in full, and keeps all that is free from
those behind it until then.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.heuristics.workload._kernels_list_decoding import move_entry
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.random import uniform
from allocsolve.model.evolving import PROFILE, REACTIVE, REQUESTED
from allocsolve.simulation.decisions import BACKFILLED
from allocsolve.simulation.kernels import (
    Resizing,
    State,
    advance,
    answer,
    begin,
    has_room,
    largest_start,
    leave_queue,
    run_time,
    take_in,
    time_ratio,
    work_left,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.heuristics.workload._kernels_serial import Costs
    from allocsolve.kernels.records import Records
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.packed_jobs import PackedJobs
    from allocsolve.simulation.state import ElasticJob

#: The shares of moves: an entry goes to a place near its own, to any place, or changes places with another
#: one; its size changes, by a node or to any one. The other moves let it insist, or no longer.
_NEAR, _FAR, _SWAP, _STEP, _SIZE = 0.35, 0.1, 0.1, 0.25, 0.12


#: The rank of entries that are not in the list: they come last.
_LAST: Final = 1 << 40


class Entries(NamedTuple):
    """What is known of the entries; read-only. Shape (entries,): a start for each job, then each row.

    A row is a moment, a phase or a step of an evolving job, as in `Resizing.rows`.
    """

    #: The least and the largest size.
    low: IntArray
    high: IntArray
    #: Shape (any,): the entries that have more than one size.
    choosers: IntArray
    #: Shape (jobs,): what is known of jobs before they start.
    unstarted: Records[ElasticJob]


class ServiceList(NamedTuple):
    """A list: who comes first, and what each may have."""

    #: Shape (any,): the entries that matter, each once.
    order: IntArray
    #: Shape (entries,): the size of each, and 1 if it insists on it.
    sizes: IntArray
    insists: IntArray


class ServiceWork(NamedTuple):
    """The engine, and what a decoder writes on the way."""

    state: State
    resizing: Resizing
    #: Shape (entries,): the place of each entry in the list.
    rank: IntArray
    #: Shape (2 * jobs,): the entries that want nodes now, and the jobs that they belong to.
    wanting: IntArray
    job: IntArray


class ServiceSearch(NamedTuple):
    """The state of annealing; all is written."""

    now: ServiceList
    best: ServiceList
    #: Shape (entries that matter,): the order that is tried.
    tried: IntArray
    #: Shape (2,): what the present and the best list cost above the least costs.
    cost: NDArray[np.float64]
    #: Shape (1,).
    random: NDArray[np.uint64]


@inner_kernel
def _reset(entries: Entries, num_nodes: int, work: ServiceWork) -> None:
    """Set the engine to the time before the first event. O(jobs)."""
    engine, ledger = work.state.engine, work.resizing.ledger
    engine.clock, engine.free = 0.0, num_nodes
    engine.arrived = engine.head = engine.tail = engine.running = 0
    engine.completed = engine.submitted = engine.started = 0
    ledger.pool = ledger.reserved = ledger.first_promise = ledger.last_promise = 0
    ledger.waiting = ledger.malleable_running = ledger.logged = ledger.resized = 0
    ledger.calls = ledger.taken_in = ledger.requests = 0
    for job in range(len(entries.unstarted)):
        work.resizing.job[job] = entries.unstarted[job]
        work.resizing.point_places[job] = -1


@inner_kernel
def _want(work: ServiceWork, count: int, entry: int, job: int) -> None:
    """Put an entry among the first `count` ones, which are in the order of the list."""
    place = count
    while place and work.rank[work.wanting[place - 1]] > work.rank[entry]:
        work.wanting[place], work.job[place] = work.wanting[place - 1], work.job[place - 1]
        place -= 1
    work.wanting[place], work.job[place] = entry, job


@inner_kernel
def _start(jobs: PackedJobs, work: ServiceWork, size: int, insists: int, job: int) -> bool:
    """Start a job that waits, if it can; return whether it has started."""
    state, resizing = work.state, work.resizing
    nodes = largest_start(jobs, resizing, job, size)
    if nodes > state.engine.free:
        nodes = 0 if insists else largest_start(jobs, resizing, job, state.engine.free)
    if nodes == 0:
        return False
    at = state.engine.head
    while state.queue[at] != job:
        at += 1
    leave_queue(state, at)
    estimate = resizing.job[job].estimate * time_ratio(jobs, job, nodes)
    seconds = run_time(jobs, job, nodes)
    begin(state, job, nodes, seconds, estimate, state.engine.clock + estimate, BACKFILLED, -1)
    take_in(jobs, state, resizing)
    return True


@inner_kernel
def _is_late(state: State, resizing: Resizing, job: int) -> bool:
    """Return whether a job with phases ends before another node could join it."""
    elastic = resizing.job[job]
    if elastic.reading != REACTIVE or elastic.row + 1 < elastic.last_row:
        return False
    return bool(work_left(state, resizing, job) <= elastic.join_grow * elastic.rate)


@inner_kernel
def _serve(jobs: PackedJobs, sizes: IntArray, insists: IntArray, work: ServiceWork) -> None:
    """Give free nodes to those who want some, in the order of the list."""
    state, resizing, count = work.state, work.resizing, 0
    for at in range(state.engine.head, state.engine.tail):
        _want(work, count, state.queue[at], state.queue[at])
        count += 1
    for nth in range(resizing.ledger.requests):
        job = resizing.requests[nth]
        row = resizing.job[job].row - (resizing.job[job].reading == REQUESTED)
        _want(work, count, len(jobs.submit) + row, job)
        count += 1
    for nth in range(count):
        entry, job = work.wanting[nth], work.job[nth]
        if entry == job:
            if not _start(jobs, work, sizes[entry], insists[entry], job) and insists[entry]:
                return
            continue
        asked = resizing.job[job].request
        if resizing.job[job].reading != PROFILE and (asked > sizes[entry] or _is_late(state, resizing, job)):
            answer(jobs, state, resizing, job, False)
        elif asked - state.job[job].size <= state.engine.free:
            answer(jobs, state, resizing, job, True)
        elif insists[entry]:
            return


@inner_kernel
def _serve_to_end(
    jobs: PackedJobs,
    entries: Entries,
    costs: Costs,
    is_maximum: bool,
    num_nodes: int,
    order: IntArray,
    sizes: IntArray,
    insists: IntArray,
    limit: float,
    work: ServiceWork,
) -> float:
    """Return what a list costs above the least costs; infinite if it does not end, or above `limit`.

    O(events x jobs that want nodes).
    """
    state, resizing = work.state, work.resizing
    _reset(entries, num_nodes, work)
    for entry in range(len(work.rank)):
        work.rank[entry] = _LAST
    for place in range(len(order)):
        work.rank[order[place]] = place
    total, ended = 0.0, 0
    while has_room(state, resizing) and advance(state, np.inf, True, jobs, resizing):
        for at in range(state.engine.completed):
            job = state.events[at]
            time = state.engine.clock if costs.of_end[0] else state.job[job].start
            cost = max(costs.floor[job], costs.slope[job] * (time - costs.reference[job]))
            total = max(total, cost) if is_maximum else total + (cost - costs.least[job])
            ended += 1
        if total > limit:
            return np.inf
        _serve(jobs, sizes, insists, work)
    return total if ended == len(jobs.submit) else np.inf


@kernel
def serve_to_end(
    jobs: PackedJobs,
    entries: Entries,
    costs: Costs,
    is_maximum: bool,
    num_nodes: int,
    listed: ServiceList,
    work: ServiceWork,
) -> float:
    """Run a workload to its end by a list; return its cost above the least costs.

    The cost is the largest one of a job if `is_maximum`; infinite if jobs wait for each other for ever, or
    the log has no room. The engine stays as it is at the end.
    """
    return _serve_to_end(
        *(jobs, entries, costs, is_maximum, num_nodes),
        *(listed.order, listed.sizes, listed.insists, np.inf, work),
    )


@kernel
def anneal_service(
    jobs: PackedJobs,
    entries: Entries,
    costs: Costs,
    is_maximum: bool,
    num_nodes: int,
    search: ServiceSearch,
    temperature: float,
    moves: int,
    work: ServiceWork,
) -> None:
    """Try lists near the present one, at a temperature in the unit of the costs.

    A list is taken that costs less than the present one plus a random amount (Metropolis); so a run ends as
    soon as its jobs have cost more.
    """
    now, best, random, choosers = search.now, search.best, search.random, entries.choosers
    count = len(now.order)
    for _ in range(moves):
        kind = uniform(random)
        limit = search.cost[0] - temperature * math.log(1.0 - uniform(random))
        entry = now.order[int(uniform(random) * count)]
        size, insists, order = now.sizes[entry], now.insists[entry], now.order
        if count > 1 and kind < _NEAR + _FAR + _SWAP:
            move_entry(now.order, search.tried, random, kind < _NEAR, kind >= _NEAR + _FAR)
            order = search.tried
        elif len(choosers) and kind < _NEAR + _FAR + _SWAP + _STEP + _SIZE:
            entry = choosers[int(uniform(random) * len(choosers))]
            size, insists = now.sizes[entry], now.insists[entry]
            low, high = entries.low[entry], entries.high[entry]
            if kind < _NEAR + _FAR + _SWAP + _STEP:
                other = size + 1 if size == low or (size < high and uniform(random) < 0.5) else size - 1
            else:
                other = low + int(uniform(random) * (high - low))
                other += other >= size
            now.sizes[entry] = other
        else:
            now.insists[entry] = 1 - insists
        cost = _serve_to_end(
            *(jobs, entries, costs, is_maximum, num_nodes, order, now.sizes, now.insists, limit, work)
        )
        if cost > limit:
            now.sizes[entry], now.insists[entry] = size, insists
            continue
        for place in range(count):
            now.order[place] = order[place]
        search.cost[0] = cost
        if cost < search.cost[1]:
            search.cost[1] = cost
            for place in range(count):
                best.order[place] = now.order[place]
            for other in range(len(now.sizes)):
                best.sizes[other], best.insists[other] = now.sizes[other], now.insists[other]
