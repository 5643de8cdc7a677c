"""An agent learns to schedule on the first jobs of a log, and is judged on later ones beside known policies.

The agent scores every job that fits by a weighted sum of its features, and starts the best one as long as its
score is above 0. The weights are found by the cross-entropy method: draw many, keep the best, draw around
them. That takes numpy only. Where sb3-contrib is installed, a neural network is trained, too.

    python learning.py                     # a log that is drawn from a model
    python learning.py --log log.json      # one that `allocsolve import` wrote
    python learning.py --ppo 100000        # more steps for the network
"""

from __future__ import annotations

import argparse
import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve import solve
from allocsolve.adaptors import FEATURES, AgentPolicy, train_test_ranges, window_of_log
from allocsolve.adaptors.gymnasium import WorkloadEnv
from allocsolve.bounds.workload import time_prices
from allocsolve.heuristics import Easy, Fcfs, FirstFit
from allocsolve.instances import read_problem
from allocsolve.model import Jobs, WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Callable

    import gymnasium
    from numpy.typing import NDArray

    from allocsolve.adaptors import Observation

WINDOW = 32  # jobs that the agent sees
EPISODE = 64  # jobs
GENERATIONS, POPULATION, ELITE, EPISODES = 8, 16, 4, 4


@dataclass(frozen=True, slots=True)
class LinearAgent:
    """Starts the job of the best score, if it is above 0; a pure function, named by its weights."""

    weights: tuple[float, ...]

    def __call__(self, observation: Observation, mask: NDArray[np.bool_]) -> int:
        """Return an action."""
        scores = np.append(observation @ np.array(self.weights), 0.0)
        return int(np.where(mask, scores, -np.inf).argmax())


def drawn_log(seed: int = 1, num_jobs: int = 2000) -> WorkloadProblem:
    """Draw a log of 128 nodes at a load of 90 %, whose users ask for one to ten times the run time."""
    rng = np.random.default_rng(seed)
    nodes, runtimes = 2 ** rng.integers(0, 7, num_jobs), np.ceil(rng.lognormal(7, 1.5, num_jobs))
    gaps = rng.exponential((nodes * runtimes).mean() / (0.9 * 128), num_jobs)
    limits = np.ceil(runtimes * rng.uniform(1, 10, num_jobs))
    return WorkloadProblem(128, Jobs(np.floor(np.cumsum(gaps)), nodes, runtimes, limits), "drawn")


def episode_return(env: WorkloadEnv, agent: LinearAgent, offset: int) -> float:
    """Return the sum of the rewards of one episode."""
    observation, _ = env.reset(options={"offset": offset})
    total, over = 0.0, False
    while not over:
        observation, reward, over, _, _ = env.step(agent(observation, env.action_masks()))
        total += reward
    return total


def cross_entropy(env: WorkloadEnv, seed: int = 0) -> LinearAgent:
    """Train the weights; all agents of a generation see the same windows."""
    rng = np.random.default_rng(seed)
    mean, spread = np.zeros(len(FEATURES)), np.ones(len(FEATURES))
    for generation in range(GENERATIONS):
        offsets = rng.integers(env.range.start, env.range.stop - EPISODE + 1, EPISODES).tolist()
        drawn = mean + spread * rng.standard_normal((POPULATION, len(FEATURES)))
        agents = [LinearAgent(tuple(weights)) for weights in drawn.round(3).tolist()]
        returns = [np.mean([episode_return(env, agent, at) for at in offsets]) for agent in agents]
        best = drawn[np.argsort(returns)[-ELITE:]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + 0.1
        print(f"generation {generation + 1}: mean gap {-np.mean(returns):.2f}, best {-max(returns):.2f}")
    return LinearAgent(tuple(mean.round(3).tolist()))


def network(env: WorkloadEnv, steps: int) -> Callable[[Observation, NDArray[np.bool_]], int] | None:
    """Train a neural network by MaskablePPO; None without sb3-contrib."""
    if not steps:
        print("MaskablePPO: skipped, no steps")
        return None
    if importlib.util.find_spec("sb3_contrib") is None:
        print("MaskablePPO: skipped, sb3-contrib is not installed (pip install sb3-contrib)")
        return None
    import torch  # noqa: PLC0415 - large, and not needed
    from gymnasium.wrappers import NormalizeReward  # noqa: PLC0415 - only here
    from sb3_contrib import MaskablePPO  # noqa: PLC0415 - as torch
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor  # noqa: PLC0415 - as torch

    class Scores(BaseFeaturesExtractor):  # type: ignore[misc]  # not installed where types are checked
        """One small network scores every job, wherever it stands; to start nothing has the score 0."""

        def __init__(self, space: gymnasium.spaces.Box) -> None:
            super().__init__(space, WINDOW + 1)
            first, second = torch.nn.Linear(len(FEATURES), 32), torch.nn.Linear(32, 16)
            layers = (first, torch.nn.ReLU(), second, torch.nn.ReLU(), torch.nn.Linear(16, 1))
            self.score = torch.nn.Sequential(*layers)

        def forward(self, observations: torch.Tensor) -> torch.Tensor:
            scores = self.score(observations).squeeze(-1)
            return torch.cat([scores, torch.zeros(len(scores), 1)], dim=1)

    model = MaskablePPO(
        "MlpPolicy",
        NormalizeReward(env),
        policy_kwargs={
            "features_extractor_class": Scores,
            "share_features_extractor": False,
            "net_arch": {"pi": [], "vf": [32]},
        },
        n_steps=2048,
        batch_size=256,
        learning_rate=1e-3,
        gae_lambda=0.97,
        gamma=1.0,
        seed=0,
        device="cpu",
    )
    model.policy.action_net = torch.nn.Identity()  # the scores are the logits
    model.learn(steps)

    def predict(observation: Observation, mask: NDArray[np.bool_]) -> int:
        return int(model.predict(observation, action_masks=mask, deterministic=True)[0])

    return predict


def main() -> None:
    """Train on the first jobs of the log, judge on the last ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", help="a workload file; a drawn log if left out")
    parser.add_argument("--ppo", type=int, default=8192, help="steps to train the network for; 0: none")
    options = parser.parse_args()
    problem = read_problem(options.log) if options.log else drawn_log()
    assert isinstance(problem, WorkloadProblem)
    env = WorkloadEnv(problem, jobs=EPISODE, window=WINDOW, reward="gap", split="train")
    agent = cross_entropy(env)
    print("weights: " + ", ".join(f"{name} {w:g}" for name, w in zip(FEATURES, agent.weights, strict=True)))
    policies: dict[str, Fcfs | FirstFit | Easy | AgentPolicy] = {"fcfs": Fcfs(), "first-fit": FirstFit()}
    policies |= {"easy": Easy(), "easy, shortest": Easy(order="shortest-estimate")}
    policies["linear agent"] = AgentPolicy(agent, WINDOW)
    if (predict := network(env, options.ppo)) is not None:
        policies["network"] = AgentPolicy(predict, WINDOW)
    _, later = train_test_ranges(problem)
    test = window_of_log(problem, later.start, len(later))
    bound = time_prices(test).value
    print(f"jobs {later.start} to {later.stop - 1}: no schedule has a mean turnaround below {bound:.0f} s")
    for name, policy in policies.items():
        value = solve(test, policy).objective
        assert isinstance(value, float)
        print(f"{name:14} {value:9.0f} s {value / bound - 1:+8.1%}")


if __name__ == "__main__":
    main()
