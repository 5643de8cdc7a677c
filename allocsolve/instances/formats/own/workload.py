"""The kinds ``workload`` (a problem) and ``workload-schedule`` (its answer).

`workload_schema` states the fields, and docs/formats.md shows them. In the digest ``jobs`` are in the order
of the file; of each there are ``name``, ``submit``, ``nodes`` and ``runtime``, and the other fields only
where they differ from what they are when left out. Numbers are integers where they are integral, else the
shortest decimals that read back as the same doubles.
"""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidProblem
from allocsolve.families import Fields, FileKind
from allocsolve.instances.formats.files import show
from allocsolve.instances.formats.own.workload_machine import (
    REQUIREMENT_FIELDS,
    machine_values,
    requirement_columns,
    window_schema,
    windows_of,
)
from allocsolve.instances.formats.own.workload_places import (
    chunk_columns,
    placed,
    places_texts,
    type_values,
    types_of,
)
from allocsolve.instances.formats.schema import (
    amounts,
    cells,
    choice,
    flag,
    listing,
    maybe,
    real,
    record,
    reference,
    text,
    whole,
)
from allocsolve.model import (
    ALL_SIZES,
    JOB_KINDS,
    MALLEABLE,
    MAX_INTEGER,
    Amdahl,
    Jobs,
    Join,
    Overhead,
    Phases,
    PowerLaw,
    Profile,
    Requests,
    SpeedupTable,
    Stall,
    WorkloadProblem,
    WorkloadSchedule,
)
from allocsolve.model.columns import plain
from allocsolve.model.job_kinds import size_set
from allocsolve.model.jobs import COLUMNS, stated_range
from allocsolve.model.places import SHAPE_FIELDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from allocsolve.instances.formats.files import Checker, Document
    from allocsolve.model import Evolution, FloatArray, IntArray, Reconfiguration, Speedup

#: The words that `Stall` takes for what is held while a job changes its size.
_HOLDS: Final = ("new", "larger")


def problem_fields() -> Fields:
    """Return what a schema says of a problem."""
    job = reference("job")
    return Fields(
        "A workload: jobs that are submitted over time to a cluster",
        {
            "num_nodes": whole(1, "nodes of the cluster; if left out, those of `node_types`"),
            "node_types": listing(
                reference("node_type"),
                "if there are any, nodes are places, each with its own amounts, and all jobs are rigid; "
                "node ids are 0.. in the order of the types",
                default=[],
            ),
            "resources": amounts(
                whole(1), "counted resources beside the nodes: how much there is of each", default={}
            ),
            "closed": listing(
                window_schema(),
                'windows in which a part of the machine is closed, such as `{"start": 86400, "end": 115200, '
                '"nodes": 50, "gpus": 16}` or `{"start": 0, "end": 60, "node_ids": "0-3,9"}`; else all is',
                default=[],
            ),
            "jobs": listing(job, "each with these fields"),
        },
        ("jobs",),
        (
            "num_nodes is there unless node_types say it, and names of types and of nodes are distinct",
            "no job has more nodes than num_nodes, nor needs more of a resource than there is",
            "names of jobs are distinct",
            "a job with chunks, each, per_node, exclusive or types is rigid and has node_types to lie on",
            "no job has parts of chunks without chunks, or needs more than empty nodes have room for",
            "nodes and runtime are there unless speedup, phases or profile say them",
            "nodes and runtime agree with what speedup, phases or profile say",
            "min_nodes <= nodes <= max_nodes, all of them sizes of size_set",
            "a job has what belongs to its kind: a speedup if it is moldable or malleable",
            "an evolving job has one of requests, phases and profile, and no other has",
            "a job has stall or join if it can change its size, and needs only if it is rigid",
            "release_delay belongs to phases, expand_limit to profile",
            "tables of speedup and lists of requests are in order, and speedup laws in their ranges",
            "a closed window ends after its start and closes what there is",
            "sums of times, and of nodes times run times, are small enough to be counted",
        ),
        {"job": record(_job(), ("submit",)), "speedup": _speedup(), "node_type": _node_type()},
    )


