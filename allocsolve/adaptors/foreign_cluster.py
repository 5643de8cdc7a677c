"""Another program's cluster as our policies see it, from one snapshot to the next."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.adaptors.foreign_jobs import ForeignJobs
from allocsolve.errors import InvalidOption
from allocsolve.model.arrays import frozen
from allocsolve.model.checks import integer, shown
from allocsolve.simulation.known_profiles import NO_PROFILES
from allocsolve.simulation.sizes import relative_time
from allocsolve.simulation.view import QueueView

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from allocsolve.adaptors.foreign_jobs import Key
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.jobs import FloatArray
    from allocsolve.simulation import Knowledge

__all__ = ["ForeignCluster", "RunningJob"]

_NO_JOBS: Final = frozen(np.empty(0, dtype=np.int64))


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

    Parameters
    ----------
    num_nodes
        Of the cluster.
    knowledge
        As of `ForeignJobs`.
    """

    def __init__(self, num_nodes: int, knowledge: Knowledge = "estimate") -> None:
        self.num_nodes = integer("num_nodes", num_nodes, InvalidOption)
        #: The jobs of the other program.
        self.jobs = ForeignJobs(knowledge)
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

        Parameters
        ----------
        now, free, queue, running, requests
            As of `PolicyDriver.decide`.
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
            expected_ends=listed.ends if listed.first >= now else _at_least(listed.ends, now),
            held=listed.held,
            targets=listed.targets,
            resized=_ints(sorted(resized)),
            pool=self.pool,
            reserved=reserved,
            promises=_ints([job for job, _ in self.promises]),
            promised_nodes=_ints([nodes for _, nodes in self.promises]),
            requests=frozen(self._indices([key for key, _ in asked])) if asked else _NO_JOBS,
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
        """Note that a running job is to change its size; so many of the nodes it gives up are promised.

        A job without points does it now; else the snapshot will tell.
        """
        key = self.jobs.keys[job]
        if self.jobs.columns().points[job]:
            self._given[key] = (nodes, self._given.get(key, (0, 0))[1] + promised)
        else:
            self._hold(self._rows[key]._replace(nodes=nodes), now)
            self.pool += promised

    def promise(self, job: int, nodes: int, from_free: int) -> None:
        """Note that a job is promised nodes, so many of them free ones."""
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
            self.promises = [one for one in self.promises if self.jobs.keys[one[0]] in waiting]
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
                ends=_at_least(np.array(ends, dtype=np.float64), -math.inf),
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
    msg = f"job {shown(key)} is in the snapshot, but has not been added"
    return InvalidOption(msg)


def _ints(values: Sequence[int]) -> IntArray:
    return frozen(np.array(values, dtype=np.int64)) if values else _NO_JOBS


def _at_least(values: FloatArray, least: float) -> FloatArray:
    bounded = np.maximum(values, least)
    bounded.setflags(write=False)
    return bounded
