"""What workloads say of a machine beside its nodes, and what jobs need of it.

All of it is left out where it says nothing. In tables of jobs there are columns ``need_gpus`` instead of
``needs``, and ``num_gpus`` beside ``num_nodes``; closed windows have no place in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.instances.formats.files import Checker, show
from allocsolve.instances.formats.own.workload_places import ids_of, ids_text
from allocsolve.instances.formats.schema import real, text, whole
from allocsolve.model import ClosedWindow
from allocsolve.model.columns import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.instances.formats.files import Document
    from allocsolve.instances.formats.tables import Rows
    from allocsolve.model import WorkloadProblem

#: The fields of a job that are read here.
REQUIREMENT_FIELDS: Final = ("needs", "partition", "eligible", "boost")

#: The beginnings of columns of tables: how much a job needs of a resource, how much of it there is.
NEED, NUMBER = "need_", "num_"


def window_schema() -> Document:
    """Return what a schema says of a closed window."""
    return {
        "type": "object",
        "properties": {
            "start": real(0, "in seconds"),
            "end": real(0, "in seconds, not included"),
            "node_ids": text("which nodes are closed, where they are places: ids, such as `0-3,9`"),
        },
        "required": ["start", "end"],
        "additionalProperties": whole(1, "how much is closed: of nodes, or of a resource by its name"),
    }


def windows_of(check: Checker, closed: list[Document], num_nodes: int) -> list[ClosedWindow]:
    """Return the closed windows of a problem that end after their starts; others are noted."""
    windows = []
    for idx, fields in enumerate(closed):
        start, end, amounts = fields["start"], fields["end"], {**fields}
        del amounts["start"], amounts["end"]
        ids: list[int] = []
        if "node_ids" in amounts:
            said = amounts.pop("node_ids")
            try:
                ids = ids_of(said, num_nodes)
            except ValueError as fault:
                check.add(f"closed[{idx}].node_ids", f"{show(said)}: {fault}")
        if start >= end:
            check.add(f"closed[{idx}].end", f"end {show(end)} is not above start {show(start)}")
        else:
            windows.append(ClosedWindow(start, end, amounts, tuple(ids)))
    return windows


def requirement_columns(listed: Sequence[Document]) -> dict[str, Any] | None:
    """Return columns of what jobs need beside nodes, as `Jobs` takes them; None if there may be a fault."""
    if set(REQUIREMENT_FIELDS).isdisjoint(set().union(*listed)):
        return {}
    needs, partitions, eligible, boost = ([job.get(name) for job in listed] for name in REQUIREMENT_FIELDS)
    amounts = {type(amount) for need in needs if isinstance(need, dict) for amount in need.values()}
    sound = (
        not {*map(type, needs)} - {dict, type(None)}
        and not amounts - {int}
        and not {*map(type, eligible), *map(type, boost)} - {int, float, type(None)}
    )
    if not sound:
        return None
    return {"needs": needs, "partitions": partitions, "eligible": eligible, "boost": boost}


def machine_values(problem: WorkloadProblem, rows: list[Document]) -> Document:
    """Return the fields of the machine of a problem, and add those of its jobs to their rows."""
    if problem.jobs.requirements:
        for idx, row in enumerate(rows):
            row.update(problem.jobs.requirements.of_job(idx))
    fields: Document = {"resources": dict(problem.resources)} if problem.resources else {}
    if problem.closed:
        fields["closed"] = [
            {"start": plain(window.start), "end": plain(window.end), **dict(window.amounts)}
            | ({"node_ids": ids_text(window.node_ids)} if window.node_ids else {})
            for window in problem.closed
        ]
    return fields


def machine_of_rows(rows: Rows, jobs: list[Document]) -> Document:
    """Return the resources that a table of jobs names, and add the needs to the jobs."""
    for column in rows.starting(NEED):
        for job, amount in zip(jobs, rows.column(column), strict=True):
            if amount not in {None, 0}:
                job.setdefault("needs", {})[column.removeprefix(NEED)] = amount
    resources = {
        column.removeprefix(NUMBER): rows.constant(column, None)
        for column in rows.starting(NUMBER)
        if column != "num_nodes"
    }
    return {"resources": resources} if resources else {}


def machine_columns(problem: WorkloadProblem) -> dict[str, Any]:
    """Return the columns of a table of jobs that say what they need and what there is.

    Raises `InvalidProblem` if a part of the machine is closed for a time: a row is a job.
    """
    if problem.closed:
        raise InvalidProblem(f"the {problem.closed[0].place} has no place in a table of jobs")
    asked, count = problem.jobs.requirements, len(problem.jobs)
    columns: dict[str, Any] = {}
    for name in dict.fromkeys(name for needs in asked.needs for name, _ in needs):
        columns[NEED + name] = np.array([dict(needs).get(name, 0) for needs in asked.needs], dtype=np.int64)
    if asked.partitions:
        columns["partition"] = np.array([*asked.partitions, None], dtype=object)[:-1]
    if len(asked.eligible):
        columns["eligible"] = asked.eligible
    if len(asked.boost):
        columns["boost"] = asked.boost
    for name, number in problem.resources:
        columns[NUMBER + name] = np.full(count, number, dtype=np.int64)
    return columns
