"""Laws of agents that learn, and of the evaluation of policies on windows of logs."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from agents import Agent, columns, episode, first_come, first_fitting, shortest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_array_equal
from strategies import workload_problems
from tiers import examples

from allocsolve.adaptors import AgentPolicy
from allocsolve.adaptors.gymnasium import Reward, WorkloadEnv
from allocsolve.bench.evaluation.messages import (
    LENGTH,
    ViewReceiver,
    ViewSender,
    decisions_of,
    packed_decisions,
)
from allocsolve.bench.evaluation.windows import draw_windows
from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.heuristics import Fcfs, FirstFit
from allocsolve.judge import workload_metrics, workload_violations
from allocsolve.model import Job, WorkloadProblem
from allocsolve.simulation import Engine, IllegalDecision, QueueView, Start, Wake, run_policy, simulate

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from allocsolve.adaptors import Observation
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


# --- Evaluation ---------------------------------------------------------------------------------------


def _decided(view: QueueView, rng: random.Random) -> list[Start | Wake]:
    free, made = view.free, list[Start | Wake]()
    for job in rng.sample(view.queue.tolist(), len(view.queue)):
        nodes = int(view.jobs.nodes[job])
        if nodes <= free and rng.random() < 0.8:
            free -= nodes
            made.append(Start(job, nodes))
    if rng.random() < 0.2 or (view.queue.size and not view.running.size and not made):
        made.append(Wake(view.now + rng.randint(1, 9)))
    return made


@given(problem=workload_problems(moldable=False), rng=st.randoms(use_true_random=False))
def test_views_arrive_as_they_were_sent(problem: WorkloadProblem, rng: random.Random) -> None:
    engine, sender, receiver = Engine(problem), ViewSender(), ViewReceiver()
    for _ in range(200):
        if (view := engine.advance()) is None:
            break
        message = sender.message(view)
        assert LENGTH.unpack_from(message)[0] == len(message) - LENGTH.size
        seen = receiver.view(message[LENGTH.size :])
        for field in dataclasses.fields(QueueView):
            if field.name not in ("jobs", "profiles"):
                assert_array_equal(getattr(seen, field.name), getattr(view, field.name), field.name)
        for name, column in view.jobs._asdict().items():
            assert_array_equal(getattr(seen.jobs, name), column, name)
            assert not getattr(seen.jobs, name).flags.writeable
        assert np.isnan(seen.jobs.runtime).all()
        made = _decided(view, rng)
        told = list(decisions_of(packed_decisions(made)))
        assert told == made
        engine.apply(told)


@given(data=st.binary(max_size=200))
def test_any_bytes_are_decisions_or_refused(data: bytes) -> None:
    """Whatever a process sends: decisions that the rules allow, or an error that costs a window."""
    engine = Engine(WorkloadProblem(4, [Job(0, 3, 100), Job(0, 1, 10)]))
    view = engine.advance()
    assert view is not None
    try:
        engine.apply(decisions_of(data))
    except (InvalidAnswer, IllegalDecision):
        assert engine.result() == Engine(engine.problem).result()


#: Each job has a size of its own, which tells its place.
LOG = WorkloadProblem(
    500, [Job(60 * idx, idx + 1, 10 + 7919 * idx % 5000, 20 + 7919 * idx % 5000) for idx in range(200)]
)


@given(seed=st.integers(0, 2**31), windows=st.integers(1, 4), jobs=st.integers(1, 30), testing=st.booleans())
def test_windows_are_parts_of_the_log_at_other_times(
    seed: int, windows: int, jobs: int, testing: bool
) -> None:
    logs, split = [(Path("log.swf"), LOG)], "test" if testing else "train"
    allowed = range(150, 200) if testing else range(150)
    if windows * jobs > len(allowed):
        with pytest.raises(InvalidOption, match=f"log.swf: {len(allowed)} jobs to {split} are less than"):
            draw_windows(logs, windows=windows, jobs=jobs, split=split, seed=seed)
        return
    drawn = draw_windows(logs, windows=windows, jobs=jobs, split=split, seed=seed)
    assert drawn == draw_windows(logs, windows=windows, jobs=jobs, split=split, seed=seed)
    taken: list[int] = []
    for window in drawn:
        places = (window.packed.nodes - 1).tolist()
        assert places == [*range(places[0], places[0] + jobs)]
        taken += places
        before, now = LOG.packed, window.packed
        # One factor explains all run times, which are rounded up.
        low, high = (
            ((now.runtime - 1) / before.runtime[places]).max(),
            (now.runtime / before.runtime[places]).min(),
        )
        assert high >= 0.9
        assert low <= min(high, 1.1)
        assert (now.estimate >= now.runtime).all()
        assert (np.diff(now.submit) >= 0).all()
    assert len(set(taken)) == len(taken) == windows * jobs
    assert {*taken} <= {*allowed}
