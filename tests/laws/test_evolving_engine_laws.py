"""Jobs that evolve or stall: the engine and its slow twin agree at every call, whatever a policy decides."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from draw_evolving import draw_decisions, draw_evolving
from eager_policy import eager, eager_schedule, naive_eager
from hypothesis import given, strategies as st
from naive_evolving import ElasticCluster, naive_elastic
from naive_malleable import pieces, pieces_of
from naive_malleable_policies import draw_policy, naive_policy
from tiers import draws

from allocsolve.simulation import (
    Answer,
    Engine,
    EngineRules,
    IllegalDecision,
    Promise,
    Resize,
    Start,
    run_policy,
)

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem
    from allocsolve.simulation import Decision, QueueView


def seen(view: QueueView) -> dict[str, Any]:
    running = view.running.tolist()
    return {
        "now": view.now,
        "free": view.free,
        "pool": view.pool,
        "reserved": view.reserved,
        "queue": view.queue.tolist(),
        "held": dict(zip(running, view.held.tolist(), strict=True)),
        "targets": dict(zip(running, view.targets.tolist(), strict=True)),
        "expected": dict(zip(running, view.expected_ends.tolist(), strict=True)),
        "requests": list(zip(view.requests.tolist(), view.requested_nodes.tolist(), strict=True)),
        "resized": sorted(view.resized.tolist()),
        "promises": list(zip(view.promises.tolist(), view.promised_nodes.tolist(), strict=True)),
    }


def state(cluster: ElasticCluster) -> dict[str, Any]:
    runs = cluster.running.values()
    return {
        "now": cluster.now,
        "free": cluster.free,
        "pool": cluster.pool,
        "reserved": cluster.reserved,
        "queue": cluster.queue,
        "held": {run.job: run.size for run in runs},
        "targets": {run.job: run.target for run in runs},
        "expected": {run.job: max(cluster.now, run.expected) for run in runs},
        "requests": cluster.requests,
        "resized": sorted(cluster.resized),
        "promises": cluster.promises,
    }


def carry_out(cluster: ElasticCluster, decisions: list[Decision]) -> None:
    lacking = {decision.job: decision.nodes for decision in decisions if isinstance(decision, Promise)}
    for decision in decisions:
        if isinstance(decision, Start):
            cluster.start(decision.job, decision.nodes)
        elif isinstance(decision, Answer):
            cluster.answer(decision.job, granted=decision.granted)
        elif isinstance(decision, Promise):
            cluster.promise(decision.job, decision.nodes, lacking[decision.job])
        elif isinstance(decision, Resize):
            run, part = cluster.running[decision.job], 0
            if decision.for_job is not None:
                part = min(lacking[decision.for_job], run.target - decision.nodes)
                lacking[decision.for_job] -= part
            cluster.resize(run, decision.nodes, part)


def twin_pieces(cluster: ElasticCluster, problem: WorkloadProblem, job: int) -> tuple[Any, ...]:
    """Return the pieces of a job, which may not have ended."""
    if job in cluster.running:
        run = cluster.running[job]
        cluster.done[job] = run
        if cluster.now > run.piece:
            run.pieces.append((run.piece, cluster.now, run.size))
    if problem.jobs.evolving.reading[job] == 3:
        return tuple(cluster.done[job].pieces) if job in cluster.done else ()
    return pieces_of(cluster, job)


def wrong(view: QueueView, rng: random.Random, num_jobs: int) -> Decision:
    """Return a decision that is illegal beside any others."""
    choices: list[Decision] = [Answer(num_jobs), Answer(-1), Answer(num_jobs, granted=False)]
    asking = view.requests.tolist()
    choices += [Answer(job) for job in (*view.running.tolist(), *view.queue.tolist()) if job not in asking]
    choices += [Answer(job, granted=False) for job in asking if view.jobs.reading[job] != 1]
    choices += [Resize(job, 1) for job in view.running.tolist() if view.jobs.kind[job] == 3]
    profiles = [job for job in view.queue.tolist() if view.jobs.reading[job] == 3]
    choices += [Start(job, int(view.jobs.nodes[job]) + 1) for job in profiles]
    return rng.choice(choices)


def check_against_twin(rng: random.Random, most: int, *, illegal: bool = False) -> None:
    problem, rules = draw_evolving(rng, most), EngineRules(rng.random() < 0.8)
    engine = Engine(problem, rules)
    calls: list[tuple[dict[str, Any], list[Decision]]] = []
    while (view := engine.advance()) is not None:
        assert view.free + view.held.sum() + view.pool + view.reserved == view.num_nodes
        decisions = draw_decisions(view, rng)
        if illegal:
            with pytest.raises(IllegalDecision):
                engine.apply([*decisions, wrong(view, rng, len(problem.jobs))])
        calls.append((seen(view), decisions))
        engine.apply(decisions)
    ran = pieces(engine.result())

    def replay(cluster: ElasticCluster) -> None:
        expected, decisions = calls[cluster.calls - 1]
        assert state(cluster) == expected
        carry_out(cluster, decisions)

    twin = naive_elastic(problem, replay, coalesce=rules.coalesce)
    assert twin.calls == len(calls)
    assert [twin_pieces(twin, problem, job) for job in range(len(problem.jobs))] == ran


@given(st.randoms(use_true_random=False))
def test_the_engine_is_its_twin_under_random_decisions(rng: random.Random) -> None:
    check_against_twin(rng, 10, illegal=True)


def test_300_workloads_of_up_to_200_jobs() -> None:
    for seed in draws(300):
        rng = random.Random(seed)
        check_against_twin(rng, rng.choice([14, 60, 200]))


@given(st.randoms(use_true_random=False))
def test_malleable_policies_with_stalls(rng: random.Random) -> None:
    problem = draw_evolving(rng, 10, stalls_only=True)
    policy = draw_policy(rng)
    rules = EngineRules(rng.random() < 0.8)
    twin = naive_elastic(problem, naive_policy(policy), coalesce=rules.coalesce)
    expected = [twin_pieces(twin, problem, job) for job in range(len(problem.jobs))]
    assert pieces(policy.simulated(problem, rules).schedule) == expected
    assert pieces(run_policy(problem, policy.decide, rules).schedule) == expected


def check_both_drivers(rng: random.Random, most: int) -> None:
    """Hold the compiled loop, the loop call by call and the twin equal."""
    problem, rules = draw_evolving(rng, most), EngineRules(rng.random() < 0.8)
    twin = naive_elastic(problem, naive_eager, coalesce=rules.coalesce)
    expected = [twin_pieces(twin, problem, job) for job in range(len(problem.jobs))]
    assert pieces(eager_schedule(problem, rules)) == expected
    assert pieces(run_policy(problem, eager, rules).schedule) == expected


def test_both_drivers_on_300_workloads_of_up_to_200_jobs() -> None:
    for seed in draws(300):
        rng = random.Random(seed)
        check_both_drivers(rng, rng.choice([14, 60, 200]))
