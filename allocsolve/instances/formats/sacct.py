"""Logs that Slurm's ``sacct`` writes: one line a job, separated by ``|`` or by commas, under column names.

Steps (``123.batch``) are left out, tasks of arrays (``123_4``) are jobs. A job that was resized stands on
several lines, of which all but the last have the state RESIZING; so may one that was queued again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.instances.formats.log_jobs import read_table_log

if TYPE_CHECKING:
    from allocsolve.instances.formats.logs import JobLog
    from allocsolve.instances.formats.reading import PathLike

__all__ = ["read_sacct_log"]


def read_sacct_log(
    path: PathLike,
    *,
    num_nodes: int | None = None,
    unit: str | None = None,
    limits: str = "at-least-run",
    timezone: str = "UTC",
) -> JobLog:
    """Read the jobs of a log of ``sacct -P`` (or ``-p``, or of a CSV file with such columns).

    It is `read_table_log` with the format ``sacct``: see there for parameters and errors.
    """
    return read_table_log(path, "sacct", num_nodes=num_nodes, unit=unit, limits=limits, timezone=timezone)
