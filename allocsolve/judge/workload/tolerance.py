"""By how much times of schedules may be off: not at all where all are quarters, else once for each job."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, WorkloadProblem, WorkloadSchedule

#: Seconds by which a job may end before its work is done, and by which its end may overlap what follows on
#: its nodes: once for each job, however many pieces it has and on however many nodes it runs.
TIME_TOLERANCE_S: Final = 1e-6


def are_quarters(times: FloatArray) -> bool:
    """Return whether all times are multiples of a quarter of a second."""
    return bool((4 * times % 1 == 0).all())


def beyond_rounding(off: float, time: float) -> float:
    """Return by how many seconds a deviation >= 0 is more than what rounding a time amounts to."""
    return max(0.0, off - 4 * float(np.spacing(abs(time))))


def rounded_schedule(
    problem: WorkloadProblem, schedule: WorkloadSchedule, tolerance: float
) -> WorkloadSchedule:
    """Return the schedule that was meant, if its times may be off by so many seconds.

    Where all times of the problem are quarters of a second, so are those that were meant: times that are at
    most the tolerance away from one become it. Of other problems nobody knows what was meant, and the
    schedule stays as it is.
    """
    if not tolerance or not problem.is_exact:
        return schedule

    def meant(times: FloatArray) -> FloatArray:
        quarters = np.rint(4 * times) / 4
        return np.where(
            np.abs(times - quarters) <= tolerance + 4 * np.spacing(np.abs(times)), quarters, times
        )

    return replace(schedule, starts=meant(schedule.starts), ends=meant(schedule.ends))


def rounded_down(problem: WorkloadProblem, schedule: WorkloadSchedule) -> WorkloadSchedule:
    """Return a schedule of one piece for each job with its times rounded down to quarters of a second.

    Where all times of the problem are quarters and no time of the schedule is off, this is a schedule as
    well: if one job ends before another one starts, it does after rounding, too, and none starts before a
    quarter that it did not start before. Its value is no larger, so no bound on schedules in quarters is
    refuted by others.
    """
    starts, ends = np.floor(4 * schedule.starts) / 4, np.floor(4 * schedule.ends) / 4
    # A sum of start and run time that was rounded up to a quarter is one quarter too late after this.
    return replace(schedule, starts=starts, ends=np.fmin(ends, starts + problem.run_times(schedule.nodes)))


def given_up(schedule: WorkloadSchedule, tolerance: float, at_end: float) -> FloatArray:
    """Return from when on the nodes of each piece may be held by others, shape (pieces,), in seconds.

    All times may be off by `tolerance`. The last end of a job may be off by `at_end` besides, but by no more
    than half of its piece, so that no piece that takes time is overlooked.
    """
    left = np.maximum(schedule.ends - tolerance, schedule.starts)
    last = schedule.offsets[1:][np.diff(schedule.offsets) > 0] - 1
    left[last] -= np.minimum(at_end, (left[last] - schedule.starts[last]) / 2)
    return left
