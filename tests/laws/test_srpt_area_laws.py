"""Least area left first: the slow twin, bounds, and cases whose optimum is known."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st
from naive_malleable import draw_malleable, naive_malleable, pieces_of, seconds_on
from naive_rebalancing import grow, is_malleable, least, shrink, start
from tiers import draws
from workload_traces import knl_problem

from allocsolve.heuristics.workload.srpt_area import srpt_area_schedule
from allocsolve.instances.generators.elastic import elastic_workload
from allocsolve.judge.workload.rules import workload_metrics, workload_violations
from allocsolve.model import Job, WorkloadProblem

if TYPE_CHECKING:
    from pathlib import Path

    from naive_malleable import Cluster, Run


def area(cluster: Cluster, job: int) -> float:
    """Return the node-seconds of a job on its most nodes, if it can change its size."""
    nodes = cluster.sizes(job)[-1 if is_malleable(cluster, job) else 0]
    return seconds_on(cluster.rows[job], nodes) * nodes


def area_left(cluster: Cluster, run: Run) -> float:
    return cluster.work_left(run) * (area(cluster, run.job) / cluster.rows[run.job].runtime)


def naive_srpt_area(cluster: Cluster) -> None:
    """Decide what the rule says now."""

    def queue_key(job: int) -> tuple[float, int, float, int]:
        nodes = cluster.rows[job].nodes
        return area(cluster, job) / nodes * nodes, 1, cluster.rows[job].submit, job

    ran = [run for run in cluster.running.values() if is_malleable(cluster, run.job)]
    steady = [run for run in ran if run.size == run.target]
    incoming = sum(max(0, run.size - run.target) for run in ran)
    shared = cluster.free + incoming + sum(run.size for run in steady)
    room = shared - sum(least(cluster, run.job) for run in steady)
    keys = [(area_left(cluster, run), 0, 0.0, run.job) for run in steady]
    keys += [queue_key(job) for job in cluster.queue]
    running: list[int] = []
    admitted: list[int] = []
    wanted: dict[int, int] = {}
    for _, queued, _, job in sorted(keys):
        need = least(cluster, job)
        if queued and need > room:
            continue
        given = 0 if queued else need
        fitting = [size for size in cluster.sizes(job) if size <= room + given]
        wanted[job] = fitting[-1] if is_malleable(cluster, job) else need
        room -= wanted[job] - given
        (admitted if queued else running).append(job)
    incoming += shrink(cluster, running, wanted)
    spare = cluster.free + incoming - sum(least(cluster, job) for job in admitted)
    grow(cluster, running, wanted, start(cluster, admitted, wanted, spare))


def check_against_twin(rng: random.Random, most: int) -> None:
    problem = draw_malleable(rng, most, at_once=rng.random() < 0.4)
    coalesce = rng.random() < 0.8
    schedule = srpt_area_schedule(problem, coalesce=coalesce)
    twin = naive_malleable(problem, naive_srpt_area, coalesce=coalesce)
    everyone = range(len(problem.jobs))
    assert [schedule.pieces(job) for job in everyone] == [pieces_of(twin, job) for job in everyone]
    assert not workload_violations(problem, schedule)


def test_100_workloads_of_up_to_200_jobs() -> None:
    for seed in draws(100):
        rng = random.Random(seed)
        check_against_twin(rng, rng.choice([14, 60, 200]))


@given(st.lists(st.integers(1, 50), min_size=1, max_size=9))
def test_on_one_node_the_shortest_comes_first(seconds: list[int]) -> None:
    problem = WorkloadProblem(1, [Job(0, 1, x) for x in seconds])
    ends = [sum(sorted(seconds)[: count + 1]) for count in range(len(seconds))]
    value = workload_metrics(problem, srpt_area_schedule(problem)).turnaround
    assert value == pytest.approx(sum(ends) / len(ends))


def test_cori_knl(traces: Path) -> None:
    """Another program has 1193.87 s."""
    problem = elastic_workload(knl_problem(traces), share=1, seed=1, tick=0)
    schedule = srpt_area_schedule(problem)
    assert not workload_violations(problem, schedule)
    assert workload_metrics(problem, schedule).turnaround == pytest.approx(1193.87, rel=5e-3)
