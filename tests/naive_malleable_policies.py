"""Slow twins of the policies of malleable jobs, by their definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.heuristics import MalleableAverage, MalleableMin, MalleablePref, MalleablePrefkeeper

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from naive_malleable import Cluster, Run

MalleablePolicy = MalleableMin | MalleableAverage | MalleablePref | MalleablePrefkeeper


def start_size(cluster: Cluster, policy: MalleablePolicy, job: int) -> int:
    """Return the nodes on which a job starts now; 0 if it does not."""
    pref, fitting = cluster.rows[job].nodes, [size for size in cluster.sizes(job) if size <= cluster.free]
    if isinstance(policy, MalleableMin | MalleableAverage):
        fitting = fitting[:1] if cluster.sizes(job)[0] <= cluster.free else []
    return max((size for size in fitting if size <= pref), default=0)


def backfill(cluster: Cluster, policy: MalleablePolicy) -> None:
    for job in list(cluster.queue):
        if nodes := start_size(cluster, policy, job):
            cluster.start(job, nodes)


def may_change(cluster: Cluster, run: Run) -> bool:
    if cluster.rows[run.job].kind != "malleable":
        return False
    return run.target == run.size or run.decided == cluster.calls


def above(cluster: Cluster, policy: MalleablePolicy, job: int, size: int) -> float:
    """Return how far a job is above its base."""
    row = cluster.rows[job]
    assert row.min_nodes is not None
    assert row.max_nodes is not None
    if isinstance(policy, MalleableMin):
        return size - row.min_nodes
    if isinstance(policy, MalleableAverage):
        span = row.max_nodes - row.min_nodes
        return (size - row.min_nodes) / span if span else 0.0
    return size - row.nodes


def shrink_for(
    cluster: Cluster,
    policy: MalleablePolicy,
    job: int,
    victims: set[int],
    *,
    need_pref: bool,
    keep_pref: bool,
) -> bool:
    row = cluster.rows[job]
    need = row.nodes if need_pref else cluster.sizes(job)[0]

    def floor(run: Run) -> int:
        return cluster.rows[run.job].nodes if keep_pref else cluster.sizes(run.job)[0]

    runs = [run for run in cluster.running.values() if may_change(cluster, run)]
    runs = [run for run in runs if run.target > floor(run)]
    if sum(run.target - floor(run) for run in runs) < need:
        return False
    level = {run.job: run.target for run in runs}
    order: list[Run] = []
    missing = lack = need
    while missing > 0:
        left = [run for run in runs if level[run.job] > floor(run)]
        run = min(left, key=lambda run: (-above(cluster, policy, run.job, level[run.job]), run.job))
        if run not in order:
            order.append(run)
        size = level[run.job]
        if isinstance(policy, MalleableAverage):
            target = max(smaller for smaller in cluster.sizes(run.job) if smaller < size)
        else:
            least = max(floor(run), size - missing)
            target = max(smaller for smaller in cluster.sizes(run.job) if smaller <= least)
        missing -= size - target
        level[run.job] = target
    for run in order:
        given = min(lack, run.target - level[run.job])
        lack -= given
        victims.add(run.job)
        cluster.resize(run, level[run.job], given)
    cluster.promise(job, need, lack)
    return True


def expand(cluster: Cluster, policy: MalleablePolicy, victims: set[int]) -> None:
    runs = [run for run in cluster.running.values() if may_change(cluster, run)]
    runs = [run for run in runs if run.job not in victims]
    level, free = {run.job: run.target for run in runs}, cluster.free
    order: list[Run] = []

    def growing(run: Run, spare: int) -> list[int]:
        size = level[run.job]
        return [other for other in cluster.sizes(run.job) if size < other <= size + spare]

    while True:
        left = [run for run in runs if growing(run, free)]
        if not left:
            break
        run = min(left, key=lambda run: (above(cluster, policy, run.job, level[run.job]), run.job))
        if run not in order:
            order.append(run)
        sizes, pref = growing(run, free), cluster.rows[run.job].nodes
        if isinstance(policy, MalleableAverage):
            sizes = sizes[:1]
        elif not isinstance(policy, MalleableMin) and level[run.job] < pref:
            sizes = [size for size in sizes if size <= pref]
        free -= sizes[-1] - level[run.job]
        level[run.job] = sizes[-1]
    for run in order:
        cluster.resize(run, level[run.job])


def naive_policy(policy: MalleablePolicy) -> Callable[[Cluster], None]:
    def decide(cluster: Cluster) -> None:
        backfill(cluster, policy)
        victims: set[int] = set()
        if isinstance(policy, MalleablePref):
            passes = [(True, True), (False, True), (False, False)]
        elif isinstance(policy, MalleablePrefkeeper):
            passes = [(False, True)]
        else:
            passes = [(False, False)]
        if any(cluster.rows[run.job].kind == "malleable" for run in cluster.running.values()):
            for job in list(cluster.queue):
                any(
                    shrink_for(cluster, policy, job, victims, need_pref=need, keep_pref=keep)
                    for need, keep in passes
                )
        expand(cluster, policy, victims)

    return decide


def draw_policy(rng: random.Random) -> MalleablePolicy:
    """Return one of the policies."""
    policies = (MalleableMin(), MalleableAverage(), MalleablePref(), MalleablePrefkeeper())
    return rng.choice(policies)
