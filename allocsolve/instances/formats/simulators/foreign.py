"""Schedules of workloads in the files of other programs: tables that are only read, and files for viewers.

docs/formats.md shows their columns. Times count from second 0 of the problem; a job without a row, or that
was rejected there, gets no piece: the judge says that it never runs. Columns of other names are passed over.

Pictures and files of other tools want nodes by number, where a schedule says only how many nodes a job has.
They are given out here, to each piece as few intervals of numbers as a greedy rule achieves. What a file of
another program cannot hold of a problem is counted and reported, see `Unheld`.

The viewer evalys, and whatever else reads the ``jobs.csv`` of Batsim, gets one row for each piece of a job.
Perfetto and Chrome's trace viewer get JSON events: a lane is a thread of the viewer and shows at most one job
at a time, as slices of one thread must nest. A lane is no node: a job holds the nodes that its arguments say.
"""

from __future__ import annotations

import csv
import io
import json
import re
from bisect import bisect_left
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.families import TableFormat
from allocsolve.instances.formats.files import show
from allocsolve.instances.formats.own.workload_places import places_texts
from allocsolve.judge.workload.tolerance import TIME_TOLERANCE_S
from allocsolve.model.closed_nodes import closed_nodes
from allocsolve.model.job_kinds import job_kind
from allocsolve.model.packed_machine import packed_machine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.instances.formats.files import Document
    from allocsolve.instances.formats.tables import Rows
    from allocsolve.model import FloatArray, IntArray, WorkloadProblem, WorkloadSchedule

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
    for part in (text, text.rpartition("!")[2]):
        for name in (part, part.partition("#")[0]):
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
        nodes = sizes[row]
        if held[row] not in (None, ""):
            try:
                nodes = int(interval_count(held[row]))
            except ValueError as fault:
                rows.add(row, f"allocated_resources {fault}")
                nodes = 0
        pieces.add(name, [starts[row], ends[row], nodes])
    return pieces.fields()


def interval_count(intervals: str) -> str:
    """Return how many resources an interval set holds, such as 4 of ``0-2 5``; empty if it is empty."""
    if not intervals.strip():
        return ""
    if not _INTERVALS.fullmatch(intervals.strip()):
        raise ValueError(f"{show(intervals)} are no intervals such as 0-2 5")
    total = 0
    for part in re.split(r"[ ,]+", intervals.strip()):
        first, dash, last = part.partition("-")
        size = int(last) - int(first) + 1 if dash else 1
        if size < 1:
            raise ValueError(f"{part} ends before it begins")
        total += size
    return str(total)


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
        stated = submits[row]
        if not isinstance(stated, int | float) or abs(stated - submit) > _SIX_DIGITS * max(submit, 1):
            rows.add(row, f"Submit Time {show(stated)}, but job {show(name)} is submitted at {submit:.10g}")
            continue
        pieces.job(name, row)
        if starts[row] not in (None, -1):
            pieces.add(name, [starts[row], ends[row], int(problem.packed.nodes[idx])])
    return pieces.fields()


def _not_written(problem: WorkloadProblem, schedule: WorkloadSchedule) -> Mapping[str, Any]:
    del problem, schedule
    raise InvalidAnswer("tables of other programs are read, not written")


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


class StartReason(NamedTuple):
    """What the start of a job looks like from outside, whatever made the schedule."""

    #: ``at once``: on its submission; ``in turn``: the first of the queue; ``backfilled``: before the first.
    kind: str
    #: The first of the queue when the job was backfilled; -1 for the other kinds.
    head: int


def pieces_within(
    schedule: WorkloadSchedule, window: tuple[float, float] | None
) -> tuple[IntArray, IntArray]:
    """Return the pieces that lie in a window of time at least in part, in order of their starts.

    Pieces that end no later than they start are left out; the window is its first and last instant in
    seconds, None for all. Returns index and job of each piece, both of the shape (pieces,).
    """
    jobs = np.repeat(np.arange(len(schedule.offsets) - 1), np.diff(schedule.offsets))
    there = schedule.ends > schedule.starts
    if window is not None:
        there &= (schedule.ends > window[0]) & (schedule.starts < window[1])
    inside = np.flatnonzero(there)
    inside = inside[np.lexsort((jobs[inside], schedule.starts[inside]))]
    return inside, jobs[inside]


