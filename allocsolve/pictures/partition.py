"""What partition problems show: first of all every node of the machine, slice by slice."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.bounds import partition_bound
from allocsolve.families import View
from allocsolve.pictures.chart import Chart, Drawing, counted, head_of_nodes, too_many_nodes
from allocsolve.pictures.hosts import HOSTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.families import Line
    from allocsolve.judge import PartitionMetrics
    from allocsolve.model import IntArray, Partition, PartitionProblem, Topology


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


#: What a node is, in the order of the numbers of `_slices`: the class of the drawing, and for a terminal the
#: letter and its style.
_STATES: Final = (("busy", "x", "dim"), ("free", ".", ""), ("chosen", "#", "bold green"))
_BUSY, _CHOSEN = 0, 2

#: Nodes: a drawing of more shows no single one any more.
_LARGEST_DRAWN: Final = 2**16

#: Lines: a terminal shows no more at once.
_TALLEST_TEXT: Final = 64

#: Pixels from a node to the next, the best first; those that are small enough for a drawing of any height.
_STEPS: Final = range(18, 2, -1)
_SMALL: Final = 6

#: Pixels around the slices, between them, and of the name over each.
_MARGIN: Final = 12
_GAP: Final = 16
_NAME: Final = 18
_HEAD: Final = 68


def _describe(problem: PartitionProblem) -> str:
    free = int(np.count_nonzero(problem.free))
    connected = ", connected" if problem.contiguous else ""
    if problem.box:
        connected = ", a box"
        if isinstance(problem.box, tuple):
            connected += f" of {'x'.join(map(str, problem.box))}"
    return f"{problem.size} of {counted(free, 'free node')} on a {machine_text(problem.topology)}{connected}"


def _slices(problem: PartitionProblem, partition: Partition) -> list[tuple[str, IntArray]]:
    """Return the slices of the machine: 0 is busy, 1 free, 2 chosen."""
    state = problem.free.astype(np.int64)
    state[partition.nodes] = 2
    return slices(problem.topology, state)


class _Layout(NamedTuple):
    """How slices lie side by side; pixels, but for what is said to be in nodes."""

    step: int  #: from a node to the next
    across: int  #: slices in a row
    right: int  #: nodes from a slice to the next in its row
    below: int  #: nodes from a slice to the next in its column
    head: int
    width: int
    height: int

    @classmethod
    def of(cls, step: int, rows: int, columns: int, names: Sequence[str]) -> _Layout:
        """Return as many slices in a row as fit the width of a chart, at least one."""
        named = _NAME if names[0] else 0
        wide = max(columns, *(-(-7 * len(name) // step) for name in names))
        right, below = wide + -(-_GAP // step), rows + -(-(_GAP + named) // step)
        across = max(1, min(len(names), 1 + ((Chart.WIDTH - 2 * _MARGIN) // step - wide) // right))
        down = -(-len(names) // across)
        width = ((across - 1) * right + wide) * step + 2 * _MARGIN
        height = _HEAD + named + ((down - 1) * below + rows) * step + _MARGIN
        return cls(step, across, right, below, _HEAD + named, max(width, 360), height)

    def fits(self) -> bool:
        """Return whether a page shows all of it; beyond a size it is better high than illegible."""
        return self.width <= Chart.WIDTH and (self.height <= Chart.WIDTH or self.step <= _SMALL)


def _plot(problem: PartitionProblem, partition: Partition) -> Drawing:
    """Return a drawing of all nodes, slices side by side; all coordinates of nodes are whole."""
    layers = _slices(problem, partition)
    rows, columns = layers[0][1].shape
    layouts = [_Layout.of(step, rows, columns, [name for name, _ in layers]) for step in _STEPS]
    layout = next(filter(_Layout.fits, layouts), layouts[-1])
    step, across, right, below, head, width, height = layout
    drawing = Drawing(width, height, problem.name or "partition")
    kinds = [kind for kind, *_ in reversed(_STATES)]
    head_of_nodes(drawing, _MARGIN, problem.name or "Partition", _describe(problem), kinds)
    corners = [(place % across * right, place // across * below) for place in range(len(layers))]
    for (x, y), (name, _) in zip(corners, layers, strict=True):
        if name:
            drawing.text(_MARGIN + x * step, head + y * step - 6, name, kind="soft")
    with drawing.plane(_MARGIN, head + step / 2, step, step):
        drawing.squares("free", [(x, y + row, columns) for x, y in corners for row in range(rows)])
        for state in _BUSY, _CHOSEN:  # they cover the free ones: so all drawings of a machine begin alike
            drawing.squares(
                _STATES[state][0],
                (
                    (x + column, y + row, length)
                    for (x, y), (_, layer) in zip(corners, layers, strict=True)
                    for row, column, length in mask_runs(layer == state)
                ),
            )
    return drawing


def _terminal_picture(problem: PartitionProblem, partition: Partition, width: int) -> list[Line]:
    """Return every node as a letter, slices side by side, if that fits the terminal."""
    layers = _slices(problem, partition)
    rows, columns = layers[0][1].shape
    letters = max(2 * columns - 1, *(len(name) for name, _ in layers))
    across = (width + 3) // (letters + 3)
    if across < 1:
        return []
    bands = [layers[first : first + across] for first in range(0, len(layers), across)]
    if len(bands) * (rows + 2) > _TALLEST_TEXT:
        return []
    lines: list[Line] = []
    for band in bands:
        lines.append(())
        if band[0][0]:
            lines.append((("   ".join(name.ljust(letters) for name, _ in band), ""),))
        for row in range(rows):
            pieces: list[tuple[str, str]] = []
            for place, (_, layer) in enumerate(band):
                pieces.append((" " * (letters - 2 * columns + 4) if place else "", ""))
                for column, state in enumerate(layer[row].tolist()):
                    _, letter, style = _STATES[state]
                    pieces += [(" " if column else "", ""), (letter, style)]
            lines.append(tuple(pieces))
    legend = ", ".join(f"{letter} {kind}" for kind, letter, _ in reversed(_STATES))
    return [*lines, (), ((legend, ""),)]


def _metric_fields(problem: PartitionProblem, metrics: PartitionMetrics) -> list[tuple[str, str]]:
    bound = partition_bound(problem)
    ratio = f", ratio {metrics.total_distance / bound:.3f}" if bound else ""
    box = "x".join(map(str, metrics.box))
    return [
        ("pairwise distance", f"{metrics.total_distance} hops, mean {metrics.average_distance:.3f}"),
        ("simple bound", f"{bound} hops{ratio}"),
        ("diameter", f"{metrics.diameter} hops, radius {metrics.radius}"),
        (
            "bounding box",
            f"{box}, {100 * metrics.box_fill:.0f} % of its {counted(metrics.box_volume, 'node')}",
        ),
        ("connected parts", str(metrics.components)),
        ("links to free nodes", str(metrics.boundary)),
        ("span by node id", f"{metrics.span} in {counted(metrics.runs, 'run')}"),
        ("largest free part left", counted(metrics.largest_free_component, "node")),
    ]


PARTITION_VIEW: Final[View[PartitionProblem, Partition]] = View(
    describe=_describe,
    undrawable=lambda problem: too_many_nodes(problem.topology.num_nodes, _LARGEST_DRAWN),
    plot=_plot,
    metric_fields=_metric_fields,
    terminal_picture=_terminal_picture,
    exports={"hosts": HOSTS},
)
