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
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidProblem
from allocsolve.instances.formats.files import Checker, show
from allocsolve.instances.formats.partition import decode_topology, encode_topology
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
        check.add("shape", f"{show(shape)} is none of {', '.join(RESERVATION_SHAPES)}")
    programs = _decode_programs(check, check.typed(dict, top.get("programs", {}), "programs"))
    seed = check.integer(top.get("program_seed", 0), "program_seed", "value", 0)
    leaking = check.boolean(top.get("leaking", False), "leaking")
    num_nodes = MAX_INTEGER if topology is None else topology.num_nodes
    last, first = 0, dict[str, int]()
    jobs = []
    for idx, row in enumerate(check.typed(list, top.get("jobs", []), "jobs")):
        place = f"jobs[{idx}]"
        job = _decode_job(check, row, place, num_nodes, top.get("programs", {}))
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
        program = check.integer(
            program, f"{place}.program", "value", 0, high=PROGRAM_KINDS - 1, high_is="the last kind"
        )
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
    outcomes, ends, computed, executed = [], [], [], False
    holds: list[list[tuple[int, float, float]]] = []
    for place, fields in rows:
        outcome = fields.get("outcome", OUTCOMES[REJECTED])
        if outcome not in OUTCOMES:
            check.add(f"{place}.outcome", f"{show(outcome)} is none of {', '.join(OUTCOMES)}")
        outcomes.append(OUTCOMES.index(outcome) if outcome in OUTCOMES else REJECTED)
        ends.append(_time(check, fields["end"], f"{place}.end") if "end" in fields else math.nan)
        executed |= "computed" in fields
        computed.append(_time(check, fields.get("computed", 0), f"{place}.computed"))
        holds.append(_decode_holds(check, fields, place))
    check.finish(source)
    flat = [hold for row in holds for hold in row]
    return ReservationSchedule(
        np.array(outcomes, dtype=np.int64),
        np.array(ends, dtype=np.float64),
        np.cumsum([0, *map(len, holds)], dtype=np.int64),
        np.array([hold[0] for hold in flat], dtype=np.int64),
        np.array([hold[1] for hold in flat], dtype=np.float64),
        np.array([hold[2] for hold in flat], dtype=np.float64),
        np.array(computed, dtype=np.float64) if executed else None,
    )


def _rows_of_jobs(check: Checker, rows: list[Any], names: tuple[str, ...]) -> list[tuple[str, Document]]:
    """Return place and fields of the entry of each job, in the order of the jobs."""
    index = {name: idx for idx, name in enumerate(names)}
    of_jobs: list[tuple[str, Document] | None] = [None] * len(names)
    for at, row in enumerate(rows):
        place = f"jobs[{at}]"
        optional = ("start", "end", "nodes", "computed", "holds")
        fields = check.fields(row, place, ("name", "outcome"), optional)
        name = check.typed(str, fields.get("name", ""), f"{place}.name")
        if name not in index:
            if name is fields.get("name"):
                check.add(f"{place}.name", f"the problem has no job {show(name)}")
        elif of_jobs[index[name]] is not None:
            check.add(f"{place}.name", f"{show(name)} stands twice")
        else:
            of_jobs[index[name]] = place, fields
    for name, row in zip(names, of_jobs, strict=True):
        if row is None:
            check.add("jobs", f"{show(name)} is missing")
    return [row or ("jobs", {}) for row in of_jobs]


def _time(check: Checker, value: object, place: str) -> float:
    return check.real_number(value, place, "value", -MAX_INTEGER)


def _decode_holds(check: Checker, fields: Document, place: str) -> list[tuple[int, float, float]]:
    """Return nodes with start and end, as they stand there one by one or as a booking."""
    if "holds" in fields:
        holds = []
        for at, hold in enumerate(check.typed(list, fields["holds"], f"{place}.holds")):
            here = f"{place}.holds[{at}]"
            if not isinstance(hold, list) or len(hold) != 3:
                check.add(here, f"must be node, start and end, not {show(hold)}")
                continue
            node = check.integer(hold[0], f"{here}[0]", "node", -MAX_INTEGER)
            holds.append((node, _time(check, hold[1], f"{here}[1]"), _time(check, hold[2], f"{here}[2]")))
        return holds
    nodes = check.typed(list, fields.get("nodes", []), f"{place}.nodes")
    if nodes and not {"start", "end"} <= fields.keys():
        check.add(place, "nodes without start and end")
        return []
    start, end = (
        _time(check, fields.get(name, 0), f"{place}.{name}") if nodes else 0 for name in ("start", "end")
    )
    return [
        (check.integer(node, f"{place}.nodes[{at}]", "node", -MAX_INTEGER), start, end)
        for at, node in enumerate(nodes)
    ]


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
