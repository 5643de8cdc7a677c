"""The queue of a machine as Slurm's ``squeue`` prints it: lines of cells with ``|`` between them, or JSON.

Ask for the lines by `SQUEUE_FORMAT`. The JSON is that of ``squeue --json``: its numbers are plain in older
versions and objects ``{"set": true, "infinite": false, "number": 120}`` in newer ones, and the state of a job
is a text in older and a list in newer ones. A line with a fault is not left out, as the queue would then be
another one: the file is refused.

Source: the page squeue of Slurm's documentation, and its data_parser plugins.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.errors import FormatError
from allocsolve.instances.formats.files import parse, read_whole, show
from allocsolve.instances.formats.logs.fields import read_needs
from allocsolve.instances.formats.logs.held import tres_held
from allocsolve.instances.formats.logs.lines import BYTE_ORDER_MARK
from allocsolve.instances.formats.logs.slurm import json_cell
from allocsolve.instances.formats.logs.squeue_reasons import (
    BEGIN,
    DEPENDENCY,
    HELD,
    REASONS,
    TASKS,
    Reason,
    Standing,
    reason_of,
)
from allocsolve.instances.formats.logs.times import Clock, duration, time_limit, zone
from allocsolve.model import MAX_INTEGER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from allocsolve.instances.formats.files import Document, PathLike

#: What to give to ``squeue -a -t R,PD -o``.
SQUEUE_FORMAT: Final = "%i|%u|%P|%q|%T|%D|%C|%V|%S|%l|%M|%Q|%r|%E"
#: The same where nodes are places: on which nodes jobs run, and the GPUs that they have on each.
SQUEUE_NODES_FORMAT: Final = f"{SQUEUE_FORMAT}|%N|%b"
#: The titles that squeue prints above these columns.
_TITLES: Final = (
    *("JOBID", "USER", "PARTITION", "QOS", "STATE", "NODES", "CPUS", "SUBMIT_TIME", "START_TIME"),
    *("TIME_LIMIT", "TIME", "PRIORITY", "REASON", "DEPENDENCY"),
)
_OF_NODES: Final = ("NODELIST", "TRES_PER_NODE")
_GRES: Final = re.compile(
    r"(?:gres[:/])?([a-z]\w{0,30})(?:[:=][^\W\d][\w.-]{0,60})?(?:[:=](\d{1,9}))?", re.ASCII
)
#: States of jobs that hold their nodes, also if they do not compute, as words and as squeue's short forms.
_RUNNING: Final = frozenset(
    {
        *("RUNNING", "R", "CONFIGURING", "CF", "COMPLETING", "CG", "SUSPENDED", "S", "STOPPED", "ST"),
        *("RESIZING", "RS", "SIGNALING", "SI", "STAGE_OUT", "SO"),
    }
)
_SUSPENDED: Final = frozenset({"SUSPENDED", "S"})
#: States of jobs that wait; of those that are held; and of those that a run leaves before they wait again.
_HELD: Final = frozenset({"REQUEUE_HOLD", "RH", "SPECIAL_EXIT", "SE", "RESV_DEL_HOLD", "RD"})
_REQUEUED: Final = frozenset({"REQUEUED", "RQ", "REQUEUE_FED", "RF"})
_PENDING: Final = frozenset({"PENDING", "PD"}) | _HELD | _REQUEUED
_STATE: Final = re.compile(r"[A-Z_]{1,20}", re.ASCII)
#: Texts that stand for nothing.
_NOTHING: Final = frozenset({"", "(null)", "n/a", "none", "not_set", "null", "unknown"})
_COUNT: Final = re.compile(r"(\d{1,15})(K|M)?(?:-\d{1,15}[KM]?)?", re.ASCII)
_ID: Final = re.compile(r"\d{1,15}(?:[_+]\d{1,15})?", re.ASCII)
_ARRAY: Final = re.compile(r"(\d{1,15})_\[([^\]%]*)(?:%(\d{1,9}))?\]?", re.ASCII)
_TASKS: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", re.ASCII)
#: Tasks of an array.
_MAX_TASKS: Final = 4_000_001
#: Jobs of a queue, tasks included.
_MAX_QUEUE: Final = 1_000_000


class RunningJob(NamedTuple):
    """A job that runs; times in seconds."""

    name: str
    nodes: int
    processors: int
    start: float  #: of a suspended job as if it had run without a break until now
    limit: float  #: NaN if there is none, or none is known
    partition: str
    node_list: str = ""  #: the nodes that it holds, as a hostlist
    #: What it holds in all, by resource; None if only its processors are known.
    amounts: tuple[tuple[str, int], ...] | None = None


class QueuedJob(NamedTuple):
    """A job, or a task of an array, that waits; times in seconds."""

    name: str
    user: str
    nodes: int  #: at least
    processors: int
    submit: float
    limit: float  #: NaN if there is none, or none is known
    priority: int
    planned: float  #: the machine's own plan of its start; NaN if there is none
    eligible: float  #: before when it must not start; NaN if nothing says so
    block: str  #: what keeps it from starting for certain, whatever is free; empty if nothing does
    reason: str  #: as Slurm says
    standing: Standing = "line"  #: whether it waits in line, or what sort of block keeps it
    partitions: tuple[str, ...] = ()  #: in any of which it may start
    #: What it asks for in all, by resource; None if only its processors are known.
    amounts: tuple[tuple[str, int], ...] | None = None

    @property
    def whole(self) -> str:
        """The heterogeneous job that it is a part of, such as ``12`` of ``12+1``; its own name if of none."""
        return self.name.partition("+")[0]


class QueueListing(NamedTuple):
    """The jobs of a queue, in the order in which they are served: by priority, then by submission."""

    source: str
    now: float  #: when it was printed, in Unix seconds; NaN if nothing tells
    running: tuple[RunningJob, ...]
    queued: tuple[QueuedJob, ...]
    others: int  #: jobs that neither run nor wait
    cut_arrays: tuple[str, ...]  #: arrays whose list of tasks was cut off: they have more tasks


class _Row(NamedTuple):
    """A job as it is printed, with texts read."""

    name: str
    tasks: range | tuple[int, ...] | None  #: of an array that waits
    at_once: int  #: of its tasks; 0 without a limit
    is_cut: bool
    array: str  #: of which it is a task; empty if of none
    user: str
    partitions: tuple[str, ...]
    state: str
    nodes: int
    processors: int
    submit: float
    start: float
    limit: float
    elapsed: float
    priority: int | None  #: None if it is not told
    eligible: float
    is_held: bool
    reason: str
    dependency: str
    node_list: str
    amounts: tuple[tuple[str, int], ...] | None

    @property
    def is_running(self) -> bool:
        """Whether it holds nodes."""
        return self.state in _RUNNING


def read_squeue(path: PathLike, *, timezone: str = "UTC") -> QueueListing:
    """Read what ``squeue`` has printed, lines in `SQUEUE_FORMAT` or `SQUEUE_NODES_FORMAT`, or JSON.

    Raises `FormatError` if it cannot be read, or a job cannot; the message names the lines and the values.

    Parameters
    ----------
    timezone
        Of times without one, such as ``Europe/Berlin``.

    Notes
    -----
    A pending array is as many jobs as it has tasks, of which those above its limit of tasks at a time are
    blocked. A job of priority 0 is held, whatever its reason. Jobs that are completing or suspended hold
    their nodes. Jobs that neither run nor wait are counted: ``squeue --json`` prints them whatever is asked
    for.
    """
    source = str(path)
    clock = Clock(zone(timezone))
    data = read_whole(path)
    faults: list[str] = []
    if data.lstrip()[:1] == b"{":
        document = parse(data, source)
        rows, others = _read_all(_json_cells(document, source), clock, faults, in_minutes=True)
        now = _moment(document.get("last_update"), faults)
    else:
        text = data.decode("utf-8", "replace").removeprefix(BYTE_ORDER_MARK)
        rows, others = _read_all(_text_cells(text, source), clock, faults, in_minutes=False)
        ends = [row.start + row.elapsed for row in rows if row.is_running and row.state not in _SUSPENDED]
        now = max((end for end in ends if not math.isnan(end)), default=math.nan)
    twice = [name for name, count in Counter(row.name for row in rows).items() if count > 1]
    faults += [f"job {name} stands there twice" for name in twice]
    total = sum(len(row.tasks) if row.tasks is not None else 1 for row in rows)
    if total > _MAX_QUEUE:
        faults.append(f"more than {_MAX_QUEUE:,} jobs with all tasks of arrays: {total:,}")
    for what in ("nodes", "processors"):
        held = sum(getattr(row, what) for row in rows if row.is_running)
        if held > MAX_INTEGER:
            faults.append(f"running jobs hold {held} {what}, beyond 2^53")
    if faults:
        raise FormatError(source, faults)
    return _listing(source, now, rows, others)


def _listing(source: str, now: float, rows: Sequence[_Row], others: int) -> QueueListing:
    running_tasks = Counter(row.array for row in rows if row.is_running)
    running = [
        RunningJob(
            row.name,
            row.nodes,
            row.processors,
            _begun(row, now),
            row.limit,
            next(iter(row.partitions), ""),
            row.node_list,
            row.amounts,
        )
        for row in rows
        if row.is_running
    ]
    queued = [
        job
        for row in rows
        if not row.is_running
        for job in _queued(row, running_tasks[row.name.partition("_")[0]])
    ]
    queued.sort(key=lambda job: (-job.priority, job.submit))  # stable: tasks stay in their order
    cut = tuple(row.name for row in rows if row.is_cut)
    return QueueListing(source, now, tuple(running), tuple(queued), others, cut)


def _begun(row: _Row, now: float) -> float:
    """Return when a job started; of a suspended one, as if it had run without a break until now."""
    if row.state in _SUSPENDED and not math.isnan(now + row.elapsed):
        return now - row.elapsed
    return row.start


def _said(row: _Row) -> Reason:
    """Return what a row says of its job."""
    said = reason_of(row.reason)
    is_held = row.is_held or row.priority == 0 or row.state in _HELD
    if is_held and said.standing != "held":
        return Reason("held", f"held: {said.block}") if said.standing == "never" else HELD
    if row.state in _REQUEUED and said.standing == "line":
        return REASONS["Cleaning"]
    if said.standing == "line" and row.dependency:
        return DEPENDENCY
    return said


def _queued(row: _Row, running_tasks: int) -> Iterator[QueuedJob]:
    """Yield the job of a row, or its tasks."""
    said = _said(row)
    waits_for_time = reason_of(row.reason) == BEGIN
    # A begin is the start that Slurm tells where it tells no eligible time.
    eligible = row.start if waits_for_time and math.isnan(row.eligible) else row.eligible
    if said == BEGIN and not math.isnan(eligible):
        said = DEPENDENCY if row.dependency else reason_of("")
    planned = math.nan if waits_for_time else row.start
    names: Iterator[str] | list[str] = [row.name]
    if row.tasks is not None:
        base = row.name.partition("_")[0]
        names = (f"{base}_{task}" for task in row.tasks)
        if said == TASKS:
            said = reason_of("")  # the limit says which tasks
    free = max(row.at_once - running_tasks, 0) if row.at_once else _MAX_TASKS
    for idx, name in enumerate(names):
        its = TASKS if said.standing == "line" and idx >= free else said
        yield QueuedJob(
            name,
            row.user,
            row.nodes,
            row.processors,
            row.submit,
            row.limit,
            row.priority or 0,
            planned if idx == 0 else math.nan,  # a plan is that of the first task
            eligible,
            its.block,
            row.reason,
            its.standing,
            row.partitions,
            row.amounts,
        )


def _text_cells(text: str, source: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the place and the cells of each line, by title."""
    titles: Sequence[str] = _TITLES
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise FormatError(source, ["is empty"])
    first = [cell.strip() for cell in lines[0][1].split("|")]
    if "JOBID" in first or "NODES" in first:
        missing = [title for title in _TITLES if title not in first]
        if missing:
            raise FormatError(source, [f"line {lines[0][0]}: no column {', '.join(missing)}; {_HOW}"])
        titles, lines = first, lines[1:]
    elif len(first) == len(_TITLES) + len(_OF_NODES):
        titles = (*_TITLES, *_OF_NODES)
    elif len(first) != len(_TITLES):
        found = f"{len(first)} cells in place of {len(_TITLES)}"
        raise FormatError(source, [f"line {lines[0][0]}: {found}; {_HOW}"])
    for number, line in lines:
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != len(titles):
            yield f"line {number}", {"": f"{len(cells)} cells in place of {len(titles)}"}
        else:
            yield f"line {number}", dict(zip(titles, cells, strict=True))


