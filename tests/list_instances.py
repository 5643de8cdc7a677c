"""Random arguments of list scheduling kernels: what makes an index and a flat profile differ, if anything."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.model import PackedApplications, expand_ratio, frozen, max_expanded_durations

if TYPE_CHECKING:
    from allocsolve.model import IntArray

__all__ = ["ListArguments", "random_list"]

LIMITS = (1, 1.3, 2, 5, math.inf)


class ListArguments(NamedTuple):
    """The arguments of `list_schedule`."""

    order: IntArray
    apps: PackedApplications
    num_nodes: int
    compacting: bool


def random_list(seed: int, *, max_apps: int = 300) -> ListArguments:
    """Draw 1 to 40,000 nodes, durations of 1 to 60,000 s, any releases, and a limit for each application."""
    rng = np.random.default_rng(seed)
    num_apps = int(rng.integers(1, max_apps, endpoint=True))
    sizes = rng.integers(1, rng.choice([1, 2, 4, 10, 30]), size=num_apps, endpoint=True)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    steps = int(offsets[-1])
    num_nodes = int(rng.choice([1, 2, 3, 7, 100, 1024, 32_767, 32_768, 40_000]))
    durations = _durations(rng, steps)
    nodes = rng.integers(0, num_nodes, size=steps, endpoint=True)
    if rng.random() < 0.5:
        nodes = np.exp(rng.uniform(0, math.log(num_nodes), size=steps)).astype(np.int64)
    limits = rng.choice(LIMITS, size=num_apps) if rng.random() < 0.4 else [rng.choice(LIMITS)] * num_apps
    longest = [
        max_expanded_durations(durations[a:b], expand_ratio(limit))
        for a, b, limit in zip(offsets[:-1], offsets[1:], limits, strict=True)
    ]
    span = float(durations @ nodes) / num_nodes
    releases = rng.integers(0, 1 + int(span * rng.choice([0, 0.3, 1, 3])), size=num_apps)
    order = np.argsort(releases, kind="stable") if rng.random() < 0.5 else rng.permutation(num_apps)
    return ListArguments(
        order,
        PackedApplications(
            frozen(offsets),
            frozen(durations),
            frozen(nodes),
            frozen(np.concatenate(longest)),
            frozen(releases),
        ),
        num_nodes,
        bool(rng.random() < 0.3),
    )


def _durations(rng: np.random.Generator, steps: int) -> IntArray:
    """Many ties, few ties, or durations of every magnitude."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.integers(1, 3, size=steps, endpoint=True)
    if kind == 1:
        return rng.choice(np.array([60, 300, 3600, 60_000]), size=steps)
    if kind == 2:
        return rng.integers(500, 3600, size=steps, endpoint=True)
    return np.exp(rng.uniform(0, math.log(60_000), size=steps)).astype(np.int64)
