"""Small partition problems at the edges of what the model allows, on which solvers go wrong first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from allocsolve.instances.generators.occupancy import uniform_occupancy
from allocsolve.model import Mesh, PartitionProblem, Topology, Torus

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["partition_examples"]


def partition_examples() -> Iterator[PartitionProblem]:
    """Yield problems whose names say what is at the edge; the random ones have fixed seeds."""
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
