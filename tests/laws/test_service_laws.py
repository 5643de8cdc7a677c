"""Evolving jobs served in the order of a list: the slow twin, the judge, searches that are never worse."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from draw_evolving import draw_decisions, draw_evolving
from evolving_strategies import evolving_problems
from hypothesis import HealthCheck, given, settings, strategies as st
from naive_evolving import ElasticCluster, naive_elastic
from naive_malleable import pieces_of
from strategies import evolution_problems, evolution_schedules
from tiers import draws, examples

from allocsolve import solve
from allocsolve.bounds.workload import shortest_run_times, time_prices
from allocsolve.errors import InvalidAnswer, InvalidProblem, UnsupportedProblem
from allocsolve.families import quick_answers
from allocsolve.heuristics import EvolvingAnnealing, ListScheduling
from allocsolve.heuristics.workload.service import Server, ServiceAnnealer, ServiceList
from allocsolve.instances import (
    evolution_of_workload,
    evolution_schedule_of_workload,
    evotree_batch,
    klein2011,
    parse_problem,
    problem_document,
    workload_of_evolution,
    workload_schedule_of_evolution,
)
from allocsolve.judge import evolution_metrics, evolution_violations
from allocsolve.judge.workload.rules import workload_metrics, workload_value, workload_violations
from allocsolve.model import (
    WORKLOAD_OBJECTIVES,
    Budget,
    Clock,
    ClosedWindow,
    EvolutionProblem,
    EvolutionSchedule,
    Job,
    Limit,
    Phases,
    Profile,
    Status,
    WorkloadProblem,
    WorkloadSchedule,
    terms,
)
from allocsolve.simulation import Answer, Engine, EngineRules, Resize, Start

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from allocsolve.model import WorkloadTerm


#: An entry: a job and its row, -1 for its start.
Entry = tuple[int, int]


def present_row(cluster: ElasticCluster, job: int) -> int:
    """Return the phase or step for which a job asks, or the moment at which it did."""
    evolution = cluster.rows[job].evolution
    left = len(cluster.running[job].plan)
    if isinstance(evolution, Phases):
        return len(evolution.phases) - left
    if isinstance(evolution, Profile):
        return len(evolution.steps) - left
    assert evolution is not None
    return len(evolution.events) - left - 1


def is_late(cluster: ElasticCluster, job: int) -> bool:
    run = cluster.running[job]
    if not isinstance(cluster.rows[job].evolution, Phases) or len(run.plan) > 1:
        return False
    return cluster.work_left(run) <= cluster.join(run).grow * cluster.rate(run)


def start_size(cluster: ElasticCluster, job: int, most: int) -> int:
    if isinstance(cluster.rows[job].evolution, Profile):
        own = cluster.rows[job].nodes
        return own if own <= most else 0
    return max((size for size in cluster.sizes(job) if size <= most), default=0)


def naive_service(
    order: Sequence[Entry], sizes: Mapping[Entry, int], insists: Mapping[Entry, int]
) -> Callable[[ElasticCluster], None]:
    """Return what is decided in each call."""

    def decide(cluster: ElasticCluster) -> None:
        asked = dict(cluster.requests)
        wanting = [(job, -1) for job in cluster.queue]
        wanting += [(job, present_row(cluster, job)) for job in asked]
        for job, row in sorted(wanting, key=lambda entry: order.index(entry) if entry in order else 10**9):
            size = sizes[job, row]
            if row < 0:
                nodes = start_size(cluster, job, size)
                if nodes > cluster.free:
                    nodes = 0 if insists[job, row] else start_size(cluster, job, cluster.free)
                if nodes:
                    cluster.start(job, nodes)
                elif insists[job, row]:
                    return
            elif not cluster.has_profile(job) and (asked[job] > size or is_late(cluster, job)):
                cluster.drop_request(job)
            elif asked[job] - cluster.running[job].size <= cluster.free:
                cluster.answer(job, granted=True)
            elif insists[job, row]:
                return

    return decide


def served(
    problem: WorkloadProblem, order: Sequence[Entry], sizes: Mapping[Entry, int], insists: Mapping[Entry, int]
) -> ElasticCluster:
    """Return the cluster at the end of the workload, or when jobs wait for each other for ever."""
    return naive_elastic(problem, naive_service(order, sizes, insists))


few = settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])


def drawn_list(server: Server, rng: random.Random) -> ServiceList:
    """Return a list with its entries in any order, and any sizes."""
    listed, (low, high, *_) = server.list_by_area(), server.entries
    sizes = [rng.randint(least, most) for least, most in zip(low.tolist(), high.tolist(), strict=True)]
    insists = [int(rng.random() < 0.3) for _ in sizes]
    order = rng.sample(listed.order.tolist(), len(listed.order))
    return ServiceList(np.array(order), np.array(sizes), np.array(insists))


def entries(problem: WorkloadProblem) -> list[Entry]:
    offsets = problem.jobs.evolving.offsets
    starts = [(job, -1) for job in range(len(problem.jobs))]
    return starts + [(job, row) for job, _ in starts for row in range(offsets[job + 1] - offsets[job])]


@given(st.randoms(use_true_random=False))
def test_jobs_are_served_as_by_definition(rng: random.Random) -> None:
    problem = draw_evolving(rng, 8)
    server = Server(problem, "turnaround")
    listed, named = drawn_list(server, rng), entries(problem)
    twin = served(
        problem,
        [named[entry] for entry in listed.order.tolist()],
        dict(zip(named, listed.sizes.tolist(), strict=True)),
        dict(zip(named, listed.insists.tolist(), strict=True)),
    )
    schedule = server.schedule(listed)
    assert (schedule is None) == (len(twin.done) < len(problem.jobs))
    if schedule is not None:
        expected = [
            tuple(twin.done[job].pieces) if twin.has_profile(job) else pieces_of(twin, job)
            for job in range(len(problem.jobs))
        ]
        assert [schedule.pieces(job) for job in range(len(problem.jobs))] == expected


@few
@given(st.randoms(use_true_random=False), st.sampled_from(WORKLOAD_OBJECTIVES))
def test_lists_are_feasible_and_cost_what_the_judge_says(rng: random.Random, term: WorkloadTerm) -> None:
    problem = draw_evolving(rng, 8)
    server = Server(problem, term)
    for _ in range(3):  # the engine is used again
        listed = drawn_list(server, rng)
        schedule, cost = server.schedule(listed), server.cost(listed)
        assert (schedule is None) == (cost == math.inf)
        if schedule is None:
            continue
        assert workload_violations(problem, schedule) == ()
        value = terms(workload_value(problem, schedule, (term,)))[0]
        weight, least = problem.packed.weight, shortest_run_times(problem) * (term != "wait")
        if term == "slowdown":
            least = np.maximum(1, least / np.maximum(problem.packed.runtime, 10))
        total = 0.0 if term == "makespan" else float((weight * least).sum())
        share = 1.0 if term == "makespan" else float(weight.sum())
        assert cost == pytest.approx(value * share - total, abs=1e-6)


@few
@given(st.randoms(use_true_random=False))
def test_the_best_list_of_a_search_costs_what_the_search_says(rng: random.Random) -> None:
    problem = draw_evolving(rng, 8)
    server = Server(problem, "turnaround")
    begin = server.list_by_area()
    search = ServiceAnnealer(server, begin, 1)
    for temperature in (100.0, 1.0):
        search.run(temperature, 50)
    assert search.best_cost <= server.cost(begin)
    assert server.cost(search.best()) == search.best_cost
    again = ServiceAnnealer(server, begin, 1)
    for temperature in (100.0, 1.0):
        again.run(temperature, 50)
    assert again.best_cost == search.best_cost


@few
@given(problem=evolving_problems(max_jobs=5), term=st.sampled_from(WORKLOAD_OBJECTIVES))
def test_no_worse_than_the_policies(problem: WorkloadProblem, term: WorkloadTerm) -> None:
    result = EvolvingAnnealing((term,))(problem, Budget(iterations=200))
    assert result.answer is not None
    assert workload_violations(problem, result.answer) == ()
    assert result.objective == pytest.approx(workload_value(problem, result.answer, (term,)))
    value = terms(result.objective or 0.0)[0]
    for _, (other, *_) in quick_answers(problem, (term,), Budget().start()):
        assert value <= other * (1 + 1e-9)
    again = EvolvingAnnealing((term,))(problem, Budget(iterations=200))
    assert (again.answer, again.objective) == (result.answer, result.objective)
    resumed = EvolvingAnnealing((term,), start=result.answer)(problem, Budget(iterations=10))
    assert terms(resumed.objective or 0.0)[0] <= value


@few
@given(st.integers(0, 10_000), st.integers(2, 4))
def test_no_list_is_better_than_the_optimum(seed: int, count: int) -> None:
    problem = klein2011(
        seed, num_apps=(count, count), num_steps=(1, 3), duration=(1, 20), nodes=(1, 8), num_nodes=8
    )
    exact = solve(problem, "cpsat", "completion", seconds=300)
    assert exact.status is Status.OPTIMAL
    optimum, workload = terms(exact.objective or 0)[0], workload_of_evolution(problem)
    result = EvolvingAnnealing()(workload, Budget(iterations=300))
    assert terms(result.objective or 0)[0] >= optimum * (1 - 1e-9)
    assert time_prices(workload, "turnaround", clock=Clock(60)).value <= optimum * (1 + 1e-9)


def test_a_batch_of_tree_searches() -> None:
    """The policies have a mean turnaround of 283.0 s, the lists 254."""
    problem = evotree_batch(42)
    result = EvolvingAnnealing()(problem, Budget(iterations=5_000))
    assert terms(result.objective or 0.0)[0] < 265


def test_a_job_that_waits_keeps_what_is_free() -> None:
    """Two jobs leave two nodes; the third insists on three, so the fourth waits behind it."""
    job: dict[str, Any] = {"min_nodes": 1, "max_nodes": 4, "evolution": Phases([(12, None)])}
    problem = WorkloadProblem(4, [Job(0, 1, 10), Job(0, 1, 20), Job(0, 1, 12, **job), Job(0, 2, 3)])
    server = Server(problem, "turnaround")
    # Entries: the starts of the four jobs, then the requests of the third.
    listed = ServiceList(np.array([0, 1, 2, 3, 4]), np.array([1, 1, 3, 2, 3]), np.array([0, 0, 1, 0, 0]))
    schedule = server.schedule(listed)
    assert schedule is not None
    assert [schedule.pieces(one) for one in range(4)] == [
        ((0.0, 10.0, 1),),
        ((0.0, 20.0, 1),),
        ((10.0, 14.0, 3),),
        ((14.0, 17.0, 2),),
    ]


def test_what_it_does_not_know_is_refused() -> None:
    tree = Job(0, 2, 7, max_nodes=3, evolution=Phases([(14, None)]))
    with pytest.raises(UnsupportedProblem, match="closed windows"):
        EvolvingAnnealing()(WorkloadProblem(4, [tree], closed=[ClosedWindow(3, 9, {"nodes": 1})]), Budget())
    early = WorkloadSchedule(np.array([0, 1]), np.array([0.0]), np.array([1.0]), np.array([2]))
    with pytest.raises(InvalidAnswer, match=r"^the schedule to start from is not feasible: "):
        EvolvingAnnealing(start=early)(WorkloadProblem(4, [tree]), Budget(iterations=10))


def test_lists_in_which_jobs_wait_for_ever_are_left() -> None:
    """Both jobs hold two nodes and need all four; policies let them run one after the other."""
    steps = Profile([(5, 2), (5, 4)])
    job: dict[str, Any] = {"min_nodes": 2, "max_nodes": 4, "evolution": steps}
    problem = WorkloadProblem(4, [Job(0, 2, 10, **job), Job(0, 2, 10, **job)])
    server = Server(problem, "turnaround")
    assert server.schedule(server.list_by_area()) is None
    result = EvolvingAnnealing()(problem, Budget(iterations=500))
    assert (result.status, result.objective) == (Status.FEASIBLE, 15.0)


def test_many_jobs_get_the_best_policy() -> None:
    tree: dict[str, Any] = {"max_nodes": 3, "evolution": Phases([(14, None)])}
    problem = WorkloadProblem(4, [Job(idx, 2, 7, **tree) for idx in range(5_001)])
    result = EvolvingAnnealing()(problem, Budget(seconds=60, iterations=100))
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.SIZE)
    assert result.answer is not None
    assert workload_violations(problem, result.answer) == ()


def test_what_meets_the_bound_is_optimal() -> None:
    tree = Job(0, 4, 3.5, max_nodes=4, evolution=Phases([(14, None)]))
    result = EvolvingAnnealing(("wait",))(WorkloadProblem(4, [tree]), Budget())
    assert (result.status, result.objective, result.bound) == (Status.OPTIMAL, 0.0, 0.0)


@given(evolution_problems(releases=True, max_apps=4))
def test_evolution_problems_are_workloads_and_come_back(problem: EvolutionProblem) -> None:
    workload = workload_of_evolution(problem)
    assert evolution_of_workload(workload) == problem
    read = parse_problem(problem_document(workload), "p.json")
    assert isinstance(read, WorkloadProblem)
    assert evolution_of_workload(read) == problem


@st.composite
def problems_with_schedules(draw: st.DrawFn) -> tuple[EvolutionProblem, EvolutionSchedule]:
    """Half of them list schedules, of which one number may be wrong, half of them any numbers."""
    problem = draw(evolution_problems(max_apps=3, releases=True))
    if draw(st.booleans()):
        answer = ListScheduling()(problem, Budget()).answer
        assert answer is not None
        columns = {name: getattr(answer, name).copy() for name in ("starts", "durations", "nodes")}
        changed = draw(st.sampled_from(["nothing", *columns]))
        if changed != "nothing":
            at = draw(st.integers(0, len(columns[changed]) - 1))
            columns[changed][at] = max(1, columns[changed][at] + draw(st.sampled_from([-1, 1])))
        return problem, EvolutionSchedule(offsets=answer.offsets, **columns)
    return problem, draw(evolution_schedules(problem))


@given(problems_with_schedules())
def test_the_judges_of_both_families_agree(case: tuple[EvolutionProblem, EvolutionSchedule]) -> None:
    problem, schedule = case
    workload, pieces = workload_of_evolution(problem), workload_schedule_of_evolution(schedule)
    assert evolution_schedule_of_workload(pieces) == schedule
    assert bool(evolution_violations(problem, schedule)) == bool(workload_violations(workload, pieces))
    if not evolution_violations(problem, schedule):
        ours, theirs = workload_metrics(workload, pieces), evolution_metrics(problem, schedule)
        assert ours.makespan == theirs.makespan
        releases = sum(problem.releases) / len(problem.releases)
        assert ours.turnaround + releases == pytest.approx(theirs.mean_completion)


STEPS: dict[str, Any] = {"nodes": 2, "runtime": 9, "evolution": Profile([(9, 2)])}
UNFIT: dict[str, tuple[list[Job], str]] = {
    "rigid": ([Job(0, 1, 1)], "job 'j0' is rigid without a profile"),
    "fraction": ([Job(0.5, **STEPS)], "job 'j0': submit 0.5 is no whole second"),
    "limits": (
        [Job(0, **STEPS), Job(0, 2, 9, evolution=Profile([(9, 2)], 2))],
        "job 'j1': expand_limit 2.0, after inf",
    ),
}


@pytest.mark.parametrize(("jobs", "fault"), UNFIT.values(), ids=UNFIT)
def test_other_workloads_are_no_evolution_problems(jobs: list[Job], fault: str) -> None:
    with pytest.raises(InvalidProblem) as caught:
        evolution_of_workload(WorkloadProblem(4, jobs))
    assert str(caught.value) == fault


def test_broken_seconds_are_no_evolution_schedule() -> None:
    problem = WorkloadProblem(4, [Job(0, **STEPS)])
    schedule = WorkloadSchedule.of(problem, [0.5])
    with pytest.raises(InvalidAnswer, match=r"job 0: 0\.5 s is no whole second"):
        evolution_schedule_of_workload(schedule)


#: After so many no sizes change any more: a job that changed in every call might stall for ever.
MOST_CALLS = 300


def ended(problem: WorkloadProblem, schedule: WorkloadSchedule) -> tuple[WorkloadProblem, WorkloadSchedule]:
    """Return the jobs that have ended: decisions at random leave some in the queue, or waiting for ever.

    Only a job with a profile can wait for ever: it has fewer pieces than steps then.
    """
    counts = np.diff(schedule.offsets)
    steps = [len(job.evolution.steps) if isinstance(job.evolution, Profile) else 1 for job in problem.jobs]
    over = counts >= np.array(steps, dtype=np.int64)
    pieces = np.repeat(over, counts)
    jobs = [job for job, is_over in zip(problem.jobs, over.tolist(), strict=True) if is_over]
    offsets = np.concatenate([[0], np.cumsum(counts[over])])
    return WorkloadProblem(problem.num_nodes, jobs), WorkloadSchedule(
        offsets, schedule.starts[pieces], schedule.ends[pieces], schedule.nodes[pieces]
    )


def check_random_run(rng: random.Random) -> int:
    """Judge a run of few jobs of all kinds; return how many have ended."""
    problem = draw_evolving(rng, 6)
    engine, calls = Engine(problem, EngineRules(rng.random() < 0.8)), 0
    changed: dict[int, float] = {}
    while (view := engine.advance()) is not None:
        decisions, calls = draw_decisions(view, rng), calls + 1
        resized = [decision.job for decision in decisions if isinstance(decision, Resize)]
        # Of one that grows and then shrinks at one instant, in two calls, the judge sees two stalls, not one.
        if calls > MOST_CALLS or any(changed.get(job) == view.now for job in resized):
            decisions = [decision for decision in decisions if isinstance(decision, Start | Answer)]
        changed |= dict.fromkeys(resized, view.now)
        engine.apply(decisions)
    problem, schedule = ended(problem, engine.result())
    assert workload_violations(problem, schedule) == ()
    return len(problem.jobs)


def test_10_000_random_runs_are_feasible() -> None:
    seeds = draws(10_000)
    assert sum(check_random_run(random.Random(seed)) for seed in seeds) > 2 * len(seeds)
