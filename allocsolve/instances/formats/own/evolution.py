"""The kinds ``evolution`` (a problem) and ``evolution-schedule`` (its answer), and their tables.

Their schemas state the fields; docs/formats.md shows them, the columns of the tables, and what is in the
digest.
"""

from __future__ import annotations

import math
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidProblem
from allocsolve.families import Fields, FileKind, TableFormat
from allocsolve.instances.formats.files import Checker, show
from allocsolve.instances.formats.schema import cells, certificate, listing, maybe, real, record, text, whole
from allocsolve.model import MAX_INTEGER, UNLIMITED, EvolutionProblem, EvolutionProfile, EvolutionSchedule
from allocsolve.model.columns import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from allocsolve.instances.formats.files import Document
    from allocsolve.instances.formats.tables import Rows

_ANSWER_FIELDS: Final = {"name", "start", "durations"}


def _problem_of(
    check: Checker,
    num_nodes: int,
    expand_limit: float | None,
    applications: list[Document],
    name: str,
    meta: Document,
) -> EvolutionProblem | None:
    """Return the problem; None, with the faults noted, if fields contradict each other."""
    names = [app.get("name", f"a{idx}") for idx, app in enumerate(applications)]
    _check_distinct(check, enumerate(names))
    for idx, app in enumerate(applications):
        for step, (_, nodes) in enumerate(app["steps"]):
            if nodes > num_nodes:
                place = f"applications[{idx}].steps[{step}][1]"
                check.add(place, f"nodes {nodes} is above num_nodes {num_nodes}")
    if check.faults:
        return None
    profiles = tuple(EvolutionProfile(tuple(map(tuple, app["steps"]))) for app in applications)
    releases = tuple(app["release"] for app in applications)
    limit = math.inf if expand_limit is None else expand_limit
    return EvolutionProblem(num_nodes, profiles, releases, limit, name, tuple(names), meta)


def _check_distinct(check: Checker, names: Iterable[tuple[int, str]]) -> None:
    first: dict[str, int] = {}
    for idx, name in names:
        if first.setdefault(name, idx) != idx:
            check.add(f"applications[{idx}].name", f"{show(name)} also names applications[{first[name]}]")


def _values_of(problem: EvolutionProblem) -> Document:
    limit = float(problem.expand_limit)
    apps = zip(problem.application_names, problem.releases, problem.applications, strict=True)
    return {
        "name": problem.name,
        "num_nodes": int(problem.num_nodes),
        "expand_limit": None if math.isinf(limit) else plain(limit),
        "applications": [
            {"name": name, "release": release, "steps": app.steps} for name, release, app in apps
        ],
        "meta": dict(problem.meta),
    }


def _schedule_of(
    check: Checker, problem: EvolutionProblem, applications: list[Document] | EvolutionSchedule
) -> EvolutionSchedule | None:
    """Return the schedule; None, with the faults noted, if it has others applications than the problem.

    Applications are matched by name and take their node counts from the problem. Whether the schedule
    keeps to the releases, the requested durations, the expand limit and the cluster is for the judge to say:
    any integers in -2^53..2^53 are read whose sum is at most 2^62.
    """
    if isinstance(applications, EvolutionSchedule):
        return applications
    sizes = dict(zip(problem.application_names, np.diff(problem.packed.offsets).tolist(), strict=True))
    answers: dict[str, Document] = {}
    for idx, app in enumerate(applications):
        place, name = f"applications[{idx}]", app["name"]
        total = abs(app["start"]) + sum(map(abs, app["durations"]))
        if total > UNLIMITED:
            check.add(place, f"start plus durations is {total} s, beyond 2^62")
        if name not in sizes:
            check.add(f"{place}.name", f"the problem has no application {show(name)}")
        elif len(app["durations"]) != sizes[name]:
            fault = f"{len(app['durations'])} durations for the {sizes[name]} steps of {show(name)}"
            check.add(f"{place}.durations", fault)
        answers[name] = app
    named = [(idx, app["name"]) for idx, app in enumerate(applications) if app["name"] in sizes]
    _check_distinct(check, named)
    for name in problem.application_names:
        if name not in answers:
            check.add("applications", f"{show(name)} is missing")
    if check.faults:
        return None
    ordered = [answers[name] for name in problem.application_names]
    return EvolutionSchedule(
        starts=np.array([app["start"] for app in ordered], dtype=np.int64),
        offsets=problem.packed.offsets,
        durations=np.array([value for app in ordered for value in app["durations"]], dtype=np.int64),
        nodes=problem.packed.nodes,
    )


