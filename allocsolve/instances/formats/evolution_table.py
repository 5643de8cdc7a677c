"""Evolution problems and their schedules as tables: one row for each step of each application.

A problem has the columns ``application``, ``duration``, ``nodes`` (of the step) and ``num_nodes`` (of the
cluster, the same in all rows), and may have ``step`` (from 0 or 1 on; the order of the rows without it),
``release`` (the same in all rows of an application) and ``expand_limit`` (the same in all rows; empty or
``Inf`` for none).

A schedule has ``application``, ``step``, ``start`` and ``duration``: when each step starts, and for how long
it holds its ``nodes``, which may be left out.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.families import TableFormat
from allocsolve.instances.formats.checker import show
from allocsolve.instances.formats.evolution import encode_solution

if TYPE_CHECKING:
    from allocsolve.instances.formats.checker import Document
    from allocsolve.instances.formats.tables import Rows
    from allocsolve.model import EvolutionProblem, EvolutionSchedule

__all__ = ["PROBLEM_TABLE", "SCHEDULE_TABLE"]


def _problem_fields(rows: Rows) -> Document:
    applications: list[Document] = []
    durations, nodes = rows.column("duration"), rows.column("nodes")
    for idx, (name, members) in enumerate(_by_application(rows).items()):
        rows.comes_from(f"applications[{idx}]", members[0])
        for step, row in enumerate(members):
            rows.comes_from(f"applications[{idx}].steps[{step}]", row)
        steps = [[durations[row], nodes[row]] for row in members]
        release = rows.constant("release", 0, members)
        applications.append({"name": name, "release": release, "steps": steps})
    limit = rows.constant("expand_limit", math.inf)
    return {
        "num_nodes": rows.constant("num_nodes", None),
        "expand_limit": None if limit == math.inf else limit,
        "applications": applications,
    }


def _by_application(rows: Rows) -> dict[Any, list[int]]:
    """Return the rows of each application in the order of its steps; applications as they come first."""
    members: dict[Any, list[int]] = {}
    for row, name in enumerate(rows.column("application")):
        members.setdefault(name, []).append(row)
    if "step" in rows:
        steps = rows.column("step")
        for name, mine in members.items():
            mine.sort(key=lambda row: steps[row] if _is_integer(steps[row]) else -1)
            begin = 1 if steps[mine[0]] == 1 else 0
            for step, row in enumerate(mine, begin):
                if steps[row] != step:
                    rows.add(row, f"step {show(steps[row])} of {show(name)} where step {step} should be")
                    break
    return members


def _problem_columns(problem: EvolutionProblem) -> dict[str, Any]:
    """Return the columns of a problem.

    Raises
    ------
    InvalidProblem
        If there is no application: a table without rows does not tell how many nodes there are.
    """
    packed = problem.packed
    if not len(packed.releases):
        msg = "a problem without applications cannot be written as a table: it has no rows"
        raise InvalidProblem(msg)
    count = len(packed.durations)
    return {
        **_steps(problem),
        "duration": packed.durations,
        "nodes": packed.nodes,
        "release": np.repeat(packed.releases, np.diff(packed.offsets)),
        "num_nodes": np.full(count, problem.num_nodes, dtype=np.int64),
        "expand_limit": np.full(count, float(problem.expand_limit)),
    }


def _steps(problem: EvolutionProblem) -> dict[str, Any]:
    """Return the columns that name the rows: an application and one of its steps, from 0 on."""
    offsets = problem.packed.offsets
    sizes = np.diff(offsets)
    names = np.array([*problem.application_names, None], dtype=object)[:-1]  # an array, whatever they are
    steps = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
    return {"application": np.repeat(names, sizes), "step": steps}


def _schedule_fields(rows: Rows, problem: EvolutionProblem) -> Document:
    applications: list[Document] = []
    starts, durations, nodes = (rows.column(name) for name in ("start", "duration", "nodes"))
    requested = dict(zip(problem.application_names, problem.applications, strict=True))
    for idx, (name, members) in enumerate(_by_application(rows).items()):
        rows.comes_from(f"applications[{idx}]", members[0])
        for step, row in enumerate(members):
            rows.comes_from(f"applications[{idx}].durations[{step}]", row)
            if nodes[row] is not None and name in requested:
                wanted = requested[name].nodes[step : step + 1]
                if wanted and nodes[row] != wanted[0]:
                    rows.add(row, f"nodes {show(nodes[row])}, but the step requests {wanted[0]}")
        for before, row in pairwise(members):
            if _is_integer(starts[before]) and _is_integer(durations[before]):
                end = starts[before] + durations[before]
                if starts[row] != end:
                    rows.add(row, f"start {show(starts[row])}, but the step before ends at {end}")
        held = [durations[row] for row in members]
        applications.append({"name": name, "start": starts[members[0]], "durations": held})
    return {"applications": applications}


def _is_integer(cell: object) -> bool:
    return type(cell) is int


def _schedule_columns(problem: EvolutionProblem, schedule: EvolutionSchedule) -> dict[str, Any]:
    """Return the columns of a schedule.

    Raises
    ------
    InvalidAnswer
        If the schedule has other steps or node counts than the problem.
    """
    encode_solution(problem, schedule)
    offsets, durations = schedule.offsets, schedule.durations
    ends = np.cumsum(durations)
    before = (ends - durations)[offsets[:-1]] if len(schedule.starts) else schedule.starts
    starts = ends - durations + np.repeat(schedule.starts - before, np.diff(offsets))
    return {**_steps(problem), "start": starts, "duration": durations, "nodes": schedule.nodes}


PROBLEM_TABLE: Final = TableFormat(
    required=("application", "duration", "nodes", "num_nodes"),
    optional=("step", "release", "expand_limit"),
    texts=("application",),
    fields=_problem_fields,
    columns=_problem_columns,
)
SCHEDULE_TABLE: Final = TableFormat(
    required=("application", "step", "start", "duration"),
    optional=("nodes",),
    texts=("application",),
    fields=_schedule_fields,
    columns=_schedule_columns,
)
