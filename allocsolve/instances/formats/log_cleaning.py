"""Cleaning: which lines of a log are jobs that can be replayed, and what is counted of the others."""

from __future__ import annotations

import bisect
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from allocsolve.errors import FormatError
from allocsolve.instances.formats.logs import JOINED, CleaningReport, JobLog, LogOptions, MachineSize
from allocsolve.model import FloatArray, IntArray

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from allocsolve.instances.formats.log_lines import Faults
    from allocsolve.instances.formats.reading import PathLike

__all__ = ["LogColumns", "cleaned"]


class LogColumns(NamedTuple):
    """The job lines of a log that can be read, a row each; NaN where a time is unknown."""

    names: Sequence[str]
    submits: FloatArray  #: seconds, as are the next four
    starts: FloatArray
    ends: FloatArray
    runs: FloatArray
    limits: FloatArray
    nodes: FloatArray  #: 0 or less where unknown
    users: Sequence[str | None]
    cancelled: NDArray[np.bool_]
    repeats: NDArray[np.bool_]  #: lines of a job that another line sums up


def cleaned(
    columns: LogColumns,
    machine: MachineSize,
    options: LogOptions,
    *,
    path: PathLike,
    sha256: str,
    header: Mapping[str, str],
    epoch: float | None,
    faults: Faults,
    timezone: str = "",
    dropped: Mapping[str, int] | None = None,
    changed: Mapping[str, NDArray[np.bool_] | int] | None = None,
    unusual: Mapping[str, int] | None = None,
) -> JobLog:
    """Drop the jobs that cannot be replayed, sort the rest by submission, and count what was done.

    Parameters
    ----------
    columns, machine, options, sha256, header, epoch, timezone
        As in `JobLog`.
    path
        Of the log.
    faults
        Lines that could not be read.
    dropped, changed, unusual
        What the reader has counted already: lines; rows of `columns` that differ from the log, by mask (of
        these, the rows that are kept count) or by number; lines.

    Raises
    ------
    FormatError
        If nothing tells the size of the machine.
    """
    if machine.size is None:
        raise FormatError(str(path), [f"nothing in it tells the size of the machine: {_size_hint(columns)}"])
    counts = {"faulty": faults.count, **(dropped or {})}
    lines = sum(counts.values()) + len(columns.names)
    rows = np.arange(len(columns.names))
    unknown_run = ~(columns.runs > 0)
    reasons = {
        "partial": columns.repeats,
        "no_submit": np.isnan(columns.submits),
        "cancelled": columns.cancelled & unknown_run,
        "unfinished": np.isnan(columns.runs) & ~np.isnan(columns.starts),
        "no_run_time": unknown_run,
        "no_size": columns.nodes <= 0,
        "too_large": columns.nodes > machine.size,
    }
    for reason, mask in reasons.items():
        counts[reason] = int(mask[rows].sum())
        rows = rows[~mask[rows]]
    names, rows, repeated, requeued = _distinct(columns, rows)
    counts["duplicates"] = repeated
    unsorted = int((np.diff(columns.submits[rows]) < 0).sum())
    order = np.argsort(columns.submits[rows], kind="stable")
    rows, names = rows[order], [names[at] for at in order.tolist()]
    runs, limits = columns.runs[rows], columns.limits[rows]
    short = limits < runs
    raises = options.limits == "at-least-run"
    at_rows = {
        reason: int(rows_of[rows].sum()) if isinstance(rows_of, np.ndarray) else rows_of
        for reason, rows_of in (changed or {}).items()
    }
    starts = columns.starts[rows]
    report = CleaningReport(
        lines + sum(at_rows.get(reason, 0) for reason in JOINED),
        counts,
        {
            "no_limit": int(np.isnan(limits).sum()),
            "above_limit": 0 if raises else int(short.sum()),
            "unsorted": unsorted,
            "no_recorded_start": int(np.isnan(starts).sum()),
            "starts_early": int((starts < columns.submits[rows]).sum()),
            "other_span": int((np.abs(columns.ends[rows] - starts - runs) >= 1).sum()),
            **(unusual or {}),
        },
        tuple(faults.texts),
        {**at_rows, "raised_limit": int(short.sum()) if raises else 0, "requeued": requeued},
    )
    return JobLog(
        source=Path(path).name,
        sha256=sha256,
        header=header,
        machine=machine,
        epoch=epoch,
        timezone=timezone,
        names=tuple(names),
        users=tuple([columns.users[row] for row in rows.tolist()]),
        submits=_fixed(columns.submits[rows]),
        starts=_fixed(starts),
        ends=_fixed(columns.ends[rows]),
        runs=_fixed(runs),
        limits=_fixed(np.where(short, runs, limits) if raises else limits),
        nodes=_fixed(columns.nodes[rows].astype(np.int64)),
        options=options,
        report=report,
    )


def _distinct(columns: LogColumns, rows: IntArray) -> tuple[list[str], IntArray, int, int]:
    """Return names and rows without duplicates, how many those are, and how many runs were renamed.

    A further line of a name is another run of a job that was queued again if it shares no time with those
    above; otherwise it is a duplicate.
    """
    names = [columns.names[row] for row in rows.tolist()]
    if len(set(names)) == len(names):
        return names, rows, 0, 0
    names.clear()
    runs_of: dict[str, list[tuple[float, float]]] = {}
    distinct: list[int] = []
    taken = set(columns.names)
    repeated = requeued = 0
    for row in rows.tolist():
        name = columns.names[row]
        span = float(columns.starts[row]), float(columns.ends[row])
        others = runs_of.setdefault(name, [])
        if others:
            at = bisect.bisect(others, span)
            neighbours = others[max(at - 1, 0) : at + 1]
            if not all(span[0] >= end or span[1] <= start for start, end in neighbours):
                repeated += 1
                continue
            requeued += 1
            name = f"{name}#{len(others) + 1}"
            while name in taken:
                name += "'"
            taken.add(name)
        bisect.insort(others, span)
        names.append(name)
        distinct.append(row)
    return names, np.array(distinct, dtype=np.int64), repeated, requeued


def _size_hint(columns: LogColumns) -> str:
    """Return what a user can make of a log without a size of the machine."""
    ran = ~np.isnan(columns.starts) & (columns.ends > columns.starts) & (columns.nodes > 0)
    if not ran.any():
        return "give the number of nodes"
    times = np.concatenate([columns.ends[ran], columns.starts[ran]])  # ends come first at one time
    change = np.concatenate([-columns.nodes[ran], columns.nodes[ran]])
    peak = int(np.cumsum(change[np.argsort(times, kind="stable")]).max())
    return f"give the number of nodes (jobs held up to {peak} at a time)"


_Array = TypeVar("_Array", FloatArray, IntArray)


def _fixed(array: _Array) -> _Array:
    array.setflags(write=False)
    return array
