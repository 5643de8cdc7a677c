"""Slow twins of the queue policies, by their definitions, on the machine of `naive_malleable`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from naive_conservative import Interval, earliest_hole
from naive_malleable import limit_of
from naive_resources import place_in_queue

from allocsolve.model import Amdahl, Job, PowerLaw, SpeedupTable, WorkloadProblem

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from naive_malleable import Cluster, Run

    from allocsolve.heuristics.workload.policies import Easy


def start(cluster: Cluster, job: int, nodes: int, blocked: int = -1) -> None:
    cluster.blocked[job] = blocked
    cluster.start(job, nodes)


def sizes_now(cluster: Cluster, job: int, moldable: str) -> list[int]:
    """Return on how many nodes a job may start now, what is to be tried first being the first."""
    fitting = sorted((nodes for nodes in cluster.sizes(job) if nodes <= cluster.free), reverse=True)
    return fitting if moldable == "fit" else fitting[-1:] if moldable == "min" else fitting[:1]


def size_now(cluster: Cluster, job: int, moldable: str) -> int:
    return next(iter(sizes_now(cluster, job, moldable)), 0)


def naive_fcfs(moldable: str) -> Callable[[Cluster], None]:
    def policy(cluster: Cluster) -> None:
        for job in list(cluster.queue):
            nodes = size_now(cluster, job, moldable)
            if not nodes:
                break
            start(cluster, job, nodes)

    return policy


def naive_first_fit(moldable: str) -> Callable[[Cluster], None]:
    def policy(cluster: Cluster) -> None:
        blocked = -1
        for job in list(cluster.queue):
            nodes = size_now(cluster, job, moldable)
            if nodes:
                start(cluster, job, nodes, blocked)
            elif blocked < 0:
                blocked = job

    return policy


def estimate_of(cluster: Cluster, job: int, source: str) -> float:
    """Return the estimate on the nodes of the job."""
    row = cluster.rows[job]
    if source == "actual":
        return row.runtime
    if source == "limit" or row.user is None:
        return limit_of(row)
    before = [run for job, run in cluster.done.items() if cluster.rows[job].user == row.user]
    before = [run for run in before if run.end <= row.submit]
    last = [run.end - run.start for run in sorted(before, key=lambda run: (run.end, run.job))[-2:]]
    return min([limit_of(row)] + ([sum(reversed(last)) / len(last)] if last else []))


def expected_end(cluster: Cluster, run: Run, source: str) -> float:
    end = run.start + estimate_of(cluster, run.job, source) * cluster.ratio(run.job, run.size)
    return max(cluster.now, end)


def earliest_start(cluster: Cluster, needed: int, ends: list[tuple[float, int]]) -> float:
    """Return the first instant at which so many nodes are free if running jobs end as said."""
    for instant in sorted({cluster.now, *(end for end, _ in ends)}):
        held = sum(nodes for end, nodes in ends if end > instant)
        if cluster.num_nodes - held >= needed:
            return instant
    raise AssertionError


def in_order(cluster: Cluster, easy: Easy) -> list[int]:
    """Return the queue in the order of the policy."""

    def place(job: int) -> tuple[float, ...]:
        estimate = estimate_of(cluster, job, easy.estimate)
        return place_in_queue(cluster.rows[job], job, cluster.now, estimate, easy.order)

    return sorted(cluster.queue, key=place)


def naive_easy(easy: Easy) -> Callable[[Cluster], None]:
    """EASY by its definition, or, where options depart from that, by the rule as it is written."""

    def policy(cluster: Cluster) -> None:
        order = in_order(cluster, easy)
        while order and (nodes := size_now(cluster, order[0], easy.moldable)):
            start(cluster, order.pop(0), nodes)
        if not order:
            return
        head, *behind = order
        needed = min(cluster.sizes(head))
        ends = [(expected_end(cluster, run, easy.estimate), run.size) for run in cluster.running.values()]
        shadow_time = earliest_start(cluster, needed, ends)
        extra = cluster.num_nodes - needed - sum(nodes for end, nodes in ends if end > shadow_time)
        for job in behind[: easy.scan_limit]:
            for nodes in sizes_now(cluster, job, easy.moldable):
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
                    start(cluster, job, nodes, head)
                    break

    return policy


def naive_reservations(easy: Easy) -> Callable[[Cluster], None]:
    """EASY with any number of reservations, by its definition: holes are looked for at every end."""
    most = math.inf if easy.reservations == "all" else easy.reservations

    def policy(cluster: Cluster) -> None:
        order = in_order(cluster, easy)
        while order and (nodes := size_now(cluster, order[0], easy.moldable)):
            start(cluster, order.pop(0), nodes)
        now = cluster.now
        plan = [
            Interval(now, expected_end(cluster, run, easy.estimate), run.size)
            for run in cluster.running.values()
        ]
        planned = 0

        def seconds(job: int, nodes: int) -> float:
            return estimate_of(cluster, job, easy.estimate) * cluster.ratio(job, nodes)

        for job in order[: None if easy.scan_limit is None else easy.scan_limit + 1]:
            sizes = sizes_now(cluster, job, easy.moldable)
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
                start(cluster, job, size, order[0])

    return policy


def naive_mjs2023(cluster: Cluster) -> None:
    pending = list(cluster.queue)
    for job in pending:  # the list is changed while it is gone through: that is the defect
        nodes = size_now(cluster, job, "max")
        head = pending[0]
        if nodes and (job == head or not cluster.now < limit_of(cluster.rows[head])):
            start(cluster, job, nodes, -1 if job == head else head)
            pending.remove(job)


def naive_hpcopt(cluster: Cluster) -> None:
    queue = list(cluster.queue)
    if not queue:
        return
    if size_now(cluster, queue[0], "max"):
        naive_first_fit("max")(cluster)
        return
    ends = [(run.end, run.size) for run in cluster.running.values()]
    shadow_time = earliest_start(cluster, min(cluster.sizes(queue[0])), ends)
    for job in queue[1:]:
        nodes = size_now(cluster, job, "max")
        if nodes and cluster.now + limit_of(cluster.rows[job]) * cluster.ratio(job, nodes) <= shadow_time:
            start(cluster, job, nodes, queue[0])


def naive_raps(cluster: Cluster) -> None:
    naive_fcfs("max")(cluster)

    def limit(run: Run) -> float:
        return limit_of(cluster.rows[run.job]) * cluster.ratio(run.job, run.size)

    def first_fit() -> tuple[int, int] | None:
        free, shadow_time = cluster.free, 0.0
        for run in sorted(cluster.running.values(), key=limit):
            if free >= min(cluster.sizes(cluster.queue[0])):
                break
            free += run.size
            shadow_time = run.start + limit(run)
        for job in cluster.queue[1:]:
            nodes = size_now(cluster, job, "max")
            if nodes and cluster.now + limit_of(cluster.rows[job]) * cluster.ratio(job, nodes) <= shadow_time:
                return job, nodes
        return None

    while cluster.queue and (chosen := first_fit()) is not None:
        start(cluster, *chosen, cluster.queue[0])


def naive_cqsim(cluster: Cluster) -> None:
    naive_fcfs("max")(cluster)
    if not cluster.queue:
        return
    head, *behind = cluster.queue
    needed = min(cluster.sizes(head))
    ends = [(expected_end(cluster, run, "limit"), run.size) for run in cluster.running.values()]
    shadow_time = earliest_start(cluster, needed, ends)
    extra = cluster.num_nodes - needed - sum(nodes for end, nodes in ends if end > shadow_time)
    for job in behind:
        nodes = size_now(cluster, job, "max")
        in_time = nodes and cluster.now + cluster.rows[job].runtime * cluster.ratio(job, nodes) <= shadow_time
        if nodes and (in_time or nodes <= extra):
            extra -= 0 if in_time else nodes
            start(cluster, job, nodes, head)


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
