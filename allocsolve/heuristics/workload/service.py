"""Schedules of evolving jobs from lists: at each event free nodes go to jobs in the order of a list."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.bounds.workload import least_areas, shortest_run_times
from allocsolve.heuristics.workload import _kernels_service as kernels
from allocsolve.heuristics.workload.serial import Sizes, plan_costs
from allocsolve.model import PROFILE, REACTIVE, REQUESTED, frozen
from allocsolve.simulation.outcome import schedule_of
from allocsolve.simulation.state import initial_resizing, initial_state

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray, WorkloadProblem, WorkloadSchedule, WorkloadTerm

#: A job that grows and shrinks by more nodes than this in each of its phases may find no room in the log.
_MOST_CHANGES = 64


class Server:
    """Makes schedules of lists, and lists of schedules, of workloads with evolving jobs.

    How a list is served `allocsolve.heuristics.workload._kernels_service` says.

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
        self.entries = kernels.Entries(frozen(low), frozen(high), frozen(choosers), unstarted)
        seconds = shortest_run_times(problem).astype(float)
        every = frozen(np.arange(count + 1))
        costs = plan_costs(problem, term, Sizes(every, packed.nodes, frozen(seconds.copy())))
        self._fixed = packed, self.entries, costs, term == "makespan", problem.num_nodes

    def _engine(self) -> kernels.ServiceWork:
        packed, plan, count = self._packed, self._problem.jobs.evolving, len(self._problem.jobs)
        state = initial_state(self._problem.num_nodes, packed.submit, ordered=None, resizable=True)
        resizing = initial_resizing(packed.estimate, plan, self._room)
        places = [np.zeros(2 * count, dtype=np.int64) for _ in range(2)]
        rank = np.zeros(count + len(plan.amounts), dtype=np.int64)
        return kernels.ServiceWork(state, resizing, rank, *places)

    def cost(self, listed: kernels.ServiceList) -> float:
        """Return what a list costs above the least cost of each job."""
        return self._serve(listed, self._work)

    def schedule(self, listed: kernels.ServiceList) -> WorkloadSchedule | None:
        """Return the schedule of a list, None if it does not come to an end."""
        work = self._engine()
        if self._serve(listed, work) == math.inf:
            return None
        return schedule_of(work.state, work.resizing)

    def list_by(
        self, starts: FloatArray, ends: FloatArray, sizes: IntArray, most: IntArray
    ) -> kernels.ServiceList:
        """Return a list of jobs in the order of their starts, and of requests in the order of ends.

        Starts and ends are in seconds; each job starts on so many nodes (`sizes`), and is granted at most
        `most`. All have the shape (jobs,).
        """
        own = self._of_entry
        key = np.where(np.arange(len(own)) < len(starts), starts[own], ends[own])
        wanted = np.where(np.arange(len(own)) < len(starts), sizes[own], most[own])
        order = self._matter[np.argsort(key[self._matter], kind="stable")]
        chosen = np.clip(wanted, self.entries.low, self.entries.high)
        return kernels.ServiceList(order, chosen, np.zeros(len(own), dtype=np.int64))

    def list_by_area(self) -> kernels.ServiceList:
        """Return a list by the node-seconds of jobs: each starts on few nodes and has all it asks for."""
        area, packed = least_areas(self._problem), self._packed
        return self.list_by(area, area, packed.min_nodes, packed.max_nodes)

    def list_of(self, schedule: WorkloadSchedule) -> kernels.ServiceList:
        """Return a list with the starts, ends and sizes of a schedule."""
        first = schedule.nodes[schedule.offsets[:-1]]
        most = np.maximum.reduceat(schedule.nodes, schedule.offsets[:-1])
        return self.list_by(schedule.first_starts, schedule.last_ends, first, most)

    def anneal(self, search: kernels.ServiceSearch, temperature: float, moves: int) -> None:
        """Try lists near that of a search."""
        kernels.anneal_service(*self._fixed, search, temperature, moves, self._work)

    def _serve(self, listed: kernels.ServiceList, work: kernels.ServiceWork) -> float:
        return kernels.serve_to_end(*self._fixed, listed, work)


class ServiceAnnealer:
    """The state of simulated annealing over lists."""

    def __init__(self, server: Server, start: kernels.ServiceList, seed: int) -> None:
        self._server = server
        cost = server.cost(start)
        now, best = (kernels.ServiceList(*(column.copy() for column in start)) for _ in range(2))
        self._search = kernels.ServiceSearch(
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

    def best(self) -> kernels.ServiceList:
        """Return the best list."""
        return kernels.ServiceList(*(column.copy() for column in self._search.best))

    def schedule(self) -> WorkloadSchedule | None:
        """Return the schedule of the best list, or None if it has none."""
        return self._server.schedule(self.best())

    def run(self, temperature: float, moves: int) -> None:
        """Try lists at a temperature, in the unit of costs."""
        self._server.anneal(self._search, temperature, moves)
