"""The fields of the kinds ``workload`` (a problem) and ``workload-schedule`` (its answer).

Times are in seconds, integers or not; the pieces of an answer are ``[start, end, nodes]``, the jobs of an
answer may be in any order::

    {"format": "allocsolve/1", "kind": "workload", "name": "...", "num_nodes": 64,
     "jobs": [{"name": "j0", "submit": 0, "nodes": 4, "runtime": 600, "limit": 900}, ...], "meta": {...}}
    {"format": "allocsolve/1", "kind": "workload-schedule", "problem": "<digest>",
     "jobs": [{"name": "j0", "pieces": [[100, 700, 4]]}, ...], "meta": {...}}

A job has ``submit``, ``nodes`` and ``runtime``, of which the last two may be left out where a profile says
both, or a table or phases say the run time. It may have ``name`` (``j0``, ``j1``, ... by position),
``limit`` (null or left out: not given), ``user``, ``weight`` (1). A moldable job has ``speedup`` besides, and
may have ``min_nodes`` and ``max_nodes`` (those of its table or profile, else ``nodes``). Laws of speedup are
``{"amdahl": 0.99}``, ``{"power": 0.9}``, ``{"table": [[nodes, seconds], ...]}`` and ``{"overhead": 0.01}``;
``runtime`` is that on ``nodes`` nodes, and a table has that row.
A malleable job has ``"kind": "malleable"`` (else ``moldable`` with a speedup, ``rigid`` without) and may have
``points`` (0: its size may change at any time). Either may have ``size_set``: an integer of which sizes are
multiples (1), or ``"powers-of-two"``. An evolving job (``"kind": "evolving"``, which may be left out) has one
of ``requests``: ``[[remaining share, change], ...]`` (and a speedup), ``phases``:
``[[node-seconds, most useful nodes or null], ...]`` (and may have ``release_delay``), and ``profile``:
``[[seconds, nodes], ...]`` (and may have ``expand_limit``). What changes cost is
``"stall": {"fixed", "per_node", "shared", "holds"}`` or ``"join": {"start", "grow", "shrink"}``.
`allocsolve.instances.formats.workload_machine` has the fields of machines with more than nodes.

In the digest ``jobs`` are in the order of the file; of each there are ``name``, ``submit``, ``nodes`` and
``runtime``, and the other fields only where they differ from what they are when left out. Numbers are
integers where they are integral, else the shortest decimals that read back as the same doubles.

`allocsolve.instances.formats.envelope` reads the text, checks the envelope and calls these functions.
"""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import FormatError, InvalidAnswer, InvalidProblem, UnknownName
from allocsolve.instances.formats.files import Checker, show
from allocsolve.instances.formats.workload_machine import (
    MACHINE_FIELDS,
    REQUIREMENT_FIELDS,
    decode_machine,
    decode_requirements,
    encode_machine,
    requirement_columns,
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
from allocsolve.model.job_kinds import size_set
from allocsolve.model.jobs import stated_range

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from allocsolve.instances.formats.files import Document
    from allocsolve.model import Evolution, FloatArray, IntArray, Reconfiguration, SizeSet, Speedup

_READINGS: Final = ("requests", "phases", "profile")
_COSTS: Final = {"stall": ("fixed", "per_node", "shared"), "join": ("start", "grow", "shrink")}

#: The fields of a job that are read here.
EVOLVING_FIELDS: Final = (*_READINGS, "release_delay", "expand_limit", *_COSTS)


def decode_evolution(check: Checker, fields: Document, place: str) -> Evolution | None:
    """Return how a job evolves, None if it does not."""
    given = [name for name in _READINGS if fields.get(name) is not None]
    for name, reading in (("release_delay", "phases"), ("expand_limit", "profile")):
        if fields.get(name) is not None and reading not in given:
            check.add(f"{place}.{name}", f"belongs to {reading}, which the job does not have")
    if len(given) > 1:
        check.add(place, f"has {' and '.join(given)}: a job evolves in one way")
    delay, limit = (
        otherwise
        if fields.get(name) is None
        else check.real_number(fields[name], f"{place}.{name}", name, low)
        for name, low, otherwise in (("release_delay", 0, 0.0), ("expand_limit", 1, math.inf))
    )
    pairs = {
        name: [
            _pair(check, row, f"{place}.{name}[{idx}]", *_PAIRS[name])
            for idx, row in enumerate(check.typed(list, fields[name], f"{place}.{name}"))
        ]
        for name in given
    }
    if len(given) != 1:
        return None
    ((name, rows),) = pairs.items()
    makers: dict[str, Callable[[], Evolution]] = {
        "requests": lambda: Requests(rows),
        "phases": lambda: Phases(rows, delay),
        "profile": lambda: Profile(rows, limit),
    }
    return _made(check, f"{place}.{name}", makers[name])


def _made(check: Checker, place: str, make: Callable[[], Evolution]) -> Evolution | None:
    if check.faults:
        return None
    try:
        return make()
    except InvalidProblem as error:
        check.add(place, str(error))
        return None


def _pair(
    check: Checker,
    row: object,
    place: str,
    first: Callable[[Checker, Any, str], Any],
    second: Callable[[Checker, Any, str], Any],
) -> tuple[Any, Any]:
    if not isinstance(row, list) or len(row) != 2:
        check.add_shape(place, f"must be a pair, not {show(row)}")
        return 1, 1
    return first(check, row[0], f"{place}[0]"), second(check, row[1], f"{place}[1]")


def _share(check: Checker, value: object, place: str) -> float:
    return check.real_number(value, place, "remaining", 0, above=True, high=1)


def _change(check: Checker, value: object, place: str) -> int:
    return check.integer(value, place, "change", -MAX_INTEGER)


def _work(check: Checker, value: object, place: str) -> float:
    return check.real_number(value, place, "work", 0, above=True)


def _most_useful(check: Checker, value: object, place: str) -> int | None:
    return None if value is None else _count(check, value, place)


def _count(check: Checker, value: object, place: str) -> int:
    return check.integer(value, place, "value", 1)


def _natural(check: Checker, value: object, place: str) -> int:
    return check.integer(value, place, "nodes", 0)


#: What the two numbers of a row of each reading are.
_PAIRS: Final = {
    "requests": (_share, _change),
    "phases": (_work, _most_useful),
    "profile": (_count, _natural),
}


def decode_reconfiguration(check: Checker, fields: Document, place: str) -> Reconfiguration | None:
    """Return what changes of its size cost a job, None if they cost nothing."""
    given = [name for name in _COSTS if fields.get(name) is not None]
    if len(given) > 1:
        check.add(place, "has stall and join: a job has one kind of cost")
    read = [_cost(check, name, fields[name], f"{place}.{name}") for name in given]
    return read[0] if len(read) == 1 else None


def _cost(check: Checker, name: str, value: object, place: str) -> Reconfiguration | None:
    costs = check.fields(value, place, (), (*_COSTS[name], *(("holds",) if name == "stall" else ())))
    holds = costs.pop("holds", "new")
    seconds = {key: check.real_number(value, f"{place}.{key}", key, 0) for key, value in costs.items()}
    if name == "join":
        return Join(**seconds)
    try:
        return Stall(**seconds, holds=holds)
    except UnknownName as error:
        check.add_shape(f"{place}.holds", str(error))
        return None


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
        return {"requests": [[_plain(remaining), change] for remaining, change in evolution.events]}
    if isinstance(evolution, Phases):
        fields: Document = {"phases": [[_plain(work), max_size] for work, max_size in evolution.phases]}
        return (
            {**fields, "release_delay": _plain(evolution.release_delay)}
            if evolution.release_delay
            else fields
        )
    fields = {"profile": [[*step] for step in evolution.steps]}
    if evolution.expand_limit < math.inf:
        fields["expand_limit"] = _plain(evolution.expand_limit)
    return fields


def _encode_reconfiguration(cost: Reconfiguration) -> Document:
    name = "stall" if isinstance(cost, Stall) else "join"
    fields: Document = {key: _plain(getattr(cost, key)) for key in _COSTS[name] if getattr(cost, key)}
    if isinstance(cost, Stall) and cost.holds != "new":
        fields["holds"] = cost.holds
    return {name: fields}


_OF_A_SHARE: Final[dict[str, type[Amdahl | PowerLaw | Overhead]]] = {
    "amdahl": Amdahl,
    "power": PowerLaw,
    "overhead": Overhead,
}


def decode_speedup(check: Checker, value: object, place: str) -> Speedup | None:
    """Return the law of a job, None for none."""
    if value is None:
        return None
    fields = check.fields(value, place, (), ("amdahl", "power", "table", "overhead"))
    if len(fields) != 1:
        check.add_shape(place, "must have one of amdahl, power, table and overhead")
        return None
    ((law, parameter),) = fields.items()
    if law == "table":
        return _decode_table(check, parameter, f"{place}.table")
    share = check.real_number(parameter, f"{place}.{law}", law, 0, high=1)
    try:
        return _OF_A_SHARE[law](share)
    except InvalidProblem as error:
        check.add(f"{place}.{law}", str(error))
        return None


def _decode_table(check: Checker, value: object, place: str) -> SpeedupTable | None:
    rows = []
    for idx, row in enumerate(check.typed(list, value, place)):
        if not isinstance(row, list) or len(row) != 2:
            check.add_shape(f"{place}[{idx}]", f"must be a pair [nodes, seconds], not {show(row)}")
            continue
        nodes = check.integer(row[0], f"{place}[{idx}][0]", "nodes", 1)
        rows.append((nodes, check.real_number(row[1], f"{place}[{idx}][1]", "seconds", 0, above=True)))
    try:
        return SpeedupTable(rows)
    except InvalidProblem as error:
        check.add(place, str(error))
        return None


def encode_speedup(law: Speedup) -> Document:
    """Return the field of a law."""
    if isinstance(law, Amdahl):
        return {"amdahl": _plain(law.parallel)}
    if isinstance(law, PowerLaw):
        return {"power": _plain(law.exponent)}
    if isinstance(law, Overhead):
        return {"overhead": _plain(law.overhead)}
    return {"table": [[nodes, _plain(seconds)] for nodes, seconds in law.rows]}


_REQUIRED: Final = ("submit", "nodes", "runtime")
_OPTIONAL: Final = (
    "name",
    "limit",
    "user",
    "weight",
    "min_nodes",
    "max_nodes",
    "speedup",
    "kind",
    "points",
    "size_set",
)
#: What is no number, text or law of its own.
_DECODED: Final = ("evolution", "reconfiguration")
#: Of these the columns are read at a glance.
_RIGID: Final = {*_REQUIRED, "name", "limit", "user", "weight", *REQUIREMENT_FIELDS}
#: The types of their numbers.
_NUMBERS: Final[dict[str, set[type]]] = {
    "submit": {int, float},
    "nodes": {int},
    "runtime": {int, float},
    "limit": {int, float, type(None)},
    "weight": {int, float},
}


def decode_problem(document: Document, source: str) -> WorkloadProblem:
    """Return the problem of a document; a FormatError for the file `source` names every fault."""
    check = Checker()
    top = check.fields(
        document, "", ("format", "kind", "num_nodes", "jobs"), ("name", "meta", *MACHINE_FIELDS)
    )
    num_nodes = top.get("num_nodes", MAX_INTEGER)
    num_nodes = check.integer(num_nodes, "num_nodes", "value", 1, fallback=MAX_INTEGER)
    listed = check.typed(list, top.get("jobs", []), "jobs")
    jobs = _faultless_jobs(listed)
    if jobs is None:
        jobs = _decode_jobs(check, listed, num_nodes)
    name = check.typed(str, top.get("name", ""), "name")
    meta = check.typed(dict, top.get("meta", {}), "meta")
    machine = decode_machine(check, top)
    check.finish(source)
    try:
        return WorkloadProblem(num_nodes, jobs or (), name, meta, **machine)
    except InvalidProblem as error:
        raise FormatError(source, [str(error)]) from error


def _faultless_jobs(listed: list[Any]) -> Jobs | None:
    """Return rigid jobs without a fault by columns; None if each has to be looked at."""
    if {*map(type, listed)} - {dict} or (names := set().union(*listed)) - _RIGID:
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
    if asked is None:
        return None
    try:
        jobs = Jobs(**columns, **asked)
    except (InvalidProblem, OverflowError):
        return None
    packed, more = jobs.packed, jobs.requirements
    doubles = (packed.submit, packed.runtime, packed.weight, packed.nodes, jobs.limit, more.eligible)
    # The nearest double to an integer beyond 2^53 may be 2^53, which is none.
    are_exact = not any((column >= MAX_INTEGER).any() for column in (*doubles, np.abs(more.boost)))
    return jobs if are_exact else None


def _decode_jobs(check: Checker, listed: list[Any], num_nodes: int) -> Jobs | None:
    """Return the jobs, each looked at; None if there is a fault."""
    rows: list[Document] = []
    first: dict[str, int] = {}
    for idx, item in enumerate(listed):
        place = f"jobs[{idx}]"
        fields = check.fields(
            item, place, ("submit",), (*_REQUIRED, *_OPTIONAL, *EVOLVING_FIELDS, *REQUIREMENT_FIELDS)
        )
        name = check.typed(str, fields.get("name", f"j{idx}"), f"{place}.name")
        if name and first.setdefault(name, idx) != idx:
            check.add(f"{place}.name", f"{show(name)} also names jobs[{first[name]}]")
        rows.append({"name": name, **_decode_job(check, fields, place, num_nodes)})
    if check.faults:
        return None
    columns = (
        {field: [row[field] for row in rows] for field in (*_REQUIRED, *_OPTIONAL, *_DECODED)} if rows else {}
    )
    columns |= {field: [row[field] for row in rows] for field in REQUIREMENT_FIELDS} if rows else {}
    named = {
        "partition": "partitions",
        "name": "names",
        "user": "users",
        "speedup": "speedups",
        "kind": "kinds",
        "size_set": "size_sets",
        "evolution": "evolutions",
        "reconfiguration": "reconfigurations",
    }
    try:
        if not rows:
            return Jobs([], [], [])
        return Jobs(**{named.get(field, field): column for field, column in columns.items()})
    except InvalidProblem as error:
        check.add("jobs", str(error))
        return None


def _decode_job(check: Checker, fields: Document, place: str, num_nodes: int) -> Document:
    speedup = decode_speedup(check, fields.get("speedup"), f"{place}.speedup")
    evolution = decode_evolution(check, fields, place)
    cost = decode_reconfiguration(check, fields, place)
    stated, where = evolution or speedup, f"{place}.{'profile' if evolution else 'speedup.table'}"
    nodes, runtime = _reference(check, fields, place, stated, cost, num_nodes)
    low, high = stated_range(nodes, stated)
    if high > num_nodes and "max_nodes" not in fields:
        check.add(where, f"{high} nodes are above num_nodes {num_nodes}")

    def nodes_of(field: str, default: int) -> int:
        if field not in fields:
            return default
        return check.integer(fields[field], f"{place}.{field}", field, 1, high=num_nodes)

    limit, user = fields.get("limit"), fields.get("user")
    return {
        "submit": check.real_number(fields.get("submit", 0), f"{place}.submit", "submit", 0),
        "nodes": nodes,
        "runtime": runtime,
        "limit": np.nan
        if limit is None
        else check.real_number(limit, f"{place}.limit", "limit", 0, above=True),
        "user": None if user is None else check.typed(str, user, f"{place}.user"),
        "weight": check.real_number(fields.get("weight", 1), f"{place}.weight", "weight", 0),
        "min_nodes": nodes_of("min_nodes", low),
        "max_nodes": nodes_of("max_nodes", high),
        "speedup": speedup,
        "kind": _decode_kind(check, fields.get("kind"), f"{place}.kind"),
        "points": check.integer(fields.get("points", 0), f"{place}.points", "points", 0),
        "size_set": _decode_size_set(check, fields.get("size_set", 1), f"{place}.size_set"),
        "evolution": evolution,
        "reconfiguration": cost,
        **decode_requirements(check, fields, place),
    }


def _reference(
    check: Checker,
    fields: Document,
    place: str,
    stated: Evolution | Speedup | None,
    cost: Reconfiguration | None,
    num_nodes: int,
) -> tuple[int, float]:
    """Return the nodes and the run time of a job; left out, those that its profile, phases or table say."""
    nodes, runtime = fields.get("nodes"), fields.get("runtime")
    if "nodes" in fields:
        nodes = check.integer(nodes, f"{place}.nodes", "nodes", 1, high=num_nodes)
    elif isinstance(stated, Profile):
        nodes = max(1, stated.steps[0][1])
    if "runtime" in fields:
        runtime = check.real_number(runtime, f"{place}.runtime", "runtime", 0, above=True)
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
    said = {"nodes": ("profile",), "runtime": ("profile", "phases", "speedup")}
    for field, value in (("nodes", nodes), ("runtime", runtime)):
        if value is None and (stated is not None or all(fields.get(name) is None for name in said[field])):
            check.add(f"{place}.{field}", "missing")
    return nodes or 1, runtime or 1


def _decode_kind(check: Checker, value: object, place: str) -> object:
    if value is not None and value not in JOB_KINDS:
        check.add_shape(place, f"must be one of {', '.join(JOB_KINDS)}, not {show(value)}")
        return None
    return value


def _decode_size_set(check: Checker, value: object, place: str) -> SizeSet:
    if value == "powers-of-two":
        return "powers-of-two"
    if isinstance(value, str):
        check.add_shape(place, f'must be an integer or "powers-of-two", not {show(value)}')
        return 1
    return check.integer(value, place, "size_set", 1, fallback=1)


def plain_numbers(values: FloatArray) -> list[float]:
    """Return numbers as JSON is to show them: integers where they are whole."""
    if bool((values == np.floor(values)).all()):
        whole: list[float] = values.astype(np.int64).tolist()
        return whole
    return [*map(_plain, values.tolist())]


def encode_problem(problem: WorkloadProblem) -> Document:
    """Return the fields of a problem without the envelope, in the order in which they are written."""
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
        rows[idx]["limit"] = _plain(jobs.limit[idx])
    for idx, user in enumerate(jobs.users):
        if user is not None:
            rows[idx]["user"] = user
    for idx in np.flatnonzero(packed.weight != 1).tolist():
        rows[idx]["weight"] = _plain(packed.weight[idx])
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
    return {
        "name": problem.name,
        "num_nodes": problem.num_nodes,
        **encode_machine(problem, rows),
        "jobs": rows,
        "meta": dict(problem.meta),
    }


def _plain(value: float) -> float:
    return int(value) if float(value).is_integer() else float(value)


def decode_schedule(document: Document, source: str, problem: WorkloadProblem) -> WorkloadSchedule:
    """Return the schedule of a document; a FormatError for the file `source` names every fault.

    Jobs are matched by name. Whether the schedule keeps the rules is for the judge to say: any numbers in
    -2^53..2^53 are read as times, any integers of 0..2^53 as nodes.
    """
    check = Checker()
    top = check.fields(document, "", ("format", "kind", "jobs"), ("problem", "meta"))
    check.typed(dict, top.get("meta", {}), "meta")
    index = {name: idx for idx, name in enumerate(problem.jobs.names)}
    pieces: list[list[list[Any]] | None] = [None] * len(index)
    items = check.typed(list, top.get("jobs", []), "jobs")
    are_sound = _are_sound(items)
    for idx, item in enumerate(items):
        place = f"jobs[{idx}]"
        fields = item if are_sound else check.fields(item, place, ("name", "pieces"), ())
        name = check.typed(str, fields.get("name", ""), f"{place}.name")
        listed = check.typed(list, fields.get("pieces", []), f"{place}.pieces")
        if not are_sound:
            _check_pieces(check, listed, f"{place}.pieces")
        if name not in index:
            if name is fields.get("name"):
                check.add(f"{place}.name", f"the problem has no job {show(name)}")
        elif pieces[index[name]] is not None:
            check.add(f"{place}.name", f"{show(name)} stands twice")
        else:
            pieces[index[name]] = listed
    for name, idx in index.items() if "jobs" in top else ():
        if pieces[idx] is None:
            check.add("jobs", f"{show(name)} is missing")
    check.finish(source)
    return _schedule_of([mine or [] for mine in pieces])


def _schedule_of(pieces: Sequence[Sequence[Sequence[float]]]) -> WorkloadSchedule:
    offsets: IntArray = np.zeros(len(pieces) + 1, dtype=np.int64)
    np.cumsum([len(mine) for mine in pieces], out=offsets[1:])
    rows = [*chain.from_iterable(pieces)]
    starts, ends, nodes = zip(*rows, strict=True) if rows else ((), (), ())
    return WorkloadSchedule(
        offsets,
        np.array(starts, dtype=np.float64),
        np.array(ends, dtype=np.float64),
        np.array(nodes, dtype=np.int64),
    )


def _are_sound(items: list[Any]) -> bool:
    """Tell at a glance whether these are jobs, each with a list of pieces."""
    if set(map(type, items)) - {dict} or any(item.keys() != {"name", "pieces"} for item in items):
        return False
    lists = [item["pieces"] for item in items]
    if set(map(type, lists)) - {list}:
        return False
    rows = [*chain.from_iterable(lists)]
    if set(map(type, rows)) - {list} or set(map(len, rows)) - {3}:
        return False
    starts, ends, nodes = zip(*rows, strict=True) if rows else ((), (), ())
    if set(map(type, starts + ends)) - {int, float} or set(map(type, nodes)) - {int}:
        return False
    return all(-MAX_INTEGER <= time <= MAX_INTEGER for time in starts + ends) and all(
        0 <= size <= MAX_INTEGER for size in nodes
    )


def _check_pieces(check: Checker, listed: list[Any], place: str) -> None:
    for idx, row in enumerate(listed):
        where = f"{place}[{idx}]"
        if not isinstance(row, list) or len(row) != 3:
            check.add_shape(where, f"must be a piece [start, end, nodes], not {show(row)}")
            continue
        check.real_number(row[0], f"{where}[0]", "start", -MAX_INTEGER)
        check.real_number(row[1], f"{where}[1]", "end", -MAX_INTEGER)
        check.integer(row[2], f"{where}[2]", "nodes", 0)


def encode_schedule(problem: WorkloadProblem, schedule: WorkloadSchedule) -> Document:
    """Return the jobs of a schedule without the envelope.

    Raises
    ------
    InvalidAnswer
        If it is one of another number of jobs.
    """
    if len(schedule.offsets) != len(problem.jobs) + 1:
        msg = f"{len(schedule.offsets) - 1} scheduled jobs for {len(problem.jobs)} submitted"
        raise InvalidAnswer(msg)
    starts, ends = plain_numbers(schedule.starts), plain_numbers(schedule.ends)
    rows = [[*row] for row in zip(starts, ends, schedule.nodes.tolist(), strict=True)]
    bounds = schedule.offsets.tolist()
    return {
        "jobs": [
            {"name": name, "pieces": rows[begin:end]}
            for name, begin, end in zip(problem.jobs.names, bounds[:-1], bounds[1:], strict=True)
        ]
    }