#: How to print what is read.
_HOW: Final = f"print it with squeue -a -t R,PD -o '{SQUEUE_FORMAT}'"

#: Where the cells are in JSON, by title. A dependency that is fulfilled is an empty text there.
_FIELDS: Final = {
    "USER": "user_name",
    "REASON": "state_reason",
    "DEPENDENCY": "dependency",
    "NODES": "node_count",
    "CPUS": "cpus",
    "SUBMIT_TIME": "submit_time",
    "START_TIME": "start_time",
    "TIME_LIMIT": "time_limit",
    "PRIORITY": "priority",
    "PARTITION": "partition",
}
#: Texts that tell where jobs run, and what they hold or ask for, the first that is there.
_PLACE_FIELDS: Final = {"NODELIST": ("nodes",), "TRES": ("tres_alloc_str", "tres_req_str")}


def _json_cells(document: Document, source: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the place and the cells of each job, by title; a fault stands under the title ``""``."""
    jobs = document.get("jobs")
    if not isinstance(jobs, list):
        said = "missing" if jobs is None else f"must be a list, not {show(jobs)}"
        raise FormatError(source, [f"jobs: {said}; squeue --json prints it"])
    for number, job in enumerate(jobs):
        place = f"jobs[{number}]"
        if not isinstance(job, dict):
            yield place, {"": f"must be an object, not {show(job)}"}
            continue
        try:
            yield place, _cells_of(job)
        except ValueError as fault:
            yield place, {"": str(fault)}


def _cells_of(job: Document) -> dict[str, str]:
    """Return the cells of a job of JSON, by title."""
    state = job.get("job_state")
    if isinstance(state, list):  # the state and its flags
        told = [flag for flag in state if isinstance(flag, str)]
        sure = [flag for group in (_RUNNING, _HELD, _PENDING) for flag in told if flag in group]
        state = next(iter([*sure, *told]), None) if len(told) == len(state) else None
    if not isinstance(state, str):
        raise ValueError(f"job_state must be a text or a list of texts, not {show(job.get('job_state'))}")
    cells = {title: json_cell(job.get(name), name) for title, name in _FIELDS.items()}
    tasks = json_cell(job.get("array_task_string"), "array_task_string")
    base = json_cell(job.get("array_job_id"), "array_job_id")
    task = json_cell(job.get("array_task_id"), "array_task_id")
    own = json_cell(job.get("job_id"), "job_id")
    whole = json_cell(job.get("het_job_id"), "het_job_id")
    if whole not in {"", "0"}:
        own = f"{whole}+{json_cell(job.get('het_job_offset'), 'het_job_offset') or 0}"
    hold = job.get("hold")
    if hold is not None and not isinstance(hold, bool):
        raise ValueError(f"hold must be true or false, not {show(hold)}")
    if tasks and state in _PENDING:
        at_once = json_cell(job.get("array_max_tasks"), "array_max_tasks")
        limit = f"%{at_once}" if at_once not in {"", "0"} and "%" not in tasks else ""
        own = f"{base if base not in {'', '0'} else own}_[{tasks}{limit}]"
    elif base not in {"", "0"} and task:
        own = f"{base}_{task}"
    eligible = json_cell(job.get("eligible_time"), "eligible_time")
    for title, names in _PLACE_FIELDS.items():
        texts = [text for name in names if isinstance(text := job.get(name), str) and text]
        cells[title] = texts[0] if texts else ""
    return {
        **cells,
        "JOBID": own,
        "STATE": state,
        "HOLD": "1" if hold else "",
        "ELIGIBLE": eligible,
        "TIME": json_cell(job.get("pre_sus_time"), "pre_sus_time") if state in _SUSPENDED else "",
    }


def _moment(value: object, faults: list[str]) -> float:
    """Return when a JSON was printed; NaN if it does not tell."""
    try:
        text = json_cell(value, "last_update")
        seconds = float(text) if text else math.nan
    except ValueError as fault:
        faults.append(str(fault))
        return math.nan
    if 0 < seconds < MAX_INTEGER:
        return seconds
    if text not in {"", "0"}:
        faults.append(f"last_update {text[:20]} is no time")
    return math.nan


def _read_all(
    cells: Iterator[tuple[str, Mapping[str, str]]], clock: Clock, faults: list[str], *, in_minutes: bool
) -> tuple[list[_Row], int]:
    """Return the jobs that run or wait, and the number of others."""
    rows: list[_Row] = []
    others = 0
    for place, row in cells:
        try:
            if "" in row:
                raise ValueError(row[""])
            state = row["STATE"]
            if not _STATE.fullmatch(state):
                raise ValueError(f"the state {show(state)} is none")
            if state in _RUNNING | _PENDING:
                rows.append(_row(row, clock, in_minutes=in_minutes))
            else:
                others += 1
        except ValueError as fault:
            faults.append(f"{place}: {fault}")
    return rows, others


def _row(cells: Mapping[str, str], clock: Clock, *, in_minutes: bool) -> _Row:
    """Read the cells of one job."""
    name, tasks, at_once, is_cut = cells["JOBID"], None, 0, False
    state = cells["STATE"]
    is_running = state in _RUNNING
    match = _ARRAY.fullmatch(name)
    if match and not is_running:
        tasks, is_cut = _task_list(match[2])
        at_once = int(match[3] or 0)
    elif not _ID.fullmatch(name):
        raise ValueError(f"the job {show(name)} is none")
    reason = cells["REASON"].strip("()")
    start = _time(cells["START_TIME"], "start", clock)
    row = _Row(
        name=name,
        tasks=tasks,
        at_once=at_once,
        is_cut=is_cut,
        array=name.partition("_")[0] if "_" in name else "",
        user="" if cells["USER"].lower() in _NOTHING else cells["USER"],
        partitions=tuple(part.strip() for part in cells["PARTITION"].split(",") if part.strip()),
        state=state,
        nodes=_count(cells["NODES"], "nodes"),
        processors=_count(cells["CPUS"], "CPUs"),
        submit=_time(cells["SUBMIT_TIME"], "submission", clock),
        start=start,
        limit=_limit(cells["TIME_LIMIT"], in_minutes=in_minutes),
        elapsed=_named(duration, cells["TIME"], "elapsed time"),
        priority=_priority(cells["PRIORITY"]),
        eligible=_time(cells.get("ELIGIBLE", ""), "eligible time", clock),
        is_held=bool(cells.get("HOLD")),
        reason="" if reason.lower() in _NOTHING else reason,
        dependency="" if cells["DEPENDENCY"].lower() in _NOTHING else cells["DEPENDENCY"],
        node_list="" if cells.get("NODELIST", "").lower() in _NOTHING else cells["NODELIST"],
        amounts=_tres(cells.get("TRES", "")),
    )
    if "TRES_PER_NODE" in cells:
        row = row._replace(amounts=_amounts(cells["TRES_PER_NODE"], row.nodes, row.processors))
    if math.isnan(row.submit):
        raise ValueError(f"the submission {show(cells['SUBMIT_TIME'])} of job {name} is not known")
    if is_running and math.isnan(start):
        raise ValueError(f"the start {show(cells['START_TIME'])} of running job {name} is not known")
    return row


def _named(read: Callable[[str], float | None], text: str, what: str) -> float:
    """Return what a reader makes of a text; NaN for what is not known."""
    if text.lower() in _NOTHING:
        return math.nan
    try:
        value = read(text)
    except ValueError as fault:
        raise ValueError(f"{what} {fault}") from None
    return math.nan if value is None else value


def _time(text: str, what: str, clock: Clock) -> float:
    return _named(clock.read, text, what)


def _limit(text: str, *, in_minutes: bool) -> float:
    """Return a limit in seconds: of JSON always minutes, of squeue's text as ``2:00:00``, ``30:00``."""
    value = _named(time_limit, text, "time limit")
    if in_minutes and (":" in text or "-" in text):
        raise ValueError(f"time limit {show(text)} is no number of minutes")
    return math.nan if value <= 0 else value


def _count(text: str, what: str) -> int:
    """Return a number such as ``4``, ``4-8`` (at least 4) or ``2K`` (2048)."""
    match = _COUNT.fullmatch(text)
    if match is None:
        raise ValueError(f"{what} {show(text)} is no number")
    number = int(match[1]) * {None: 1, "K": 2**10, "M": 2**20}[match[2]]
    if not 1 <= number <= MAX_INTEGER:
        raise ValueError(f"{what} {show(text)} is not in 1..2^53")
    return number


def _tres(text: str) -> tuple[tuple[str, int], ...] | None:
    """Return what a list such as ``cpu=8,mem=16G,gres/gpu=2`` has; None if it is none."""
    try:
        return read_needs(tres_held(text))
    except ValueError:
        return None


def _amounts(text: str, nodes: int, processors: int) -> tuple[tuple[str, int], ...]:
    """Return what a job has in all: its processors, and ``gres/gpu:a100:2`` or the like on each node."""
    held = {"cpus": processors}
    for part in () if text.lower() in _NOTHING else text.split(","):
        match = _GRES.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"resources of each node {show(text)} are no list such as gres/gpu:2")
        name = "gpus" if match[1] == "gpu" else match[1]
        held[name] = held.get(name, 0) + nodes * int(match[2] or 1)
    return tuple(held.items())


