"""Schedules of evolving jobs from lists: at each event free nodes go to jobs in the order of a list.

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

from allocsolve.bounds.workload import least_areas, shortest_run_times
from allocsolve.heuristics.workload.list_decoding import move_entry
from allocsolve.heuristics.workload.serial import Sizes, plan_costs
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.random import uniform
from allocsolve.model import PROFILE, REACTIVE, REQUESTED, frozen
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
from allocsolve.simulation.outcome import schedule_of
from allocsolve.simulation.state import initial_resizing, initial_state

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.heuristics.workload._kernels_serial import Costs
    from allocsolve.kernels.records import Records
    from allocsolve.model import (
        FloatArray,
        IntArray,
        PackedJobs,
        WorkloadProblem,
        WorkloadSchedule,
        WorkloadTerm,
    )
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


#: A job that grows and shrinks by more nodes than this in each of its phases may find no room in the log.
_MOST_CHANGES = 64


class Server:
    """Makes schedules of lists, and lists of schedules, of workloads with evolving jobs.

    The module says how a list is served.

    The machine is plain.
    """

    def __init__(self, problem: WorkloadProblem, term: WorkloadTerm) -> None:
        self._problem, self._packed = problem, problem.packed
        packed, plan, count = problem.packed, problem.jobs.evolving, len(problem.jobs)
        rows = np.diff(plan.offsets)
        of_row = np.repeat(np.arange(count), rows)
        reading, most = plan.reading[of_row], packed.max_nodes[of_row]
        is_first = np.isin(np.arange(len(of_row)), plan.offsets[:-1][rows > 0])
        # A moment names a change and no number of nodes; a job with phases may have given back all but one.
        least = np.where((reading == REACTIVE) & ~is_first, 1, packed.min_nodes[of_row])
        limit = np.where(reading == REQUESTED, most, np.minimum(most, plan.nodes))
        low = np.where(plan.reading == PROFILE, packed.nodes, packed.min_nodes)
        high = np.where(plan.reading == PROFILE, packed.nodes, packed.max_nodes)
        low = np.concatenate([low, np.where(reading == PROFILE, plan.nodes, np.minimum(least, limit))])
        high = np.concatenate([high, np.where(reading == PROFILE, plan.nodes, limit)])
        asks = np.where(reading == PROFILE, ~is_first, high[count:] > low[count:])
        self._matter = np.concatenate([np.arange(count), count + np.flatnonzero(asks)])
        self._of_entry = np.concatenate([np.arange(count), of_row])
        changes = int((1 + np.minimum(most, _MOST_CHANGES)).sum())
        self._room = 4 + 2 * math.ceil(changes / max(1, count))
        self._work = work = self._engine()
        choosers = self._matter[high[self._matter] > low[self._matter]]
        unstarted = work.resizing.job.copy()  # type: ignore[attr-defined]  # an array of numpy
        unstarted.setflags(write=False)
        self.entries = Entries(frozen(low), frozen(high), frozen(choosers), unstarted)
        seconds = shortest_run_times(problem).astype(float)
        every = frozen(np.arange(count + 1))
        costs = plan_costs(problem, term, Sizes(every, packed.nodes, frozen(seconds.copy())))
        self._fixed = packed, self.entries, costs, term == "makespan", problem.num_nodes

    def _engine(self) -> ServiceWork:
        packed, plan, count = self._packed, self._problem.jobs.evolving, len(self._problem.jobs)
        state = initial_state(self._problem.num_nodes, packed.submit, ordered=None, resizable=True)
        resizing = initial_resizing(packed.estimate, plan, self._room)
        places = [np.zeros(2 * count, dtype=np.int64) for _ in range(2)]
        rank = np.zeros(count + len(plan.amounts), dtype=np.int64)
        return ServiceWork(state, resizing, rank, *places)

    def cost(self, listed: ServiceList) -> float:
        """Return what a list costs above the least cost of each job."""
        return self._serve(listed, self._work)

    def schedule(self, listed: ServiceList) -> WorkloadSchedule | None:
        """Return the schedule of a list, None if it does not come to an end."""
        work = self._engine()
        if self._serve(listed, work) == math.inf:
            return None
        return schedule_of(work.state, work.resizing)

    def list_by(self, starts: FloatArray, ends: FloatArray, sizes: IntArray, most: IntArray) -> ServiceList:
        """Return a list of jobs in the order of their starts, and of requests in the order of ends.

        Starts and ends are in seconds; each job starts on so many nodes (`sizes`), and is granted at most
        `most`. All have the shape (jobs,).
        """
        own = self._of_entry
        key = np.where(np.arange(len(own)) < len(starts), starts[own], ends[own])
        wanted = np.where(np.arange(len(own)) < len(starts), sizes[own], most[own])
        order = self._matter[np.argsort(key[self._matter], kind="stable")]
        chosen = np.clip(wanted, self.entries.low, self.entries.high)
        return ServiceList(order, chosen, np.zeros(len(own), dtype=np.int64))

    def list_by_area(self) -> ServiceList:
        """Return a list by the node-seconds of jobs: each starts on few nodes and has all it asks for."""
        area, packed = least_areas(self._problem), self._packed
        return self.list_by(area, area, packed.min_nodes, packed.max_nodes)

    def list_of(self, schedule: WorkloadSchedule) -> ServiceList:
        """Return a list with the starts, ends and sizes of a schedule."""
        first = schedule.nodes[schedule.offsets[:-1]]
        most = np.maximum.reduceat(schedule.nodes, schedule.offsets[:-1])
        return self.list_by(schedule.first_starts, schedule.last_ends, first, most)

    def anneal(self, search: ServiceSearch, temperature: float, moves: int) -> None:
        """Try lists near that of a search."""
        anneal_service(*self._fixed, search, temperature, moves, self._work)

    def _serve(self, listed: ServiceList, work: ServiceWork) -> float:
        return serve_to_end(*self._fixed, listed, work)


class ServiceAnnealer:
    """The state of simulated annealing over lists."""

    def __init__(self, server: Server, start: ServiceList, seed: int) -> None:
        self._server = server
        cost = server.cost(start)
        now, best = (ServiceList(*(column.copy() for column in start)) for _ in range(2))
        self._search = ServiceSearch(
            now,
            best,
            tried=np.zeros(len(start.order), dtype=np.int64),
            cost=np.array([cost, cost]),
            random=np.random.SeedSequence(seed).generate_state(1, np.uint64) | np.uint64(1),
        )

    @property
    def best_cost(self) -> float:
        """What the best list costs."""
        return float(self._search.cost[1])

    def best(self) -> ServiceList:
        """Return the best list."""
        return ServiceList(*(column.copy() for column in self._search.best))

    def schedule(self) -> WorkloadSchedule | None:
        """Return the schedule of the best list, or None if it has none."""
        return self._server.schedule(self.best())

    def run(self, temperature: float, moves: int) -> None:
        """Try lists at a temperature, in the unit of costs."""
        self._server.anneal(self._search, temperature, moves)
