"""Workloads in the Standard Workload Format, as other simulators read them; with a schedule, with its waits.

Of the 18 fields these are filled: job number, submission, wait (-1 without a schedule), run time, size (5 and
8), requested time, status and user. The others are -1. There is no room for more: what is elastic about a job
is not held. See `allocsolve.instances.read_swf_log` for reading.

Tables of workloads are here, too; docs/formats.md shows their columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.families import TableFormat
from allocsolve.instances.formats.own.workload import schedule_values
from allocsolve.instances.formats.own.workload_machine import (
    NEED,
    NUMBER,
    REQUIREMENT_FIELDS,
    machine_columns,
    machine_of_rows,
)
from allocsolve.instances.formats.own.workload_places import (
    EACH,
    place_columns,
    places_of_rows,
    places_texts,
)
from allocsolve.instances.formats.simulators.foreign import Unheld, elastic_kinds, pieces_within
from allocsolve.judge.workload.tolerance import TIME_TOLERANCE_S
from allocsolve.model import ALL_SIZES, AMDAHL, MAX_INTEGER, POWER, SPEEDUP_TABLE, Overhead
from allocsolve.model.columns import plain
from allocsolve.model.job_kinds import job_kind, size_set
from allocsolve.model.places import SHAPE_FIELDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.instances.formats.files import Document
    from allocsolve.instances.formats.tables import Rows
    from allocsolve.model import WorkloadProblem, WorkloadSchedule

_COMPLETED, _UNKNOWN = 1, -1
_HEADER = """\
; Version: 2.2
; Computer: {name}
; MaxJobs: {count}
; MaxRecords: {count}
; MaxNodes: {num_nodes}
; MaxProcs: {num_nodes}
; Note: sizes are numbers of nodes; written by allocsolve
"""


def swf_text(
    problem: WorkloadProblem, schedule: WorkloadSchedule, window: tuple[float, float] | None = None
) -> str:
    """Return a schedule as a log; see `swf_with_unheld`. Jobs that run in the window in part are whole."""
    return swf_with_unheld(problem, schedule, window)[0]


def swf_with_unheld(
    problem: WorkloadProblem,
    schedule: WorkloadSchedule | None = None,
    window: tuple[float, float] | None = None,
) -> tuple[str, Unheld]:
    """Return a problem, or a schedule of it, as a log, and what that does not hold.

    Jobs are written in order of submission. Sizes, waits and run times are taken from the schedule, feasible
    or not, if there is one; of a window, its first and last instant in seconds, only jobs that run then are
    there.
    """
    packed, jobs = problem.packed, problem.jobs
    order = np.argsort(packed.submit, kind="stable")
    if schedule is not None and window is not None:
        order = order[np.isin(order, pieces_within(schedule, window)[1])]
    unheld = Unheld()
    unheld.add("order of the jobs, now by submission", bool((np.diff(packed.submit) < 0).any()))
    numbers = _numbers(jobs.names, [*range(1, len(jobs) + 1)])
    if [*map(str, numbers)] != [*jobs.names]:
        unheld.add("names of jobs, now numbers", len(jobs))
    users = _users(jobs.users or (None,) * len(jobs), unheld)
    for kind, count in elastic_kinds(problem).items():
        unheld.add(f"{kind} jobs, as rigid ones", count)
    unheld.add("weights of jobs", int((packed.weight != 1).sum()))
    unheld.add("name of the problem", bool(problem.name))
    unheld.add("meta of the problem", bool(problem.meta))
    lines, fractions = [], 0
    for idx in order.tolist():
        submit, limit = float(packed.submit[idx]), float(jobs.limit[idx])
        wait, run, size = _run(problem, schedule, idx, unheld)
        times = submit, wait, run, -1 if np.isnan(limit) else limit
        fractions += any(time % 1 for time in times)
        texts = [*map(_text, times)]
        fields = [str(numbers[idx]), *texts[:3], str(size), "-1", "-1", str(int(packed.nodes[idx])), texts[3]]
        status = _COMPLETED if schedule is None or wait >= 0 else _UNKNOWN
        lines.append(" ".join([*fields, "-1", str(status), str(users[idx]), *["-1"] * 6]))
    unheld.add("jobs with fractions of seconds, which some readers refuse", fractions)
    header = _HEADER.format(
        name=" ".join(problem.name.split()), count=len(lines), num_nodes=problem.num_nodes
    )
    return header + "".join(f"{line}\n" for line in lines), unheld


def _run(
    problem: WorkloadProblem, schedule: WorkloadSchedule | None, idx: int, unheld: Unheld
) -> tuple[float, float, int]:
    """Return wait, run time and size of a job."""
    packed = problem.packed
    runtime, nodes = float(packed.runtime[idx]), int(packed.nodes[idx])
    if schedule is None:
        return -1, runtime, nodes
    pieces = schedule.pieces(idx)
    if not pieces:
        unheld.add("jobs that never run")
        return -1, runtime, nodes
    start, end, size = pieces[0][0], pieces[-1][1], pieces[0][2]
    unheld.add(
        "scheduled jobs that change their size: the first one", len({piece[2] for piece in pieces}) > 1
    )
    wait = start - float(packed.submit[idx])
    unheld.add("scheduled jobs that start before their submission", wait < 0)
    # The sum of start and run time may have been rounded.
    took = runtime if abs(end - start - runtime) <= TIME_TOLERANCE_S else end - start
    return wait, took, size


def _numbers(names: Sequence[str], else_: list[int]) -> list[int]:
    """Return the names as job numbers if all of them are such, else other numbers."""
    if all(name.isascii() and name.isdigit() and str(int(name[:17])) == name for name in names):
        numbers = [*map(int, names)]
        if max(numbers, default=0) < MAX_INTEGER:
            return numbers
    return else_


def _users(users: Sequence[str | None], unheld: Unheld) -> list[int]:
    """Return the users as numbers; -1 for nobody."""
    known = [user for user in dict.fromkeys(users) if user is not None]
    number_of = dict(zip(known, _numbers(known, [*range(1, len(known) + 1)]), strict=True))
    unheld.add("users, now numbers", sum(str(number) != user for user, number in number_of.items()))
    return [-1 if user is None else number_of[user] for user in users]


def _text(value: float) -> str:
    return str(plain(value))


_PLAIN: Final = (
    *("submit", "nodes", "runtime"),
    *("limit", "user", "weight", "min_nodes", "max_nodes", "kind", "points", "size_set"),
    *REQUIREMENT_FIELDS[1:],
    *(field for field in SHAPE_FIELDS if field != "each"),
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
    machine = machine_of_rows(rows, jobs) | places_of_rows(rows, jobs)
    return {"num_nodes": rows.constant("num_nodes", None), "jobs": jobs, **machine}


def _problem_columns(problem: WorkloadProblem) -> dict[str, Any]:
    """Return the columns of a problem.

    Raises `InvalidProblem` if there is no job, whose row would tell how many nodes there are, or a job has a
    table of speedups, evolves, or has costs of changes, or a part of the machine is closed for a time.
    """
    packed, jobs = problem.jobs.packed, problem.jobs
    count = len(jobs)
    if not count:
        raise InvalidProblem("a problem without jobs cannot be written as a table: it has no rows")
    if (packed.speedup == SPEEDUP_TABLE).any():
        idx = int(np.argmax(packed.speedup == SPEEDUP_TABLE))
        msg = f"job {jobs.names[idx]!r} has a table of speedups, which a table of jobs cannot hold"
        raise InvalidProblem(msg)
    for what, column in (("evolves", jobs.evolutions), ("has costs of changes", jobs.reconfigurations)):
        if column:
            idx = next(idx for idx, value in enumerate(column) if value is not None)
            raise InvalidProblem(f"job {jobs.names[idx]!r} {what}, which a table of jobs cannot hold")
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
    columns |= machine_columns(problem) | place_columns(problem)
    return {**columns, "num_nodes": np.full(count, problem.num_nodes, dtype=np.int64)}


def _texts(values: tuple[str | int | None, ...]) -> np.ndarray[Any, Any]:
    return np.array([*values, None], dtype=object)[:-1]  # an array, whatever they are


def _schedule_fields(rows: Rows, problem: WorkloadProblem) -> Document:
    del problem
    starts, ends, nodes, places = (rows.column(name) for name in ("start", "end", "nodes", "places"))
    index: dict[Any, int] = {}
    pieces: list[list[list[Any]]] = []
    for row, name in enumerate(rows.column("job")):
        idx = index.setdefault(name, len(pieces))
        if idx == len(pieces):
            rows.comes_from(f"jobs[{idx}]", row)
            pieces.append([])
        rows.comes_from(f"jobs[{idx}].pieces[{len(pieces[idx])}]", row)
        pieces[idx].append([starts[row], ends[row], nodes[row] if places[row] is None else places[row]])
    return {"jobs": [{"name": name, "pieces": pieces[idx]} for name, idx in index.items()]}


def _schedule_columns(problem: WorkloadProblem, schedule: WorkloadSchedule) -> dict[str, Any]:
    schedule_values(problem, schedule)
    pieces = np.diff(schedule.offsets)
    return {
        "job": np.repeat(_texts(problem.jobs.names), pieces),
        "start": schedule.starts,
        "end": schedule.ends,
        "nodes": schedule.nodes,
        **({} if schedule.place_nodes is None else {"places": _texts(tuple(places_texts(schedule)))}),
    }


PROBLEM_TABLE: Final = TableFormat(
    required=("submit", "nodes", "runtime", "num_nodes"),
    optional=("job", *_PLAIN[3:], "amdahl", "power", "overhead", "node_types"),
    texts=("job", "user", "kind", "partition", "types", "node_types"),
    beginnings=(NEED, NUMBER, EACH),
    fields=_problem_fields,
    columns=_problem_columns,
)
SCHEDULE_TABLE: Final = TableFormat(
    required=("job", "start", "end", "nodes"),
    optional=("places",),
    texts=("job", "places"),
    fields=_schedule_fields,
    columns=_schedule_columns,
)
