"""How partition problems and the chosen nodes are shown: fields, a picture of the mesh, a drawing."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.cli.output import counted, say, show_text, terminal_width
from allocsolve.cli.svg import Drawing
from allocsolve.errors import InvalidOption

if TYPE_CHECKING:
    from allocsolve.judge import PartitionMetrics
    from allocsolve.model import IntArray, Partition, PartitionProblem, Topology

__all__ = ["UNITS", "check_drawable", "describe", "metric_fields", "plot", "show_picture"]

UNITS: Final = {"pairwise": "hops"}

#: What a node is, in the letters of the terminal, the classes of the drawing and the styles of `rich`.
_STATES: Final = (("x", "busy", "dim"), (".", "free", ""), ("#", "chosen", "bold green"))

#: What is larger is no picture any more.
_MOST_LINES: Final = 64
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


def metric_fields(problem: PartitionProblem, worth: PartitionMetrics) -> list[tuple[str, str]]:
    """Return the metrics of a partition as names and values."""
    from allocsolve.bounds import partition_bound  # noqa: PLC0415 - when there is something to show

    least = partition_bound(problem)
    box = "x".join(map(str, worth.box))
    return [
        ("pairwise distance", f"{worth.total_distance} hops, mean {worth.average_distance:.3f}"),
        ("simple bound", f"{least} hops" + (f", ratio {worth.total_distance / least:.3f}" if least else "")),
        ("diameter", f"{worth.diameter} hops, radius {worth.radius}"),
        ("bounding box", f"{box}, {100 * worth.box_fill:.0f} % of its {counted(worth.box_volume, 'node')}"),
        ("connected parts", str(worth.components)),
        ("links to free nodes", str(worth.boundary)),
        ("span by node id", f"{worth.span} in {counted(worth.runs, 'run')}"),
        ("largest free part left", counted(worth.largest_free_component, "node")),
    ]


def _slices(problem: PartitionProblem, partition: Partition) -> list[tuple[str, IntArray]]:
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


def show_picture(problem: PartitionProblem, partition: Partition) -> None:
    """Print every node as a letter, slices side by side, if that fits the terminal."""
    from rich.text import Text  # noqa: PLC0415 - as above

    slices = _slices(problem, partition)
    height, width = slices[0][1].shape
    letters = max(2 * width - 1, *(len(name) for name, _ in slices))
    across = (terminal_width() + 3) // (letters + 3)
    if across < 1:
        return
    bands = [slices[first : first + across] for first in range(0, len(slices), across)]
    if len(bands) * (height + 2) > _MOST_LINES:
        return
    for band in bands:
        say("")
        if band[0][0]:
            say("   ".join(name.ljust(letters) for name, _ in band))
        for row in range(height):
            line = Text()
            for place, (_, layer) in enumerate(band):
                line.append(" " * (place * (letters + 3) - len(line)))
                for column, state in enumerate(layer[row].tolist()):
                    letter, _, style = _STATES[state]
                    line.append(" " if column else "")
                    line.append(letter, style)
            show_text(line)
    say("", ", ".join(f"{letter} {name}" for letter, name, _ in reversed(_STATES)))


def check_drawable(problem: PartitionProblem) -> None:
    """Refuse a machine of more than 2^16 nodes."""
    if problem.topology.num_nodes > _MOST_DRAWN:
        msg = f"--plot: {problem.topology.num_nodes} nodes are more than the {_MOST_DRAWN} that can be drawn"
        raise InvalidOption(msg)


def plot(problem: PartitionProblem, partition: Partition) -> Drawing:
    """Return a drawing of all nodes, slices side by side."""
    slices = _slices(problem, partition)
    rows, columns = slices[0][1].shape
    step = 18 if max(rows, columns) <= 40 else 9  # from node to node
    margin, gap, head = 12, 24, 48
    named = 20 if slices[0][0] else 0
    pitch = max(columns * step, 8 * max(len(name) for name, _ in slices)) + gap
    across = max(1, min(len(slices), (1200 + gap) // pitch))
    down = -(-len(slices) // across)
    width = max(across * pitch - gap + 2 * margin, 360)
    drawing = Drawing(width, head + down * (rows * step + gap + named) + margin, problem.name or "partition")
    drawing.text(margin, 18, describe(problem))
    x = float(margin)
    for name, kind in (("chosen", "chosen"), ("busy", "busy"), ("free", "free")):
        drawing.rectangles(kind, [(x, 28, 10, 10)])
        drawing.text(x + 15, 37, name)
        x += 75
    boxes: dict[str, list[tuple[float, float, float, float]]] = {kind: [] for _, kind, _ in _STATES}
    for place, (name, layer) in enumerate(slices):
        left = margin + place % across * pitch
        top = head + named + place // across * (rows * step + gap + named)
        if name:
            drawing.text(left, top - 6, name)
        for (row, column), state in np.ndenumerate(layer):
            boxes[_STATES[state][1]].append((left + column * step, top + row * step, step - 2, step - 2))
    for kind, filled in boxes.items():
        drawing.rectangles(kind, filled)
    return drawing