def _node_type() -> Document:
    return record(
        {
            "name": text("of the type", minLength=1),
            "count": whole(1, "how many nodes there are of it"),
            "has": amounts(
                whole(0), "what there is on each node, by name; rules that look at processors look at `cpus`"
            ),
            "weight": whole(0, "nodes of the least weight are taken first", default=0),
            "names": listing(text(), "of its nodes, such as `n[001-360]`, for people", default=[]),
        },
        ("name", "count", "has"),
    )


def _chunks() -> dict[str, Document]:
    return {
        "chunks": maybe(
            whole(
                1,
                "of how many equal chunks it is made, each on one node; null: whole nodes, `nodes` of them",
                title="the number of chunks, of one kind only,",
            )
        ),
        "each": maybe(
            amounts(
                whole(0, title="an amount, of whole devices,"),
                "how much a chunk takes of what its node has, by name",
            )
        ),
        "per_node": maybe(whole(1, "the most chunks on a node; null: any number")),
        "exclusive": flag("whether it has its nodes for itself, all of each of them"),
        "types": maybe(listing(text(), "the types of nodes that it may use; null: any", minItems=1)),
    }


def _job() -> dict[str, Document]:
    return {
        "name": text("of the job, each another one; `j0`, `j1`, ... if left out"),
        "submit": real(0, "when the job enters the queue, in seconds"),
        "nodes": whole(
            1,
            "how many nodes it holds, or those to which "
            "`runtime` refers; those of the first step of `profile`; of a job of chunks, the fewest",
        ),
        "runtime": real(
            0,
            "seconds on `nodes` nodes; if left out, what `profile`, `phases` or the table of `speedup` say",
            above=True,
        ),
        "limit": maybe(
            real(0, "the run time that the user asked for, in seconds; null: not given", above=True)
        ),
        "user": maybe(text("who submitted it; null: not known")),
        "weight": real(0, "how much it counts in objectives", default=1),
        "min_nodes": whole(
            1,
            "the fewest nodes of a job that is not rigid; if "
            "left out, those of its profile or table, or `nodes`; of a job of chunks, the same as `nodes`",
        ),
        "max_nodes": whole(1, "the most nodes of a job that is not rigid, likewise"),
        "speedup": reference("speedup"),
        "kind": maybe(choice(JOB_KINDS, "follows from the other fields where it is left out")),
        "points": whole(
            0,
            "equal parts of its work between which a malleable job may change its nodes; 0: at any time",
            default=0,
        ),
        "size_set": {
            "anyOf": [whole(1), {"const": "powers-of-two"}],
            "default": 1,
            "description": "numbers of nodes that are allowed: multiples of an integer, or `powers-of-two`",
        },
        "requests": maybe(
            listing(
                cells(real(0, above=True, maximum=1, title="remaining"), whole(-MAX_INTEGER, title="change")),
                "an evolving job with a speedup asks for other "
                "numbers of nodes: `[remaining share of its work, change]`",
            )
        ),
        "phases": maybe(
            listing(
                cells(real(0, above=True, title="work"), {"anyOf": [whole(1), {"type": "null"}]}),
                "an evolving job asks for nodes as its phases can "
                "use them: `[node-seconds, most useful nodes or null]`",
            )
        ),
        "profile": maybe(
            listing(
                cells(whole(1, title="seconds"), whole(0, title="nodes")),
                "an evolving job has known steps: `[seconds, nodes]`",
            )
        ),
        "needs": maybe(
            amounts(whole(0), "of a rigid job: how much of each resource it holds while it runs, by name")
        ),
        "partition": maybe(text("of a rigid job: a resource of which it needs as much as it has nodes")),
        "eligible": maybe(
            real(0, "the job does not start before this instant, in seconds; waits count from `submit`")
        ),
        "boost": maybe(
            real(-MAX_INTEGER, "its head start: in the queue it counts as submitted so many seconds earlier")
        ),
        **_chunks(),
        "release_delay": maybe(real(0, "of `phases`: seconds after which an idle node is given back")),
        "expand_limit": maybe(
            real(1, "of a `profile`: how many times its seconds a step may hold its nodes; null: no limit")
        ),
        "stall": maybe(
            record(
                {
                    "fixed": real(0, "seconds of each change"),
                    "per_node": real(0, "seconds for each node that comes or goes"),
                    "shared": real(0, "seconds times nodes, divided by the sum of both numbers of nodes"),
                    "holds": choice(_HOLDS, "which number of nodes is held meanwhile", default="new"),
                },
                description="what a change costs a malleable job, or one with `requests`",
            )
        ),
        "join": maybe(
            record(
                {
                    "start": real(0, "seconds without progress at the start of the job"),
                    "grow": real(0, "seconds from the arrival of a node until it is useful"),
                    "shrink": real(0, "seconds for which a node is held when it is no longer useful"),
                },
                description="what changes cost a job with `phases`",
            )
        ),
    }