def lanes(starts: Sequence[float], ends: Sequence[float]) -> list[int]:
    """Give each interval a lane such that no two in one lane overlap: the lowest that is free.

    Intervals come by increasing start; one may begin where another ends. Lanes count from 0, and there are as
    many as intervals overlap at the worst instant, the least possible number. O(n log n).
    """
    running: list[tuple[float, int]] = []
    free: list[int] = []
    given, count = [], 0
    for start, end in zip(starts, ends, strict=True):
        while running and running[0][0] <= start:
            heappush(free, heappop(running)[1])
        if free:
            lane = heappop(free)
        else:
            lane, count = count, count + 1
        given.append(lane)
        heappush(running, (end, lane))
    return given


def node_intervals(
    problem: WorkloadProblem,
    schedule: WorkloadSchedule,
    pieces: IntArray,
    closed: Sequence[tuple[float, float, int]] = (),
) -> list[tuple[tuple[int, int], ...]]:
    """Give each piece nodes of its own, by number.

    A piece takes the smallest interval of free nodes that suffices, the lowest of these; if none does, the
    lowest free nodes. Where a schedule holds more nodes than there are, as those that machines record may,
    the numbers go on. What is closed for a time is the highest nodes that are free then. Pieces are those of
    `pieces_within`; `closed` tells from which second to which how many nodes are closed. Returns of each time
    in which some are closed, and then of each piece, the first and last number of each interval of nodes:
    disjoint, sorted, none beside another, numbered from 0. O(pieces times free intervals).
    """
    free = _FreeNodes(problem.num_nodes)
    running: list[tuple[float, int]] = []
    held: list[tuple[tuple[int, int], ...]] = []
    rows = [
        *((start, end, nodes, True) for start, end, nodes in closed),
        *zip(
            schedule.starts[pieces].tolist(),
            schedule.ends[pieces].tolist(),
            schedule.nodes[pieces].tolist(),
            [False] * len(pieces),
            strict=True,
        ),
    ]
    order = sorted(range(len(rows)), key=lambda idx: rows[idx][0]) if closed else range(len(rows))
    for place, idx in enumerate(order):
        start, end, nodes, is_closed = rows[idx]
        while running and running[0][0] <= start + TIME_TOLERANCE_S:
            free.give_back(held[heappop(running)[1]])
        held.append(free.take_highest(nodes) if is_closed else free.take(nodes))
        heappush(running, (end, place))
    by_row = dict(zip(order, held, strict=True))
    return [by_row[idx] for idx in range(len(rows))]


class _FreeNodes:
    """The free nodes of a cluster as sorted intervals, none beside another."""

    def __init__(self, num_nodes: int) -> None:
        self._firsts, self._lasts = [0], [num_nodes - 1]
        self._count = self._highest = num_nodes

    def take_highest(self, nodes: int) -> tuple[tuple[int, int], ...]:
        """Return the intervals of the highest nodes, as many as wanted or as are free."""
        nodes = min(nodes, self._count)
        self._count -= nodes
        taken = []
        while nodes:
            last = self._lasts.pop()
            first = max(self._firsts[-1], last - nodes + 1)
            taken.append((first, last))
            nodes -= last - first + 1
            if first == self._firsts[-1]:
                self._firsts.pop()
            else:
                self._lasts.append(first - 1)
        return tuple(reversed(taken))

    def take(self, nodes: int) -> tuple[tuple[int, int], ...]:
        """Return the intervals of as many nodes as wanted, which are free no more."""
        if nodes > self._count:
            missing = nodes - self._count
            self.give_back(((self._highest, self._highest + missing - 1),))
            self._highest += missing
        self._count -= nodes
        firsts, lasts = self._firsts, self._lasts
        sizes = [last - first + 1 for first, last in zip(firsts, lasts, strict=True)]
        at = min((idx for idx, size in enumerate(sizes) if size >= nodes), key=sizes.__getitem__, default=-1)
        taken = []
        while nodes:
            place = max(at, 0)
            first = firsts[place]
            last = min(lasts[place], first + nodes - 1)
            taken.append((first, last))
            nodes -= last - first + 1
            if last == lasts[place]:
                del firsts[place], lasts[place]
            else:
                firsts[place] = last + 1
        return tuple(taken)

    def give_back(self, intervals: tuple[tuple[int, int], ...]) -> None:
        """Take intervals back that were taken."""
        firsts, lasts = self._firsts, self._lasts
        for first, last in intervals:
            self._count += last - first + 1
            at = bisect_left(firsts, first)
            begin, end = first, last
            if at < len(firsts) and firsts[at] == last + 1:
                end = lasts[at]
                del firsts[at], lasts[at]
            if at and lasts[at - 1] == first - 1:
                begin, at = firsts[at - 1], at - 1
                del firsts[at], lasts[at]
            firsts.insert(at, begin)
            lasts.insert(at, end)


