"""Another program's cluster as our policies see it, from one snapshot to the next."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve.adaptors.foreign_jobs import ForeignJobs
from allocsolve.errors import InvalidOption
from allocsolve.model.arrays import frozen
from allocsolve.model.checks import integer, shown
from allocsolve.simulation.known_profiles import NO_PROFILES
from allocsolve.simulation.sizes import relative_time
from allocsolve.simulation.view import QueueView

if TYPE_CHECKING:
    from collections.abc import Iterable

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
        #: By job whose shrink is pending: the nodes that it will hold, and how many of those that it gives
        #: up are promised.
        self._given: dict[int, tuple[int, int]] = {}
        self._reported = self._calls = self._ranks = 0
        #: Jobs that waited or ran after the last call.
        self._live: list[IntArray] = []
        #: By job: the nodes that it holds, 0 if it does not run; the last snapshot that had it; which start
        #: it was; when it started and is expected to end, in seconds.
        self._held, self._seen, self._rank = (np.zeros(0, dtype=np.int64) for _ in range(3))
        self._start, self._expected = np.zeros(0), np.zeros(0)

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
        self._make_room()
        self._calls += 1
        waiting = self._indices(queue)
        rows = list(running)
        keys, nodes, starts, targets, ends = zip(*rows, strict=True) if rows else ((),) * 5
        runs, held = self._indices(keys), np.array(nodes, dtype=np.int64)
        resized = self._note_running(
            now, runs, held, np.array(starts, dtype=float), np.array(ends, dtype=float)
        )
        completed = self._forget_gone(now, waiting, runs)
        target = np.array(targets, dtype=np.int64)
        target = np.where(target == 0, held, target)
        reserved = int(np.maximum(target - held, 0).sum())
        left = self._take_promised(free)
        if left < 0 or free + held.sum() + reserved > self.num_nodes:
            kept = f", {reserved} are kept for running jobs and {self.pool} for promises"
            msg = f"at {now:.15g} s {free} of {self.num_nodes} nodes are free, {held.sum()} are held{kept}"
            raise InvalidOption(msg)
        begun = self.start_promised(now)
        if begun:
            runs = np.concatenate([runs, [job for job, _ in begun]])
            held, target = (np.concatenate([one, [size for _, size in begun]]) for one in (held, target))
        order = np.lexsort((self._rank[runs], self._expected[runs]))
        runs = runs[order]
        waiting = self._in_order(waiting, promised=bool(begun or self.promises))
        count, asked = len(self.jobs), list(requests)
        submitted = np.arange(self._reported, count)
        self._reported, self._live = count, [waiting, runs, self._promised()]
        woken = bool(self.wakes) and self.wakes[0] <= now
        self.wakes = [at for at in self.wakes if at > now]
        view = QueueView(
            now=now,
            completed=frozen(completed),
            submitted=frozen(submitted),
            woken=woken,
            num_nodes=self.num_nodes,
            free=left,
            queue=frozen(waiting),
            running=frozen(runs),
            expected_ends=_read_only(np.maximum(self._expected[runs], now)),
            held=frozen(held[order]),
            targets=frozen(target[order]),
            resized=frozen(resized),
            pool=self.pool,
            reserved=reserved,
            promises=frozen(self._promised()),
            promised_nodes=frozen(np.array([size for _, size in self.promises], dtype=np.int64)),
            requests=frozen(self._indices([key for key, _ in asked])),
            requested_nodes=frozen(np.array([size for _, size in asked], dtype=np.int64)),
            jobs=self.jobs.columns(),
            profiles=NO_PROFILES,
        )
        return view, begun

    def start(self, job: int, nodes: int, now: float) -> None:
        """Note that a job starts now."""
        self._hold(job, nodes, now, now)

    def resize(self, job: int, nodes: int, promised: int, now: float) -> None:
        """Note that a running job is to change its size; so many of the nodes it gives up are promised.

        A job without points does it now; else the snapshot will tell.
        """
        if self.jobs.columns().points[job]:
            self._given[job] = (nodes, self._given.get(job, (0, 0))[1] + promised)
        else:
            self._hold(job, nodes, float(self._start[job]), now)
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

    def _make_room(self) -> None:
        have, needed = len(self._held), len(self.jobs)
        if have < needed:
            size = max(needed, 2 * have)
            self._held, self._seen, self._rank = (
                np.concatenate([one, np.zeros(size - have, dtype=np.int64)])
                for one in (self._held, self._seen, self._rank)
            )
            self._start, self._expected = (
                np.concatenate([one, np.full(size - have, np.nan)]) for one in (self._start, self._expected)
            )

    def _indices(self, keys: Iterable[Key]) -> IntArray:
        try:
            return np.fromiter(map(self.jobs.index.__getitem__, keys), dtype=np.int64)
        except KeyError as error:
            msg = f"job {shown(error.args[0])} is in the snapshot, but has not been added"
            raise InvalidOption(msg) from None

    def _note_running(self, now: float, runs: IntArray, held: IntArray, starts: Any, ends: Any) -> IntArray:  # noqa: ANN401 - arrays
        """Note what running jobs hold, and return those that have changed their sizes."""
        before = self._held[runs]
        changed = np.flatnonzero((held != before) | (starts != self._start[runs]))
        for at in changed.tolist():
            self._hold(int(runs[at]), int(held[at]), float(starts[at]), now)
        told = np.flatnonzero(~np.isnan(ends))
        self._expected[runs[told]] = ends[told]
        return np.sort(runs[(held != before) & (before > 0)])

    def _hold(self, job: int, nodes: int, start: float, now: float) -> None:
        before, self._held[job] = int(self._held[job]), nodes
        if not before or start != self._start[job]:
            self._start[job], self._rank[job] = start, self._ranks
            self._ranks += 1
            self._expected[job] = start + self.jobs.expected_run(job, nodes)
            self.jobs.started(job, start)
            return
        # As much of the expected work is left as before: who runs longer than expected stays so.
        jobs, expected = self.jobs.columns(), self._expected[job]
        if expected > now:
            faster = (1 / relative_time(jobs, job, before)) / (1 / relative_time(jobs, job, nodes))
            self._expected[job] = now + (expected - now) * faster
        self._rank[job] = self._ranks
        self._ranks += 1

    def _forget_gone(self, now: float, waiting: IntArray, runs: IntArray) -> IntArray:
        """Forget jobs that neither wait nor run any more, and return those of them that ran."""
        self._seen[waiting] = self._seen[runs] = self._calls
        live = np.concatenate(self._live) if self._live else _NO_JOBS
        gone = np.unique(live[self._seen[live] != self._calls])
        ended = gone[self._held[gone] > 0]
        self.jobs.ended(ended, now)
        self._held[gone] = 0
        for job in waiting[
            self._held[waiting] > 0
        ].tolist():  # the other program has not started it after all
            self._held[job] = 0
            self._start[job] = math.nan
            self.jobs.started(job, math.nan)
        if self.promises:
            cancelled = {*gone.tolist()}
            self.promises = [one for one in self.promises if one[0] not in cancelled]
        for job, (target, promised) in [*self._given.items()]:
            if self._held[job] in {0, target}:
                self.pool += promised
                del self._given[job]
        return ended

    def _take_promised(self, free: int) -> int:
        """Return the free nodes that are not promised to anybody."""
        self.pool = min(self.pool, sum(nodes for _, nodes in self.promises))
        return free - self.pool

    def _promised(self) -> IntArray:
        return np.array([job for job, _ in self.promises], dtype=np.int64)

    def _in_order(self, waiting: IntArray, *, promised: bool) -> IntArray:
        """Return the queue in the order of submission, without jobs that were promised nodes if there are."""
        if promised:
            waiting = waiting[~np.isin(waiting, self._promised()) & (self._held[waiting] == 0)]
        if self.jobs.in_order and (waiting[1:] > waiting[:-1]).all():
            return waiting
        return waiting[np.lexsort((waiting, self.jobs.columns().submit[waiting]))]


def _read_only(array: FloatArray) -> FloatArray:
    array.setflags(write=False)
    return array
