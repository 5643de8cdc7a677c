"""Shifts of dates: move a wide job of a plan by hours, and put the jobs around in again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.workload.reinsertion import Reinserter
from allocsolve.model import packed_machine
from allocsolve.model.arrays import frozen
from allocsolve.model.options import Params

if TYPE_CHECKING:
    from allocsolve.heuristics.workload.serial import Plan
    from allocsolve.model import WorkloadObjective


@dataclass(frozen=True, slots=True)
class DateShiftParams(Params):
    """The numbers of `DateShifts`, measured on a log of 28,467 jobs."""

    #: A job is wide from this share of the nodes on, or of another resource.
    wide_share: float = 1 / 3
    #: The share of shifts to a new date in the wait of the job, and of the wait by which that reaches beyond
    #: its start; others are by so many run times (standard deviation).
    earlier_share: float = 0.7
    beyond_start: float = 0.1
    deviation_in_runtimes: float = 2.0
    #: Jobs are put in again that start up to this many run times behind the dates; the most of them.
    after_in_runtimes: float = 4.0
    most_jobs: int = 3_000
    #: Moves of reinsertion with the job not before its new date, and as many after that.
    moves: int = 300
    #: Relative: a gain below this is only the rounding of sums.
    least_gain: float = 1e-12


class DateShifts:
    """The state of a search that shifts the dates of wide jobs.

    Reinsertion moves jobs one at a time to their earliest place, so it hardly moves a wide job by hours: most
    of those around it have to move, too.

    Parameters
    ----------
    plan
        The plan to begin with, of rigid jobs; it is changed in place.
    objective
        The objective to minimise, of which the first term counts.
    seed
        The seed of the random numbers: the same seed gives the same shifts.

    Notes
    -----
    A wide job is drawn in proportion to what its wait costs, and a date in its wait or near its start. It
    and the jobs that run between its two dates or soon after are taken out; it is put in at the first place
    from that date on, the others in order of their starts, each at its earliest place. Reinsertion among
    these jobs follows, at first with the date kept. What costs more than before is undone.

    *Complexity*: O(jobs) and 600 moves of reinsertion; about 6 ms for a shift in a log of 28,467 jobs.
    """

    def __init__(
        self, plan: Plan, objective: WorkloadObjective, seed: int, params: DateShiftParams = DateShiftParams()
    ) -> None:
        self.plan, self._params = plan, params
        self._search = Reinserter(plan, objective, seed)
        self._random = np.random.default_rng(seed)
        self._submit = plan.free.release
        machine = packed_machine(plan.problem)
        whole = np.array([plan.problem.num_nodes, *dict(plan.problem.resources).values()])
        owners = np.repeat(np.arange(len(plan.nodes)), np.diff(machine.offsets))
        wide = np.zeros(len(plan.nodes), dtype=bool)
        wide[owners[machine.amount >= params.wide_share * whole[machine.resource]]] = True
        self._wide = wide if wide.any() else np.ones(len(wide), dtype=bool)

    def run(self, shifts: int) -> bool:
        """Try some shifts; return False if there are none, as no wide job waits."""
        for _ in range(shifts):
            sums = np.cumsum(np.where(self._wide, self._search.excess(), 0.0))
            if not len(sums) or not sums[-1] > 0:
                return False
            mark = self._random.random() * sums[-1]
            self._shift(min(int(np.searchsorted(sums, mark, side="right")), len(sums) - 1))
        return True

    def _shift(self, job: int) -> None:
        plan, starts, params = self.plan, self.plan.placed.starts, self._params
        old, before = starts.copy(), float(self._search.excess().sum())
        date = self._date(job)
        ends = starts + plan.seconds
        length = float(plan.seconds[job])
        until = max(date, float(starts[job])) + (1 + params.after_in_runtimes) * length
        near = np.flatnonzero((ends > date) & (starts < until) & (starts >= date - length))
        near = near[near != job]
        if len(near) > params.most_jobs:
            near = near[np.argsort(np.abs(starts[near] - date), kind="stable")[: params.most_jobs]]
        order = np.concatenate(([job], near[np.argsort(starts[near], kind="stable")]))
        release = self._submit.copy()
        release[job] = date
        plan.take_out(order)
        plan.free.release = frozen(release)
        plan.put(order)
        self._search.only(order)
        self._search.run(params.moves)
        plan.free.release = self._submit
        self._search.run(params.moves)
        if float(self._search.excess().sum()) > before * (1 + params.least_gain):
            changed = np.flatnonzero(starts != old)
            plan.take_out(changed)
            starts[changed] = old[changed]
            plan.put(changed, where_they_are=True)

    def _date(self, job: int) -> float:
        """Return a new date for a job, seconds."""
        random, submit = self._random, float(self._submit[job])
        start, length = float(self.plan.placed.starts[job]), float(self.plan.seconds[job])
        if random.random() < self._params.earlier_share:
            return submit + random.random() * (1 + self._params.beyond_start) * (start - submit)
        return max(submit, start + random.normal() * self._params.deviation_in_runtimes * length)
