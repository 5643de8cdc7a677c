"""Schedules of workloads as other programs write them: tables that are read, never written.

Batsim and evalys (``jobs.csv``) have a row for each job, or for each piece of one: ``job_id``,
``starting_time``, ``finish_time``, and ``allocated_resources`` (``0-2 5``) or
``requested_number_of_resources``. ElastiSim (``job_statistics.csv``) has a row for each: ``ID`` (from 0 in
order of submission), ``Submit Time``, ``Start Time``, ``End Time``, but no sizes: jobs have theirs.

Times count from second 0 of the problem. A job without a row, or that was rejected there, gets no piece: the
judge says that it never runs. Programs of other people write columns of other names besides; these are passed
over.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.families import TableFormat
from allocsolve.instances.formats.checker import show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.instances.formats.checker import Document
    from allocsolve.instances.formats.tables import Rows
    from allocsolve.model import WorkloadProblem, WorkloadSchedule

__all__ = ["FOREIGN_TABLES"]

_INTERVALS: Final = re.compile(r"\d{1,15}(-\d{1,15})?([ ,]+\d{1,15}(-\d{1,15})?)*", re.ASCII)
#: ElastiSim writes six digits: this is how far a time of its may be from the true one, as a part of it.
_SIX_DIGITS: Final = 5e-6
_CAUTION: Final = (
    "times in ElastiSim's job_statistics.csv have 6 digits: beyond 10^6 s they are off by up to 5 s, "
    "and rules may seem broken; the exact times are in its scheduling protocol"
)


def _job_names(problem: WorkloadProblem) -> dict[str, str]:
    """Return what the jobs of a problem may be called elsewhere: j7 is also known as 7."""
    names = {name: name for name in problem.jobs.names}
    short = {name[1:]: name for name in names if name[:1] == "j" and name[1:].isdigit()}
    return short | names


def _known(names: Mapping[str, str], text: str) -> str:
    """Return the name of a job by what another program calls it; the text itself if there is none.

    Batsim puts the name of the workload before it (``w0!7``); pieces of a job may be ``7#2``.
    """
    for one in (text, text.rpartition("!")[2]):
        for name in (one, one.partition("#")[0]):
            if name in names:
                return names[name]
    return text


class _Pieces:
    """The pieces of each job while rows are read."""

    def __init__(self, problem: WorkloadProblem, rows: Rows) -> None:
        self._rows = rows
        self._pieces: dict[str, list[list[Any]]] = {}
        self._missing = dict.fromkeys(problem.jobs.names)

    def job(self, name: str, row: int) -> None:
        """Note that a row is about a job."""
        if name not in self._pieces:
            self._rows.comes_from(f"jobs[{len(self._pieces)}]", row)
            self._pieces[name] = []
            self._missing.pop(name, None)

    def add(self, name: str, piece: list[Any]) -> None:
        """Add a piece of a job."""
        self._pieces[name].append(piece)

    def fields(self) -> Document:
        """Return the fields of the JSON format; jobs without a row are the last ones."""
        for pieces in self._pieces.values():
            if len(pieces) > 1 and all(isinstance(piece[0], int | float) for piece in pieces):
                pieces.sort(key=lambda piece: piece[0])
        pieces_of: dict[str, list[list[Any]]] = {**self._pieces, **{name: [] for name in self._missing}}
        return {"jobs": [{"name": name, "pieces": pieces} for name, pieces in pieces_of.items()]}


def _batsim_fields(rows: Rows, problem: WorkloadProblem) -> Document:
    names, pieces = _job_names(problem), _Pieces(problem, rows)
    starts, ends = rows.column("starting_time"), rows.column("finish_time")
    held = rows.column("allocated_resources")
    sizes = rows.column("requested_number_of_resources")
    if "allocated_resources" not in rows and "requested_number_of_resources" not in rows:
        rows.faults.append("there is neither a column allocated_resources nor requested_number_of_resources")
        return {}
    for row, job in enumerate(rows.column("job_id")):
        name = _known(names, job)
        pieces.job(name, row)
        if starts[row] in (None, -1):  # rejected
            continue
        nodes = sizes[row] if held[row] in (None, "") else _count(rows, row, held[row])
        pieces.add(name, [starts[row], ends[row], nodes])
    return pieces.fields()


def _count(rows: Rows, row: int, intervals: str) -> int:
    """Return how many resources an interval set holds, such as 4 of ``0-2 5``."""
    if not _INTERVALS.fullmatch(intervals.strip()):
        rows.add(row, f"allocated_resources {show(intervals)} are no intervals such as 0-2 5")
        return 0
    total = 0
    for part in re.split(r"[ ,]+", intervals.strip()):
        first, dash, last = part.partition("-")
        total += int(last) - int(first) + 1 if dash else 1
    return total


def _elastisim_fields(rows: Rows, problem: WorkloadProblem) -> Document:
    pieces = _Pieces(problem, rows)
    order = np.argsort(problem.packed.submit, kind="stable").tolist()
    submits = rows.column("Submit Time")
    starts, ends = rows.column("Start Time"), rows.column("End Time")
    for row, number in enumerate(rows.column("ID")):
        if type(number) is not int or not 0 <= number < len(order):
            rows.add(row, f"ID must be one of 0..{len(order) - 1}, not {show(number)}")
            continue
        idx = order[number]
        submit, name = float(problem.packed.submit[idx]), problem.jobs.names[idx]
        told = submits[row]
        if not isinstance(told, int | float) or abs(told - submit) > _SIX_DIGITS * max(submit, 1):
            rows.add(row, f"Submit Time {show(told)}, but job {show(name)} is submitted at {submit:.10g}")
            continue
        pieces.job(name, row)
        if starts[row] not in (None, -1):
            pieces.add(name, [starts[row], ends[row], int(problem.packed.nodes[idx])])
    return pieces.fields()


def _not_written(problem: WorkloadProblem, schedule: WorkloadSchedule) -> Mapping[str, Any]:
    del problem, schedule
    msg = "tables of other programs are read, not written"
    raise InvalidAnswer(msg)


_BATSIM: Final = TableFormat(
    required=("job_id", "starting_time", "finish_time"),
    optional=("allocated_resources", "requested_number_of_resources"),
    texts=("job_id", "allocated_resources"),
    fields=_batsim_fields,
    columns=_not_written,
    is_open=True,
)
_ELASTISIM: Final = TableFormat(
    required=("ID", "Submit Time", "Start Time", "End Time"),
    optional=(),
    texts=(),
    fields=_elastisim_fields,
    columns=_not_written,
    is_open=True,
    caution=_CAUTION,
)

#: The best fit is taken; see `allocsolve.families.Codec`.
FOREIGN_TABLES: Final = (_BATSIM, _ELASTISIM)
