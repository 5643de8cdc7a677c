"""The engine under policies that decide at random: capacity, events and all-or-nothing hold."""

from __future__ import annotations

import random  # noqa: TC003 - hypothesis reads the annotations
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st
from naive_malleable import naive_malleable, pieces_of
from naive_workload_engine import draw_problem

from allocsolve.simulation import Engine, EngineRules, IllegalDecision, QueueView, Start, Wake

if TYPE_CHECKING:
    from naive_malleable import Cluster


def random_starts(view: QueueView, rng: random.Random) -> list[Start]:
    """Return starts that fit, of jobs and on nodes at random."""
    free, starts = view.free, []
    for job in rng.sample(view.queue.tolist(), len(view.queue)):
        sizes = [nodes for nodes in view.sizes(job) if nodes <= free]
        if sizes and rng.random() < 0.8:
            starts.append(Start(job, rng.choice(sizes)))
            free -= starts[-1].nodes
    return starts


def wrong(view: QueueView, rng: random.Random, num_jobs: int) -> Start | Wake:
    """Return a decision that is illegal beside any others."""
    choices: list[Start | Wake] = [Start(num_jobs, 1), Start(-1, 1), Wake(view.now)]
    choices += [Start(job, view.num_nodes + 1) for job in view.queue.tolist()]
    choices += [Start(job, 1) for job in view.running.tolist()]
    return rng.choice(choices)


@given(st.randoms(use_true_random=False), st.booleans())
def test_the_engine_equals_the_twin_under_random_decisions(rng: random.Random, coalesce: bool) -> None:
    problem = draw_problem(rng, moldable=True)
    engine = Engine(problem, EngineRules(coalesce=coalesce))
    calls: list[tuple[float, list[int], list[int], list[Start]]] = []
    while (view := engine.advance()) is not None:
        starts = random_starts(view, rng)
        with pytest.raises(IllegalDecision):
            engine.apply([*starts, wrong(view, rng, len(problem.jobs))])
        engine.apply(starts)
        calls.append((view.now, view.queue.tolist(), sorted(view.running.tolist()), starts))

    replay = iter(calls)

    def repeat(cluster: Cluster) -> None:
        now, queue, running, starts = next(replay)
        assert (cluster.now, cluster.queue) == (now, queue)
        assert sorted(cluster.running) == running
        for start in starts:
            cluster.start(start.job, start.nodes)

    twin = naive_malleable(problem, repeat, coalesce=coalesce)
    assert next(replay, None) is None
    schedule, jobs = engine.result(), range(len(problem.jobs))
    assert [schedule.pieces(job) for job in jobs] == [pieces_of(twin, job) for job in jobs]
