"""A long queue is a tree of its jobs: all is as if each job were looked at, reasons included."""

from __future__ import annotations

import dataclasses
import random
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, strategies as st

from allocsolve.heuristics.workload import policies, queue_lengths
from allocsolve.heuristics.workload._kernels_queue import FIRST_AGING
from allocsolve.heuristics.workload.long_queue import run_long
from allocsolve.heuristics.workload.policies import (
    QUEUE_ORDERS,
    SMALLEST_AREA_FIRST,
    Easy,
    FirstFit,
    QueuePolicy,
    run_queue,
)
from allocsolve.model import Jobs, WorkloadProblem
from allocsolve.simulation import EngineRules

#: Of these sizes and estimates many have scores that are equal, or equal but for rounding.
SIZES = [1, 1, 2, 3, 4, 5, 8, 9, 16, 25, 27, 81]
SECONDS = [1.0, 2.0, 3.0, 4.0, 6.0, 9.0, 12.0, 18.0, 27.0, 0.7, 1.4, 2.1, 0.1, 1e4]


def draw_queue(rng: random.Random, count: int, *, instants: int) -> WorkloadProblem:
    """Return rigid jobs that are submitted at few instants; some run for longer than expected."""
    times = [rng.choice([0.0, 0.5, 7.0, 1.6e9]) + 3 * at for at in range(instants)]
    sizes = rng.choice([SIZES, SIZES, [1, 2, 4, 8, 16], [3, 27, 81], range(1, 82)])
    seconds = rng.choice([SECONDS, SECONDS, [rng.uniform(0.1, 50) for _ in range(20)]])
    widest = max(sizes)
    rows = [
        (rng.choice(times), rng.choice(sizes), rng.choice(seconds), rng.choice([*seconds, float("nan")]))
        for _ in range(count)
    ]
    if rng.random() < 0.5:
        rows = [
            (submit, nodes, runtime, runtime * rng.choice([1, 1, 3])) for submit, nodes, runtime, _ in rows
        ]
    return WorkloadProblem(widest + rng.choice([0, 1, 20, 300]), Jobs(*zip(*rows, strict=True)))


def draw_policy(rng: random.Random) -> QueuePolicy:
    easy = Easy(
        order=rng.choice(QUEUE_ORDERS),
        extra_nodes=rng.random() < 0.7,
        strict=rng.random() < 0.3,
        estimate=rng.choice(["limit", "actual"]),
        moldable=rng.choice(["max", "min", "fit"]),
    ).queue_policy
    order = easy.rule.order
    first_fit = FirstFit().queue_policy
    return rng.choice(
        [
            easy,
            easy,
            easy,
            dataclasses.replace(easy, queued=rng.choice(["limit", "actual"])),
            dataclasses.replace(first_fit, rule=first_fit.rule._replace(order=order)),
            first_fit,
            SMALLEST_AREA_FIRST,
            *(Easy(like=preset).queue_policy for preset in ("flux", "accasim", "cqsim")),
        ]
    )


def seen(problem: WorkloadProblem, policy: QueuePolicy, rules: EngineRules, longest: int) -> tuple[Any, bool]:
    """Return starts and reasons if queues are long from so many jobs on, and whether the queue was a tree."""
    with (
        mock.patch.object(queue_lengths, "LONG_QUEUE", longest),
        mock.patch.object(policies, "run_long", wraps=run_long) as tree,
    ):
        made = run_queue(problem, policy, rules)
    log = made.log
    starts = made.schedule.first_starts.tolist()
    return (starts, log.started.tolist(), log.reasons.tolist(), log.blocked.tolist()), tree.called


@given(st.randoms(use_true_random=False))
def test_a_tree_decides_as_a_look_at_each_job(rng: random.Random) -> None:
    instants = rng.choice([1, 1, 1, 2, 5])
    problem = draw_queue(rng, rng.choice([1, 2, 3, 7, 20, 60, 200]), instants=instants)
    policy = draw_policy(rng)
    rules = EngineRules(coalesce=rng.random() < 0.7, knowledge="actual")
    expected, tree = seen(problem, policy, rules, len(problem.jobs) + 1)
    assert not tree
    made, tree = seen(problem, policy, rules, 1)
    assert tree or policy.rule.order >= FIRST_AGING
    assert made == expected


@pytest.mark.parametrize("order", ["wfp3", "unicef"])
def test_orders_that_change_with_time_are_trees_if_all_jobs_come_at_one_instant(order: Any) -> None:
    rng = random.Random(order)
    policy = Easy(order=order).queue_policy
    for instants in (1, 2):
        problem = draw_queue(rng, 300, instants=instants)
        rules = EngineRules()
        made, tree = seen(problem, policy, rules, 1)
        assert tree == (np.ptp(problem.packed.submit) == 0)
        assert made == seen(problem, policy, rules, 1000)[0]


@pytest.mark.parametrize("order", ["wfp3", "unicef"])
def test_jobs_that_only_rounding_tells_apart_are_compared_at_each_event(order: Any) -> None:
    nodes = np.where(np.arange(500) % 2, 27, 1 if order == "wfp3" else 3)
    runtime = np.where(np.arange(500) % 2, 2.1, 0.7 if order == "wfp3" else 6.3)
    problem = WorkloadProblem(30, Jobs(np.zeros(500), nodes, runtime, runtime))
    policy, rules = Easy(order=order).queue_policy, EngineRules()
    made, tree = seen(problem, policy, rules, 1)
    assert tree
    assert made == seen(problem, policy, rules, 1000)[0]