def _priority(text: str) -> int | None:
    if text.lower() in _NOTHING:
        return None
    if not re.fullmatch(r"\d{1,15}", text, re.ASCII):
        raise ValueError(f"priority {show(text)} is no whole number")
    return int(text)


def _task_list(text: str) -> tuple[range | tuple[int, ...], bool]:
    """Return the tasks of a list such as ``4-9``, ``1,3,7-9`` or ``0-15:4``, and whether it was cut off."""
    parts = [part.strip() for part in text.split(",")]
    is_cut = parts[-1].startswith(".") or text.endswith("...")
    if is_cut:  # what stands before the points may be cut, too
        parts = parts[:-1]
    tasks: list[int] = []
    ranges = []
    for part in parts:
        match = _TASKS.fullmatch(part)
        if match is None:
            raise ValueError(f"the tasks {show(text)} are no list")
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or not step:
            raise ValueError(f"the tasks {show(part)} are no range")
        ranges.append(range(first, last + 1, step))
        if sum(map(len, ranges)) > _MAX_TASKS:
            raise ValueError(f"the tasks {show(text)} are more than {_MAX_TASKS:,}")
    if len(ranges) == 1:
        return ranges[0], is_cut
    for one in ranges:
        tasks.extend(one)
    if not tasks:
        raise ValueError(f"the tasks {show(text)} are no list")
    return tuple(tasks), is_cut
