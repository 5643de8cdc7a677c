"""Schedules of workloads as other programs write them: tables that are read, never written.

docs/formats.md shows their columns. Times count from second 0 of the problem; a job without a row, or that
was rejected there, gets no piece: the judge says that it never runs. Columns of other names are passed over.

Pictures and files of other tools want nodes by number, where a schedule says only how many nodes a job has.
They are given out here, to each piece as few intervals of numbers as a greedy rule achieves. What a file of
another program cannot hold of a problem is counted and reported, see `Unheld`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.families import TableFormat
from allocsolve.instances.formats.files import show
from allocsolve.judge.workload.tolerance import TIME_TOLERANCE_S
from allocsolve.model.job_kinds import job_kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.instances.formats.files import Document
    from allocsolve.instances.formats.tables import Rows
    from allocsolve.model import IntArray, WorkloadProblem, WorkloadSchedule

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
