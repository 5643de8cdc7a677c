"""Pictures of partition problems: every node of the machine, slice by slice."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.pictures.svg import Drawing
from allocsolve.pictures.text import counted

if TYPE_CHECKING:
    from allocsolve.model import IntArray, Partition, PartitionProblem, Topology

__all__ = ["UNITS", "answer_data", "describe", "plot", "problem_data", "slices", "undrawable"]

UNITS: Final = {"pairwise": "hops"}

#: What a node is: classes of the drawing, in the order of the numbers of `slices`.
_STATES: Final = ("busy", "free", "chosen")

#: What is larger is no picture any more.
_MOST_DRAWN: Final = 2**16


def describe(problem: PartitionProblem) -> str:
    """Return a problem in a few words."""
    free = int(np.count_nonzero(problem.free))
    connected = ", connected" if problem.contiguous else ""
    return f"{problem.size} of {counted(free, 'free node')} on a {_machine(problem.topology)}{connected}"


def _machine(topology: Topology) -> str:
    shape = "x".join(map(str, topology.shape))
    if all(topology.wrap) or not any(topology.wrap):
        return f"{shape} {'torus' if topology.wrap[0] else 'mesh'}"
    rings = ",".join(str(axis) for axis, ring in enumerate(topology.wrap) if ring)
    return f"{shape} mesh with rings along axis {rings}"


def slices(problem: PartitionProblem, partition: Partition) -> list[tuple[str, IntArray]]:
    """Return the first two axes of the machine at all coordinates of the others, each with its name.

    Each slice has shape (rows, columns) with the first axis along the rows of text; 0 is busy, 1 free,
    2 chosen.
    """
    topology = problem.topology
    state = problem.free.astype(np.int64)
    state[partition.nodes] = 2
    width, height, *others = *topology.shape, *(1,) * (2 - len(topology.shape))
    layers = state.reshape(-1, height, width)
    # The third axis varies fastest.
    places = [place[::-1] for place in product(*(range(side) for side in reversed(others)))]
    names = [
        ", ".join(f"{_axis(2 + axis)} = {at}" for axis, at in enumerate(place)) if others else ""
        for place in places
    ]
    return list(zip(names, layers, strict=True))


def _axis(axis: int) -> str:
    return "xyz"[axis] if axis < 3 else f"axis {axis}"


def undrawable(problem: PartitionProblem) -> str:
    """Return why a machine of more than 2^16 nodes is not drawn; nothing for one that is."""
    if problem.topology.num_nodes > _MOST_DRAWN:
        return f"{problem.topology.num_nodes} nodes are more than the {_MOST_DRAWN} that can be drawn"
    return ""


def plot(problem: PartitionProblem, partition: Partition) -> Drawing:
    """Return a drawing of all nodes, slices side by side."""
    layers = slices(problem, partition)
    rows, columns = layers[0][1].shape
    step = 18 if max(rows, columns) <= 40 else 9  # from node to node
    margin, gap, head = 12, 24, 48
    named = 20 if layers[0][0] else 0
    pitch = max(columns * step, 8 * max(len(name) for name, _ in layers)) + gap
    across = max(1, min(len(layers), (1200 + gap) // pitch))
    down = -(-len(layers) // across)
    width = max(across * pitch - gap + 2 * margin, 360)
    drawing = Drawing(width, head + down * (rows * step + gap + named) + margin, problem.name or "partition")
    drawing.text(margin, 18, describe(problem))
    x = float(margin)
    for kind in ("chosen", "busy", "free"):
        drawing.rectangles(kind, [(x, 28, 10, 10)])
        drawing.text(x + 15, 37, kind)
        x += 75
    boxes: dict[str, list[tuple[float, float, float, float]]] = {kind: [] for kind in _STATES}
    for place, (name, layer) in enumerate(layers):
        left = margin + place % across * pitch
        top = head + named + place // across * (rows * step + gap + named)
        if name:
            drawing.text(left, top - 6, name)
        for (row, column), state in np.ndenumerate(layer):
            boxes[_STATES[state]].append((left + column * step, top + row * step, step - 2, step - 2))
    for kind, filled in boxes.items():
        drawing.rectangles(kind, filled)
    return drawing


def problem_data(problem: PartitionProblem) -> dict[str, object]:
    """Return what the page draws of a problem: the shape, and the busy nodes as differences."""
    return {"shape": problem.topology.shape, "busy": _differences(np.flatnonzero(~problem.free))}


def answer_data(partition: Partition) -> list[int]:
    """Return the chosen nodes as differences: much shorter once it is compressed."""
    return _differences(partition.nodes)


def _differences(nodes: IntArray) -> list[int]:
    steps: list[int] = np.diff(nodes, prepend=0).tolist()
    return steps