def _speedup() -> Document:
    share = real(0, maximum=1)
    laws = {
        "amdahl": {**share, "description": "the parallel share"},
        "power": {**share, "description": "the exponent"},
        "overhead": {**share, "description": "what each node more costs"},
        "table": listing(
            cells(whole(1, title="nodes"), real(0, above=True, title="seconds")), "nodes and seconds"
        ),
    }
    law = record(
        laws, description="of a job that is not rigid, one of these laws", minProperties=1, maxProperties=1
    )
    return maybe(law)


def _held() -> Document:
    return {"anyOf": [whole(0, title="nodes"), text(title="nodes")]}


def schedule_fields() -> Fields:
    """Return what a schema says of a schedule."""
    time = real(-MAX_INTEGER)
    job = {
        "name": text("of a job of the problem"),
        "pieces": listing(
            cells({**time, "title": "start"}, {**time, "title": "end"}, _held()),
            "`[start, end, nodes]`, in order of time; where nodes are places, `nodes` is a text such as "
            "`3-6,9*2`: a chunk on each of the nodes 3 to 6, two on node 9",
        ),
    }
    return Fields(
        "A solution of a workload",
        {"jobs": listing(record(job, tuple(job)), "in any order")},
        ("jobs",),
        ("problem is the digest of the problem", "each job of the problem stands there once, and no other"),
    )


T = TypeVar("T")

_READINGS: Final = ("requests", "phases", "profile")
_COSTS: Final = {"stall": ("fixed", "per_node", "shared"), "join": ("start", "grow", "shrink")}


def _evolution_of(check: Checker, fields: Document, place: str) -> Evolution | None:
    """Return how a job evolves, None if it does not."""
    given = [name for name in _READINGS if fields.get(name) is not None]
    for name, reading in (("release_delay", "phases"), ("expand_limit", "profile")):
        if fields.get(name) is not None and reading not in given:
            check.add(f"{place}.{name}", f"belongs to {reading}, which the job does not have")
    if len(given) > 1:
        check.add(place, f"has {' and '.join(given)}: a job evolves in one way")
    if len(given) != 1:
        return None
    (name,) = given
    delay, limit = fields.get("release_delay"), fields.get("expand_limit")
    rows = [tuple(row) for row in fields[name]]
    makers: dict[str, Callable[[], Evolution]] = {
        "requests": lambda: Requests(rows),
        "phases": lambda: Phases(rows, 0.0 if delay is None else delay),
        "profile": lambda: Profile(rows, math.inf if limit is None else limit),
    }
    return _made(check, f"{place}.{name}", makers[name])


def _made(check: Checker, place: str, make: Callable[[], T]) -> T | None:
    """Return what is made; None, with the fault noted at the place, if it contradicts itself."""
    try:
        return make()
    except InvalidProblem as error:
        check.add(place, str(error))
        return None


def _reconfiguration_of(check: Checker, fields: Document, place: str) -> Reconfiguration | None:
    """Return what changes of its size cost a job, None if they cost nothing."""
    stall, join = fields.get("stall"), fields.get("join")
    if stall is not None and join is not None:
        check.add(place, "has stall and join: a job has one kind of cost")
        return None
    if stall is not None:
        return Stall(**stall)
    return None if join is None else Join(**join)


