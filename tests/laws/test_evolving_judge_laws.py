"""The judge of evolving jobs: whatever an engine that obeys the rules makes of random decisions is right."""

from __future__ import annotations

import random

import numpy as np
from draw_evolving import draw_decisions, draw_evolving
from tiers import draws

from allocsolve.judge import workload_violations
from allocsolve.model import Profile, WorkloadProblem, WorkloadSchedule
from allocsolve.simulation import Answer, Engine, EngineRules, Resize, Start

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
