"""The kinds ``reservation`` (a problem) and ``reservation-schedule`` (its answer).

Their schemas state the fields, and docs/formats.md shows them. A job that has all its nodes for the same time
is written with ``start``, ``end`` and ``nodes``, others with ``end``, ``computed`` and ``holds``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidProblem
from allocsolve.families import Fields, FileKind
from allocsolve.instances.formats.files import Checker, show
from allocsolve.instances.formats.own.partition import (
    TOPOLOGY_BESIDES,
    topology_field,
    topology_of,
    topology_values,
)
from allocsolve.instances.formats.schema import (
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
    RESERVATION_SHAPES,
    DeadlineJob,
    ReservationProblem,
    ReservationSchedule,
)
from allocsolve.model.columns import plain

if TYPE_CHECKING:
    from allocsolve.instances.formats.files import Document

_TIMES: Final = ("arrival", "nodes", "runtime", "deadline")


def _problem_of(
    check: Checker,
    topology: Document,
    shape: str,
    jobs: list[Document],
    **more: Any,  # noqa: ANN401 - fields that the model takes as they are
) -> ReservationProblem | None:
    """Return the problem; None, with the faults noted, if fields contradict each other."""
    machine = topology_of(check, topology)
    if machine is not None and any(machine.complete):
        axis = machine.complete.index(True)
        check.add(f"topology.complete[{axis}]", "programs run on lines and rings only")
    last, first = 0, dict[str, int]()
    for idx, job in enumerate(jobs):
        place = f"jobs[{idx}]"
        if machine is not None and job["nodes"] > machine.num_nodes:
            fault = f"value {job['nodes']} is above the nodes of the machine {machine.num_nodes}"
            check.add(f"{place}.nodes", fault)
        if job["arrival"] < last:
            check.add(place, f"arrival {job['arrival']} is before that of the job in front of it, {last}")
        last = max(last, job["arrival"])
        name = job.get("name") or f"j{idx}"
        if first.setdefault(name, idx) != idx:
            check.add(f"{place}.name", f"{show(name)} is also that of jobs[{first[name]}]")
    if check.faults or machine is None:
        return None
    try:
        rows = tuple(DeadlineJob(**job) for job in jobs)
        return ReservationProblem(machine, rows, shape, **more)  # type: ignore[arg-type]  # one of the shapes
    except InvalidProblem as error:  # sums beyond 2^53
        check.add("jobs", str(error))
        return None


def _values_of(problem: ReservationProblem) -> Document:
    document: Document = {"name": problem.name, "topology": topology_values(problem.topology)}
    document["shape"] = problem.shape
    document |= {"program_seed": problem.program_seed, "leaking": problem.leaking}
    document["jobs"] = [_job_values(job) for job in problem.jobs]
    document["meta"] = dict(problem.meta)
    return document


def _job_values(job: DeadlineJob) -> Document:
    document: Document = {"name": job.name} if job.name else {}
    document |= {name: getattr(job, name) for name in _TIMES}
    if job.program is not None:
        document["program"] = job.program
    if job.weight != 1:
        document["weight"] = job.weight
    return document


def _schedule_of(
    check: Checker, problem: ReservationProblem, jobs: list[Document]
) -> ReservationSchedule | None:
    """Return the schedule; None, with the faults noted, if it has other jobs than the problem.

    Whether it answers the problem is for the judge to say.
    """
    rows: dict[str, Document] = {}
    holds: dict[str, list[tuple[int, float, float]]] = {}
    for at, job in enumerate(jobs):
        place, name = f"jobs[{at}]", job["name"]
        if name in rows:
            check.add(f"{place}.name", f"{show(name)} stands twice")
        elif name not in problem.names:
            check.add(f"{place}.name", f"the problem has no job {show(name)}")
        rows[name], holds[name] = job, _holds_of(check, job, place)
    for name in problem.names:
        if name not in rows:
            check.add("jobs", f"{show(name)} is missing")
    if check.faults:
        return None
    ordered = [rows[name] for name in problem.names]
    flat = [hold for name in problem.names for hold in holds[name]]
    says_computed = any("computed" in job for job in ordered)
    return ReservationSchedule(
        np.array([OUTCOMES.index(job["outcome"]) for job in ordered], dtype=np.int64),
        np.array([job.get("end", math.nan) for job in ordered], dtype=np.float64),
        np.cumsum([0, *(len(holds[name]) for name in problem.names)], dtype=np.int64),
        np.array([hold[0] for hold in flat], dtype=np.int64),
        np.array([hold[1] for hold in flat], dtype=np.float64),
        np.array([hold[2] for hold in flat], dtype=np.float64),
        np.array([job.get("computed", 0) for job in ordered], dtype=np.float64) if says_computed else None,
    )


def _holds_of(check: Checker, job: Document, place: str) -> list[tuple[int, float, float]]:
    """Return nodes with start and end, as they are given one by one or as a booking."""
    nodes = job.get("nodes", ())
    if "holds" in job:
        return [(node, start, end) for node, start, end in job["holds"]]
    if nodes and not {"start", "end"} <= job.keys():
        check.add(place, "nodes without start and end")
        return []
    return [(node, job["start"], job["end"]) for node in nodes]


def _schedule_values(problem: ReservationProblem, schedule: ReservationSchedule) -> Document:
    """Return the jobs of a schedule without the envelope."""
    if len(schedule.outcomes) != len(problem.jobs):
        msg = f"the schedule has {len(schedule.outcomes)} jobs, the problem has {len(problem.jobs)}"
        raise InvalidAnswer(msg)
    return {
        "jobs": [{"name": name, **_outcome_values(schedule, idx)} for idx, name in enumerate(problem.names)]
    }


def _outcome_values(schedule: ReservationSchedule, idx: int) -> Document:
    at = slice(schedule.offsets[idx], schedule.offsets[idx + 1])
    starts, ends, end = schedule.hold_starts[at], schedule.hold_ends[at], float(schedule.ends[idx])
    document: Document = {"outcome": OUTCOMES[schedule.outcomes[idx]]}
    if len(starts) and (starts == starts[0]).all() and (ends == end).all():
        document |= {"start": plain(starts[0]), "end": plain(end), "nodes": schedule.nodes[at].tolist()}
    else:
        if not math.isnan(end):
            document["end"] = plain(end)
        if len(starts):
            rows: list[Any] = [
                [node, plain(start), plain(stop)]
                for node, start, stop in zip(
                    schedule.nodes[at].tolist(), starts.tolist(), ends.tolist(), strict=True
                )
            ]
            document["holds"] = rows
    if schedule.computed is not None:
        document["computed"] = plain(float(schedule.computed[idx]))
    return document


def problem_fields() -> Fields:
    """Return what a schema says of a problem."""
    kind = whole(0, maximum=PROGRAM_KINDS - 1)
    program = {
        "anyOf": [kind, {"type": "null"}],
        "default": None,
        "description": "what it does: a kind of Linnert et al. 2024; null: not known",
    }
    job = {
        "name": text("of the job, each another one; `j0`, `j1`, ... if left out"),
        "arrival": whole(0, "when the job is announced, in seconds"),
        "nodes": whole(1, "how many nodes it books"),
        "runtime": whole(1, "for how many seconds"),
        "deadline": whole(0, "when it has to end, in seconds"),
        "program": program,
        "weight": real(0, "how much it counts in objectives", default=1),
    }
    return Fields(
        "A reservation problem: jobs with deadlines on a mesh or torus",
        {
            "topology": topology_field(),
            "shape": choice(
                RESERVATION_SHAPES,
                "what node sets may be booked; a `run` is consecutive on the Hilbert curve",
                default="any",
            ),
            "program_seed": whole(0, "from which random parts of the programs 0 to 3 are drawn", default=0),
            "leaking": flag(
                "whether jobs may also run without a booking, "
                "on nodes that they take and give back as they go"
            ),
            "jobs": listing(record(job, _TIMES), "in the order of arrival, each with these fields"),
        },
        ("topology", "jobs"),
        (
            *TOPOLOGY_BESIDES,
            "no axis of the topology is complete",
            "no job has more nodes than the topology",
            "jobs are in the order of arrival, and their names are distinct",
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
        "start": {
            **time,
            "description": "of a job that has all its nodes for the "
            "same time: when it takes them, in seconds",
        },
        "end": {**time, "description": "when it ends or is stopped, in seconds"},
        "nodes": listing(node, "the nodes that it has from start to end"),
        "computed": {
            **time,
            "description": "of an executed job: node-seconds in which one of its processes computed",
        },
        "holds": listing(
            cells({**node, "title": "node"}, {**time, "title": "start"}, {**time, "title": "end"}),
            "`[node, start, end]`, where these differ: then `end` is when the job ended or was stopped",
        ),
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


PROBLEM: Final = FileKind(problem_fields, _problem_of, _values_of)
ANSWER: Final = FileKind(schedule_fields, _schedule_of, _schedule_values)


def certificate_schema() -> Document:
    """Return the schema of the only kind of certificate."""
    fields = {
        "method": {"const": "prices", "description": "the only one"},
        "edges": edges(),
        "prices": prices("of a node in each slot"),
        "unit": unit(),
    }
    return certificate("", fields, "prices of node-seconds of reservations, slot by slot")
