"""The random evolving applications of Klein & Perez 2011."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.instances.generators._streams import Seed, check_range, recipe, seed_name, seed_words
from allocsolve.model import EvolutionProblem, EvolutionProfile
from allocsolve.model.options import Within, checked

#: More applications or steps are no problem that anybody keeps in files.
_MANY = 10**6


def klein2011(
    seed: Seed,
    *,
    num_apps: Annotated[tuple[int, int], Within(1, _MANY)] = (15, 20),
    num_steps: Annotated[tuple[int, int], Within(1, _MANY)] = (1, 10),
    duration: Annotated[tuple[int, int], Within(1)] = (500, 3600),
    nodes: Annotated[tuple[int, int], Within(0)] = (1, 75),
    num_nodes: Annotated[int, Within(1)] = 100,
    expand_limit: Annotated[float, Within(1, infinite=True)] = math.inf,
) -> EvolutionProblem:
    """Draw a problem of applications with random steps; everything is uniform over a range of integers.

    Parameters
    ----------
    seed
        One or more integers >= 0 for `numpy.random.default_rng`; the same seed gives the same problem (and
        so does a seed with zeros at its end, which numpy adds itself).
    num_apps
        Applications of a problem: the least and the largest number, which both can be drawn, as in all these
        ranges.
    num_steps
        Steps of an application; 1 or more.
    duration
        Seconds of a step; 1 or more.
    nodes
        Nodes of a step; at most `num_nodes`.
    num_nodes
        Nodes of the cluster.
    expand_limit
        The expand limit of the problem; it does not influence the draws.

    Raises
    ------
    InvalidOption
        If a range is empty or reaches below its least value, `nodes` reaches above `num_nodes`, or the seed
        is not made of integers >= 0.
    InvalidProblem
        If `num_nodes` or `expand_limit` is below 1, or times grow beyond 2^53 s.

    References
    ----------
    Klein & Perez, "Towards scheduling evolving applications", CoreGRID/ERCIM workshop 2011, section 5.1. The
    size of the cluster is not printed there; 100 nodes reproduce its averages.

    Examples
    --------
    >>> problem = klein2011(7)
    >>> problem.name, problem.num_nodes, len(problem.applications)
    ('klein2011-s7', 100, 20)
    """
    words = seed_words(seed)
    ranges = {"num_apps": num_apps, "num_steps": num_steps, "duration": duration, "nodes": nodes}
    for name, least in ("num_apps", 0), ("num_steps", 1), ("duration", 1), ("nodes", 0):
        check_range(name, ranges[name], least)
    (num_nodes,) = checked(klein2011, num_nodes=num_nodes)
    if nodes[1] > num_nodes:
        raise InvalidOption(f"nodes {nodes[0]}-{nodes[1]} reach above num_nodes {num_nodes}")
    rng = np.random.default_rng(words)
    sizes = rng.integers(*num_steps, size=rng.integers(*num_apps, endpoint=True), endpoint=True)
    total = int(sizes.sum())
    durations = rng.integers(*duration, size=total, endpoint=True).tolist()
    steps = list(zip(durations, rng.integers(*nodes, size=total, endpoint=True).tolist(), strict=True))
    ends = np.cumsum(sizes).tolist()
    told: dict[str, Any] = {name: list(bounds) for name, bounds in ranges.items()}
    return EvolutionProblem(
        num_nodes=num_nodes,
        applications=tuple(
            EvolutionProfile(tuple(steps[end - size : end]))
            for end, size in zip(ends, sizes.tolist(), strict=True)
        ),
        expand_limit=expand_limit,
        name=f"klein2011-s{seed_name(words)}",
        meta=recipe("klein2011", seed=words, **told, num_nodes=num_nodes, expand_limit=expand_limit),
    )