def start_reasons(problem: WorkloadProblem, schedule: WorkloadSchedule) -> list[StartReason]:
    """Tell of each job why it started when it did, as far as the schedule shows it.

    The queue is in order of submission minus head start; a job is *backfilled* if one that came before it
    starts later. The first such job is the head that it was backfilled past. Who was not eligible on its
    submission is no head here. O(n log n).
    """
    starts, submit, asked = schedule.first_starts, problem.jobs.packed.submit, problem.jobs.requirements
    release = asked.release(submit)
    queue = np.argsort(submit - asked.boost if len(asked.boost) else submit, kind="stable")
    # The first job of the queue that starts after an instant: the latest starts so far never fall.
    in_queue = np.where(release > submit, -np.inf, starts)[queue]
    latest = np.fmax.accumulate(in_queue) if len(queue) else starts
    heads = np.searchsorted(latest, starts[queue], side="right")
    reasons = [StartReason("in turn", -1)] * len(queue)
    at_once = (starts <= release).tolist()
    for place, (job, head) in enumerate(zip(queue.tolist(), heads.tolist(), strict=True)):
        if head < place:
            reasons[job] = StartReason("backfilled", int(queue[head]))
        elif at_once[job]:
            reasons[job] = StartReason("at once", -1)
    return reasons


@dataclass(slots=True)
class Unheld:
    """Counts of what a file cannot hold, or of what could not be taken from one.

    Examples
    --------
    >>> unheld = Unheld()
    >>> unheld.add("weights", 3)
    >>> unheld.add("users", 0)
    >>> unheld.counts, str(unheld)
    ({'weights': 3}, 'weights: 3')
    """

    #: How many jobs by what is the matter; 1 for what is one thing of the whole problem.
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, what: str, count: int = 1) -> None:
        """Count something; nothing if the count is 0."""
        if count:
            self.counts[what] = self.counts.get(what, 0) + int(count)

    def lines(self) -> list[str]:
        """Return a line for each thing."""
        return [f"{what}: {count}" for what, count in self.counts.items()]

    def __str__(self) -> str:
        return "; ".join(self.lines())


@dataclass(frozen=True, slots=True)
class ReadWorkload:
    """A problem that was read from the files of another program."""

    problem: WorkloadProblem
    #: What of the files the problem does not hold.
    unheld: Unheld


def elastic_kinds(problem: WorkloadProblem) -> dict[str, int]:
    """Return how many jobs there are of each kind but the rigid one."""
    kinds = [job_kind(code) for code in problem.packed.kind.tolist()]
    return {kind: kinds.count(kind) for kind in ("moldable", "malleable", "evolving") if kind in kinds}


#: As Batsim writes them and evalys reads them.
EVALYS_COLUMNS: Final = (
    *("job_id", "workload_name", "workload_num_machines", "submission_time"),
    *("requested_number_of_resources", "requested_time", "success", "starting_time", "execution_time"),
    *("finish_time", "waiting_time", "turnaround_time", "stretch", "allocated_resources"),
)

#: The name of a workload without one; evalys groups rows by it.
_UNNAMED: Final = "workload"
#: What Batsim writes for the requested time of a job without a limit.
_NO_LIMIT: Final = -1


