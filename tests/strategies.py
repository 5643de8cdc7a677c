"""Hypothesis strategies for problems and profiles, tiny by default so that brute force can follow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from allocsolve.model import EvolutionProblem, EvolutionProfile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

__all__ = ["EXPAND_LIMITS", "evolution_problems", "evolution_profiles", "occupied_profiles"]

#: No expansion, a limit that floors, small whole limits, no limit.
EXPAND_LIMITS: tuple[float, ...] = (1, 1.5, 2, 3, math.inf)


def evolution_profiles(
    *, min_steps: int = 1, max_steps: int = 3, max_duration: int = 3, max_nodes: int = 4
) -> SearchStrategy[EvolutionProfile]:
    """Profiles with steps of 1 to `max_duration` seconds on 0 to `max_nodes` nodes."""
    step = st.tuples(st.integers(1, max_duration), st.integers(0, max_nodes))
    steps = st.lists(step, min_size=min_steps, max_size=max_steps)
    return steps.map(lambda chosen: EvolutionProfile(tuple(chosen)))


def occupied_profiles(
    num_nodes: int, *, max_steps: int = 8, max_duration: int = 4
) -> SearchStrategy[EvolutionProfile]:
    """Resource profiles that never exceed `num_nodes`, the idle cluster (no steps) included."""
    return evolution_profiles(
        min_steps=0, max_steps=max_steps, max_duration=max_duration, max_nodes=num_nodes
    )


@st.composite
def evolution_problems(
    draw: DrawFn,
    *,
    min_apps: int = 1,
    max_apps: int = 3,
    max_steps: int = 3,
    max_duration: int = 3,
    max_nodes: int = 4,
    expand_limits: Sequence[float] = EXPAND_LIMITS,
    releases: bool = False,
    max_release: int = 4,
) -> EvolutionProblem:
    """Problems on 1 to `max_nodes` nodes; every application fits the cluster.

    All releases are 0 unless `releases`, in which case they are 0 to `max_release`.
    """
    num_nodes = draw(st.integers(1, max_nodes))
    profile = evolution_profiles(max_steps=max_steps, max_duration=max_duration, max_nodes=num_nodes)
    apps = draw(st.lists(profile, min_size=min_apps, max_size=max_apps))
    times = st.lists(st.integers(0, max_release), min_size=len(apps), max_size=len(apps))
    return EvolutionProblem(
        num_nodes,
        tuple(apps),
        releases=tuple(draw(times)) if releases else (),
        expand_limit=draw(st.sampled_from(expand_limits)),
    )
