"""Machines as pictures have them: in a few words, and as slices of two axes."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from allocsolve.model import IntArray, Topology

__all__ = ["machine_text", "slices"]


def machine_text(topology: Topology) -> str:
    """Return the sides of a machine and which of its axes are rings."""
    shape = "x".join(map(str, topology.shape))
    if all(topology.wrap) or not any(topology.wrap):
        return f"{shape} {'torus' if topology.wrap[0] else 'mesh'}"
    rings = ",".join(str(axis) for axis, ring in enumerate(topology.wrap) if ring)
    return f"{shape} mesh with rings along axis {rings}"


def slices(topology: Topology, values: IntArray) -> list[tuple[str, IntArray]]:
    """Return the first two axes of the machine at all coordinates of the others, each with its name.

    Parameters
    ----------
    topology
        The machine.
    values
        Shape (nodes,), one of each node.

    Returns
    -------
    list
        Of each slice its name, empty if there is only one, and the values of its nodes, shape (rows,
        columns), the first axis along the rows.
    """
    width, height, *others = *topology.shape, *(1,) * (2 - len(topology.shape))
    layers = values.reshape(-1, height, width)
    # The third axis varies fastest.
    places = [place[::-1] for place in product(*(range(side) for side in reversed(others)))]
    names = [
        ", ".join(f"{_axis(2 + axis)} = {at}" for axis, at in enumerate(place)) if others else ""
        for place in places
    ]
    return list(zip(names, layers, strict=True))


def _axis(axis: int) -> str:
    return "xyz"[axis] if axis < 3 else f"axis {axis}"
