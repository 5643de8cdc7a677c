"""The queue of a schedule of a workload: which jobs waited, ran and started at each instant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allocsolve import families
from allocsolve.judge.sums import held_after
from allocsolve.judge.workload.tolerance import TIME_TOLERANCE_S
from allocsolve.model import PROFILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from allocsolve.model import FloatArray, IntArray, WorkloadProblem, WorkloadSchedule


@dataclass(frozen=True, slots=True)
class Breach(families.Breach):
    """The first time, in seconds, at which a schedule does not keep a claim."""

    #: The name of the job that should not have started, run or waited like this.
    job: str
    #: What shows it, by name: times in seconds, numbers of nodes, names of other jobs.
    numbers: Mapping[str, Any]


class Decision(NamedTuple):
    """The jobs that start at an instant, and the head after that, by their places in the queue."""

    at: float
    #: The jobs that start now, in queue order.
    started: Sequence[int]
    #: The first job of the queue that waits after all starts of this instant.
    head: int
    #: The number of jobs submitted so far, at least `head`; it equals `head` if no job waits.
    submitted: int


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """Columns of a schedule in the order of the queue: by submission, at one instant as in the problem.

    Times that differ by no more than the tolerance are one instant. A job without pieces starts at infinity.
    """

    problem: WorkloadProblem
    schedule: WorkloadSchedule
    #: Seconds by which other programs have rounded its times.
    rounding: float
    #: Shape (jobs,): the job at each place of the queue.
    jobs: IntArray
    #: Shape (jobs,), seconds; `end` is the end of the last piece.
    submit: FloatArray
    start: FloatArray
    end: FloatArray
    #: Shape (jobs,): the nodes of the first piece (0 without one), and the fewest on which the job may start:
    #: those that it allows, or, with a profile, those of its first step.
    held: IntArray
    fewest: IntArray
    #: Shape (pieces,), in the order of the schedule, seconds.
    piece_starts: FloatArray
    piece_ends: FloatArray

    @classmethod
    def of(cls, problem: WorkloadProblem, schedule: WorkloadSchedule, rounding: float) -> History:
        """Return the history of a schedule that has as many jobs as the problem."""
        pieces = np.diff(schedule.offsets)
        total, count = len(schedule.nodes), len(pieces)
        times = np.concatenate([schedule.starts, schedule.ends, problem.packed.submit])
        snapped = _snapped(times, rounding + TIME_TOLERANCE_S)
        piece_starts, piece_ends, submit = snapped[:total], snapped[total : 2 * total], snapped[2 * total :]
        start, end = np.full(count, np.inf), np.full(count, np.inf)
        held = np.zeros(count, dtype=np.int64)
        runs = pieces > 0
        first = schedule.offsets[:-1][runs]
        start[runs], held[runs] = piece_starts[first], schedule.nodes[first]
        end[runs] = piece_ends[schedule.offsets[1:][runs] - 1]
        has_profile = problem.jobs.evolving.reading == PROFILE
        fewest = np.where(has_profile, problem.packed.nodes, problem.packed.min_nodes)
        jobs = np.argsort(problem.packed.submit, kind="stable")
        return cls(
            problem,
            schedule,
            rounding,
            jobs,
            submit[jobs],
            start[jobs],
            end[jobs],
            held[jobs],
            fewest[jobs],
            piece_starts,
            piece_ends,
        )

    @property
    def tolerance(self) -> float:
        """Seconds by which times may differ that are one instant."""
        return self.rounding + TIME_TOLERANCE_S

    def instants(self) -> FloatArray:
        """Return the times at which a job is submitted, starts, ends or is resized; seconds, rising."""
        return np.unique(np.concatenate([self.submit, self.piece_starts, self.piece_ends]))

    def idle_after(self, instants: FloatArray) -> IntArray:
        """Return how many nodes are idle from each instant to the next; below 0 if too many are held."""
        count = len(instants)
        at, until = (np.searchsorted(instants, times) for times in (self.piece_starts, self.piece_ends))
        return self.problem.num_nodes - held_after(count, self.schedule.nodes, at, until)

    def decisions(self) -> Iterator[Decision]:
        """Yield for each instant, in order of time, the jobs that start and the first job that waits."""
        places = np.lexsort((np.arange(len(self.start)), self.start)).tolist()
        start, submit = self.start.tolist(), self.submit.tolist()
        head = submitted = done = 0
        for at in self.instants().tolist():
            first = done
            while done < len(places) and start[places[done]] <= at:
                done += 1
            while submitted < len(submit) and submit[submitted] <= at:
                submitted += 1
            while head < len(start) and start[head] <= at:
                head += 1
            yield Decision(at, places[first:done], head, max(head, submitted))

    def estimates(self, places: Sequence[int], sizes: Sequence[int]) -> FloatArray:
        """Return how long jobs are expected to run on these numbers of nodes, in seconds, by their estimates.

        If a job does not allow its number, the time on `Job.nodes` nodes stands for it.
        """
        jobs, packed = self.jobs[np.asarray(places, dtype=np.int64)], self.problem.packed
        ratio = self.problem.run_times(np.asarray(sizes, dtype=np.int64), jobs) / packed.runtime[jobs]
        expected: FloatArray = packed.estimate[jobs] * np.where(np.isnan(ratio), 1.0, ratio)
        return expected

    def name(self, place: int) -> str:
        """Return the name of the job at a place of the queue."""
        return self.problem.jobs.names[int(self.jobs[place])]

    def place(self, job: int) -> int:
        """Return the place in the queue of a job."""
        return int(np.flatnonzero(self.jobs == job)[0])

    def breach(self, claim: str, place: int, at: float, matter: str, **numbers: object) -> Breach:
        """Return a breach by the job at a place of the queue."""
        name = self.name(place)
        message = f"job {name!r} {matter}"
        return Breach(claim, at, message, name, {key: _plain(value) for key, value in numbers.items()})


def _snapped(times: FloatArray, tolerance: float) -> FloatArray:
    """Return the times; those that are one instant become the first time of that instant."""
    if not len(times):
        return times
    rising, place = np.unique(times, return_inverse=True)
    begins = np.concatenate([[True], np.diff(rising) > tolerance])
    joined: FloatArray = rising[begins][np.cumsum(begins) - 1][place]
    return joined


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value
