"""The fields of the kinds ``reservation`` (a problem) and ``reservation-schedule`` (its answer).

Times are seconds, those of a problem whole ones; a node id is x + y*X + z*X*Y. ``wrap`` (no rings),
``shape`` ("any"), ``programs`` (none), ``program_seed`` (0), ``leaking`` (false), ``name`` and ``meta`` may
be absent, and of a job ``name``, ``program`` (null) and ``weight`` (1)::

    {"format": "allocsolve/1", "kind": "reservation", "name": "...",
     "topology": {"shape": [16, 8], "wrap": [false, false]}, "shape": "any",
     "programs": {"pair": [[["fork", 1, 0.5], ["compute", 2], ["join", 1]], [["compute", 3]]]},
     "program_seed": 0, "leaking": false,
     "jobs": [{"name": "j0", "arrival": 0, "nodes": 4, "runtime": 600, "deadline": 3600,
               "program": 2, "weight": 1}, ...], "meta": {...}}
    {"format": "allocsolve/1", "kind": "reservation-schedule", "problem": "<digest>",
     "jobs": [{"name": "j0", "outcome": "rejected"},
              {"name": "j1", "outcome": "booked", "start": 0, "end": 600, "nodes": [node, ...]},
              {"name": "j2", "outcome": "cancelled", "end": 600.5, "computed": 1200.25,
               "holds": [[node, start, end], ...]}, ...], "meta": {...}}

A document is checked whole, as those of partition problems are: every fault is raised with its place.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidProblem
from allocsolve.families import Fields
from allocsolve.instances.formats.files import Checker, show
from allocsolve.instances.formats.partition import (
    TOPOLOGY_BESIDES,
    decode_topology,
    encode_topology,
    topology_field,
)
from allocsolve.instances.formats.schema import (
    amounts,
    cells,
    certificate,
    choice,
    edges,
    flag,
    listing,
    prices,
    real,
    record,
    text,
    unit,
    whole,
)
from allocsolve.model import (
    MAX_INTEGER,
    OUTCOMES,
    PROGRAM_KINDS,
    REJECTED,
    RESERVATION_SHAPES,
    DeadlineJob,
    Mesh,
    Program,
    ReservationProblem,
    ReservationSchedule,
)

if TYPE_CHECKING:
    from allocsolve.instances.formats.files import Document

_TIMES: Final = ("arrival", "nodes", "runtime", "deadline")


def decode_problem(document: Document, source: str) -> ReservationProblem:
    """Return the problem of a document; a FormatError for the file `source` names every fault."""
    check = Checker()
    required = ("format", "kind", "topology", "jobs")
    top = check.fields(
        document, "", required, ("name", "shape", "programs", "program_seed", "leaking", "meta")
    )
    topology = decode_topology(check, top["topology"]) if "topology" in top else None
    if topology is not None and any(topology.complete):
        axis = topology.complete.index(True)
        check.add(f"topology.complete[{axis}]", "programs run on lines and rings only")
    shape = check.typed(str, top.get("shape", "any"), "shape")
    if shape not in RESERVATION_SHAPES:
        check.add_shape("shape", f"{show(shape)} is none of {', '.join(RESERVATION_SHAPES)}")
    named = check.typed(dict, top.get("programs", {}), "programs")
    programs = _decode_programs(check, named)
    seed = check.integer(top.get("program_seed", 0), "program_seed", "value", 0)
    leaking = check.boolean(top.get("leaking", False), "leaking")
    num_nodes = MAX_INTEGER if topology is None else topology.num_nodes
    last, first = 0, dict[str, int]()
    jobs = []
    for idx, row in enumerate(check.typed(list, top.get("jobs", []), "jobs")):
        place = f"jobs[{idx}]"
        job = _decode_job(check, row, place, num_nodes, named)
        if job.arrival < last:
            check.add(place, f"arrival {job.arrival} is before that of the job in front of it, {last}")
        last = max(last, job.arrival)
        name = job.name or f"j{idx}"
        if first.setdefault(name, idx) != idx:
            check.add(f"{place}.name", f"{show(name)} is also that of jobs[{first[name]}]")
        jobs.append(job)
    name = check.typed(str, top.get("name", ""), "name")
    meta = check.typed(dict, top.get("meta", {}), "meta")
    if not check.faults:
        assert topology is not None, "its faults were told"
        try:
            return ReservationProblem(topology, tuple(jobs), shape, programs, seed, leaking, name, meta)  # type: ignore[arg-type]  # the shape is one of them
        except InvalidProblem as error:  # sums beyond 2^53
            check.add("jobs", str(error))
    check.finish(source)
    return ReservationProblem(Mesh((1,)), ())  # never: there are faults


def _decode_programs(check: Checker, document: Document) -> dict[str, Program]:
    programs = {}
    for name, processes in document.items():
        place = f"programs.{name}"
        rows = check.typed(list, processes, place)
        try:
            programs[name] = Program(
                [check.typed(list, row, f"{place}[{at}]") for at, row in enumerate(rows)]
            )
        except InvalidProblem as error:
            check.add(place, str(error))
    return programs


def _decode_job(check: Checker, row: object, place: str, num_nodes: int, programs: Document) -> DeadlineJob:
    """Return a job; a harmless one in place of one with faults."""
    before = len(check.faults)
    fields = check.fields(row, place, _TIMES, ("name", "program", "weight"))
    low = {"arrival": 0, "nodes": 1, "runtime": 1, "deadline": 0}
    values = {
        name: check.integer(
            fields.get(name, 1),
            f"{place}.{name}",
            "value",
            low[name],
            high=num_nodes if name == "nodes" else MAX_INTEGER,
            high_is="the nodes of the machine",
        )
        for name in _TIMES
    }
    weight = check.real_number(fields.get("weight", 1), f"{place}.weight", "value", 0)
    name = check.typed(str, fields.get("name", ""), f"{place}.name")
    program = fields.get("program")
    if isinstance(program, str):
        if program not in programs:
            check.add(f"{place}.program", f"there is no program {show(program)}")
    elif program is not None:
        program = check.integer(program, f"{place}.program", "value", 0, fallback=0)
        if program >= PROGRAM_KINDS:
            fault = f"value {program} is above the last kind {PROGRAM_KINDS - 1}"
            check.add_shape(f"{place}.program", fault)
    if len(check.faults) > before:
        return DeadlineJob(values["arrival"], 1, 1, 1, name=name)
    return DeadlineJob(**values, program=program, weight=weight, name=name)


def encode_problem(problem: ReservationProblem) -> Document:
    """Return the fields of a problem without the envelope, in the order in which they are written."""
    document: Document = {"name": problem.name, "topology": encode_topology(problem.topology)}
    document["shape"] = problem.shape
    if problem.programs:
        document["programs"] = {
            name: [[list(operation) for operation in process] for process in program.processes]
            for name, program in problem.programs.items()
        }
    document |= {"program_seed": problem.program_seed, "leaking": problem.leaking}
    document["jobs"] = [_encode_job(job) for job in problem.jobs]
    document["meta"] = dict(problem.meta)
    return document


def _encode_job(job: DeadlineJob) -> Document:
    document: Document = {"name": job.name} if job.name else {}
    document |= {name: getattr(job, name) for name in _TIMES}
    if job.program is not None:
        document["program"] = job.program
    if job.weight != 1:
        document["weight"] = job.weight
    return document


def decode_schedule(document: Document, source: str, problem: ReservationProblem) -> ReservationSchedule:
    """Return the schedule of a document; a FormatError for the file `source` names every fault.

    Whether it answers the problem is for the judge to say.
    """
    check = Checker()
    top = check.fields(document, "", ("format", "kind", "jobs"), ("problem", "meta"))
    check.typed(dict, top.get("meta", {}), "meta")
    rows = _rows_of_jobs(check, check.typed(list, top.get("jobs", []), "jobs"), problem.names)
    check.finish(source)
    flat = [hold for row in rows for hold in row.holds]
    return ReservationSchedule(
        np.array([row.outcome for row in rows], dtype=np.int64),
        np.array([row.end for row in rows], dtype=np.float64),
        np.cumsum([0, *(len(row.holds) for row in rows)], dtype=np.int64),
        np.array([hold[0] for hold in flat], dtype=np.int64),
        np.array([hold[1] for hold in flat], dtype=np.float64),
        np.array([hold[2] for hold in flat], dtype=np.float64),
        np.array([row.computed or 0 for row in rows], dtype=np.float64)
        if any(row.computed is not None for row in rows)
        else None,
    )


class _Row(NamedTuple):
    """What became of a job."""

    outcome: int
    end: float  #: NaN if it is not said
    computed: float | None
    holds: list[tuple[int, float, float]]


def _rows_of_jobs(check: Checker, rows: list[Any], names: tuple[str, ...]) -> list[_Row]:
    """Return what became of each job, in the order of the jobs."""
    index = {name: idx for idx, name in enumerate(names)}
    of_jobs: list[_Row | None] = [None] * len(names)
    for at, row in enumerate(rows):
        place = f"jobs[{at}]"
        optional = ("start", "end", "nodes", "computed", "holds")
        fields = check.fields(row, place, ("name", "outcome"), optional)
        decoded = _decode_row(check, fields, place)
        name = check.typed(str, fields.get("name", ""), f"{place}.name")
        if name not in index:
            if name is fields.get("name"):
                check.add(f"{place}.name", f"the problem has no job {show(name)}")
        elif of_jobs[index[name]] is not None:
            check.add(f"{place}.name", f"{show(name)} stands twice")
        else:
            of_jobs[index[name]] = decoded
    for name, job in zip(names, of_jobs, strict=True):
        if job is None:
            check.add("jobs", f"{show(name)} is missing")
    return [job for job in of_jobs if job is not None]


def _decode_row(check: Checker, fields: Document, place: str) -> _Row:
    outcome = fields.get("outcome", OUTCOMES[REJECTED])
    if outcome not in OUTCOMES:
        check.add_shape(f"{place}.outcome", f"{show(outcome)} is none of {', '.join(OUTCOMES)}")
        outcome = OUTCOMES[REJECTED]
    end, computed = (
        _time(check, fields[name], f"{place}.{name}") if name in fields else None
        for name in ("end", "computed")
    )
    holds = _decode_holds(check, fields, place)
    return _Row(OUTCOMES.index(outcome), math.nan if end is None else end, computed, holds)


def _time(check: Checker, value: object, place: str) -> float:
    return check.real_number(value, place, "value", -MAX_INTEGER)


def _decode_holds(check: Checker, fields: Document, place: str) -> list[tuple[int, float, float]]:
    """Return nodes with start and end, as they stand there one by one or as a booking."""
    holds = []
    for at, hold in enumerate(check.typed(list, fields.get("holds", []), f"{place}.holds")):
        here = f"{place}.holds[{at}]"
        if not isinstance(hold, list) or len(hold) != 3:
            check.add_shape(here, f"must be node, start and end, not {show(hold)}")
            continue
        node = check.integer(hold[0], f"{here}[0]", "node", -MAX_INTEGER)
        holds.append((node, _time(check, hold[1], f"{here}[1]"), _time(check, hold[2], f"{here}[2]")))
    listed = enumerate(check.typed(list, fields.get("nodes", []), f"{place}.nodes"))
    nodes = [check.integer(node, f"{place}.nodes[{at}]", "node", -MAX_INTEGER) for at, node in listed]
    start = _time(check, fields.get("start", 0), f"{place}.start")
    if "holds" in fields:
        return holds
    if nodes and not {"start", "end"} <= fields.keys():
        check.add(place, "nodes without start and end")
        return []
    return [(node, start, fields.get("end", 0)) for node in nodes]  # a faulty end has been told


def encode_schedule(problem: ReservationProblem, schedule: ReservationSchedule) -> Document:
    """Return the jobs of a schedule without the envelope.

    Raises
    ------
    InvalidAnswer
        If it has another number of jobs than the problem.
    """
    if len(schedule.outcomes) != len(problem.jobs):
        msg = f"the schedule has {len(schedule.outcomes)} jobs, the problem has {len(problem.jobs)}"
        raise InvalidAnswer(msg)
    return {
        "jobs": [{"name": name, **_encode_outcome(schedule, idx)} for idx, name in enumerate(problem.names)]
    }


def _encode_outcome(schedule: ReservationSchedule, idx: int) -> Document:
    at = slice(schedule.offsets[idx], schedule.offsets[idx + 1])
    starts, ends, end = schedule.hold_starts[at], schedule.hold_ends[at], float(schedule.ends[idx])
    document: Document = {"outcome": OUTCOMES[schedule.outcomes[idx]]}
    if len(starts) and (starts == starts[0]).all() and (ends == end).all():
        document |= {"start": _plain(starts[0]), "end": _plain(end), "nodes": schedule.nodes[at].tolist()}
    else:
        if not math.isnan(end):
            document["end"] = _plain(end)
        if len(starts):
            rows: list[Any] = [
                [node, _plain(start), _plain(stop)]
                for node, start, stop in zip(
                    schedule.nodes[at].tolist(), starts.tolist(), ends.tolist(), strict=True
                )
            ]
            document["holds"] = rows
    if schedule.computed is not None:
        document["computed"] = _plain(float(schedule.computed[idx]))
    return document


def _plain(value: float) -> float:
    """Return a whole number as an integer, so that files show it as one."""
    return int(value) if float(value).is_integer() else float(value)


def problem_fields() -> Fields:
    """Return what a schema says of a problem."""
    kind = whole(0, maximum=PROGRAM_KINDS - 1)
    program = {
        "anyOf": [kind, {"type": "string"}, {"type": "null"}],
        "default": None,
        "description": "a kind of Linnert et al. 2024, or a name in programs; null: not known",
    }
    job = {
        "name": text('of the job, each another one; by default "j0", "j1", ...'),
        "arrival": whole(0, "when the job is announced, in seconds"),
        "nodes": whole(1, "how many nodes it books"),
        "runtime": whole(1, "for how many seconds"),
        "deadline": whole(0, "when it has to end, in seconds"),
        "program": program,
        "weight": real(0, "how much it counts in objectives", default=1),
    }
    operations = 'operations, such as ["compute", 2], ["send", 0, 1] or ["join", 1]'
    return Fields(
        "A reservation problem: jobs with deadlines on a mesh or torus",
        {
            "topology": topology_field(),
            "shape": choice(RESERVATION_SHAPES, "what node sets may be booked", default="any"),
            "programs": amounts(
                listing({"type": "array", "description": operations}),
                "programs by name: a list of processes, each a list of operations",
            ),
            "program_seed": whole(0, "from which random parts of programs are drawn", default=0),
            "leaking": flag("whether jobs may also run without a booking"),
            "jobs": listing(record(job, _TIMES), "in the order of arrival"),
        },
        ("topology", "jobs"),
        (
            *TOPOLOGY_BESIDES,
            "no axis of the topology is complete",
            "no job has more nodes than the topology",
            "jobs are in the order of arrival, and their names are distinct",
            "a program that a job names is one of programs, and programs can run",
            "sums of times, and of nodes times run times, are at most 2^53",
        ),
    )


def schedule_fields() -> Fields:
    """Return what a schema says of a schedule."""
    time = real(-MAX_INTEGER)
    node = whole(-MAX_INTEGER)
    job = {
        "name": text("of a job of the problem"),
        "outcome": choice(OUTCOMES, "what became of it"),
        "start": {**time, "description": "when all its nodes are taken, in seconds"},
        "end": {**time, "description": "when it ends or is stopped, in seconds"},
        "nodes": listing(node, "the nodes that it has from start to end"),
        "computed": {**time, "description": "node-seconds in which one of its processes computed"},
        "holds": listing(cells(node, time, time), "node, start and end, where they differ"),
    }
    return Fields(
        "A solution of a reservation problem",
        {"jobs": listing(record(job, ("name", "outcome")), "in any order")},
        ("jobs",),
        (
            "problem is the digest of the problem",
            "each job of the problem stands there once, and no other",
            "who has nodes has start and end, too",
        ),
    )


def certificates() -> dict[str, Document]:
    """Return the schema of certificates, which have a method in place of a kind."""
    fields = {
        "method": {"const": "prices", "description": "the only one"},
        "edges": edges(),
        "prices": prices("of a node in each slot"),
        "unit": unit(),
    }
    return {"": certificate("", fields, "prices of node-seconds of reservations, slot by slot")}
