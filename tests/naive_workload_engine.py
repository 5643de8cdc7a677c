"""Slow twins of the queue policies, by their definitions, on the machine of `naive_malleable`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from naive_malleable import limit_of
from naive_resources import available, edges_of, has_room, naive_earliest, needs_of, place_in_queue

from allocsolve.model import Amdahl, Job, PowerLaw, SpeedupTable, WorkloadProblem

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from naive_malleable import Cluster, Run
    from naive_resources import Placed

    from allocsolve.heuristics import SlurmBackfill
    from allocsolve.heuristics.workload.policies import Easy


def start(cluster: Cluster, job: int, nodes: int, blocked: int = -1) -> None:
    cluster.blocked[job] = blocked
    cluster.start(job, nodes)


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


def lasts(cluster: Cluster, job: int, nodes: int, source: str) -> float:
    return estimate_of(cluster, job, source) * cluster.ratio(job, nodes)


def expected_end(cluster: Cluster, run: Run, source: str) -> float:
    return max(cluster.now, run.start + lasts(cluster, run.job, run.size, source))


def held(cluster: Cluster, source: str, least: float = 0.0) -> list[Placed]:
    """Return what running jobs hold until they are expected to end, for so many seconds at least."""
    return [
        (
            -math.inf,
            max(expected_end(cluster, run, source), cluster.now + least),
            needs_of(cluster.rows[run.job], run.size),
        )
        for run in cluster.running.values()
    ]


def can(cluster: Cluster, job: int, nodes: int, source: str, at: float, placed: Sequence[Placed]) -> bool:
    """Tell whether a job has all that it needs from an instant on, for as long as it is expected to run."""
    assert cluster.problem is not None
    until = at + lasts(cluster, job, nodes, source)
    return has_room(cluster.problem, needs_of(cluster.rows[job], nodes), at, until, placed)


def first(cluster: Cluster, job: int, nodes: int, source: str, placed: Sequence[Placed]) -> float:
    """Return the earliest instant at which a job can start beside what is placed."""
    assert cluster.problem is not None
    needs = needs_of(cluster.rows[job], nodes)
    return naive_earliest(cluster.problem, placed, needs, lasts(cluster, job, nodes, source), cluster.now)


def sizes_now(cluster: Cluster, job: int, moldable: str, source: str = "limit") -> list[int]:
    """Return on how many nodes a job may start now, what is to be tried first being the first."""
    sizes = cluster.sizes(job)
    tried = sizes[:1] if moldable == "min" else sizes[::-1]
    placed = held(cluster, source, 1e-9)  # who runs longer than expected holds everything for this instant
    fitting = [nodes for nodes in tried if can(cluster, job, nodes, source, cluster.now, placed)]
    return fitting if moldable == "fit" else fitting[:1]


def size_now(cluster: Cluster, job: int, moldable: str, source: str = "limit") -> int:
    return next(iter(sizes_now(cluster, job, moldable, source)), 0)


def earliest_start(cluster: Cluster, needed: int, ends: list[tuple[float, int]]) -> float:
    """Return the first instant at which so many nodes are free if running jobs end as said."""
    for instant in sorted({cluster.now, *(end for end, _ in ends)}):
        held = sum(nodes for end, nodes in ends if end > instant)
        if cluster.num_nodes - held >= needed:
            return instant
    raise AssertionError


def in_order(cluster: Cluster, order: str = "submission", source: str = "limit") -> list[int]:
    """Return the queue in the order of a policy."""

    def place(job: int) -> tuple[float, ...]:
        estimate = estimate_of(cluster, job, source)
        return place_in_queue(cluster.rows[job], job, cluster.now, estimate, order)

    return sorted(cluster.queue, key=place)


def start_heads(cluster: Cluster, order: list[int], moldable: str, source: str = "limit") -> None:
    while order and (nodes := size_now(cluster, order[0], moldable, source)):
        start(cluster, order.pop(0), nodes)


def naive_fcfs(moldable: str) -> Callable[[Cluster], None]:
    return lambda cluster: start_heads(cluster, in_order(cluster), moldable)


def naive_first_fit(moldable: str) -> Callable[[Cluster], None]:
    def policy(cluster: Cluster) -> None:
        order = in_order(cluster)
        start_heads(cluster, order, moldable)
        for job in order[1:]:
            if nodes := size_now(cluster, job, moldable):
                start(cluster, job, nodes, order[0])

    return policy


def naive_easy(easy: Easy, judged: str = "") -> Callable[[Cluster], None]:
    """EASY by its definition, or, where options depart from that, by the rule as it is written.

    Who is backfilled ends as `judged` says, else as estimated.
    """

    def policy(cluster: Cluster) -> None:
        source = easy.estimate
        order = in_order(cluster, easy.order, source)
        start_heads(cluster, order, easy.moldable, source)
        if not order:
            return
        head, *behind = order
        fewest, placed = min(cluster.sizes(head)), held(cluster, source)
        shadow_time = first(cluster, head, fewest, source, placed)
        for job in behind[: easy.scan_limit]:
            for nodes in sizes_now(cluster, job, easy.moldable, source):
                end = cluster.now + lasts(cluster, job, nodes, judged or source)
                in_time = end < shadow_time if easy.strict else end <= shadow_time
                until = end if in_time or not (easy.strict or judged) else math.inf
                mine = (cluster.now, until, needs_of(cluster.rows[job], nodes))
                beside = easy.extra_nodes and can(cluster, head, fewest, source, shadow_time, [*placed, mine])
                if in_time if not easy.extra_nodes else beside:
                    placed.append(mine)
                    start(cluster, job, nodes, head)
                    break

    return policy


def naive_reservations(easy: Easy) -> Callable[[Cluster], None]:
    """EASY with any number of reservations, by its definition: holes are looked for at every end."""
    most = math.inf if easy.reservations == "all" else easy.reservations

    def policy(cluster: Cluster) -> None:
        source, now = easy.estimate, cluster.now
        order = in_order(cluster, easy.order, source)
        start_heads(cluster, order, easy.moldable, source)
        plan, planned = held(cluster, source), 0
        for job in order[: None if easy.scan_limit is None else easy.scan_limit + 1]:
            sizes = sizes_now(cluster, job, easy.moldable, source)
            size = next((nodes for nodes in sizes if can(cluster, job, nodes, source, now, plan)), 0)
            begin, fewest = now, min(cluster.sizes(job))
            if not size and planned < most:
                begin = first(cluster, job, fewest, source, plan)
                if begin == now and sizes_now(cluster, job, "min", source):
                    size = fewest
                else:
                    planned += 1
                    plan.append(_placed(cluster, job, fewest, source, begin))
            if size:
                plan.append(_placed(cluster, job, size, source, now))
                start(cluster, job, size, order[0])

    return policy


def _placed(cluster: Cluster, job: int, nodes: int, source: str, begin: float) -> Placed:
    return begin, begin + lasts(cluster, job, nodes, source), needs_of(cluster.rows[job], nodes)


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
        if nodes and cluster.now + lasts(cluster, job, nodes, "limit") <= shadow_time:
            start(cluster, job, nodes, queue[0])


def naive_raps(cluster: Cluster) -> None:
    naive_fcfs("max")(cluster)

    def first_fit() -> tuple[int, int] | None:
        free, shadow_time = cluster.free, 0.0
        for run in sorted(
            cluster.running.values(), key=lambda run: lasts(cluster, run.job, run.size, "limit")
        ):
            if free >= min(cluster.sizes(cluster.queue[0])):
                break
            free += run.size
            shadow_time = run.start + lasts(cluster, run.job, run.size, "limit")
        for job in cluster.queue[1:]:
            nodes = size_now(cluster, job, "max")
            if nodes and cluster.now + lasts(cluster, job, nodes, "limit") <= shadow_time:
                return job, nodes
        return None

    while cluster.queue and (chosen := first_fit()) is not None:
        start(cluster, *chosen, cluster.queue[0])


class Planned(NamedTuple):
    """A job that runs or is planned: from `first` to `start` so much is left at most."""

    first: float
    start: float
    end: float
    needs: dict[str, int]
    left: dict[str, int]


def fits_now(cluster: Cluster, job: int) -> bool:
    """Tell whether all that a rigid job needs is free at this instant."""
    assert cluster.problem is not None
    now, placed = cluster.now, held(cluster, "limit", 1e-9)
    return has_room(cluster.problem, needs_of(cluster.rows[job]), now, math.nextafter(now, math.inf), placed)


class NaiveSlurm:
    """Slurm's main and backfill schedulers for rigid jobs; a pass is made when the clock ticks."""

    def __init__(self, policy: SlurmBackfill) -> None:
        self.policy = policy

    def __call__(self, cluster: Cluster) -> None:
        policy, now = self.policy, cluster.now
        self.cluster, self.planned = cluster, [Planned(now, *placed, {}) for placed in held(cluster, "limit")]
        queue, step = in_order(cluster, policy.order), policy.bf_resolution
        while queue and fits_now(cluster, queue[0]) and self.fits(queue[0], now):
            self.begin(queue.pop(0), -1)
        window_end = (now + 60 * policy.bf_window) // step * step
        for job in [] if now % policy.bf_interval else queue[: policy.bf_max_job_test]:
            needs, moments = needs_of(cluster.rows[job]), {now, *self.moments()}
            at = next(time for time in sorted(moments) if time >= now and self.fits(job, time))
            if at == now and fits_now(cluster, job):
                self.begin(job, queue[0])
            elif at < window_end:
                end = min(math.ceil((at + limit_of(cluster.rows[job])) / step) * step, window_end)
                left = {name: free - needs.get(name, 0) for name, free in self.left_at(at, at).items()}
                self.planned.append(Planned(at // step * step, at, end, needs, left))

    def moments(self) -> set[float]:
        assert self.cluster.problem is not None
        return edges_of(self.cluster.problem) | {time for each in self.planned for time in each[:3]}

    def left_at(self, at: float, open_at: float) -> dict[str, int]:
        """Return what is free at an instant of what is open at another one."""
        assert self.cluster.problem is not None
        free = available(self.cluster.problem, open_at)
        for each in self.planned:
            if each.first <= at < each.start:
                free = {name: min(amount, each.left[name]) for name, amount in free.items()}
            if each.start <= at < each.end:
                free = {name: amount - each.needs.get(name, 0) for name, amount in free.items()}
        return free

    def fits(self, job: int, at: float) -> bool:
        """Tell whether a job fits from an instant on; what is planned at its end counts."""
        assert self.cluster.problem is not None
        row, edges = self.cluster.rows[job], edges_of(self.cluster.problem)
        until = at + limit_of(row)
        for moment in {at, until, *(moment for moment in self.moments() if at < moment < until)}:
            open_at = max(edge for edge in (at, *edges) if edge < until) if moment == until else moment
            free = self.left_at(moment, open_at)
            if any(amount > free[name] for name, amount in needs_of(row).items()):
                return False
        return True

    def begin(self, job: int, blocked: int) -> None:
        row, now = self.cluster.rows[job], self.cluster.now
        self.planned.append(Planned(now, now, now + limit_of(row), needs_of(row), {}))
        start(self.cluster, job, row.nodes, blocked)


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
