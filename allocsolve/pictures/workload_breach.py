"""Pictures of claims that do not hold: the schedule around the instant, with the job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.pictures._workload_gantt import GANTT_PIECES, Mark, gantt
from allocsolve.pictures._workload_series import span

if TYPE_CHECKING:
    from allocsolve.judge.workload_claims import Breach
    from allocsolve.model import WorkloadProblem, WorkloadSchedule
    from allocsolve.pictures.svg import Drawing

__all__ = ["breach_picture"]

#: How many pieces begin before and after the instant in a picture of a part of a schedule.
_AROUND: Final = GANTT_PIECES // 8


def breach_picture(problem: WorkloadProblem, schedule: WorkloadSchedule, breach: Breach) -> Drawing:
    """Return who held which nodes around the instant of a breach, with the instant and the job marked.

    All of a schedule of up to 400 pieces; else about 100 starts around the instant.
    """
    job = problem.jobs.names.index(breach.job)
    heading = (f"{breach.claim} does not hold", breach.message, "what a job is shows under the mouse")
    window = _window(problem, schedule, breach.at)
    return gantt(problem, schedule, window, heading[0], heading, Mark(job, breach.at))


def _window(problem: WorkloadProblem, schedule: WorkloadSchedule, at: float) -> tuple[float, float]:
    first, last = span(problem, [schedule])
    if len(schedule.starts) > GANTT_PIECES:
        starts = np.sort(schedule.starts)
        place = int(np.searchsorted(starts, at))
        first = float(starts[max(place - _AROUND, 0)])
        last = float(starts[min(place + _AROUND, len(starts) - 1)])
    first, last = min(first, at), max(last, at)
    return first, last if last > first else first + 1
