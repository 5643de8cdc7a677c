"""Plans of malleable jobs from lists: each job in turn takes as many nodes as are free, up to a cap."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.heuristics.workload import _kernels_list_decoding as kernels
from allocsolve.heuristics.workload._kernels_piece_moves import move_pieces
from allocsolve.heuristics.workload.serial import job_sizes, plan_costs, serial_order
from allocsolve.model import EVOLVING, MALLEABLE, WorkloadSchedule, frozen

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_piece_moves import PieceMoves, PiecePlan
    from allocsolve.heuristics.workload.serial import SerialOrder
    from allocsolve.model import FloatArray, IntArray, WorkloadProblem, WorkloadTerm

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
    problem.check_plain()
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
        self._listed = kernels.Listed(
            packed.submit, *sizes, keeps, packed.points, frozen(np.flatnonzero(np.diff(sizes.offsets) > 1))
        )
        self._costs = plan_costs(problem, term, sizes)
        self._fixed = self._listed, self._costs, term == "makespan", problem.num_nodes
        steps = _STEPS_WITH_POINTS if packed.points.any() else _STEPS
        self._work = new_work(steps * count + 2, steps * count + 2)

    @property
    def has_choices(self) -> bool:
        """Whether some job has more than one size."""
        return len(self._listed.choosers) > 0

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
        for job in self._listed.choosers.tolist():
            span = sizes.nodes[sizes.offsets[job] : sizes.offsets[job + 1]]
            caps[job] += min(int((span > most[job]).sum()), len(span) - 1)
        return [SizeList(np.lexsort(keys), caps) for keys in ((ends, starts), (starts, ends))]

    def serial_lists(self) -> list[SizeList]:
        """Return the jobs in two orders of serial generation, with all their nodes as caps."""
        orders: tuple[SerialOrder, ...] = ("few-nodes", "area")
        return [SizeList(serial_order(self._problem, order), self._largest()) for order in orders]

    def _largest(self) -> IntArray:
        return self.sizes.offsets[:-1].copy()

    def anneal(self, search: kernels.ListSearch, temperature: float, moves: int) -> None:
        """Try lists near the present one of a search, see `ListAnnealer`."""
        kernels.anneal(*self._fixed, search, temperature, moves, self._work, _log(0, 0))

    def move(
        self, plan: PiecePlan, moves: PieceMoves, temperature: float, count: int, work: kernels.DecoderWork
    ) -> None:
        """Move pieces of a plan, see `PieceAnnealer`."""
        move_pieces(self._listed, self._costs, plan, moves, temperature, count, work)

    def costs_above_least(self, starts: FloatArray, ends: FloatArray) -> FloatArray:
        """Return what jobs with these starts and ends (s) cost above their least costs."""
        costs = self._costs
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

    def _decode(self, listed: SizeList, log: kernels.PieceLog) -> float:
        return kernels.decode(*self._fixed, listed.order, listed.caps, self._work, log)


class ListAnnealer:
    """The state of simulated annealing over lists: the order of the jobs and their caps.

    The same seed gives the same moves.
    """

    def __init__(self, decoder: Decoder, start: SizeList, seed: int) -> None:
        self._decoder = decoder
        cost = decoder.cost(start)
        self._search = kernels.ListSearch(
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


def new_work(steps: int, pieces: int) -> kernels.DecoderWork:
    """Return arrays with room for so many steps, and for so many pieces of a job."""
    times, new_times = np.zeros((2, steps))
    free, new_free = np.zeros((2, steps), dtype=np.int64)
    starts, ends = np.zeros((2, pieces))
    return kernels.DecoderWork(
        times, free, new_times, new_free, starts, ends, np.zeros(pieces, dtype=np.int64)
    )


def _log(jobs: int, pieces: int) -> kernels.PieceLog:
    first, number_of_pieces, held = (np.zeros(number, dtype=np.int64) for number in (jobs, jobs, pieces))
    return kernels.PieceLog(first, number_of_pieces, np.zeros(pieces), np.zeros(pieces), held)
