"""Small problems at the edges of what the model allows, on which solvers go wrong first."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from allocsolve.errors import UnknownName
from allocsolve.instances import klein2011, uniform_occupancy
from allocsolve.model import EvolutionProblem, EvolutionProfile, Mesh, PartitionProblem, Topology, Torus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from allocsolve.model import Problem

__all__ = ["example_problems", "large_problem"]


def example_problems(kind: str) -> tuple[Problem, ...]:
    """Return the problems of a kind on which `check_solver` tries a solver, each with a name that says why.

    Empty and one-element problems, the full machine, all limits and rings, requests without an answer, and
    some small random ones with fixed seeds. An exact solver proves each within a second.

    Parameters
    ----------
    kind
        ``evolution`` or ``partition``.

    Raises
    ------
    UnknownName
        If there is no such kind.

    Examples
    --------
    >>> [problem.name for problem in example_problems("evolution")][:3]
    ['no application', 'one application, released late', 'one node']
    """
    if kind not in _EXAMPLES:
        raise UnknownName("kind of problem", kind, _EXAMPLES)
    # Made anew for every call: some solver may have written into those of the last one.
    return tuple(_EXAMPLES[kind]())


def large_problem(kind: str) -> Problem:
    """Return a problem of a kind that no solver is expected to solve to the end in a second."""
    return _LARGE[kind]()


def _evolution() -> Iterator[EvolutionProblem]:
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
    draw = functools.partial(
        klein2011, num_apps=(4, 4), num_steps=(1, 3), duration=(1, 5), nodes=(0, 6), num_nodes=7
    )
    for seed, limit in enumerate((1, 1.5, 2, math.inf)):
        yield replace(draw(seed, expand_limit=limit), name=f"random, expand limit {limit:g}")
    yield replace(draw(4, expand_limit=2), releases=(9, 0, 3, 3), name="random, releases")


def _partition() -> Iterator[PartitionProblem]:
    mesh, line = Mesh((4, 3)), Mesh((7,))
    yield PartitionProblem.of(Mesh((1,)), size=1, name="a machine of one node")
    yield PartitionProblem.of(mesh, busy=[0, 5], size=1, name="one node")
    yield PartitionProblem.of(mesh, size=12, contiguous=True, name="the full machine")
    yield PartitionProblem.of(mesh, busy=[1, 6], size=10, name="all free nodes")
    yield PartitionProblem.of(mesh, busy=[4, 5, 6], size=6, name="two halves")
    yield PartitionProblem.of(line, busy=[3], size=3, contiguous=True, name="a component of just that size")
    yield PartitionProblem.of(line, busy=[3], size=4, contiguous=True, name="no component is large enough")
    yield PartitionProblem.of(line, busy=[3], size=4, name="the same, not contiguous")
    yield PartitionProblem.of(Torus((1, 5)), busy=[2], size=3, name="a ring of one node")
    yield PartitionProblem.of(Torus((2, 4)), busy=[3], size=4, contiguous=True, name="a ring of two nodes")
    yield PartitionProblem.of(Torus((5,)), busy=[2], size=4, contiguous=True, name="round a ring")
    for seed, topology in enumerate(
        (mesh, Torus((4, 3)), Topology((3, 4), (False, True)), Mesh((3, 2, 2)), Torus((3, 2, 2)))
    ):
        drawn = uniform_occupancy(topology, 0.3, 4, seed)
        name = f"random, {list(topology.shape)} with rings {[int(ring) for ring in topology.wrap]}"
        yield replace(drawn, name=name)
        yield replace(drawn, name=f"{name}, contiguous", contiguous=True)


_EXAMPLES: Final[Mapping[str, Callable[[], Iterator[Problem]]]] = {
    "evolution": _evolution,
    "partition": _partition,
}

_LARGE: Final[Mapping[str, Callable[[], Problem]]] = {
    "evolution": lambda: klein2011(8),
    "partition": lambda: uniform_occupancy(Mesh((40, 40)), 0.4, 60, 5),
}
