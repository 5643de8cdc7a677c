"""The environment of Gymnasium: what its users rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import pytest
from agents import columns, episode, first_come, first_fitting
from gymnasium.utils.env_checker import check_env
from process_tools import python

from allocsolve.adaptors import FEATURES, AgentPolicy, train_test_ranges, window_of_log
from allocsolve.adaptors.gymnasium import ENV_ID, WorkloadEnv
from allocsolve.bounds.workload import time_prices
from allocsolve.errors import InvalidOption, UnknownName
from allocsolve.heuristics import FirstFit
from allocsolve.instances.generators.examples import random_workload
from allocsolve.judge import certified_bound, workload_violations
from allocsolve.model import Amdahl, Job, NodeType, Phases, WorkloadProblem
from allocsolve.simulation import EngineRules, simulate
from allocsolve.testing.policies import check_policy

if TYPE_CHECKING:
    from allocsolve.adaptors.gymnasium import Reward

LOG = random_workload(1, 60)
#: Starts at 0, 100 and 110 in the order of submission; job 2 also fits at 2.
FOUR = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 1000)])


def _four(**options: Any) -> WorkloadEnv:
    return WorkloadEnv(FOUR, **({"jobs": 3, "window": 2, "test_share": 0} | options))


@pytest.mark.parametrize("reward", ["turnaround", "slowdown", "gap"])
@pytest.mark.parametrize("split", ["train", "test"])
def test_gymnasium_finds_no_fault(reward: Reward, split: str) -> None:
    """Warnings are errors here."""
    options: dict[str, Any] = {"jobs": 10, "window": 4, "reward": reward, "split": split}
    env = gymnasium.make(f"allocsolve.adaptors.gymnasium:{ENV_ID}", problem=LOG, **options)
    assert isinstance(env.unwrapped, WorkloadEnv)
    assert env.unwrapped.problem is LOG
    check_env(env.unwrapped)
    env.reset(seed=1)
    assert env.get_wrapper_attr("action_masks")().any()  # as learners ask for it, through wrappers


def test_jobs_of_several_sizes_are_scheduled() -> None:
    law: dict[str, Any] = {"min_nodes": 1, "max_nodes": 4, "speedup": Amdahl(0.9)}
    jobs = [Job(0, 2, 50, **law), Job(0, 2, 50, **law, kind="malleable"), Job(1, 3, 9)]
    env = gymnasium.make(ENV_ID, problem=WorkloadProblem(4, jobs), jobs=3, test_share=0).unwrapped
    check_env(env)
    assert isinstance(env, WorkloadEnv)
    episode(env, first_come)
    assert env.schedule.nodes.tolist() == [4, 4, 3]


def test_steps_are_what_was_worked_out_by_hand() -> None:
    env = _four()
    observation, info = env.reset()
    assert info["action_mask"].tolist() == [1, 0, 0]  # nothing runs, so something has to start
    assert info["action_mask"].dtype == np.int8
    assert env.action_masks().dtype == np.bool_
    assert (info["offset"], info["forbidden"]) == (0, 0)
    assert info["bound"] == time_prices(env.episode).value
    certificate = time_prices(env.episode).certificate
    assert info["bound"] <= certified_bound(env.episode, certificate, ("turnaround",))
    assert columns(observation)["nodes"].tolist() == [0.75, 0]
    # To the instant at which job 2 fits: job 1 has waited 1 s by then. No job has less than its run time.
    observation, reward, over, cut, info = env.step(0)
    assert reward == pytest.approx(-(100 + 10 + 1000 + 1) / 3)
    assert not over
    assert not cut
    assert columns(observation)["nodes"].tolist() == [1, 0.25]
    assert columns(observation)["share_of_free"].tolist() == [1, 1]
    assert columns(observation)["position"].tolist() == [0, 0.5]
    assert env.action_masks().tolist() == info["action_mask"].tolist() == [False, True, True]
    # Nothing now: both wait until 100.
    _, reward, over, _, info = env.step(2)
    assert reward == pytest.approx(-(98 + 98) / 3)
    assert not over
    assert "value" not in info
    # Job 1 takes all nodes until 110, job 2 waits.
    _, reward, over, _, info = env.step(0)
    assert reward == pytest.approx(-10 / 3)
    assert not over
    observation, reward, over, cut, info = env.step(0)
    assert (reward, over, cut) == (0, True, False)
    assert not observation.any()
    assert not env.action_masks().any()
    assert info["value"] == (100 + 109 + 1108) / 3
    assert info["gap"] == info["value"] / info["bound"] - 1
    assert (env.schedule.first_starts == simulate(FOUR, AgentPolicy(first_come, 1)).first_starts).all()
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)


def test_forbidden_actions_pass_or_take_the_first_allowed() -> None:
    env = _four()
    env.reset()
    _, _, _, _, info = env.step(2)  # job 0 starts: nothing runs yet
    assert info["forbidden"] == 1
    assert env.now == 2
    _, _, _, _, info = env.step(0)  # job 1 does not fit: nothing starts
    assert info["forbidden"] == 2
    assert env.now == 100
    assert env.reset()[1]["forbidden"] == 0


@pytest.mark.parametrize("action", [3, -1, 0.5, "first"])
def test_actions_that_are_none_are_refused(action: Any) -> None:
    env = _four()
    env.reset()
    with pytest.raises(InvalidOption, match=r"^action .* is not in 0\.\.2$"):
        env.step(action)
    with pytest.raises(InvalidOption, match=r"^action .* is not in 0\.\.2$"):
        simulate(FOUR, AgentPolicy(lambda *_: action, 2))


def test_training_and_test_windows_share_no_job() -> None:
    train, test = (WorkloadEnv(LOG, jobs=5, split=split, test_share=0.3) for split in ("train", "test"))
    assert (train.range, test.range) == (range(42), range(42, 60)) == train_test_ranges(LOG, 0.3)
    seen: dict[str, set[str]] = {"train": set(), "test": set()}
    for env in (train, test):
        env.reset(seed=1)
        for _ in range(40):
            _, info = env.reset()
            assert env.range.start <= info["offset"] <= env.range.stop - 5
            seen[env.split] |= set(env.episode.jobs.names)
    assert not seen["train"] & seen["test"]
    assert len(seen["train"]) > 30
    for env, offset in ((train, 38), (train, 42), (test, 41), (test, 56)):
        with pytest.raises(InvalidOption, match=rf"^offset {offset} of 5 jobs to {env.split} is not in "):
            env.reset(options={"offset": offset})
    _, info = test.reset(options={"offset": 50, "jobs": 10})
    assert (info["offset"], len(test.episode.jobs)) == (50, 10)


def test_seeds_draw_the_same_windows_again() -> None:
    drawn = []
    for _ in range(2):
        env = WorkloadEnv(LOG, jobs=5)
        drawn.append([env.reset(seed=7)[1]["offset"], *(env.reset()[1]["offset"] for _ in range(9))])
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) > 3


@pytest.mark.parametrize(
    ("options", "window", "message"),
    [
        ({"jobs": 46}, {}, "windows of 46 jobs: the part of the log to train has only 45"),
        ({"jobs": 16, "split": "test"}, {}, "windows of 16 jobs: the part of the log to test has only 15"),
        ({"jobs": 0}, {}, "jobs 0 is not positive"),
        ({"window": 0}, {}, "window 0 is not positive"),
        ({"test_share": 1.5}, {}, "test_share 1.5 is not in 0..1"),
        ({"test_share": float("nan")}, {}, "test_share nan is not in 0..1"),
        ({}, {"jobs": 46}, "windows of 46 jobs: the part of the log to train has only 45"),
        ({}, {"jobs": -1}, "jobs -1 is negative"),
        ({}, {"offset": 2.5}, "offset 2.5 is not an integer"),
        ({}, {"offset": 41}, "offset 41 of 5 jobs to train is not in 0..40"),
        ({}, {"ofset": 1}, "unknown options ['ofset']; known: offset, jobs"),
    ],
)
def test_bad_options_and_windows_are_refused_in_one_line(
    options: dict[str, Any], window: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidOption) as refusal:
        WorkloadEnv(LOG, **({"jobs": 5} | options)).reset(options=window)
    assert str(refusal.value) == message


def test_unknown_words_are_refused() -> None:
    unknown: tuple[Any, ...] = ({"reward": "bsld"}, {"split": "all"}, {"knowledge": "everything"})
    for option in unknown:
        with pytest.raises(UnknownName):
            WorkloadEnv(LOG, jobs=5, **option)


def test_jobs_that_evolve_are_refused() -> None:
    problem = WorkloadProblem(
        4, [Job(0, 1, 9, max_nodes=3, evolution=Phases([(4, None), (1, 1), (4, None)]))]
    )
    with pytest.raises(InvalidOption, match="is evolving"):
        WorkloadEnv(problem, jobs=1, test_share=0)
    with pytest.raises(InvalidOption, match="is evolving"):
        simulate(problem, AgentPolicy(first_come))


@pytest.mark.parametrize(("knowledge", "seconds"), [("estimate", 500), ("actual", 100)])
def test_run_times_are_seen_only_if_asked_for(knowledge: Any, seconds: float) -> None:
    problem = WorkloadProblem(4, [Job(0, 3, 100, 500)])
    env = WorkloadEnv(problem, jobs=1, test_share=0, knowledge=knowledge)
    observation, _ = env.reset()
    shown = float(columns(observation)["estimate"][0])
    assert np.expm1(shown * np.log1p(30 * 86400)) == pytest.approx(seconds, rel=1e-4)


def test_an_agent_that_needs_run_times_refuses_rules_that_hide_them() -> None:
    with pytest.raises(InvalidOption, match="hides actual run times"):
        simulate(FOUR, AgentPolicy(first_come, knowledge="actual"), EngineRules())
    simulate(FOUR, AgentPolicy(first_come, knowledge="actual"))


def test_agents_keep_the_contract_of_policies() -> None:
    """All of it: the same view twice gives the same decisions, and FCFS starts as the counterexamples say."""
    check_policy(AgentPolicy(first_come, 3), starts_head=True, starts_like="fcfs")
    check_policy(AgentPolicy(first_fitting), starts_head=True, starts_like="first-fit")


def test_windows_of_a_log_are_in_the_order_of_submission() -> None:
    jobs = [Job(30.5, 1, 9, name="d"), Job(0, 2, 8, name="a"), Job(7, 1, 5, 6, name="b")]
    jobs.append(Job(7, 3, 5, name="c"))
    window = window_of_log(WorkloadProblem(4, jobs, name="log"), 1, 3)
    assert (window.name, window.num_nodes) == ("log-1-4", 4)
    rows = [(job.name, job.submit, job.nodes, job.limit) for job in window.jobs]
    assert rows == [("b", 0, 1, 6), ("c", 0, 3, None), ("d", 23.5, 1, None)]
    with pytest.raises(InvalidOption, match=r"^offset 2 and jobs 3 go beyond the end of a log of 4 jobs$"):
        window_of_log(WorkloadProblem(4, jobs), 2, 3)


def test_only_the_front_of_the_queue_is_seen() -> None:
    """Wide jobs in front hide one that fits: nobody is asked, and time goes on."""
    problem = WorkloadProblem(4, [Job(0, 3, 10), Job(1, 4, 10), Job(1, 4, 10), Job(1, 1, 5)])
    starts = [simulate(problem, AgentPolicy(first_fitting, window)).first_starts[3] for window in (2, 3)]
    assert starts == [30, 1]
    env = WorkloadEnv(problem, jobs=4, window=2, test_share=0)
    assert env.observation_space.shape == (2, len(FEATURES))
    _, info = episode(env, first_fitting)
    assert env.schedule.first_starts.tolist() == [0, 10, 20, 30]
    assert info["forbidden"] == 0


def test_without_gymnasium_it_says_what_brings_it() -> None:
    code = "import sys; sys.modules['gymnasium'] = None; import allocsolve.adaptors.gymnasium"
    _, told = python("-c", code, status=1)
    said = "environments for agents need gymnasium: pip install 'allocsolve[rl]'"
    assert told.splitlines()[-1] == f"ModuleNotFoundError: {said}"


def test_nodes_that_are_places_are_scheduled() -> None:
    """An agent that starts whatever fits is first fit, nodes included; rewards are those of the judge."""
    jobs = [Job(at // 2, 1, 3 + at % 5, chunks=1 + at % 3, each={"cpus": 1 + at % 4}) for at in range(24)]
    jobs += [Job(at, 2, 4) for at in (3, 9)]
    types = [NodeType("thin", 2, {"cpus": 4}), NodeType("gpu", 1, {"cpus": 8, "gpus": 2}, weight=1)]
    log = WorkloadProblem(None, jobs, node_types=types)
    options: dict[str, Any] = {"jobs": len(jobs), "window": 32, "test_share": 0, "choice": "best-fit"}
    env = gymnasium.make(ENV_ID, problem=log, **options).unwrapped
    assert isinstance(env, WorkloadEnv)
    check_env(env)
    _, info = env.reset(seed=1)
    total, ended = 0.0, False
    while not ended:
        seen, reward, ended, _, info = env.step(np.argmax(env.action_masks()))
        assert env.observation_space.contains(seen)
        total += float(reward)
    expected = FirstFit(choice="best-fit").simulated(env.episode).schedule
    assert env.schedule == expected
    assert workload_violations(env.episode, env.schedule) == ()
    assert -total == pytest.approx(info["value"])
    assert 0 < info["bound"] <= info["value"]


def _needs(observation: Any) -> list[list[float]]:
    """Return by job its nodes, its part of what it would need to fit, and what is free."""
    told = columns(observation)
    rows: list[list[float]] = np.column_stack(
        [told[name] for name in ("nodes", "share_of_free", "free")]
    ).tolist()
    return rows


def test_what_is_seen_of_places_was_worked_out_by_hand() -> None:
    """Of 12 processors and 2 GPUs on 3 nodes; a job of 3 chunks with 2 processors, and one of both GPUs."""
    jobs = [Job(0, 1, 9, chunks=3, each={"cpus": 2}), Job(0, 1, 9, chunks=2, each={"gpus": 1}), Job(0, 3, 9)]
    types = [NodeType("thin", 2, {"cpus": 4}), NodeType("gpu", 1, {"cpus": 4, "gpus": 2})]
    env = WorkloadEnv(WorkloadProblem(None, jobs, node_types=types), jobs=3, window=3, test_share=0)
    seen, _ = env.reset()
    assert _needs(seen) == [[0.5, 0.5, 1], [1, 1, 1], [1, 1, 1]]
    seen, _, _, _, info = env.step(0)
    assert _needs(seen) == [[1, 1, 0.5], [1, 1, 0.5], [0, 0, 0]]
    assert info["action_mask"].tolist() == [1, 0, 0, 1]