def add_evolving(jobs: Jobs, rows: list[Document]) -> None:
    """Add the fields of evolving jobs and of costs to the rows of jobs."""
    for idx, evolution in enumerate(jobs.evolutions):
        if evolution is not None:
            limits = {name: int(getattr(jobs.packed, name)[idx]) for name in ("min_nodes", "max_nodes")}
            rows[idx] |= {**limits, "kind": "evolving", **_encode_evolution(evolution)}
    for idx, cost in enumerate(jobs.reconfigurations):
        if cost is not None:
            rows[idx] |= _encode_reconfiguration(cost)


def _encode_evolution(evolution: Evolution) -> Document:
    if isinstance(evolution, Requests):
        return {"requests": [[plain(remaining), change] for remaining, change in evolution.events]}
    if isinstance(evolution, Phases):
        fields: Document = {"phases": [[plain(work), max_size] for work, max_size in evolution.phases]}
        return (
            {**fields, "release_delay": plain(evolution.release_delay)} if evolution.release_delay else fields
        )
    fields = {"profile": [[*step] for step in evolution.steps]}
    if evolution.expand_limit < math.inf:
        fields["expand_limit"] = plain(evolution.expand_limit)
    return fields


def _encode_reconfiguration(cost: Reconfiguration) -> Document:
    name = "stall" if isinstance(cost, Stall) else "join"
    fields: Document = {key: plain(getattr(cost, key)) for key in _COSTS[name] if getattr(cost, key)}
    if isinstance(cost, Stall) and cost.holds != "new":
        fields["holds"] = cost.holds
    return {name: fields}


_OF_A_SHARE: Final[dict[str, type[Amdahl | PowerLaw | Overhead]]] = {
    "amdahl": Amdahl,
    "power": PowerLaw,
    "overhead": Overhead,
}


def _speedup_of(check: Checker, fields: Document | None, place: str) -> Speedup | None:
    """Return the law of a job, None for none."""
    if fields is None:
        return None
    ((law, parameter),) = fields.items()
    if law == "table":
        return _made(check, f"{place}.table", lambda: SpeedupTable([tuple(row) for row in parameter]))
    return _made(check, f"{place}.{law}", lambda: _OF_A_SHARE[law](parameter))


def encode_speedup(law: Speedup) -> Document:
    """Return the field of a law."""
    if isinstance(law, Amdahl):
        return {"amdahl": plain(law.parallel)}
    if isinstance(law, PowerLaw):
        return {"power": plain(law.exponent)}
    if isinstance(law, Overhead):
        return {"overhead": plain(law.overhead)}
    return {"table": [[nodes, plain(seconds)] for nodes, seconds in law.rows]}


_REQUIRED: Final = ("submit", "nodes", "runtime")
#: Of these the columns are read at a glance.
_RIGID: Final = {*_REQUIRED, "name", "limit", "user", "weight", *REQUIREMENT_FIELDS, *SHAPE_FIELDS}
#: The types of their numbers.
_NUMBERS: Final[dict[str, set[type]]] = {
    "submit": {int, float},
    "nodes": {int},
    "runtime": {int, float},
    "limit": {int, float, type(None)},
    "weight": {int, float},
}


def _problem_of(
    check: Checker,
    jobs: list[Document] | Jobs,
    closed: list[Document],
    node_types: list[Document],
    num_nodes: int | None = None,
    **more: Any,  # noqa: ANN401 - fields that the model takes as they are
) -> WorkloadProblem | None:
    """Return the problem; None, with the faults noted, if fields contradict each other."""
    types = types_of(check, node_types)
    there = sum(fields["count"] for fields in node_types) if num_nodes is None else num_nodes
    if not there:
        check.add("num_nodes", "missing")
    listed = jobs if isinstance(jobs, Jobs) or not there else _jobs_of(check, jobs, there)
    windows = windows_of(check, closed, there)
    if check.faults or not isinstance(listed, Jobs):
        return None
    return WorkloadProblem(there, listed, closed=windows, node_types=types, **more)


