"""A slow twin of the engine of malleable jobs: objects, events in a sorted list, definitions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from naive_resources import edges_of, release_of

from allocsolve.model import Amdahl, Job, PowerLaw, SpeedupTable, WorkloadProblem
from allocsolve.model.jobs import DEFAULT_LIMIT_FACTOR

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable

    from allocsolve.model import WorkloadSchedule

Piece = tuple[float, float, int]


@dataclass
class Run:
    """A job that runs, or ran: its pieces, the last of which is open until it ends."""

    job: int
    size: int
    target: int
    start: float
    since: float
    left: float
    end: float
    expected: float
    promised: int = 0
    point: float = math.inf
    decided: int = -1
    pieces: list[tuple[float, float, int]] = field(default_factory=list)


def limit_of(row: Job) -> float:
    return DEFAULT_LIMIT_FACTOR * row.runtime if row.limit is None else row.limit


def sizes_of(job: Job) -> list[int]:
    """Return the numbers of nodes on which a job may run."""
    if isinstance(job.speedup, SpeedupTable):
        return [nodes for nodes, _ in job.speedup.rows]
    assert job.min_nodes is not None
    assert job.max_nodes is not None
    return [nodes for nodes in range(job.min_nodes, job.max_nodes + 1) if fits(nodes, job.size_set)]


def seconds_on(job: Job, nodes: int) -> float:
    """Return the run time of a job on a number of nodes."""
    if isinstance(job.speedup, SpeedupTable):
        return dict(job.speedup.rows)[nodes]
    if job.speedup is None or nodes == job.nodes:
        return job.runtime
    return job.runtime * job.speedup.time_ratio(nodes, job.nodes)


@dataclass
class Cluster:
    """Jobs and the nodes that they run on."""

    rows: list[Job]
    num_nodes: int
    now: float = 0.0
    calls: int = 0
    free: int = 0
    pool: int = 0
    reserved: int = 0
    future: list[int] = field(default_factory=list)
    queue: list[int] = field(default_factory=list)
    promises: list[tuple[int, int]] = field(default_factory=list)
    running: dict[int, Run] = field(default_factory=dict)
    done: dict[int, Run] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)
    #: Of a job that was backfilled, the one that was blocked.
    blocked: dict[int, int] = field(default_factory=dict)
    problem: WorkloadProblem | None = None

    def ratio(self, job: int, nodes: int) -> float:
        row = self.rows[job]
        if nodes == row.nodes or row.speedup is None:
            return 1.0
        if isinstance(row.speedup, SpeedupTable):
            return dict(row.speedup.rows)[nodes] / row.runtime
        return row.speedup.time_ratio(nodes, row.nodes)

    def sizes(self, job: int) -> list[int]:
        return sizes_of(self.rows[job])

    def estimate(self, job: int, nodes: int) -> float:
        return limit_of(self.rows[job]) * self.ratio(job, nodes)

    def check(self) -> None:
        used = sum(run.size for run in self.running.values())
        assert used + self.free + self.pool + self.reserved == self.num_nodes
        assert min(self.free, self.pool, self.reserved) >= 0
        coming = sum(run.promised for run in self.running.values())
        assert self.pool + coming == sum(nodes for _, nodes in self.promises)
        growing = sum(max(0, run.target - run.size) for run in self.running.values())
        assert self.reserved == growing

    # What changes.

    def start(self, job: int, nodes: int) -> None:
        assert nodes <= self.free
        if job in self.queue:
            self.queue.remove(job)
        self.free -= nodes
        now, work = self.now, self.rows[job].runtime
        end = now + seconds_on(self.rows[job], nodes)
        expected = now + self.estimate(job, nodes)
        self.running[job] = Run(job, nodes, nodes, now, now, work, end, expected)
        self.starts.append(job)

    def work_left(self, run: Run) -> float:
        return run.left - 1 / self.ratio(run.job, run.size) * (self.now - run.since)

    def resize(self, run: Run, nodes: int, promised: int = 0) -> None:
        pending = run.target != run.size
        grown = max(0, nodes - run.target)
        self.free -= grown
        self.reserved += grown
        run.target = nodes
        run.promised += promised
        run.decided = self.calls
        points = self.rows[run.job].points
        if points == 0:
            self.take_effect(run)
        elif not pending:
            work = self.rows[run.job].runtime
            done = work - self.work_left(run)
            part = work / points
            point = math.floor(done / part + 1e-7) + 1
            if point < points:
                run.point = self.now + (point * part - done) / (1 / self.ratio(run.job, run.size))

    def take_effect(self, run: Run) -> None:
        before, after = 1 / self.ratio(run.job, run.size), 1 / self.ratio(run.job, run.target)
        run.left = self.work_left(run)
        if self.now > run.since:
            run.pieces.append((run.since, self.now, run.size))
        if run.target > run.size:
            self.reserved -= run.target - run.size
        else:
            self.pool += run.promised
            self.free += run.size - run.target - run.promised
        run.size, run.since, run.point, run.promised = run.target, self.now, math.inf, 0
        run.end = self.now + max(0.0, run.left) / after
        if run.expected > self.now:
            run.expected = self.now + (run.expected - self.now) * (before / after)

    def complete(self, run: Run) -> None:
        del self.running[run.job]
        grows = max(0, run.target - run.size)
        self.reserved -= grows
        self.pool += run.promised
        self.free += run.size + grows - run.promised
        run.pieces.append((run.since, run.end, run.size))
        self.done[run.job] = run

    def promise(self, job: int, nodes: int, from_free: int) -> None:
        self.queue.remove(job)
        self.free -= from_free
        self.pool += from_free
        self.promises.append((job, nodes))
        self.start_promised()

    def start_promised(self) -> None:
        while self.promises and self.promises[0][1] <= self.pool:
            job, nodes = self.promises.pop(0)
            self.pool -= nodes
            self.free += nodes
            self.start(job, nodes)


def naive_malleable(
    problem: WorkloadProblem,
    policy: Callable[[Cluster], None],
    *,
    coalesce: bool = True,
    polling: float = math.inf,
) -> Cluster:
    """Run a workload to its end; edges of closed windows and ticks of the clock are events, too."""
    cluster = Cluster(list(problem.jobs), problem.num_nodes, free=problem.num_nodes, problem=problem)
    cluster.future = list(range(len(cluster.rows)))
    edges, tick = edges_of(problem), 0.0 if polling < math.inf else math.inf
    while True:
        # (time, kind, job) of all that is to come, in order.
        events = [(run.end, 0, run.job) for run in cluster.running.values()]
        events += [(run.point, 1, run.job) for run in cluster.running.values() if run.point < math.inf]
        events += [(release_of(cluster.rows[job]), 2, job) for job in cluster.future]
        events += [(edge, 3, 0) for edge in edges]
        if tick < math.inf and (cluster.future or cluster.queue or cluster.running):
            events.append((tick, 4, 0))
        if not events:
            return cluster
        events.sort()
        cluster.now = events[0][0]
        cluster.calls += 1
        for _, kind, job in [event for event in events if event[0] == cluster.now][: None if coalesce else 1]:
            if kind == 0:
                cluster.complete(cluster.running[job])
            elif kind == 1 and job in cluster.running:
                cluster.take_effect(cluster.running[job])
            elif kind == 2:
                cluster.future.remove(job)
                cluster.queue.append(job)
            elif kind == 3:
                edges.remove(cluster.now)
            elif kind == 4:
                tick += polling
        cluster.start_promised()
        cluster.check()
        policy(cluster)
        cluster.check()


def joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Return pieces in which neighbours of one size are one."""
    rows: list[Piece] = []
    for start, end, size in pieces:
        if rows and rows[-1][2] == size:
            rows[-1] = (rows[-1][0], end, size)
        else:
            rows.append((start, end, size))
    return rows


