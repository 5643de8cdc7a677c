"""Toys drawn from a seed, small enough for brute force: the same ones in every run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from allocsolve import EvolutionProblem, EvolutionProfile
from allocsolve.model import PartitionProblem, Topology

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence


def evolution_toy(rng: random.Random, limits: Sequence[float]) -> EvolutionProblem:
    """Steps that hold no nodes, slopes, ties, late releases, one of these expand limits."""
    num_nodes = rng.randint(1, 6)
    apps = tuple(
        EvolutionProfile([(rng.randint(1, 4), rng.randint(0, num_nodes)) for _ in range(rng.randint(1, 5))])
        for _ in range(rng.choice((2, 2, 2, 3)))
    )
    releases = tuple(rng.randint(0, 4) for _ in apps) if rng.random() < 0.4 else ()
    return EvolutionProblem(num_nodes, apps, releases=releases, expand_limit=rng.choice(limits))


def wide_toy(rng: random.Random, limits: Sequence[float]) -> EvolutionProblem:
    """Three or four applications of wide and narrow steps on ten nodes: many do not fit beside others."""
    apps = tuple(
        EvolutionProfile([(rng.randint(1, 3), rng.choice((3, 5, 6, 7))) for _ in range(rng.randint(1, 3))])
        for _ in range(rng.choice((3, 4)))
    )
    releases = tuple(rng.randint(0, 4) for _ in apps) if rng.random() < 0.2 else ()
    return EvolutionProblem(10, apps, releases=releases, expand_limit=rng.choice(limits))


def partition_toy(rng: random.Random) -> PartitionProblem:
    """One to three axes, lines and rings, up to 16 nodes, some busy, connected sets or any."""
    while True:
        shape = tuple(rng.randint(1, 8) for _ in range(rng.randint(1, 3)))
        if 2 <= math.prod(shape) <= 16:
            break
    topology = Topology(shape, tuple(rng.random() < 0.7 for _ in shape))
    nodes = range(topology.num_nodes)
    busy = rng.sample(nodes, rng.randint(0, topology.num_nodes // 2))
    size = rng.randint(1, min(8, topology.num_nodes - len(busy)))
    return PartitionProblem.of(topology, busy=sorted(busy), size=size, contiguous=rng.random() < 0.3)
