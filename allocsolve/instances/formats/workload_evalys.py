"""Schedules for evalys and whatever else reads the ``jobs.csv`` of Batsim: one row for each piece."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, Final

from allocsolve.instances.formats.workload_foreign import node_intervals, pieces_within

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem, WorkloadSchedule

__all__ = ["EVALYS_COLUMNS", "evalys_rows", "evalys_text"]

#: As Batsim writes them and evalys reads them.
EVALYS_COLUMNS: Final = (
    *("job_id", "workload_name", "submission_time", "requested_number_of_resources", "requested_time"),
    *("success", "starting_time", "execution_time", "finish_time", "waiting_time", "turnaround_time"),
    *("stretch", "allocated_resources"),
)

#: The name of a workload without one; evalys groups rows by it.
_UNNAMED: Final = "workload"


def evalys_rows(
    problem: WorkloadProblem, schedule: WorkloadSchedule, window: tuple[float, float] | None = None
) -> list[dict[str, Any]]:
    """Return a schedule as rows of `EVALYS_COLUMNS`.

    Parameters
    ----------
    problem
        The problem.
    schedule
        An answer to it, feasible or not.
    window
        First and last instant in seconds; None for all. Jobs that run in it in part are there as a whole.

    Returns
    -------
    list
        A row for each piece, in order of starts. Times are in seconds; stretch is turnaround over run time,
        without a floor. The nodes of a piece are given out greedily by number: disjoint sorted intervals,
        such as ``0-2 5 10-50``.
    """
    pieces, jobs = pieces_within(schedule, window)
    packed, names = problem.packed, problem.jobs.names
    rows = []
    columns = (
        jobs.tolist(),
        schedule.starts[pieces].tolist(),
        schedule.ends[pieces].tolist(),
        schedule.nodes[pieces].tolist(),
        packed.submit[jobs].tolist(),
        packed.estimate[jobs].tolist(),
        node_intervals(problem, schedule, pieces),
    )
    for job, start, end, nodes, submit, estimate, intervals in zip(*columns, strict=True):
        figures = (submit, nodes, estimate, 1, start, end - start, end, start - submit, end - submit)
        stretch = (end - submit) / (end - start)
        first = (names[job], problem.name or _UNNAMED)
        values = (*first, *map(_short, figures), _short(stretch), _interval_string(intervals))
        rows.append(dict(zip(EVALYS_COLUMNS, values, strict=True)))
    return rows


def evalys_text(
    problem: WorkloadProblem, schedule: WorkloadSchedule, window: tuple[float, float] | None = None
) -> str:
    """Return the CSV file that evalys loads; see `evalys_rows`."""
    text = io.StringIO()
    writer = csv.DictWriter(text, EVALYS_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(evalys_rows(problem, schedule, window))
    return text.getvalue()


def _short(value: float) -> int | float:
    """Return a whole number without a point; others are exact."""
    return int(value) if value == int(value) else value


def _interval_string(intervals: tuple[tuple[int, int], ...]) -> str:
    return " ".join(f"{first}-{last}" if last > first else str(first) for first, last in intervals)
