"""Small evolution problems at the edges of what the model allows, on which solvers go wrong first."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import TYPE_CHECKING

from allocsolve.instances.generators.klein2011 import klein2011
from allocsolve.model import EvolutionProblem, EvolutionProfile

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["evolution_examples"]


def evolution_examples() -> Iterator[EvolutionProblem]:
    """Yield problems whose names say what is at the edge; the random ones have fixed seeds."""
    one = EvolutionProfile(((3, 5), (4, 0), (1, 2)))
    wide, thin = EvolutionProfile(((2, 3),)), EvolutionProfile(((1, 1), (2, 2)))
    yield EvolutionProblem(3, (), name="no application")
    yield EvolutionProblem(5, (one,), releases=(7,), name="one application, released late")
    yield EvolutionProblem(1, (EvolutionProfile(((1, 1),)), EvolutionProfile(((2, 1),))), name="one node")
    yield EvolutionProblem(3, (EvolutionProfile(((2, 0),)), wide), name="an application without nodes")
    yield EvolutionProblem(3, (wide,) * 3, name="three times the full machine")
    yield EvolutionProblem(3, (wide, thin, thin), releases=(5, 0, 2), name="releases out of order")
    yield EvolutionProblem(
        3,
        (
            EvolutionProfile(((1, 2), (2, 2), (2, 3))),
            EvolutionProfile(((2, 1),)),
            EvolutionProfile(((2, 1),)),
        ),
        expand_limit=1,
        name="no list order is optimal",
    )
    # Round the three seconds of the first, the second goes at once if it may hold one node as long.
    first, second = EvolutionProfile(((1, 0), (3, 1))), EvolutionProfile(((1, 2), (1, 1), (1, 2)))
    for limit in (1, 2.9, 3):
        name = f"expanding 3 times would help, limit {limit:g}"
        yield EvolutionProblem(2, (first, second), expand_limit=limit, name=name)
    # What is searched second by second never ends.
    late, long = EvolutionProfile(((3, 3),)), EvolutionProfile(((10, 5), (10, 3), (10, 1), (1, 0)))
    yield EvolutionProblem(
        5, (late, long), releases=(2**50, 0), expand_limit=2, name="released after 2^50 seconds"
    )
    yield EvolutionProblem(
        5,
        (EvolutionProfile(((2**50, 3),)), EvolutionProfile(((2**48, 5), (2**49, 3), (2**48, 2)))),
        expand_limit=1.5,
        name="steps of 2^50 seconds",
    )
    draw = functools.partial(
        klein2011, num_apps=(4, 4), num_steps=(1, 3), duration=(1, 5), nodes=(0, 6), num_nodes=7
    )
    for seed, limit in enumerate((1, 1.5, 2, math.inf)):
        yield replace(draw(seed, expand_limit=limit), name=f"random, expand limit {limit:g}")
    yield replace(draw(4, expand_limit=2), releases=(9, 0, 3, 3), name="random, releases")
