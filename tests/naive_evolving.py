"""A slow twin of the engine with jobs of all kinds: what evolving jobs and stalls mean, exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from naive_malleable import Cluster, Run

from allocsolve.model import Phases, Profile, Requests, Stall, WorkloadProblem
from allocsolve.model.evolving import Join

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class ElasticRun(Run):
    """A job that runs; `size` is what it holds, `working` what it works on."""

    working: int = 0
    #: When the piece of its present size began; `since` is later while it stalls.
    piece: float = 0.0
    #: Nodes that it gives up at the end of its stall.
    released_at: float = math.inf
    #: When it did so: another change at that instant has its own stall, and so the piece between is told.
    released: float = -math.inf
    #: Its last change: when, from which size, from when on its stall counts.
    changed: float = -math.inf
    before: int = 0
    base: float = 0.0
    #: The events, phases or steps that are to come; the first one is the present phase or step.
    plan: list[tuple[float, float]] = field(default_factory=list)
    #: Of a job with phases: whether it has started to work; its node that joins, and those that leave.
    ready: bool = False
    joins: float = math.inf
    leaves: float = math.inf
    gives: float = math.inf
    #: Of a job with a profile.
    waits: bool = False
    #: When it was granted nodes, or began to give some back.
    altered: float = -math.inf

    @property
    def useful(self) -> int:
        return self.size - (self.joins < math.inf) - (self.leaves < math.inf)


@dataclass
class ElasticCluster(Cluster):
    """The cluster; `requests` are pairs of jobs and sizes, in the order in which they were made."""

    running: dict[int, ElasticRun] = field(default_factory=dict)  # type: ignore[assignment]
    requests: list[tuple[int, int]] = field(default_factory=list)
    resized: list[int] = field(default_factory=list)
    ticks: bool = False  #: whether the clock of the policy ticks

    def start(self, job: int, nodes: int) -> None:
        super().start(job, nodes)
        run = ElasticRun(**vars(self.running[job]), working=nodes, piece=self.now)
        self.running[job] = run
        evolution = self.rows[job].evolution
        if isinstance(evolution, Requests):
            run.plan = list(evolution.events)
        elif isinstance(evolution, Profile):
            run.plan = [*evolution.steps]
            self.free += (
                nodes - evolution.steps[0][1]
            )  # where the first step needs no nodes it gives one back
            run.size = run.target = evolution.steps[0][1]
            self.begin_step(run)
        elif isinstance(evolution, Phases):
            run.plan = [(work, math.inf if most is None else most) for work, most in evolution.phases]
            run.left, run.end = run.plan[0][0], math.inf
            run.since = self.now + self.join(run).start

    def has_profile(self, job: int) -> bool:
        return isinstance(self.rows[job].evolution, Profile)

    def join(self, run: ElasticRun) -> Join:
        cost = self.rows[run.job].reconfiguration
        return cost if isinstance(cost, Join) else Join()

    def hold(self, run: ElasticRun, size: int) -> None:
        """Let a job hold another number of nodes from now on."""
        if self.now > run.piece or run.released == self.now:
            run.pieces.append((run.piece, self.now, run.size))
        run.size, run.piece, run.released = size, self.now, -math.inf

    def rate(self, run: ElasticRun) -> float:
        evolution = self.rows[run.job].evolution
        if isinstance(evolution, Phases):
            return float(min(run.useful, run.plan[0][1]))
        if isinstance(evolution, Profile):
            return 0.0 if run.waits else 1.0
        return 1 / self.ratio(run.job, run.working)

    def work_left(self, run: Run) -> float:
        assert isinstance(run, ElasticRun)
        return run.left - self.rate(run) * max(0.0, self.now - run.since)

    # Changes of malleable jobs and of those with requests.

    def stalled_until(self, run: ElasticRun, size: int) -> float:
        cost = self.rows[run.job].reconfiguration
        if not isinstance(cost, Stall) or cost.seconds(1, 2) == 0:
            return self.now
        if run.changed != self.now:
            run.changed, run.before, run.base = self.now, run.size, max(self.now, run.since)
        if run.before == size or run.start == self.now:
            return run.base
        return run.base + cost.seconds(run.before, size)

    def take_effect(self, run: Run) -> None:
        assert isinstance(run, ElasticRun)
        cost = self.rows[run.job].reconfiguration
        resume, size = self.stalled_until(run, run.target), run.target
        goes_on, left = max(self.now, run.since), self.work_left(run)
        before, after = self.rate(run), 1 / self.ratio(run.job, size)
        run.since, run.left, run.working, run.point = resume, left, size, math.inf
        run.end = resume + max(0.0, left) / after
        if run.expected > goes_on:
            run.expected = resume + (run.expected - goes_on) * (before / after)
        if size > run.size:
            self.reserved -= size - run.size
            self.hold(run, size)
        elif isinstance(cost, Stall) and cost.holds == "larger" and resume > self.now and size < run.size:
            run.released_at = resume
        else:
            self.release(run)

    def release(self, run: ElasticRun) -> None:
        """Let a job give up what it holds beyond its target."""
        self.pool += run.promised
        self.free += run.size - run.target - run.promised
        run.promised, run.released_at = 0, math.inf
        self.hold(run, run.target)

    def resize(self, run: Run, nodes: int, promised: int = 0) -> None:
        assert isinstance(run, ElasticRun)
        points, since = self.rows[run.job].points, run.since
        if points and run.target == run.size and since > self.now:
            # The way to the next point is the same from the end of the stall on.
            now, self.now = self.now, since
            super().resize(run, nodes, promised)
            self.now = now
        else:
            super().resize(run, nodes, promised)

    def complete(self, run: Run) -> None:
        assert isinstance(run, ElasticRun)
        grows, over = max(0, run.target - run.size), run.size
        del self.running[run.job]
        self.reserved -= grows
        self.pool += run.promised
        self.free += over + grows - run.promised
        run.pieces.append((run.piece, run.end, run.size))
        self.done[run.job] = run
        self.drop_request(run.job)

    # Requests.

    def drop_request(self, job: int) -> None:
        self.requests = [request for request in self.requests if request[0] != job]

    def answer(self, job: int, *, granted: bool) -> None:
        size = dict(self.requests)[job]
        self.drop_request(job)
        if not granted:
            assert isinstance(self.rows[job].evolution, Requests)
            return
        run = self.running[job]
        more, run.altered = size - run.size, self.now
        assert 0 < more <= self.free
        self.free -= more
        run.target += more
        if isinstance(self.rows[job].evolution, Requests):
            self.reserved += more
            self.take_effect(run)
            return
        if isinstance(self.rows[job].evolution, Profile):
            self.hold(run, size)
            self.begin_step(run)
            return
        self.count_progress(run)
        self.hold(run, size)
        run.joins = self.now + self.join(run).grow
        if len(run.plan) == 1:
            run.end = self.phase_end(run)

    # What happens within a job; each returns whether anybody notices.

    def next_moment(self, run: ElasticRun) -> float:
        """Return when something happens next within a job."""
        row = self.rows[run.job]
        if row.kind == "malleable":
            return min(run.point, run.released_at)
        if isinstance(row.evolution, Requests):
            if run.released_at < math.inf:
                return run.released_at
            if not run.plan:
                return math.inf
            work = run.left - run.plan[0][0] * row.runtime
            return max(self.now, run.since + work / self.rate(run))
        if isinstance(row.evolution, Profile):
            return math.inf if run.waits or len(run.plan) == 1 else run.since + run.plan[0][0]
        if isinstance(row.evolution, Phases):
            if not run.ready:
                return run.since
            gives = run.gives if run.leaves == math.inf else math.inf
            last = len(run.plan) == 1
            return max(self.now, min(run.joins, run.leaves, gives, math.inf if last else self.phase_end(run)))
        return math.inf

    def happen(self, run: ElasticRun) -> bool:
        row, size = self.rows[run.job], run.size
        if isinstance(row.evolution, Phases):
            return self.go_through_phases(run)
        if isinstance(row.evolution, Profile):
            run.plan.pop(0)
            nodes = int(run.plan[0][1])
            if nodes > run.size:
                run.waits, run.since, run.left = True, self.now, 0.0
                self.requests.append((run.job, nodes))
                return True
            if nodes < run.size:
                run.altered = self.now
            self.free += run.size - nodes
            run.target = nodes
            self.hold(run, nodes)
            self.begin_step(run)
        elif run.released_at <= self.now:
            self.release(run)
            run.released = self.now
        elif row.kind == "malleable":
            self.take_effect(run)
        else:
            _, change = run.plan.pop(0)
            self.drop_request(run.job)
            assert row.min_nodes is not None
            assert row.max_nodes is not None
            wanted = min(max(run.size + int(change), row.min_nodes), row.max_nodes)
            if wanted < run.size:
                run.target, run.altered = wanted, self.now
                self.take_effect(run)
            elif wanted > run.size:
                self.requests.append((run.job, wanted))
                return True
        return self.note_size(run, size)

    def note_size(self, run: ElasticRun, before: int) -> bool:
        if run.size != before and run.job not in self.resized:
            self.resized.append(run.job)
        return run.size != before

    def begin_step(self, run: ElasticRun) -> None:
        run.waits, run.since, run.left = False, self.now, run.plan[0][0]
        run.end = self.now + run.left if len(run.plan) == 1 else math.inf

    # Phases.

    def phase_end(self, run: ElasticRun) -> float:
        return run.since + max(0.0, run.left) / self.rate(run)

    def count_progress(self, run: ElasticRun) -> None:
        """Count the progress up to now: before every change of the useful nodes."""
        run.left = self.work_left(run)
        run.since = self.now

    def go_through_phases(self, run: ElasticRun) -> bool:
        evolution, row = self.rows[run.job].evolution, self.rows[run.job]
        assert isinstance(evolution, Phases)
        assert row.max_nodes is not None
        size = run.size
        run.ready = True
        if len(run.plan) > 1 and self.phase_end(run) <= self.now:
            run.plan.pop(0)
            run.since, run.left = self.now, run.plan[0][0]
        if run.joins <= self.now:
            self.count_progress(run)
            run.joins = math.inf
        self.watch(run, evolution.release_delay)
        while min(run.leaves, run.gives) <= self.now:
            if run.leaves <= self.now:
                run.leaves = math.inf
                self.free += 1
                self.hold(run, run.size - 1)
                self.requests = [
                    (job, run.size + 1 if job == run.job else asked) for job, asked in self.requests
                ]
            elif run.leaves < math.inf:
                break
            else:
                self.count_progress(run)
                run.leaves, run.gives = self.now + self.join(run).shrink, math.inf
                run.altered = self.now
                run.target -= 1
                self.drop_request(run.job)
            self.watch(run, evolution.release_delay)
        noticed = self.note_size(run, size)
        asks = run.joins == math.inf and run.job not in dict(self.requests)
        asks = asks and run.size < min(run.plan[0][1], row.max_nodes)
        if asks:
            self.requests.append((run.job, run.size + 1))
        if len(run.plan) == 1:
            run.end = self.phase_end(run)
        return noticed or asks

    def watch(self, run: ElasticRun, delay: float) -> None:
        """Start the count if there are too many useful nodes, stop it if not."""
        if run.useful <= run.plan[0][1]:
            run.gives = math.inf
        elif run.gives == math.inf:
            run.gives = self.now + delay


def naive_elastic(
    problem: WorkloadProblem,
    policy: Callable[[ElasticCluster], None],
    *,
    coalesce: bool = True,
    polling: float = math.inf,
) -> ElasticCluster:
    """Run a workload to its end, or until nothing will happen any more.

    The policy is called where it notices something, and at the multiples of `polling` seconds until all jobs
    have ended.
    """
    cluster = ElasticCluster(list(problem.jobs), problem.num_nodes, free=problem.num_nodes)
    cluster.future = list(range(len(cluster.rows)))
    ticks, tick = 0, 0.0 if polling < math.inf else math.inf
    while True:
        # (time, kind, job) of all that is to come, in order.
        events = [(run.end, 0, run.job) for run in cluster.running.values()]
        events += [(cluster.next_moment(run), 1, run.job) for run in cluster.running.values()]
        events += [(cluster.rows[job].submit, 2, job) for job in cluster.future]
        time, kind, job = min([*events, (tick, 3, 0)])
        if time == math.inf or not (cluster.future or cluster.queue or cluster.running):
            return cluster
        cluster.now, noticed = time, False
        cluster.resized, cluster.ticks = [], tick == time
        if coalesce:
            ends = sorted(run.job for run in cluster.running.values() if run.end == time)
            for job in ends:
                cluster.complete(cluster.running[job])
            noticed = bool(ends)
            for job in sorted(cluster.running):
                run = cluster.running[job]
                while cluster.next_moment(run) == time:
                    noticed |= cluster.happen(run)
            arrived = [job for job in cluster.future if cluster.rows[job].submit == time]
            noticed |= bool(arrived)
        elif kind == 0:
            cluster.complete(cluster.running[job])
            noticed, arrived = True, []
        elif kind == 1:
            noticed, arrived = cluster.happen(cluster.running[job]), []
        else:
            noticed, arrived = True, [job]
        if cluster.ticks:
            ticks, noticed = ticks + 1, True
            assert ticks < 100_000, "nobody decides anything any more"
            tick = ticks * polling
        cluster.queue += arrived
        cluster.future = [job for job in cluster.future if job not in arrived]
        if not noticed:
            continue
        cluster.calls += 1
        cluster.start_promised()
        cluster.check()
        policy(cluster)
        cluster.check()
