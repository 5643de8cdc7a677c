"""The engine under decisions at random, and the state that kernels make of a view."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, strategies as st
from naive_malleable import draw_malleable, naive_malleable, pieces_of
from naive_workload_engine import draw_problem
from numpy.testing import assert_array_equal

from allocsolve.heuristics import MalleableMin
from allocsolve.simulation import Engine, EngineRules, IllegalDecision, QueueView, Start, Wake, run_policy
from allocsolve.simulation.kernels import renumbered

if TYPE_CHECKING:
    import random

    from naive_malleable import Cluster

    from allocsolve.simulation import QueueView
    from allocsolve.simulation.decisions import Decision


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


# --- View state ---------------------------------------------------------------------------------------


@given(rng=st.randoms(use_true_random=False))
def test_a_view_of_its_jobs_alone(rng: random.Random) -> None:
    problem, policy = draw_malleable(rng), MalleableMin()

    def compared(view: QueueView) -> tuple[Decision, ...]:
        small, listed = renumbered(view)
        assert set(listed.tolist()) == {*view.queue.tolist(), *view.running.tolist(), *view.promises.tolist()}
        assert (np.diff(listed) > 0).all()
        for name in ("queue", "running", "promises", "requests"):
            assert_array_equal(listed[getattr(small, name)], getattr(view, name))
        for name in ("now", "free", "pool", "held", "targets", "expected_ends", "promised_nodes"):
            assert_array_equal(getattr(small, name), getattr(view, name))
        for place, job in enumerate(listed.tolist()):
            assert small.sizes(place) == view.sizes(job)
            assert small.jobs.start[place] == view.jobs.start[job] or np.isnan(view.jobs.start[job])
            for nodes in view.sizes(job):
                assert small.estimate(place, nodes) == view.estimate(job, nodes)
        return policy.decide(view)

    run_policy(problem, compared)
