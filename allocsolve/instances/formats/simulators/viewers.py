"""Schedules for the viewers of other programs.

evalys, and whatever else reads the ``jobs.csv`` of Batsim, gets one row for each piece of a job. Perfetto
and Chrome's trace viewer get JSON events: a lane is a thread of the viewer and shows at most one job at a
time, as slices of one thread must nest. A lane is no node: a job holds as many nodes as its arguments say.
"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.instances.formats.simulators.foreign import (
    lanes,
    node_intervals,
    pieces_within,
    start_reasons,
)
from allocsolve.model.packed_machine import packed_machine

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem, WorkloadSchedule

#: As Batsim writes them and evalys reads them.
EVALYS_COLUMNS: Final = (
    *("job_id", "workload_name", "workload_num_machines", "submission_time"),
    *("requested_number_of_resources", "requested_time", "success", "starting_time", "execution_time"),
    *("finish_time", "waiting_time", "turnaround_time", "stretch", "allocated_resources"),
)

#: The name of a workload without one; evalys groups rows by it.
_UNNAMED: Final = "workload"
#: What Batsim writes for the requested time of a job without a limit.
_NO_LIMIT: Final = -1


def evalys_rows(
    problem: WorkloadProblem, schedule: WorkloadSchedule, window: tuple[float, float] | None = None
) -> list[dict[str, Any]]:
    """Return a schedule as rows of `EVALYS_COLUMNS`.

    There is a row for each piece, in order of starts, of jobs that run in the window, its first and last
    instant in seconds, at least in part. Times are in seconds; stretch is turnaround over run time, without a
    floor. The nodes of a piece are given out greedily by number: disjoint sorted intervals, such as ``0-2 5
    10-50``.
    """
    pieces, jobs = pieces_within(schedule, window)
    packed, names = problem.packed, problem.jobs.names
    limits = np.where(np.isfinite(problem.jobs.limit), problem.jobs.limit, _NO_LIMIT)
    rows = []
    columns = (
        jobs.tolist(),
        schedule.starts[pieces].tolist(),
        schedule.ends[pieces].tolist(),
        schedule.nodes[pieces].tolist(),
        packed.submit[jobs].tolist(),
        limits[jobs].tolist(),
        node_intervals(problem, schedule, pieces),
    )
    for job, start, end, nodes, submit, limit, intervals in zip(*columns, strict=True):
        figures = (submit, nodes, limit, 1, start, end - start, end, start - submit, end - submit)
        stretch = (end - submit) / (end - start)
        first = (names[job], problem.name or _UNNAMED, problem.num_nodes)
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


#: Beyond a million events (four a job) viewers are slow or refuse.
_MOST_PIECES: Final = 250_000

#: The processes of the trace: what runs, and what is counted.
_CLUSTER, _COUNTS = 1, 2


def perfetto_events(
    problem: WorkloadProblem, schedule: WorkloadSchedule, window: tuple[float, float] | None = None
) -> dict[str, Any]:
    """Return a schedule as a document of the trace event format.

    Jobs and windows are those of `evalys_rows`. There are slices of the jobs (``X``; their category is why
    they started: ``in turn``, ``at once``, ``backfilled``), instants of their submissions (``i``), counters
    of free nodes and waiting jobs (``C``), names (``M``). Times are in microseconds from time 0 of the
    problem. O(n log n).
    """
    pieces, jobs = pieces_within(schedule, window)
    events: list[dict[str, Any]] = [
        _name("process_name", _CLUSTER, 0, problem.name or f"{problem.num_nodes} nodes"),
        _name("process_name", _COUNTS, 0, "free nodes, queue, submissions"),
        _name("thread_name", _COUNTS, 1, "submissions"),
    ]
    starts, ends = _microseconds(schedule.starts[pieces]), _microseconds(schedule.ends[pieces])
    lane_of = lanes(starts, ends)
    events += [_name("thread_name", _CLUSTER, 1 + lane, f"lane {lane}") for lane in sorted(set(lane_of))]
    reasons, packed, table = start_reasons(problem, schedule), problem.jobs.packed, problem.jobs
    first_starts = schedule.first_starts
    nodes = schedule.nodes[pieces].tolist()
    for at, job in enumerate(jobs.tolist()):
        kind, head = reasons[job]
        details: dict[str, Any] = {
            "nodes": nodes[at],
            "submitted_s": float(packed.submit[job]),
            "waited_s": float(first_starts[job] - packed.submit[job]),
            "started": kind,
        }
        if head >= 0:
            details["backfilled_past"] = table.names[head]
        if not np.isnan(table.limit[job]):
            details["limit_s"] = float(table.limit[job])
        if table.users and table.users[job] is not None:
            details["user"] = table.users[job]
        events.append(
            {
                "name": table.names[job],
                "cat": kind,
                "ph": "X",
                "ts": starts[at],
                "dur": ends[at] - starts[at],
                "pid": _CLUSTER,
                "tid": 1 + lane_of[at],
                "args": details,
            }
        )
    shown = sorted(set(jobs.tolist()))
    for job, at in zip(shown, _microseconds(packed.submit[shown]), strict=True):
        row = {"name": table.names[job], "ph": "i", "s": "t", "ts": at, "pid": _COUNTS, "tid": 1}
        events.append(row)
    held = np.concatenate([schedule.starts, schedule.ends])
    change = np.concatenate([-schedule.nodes, schedule.nodes])
    if problem.closed:
        machine = packed_machine(problem)
        held = np.concatenate([held, machine.times])
        change = np.concatenate([change, np.diff(machine.capacity[:, 0], prepend=problem.num_nodes)])
    events += _counter("free nodes", problem.num_nodes, held, change, window)
    queued = np.flatnonzero(first_starts > packed.submit)
    moments = np.concatenate([packed.submit[queued], first_starts[queued]])
    events += _counter("waiting jobs", 0, moments, np.repeat([1, -1], len(queued)), window)
    return {"displayTimeUnit": "ms", "traceEvents": events}


def perfetto_text(
    problem: WorkloadProblem, schedule: WorkloadSchedule, window: tuple[float, float] | None = None
) -> str:
    """Return the file that trace viewers open; see `perfetto_events`.

    Raises `InvalidOption` if so many jobs run in the window that viewers would not take the file.
    """
    count = len(pieces_within(schedule, window)[0])
    if count > _MOST_PIECES:
        msg = f"{count} jobs are more than the {_MOST_PIECES} that a trace viewer takes: choose a window"
        raise InvalidOption(msg)
    document = perfetto_events(problem, schedule, window)
    return json.dumps(document, allow_nan=False, separators=(",", ":")) + "\n"


def _name(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}


def _microseconds(seconds: Any) -> list[int]:  # noqa: ANN401 - an array
    return [int(time) for time in np.rint(seconds * 1e6).tolist()]  # of 2^53 s they are beyond 64 bits


def _counter(
    name: str,
    level: int,
    times: Any,  # noqa: ANN401 - an array
    changes: Any,  # noqa: ANN401 - an array
    window: tuple[float, float] | None,
) -> list[dict[str, Any]]:
    """Return the values of a counter at the instants of a window at which it changes."""
    moments, at = np.unique(times, return_inverse=True)
    levels = level + np.cumsum(np.bincount(at, weights=changes, minlength=len(moments))).astype(np.int64)
    if window is not None:
        # The value at the beginning of the window is that of the change before it.
        first = max(int(np.searchsorted(moments, window[0], side="right")) - 1, 0)
        inside = slice(first, int(np.searchsorted(moments, window[1], side="right")))
        moments, levels = np.maximum(moments[inside], window[0]), levels[inside]
    return [
        {"name": name, "ph": "C", "ts": moment, "pid": _COUNTS, "args": {name: value}}
        for moment, value in zip(_microseconds(moments), levels.tolist(), strict=True)
    ]
