"""A slow twin of the workload engine and its queue policies: lists, instant by instant, definitions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from naive_conservative import Interval, earliest_hole

from allocsolve.model import Amdahl, Job, PowerLaw, SpeedupTable, WorkloadProblem
from allocsolve.model.jobs import DEFAULT_LIMIT_FACTOR

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from allocsolve.heuristics import SlurmBackfill
    from allocsolve.heuristics.workload.policies import Easy


class Running(NamedTuple):
    job: int
    nodes: int
    start: float
    end: float


@dataclass
class Machine:
    """Jobs and the nodes that they run on."""

    rows: list[Job]
    num_nodes: int

    def ratio(self, job: int, nodes: int) -> float:
        row = self.rows[job]
        if nodes == row.nodes or row.speedup is None:
            return 1.0
        if isinstance(row.speedup, SpeedupTable):
            return dict(row.speedup.rows)[nodes] / row.runtime
        return row.speedup.time_ratio(nodes, row.nodes)

    def run_time(self, job: int, nodes: int) -> float:
        row = self.rows[job]
        if isinstance(row.speedup, SpeedupTable):
            return dict(row.speedup.rows)[nodes]
        return row.runtime * self.ratio(job, nodes)


@dataclass
class Cluster(Machine):
    """What the twin knows at one call."""

    now: float = 0.0
    future: list[int] = field(default_factory=list)
    queue: list[int] = field(default_factory=list)
    running: list[Running] = field(default_factory=list)
    done: list[Running] = field(default_factory=list)
    #: (job, nodes, the job that was blocked or -1), in the order of starts.
    starts: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def free(self) -> int:
        return self.num_nodes - sum(run.nodes for run in self.running)

    def sizes(self, job: int) -> list[int]:
        row = self.rows[job]
        if isinstance(row.speedup, SpeedupTable):
            return [nodes for nodes, _ in row.speedup.rows]
        return list(range(row.min_nodes or row.nodes, (row.max_nodes or row.nodes) + 1))

    def start(self, job: int, nodes: int, blocked: int = -1) -> None:
        assert nodes <= self.free
        self.queue.remove(job)
        self.running.append(Running(job, nodes, self.now, self.now + self.run_time(job, nodes)))
        self.starts.append((job, nodes, blocked))


def naive_run(
    problem: WorkloadProblem,
    policy: Callable[[Cluster], None],
    *,
    coalesce: bool,
    interval: float | None = None,
) -> tuple[dict[int, Running], list[tuple[int, int, int]]]:
    """Return when each job ran on how many nodes, and the starts in their order.

    While jobs wait, the policy is also called at each multiple of the interval, if there is one.
    """
    rows = list(problem.jobs)
    cluster = Cluster(rows, problem.num_nodes, future=sorted(range(len(rows))))
    while cluster.future or cluster.running:
        ends = [run.end for run in cluster.running]
        passes = [(cluster.now // interval + 1) * interval] if interval and cluster.queue else []
        cluster.now = min(ends + passes + [rows[job].submit for job in cluster.future])
        ending = sorted((run for run in cluster.running if run.end == cluster.now), key=lambda run: run.job)
        entering = [job for job in cluster.future if rows[job].submit == cluster.now]
        if not coalesce:
            ending = ending[:1]
            entering = [] if ending else entering[:1]
        for run in ending:
            cluster.running.remove(run)
            cluster.done.append(run)
        for job in entering:
            cluster.future.remove(job)
            cluster.queue.append(job)
        cluster.queue.sort(key=lambda job: (rows[job].submit, job))
        policy(cluster)
    return {run.job: run for run in cluster.done}, cluster.starts


def size_now(cluster: Cluster, job: int, moldable: str) -> int:
    fitting = [nodes for nodes in cluster.sizes(job) if nodes <= cluster.free]
    return 0 if not fitting else min(fitting) if moldable == "min" else max(fitting)


def naive_fcfs(moldable: str) -> Callable[[Cluster], None]:
    def policy(cluster: Cluster) -> None:
        for job in list(cluster.queue):
            nodes = size_now(cluster, job, moldable)
            if not nodes:
                break
            cluster.start(job, nodes)

    return policy


def naive_first_fit(moldable: str) -> Callable[[Cluster], None]:
    def policy(cluster: Cluster) -> None:
        blocked = -1
        for job in list(cluster.queue):
            nodes = size_now(cluster, job, moldable)
            if nodes:
                cluster.start(job, nodes, blocked)
            elif blocked < 0:
                blocked = job

    return policy


def limit_of(row: Job) -> float:
    return DEFAULT_LIMIT_FACTOR * row.runtime if row.limit is None else row.limit


def estimate_of(cluster: Cluster, job: int, source: str) -> float:
    """Return the estimate on the nodes of the job."""
    row = cluster.rows[job]
    if source == "actual":
        return row.runtime
    if source == "limit" or row.user is None:
        return limit_of(row)
    before = [run for run in cluster.done if cluster.rows[run.job].user == row.user and run.end <= row.submit]
    last = [run.end - run.start for run in sorted(before, key=lambda run: (run.end, run.job))[-2:]]
    return min([limit_of(row)] + ([sum(reversed(last)) / len(last)] if last else []))


def expected_end(cluster: Cluster, run: Running, source: str) -> float:
    end = run.start + estimate_of(cluster, run.job, source) * cluster.ratio(run.job, run.nodes)
    return max(cluster.now, end)


def earliest_start(cluster: Cluster, needed: int, ends: list[tuple[float, int]]) -> float:
    """Return the first instant at which so many nodes are free if running jobs end as said."""
    for instant in sorted({cluster.now, *(end for end, _ in ends)}):
        held = sum(nodes for end, nodes in ends if end > instant)
        if cluster.num_nodes - held >= needed:
            return instant
    raise AssertionError


def score_of(cluster: Cluster, job: int, easy: Easy | SlurmBackfill) -> float:
    row = cluster.rows[job]
    source = getattr(easy, "estimate", "limit")
    r, n, s, w = estimate_of(cluster, job, source), row.nodes, row.submit, cluster.now - row.submit
    since = math.log10(max(s, 1))
    return {
        "submission": lambda: 0.0,
        "shortest-estimate": lambda: r,
        "smallest-area": lambda: r * n,
        "largest": lambda: -float(n),
        "smallest": lambda: float(n),
        "f1": lambda: math.log10(r) * n + 870 * since,
        "f2": lambda: math.sqrt(r) * n + 25600 * since,
        "f3": lambda: r * n + 6860000 * since,
        "f4": lambda: r * math.sqrt(n) + 530000 * since,
        "wfp3": lambda: -((w / r) * (w / r) * (w / r)) * n,
        "unicef": lambda: -math.inf if n == 1 else -w / (math.log2(n) * r),
    }[easy.order]()


def naive_easy(easy: Easy) -> Callable[[Cluster], None]:
    """EASY by its definition, or, where options depart from that, by the rule as it is written."""

    def policy(cluster: Cluster) -> None:
        order = sorted(
            cluster.queue, key=lambda job: (score_of(cluster, job, easy), cluster.rows[job].submit, job)
        )
        while order and (nodes := size_now(cluster, order[0], easy.moldable)):
            cluster.start(order.pop(0), nodes)
        if not order:
            return
        head, *behind = order
        needed = min(cluster.sizes(head))
        ends = [(expected_end(cluster, run, easy.estimate), run.nodes) for run in cluster.running]
        shadow_time = earliest_start(cluster, needed, ends)
        extra = cluster.num_nodes - needed - sum(nodes for end, nodes in ends if end > shadow_time)
        for job in behind[: easy.scan_limit]:
            sizes = sorted((nodes for nodes in cluster.sizes(job) if nodes <= cluster.free), reverse=True)
            if easy.moldable != "fit":
                sizes = sizes[-1:] if easy.moldable == "min" else sizes[:1]
            for nodes in sizes:
                estimate = estimate_of(cluster, job, easy.estimate) * cluster.ratio(job, nodes)
                end = cluster.now + estimate
                in_time = end < shadow_time if easy.strict else end <= shadow_time
                if easy.extra_nodes and not easy.strict:
                    harmless = earliest_start(cluster, needed, [*ends, (end, nodes)]) == shadow_time
                else:
                    harmless = in_time or (easy.extra_nodes and nodes <= extra)
                if harmless:
                    if not in_time:
                        extra -= nodes
                    ends.append((end, nodes))
                    cluster.start(job, nodes, head)
                    break

    return policy


def naive_reservations(easy: Easy) -> Callable[[Cluster], None]:
    """EASY with any number of reservations, by its definition: holes are looked for at every end."""
    most = math.inf if easy.reservations == "all" else easy.reservations

    def policy(cluster: Cluster) -> None:
        order = sorted(
            cluster.queue, key=lambda job: (score_of(cluster, job, easy), cluster.rows[job].submit, job)
        )
        while order and (nodes := size_now(cluster, order[0], easy.moldable)):
            cluster.start(order.pop(0), nodes)
        now = cluster.now
        plan = [
            Interval(now, expected_end(cluster, run, easy.estimate), run.nodes) for run in cluster.running
        ]
        planned = 0

        def seconds(job: int, nodes: int) -> float:
            return estimate_of(cluster, job, easy.estimate) * cluster.ratio(job, nodes)

        for job in order[: None if easy.scan_limit is None else easy.scan_limit + 1]:
            sizes = sorted((nodes for nodes in cluster.sizes(job) if nodes <= cluster.free), reverse=True)
            if easy.moldable != "fit":
                sizes = sizes[-1:] if easy.moldable == "min" else sizes[:1]
            holes = [
                earliest_hole(plan, cluster.num_nodes, nodes, seconds(job, nodes), now) for nodes in sizes
            ]
            size = next((nodes for nodes, hole in zip(sizes, holes, strict=True) if hole == now), 0)
            if not size and planned < most:
                fewest = min(cluster.sizes(job))
                hole = earliest_hole(plan, cluster.num_nodes, fewest, seconds(job, fewest), now)
                if hole == now and fewest <= cluster.free:
                    size = fewest
                else:
                    plan.append(Interval(hole, hole + seconds(job, fewest), fewest))
                    planned += 1
            if size:
                plan.append(Interval(now, now + seconds(job, size), size))
                cluster.start(job, size, order[0])

    return policy


def naive_mjs2023(cluster: Cluster) -> None:
    pending = list(cluster.queue)
    for job in pending:  # the list is changed while it is gone through: that is the defect
        nodes = size_now(cluster, job, "max")
        head = pending[0]
        if nodes and (job == head or not cluster.now < limit_of(cluster.rows[head])):
            cluster.start(job, nodes, -1 if job == head else head)
            pending.remove(job)


def naive_hpcopt(cluster: Cluster) -> None:
    queue = list(cluster.queue)
    if not queue:
        return
    if size_now(cluster, queue[0], "max"):
        naive_first_fit("max")(cluster)
        return
    ends = [(run.end, run.nodes) for run in cluster.running]
    shadow_time = earliest_start(cluster, min(cluster.sizes(queue[0])), ends)
    for job in queue[1:]:
        nodes = size_now(cluster, job, "max")
        if nodes and cluster.now + limit_of(cluster.rows[job]) * cluster.ratio(job, nodes) <= shadow_time:
            cluster.start(job, nodes, queue[0])


def naive_raps(cluster: Cluster) -> None:
    naive_fcfs("max")(cluster)

    def limit(run: Running) -> float:
        return limit_of(cluster.rows[run.job]) * cluster.ratio(run.job, run.nodes)

    def first_fit() -> tuple[int, int] | None:
        free, shadow_time = cluster.free, 0.0
        for run in sorted(cluster.running, key=limit):
            if free >= min(cluster.sizes(cluster.queue[0])):
                break
            free += run.nodes
            shadow_time = run.start + limit(run)
        for job in cluster.queue[1:]:
            nodes = size_now(cluster, job, "max")
            if nodes and cluster.now + limit_of(cluster.rows[job]) * cluster.ratio(job, nodes) <= shadow_time:
                return job, nodes
        return None

    while cluster.queue and (chosen := first_fit()) is not None:
        cluster.start(*chosen, cluster.queue[0])


def naive_cqsim(cluster: Cluster) -> None:
    naive_fcfs("max")(cluster)
    if not cluster.queue:
        return
    head, *behind = cluster.queue
    needed = min(cluster.sizes(head))
    ends = [(expected_end(cluster, run, "limit"), run.nodes) for run in cluster.running]
    shadow_time = earliest_start(cluster, needed, ends)
    extra = cluster.num_nodes - needed - sum(nodes for end, nodes in ends if end > shadow_time)
    for job in behind:
        nodes = size_now(cluster, job, "max")
        in_time = nodes and cluster.now + cluster.rows[job].runtime * cluster.ratio(job, nodes) <= shadow_time
        if nodes and (in_time or nodes <= extra):
            extra -= 0 if in_time else nodes
            cluster.start(job, nodes, head)


def draw_problem(rng: random.Random, *, moldable: bool) -> WorkloadProblem:
    """Return a small workload with few distinct times, so that events meet."""
    num_nodes = rng.randint(1, 9)
    unit = rng.choice([1, 1, 0.25])

    def seconds(most: int) -> float:
        return unit * rng.randint(1, most)

    def job() -> Job:
        runtime = seconds(12)
        nodes = rng.randint(1, num_nodes)
        row: dict[str, Any] = {
            "submit": unit * rng.randint(0, rng.choice([3, 30])),
            "nodes": nodes,
            "runtime": runtime,
            "limit": rng.choice([None, runtime, seconds(20)]),
            "user": rng.choice([None, "a", "b"]),
        }
        if moldable and rng.random() < 0.6:
            low, high = rng.randint(1, nodes), rng.randint(nodes, num_nodes)
            kind = rng.randint(0, 2)
            if kind == 2:
                sizes = sorted({low, high, nodes, rng.randint(low, high)})
                rows = [(size, runtime if size == nodes else seconds(12)) for size in sizes]
                row["speedup"] = SpeedupTable(rows)
            else:
                row["speedup"] = Amdahl(rng.random()) if kind else PowerLaw(rng.random())
            row |= {"min_nodes": low, "max_nodes": high}
        return Job(**row)

    return WorkloadProblem(num_nodes, [job() for _ in range(rng.randint(0, 14))])