def _faultless_jobs(listed: Any) -> Jobs | None:  # noqa: ANN401 - JSON
    """Return rigid jobs without a fault by columns; None if each has to be looked at."""
    if type(listed) is not list or {*map(type, listed)} - {dict} or (names := set().union(*listed)) - _RIGID:
        return None
    columns: dict[str, list[Any]] = {field: [job.get(field) for job in listed] for field in _REQUIRED}
    if "limit" in names:
        columns["limit"] = [job.get("limit") for job in listed]
    if "weight" in names:
        columns["weight"] = [job.get("weight", 1) for job in listed]
    for field, column in columns.items():
        if {*map(type, column)} - _NUMBERS[field]:
            return None
    if "limit" in names and None in columns["limit"]:
        columns["limit"] = [np.nan if limit is None else limit for limit in columns["limit"]]
    if "user" in names:
        columns["users"] = [job.get("user") for job in listed]
    if "name" in names:
        columns["names"] = [job.get("name") for job in listed]
        if None in columns["names"]:
            columns["names"] = [job.get("name", f"j{idx}") for idx, job in enumerate(listed)]
    asked = requirement_columns(listed) if names & {*REQUIREMENT_FIELDS} else {}
    held = chunk_columns(listed) if names & {*SHAPE_FIELDS} else {}
    if asked is None or held is None:
        return None
    try:
        jobs = Jobs(**columns, **asked, **held)
    except (InvalidProblem, OverflowError):
        return None
    packed, more = jobs.packed, jobs.requirements
    doubles = (packed.submit, packed.runtime, packed.weight, packed.nodes, jobs.limit, more.eligible)
    # The nearest double to an integer beyond 2^53 may be 2^53, which is none.
    are_exact = not any((column >= MAX_INTEGER).any() for column in (*doubles, np.abs(more.boost)))
    return jobs if are_exact else None


def _jobs_of(check: Checker, listed: list[Document], num_nodes: int) -> Jobs | None:
    """Return the jobs, each looked at; None if there is a fault."""
    rows: list[Document] = []
    first: dict[str, int] = {}
    for idx, fields in enumerate(listed):
        place = f"jobs[{idx}]"
        name = fields.get("name", f"j{idx}")
        if first.setdefault(name, idx) != idx:
            check.add(f"{place}.name", f"{show(name)} also names jobs[{first[name]}]")
        rows.append({"name": name, **_job_of(check, fields, place, num_nodes)})
    if check.faults:
        return None
    if not rows:
        return Jobs([], [], [])
    columns = {COLUMNS.get(field, field): [row[field] for row in rows] for field in rows[0]}
    return _made(check, "jobs", lambda: Jobs(**columns))


def _job_of(check: Checker, fields: Document, place: str, num_nodes: int) -> Document:
    """Return the fields of a job as `Jobs` takes them."""
    speedup = _speedup_of(check, fields.get("speedup"), f"{place}.speedup")
    evolution = _evolution_of(check, fields, place)
    cost = _reconfiguration_of(check, fields, place)
    stated, where = evolution or speedup, f"{place}.{'profile' if evolution else 'speedup.table'}"
    if fields["chunks"] is not None:
        fields = {"nodes": fields.get("min_nodes", 1), **fields}
        if "max_nodes" in fields:
            check.add(f"{place}.max_nodes", "a job of chunks lies on up to as many nodes as it has chunks")
    nodes, runtime = _reference(check, fields, place, stated, cost)
    low, high = stated_range(nodes, stated)
    if high > num_nodes and "max_nodes" not in fields and fields.get("nodes", 1) <= num_nodes:
        check.add(where, f"{high} nodes are above num_nodes {num_nodes}")
    for name in ("nodes", "min_nodes", "max_nodes"):
        if fields.get(name, 1) > num_nodes:
            check.add(f"{place}.{name}", f"{name} {fields[name]} is above num_nodes {num_nodes}")
    limit, boost = fields["limit"], fields["boost"]
    plain = ("submit", "user", "weight", "kind", "points", "size_set", "needs", "partition", "eligible")
    return {
        **{name: fields[name] for name in (*plain, *SHAPE_FIELDS)},
        "nodes": nodes,
        "runtime": runtime,
        "limit": np.nan if limit is None else limit,
        "boost": 0.0 if boost is None else boost,
        "min_nodes": fields.get("min_nodes", low),
        "max_nodes": fields.get("max_nodes", high),
        "speedup": speedup,
        "evolution": evolution,
        "reconfiguration": cost,
    }