def _faultless(applications: Any, problem: EvolutionProblem) -> EvolutionSchedule | None:  # noqa: ANN401 - JSON
    """Return the schedule at a glance: None if its applications have a fault, or are in another order."""
    packed, lists = problem.packed, [*map(type, applications)] if type(applications) is list else [list]
    if {*lists} - {dict} or any(app.keys() != _ANSWER_FIELDS for app in applications):
        return None
    held = [app["durations"] for app in applications]
    if tuple(app["name"] for app in applications) != problem.application_names or {*map(type, held)} - {list}:
        return None
    sizes = np.diff(packed.offsets)
    starts, durations = [app["start"] for app in applications], [*chain.from_iterable(held)]
    if [*map(len, held)] != sizes.tolist() or {*map(type, starts), *map(type, durations)} - {int}:
        return None
    latest, longest = max(starts, default=0), max(durations, default=1)
    if min(starts, default=0) < 0 or min(durations, default=1) < 1 or max(latest, longest) > MAX_INTEGER:
        return None
    if latest + longest * int(sizes.max(initial=0)) > UNLIMITED:  # then each sum is looked at
        return None
    return EvolutionSchedule(
        starts=np.array(starts, dtype=np.int64),
        offsets=packed.offsets,
        durations=np.array(durations, dtype=np.int64),
        nodes=packed.nodes,
    )


def _schedule_values(problem: EvolutionProblem, schedule: EvolutionSchedule) -> Document:
    """Return the applications of a schedule without the envelope."""
    packed = problem.packed
    for what in ("offsets", "nodes"):
        if not np.array_equal(getattr(schedule, what), getattr(packed, what)):
            raise InvalidAnswer(f"the schedule does not belong to the problem: its steps have other {what}")
    durations, offsets = schedule.durations.tolist(), packed.offsets.tolist()
    return {
        "applications": [
            {"name": name, "start": start, "durations": durations[begin:end]}
            for name, start, (begin, end) in zip(
                problem.application_names, schedule.starts.tolist(), pairwise(offsets), strict=True
            )
        ]
    }


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

    Raises `InvalidProblem` if there is no application: a table without rows does not tell how many nodes
    there are.
    """
    packed = problem.packed
    if not len(packed.releases):
        raise InvalidProblem("a problem without applications cannot be written as a table: it has no rows")
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
    """Return the columns of a schedule."""
    _schedule_values(problem, schedule)
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


def problem_fields() -> Fields:
    """Return what a schema says of a problem."""
    step = cells(whole(1, title="duration"), whole(0, title="nodes"))
    application = {
        "name": text("of the application, each another one; `a0`, `a1`, ... if left out"),
        "release": whole(0, "earliest start, in seconds", default=0),
        "steps": listing(step, "at least one `[seconds, nodes]`, with at most `num_nodes` nodes", minItems=1),
    }
    limit = real(1, "how many times its duration a step may be held; null: no limit")
    return Fields(
        "An evolution problem: applications whose steps hold known numbers of nodes",
        {
            "num_nodes": whole(1, "nodes of the cluster"),
            "expand_limit": maybe(limit),
            "applications": listing(record(application, ("steps",)), "each with these fields"),
        },
        ("num_nodes", "applications"),
        (
            "no step has more nodes than num_nodes",
            "names of applications are distinct",
            "the sum of all durations and releases can be counted",
        ),
    )


def schedule_fields() -> Fields:
    """Return what a schema says of a schedule."""
    application = {
        "name": text("of an application of the problem"),
        "start": whole(-MAX_INTEGER, "seconds"),
        "durations": listing(
            whole(-MAX_INTEGER, title="duration"), "for how many seconds each of its steps is held"
        ),
    }
    return Fields(
        "A solution of an evolution problem",
        {"applications": listing(record(application, tuple(application)), "in any order")},
        ("applications",),
        (
            "problem is the digest of the problem",
            "each application of the problem stands there once, and no other",
            "there are as many durations as steps",
            "start plus durations is at most 2^62",
        ),
    )


PROBLEM: Final = FileKind(problem_fields, _problem_of, _values_of)
ANSWER: Final = FileKind(schedule_fields, _schedule_of, _schedule_values, {"applications": _faultless})


def certificate_schema(kind: str) -> Document:
    """Return the schema of a kind of certificate."""
    point = cells(whole(0), whole(0), description="application and step, counted from 0")
    log = "the items of the log: base 64 of what zlib has compressed"
    prices = listing(listing(whole(0, title="price per second")), "of the steps of each application")
    at_first = listing(
        listing(whole(0, title="price of a second at time 0")),
        "of the steps of each application, in 1 / unit seconds of completion",
    )
    falls = listing(
        listing(whole(0, title="less a second later")),
        "by how much these prices fall, down to 0 at the last time",
    )
    schemas = {
        "area": certificate("area", {}, "the judge adds up the areas of the applications"),
        "step-prices": certificate(
            "step-prices",
            {"prices": prices},
            "what steps pay that may be held at the same time",
        ),
        "falling-prices": certificate(
            "falling-prices",
            {
                "unit": whole(1, "a price p is p / unit seconds of completion for a second of a step"),
                "times": listing(
                    whole(0), "in seconds, rising: where the judge looks what steps pay together", minItems=1
                ),
                "prices": at_first,
                "falls": falls,
            },
            "what steps pay that may compute at the same time, from early to late",
        ),
        "learned-clauses": certificate(
            "learned-clauses",
            {
                "points": listing(point, "the steps that do not always follow at once, in order"),
                "log": text(log, contentEncoding="base64", contentMediaType="application/zlib"),
                "prices": maybe(prices),
            },
            "why no schedule ends by a horizon",
        ),
    }
    return schemas[kind]