def pieces_of(cluster: Cluster, job: int) -> tuple[Piece, ...]:
    """Return the pieces of a job, in which neighbours of one size are one."""
    return tuple(joined(cluster.done[job].pieces if job in cluster.done else ()))


def pieces(schedule: WorkloadSchedule) -> list[tuple[Piece, ...]]:
    return [schedule.pieces(job) for job in range(len(schedule.offsets) - 1)]


def draw_malleable(rng: random.Random, most: int = 14, *, at_once: bool = False) -> WorkloadProblem:
    """Return a workload of jobs of all kinds, with few distinct times, so that events meet."""
    num_nodes = rng.choice([1, 3, 8, 16, 33])
    span = rng.choice([3, 30, 4 * most])

    def job() -> Job:
        runtime = rng.choice([1, 0.25]) * rng.randint(1, 40)
        row: dict[str, Any] = {
            "submit": rng.choice([1, 0.5]) * rng.randint(0, span),
            "nodes": rng.randint(1, num_nodes),
            "runtime": runtime,
            "limit": rng.choice([None, runtime, float(rng.randint(1, 60))]),
        }
        kind = rng.choice(["rigid", "moldable", "malleable", "malleable", "malleable"])
        if kind == "rigid":
            return Job(**row)
        row["kind"] = kind
        if kind == "malleable" and not at_once:
            row["points"] = rng.choice([0, 1, 2, 5, 40])
        size_set = rng.choice([1, 1, 1, 2, "powers-of-two"])
        sizes = [size for size in range(1, num_nodes + 1) if fits(size, size_set)]
        if not sizes:
            size_set, sizes = 1, list(range(1, num_nodes + 1))
        low, pref, high = sorted(rng.choices(sizes, k=3))
        law = rng.choice(["amdahl", "power", "table"])
        if law == "table":
            rows = [(size, float(rng.randint(1, 40))) for size in sorted({low, pref, high})]
            row["runtime"] = dict(rows)[pref]
            row["speedup"], size_set = SpeedupTable(rows), 1
        else:
            row["speedup"] = Amdahl(rng.random()) if law == "amdahl" else PowerLaw(rng.random())
        return Job(**row | {"nodes": pref, "min_nodes": low, "max_nodes": high, "size_set": size_set})

    return WorkloadProblem(num_nodes, [job() for _ in range(rng.randint(0, most))])


def fits(size: int, size_set: object) -> bool:
    """Return whether a number of nodes is in a size set."""
    return size & (size - 1) == 0 if size_set == "powers-of-two" else size % int(str(size_set)) == 0
