"""Workloads and their schedules as tables: one row for each job, and for each piece of a job.

A problem has the columns ``submit``, ``nodes``, ``runtime`` and ``num_nodes`` (of the cluster, the same in
all rows), and may have ``job`` (its name), ``limit``, ``user``, ``weight``, ``min_nodes``, ``max_nodes``, and
``amdahl``, ``power`` or ``overhead`` of a moldable job, ``kind``, ``points`` and ``size_set``. Tables of
speedups, evolving jobs and what changes of sizes cost are left to the JSON format.

A schedule has ``job``, ``start``, ``end`` and ``nodes``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.families import TableFormat
from allocsolve.instances.formats.workload import encode_schedule
from allocsolve.model import ALL_SIZES, AMDAHL, POWER, SPEEDUP_TABLE, Overhead
from allocsolve.model.job_kinds import job_kind, size_set

if TYPE_CHECKING:
    from allocsolve.instances.formats.checker import Document
    from allocsolve.instances.formats.tables import Rows
    from allocsolve.model import WorkloadProblem, WorkloadSchedule

__all__ = ["PROBLEM_TABLE", "SCHEDULE_TABLE"]

_PLAIN: Final = (
    "submit",
    "nodes",
    "runtime",
    "limit",
    "user",
    "weight",
    "min_nodes",
    "max_nodes",
    "kind",
    "points",
    "size_set",
)


def _problem_fields(rows: Rows) -> Document:
    columns = {name: rows.column(name) for name in _PLAIN if name in rows}
    laws = {name: rows.column(name) for name in ("amdahl", "power", "overhead") if name in rows}
    names = rows.column("job")
    jobs: list[Document] = []
    for row in range(len(rows)):
        rows.comes_from(f"jobs[{row}]", row)
        job = {name: cells[row] for name, cells in columns.items() if cells[row] not in (None, "")}
        job["name"] = f"j{row}" if names[row] is None else names[row]
        speedup = {name: cells[row] for name, cells in laws.items() if cells[row] is not None}
        jobs.append({**job, "speedup": speedup} if speedup else job)
    return {"num_nodes": rows.constant("num_nodes", None), "jobs": jobs}


def _problem_columns(problem: WorkloadProblem) -> dict[str, Any]:
    """Return the columns of a problem.

    Raises
    ------
    InvalidProblem
        If there is no job, whose row would tell how many nodes there are, or a job has a table of speedups,
        evolves, or has costs of changes.
    """
    packed, jobs = problem.packed, problem.jobs
    count = len(jobs)
    if not count:
        msg = "a problem without jobs cannot be written as a table: it has no rows"
        raise InvalidProblem(msg)
    if (packed.speedup == SPEEDUP_TABLE).any():
        idx = int(np.argmax(packed.speedup == SPEEDUP_TABLE))
        msg = f"job {jobs.names[idx]!r} has a table of speedups, which a table of jobs cannot hold"
        raise InvalidProblem(msg)
    for what, column in (("evolves", jobs.evolutions), ("has costs of changes", jobs.reconfigurations)):
        if column:
            idx = next(idx for idx, value in enumerate(column) if value is not None)
            msg = f"job {jobs.names[idx]!r} {what}, which a table of jobs cannot hold"
            raise InvalidProblem(msg)
    columns: dict[str, Any] = {
        "job": _texts(jobs.names),
        "submit": packed.submit,
        "nodes": packed.nodes,
        "runtime": packed.runtime,
        "limit": jobs.limit,
        "weight": packed.weight,
    }
    if jobs.users:
        columns["user"] = _texts(jobs.users)
    if jobs.speedups:
        columns["min_nodes"], columns["max_nodes"] = packed.min_nodes, packed.max_nodes
        for name, code in (("amdahl", AMDAHL), ("power", POWER)):
            if (packed.speedup == code).any():
                columns[name] = np.where(packed.speedup == code, packed.parameter, np.nan)
        overheads = [law.overhead if isinstance(law, Overhead) else np.nan for law in jobs.speedups]
        if not np.isnan(overheads).all():
            columns["overhead"] = np.array(overheads)
    if problem.is_malleable:
        columns["kind"] = _texts(tuple(map(job_kind, packed.kind.tolist())))
        columns["points"] = packed.points
    if (packed.size_step != ALL_SIZES).any():
        columns["size_set"] = _texts(tuple(map(size_set, packed.size_step.tolist())))
    return {**columns, "num_nodes": np.full(count, problem.num_nodes, dtype=np.int64)}


def _texts(values: tuple[str | int | None, ...]) -> np.ndarray[Any, Any]:
    return np.array([*values, None], dtype=object)[:-1]  # an array, whatever they are


def _schedule_fields(rows: Rows, problem: WorkloadProblem) -> Document:
    del problem
    starts, ends, nodes = (rows.column(name) for name in ("start", "end", "nodes"))
    index: dict[Any, int] = {}
    pieces: list[list[list[Any]]] = []
    for row, name in enumerate(rows.column("job")):
        idx = index.setdefault(name, len(pieces))
        if idx == len(pieces):
            rows.comes_from(f"jobs[{idx}]", row)
            pieces.append([])
        rows.comes_from(f"jobs[{idx}].pieces[{len(pieces[idx])}]", row)
        pieces[idx].append([starts[row], ends[row], nodes[row]])
    return {"jobs": [{"name": name, "pieces": pieces[idx]} for name, idx in index.items()]}


def _schedule_columns(problem: WorkloadProblem, schedule: WorkloadSchedule) -> dict[str, Any]:
    encode_schedule(problem, schedule)
    pieces = np.diff(schedule.offsets)
    return {
        "job": np.repeat(_texts(problem.jobs.names), pieces),
        "start": schedule.starts,
        "end": schedule.ends,
        "nodes": schedule.nodes,
    }


PROBLEM_TABLE: Final = TableFormat(
    required=("submit", "nodes", "runtime", "num_nodes"),
    optional=("job", *_PLAIN[3:], "amdahl", "power", "overhead"),
    texts=("job", "user", "kind"),
    fields=_problem_fields,
    columns=_problem_columns,
)
SCHEDULE_TABLE: Final = TableFormat(
    required=("job", "start", "end", "nodes"),
    optional=(),
    texts=("job",),
    fields=_schedule_fields,
    columns=_schedule_columns,
)