def _reference(
    check: Checker,
    fields: Document,
    place: str,
    stated: Evolution | Speedup | None,
    cost: Reconfiguration | None,
) -> tuple[int, float]:
    """Return the nodes and the run time of a job; left out, those that its profile, phases or table say."""
    nodes, runtime = fields.get("nodes"), fields.get("runtime")
    if nodes is None and isinstance(stated, Profile):
        nodes = max(1, stated.steps[0][1])
    if runtime is not None:
        pass
    elif isinstance(stated, Profile):
        runtime = sum(seconds for seconds, _ in stated.steps)
    elif isinstance(stated, Phases) and nodes is not None:
        runtime = stated.run_time(nodes) + (cost.start if isinstance(cost, Join) else 0)
    elif isinstance(stated, SpeedupTable) and nodes is not None:
        runtime = dict(stated.rows).get(nodes)
        if runtime is None:
            check.add(f"{place}.nodes", f"the speedup table has no row of {nodes} nodes")
            runtime = 1
    # A profile, phases or a table that are faulty say nothing: their fault is named.
    says = {"nodes": ("profile",), "runtime": ("profile", "phases", "speedup")}
    for field, value in (("nodes", nodes), ("runtime", runtime)):
        if value is None and (stated is not None or all(fields.get(name) is None for name in says[field])):
            check.add(f"{place}.{field}", "missing")
    return nodes or 1, runtime or 1


def plain_numbers(values: FloatArray) -> list[float]:
    """Return numbers as JSON is to show them: integers where they are whole."""
    if bool((values == np.floor(values)).all()):
        whole: list[float] = values.astype(np.int64).tolist()
        return whole
    return [*map(plain, values.tolist())]


def _values_of(problem: WorkloadProblem) -> Document:
    packed, jobs = problem.jobs.packed, problem.jobs
    rows: list[Document] = [
        {"name": name, "submit": submit, "nodes": nodes, "runtime": runtime}
        for name, submit, nodes, runtime in zip(
            jobs.names,
            plain_numbers(packed.submit),
            packed.nodes.tolist(),
            plain_numbers(packed.runtime),
            strict=True,
        )
    ]
    for idx in np.flatnonzero(~np.isnan(jobs.limit)).tolist():
        rows[idx]["limit"] = plain(jobs.limit[idx])
    for idx, user in enumerate(jobs.users):
        if user is not None:
            rows[idx]["user"] = user
    for idx in np.flatnonzero(packed.weight != 1).tolist():
        rows[idx]["weight"] = plain(packed.weight[idx])
    for idx, law in enumerate(jobs.speedups):
        if law is not None:
            rows[idx]["min_nodes"] = int(packed.min_nodes[idx])
            rows[idx]["max_nodes"] = int(packed.max_nodes[idx])
            rows[idx]["speedup"] = encode_speedup(law)
    for idx in np.flatnonzero(packed.kind == MALLEABLE).tolist():
        rows[idx]["kind"] = "malleable"
        if packed.points[idx]:
            rows[idx]["points"] = int(packed.points[idx])
    for idx in np.flatnonzero(packed.size_step != ALL_SIZES).tolist():
        rows[idx]["size_set"] = size_set(packed.size_step[idx])
    add_evolving(jobs, rows)
    for row, shape in zip(rows, jobs.shapes, strict=False):
        row.update(shape.fields())
    return {
        "name": problem.name,
        "num_nodes": problem.num_nodes,
        **type_values(problem),
        **machine_values(problem, rows),
        "jobs": rows,
        "meta": dict(problem.meta),
    }


