"""Agents that follow a rule make the schedule of the policy, in the environment and as a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from agents import Agent, columns, episode, first_come, first_fitting, shortest
from hypothesis import given, settings, strategies as st
from strategies import workload_problems
from tiers import examples

from allocsolve.adaptors import AgentPolicy
from allocsolve.adaptors.gymnasium import Reward, WorkloadEnv
from allocsolve.heuristics import Fcfs, FirstFit
from allocsolve.judge import workload_metrics, workload_violations
from allocsolve.simulation import Start, run_policy, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from allocsolve.adaptors import Observation
    from allocsolve.model import WorkloadProblem
    from allocsolve.simulation import QueueView
    from allocsolve.simulation.policy import Policy

PROBLEMS = workload_problems(min_jobs=1, max_jobs=8, malleable=True)
#: An episode takes as long as many other examples.
FEW = settings(max_examples=examples(80))
RIGID = workload_problems(min_jobs=1, max_jobs=8, moldable=False)


def shortest_first(view: QueueView) -> Iterator[Start]:
    """Start whatever fits, the shortest estimates first."""
    free = view.free
    for job in sorted(view.queue.tolist(), key=lambda job: view.jobs.estimate[job]):
        nodes = int(view.jobs.nodes[job])
        if nodes <= free:
            free -= nodes
            yield Start(job, nodes)


def _same(problem: WorkloadProblem, agent: Agent, policy: Policy, window: int) -> None:
    env = WorkloadEnv(problem, jobs=len(problem.jobs), window=window, test_share=0)
    episode(env, agent)
    wanted = run_policy(env.episode, policy).schedule
    for schedule in (env.schedule, simulate(env.episode, AgentPolicy(agent, window))):
        assert schedule.first_starts.tolist() == wanted.first_starts.tolist()
        assert schedule.nodes.tolist() == wanted.nodes.tolist()


@FEW
@given(PROBLEMS, st.integers(1, 4))
def test_the_head_or_nothing_is_first_come_first_served(problem: WorkloadProblem, window: int) -> None:
    _same(problem, first_come, Fcfs().decide, window)


@FEW
@given(PROBLEMS, st.integers(8, 12))
def test_the_first_that_is_allowed_is_first_fit(problem: WorkloadProblem, window: int) -> None:
    _same(problem, first_fitting, FirstFit().decide, window)


@FEW
@given(RIGID)
def test_the_shortest_that_is_allowed_is_shortest_first(problem: WorkloadProblem) -> None:
    _same(problem, shortest, shortest_first, 8)


@FEW
@given(PROBLEMS, st.sampled_from(["turnaround", "slowdown", "gap"]), st.integers(1, 8), st.integers(0, 99))
def test_rewards_add_up_to_what_the_judge_says(
    problem: WorkloadProblem, reward: Reward, window: int, seed: int
) -> None:
    """Whatever an agent does, allowed or not, all jobs run, and the bound holds."""
    rng = np.random.default_rng(seed)
    env = WorkloadEnv(problem, jobs=len(problem.jobs), window=window, reward=reward, test_share=0)
    rewards, info = episode(env, lambda *_: int(rng.integers(window + 1)))
    assert not workload_violations(env.episode, env.schedule)
    metrics = workload_metrics(env.episode, env.schedule)
    assert info["value"] == (metrics.slowdown if reward == "slowdown" else metrics.turnaround)
    assert info["bound"] <= info["value"] * (1 + 1e-9)
    assert info["gap"] == pytest.approx(info["value"] / info["bound"] - 1 if info["bound"] else 0)
    assert -sum(rewards) == pytest.approx(info["gap" if reward == "gap" else "value"], abs=1e-9)


@FEW
@given(RIGID)
def test_after_the_first_step_a_reward_is_the_waiting_since_the_last_one(problem: WorkloadProblem) -> None:
    """Weighted seconds in the queue between two decisions, counted from the final schedule."""
    env = WorkloadEnv(problem, jobs=len(problem.jobs), window=3, test_share=0)
    observation, _ = env.reset()
    packed = env.episode.packed
    times, rewards, over = [], [], False
    while not over:
        times.append(env.now)
        action = first_come(observation, env.action_masks())
        _, reward, over, _, _ = env.step(action)
        rewards.append(reward)
    starts = env.schedule.first_starts
    times.append(max(times[-1], float(starts.max())))
    weight = packed.weight / (packed.weight.sum() or 1)
    for at in range(1, len(rewards)):
        since, until = times[at], times[at + 1]
        waited = np.minimum(starts, until) - np.maximum(packed.submit, since)
        assert -rewards[at] == pytest.approx(float(weight @ np.maximum(waited, 0)), abs=1e-9)


@FEW
@given(PROBLEMS, st.integers(1, 9))
def test_observations_say_what_the_view_says(problem: WorkloadProblem, window: int) -> None:
    seen: list[tuple[Observation, NDArray[np.bool_]]] = []

    def agent(observation: Observation, mask: NDArray[np.bool_]) -> int:
        seen.append((observation, mask))
        return window

    def policy(view: QueueView) -> tuple[Start, ...]:
        seen.clear()
        decided = AgentPolicy(agent, window).decide(view)
        front = view.queue[:window]
        fits = view.jobs.min_nodes[front] <= view.free
        assert bool(seen) == fits.any()
        if seen:
            observation, mask = seen[0]
            shown = columns(observation)
            count = len(front)
            assert mask[:count].tolist() == fits.tolist()
            assert not mask[count:-1].any()
            assert shown["valid"].tolist() == [1] * count + [0] * (window - count)
            assert not observation[count:].any()
            nodes = shown["nodes"][:count] * view.num_nodes
            assert nodes.tolist() == pytest.approx(view.jobs.min_nodes[front].tolist())
            month = np.log1p(30 * 86400)
            for name, seconds in (
                ("estimate", view.jobs.estimate[front]),
                ("wait", view.now - view.jobs.submit[front]),
            ):
                assert np.expm1(shown[name][:count] * month) == pytest.approx(seconds, rel=1e-4, abs=1e-4)
            assert shown["free"][:count] == pytest.approx(view.free / view.num_nodes)
            assert (shown["share_of_free"][:count] < 1).tolist() == (
                view.jobs.min_nodes[front] < view.free
            ).tolist()
        return decided

    run_policy(problem, policy)
