"""A slow twin of reactive evolving jobs and of the policies of Posner et al. 2024: what they mean, exactly.

Time is continuous. What falls on one instant happens in this order, jobs by their index:

1. completions;
2. other ends of phases; starting costs that are over; nodes that become useful;
3. nodes that have left become free; jobs give nodes back;
4. new requests;
5. submissions; the clock of the policy.

Then the policy is called once if a job ended or was submitted, a node became free, a request is new, or the
clock ticks: a phase that ends, a node that becomes useful, or one that begins to leave are no reason. What a
call brings about at the same instant (a job that starts without cost and asks) leads to another round.

A job with phases
* makes no progress, asks for nothing and counts nothing in its first `Join.start` seconds;
* works at the rate min(useful nodes, most useful nodes of the phase). Useful are the nodes that it holds
  without one that joins and one that leaves; a node is held from the grant on and joins for `Join.grow`
  seconds; a node that leaves is held for `Join.shrink` seconds more;
* asks for one node as soon as it has no open request, no node joins, and it holds fewer than
  min(most useful, `max_nodes`). The request is open until it is granted, the job ends or gives back a node;
  so it may still be granted in a phase that has no use for the node;
* counts `release_delay` seconds while it has more useful nodes than the phase can use, then gives one back:
  the node leaves, an open request is dropped, and the count starts again at once if there are still too many.
  Whenever there are not, the count stops. A count that is over while a node leaves waits until that is free.
  There is no lower limit but what the phase can use: `min_nodes` holds at the start only.

EASY as Posner's program has it: in submission order, a job starts on min(max_nodes, free) nodes if that is at
least min_nodes, and only if nobody is blocked or its limit ends before (not at) the shadow time of the first
blocked job; there is no use of extra nodes. Limits do not depend on sizes. With equal limits nothing is ever
backfilled: a job that starts now cannot end before one that started earlier.

`evolv-easyback` first grants requests, in the order in which they were made, one node each, while nodes are
free; one whose job changed its size less than `cooldown` seconds ago keeps its place. Then, with what is
left, EASY. A job changes its size when it is granted a node and when it gives one back (begins to let it go).
The clock ticks at the multiples of `polling`: with `wake_up` only a request that cools down ever waits for
it, without it everything does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from allocsolve.model import Join, Phases, SpeedupTable, WorkloadProblem

if TYPE_CHECKING:
    from allocsolve.model import Job

NO_COST = Join()


@dataclass(frozen=True)
class NaiveEvolvEasyback:
    """Options of the policy; plain EASY is this one, as only jobs with phases ask."""

    cooldown: float = 60
    polling: float = 5
    wake_up: bool = True
    requests: Literal["first", "last"] = "first"
    start_counts: bool = False


@dataclass
class Run:
    """A job that runs, or ran."""

    job: int
    row: Job
    size: int
    start: float
    #: (work, most useful nodes) of what is not done yet, the present phase first.
    phases: list[tuple[float, float]]
    join: Join
    #: Up to when progress is counted; as long as the job is not ready, when it will be.
    since: float
    evolves: bool
    ready: bool
    joins: float = math.inf
    leaves: float = math.inf
    gives: float = math.inf
    changed: float = -math.inf
    piece: float = 0.0
    end: float = math.inf
    grown: int = 0
    given: int = 0
    pieces: list[tuple[float, float, int]] = field(default_factory=list)

    @property
    def useful(self) -> int:
        return self.size - (self.joins < math.inf) - (self.leaves < math.inf)

    def phase_end(self) -> float:
        return self.since + self.phases[0][0] / min(self.useful, self.phases[0][1])

    def next_event(self) -> float:
        if not self.ready:
            return self.since
        gives = max(self.gives, self.leaves) if self.leaves < math.inf else self.gives
        return min(self.phase_end(), self.joins, self.leaves, gives)

    def advance(self, now: float) -> None:
        """Count the progress up to now: before every change of the useful nodes."""
        if self.ready:
            work, most = self.phases[0]
            self.phases[0] = (work - min(self.useful, most) * (now - self.since), most)
            self.since = now

    def resize(self, size: int, now: float) -> None:
        if now > self.piece:
            self.pieces.append((self.piece, now, self.size))
        self.size, self.piece = size, now

    def watch(self, now: float) -> None:
        """Start the count if there are too many useful nodes, stop it if not."""
        if not (self.evolves and self.ready and self.useful > self.phases[0][1]):
            self.gives = math.inf
        elif self.gives == math.inf:
            assert isinstance(self.row.evolution, Phases)
            self.gives = now + self.row.evolution.release_delay


@dataclass
class Cluster:
    rows: list[Job]
    #: Of each job.
    min_nodes: list[int]
    max_nodes: list[int]
    limit: list[float]
    num_nodes: int
    free: int
    now: float = 0.0
    ticks: int = 0
    calls: int = 0
    future: list[int] = field(default_factory=list)
    queue: list[int] = field(default_factory=list)
    requests: list[Run] = field(default_factory=list)
    running: dict[int, Run] = field(default_factory=dict)
    done: dict[int, Run] = field(default_factory=dict)

    def in_order(self) -> list[Run]:
        return [self.running[job] for job in sorted(self.running)]

    def start(self, job: int, nodes: int) -> Run:
        assert nodes <= self.free
        self.queue.remove(job)
        self.free -= nodes
        row = self.rows[job]
        if isinstance(row.evolution, Phases):
            phases = [(work, math.inf if most is None else most) for work, most in row.evolution.phases]
            join = row.reconfiguration if isinstance(row.reconfiguration, Join) else NO_COST
            since, evolves = self.now + join.start, True
        else:
            assert row.kind in {"rigid", "moldable"}
            phases = [(run_time(row, nodes), 1)]
            since, evolves, join = self.now, False, NO_COST
        run = Run(job, row, nodes, self.now, phases, join, since, evolves=evolves, ready=not evolves)
        run.piece = self.now
        self.running[job] = run
        return run

    def grant(self, run: Run) -> None:
        self.requests.remove(run)
        self.free -= 1
        run.advance(self.now)
        run.resize(run.size + 1, self.now)
        run.joins = self.now + run.join.grow
        run.changed = self.now
        run.grown += 1

    # What happens at an instant; each returns whether the policy is to be called.

    def complete(self) -> bool:
        over = [run for run in self.in_order() if run.ready and len(run.phases) == 1]
        over = [run for run in over if run.phase_end() <= self.now]
        for run in over:
            self.free += run.size
            run.resize(0, self.now)
            run.end = self.now
            self.done[run.job] = self.running.pop(run.job)
            if run in self.requests:
                self.requests.remove(run)
        return bool(over)

    def go_on(self) -> None:
        for run in self.in_order():
            if run.ready and run.phase_end() <= self.now:
                run.phases.pop(0)
                run.since = self.now
            if not run.ready and run.since <= self.now:
                run.ready = True
            if run.joins <= self.now:
                run.advance(self.now)
                run.joins = math.inf
            run.watch(self.now)

    def give_back(self) -> bool:
        freed = False
        for run in self.in_order():
            while min(run.leaves, run.gives) <= self.now:
                if run.leaves <= self.now:
                    self.free += 1
                    freed = True
                    run.leaves = math.inf
                    run.resize(run.size - 1, self.now)
                elif run.leaves < math.inf:
                    break
                else:
                    run.advance(self.now)
                    run.leaves = self.now + run.join.shrink
                    run.gives = math.inf
                    run.changed = self.now
                    run.given += 1
                    if run in self.requests:
                        self.requests.remove(run)
                run.watch(self.now)
        return freed

    def ask(self) -> bool:
        new = [run for run in self.in_order() if run.evolves and run.ready and run.joins == math.inf]
        new = [run for run in new if run.size < min(run.phases[0][1], self.max_nodes[run.job])]
        new = [run for run in new if run not in self.requests]
        self.requests += new
        return bool(new)

    def submit(self) -> bool:
        new = [job for job in self.future if self.rows[job].submit <= self.now]
        self.future = [job for job in self.future if job not in new]
        self.queue += sorted(new, key=lambda job: (self.rows[job].submit, job))
        return bool(new)

    def check(self) -> None:
        assert self.free + sum(run.size for run in self.running.values()) == self.num_nodes
        assert self.free >= 0


def run_time(row: Job, nodes: int) -> float:
    if nodes == row.nodes or row.speedup is None:
        return row.runtime
    if isinstance(row.speedup, SpeedupTable):
        return dict(row.speedup.rows)[nodes]
    return row.runtime * row.speedup.time_ratio(nodes, row.nodes)


def naive_reactive(problem: WorkloadProblem, policy: NaiveEvolvEasyback) -> Cluster:
    """Run a workload of rigid and moldable jobs and jobs with phases to its end."""
    packed = problem.jobs.packed
    least, most, limit = packed.min_nodes.tolist(), packed.max_nodes.tolist(), packed.estimate.tolist()
    cluster = Cluster(list(problem.jobs), least, most, limit, problem.num_nodes, problem.num_nodes)
    cluster.future = list(range(len(cluster.rows)))
    while cluster.future or cluster.queue or cluster.running:
        tick = cluster.ticks * policy.polling
        coming = [run.next_event() for run in cluster.running.values()]
        coming += [cluster.rows[job].submit for job in cluster.future]
        cluster.now = max(cluster.now, min([tick, *coming]))
        woken = cluster.complete()
        cluster.go_on()
        woken |= cluster.give_back()
        woken |= cluster.ask()
        woken |= cluster.submit()
        clock = tick <= cluster.now
        cluster.ticks += clock
        if clock or (woken and policy.wake_up):
            cluster.calls += 1
            decide(cluster, policy)
        cluster.check()
    return cluster


def decide(cluster: Cluster, policy: NaiveEvolvEasyback) -> None:
    if policy.requests == "last":
        easy(cluster, policy)
    for run in list(cluster.requests):
        if cluster.free and cluster.now - run.changed >= policy.cooldown:
            cluster.grant(run)
    if policy.requests == "first":
        easy(cluster, policy)


def easy(cluster: Cluster, policy: NaiveEvolvEasyback) -> None:
    shadow_time = math.inf
    for job in list(cluster.queue):
        needed = cluster.min_nodes[job]
        in_time = shadow_time == math.inf or cluster.now + cluster.limit[job] < shadow_time
        if needed <= cluster.free and in_time:
            run = cluster.start(job, min(cluster.max_nodes[job], cluster.free))
            if policy.start_counts:
                run.changed = cluster.now
        elif shadow_time == math.inf:
            shadow_time = earliest_start(cluster, needed)


def earliest_start(cluster: Cluster, needed: int) -> float:
    """Return when so many nodes are free if each job that runs ends at its limit, or now if that is over."""
    ends = [(run.start + cluster.limit[job], run.size) for job, run in cluster.running.items()]
    free = cluster.free
    for end, size in sorted(ends):
        free += size
        if free >= needed:
            return max(cluster.now, end)
    raise AssertionError