def evalys_rows(
    problem: WorkloadProblem, schedule: WorkloadSchedule, window: tuple[float, float] | None = None
) -> list[dict[str, Any]]:
    """Return a schedule as rows of `EVALYS_COLUMNS`.

    There is a row for each piece, in order of starts, of jobs that run in the window, its first and last
    instant in seconds, at least in part. Times are in seconds; stretch is turnaround over run time, without a
    floor. The nodes of a piece are given out greedily by number: disjoint sorted intervals, such as ``0-2 5
    10-50``.
    """
    pieces, jobs = pieces_within(schedule, window)
    packed, names = problem.packed, problem.jobs.names
    limits = np.where(np.isfinite(problem.jobs.limit), problem.jobs.limit, _NO_LIMIT)
    rows = []
    columns = (
        jobs.tolist(),
        schedule.starts[pieces].tolist(),
        schedule.ends[pieces].tolist(),
        schedule.nodes[pieces].tolist(),
        packed.submit[jobs].tolist(),
        limits[jobs].tolist(),
        node_intervals(problem, schedule, pieces),
    )
    for job, start, end, nodes, submit, limit, intervals in zip(*columns, strict=True):
        figures = (submit, nodes, limit, 1, start, end - start, end, start - submit, end - submit)
        stretch = (end - submit) / (end - start)
        first = (names[job], problem.name or _UNNAMED, problem.num_nodes)
        values = (*first, *map(_short, figures), _short(stretch), _interval_string(intervals))
        rows.append(dict(zip(EVALYS_COLUMNS, values, strict=True)))
    return rows