def _schedule_of(check: Checker, problem: WorkloadProblem, jobs: list[Document]) -> WorkloadSchedule | None:
    """Return the schedule; None, with the faults noted, if it has other jobs than the problem.

    Jobs are matched by name. Whether the schedule keeps the rules is for the judge to say: any numbers in
    -2^53..2^53 are read as times, any integers of 0..2^53 as nodes.
    """
    index = {name: idx for idx, name in enumerate(problem.jobs.names)}
    pieces: list[list[list[Any]] | None] = [None] * len(index)
    for at, job in enumerate(jobs):
        place, name = f"jobs[{at}]", job["name"]
        if name not in index:
            check.add(f"{place}.name", f"the problem has no job {show(name)}")
        elif pieces[index[name]] is not None:
            check.add(f"{place}.name", f"{show(name)} stands twice")
        else:
            pieces[index[name]] = job["pieces"]
    for name, idx in index.items():
        if pieces[idx] is None:
            check.add("jobs", f"{show(name)} is missing")
    return None if check.faults else _schedule_of_pieces(check, problem, [listed or [] for listed in pieces])


def _schedule_of_pieces(
    check: Checker, problem: WorkloadProblem, pieces: Sequence[Sequence[Sequence[Any]]]
) -> WorkloadSchedule | None:
    offsets: IntArray = np.zeros(len(pieces) + 1, dtype=np.int64)
    np.cumsum([len(mine) for mine in pieces], out=offsets[1:])
    rows = [*chain.from_iterable(pieces)]
    starts, ends, nodes = zip(*rows, strict=True) if rows else ((), (), ())
    where: dict[str, IntArray] = {}
    if str in {*map(type, nodes)}:
        names = np.repeat(np.array([*problem.jobs.names], dtype=object), np.diff(offsets)).tolist()
        said = [(f"job {show(name)}", size) for name, size in zip(names, nodes, strict=True)]
        counts, where = placed(check, problem, said)
        nodes = tuple(counts)
        if check.faults:
            return None
    return WorkloadSchedule(
        offsets,
        np.array(starts, dtype=np.float64),
        np.array(ends, dtype=np.float64),
        np.array(nodes, dtype=np.int64),
        **where,
    )


def _sound_jobs(items: Any, _problem: WorkloadProblem) -> list[Document] | None:  # noqa: ANN401 - JSON
    """Return the jobs if it is certain at a glance that each has a name and a list of pieces."""
    if type(items) is not list or set(map(type, items)) - {dict}:
        return None
    if any(item.keys() != {"name", "pieces"} for item in items):
        return None
    lists = [item["pieces"] for item in items]
    if set(map(type, lists)) - {list} or {type(item["name"]) for item in items} - {str}:
        return None
    rows = [*chain.from_iterable(lists)]
    if set(map(type, rows)) - {list} or set(map(len, rows)) - {3}:
        return None
    starts, ends, nodes = zip(*rows, strict=True) if rows else ((), (), ())
    if set(map(type, starts + ends)) - {int, float} or set(map(type, nodes)) - {int, str}:
        return None
    are_in_range = all(-MAX_INTEGER <= time <= MAX_INTEGER for time in starts + ends) and all(
        type(size) is str or 0 <= size <= MAX_INTEGER for size in nodes
    )
    return list(items) if are_in_range else None


def schedule_values(problem: WorkloadProblem, schedule: WorkloadSchedule) -> Document:
    """Return the jobs of a schedule without the envelope."""
    if len(schedule.offsets) != len(problem.jobs) + 1:
        raise InvalidAnswer(f"{len(schedule.offsets) - 1} scheduled jobs for {len(problem.jobs)} submitted")
    starts, ends = plain_numbers(schedule.starts), plain_numbers(schedule.ends)
    nodes: list[Any] = schedule.nodes.tolist()
    if schedule.place_nodes is not None:
        nodes = [where or count for where, count in zip(places_texts(schedule), nodes, strict=True)]
    rows = [[*row] for row in zip(starts, ends, nodes, strict=True)]
    bounds = schedule.offsets.tolist()
    return {
        "jobs": [
            {"name": name, "pieces": rows[begin:end]}
            for name, begin, end in zip(problem.jobs.names, bounds[:-1], bounds[1:], strict=True)
        ]
    }


PROBLEM: Final = FileKind(problem_fields, _problem_of, _values_of, {"jobs": _faultless_jobs})
ANSWER: Final = FileKind(schedule_fields, _schedule_of, schedule_values, {"jobs": _sound_jobs})
