"""Meshes, tori and their like in words and in slices of two axes."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import IntArray, Topology


def machine_text(topology: Topology) -> str:
    """Return the sides of a machine and which of its axes are rings or complete."""
    shape = "x".join(map(str, topology.shape))
    for name, axes in (("torus", topology.wrap), ("HyperX", topology.complete)):
        if all(axes):
            return f"{shape} {name}"
    text = f"{shape} mesh"
    for kind, axes in ((" with rings", topology.wrap), (", complete", topology.complete)):
        if any(axes):
            text += f"{kind} along axis {','.join(str(axis) for axis, named in enumerate(axes) if named)}"
    return text


def slices(topology: Topology, values: IntArray) -> list[tuple[str, IntArray]]:
    """Return the first two axes of the machine at all coordinates of the others, each with its name.

    Of the values there is one of each node. A slice has a name, empty if there is only one, and the values of
    its nodes, shape (rows, columns), the first axis along the rows.
    """
    width, height, *others = *topology.shape, *(1,) * (2 - len(topology.shape))
    layers = values.reshape(-1, height, width)
    # The third axis varies fastest.
    places = [place[::-1] for place in product(*(range(side) for side in reversed(others)))]
    names = [
        ", ".join(f"{f'axis {axis}' if axis > 2 else 'z'} = {at}" for axis, at in enumerate(place, 2))
        for place in places
    ]
    return list(zip(names, layers, strict=True))


def mask_runs(mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Iterator[tuple[int, int, int]]:
    """Yield row, first column and length of all runs in the rows of a matrix."""
    edges = np.diff(mask.astype(np.int8), axis=1, prepend=0, append=0)
    rows, starts = np.nonzero(edges == 1)
    _, stops = np.nonzero(edges == -1)
    yield from zip(rows.tolist(), starts.tolist(), (stops - starts).tolist(), strict=True)