def evalys_text(
    problem: WorkloadProblem, schedule: WorkloadSchedule, window: tuple[float, float] | None = None
) -> str:
    """Return the CSV file that evalys loads; see `evalys_rows`."""
    text = io.StringIO()
    writer = csv.DictWriter(text, EVALYS_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(evalys_rows(problem, schedule, window))
    return text.getvalue()


def _short(value: float) -> int | float:
    """Return a whole number without a point; others are exact."""
    return int(value) if value == int(value) else value


def _interval_string(intervals: tuple[tuple[int, int], ...]) -> str:
    return " ".join(f"{first}-{last}" if last > first else str(first) for first, last in intervals)


#: Beyond a million events (four a job) viewers are slow or refuse.
_MOST_PIECES: Final = 250_000

#: The processes of the trace: what runs, and what is counted.
_CLUSTER, _COUNTS = 1, 2


def occupied_changes(schedule: WorkloadSchedule) -> tuple[FloatArray, FloatArray]:
    """Return when on how many nodes more there is somebody: times in seconds, and changes."""
    at, node = schedule.place_offsets, schedule.place_nodes
    assert at is not None
    assert node is not None
    piece = np.repeat(np.arange(len(at) - 1), np.diff(at))
    order = np.lexsort((schedule.starts[piece], node))
    node, starts, ends = node[order], schedule.starts[piece][order], schedule.ends[piece][order]
    # A node after another comes so much later, so that the latest end so far is that of its own jobs.
    shift = node * (float(np.ptp(np.concatenate([starts, ends]))) + 1.0 if len(node) else 0.0)
    latest = np.maximum.accumulate(ends + shift)
    begins = np.ones(len(node), dtype=np.bool_)
    begins[1:] = (starts + shift)[1:] > latest[:-1]
    last = np.append(begins[1:], True)[: len(node)]
    times = np.concatenate([starts[begins], (latest - shift)[last]])
    return times, np.repeat([1.0, -1.0], len(times) // 2)


def perfetto_events(
    problem: WorkloadProblem, schedule: WorkloadSchedule, window: tuple[float, float] | None = None
) -> dict[str, Any]:
    """Return a schedule as a document of the trace event format.

    Jobs and windows are those of `evalys_rows`. There are slices of the jobs (``X``; their category is why
    they started: ``in turn``, ``at once``, ``backfilled``; where nodes are places, they say on which),
    instants of their submissions (``i``), counters of free nodes and waiting jobs (``C``), names (``M``). A
    node with room beside somebody is not free. Times are in microseconds from time 0 of the
    problem. O(n log n).
    """
    pieces, jobs = pieces_within(schedule, window)
    events: list[dict[str, Any]] = [
        _name("process_name", _CLUSTER, 0, problem.name or f"{problem.num_nodes} nodes"),
        _name("process_name", _COUNTS, 0, "free nodes, queue, submissions"),
        _name("thread_name", _COUNTS, 1, "submissions"),
    ]
    starts, ends = _microseconds(schedule.starts[pieces]), _microseconds(schedule.ends[pieces])
    lane_of = lanes(starts, ends)
    events += [_name("thread_name", _CLUSTER, 1 + lane, f"lane {lane}") for lane in sorted(set(lane_of))]
    reasons, packed, table = start_reasons(problem, schedule), problem.jobs.packed, problem.jobs
    first_starts = schedule.first_starts
    nodes = schedule.nodes[pieces].tolist()
    where = places_texts(schedule)
    for at, job in enumerate(jobs.tolist()):
        kind, head = reasons[job]
        details: dict[str, Any] = {
            "nodes": nodes[at],
            "submitted_s": float(packed.submit[job]),
            "waited_s": float(first_starts[job] - packed.submit[job]),
            "started": kind,
        }
        if where[pieces[at]]:
            details["on_nodes"] = where[pieces[at]]
        if head >= 0:
            details["backfilled_past"] = table.names[head]
        if not np.isnan(table.limit[job]):
            details["limit_s"] = float(table.limit[job])
        if table.users and table.users[job] is not None:
            details["user"] = table.users[job]
        events.append(
            {
                "name": table.names[job],
                "cat": kind,
                "ph": "X",
                "ts": starts[at],
                "dur": ends[at] - starts[at],
                "pid": _CLUSTER,
                "tid": 1 + lane_of[at],
                "args": details,
            }
        )
    shown = sorted(set(jobs.tolist()))
    for job, at in zip(shown, _microseconds(packed.submit[shown]), strict=True):
        row = {"name": table.names[job], "ph": "i", "s": "t", "ts": at, "pid": _COUNTS, "tid": 1}
        events.append(row)
    held = np.concatenate([schedule.starts, schedule.ends])
    change = np.concatenate([-schedule.nodes, schedule.nodes])
    if schedule.place_offsets is not None:
        times, more = occupied_changes(schedule)
        closed = closed_nodes(problem.closed, problem.num_nodes)
        held = np.concatenate([times, closed.start, closed.end])
        change = np.concatenate([-more, np.repeat([-1.0, 1.0], len(closed.start))])
    elif problem.closed:
        machine = packed_machine(problem)
        held = np.concatenate([held, machine.times])
        change = np.concatenate([change, np.diff(machine.capacity[:, 0], prepend=problem.num_nodes)])
    events += _counter("free nodes", problem.num_nodes, held, change, window)
    queued = np.flatnonzero(first_starts > packed.submit)
    moments = np.concatenate([packed.submit[queued], first_starts[queued]])
    events += _counter("waiting jobs", 0, moments, np.repeat([1, -1], len(queued)), window)
    return {"displayTimeUnit": "ms", "traceEvents": events}


def perfetto_text(
    problem: WorkloadProblem, schedule: WorkloadSchedule, window: tuple[float, float] | None = None
) -> str:
    """Return the file that trace viewers open; see `perfetto_events`.

    Raises `InvalidOption` if so many jobs run in the window that viewers would not take the file.
    """
    count = len(pieces_within(schedule, window)[0])
    if count > _MOST_PIECES:
        msg = f"{count} jobs are more than the {_MOST_PIECES} that a trace viewer takes: choose a window"
        raise InvalidOption(msg)
    document = perfetto_events(problem, schedule, window)
    return json.dumps(document, allow_nan=False, separators=(",", ":")) + "\n"


def _name(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}


def _microseconds(seconds: Any) -> list[int]:  # noqa: ANN401 - an array
    return [int(time) for time in np.rint(seconds * 1e6).tolist()]  # of 2^53 s they are beyond 64 bits


def _counter(
    name: str,
    level: int,
    times: Any,  # noqa: ANN401 - an array
    changes: Any,  # noqa: ANN401 - an array
    window: tuple[float, float] | None,
) -> list[dict[str, Any]]:
    """Return the values of a counter at the instants of a window at which it changes."""
    moments, at = np.unique(times, return_inverse=True)
    levels = level + np.cumsum(np.bincount(at, weights=changes, minlength=len(moments))).astype(np.int64)
    if window is not None:
        # The value at the beginning of the window is that of the change before it.
        first = max(int(np.searchsorted(moments, window[0], side="right")) - 1, 0)
        inside = slice(first, int(np.searchsorted(moments, window[1], side="right")))
        moments, levels = np.maximum(moments[inside], window[0]), levels[inside]
    return [
        {"name": name, "ph": "C", "ts": moment, "pid": _COUNTS, "args": {name: value}}
        for moment, value in zip(_microseconds(moments), levels.tolist(), strict=True)
    ]
