"""Policies that share nodes anew whenever something happens: static prices, the market, shortest areas."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from draw_evolving import draw_evolving, draw_requests
from hypothesis import assume, given, strategies as st
from kernel_tools import entry
from naive_evolving import naive_elastic
from naive_malleable import Cluster, draw_malleable, naive_malleable, pieces, pieces_of, seconds_on
from naive_rebalancing import (
    RUNGS,
    best_size,
    clearing_rung,
    grow,
    is_malleable,
    least,
    naive_static_price,
    shrink,
    start,
)
from strategies import workload_problems
from tiers import draws
from workload_traces import knl_problem

from allocsolve.heuristics.workload import FirstFit, StaticPrice
from allocsolve.heuristics.workload._kernels_clearing import clearing, price_takers, profit_takers, size_at
from allocsolve.heuristics.workload.srpt_area import srpt_area_schedule
from allocsolve.instances.generators.elastic import elastic_workload
from allocsolve.judge.workload.rules import workload_metrics, workload_violations
from allocsolve.model import Amdahl, Budget, Job, PowerLaw, SpeedupTable, WorkloadProblem
from allocsolve.model.job_kinds import MALLEABLE
from allocsolve.simulation import Answer, EngineRules, run_policy

if TYPE_CHECKING:
    from pathlib import Path

    from naive_malleable import Run

    from allocsolve.heuristics.workload._kernels_clearing import Demand
    from allocsolve.heuristics.workload.policies import QueueOrder
    from allocsolve.simulation import Decision, QueueView


wanted_size, clearing_of = entry(size_at), entry(clearing)

PROBLEMS = workload_problems(malleable=True, max_jobs=7, max_nodes=12)
POLICIES = st.builds(
    StaticPrice,
    hysteresis=st.sampled_from([0, 0.1, 0.25, 1.0, 50]),
    order=st.sampled_from(["submission", "submission", "shortest-estimate", "largest", "wfp3"]),
)


@st.composite
def single_jobs(draw: st.DrawFn) -> WorkloadProblem:
    """One job that may choose its size: laws and size sets of all kinds."""
    rng = draw(st.randoms(use_true_random=False))
    if draw(st.booleans()):
        return WorkloadProblem(12, [draw_requests(rng, 12, 30)])
    problem = draw_malleable(rng)
    jobs = [job for job in problem.jobs if job.kind == "malleable"]
    assume(jobs)
    return WorkloadProblem(problem.num_nodes, jobs[:1])


def demand_of(problem: WorkloadProblem, gain: float | None) -> Demand:
    if gain is None:
        return price_takers(problem.packed)
    return profit_takers(problem.packed, np.full(len(problem.jobs), gain))


GAINS = st.none() | st.sampled_from([0.0, 1e-9, 1.0, 1e9]) | st.floats(0, 1e6)


# Sizes and prices.


@given(single_jobs(), GAINS, st.integers(-60_000, 60_000))
def test_a_job_wants_what_is_best_for_it(problem: WorkloadProblem, gain: float | None, rung: int) -> None:
    """The best size, or the next one to it: what is best between the two is rounded."""
    cheapness = math.exp(1e-4 * rung)
    size = wanted_size(problem.packed, demand_of(problem, gain), 0, cheapness)
    cluster = Cluster(list(problem.jobs), problem.num_nodes)
    sizes, price = cluster.sizes(0), float(cheapness**-2.0)
    law = problem.jobs[0].speedup
    assert size in sizes

    def loss(nodes: int) -> float:
        seconds = seconds_on(problem.jobs[0], nodes)
        return seconds * (1 + price * nodes) if gain is None else price * nodes - gain / seconds

    losses = [loss(nodes) for nodes in sizes]
    at, slack = sizes.index(size), 1e-9 * max(map(abs, losses))
    near = [at] if isinstance(law, SpeedupTable) else range(max(0, at - 1), min(len(sizes), at + 2))
    assert min(losses[idx] for idx in near) <= min(losses) + slack


@given(single_jobs(), st.integers(RUNGS[0], RUNGS[-1]))
def test_sizes_of_price_takers_are_those_of_the_twin(problem: WorkloadProblem, rung: int) -> None:
    cheapness = math.exp(1e-4 * rung)
    cluster = Cluster(list(problem.jobs), problem.num_nodes)
    size = wanted_size(problem.packed, price_takers(problem.packed), 0, cheapness)
    assert size == best_size(cluster, 0, cheapness)


@given(single_jobs(), GAINS, st.lists(st.integers(RUNGS[0], RUNGS[-1]), min_size=2, max_size=9))
def test_cheaper_nodes_are_wanted_more(
    problem: WorkloadProblem, gain: float | None, rungs: list[int]
) -> None:
    demand = demand_of(problem, gain)
    sizes = [wanted_size(problem.packed, demand, 0, math.exp(1e-4 * rung)) for rung in sorted(rungs)]
    assert sizes == sorted(sizes)


@given(st.randoms(use_true_random=False), GAINS, st.integers(0, 100), st.integers(-60_000, 60_000))
def test_the_clearing_price_is_the_same_from_everywhere(
    rng: random.Random, gain: float | None, capacity: int, start: int
) -> None:
    problem = draw_malleable(rng)
    packed, demand = problem.packed, demand_of(problem, gain)
    members = np.flatnonzero(packed.kind == MALLEABLE)

    def wanted(rung: int) -> int:
        cheapness = math.exp(1e-4 * rung)
        return sum(wanted_size(packed, demand, job, cheapness) for job in members.tolist())

    expected = clearing_rung(wanted, capacity)
    for rung in (start, 0, expected, expected - 1, RUNGS[0] + 1, RUNGS[-1] - 1):
        at = min(max(rung, RUNGS[0]), RUNGS[-1] - 1)
        cleared = clearing_of(packed, demand, members, len(members), capacity, at)
        assert cleared == min(expected, RUNGS[-1] - 1)


# Whole workloads.


@given(PROBLEMS, POLICIES, st.booleans())
def test_both_drivers_agree_and_the_judge_accepts(
    problem: WorkloadProblem, policy: StaticPrice, coalesce: bool
) -> None:
    rules = EngineRules(coalesce)
    ran, driven = policy.simulated(problem, rules), run_policy(problem, policy.decide, rules)
    assert ran.schedule == driven.schedule
    assert ran.log.started.tolist() == driven.log.started.tolist()
    assert ran.log.reasons.tolist() == driven.log.reasons.tolist()
    assert ran.log.blocked.tolist() == driven.log.blocked.tolist()
    assert not workload_violations(problem, ran.schedule)


def check_against_twin(rng: random.Random, most: int) -> None:
    at_once = rng.random() < 0.4
    problem = draw_malleable(rng, most, at_once=at_once)
    policy = StaticPrice(
        rng.choice([0.0, 0.1, 0.25, 1.0, 50.0]),
        rng.choice(["submission", "submission", "smallest-area", "smallest", "wfp3"]),
    )
    rules = EngineRules(rng.random() < 0.8, resize_takes_effect="at_once" if at_once else "next_point")
    twin = naive_malleable(problem, naive_static_price(policy), coalesce=rules.coalesce)
    ran = policy.simulated(problem, rules)
    assert pieces(ran.schedule) == [pieces_of(twin, job) for job in range(len(problem.jobs))]
    assert ran.log.started.tolist() == twin.starts
    assert not workload_violations(problem, ran.schedule)


def test_the_policy_is_its_definition() -> None:
    for seed in draws(100):
        rng = random.Random(seed)
        check_against_twin(rng, rng.choice([8, 14, 30, 60]))


def check_evolving(rng: random.Random, most: int) -> None:
    problem = draw_evolving(rng, most, profiles=False, stalls_only=rng.random() < 0.1)
    orders: tuple[QueueOrder, ...] = ("submission", "submission", "smallest-area", "smallest", "wfp3")
    policy = StaticPrice(rng.choice([0.0, 0.1, 0.25, 1.0, 50.0]), rng.choice(orders))
    rules = EngineRules(rng.random() < 0.8)
    twin = naive_elastic(problem, naive_static_price(policy), coalesce=rules.coalesce)
    ran = policy.simulated(problem, rules)
    driven = run_policy(problem, policy.decide, rules)
    assert pieces(ran.schedule) == [pieces_of(twin, job) for job in range(len(problem.jobs))]
    assert ran.log.started.tolist() == twin.starts
    assert driven.schedule == ran.schedule
    assert driven.log.started.tolist() == twin.starts
    assert not workload_violations(problem, ran.schedule)


def test_with_jobs_that_evolve_it_is_its_definition_in_both_drivers() -> None:
    for seed in draws(100):
        rng = random.Random(seed)
        check_evolving(rng, rng.choice([8, 14, 30, 60]))


@given(workload_problems(max_jobs=9, max_nodes=9), st.sampled_from([0, 0.25]))
def test_without_malleable_jobs_it_is_first_fit(problem: WorkloadProblem, hysteresis: float) -> None:
    ran, expected = StaticPrice(hysteresis).simulated(problem), FirstFit(moldable="min").simulated(problem)
    assert ran.schedule == expected.schedule
    assert ran.log.started.tolist() == expected.log.started.tolist()
    assert ran.log.blocked.tolist() == expected.log.blocked.tolist()


@given(st.randoms(use_true_random=False), POLICIES)
def test_no_job_waits_that_fits(rng: random.Random, policy: StaticPrice) -> None:
    """Where jobs change at once, and want the less nodes the dearer: a row of a table may be always best."""
    problem = draw_malleable(rng, at_once=True)
    assume(not any(job.kind == "malleable" and isinstance(job.speedup, SpeedupTable) for job in problem.jobs))

    def checked(view: QueueView) -> tuple[Decision, ...]:
        decisions = policy.decide(view)
        least = view.jobs.min_nodes
        sizes = dict(zip(view.running.tolist(), view.held.tolist(), strict=True))
        sizes |= {one.job: one.nodes for one in decisions if not isinstance(one, Answer)}
        free = view.num_nodes - sum(sizes.values())
        assert free >= 0
        could = sum(
            sizes[job] - int(least[job])
            for job in view.running.tolist()
            if problem.jobs[job].kind == "malleable"
        )
        waiting = [int(least[job]) for job in view.queue.tolist() if job not in sizes]
        assert all(need > free for need in waiting)
        if policy.order == "submission" and waiting and not any(job in sizes for job in view.queue.tolist()):
            assert waiting[0] > free + could
        return decisions

    run_policy(problem, checked, policy.rules)


def test_jobs_without_a_serial_share_have_equal_parts() -> None:
    """They want all nodes at any price that is worth the name; each has as many as the others."""
    for law in (Amdahl(1), PowerLaw(1)):
        shared: dict[str, Any] = {"min_nodes": 1, "max_nodes": 12, "speedup": law, "kind": "malleable"}
        problem = WorkloadProblem(12, [Job(submit, 1, 120, **shared) for submit in (0, 1, 2)])
        schedule = StaticPrice(0)(problem, Budget()).answer
        assert schedule is not None
        assert [piece[2] for piece in schedule.pieces(0)][:3] == [12, 6, 4]


# --- Srpt area ----------------------------------------------------------------------------------------


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


def check_srpt_area(rng: random.Random, most: int) -> None:
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
        check_srpt_area(rng, rng.choice([14, 60, 200]))


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
