"""Another program's cluster as our policies see it, from one snapshot to the next."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from allocsolve.errors import InvalidOption, InvalidProblem
from allocsolve.model import (
    ALL_SIZES,
    DEFAULT_LIMIT_FACTOR,
    EVOLVING,
    JOB_KINDS,
    MALLEABLE,
    POWERS_OF_TWO,
    REQUESTED,
    SPEEDUP_TABLE,
)
from allocsolve.model.arrays import frozen, read_only_view
from allocsolve.model.checks import choice, in_range, integer, moment, real, shown
from allocsolve.model.columns import packed_speedups
from allocsolve.simulation.view import NO_JOBS, NO_PROFILES, JobColumns, QueueView, relative_time

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from numpy.typing import NDArray

    from allocsolve.model import FloatArray, IntArray, JobKind, SizeSet, Speedup
    from allocsolve.simulation import Knowledge

#: What another program calls a job by: a number, a name, or an object.
Key: TypeAlias = "Hashable"

_FLOATS: Final = (
    *("submit", "runtime", "estimate", "weight", "parameter", "start", "end"),
    *("stall_fixed", "stall_per_node", "stall_shared", "join_start", "join_grow", "join_shrink"),
)
_INTS: Final = (
    *("nodes", "min_nodes", "max_nodes", "speedup", "kind", "points", "size_step", "user"),
    *("reading", "holds_larger"),
)
_SUBMIT, _RUNTIME, _ESTIMATE, _WEIGHT, _PARAMETER, _START, _END = range(7)
_NODES, _MIN, _MAX, _SPEEDUP, _KIND, _POINTS, _STEP, _USER, _READING = range(9)

#: Rows that there is room for at first.
_ROOM: Final = 64


class ForeignJobs:
    """A table of jobs that grows, as policies see it.

    A job gets the next index when it is added; so jobs are added in the order of their submission, and a
    policy knows nothing of those that are yet to come.

    Parameters
    ----------
    knowledge
        Whether policies may see run times, as of `allocsolve.simulation.EngineRules`.
    num_nodes
        Nodes of the machine; a job that needs more could never start, and is refused.

    Notes
    -----
    *Complexity*: O(1) for each job on average; the columns double when they are full.

    Examples
    --------
    >>> jobs = ForeignJobs()
    >>> jobs.add("17.batch", submit=5, nodes=4, estimate=3600)
    0
    >>> jobs.index["17.batch"], jobs.keys, jobs.columns().estimate.tolist()
    (0, ['17.batch'], [3600.0])
    """

    def __init__(self, knowledge: Knowledge = "estimate", num_nodes: int | None = None) -> None:
        self.knowledge, self.num_nodes = knowledge, num_nodes
        #: From keys to indices, and back.
        self.index: dict[Key, int] = {}
        self.keys: list[Key] = []
        #: Whether indices are in the order of submission, and whether sizes of running jobs may change.
        self.in_order, self.elastic = True, False
        self._floats: FloatArray = np.zeros((len(_FLOATS), _ROOM))
        self._ints: IntArray = np.zeros((len(_INTS), _ROOM), dtype=np.int64)
        self._offsets: IntArray = np.zeros(_ROOM + 1, dtype=np.int64)
        self._table_nodes: IntArray = np.zeros(0, dtype=np.int64)
        self._table_seconds: FloatArray = np.zeros(0)
        self._users: dict[str, int] = {}
        self._columns: JobColumns | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def add(
        self,
        key: Key,
        *,
        submit: float,
        nodes: int,
        estimate: float | None = None,
        runtime: float | None = None,
        min_nodes: int | None = None,
        max_nodes: int | None = None,
        kind: JobKind = "rigid",
        points: int = 0,
        size_set: SizeSet = ALL_SIZES,
        speedup: Speedup | None = None,
        user: str | None = None,
        weight: float = 1.0,
    ) -> int:
        """Add a job that has been submitted, and return its index.

        `InvalidOption` if a job of this key has been added before; `InvalidProblem` if it can never start, or
        if it is no job; all in one line.

        Parameters
        ----------
        nodes, min_nodes, max_nodes, kind, points, size_set, speedup, user, weight
            As of `allocsolve.model.Job`. Without a law of speedup, times are the same on all sizes. An
            evolving job is one whose requests the other program hands on.
        estimate
            What the user said of the run time on `nodes` nodes, in seconds. If left out, 1.25 times the run
            time if that is known; else nobody knows when the job ends: never.
        runtime
            The run time on `nodes` nodes, in seconds, if the other program knows it; shown to policies with
            `knowledge` ``actual`` only.
        """
        if key in self.index:
            raise InvalidOption(f"job {shown(key)} is submitted twice")
        name = f"job {shown(key)}:"
        length = math.nan if runtime is None else _least(f"{name} runtime", runtime)
        if estimate is None:
            estimate = math.inf if runtime is None else DEFAULT_LIMIT_FACTOR * length
        size = _size(f"{name} nodes", nodes)
        low = size if min_nodes is None else _size(f"{name} min_nodes", min_nodes)
        high = size if max_nodes is None else _size(f"{name} max_nodes", max_nodes)
        if not low <= size <= high:
            raise InvalidProblem(f"{name} nodes {size} are not from {low} to {high}")
        if self.num_nodes is not None and low > self.num_nodes:
            raise InvalidProblem(f"{name} it needs {low} of {self.num_nodes} nodes, and can never start")
        came, expected = moment(f"{name} submit", submit), _least(f"{name} estimate", estimate)
        code = JOB_KINDS.index(choice(f"{name} kind", kind, JOB_KINDS))
        step = POWERS_OF_TWO if size_set == "powers-of-two" else _size(f"{name} size_set", size_set)
        row = self._new_row()
        if speedup is not None:
            self._add_law(row, size, speedup, name)
        self._offsets[row + 1] = max(self._offsets[row], self._offsets[row + 1])
        actual = self.knowledge == "actual"
        self._floats[:7, row] = (
            *(came, length if actual else math.nan, expected),
            *(weight, self._floats[_PARAMETER, row], math.nan, math.nan),
        )
        self._ints[:9, row] = (
            *(size, low, high, self._ints[_SPEEDUP, row], code, points, step),
            *(self._users.setdefault(user, len(self._users)) if user else -1, REQUESTED * (code == EVOLVING)),
        )
        if row and came < self._floats[_SUBMIT, row - 1]:
            self.in_order = False
        self.elastic = self.elastic or code in {MALLEABLE, EVOLVING}
        self.index[key] = row
        self.keys.append(key)
        self._columns = None
        return row

    def columns(self) -> JobColumns:
        """Return what is known of the jobs so far, read-only."""
        if self._columns is None:
            count = len(self.keys)
            floats, ints = read_only_view(self._floats[:, :count]), read_only_view(self._ints[:, :count])
            rows = self._offsets[count]
            self._columns = JobColumns(
                **dict(zip(_FLOATS, floats, strict=True)),
                **dict(zip(_INTS, ints, strict=True)),
                table_offsets=read_only_view(self._offsets[: count + 1]),
                table_nodes=read_only_view(self._table_nodes[:rows]),
                table_seconds=read_only_view(self._table_seconds[:rows]),
            )
        return self._columns

    def started(self, job: int, at: float) -> None:
        """Note when a job has started, in seconds; NaN if it has not after all."""
        self._floats[_START, job] = at

    def ended(self, job: int, at: float) -> None:
        """Note when a job has ended, in seconds."""
        self._floats[_END, job] = at

    def expected_run(self, job: int, nodes: int) -> float:
        """Return the expected run time of a job on this number of nodes, in seconds."""
        row = _RUNTIME if self.knowledge == "actual" else _ESTIMATE
        return float(self._floats[row, job]) * relative_time(self.columns(), job, nodes)

    def _new_row(self) -> int:
        """Return the next row, for which there is room."""
        row = len(self.keys)
        if row == self._floats.shape[1]:
            self._floats, self._ints = _with_room(self._floats, row + 1), _with_room(self._ints, row + 1)
        self._offsets = _with_room(self._offsets, row + 2)
        return row

    def _add_law(self, row: int, nodes: int, law: Speedup, name: str) -> None:
        packed = packed_speedups([law], np.array([nodes]))
        code, sizes, seconds = packed["speedup"][0], packed["table_nodes"], packed["table_seconds"]
        if code == SPEEDUP_TABLE and nodes not in sizes:
            raise InvalidProblem(f"{name} nodes {nodes} are not in its table")
        self._ints[_SPEEDUP, row], self._floats[_PARAMETER, row] = code, packed["parameter"][0]
        if code != SPEEDUP_TABLE:
            return
        first, last = int(self._offsets[row]), int(self._offsets[row]) + len(sizes)
        self._table_nodes = _with_room(self._table_nodes, last)
        self._table_seconds = _with_room(self._table_seconds, last)
        self._table_nodes[first:last] = sizes
        self._table_seconds[first:last] = seconds / seconds[sizes == nodes][0]
        self._offsets[row + 1] = last


def _with_room(array: NDArray[Any], needed: int) -> NDArray[Any]:
    """Return the array if it has enough columns, else a copy with at least twice as many."""
    have = array.shape[-1]
    if have >= needed:
        return array
    larger = np.zeros((*array.shape[:-1], max(needed, 2 * have)), dtype=array.dtype)
    larger[..., :have] = array
    return larger


def _size(what: str, value: object) -> int:
    number = integer(what, value)
    if number < 1:
        raise InvalidProblem(f"{what} {number} is not at least 1")
    return number


def _least(what: str, value: object) -> float:
    number = real(what, value)
    if not number >= 0:
        raise InvalidProblem(f"{what} {number} is not at least 0")
    return number


class RunningJob(NamedTuple):
    """A running job as another program tells of it."""

    key: Key
    #: What it holds now.
    nodes: int
    #: Seconds.
    start: float
    #: What it will hold after its pending change; 0 if none is pending.
    target: int = 0
    #: When it is expected to end, in seconds, if the other program knows better than by its estimate.
    expected_end: float = math.nan


class ForeignCluster:
    """What is remembered of another program's cluster between snapshots of it.

    Jobs, since when running jobs hold their nodes, nodes that are promised to queued jobs, wake-ups.
    `knowledge` is that of `ForeignJobs`.
    """

    def __init__(self, num_nodes: int, knowledge: Knowledge = "estimate") -> None:
        whole = integer("num_nodes", num_nodes, InvalidOption)
        self.num_nodes = in_range("num_nodes", whole, 1, error=InvalidOption)
        #: The jobs of the other program.
        self.jobs = ForeignJobs(knowledge, self.num_nodes)
        #: When the policy wants to be called whatever happens, in seconds, rising.
        self.wakes: list[float] = []
        #: Jobs that were promised nodes, first in, first out, with these; free nodes that wait for them.
        self.promises: list[tuple[int, int]] = []
        self.pool = 0
        #: By key of a job whose shrink is pending: the nodes that it will hold, and how many of those that it
        #: gives up are promised.
        self._given: dict[Key, tuple[int, int]] = {}
        #: By key of a running job: what was told of it last, or ordered since; when it is expected to end,
        #: in seconds, which entry of the list of running jobs it is, and its index.
        self._rows: dict[Key, RunningJob] = {}
        self._entries: dict[Key, tuple[float, int, int]] = {}
        self._running: _Running | None = None
        self._reported = self._ranks = 0

    def view(
        self,
        now: float,
        free: int,
        queue: Iterable[Key],
        running: Iterable[RunningJob],
        requests: Iterable[tuple[Key, int]],
    ) -> tuple[QueueView, list[tuple[int, int]]]:
        """Return what a policy sees, and promised jobs that start now, before it decides, with their nodes.

        The arguments are those of `PolicyDriver.decide`.
        """
        waiting, rows = self._indices(queue := [*queue]), {row.key: row for row in running}
        completed, resized = self._changed(rows, queue, now) if rows != self._rows else ([], [])
        left = free - self._collected(queue)
        reserved, held = self._listed().reserved, self._listed().total
        if left < 0 or free + held + reserved > self.num_nodes:
            kept = f", {reserved} are kept for running jobs and {self.pool} for promises"
            msg = f"at {now:.15g} s {free} of {self.num_nodes} nodes are free, {held} are held{kept}"
            raise InvalidOption(msg)
        begun = self.start_promised(now)
        asked = [*requests]
        count, first = len(self.jobs), self._reported
        self._reported = count
        woken = bool(self.wakes) and self.wakes[0] <= now
        self.wakes = [at for at in self.wakes if at > now]
        listed = self._listed()
        view = QueueView(
            now=now,
            completed=_ints(sorted(completed)),
            submitted=_ints(range(first, count)),
            woken=woken,
            num_nodes=self.num_nodes,
            free=left,
            queue=frozen(self._in_order(waiting, [job for job, _ in (*begun, *self.promises)])),
            running=listed.jobs,
            expected_ends=listed.ends if listed.first >= now else frozen(np.maximum(listed.ends, now)),
            held=listed.held,
            targets=listed.targets,
            resized=_ints(sorted(resized)),
            pool=self.pool,
            reserved=reserved,
            promises=_ints([job for job, _ in self.promises]),
            promised_nodes=_ints([nodes for _, nodes in self.promises]),
            requests=frozen(self._indices([key for key, _ in asked])) if asked else NO_JOBS,
            requested_nodes=_ints([nodes for _, nodes in asked]),
            jobs=self.jobs.columns(),
            profiles=NO_PROFILES,
        )
        return view, begun

    def start(self, job: int, nodes: int, now: float) -> None:
        """Note that a job starts now."""
        key = self.jobs.keys[job]
        self._hold(RunningJob(key, nodes, now), now)

    def resize(self, job: int, nodes: int, promised: int, now: float) -> None:
        """Note that a running job is to change its size, and how many of the nodes it gives up are promised.

        A job without points does it now; else the snapshot will tell.
        """
        key = self.jobs.keys[job]
        if self.jobs.columns().points[job]:
            self._given[key] = (nodes, self._given.get(key, (0, 0))[1] + promised)
        else:
            self._hold(self._rows[key]._replace(nodes=nodes), now)
            self.pool += promised

    def promise(self, job: int, nodes: int, from_free: int) -> None:
        """Note that a job is promised nodes, and how many of them are free."""
        self.promises.append((job, nodes))
        self.pool += from_free

    def start_promised(self, now: float) -> list[tuple[int, int]]:
        """Return the promised jobs that start now, with their nodes: the first that has to wait ends it."""
        begun = []
        while self.promises and self.promises[0][1] <= self.pool:
            job, nodes = self.promises.pop(0)
            self.pool -= nodes
            self.start(job, nodes, now)
            begun.append((job, nodes))
        return begun

    def _indices(self, keys: Iterable[Key]) -> IntArray:
        try:
            return np.fromiter(map(self.jobs.index.__getitem__, keys), dtype=np.int64)
        except KeyError as error:
            raise _unknown(error.args[0]) from None

    def _changed(
        self, rows: dict[Key, RunningJob], queue: Sequence[Key], now: float
    ) -> tuple[list[int], list[int]]:
        """Note what runs, and return jobs that have ended and those that have changed their sizes."""
        completed, resized = [], []
        gone = self._rows.keys() - rows.keys()
        waiting = {*queue} if gone else set()
        for key in gone:
            _, _, job = self._entries.pop(key)
            del self._rows[key]
            if key in waiting:  # ordered, but not started after all
                self.jobs.started(job, math.nan)
            else:
                self.jobs.ended(job, now)
                completed.append(job)
        for key, row in rows.items():
            before = self._rows.get(key)
            if row != before:
                self._hold(row, now)
                if before is not None and before.nodes != row.nodes:
                    resized.append(self._entries[key][2])
        self._running = None
        return completed, resized

    def _hold(self, row: RunningJob, now: float) -> None:
        """Note what a running job holds, and when it is expected to end."""
        key, before, jobs = row.key, self._rows.get(row.key), self.jobs
        if before is None or row.start != before.start:
            if key not in jobs.index:
                raise _unknown(key)
            job = jobs.index[key]
            expected, rank = row.start + jobs.expected_run(job, row.nodes), self._ranks
            jobs.started(job, row.start)
            self._ranks += 1
        else:
            expected, rank, job = self._entries[key]
            if row.nodes != before.nodes:
                rank = self._ranks
                self._ranks += 1
                # As much of the expected work is left as before: who runs longer than expected stays so.
                if expected > now:
                    slower = relative_time(jobs.columns(), job, row.nodes)
                    expected = now + (expected - now) * (
                        (1 / relative_time(jobs.columns(), job, before.nodes)) / (1 / slower)
                    )
        if not math.isnan(row.expected_end):
            expected = float(row.expected_end)
        self._rows[key], self._entries[key], self._running = row, (expected, rank, job), None

    def _collected(self, queue: Sequence[Key]) -> int:
        """Return the free nodes that wait for promised jobs, with those just given up for them."""
        for key, (target, promised) in [*self._given.items()]:
            row = self._rows.get(key)
            if row is None or row.nodes == target:
                self.pool += promised
                del self._given[key]
        if self.promises:
            waiting = {*queue}
            self.promises = [promise for promise in self.promises if self.jobs.keys[promise[0]] in waiting]
        if self.pool:
            self.pool = min(self.pool, sum(nodes for _, nodes in self.promises))
        return self.pool

    def _listed(self) -> _Running:
        """Return the running jobs by expected end; of equal ones the first that started or changed first."""
        if self._running is None:
            ordered = sorted(
                (*self._entries[key], row.nodes, row.target or row.nodes) for key, row in self._rows.items()
            )
            ends, _, jobs, held, targets = zip(*ordered, strict=True) if ordered else ((),) * 5
            self._running = _Running(
                jobs=_ints(jobs),
                ends=frozen(np.array(ends, dtype=np.float64)),
                held=_ints(held),
                targets=_ints(targets),
                first=ends[0] if ends else math.inf,
                total=sum(held),
                reserved=sum(max(0, target - size) for size, target in zip(held, targets, strict=True)),
            )
        return self._running

    def _in_order(self, waiting: IntArray, promised: list[int]) -> IntArray:
        """Return the queue in the order of submission, without jobs that were promised nodes."""
        if promised:
            waiting = waiting[~np.isin(waiting, promised)]
        if self.jobs.in_order and (waiting[1:] > waiting[:-1]).all():
            return waiting
        return waiting[np.lexsort((waiting, self.jobs.columns().submit[waiting]))]


class _Running(NamedTuple):
    """Running jobs by expected end."""

    jobs: IntArray
    #: Seconds.
    ends: FloatArray
    held: IntArray
    targets: IntArray
    #: The first end, infinite if nothing runs; nodes held; nodes kept for jobs that are to grow.
    first: float
    total: int
    reserved: int


def _unknown(key: Key) -> InvalidOption:
    return InvalidOption(f"job {shown(key)} is in the snapshot, but has not been added")


def _ints(values: Sequence[int]) -> IntArray:
    return frozen(np.array(values, dtype=np.int64)) if values else NO_JOBS
