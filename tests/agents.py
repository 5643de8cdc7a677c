"""Agents that follow rules, and episodes with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from allocsolve.adaptors import FEATURES

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from allocsolve.adaptors import Observation
    from allocsolve.adaptors.gymnasium import WorkloadEnv

Agent: TypeAlias = "Callable[[Observation, NDArray[np.bool_]], int]"


def columns(observation: Observation) -> dict[str, NDArray[np.float32]]:
    """Return the features by name."""
    return dict(zip(FEATURES, observation.T, strict=True))


def first_come(_: Observation, mask: NDArray[np.bool_]) -> int:
    """Start the head, or nothing."""
    return 0 if mask[0] else len(mask) - 1


def first_fitting(_: Observation, mask: NDArray[np.bool_]) -> int:
    """Start the first job that fits."""
    return int(mask.argmax())


def shortest(observation: Observation, mask: NDArray[np.bool_]) -> int:
    """Start the job of the shortest estimate that fits."""
    estimates = np.append(columns(observation)["estimate"], 2)
    return int(np.where(mask, estimates, np.inf).argmin())


def episode(env: WorkloadEnv, agent: Agent, **options: int) -> tuple[list[float], dict[str, Any]]:
    """Return the rewards of an episode, and what is told at its end."""
    observation, info = env.reset(options=options)
    rewards, over = [], False
    while not over:
        assert env.observation_space.contains(observation)
        observation, reward, over, cut, info = env.step(agent(observation, env.action_masks()))
        rewards.append(reward)
        assert not cut
    return rewards, info
