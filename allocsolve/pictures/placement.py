"""What placement problems show: the nodes of each switch, in groups below the switches of level 2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.families import View
from allocsolve.pictures.chart import Chart, Drawing, counted, head_of_nodes, short_number, too_many_nodes
from allocsolve.pictures.hosts import HOSTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.families import Line
    from allocsolve.judge import PlacementMetrics
    from allocsolve.model import IntArray, Placement, PlacementProblem

#: Kinds of nodes from the bottom of a cell up: the class of a drawing.
_KINDS: Final = ("chosen", "free", "busy")

#: Nodes: a drawing of more shows no single one any more.
_LARGEST_DRAWN: Final = 2**17

#: Pixels from a node to the next: the first with which a drawing is not higher than it is wide.
_STEPS: Final = (14, 12, 10, 8, 6, 5, 4, 3, 2)

#: Nodes on top of one another in a cell.
_TALLEST: Final = 18

#: Pixels around groups, above the first, between them, and of the line below each.
_MARGIN: Final = 12
_HEAD: Final = 68
_GAP: Final = 10
_NAME: Final = 16
#: Pixels of a letter of such a line on average.
_LETTER: Final = 6.6

#: Lines of a terminal, and the letter and style of a switch: all its free nodes are chosen, some of them,
#: none of them, and there are none.
_MOST_LINES: Final = 64
#: Of a switch, by whether nodes of it are chosen, and whether any are left.
_LETTERS: Final = {
    (True, False): ("#", "bold green"),
    (True, True): ("+", "green"),
    (False, True): (".", ""),
    (False, False): ("x", "dim"),
}
_LEGEND: Final = "each letter a switch: # all free nodes chosen, + some, . none, x no node is free"


def _describe(problem: PlacementProblem) -> str:
    tree = problem.tree
    free = int(np.count_nonzero(problem.free))
    leaves = int((tree.level == 1).sum())
    machine = f"a tree of {counted(tree.num_nodes, 'node')}, {leaves} switches of level 1"
    parts = [f"{problem.size} of {counted(free, 'free node')} on {machine}"]
    if problem.within:
        parts.append(f"within level {problem.within}")
    if problem.segment:
        parts.append(f"segments of {problem.segment} within level {problem.segment_level}")
    if problem.balanced:
        parts.append("balanced")
    return ", ".join(parts)


class _Switches(NamedTuple):
    """The switches of level 1, group by group."""

    #: Shape (switches of level 1, 3): chosen, free and busy nodes of each.
    counts: IntArray
    #: Shape (groups + 1,): where each group begins; a group is all that hangs at one parent.
    begins: IntArray
    #: The parent of each group, -1 for a switch without one.
    parents: IntArray

    @classmethod
    def of(cls, problem: PlacementProblem, placement: Placement) -> _Switches:
        tree = problem.tree
        chosen = np.zeros(tree.num_nodes, dtype=np.bool_)
        chosen[placement.nodes] = True
        masks = (chosen, problem.free & ~chosen, ~problem.free & ~chosen)
        counts = [np.bincount(tree.switch[mask], minlength=tree.num_switches) for mask in masks]
        leaves = np.flatnonzero(tree.level == 1)
        # Groups in the order of the tree: parents from the first to the last, their switches likewise.
        place = np.argsort(tree.parent[leaves], kind="stable")
        leaves = leaves[place]
        parents, begins = np.unique(tree.parent[leaves], return_index=True)
        return cls(np.stack(counts, axis=1)[leaves], np.append(begins, len(leaves)), parents)


class _Layout(NamedTuple):
    """How cells lie in groups, and groups in rows; nodes but for the step and the size."""

    step: int  #: pixels from a node to the next
    wide: int  #: nodes side by side in a cell
    high: int  #: nodes on top of one another
    cell: int  #: pixels from a cell to the next
    per_line: int  #: cells side by side
    lefts: IntArray  #: pixels: of each group
    tops: IntArray
    width: int
    height: int

    @classmethod
    def of(cls, step: int, switches: _Switches) -> _Layout:
        largest = int(switches.counts.sum(axis=1).max())
        wide = -(-largest // _TALLEST)
        high = -(-largest // wide)
        cell = wide * step + _apart(step)
        per_line = max(1, (Chart.WIDTH - 2 * _MARGIN) // cell)
        lefts, tops, x, y = [], [], _MARGIN, _HEAD
        line = high * step + _NAME + _GAP
        for count in np.diff(switches.begins).tolist():
            width = min(count, per_line) * cell
            if x > _MARGIN and x + width > Chart.WIDTH - _MARGIN:
                x, y = _MARGIN, y + line
            lefts.append(x)
            tops.append(y)
            rows = -(-count // per_line)
            if rows > 1:
                x, y = _MARGIN, y + rows * (high * step + _apart(step)) + _NAME + _GAP
            else:
                x += width + _GAP
        bottom = y + (line if x > _MARGIN else 0)
        places = np.array(lefts), np.array(tops)
        return cls(step, wide, high, cell, per_line, *places, Chart.WIDTH, bottom + _MARGIN)


def _apart(step: int) -> int:
    """Return the pixels between two cells."""
    return max(1, step // 3)


def _plot(problem: PlacementProblem, placement: Placement) -> Drawing:
    """Return a drawing of all nodes: a cell for each switch of level 1, filled from its bottom."""
    switches = _Switches.of(problem, placement)
    layouts = [_Layout.of(step, switches) for step in _STEPS]
    layout = next((each for each in layouts if each.height <= Chart.WIDTH), layouts[-1])
    drawing = Drawing(layout.width, layout.height, problem.name or "placement")
    head_of_nodes(drawing, _MARGIN, problem.name or "Placement", _describe(problem), _KINDS)
    boxes: dict[str, list[tuple[float, float, float, float]]] = {kind: [] for kind in _KINDS}
    for kind, box in _boxes(switches, layout):
        boxes[kind].append(box)
    for kind in reversed(_KINDS):
        drawing.rectangles(f"{kind}-area", boxes[kind])
    for left, top, text in _group_names(problem, switches, layout):
        drawing.text(left, top, text, kind="soft")
    return drawing


def _boxes(switches: _Switches, layout: _Layout) -> Iterator[tuple[str, tuple[float, float, float, float]]]:
    """Yield the areas of chosen, free and busy nodes of each cell."""
    for group, left, top in zip(range(len(layout.lefts)), layout.lefts, layout.tops, strict=True):
        first, last = switches.begins[group], switches.begins[group + 1]
        for place, counts in enumerate(switches.counts[first:last].tolist()):
            row, column = divmod(place, layout.per_line)
            x = int(left) + column * layout.cell
            bottom = int(top) + (row + 1) * layout.high * layout.step + row * _apart(layout.step)
            filled = 0
            for kind, count in zip(_KINDS, counts, strict=True):
                for box in _pieces(filled, filled + count, layout.wide):
                    low, start, length, rows = box
                    y = bottom - (low + rows) * layout.step
                    yield (kind, (x + start * layout.step, y, length * layout.step, rows * layout.step))
                filled += count


def _pieces(first: int, last: int, wide: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield boxes (row, column, columns, rows) that cover places first to last - 1, row by row from below."""
    if first < last and first % wide:
        stop = min(last, first - first % wide + wide)
        yield first // wide, first % wide, stop - first, 1
        first = stop
    if (full := (last - first) // wide) > 0:
        yield first // wide, 0, wide, full
        first += full * wide
    if first < last:
        yield first // wide, 0, last - first, 1


def _group_names(
    problem: PlacementProblem, switches: _Switches, layout: _Layout
) -> Iterator[tuple[float, float, str]]:
    """Yield a text below each group with chosen nodes."""
    names = problem.meta.get("switches")
    for group, parent in enumerate(switches.parents.tolist()):
        first, last = switches.begins[group], switches.begins[group + 1]
        chosen = int(switches.counts[first:last, 0].sum())
        if not chosen:
            continue
        rows = -(-int(last - first) // layout.per_line)
        bottom = int(layout.tops[group]) + rows * layout.high * layout.step + (rows - 1) * _apart(layout.step)
        room = min(int(last - first), layout.per_line) * layout.cell + _GAP
        name = _switch_name(names, parent)
        texts = (f"{name}{chosen} chosen", f"{name}{chosen}", str(chosen))
        text = next((text for text in texts if len(text) * _LETTER <= room), texts[-1])
        yield int(layout.lefts[group]), bottom + 12, text


def _switch_name(names: object, switch: int) -> str:
    """Return the name of a switch and a colon, if the file of the machine has one."""
    if isinstance(names, list | tuple) and 0 <= switch < len(names):
        return f"{names[switch]}: "
    return ""


def _terminal_picture(problem: PlacementProblem, placement: Placement, width: int) -> list[Line]:
    """Return a letter for each switch of level 1, a line or more for each group."""
    switches = _Switches.of(problem, placement)
    per_line = max(width - 24, 1)
    groups = np.diff(switches.begins)
    if int((-(-groups // per_line)).sum()) > _MOST_LINES:
        return []
    names = problem.meta.get("switches")
    lines: list[Line] = [()]
    for group, parent in enumerate(switches.parents.tolist()):
        counts = switches.counts[switches.begins[group] : switches.begins[group + 1]]
        letters = [_LETTERS[chosen > 0, free > 0] for chosen, free, _ in counts.tolist()]
        rows: Sequence[int] = range(0, len(letters), per_line)
        for row in rows:
            line = letters[row : row + per_line]
            if row == rows[-1]:
                chosen, free, _ = counts.sum(axis=0).tolist()
                told = f"{_switch_name(names, parent)}{chosen} chosen, {free} left"
                line.append((f"  {told}", "dim"))
            lines.append(tuple(line))
    return [*lines, (), ((_LEGEND, ""),)]


def _metric_fields(problem: PlacementProblem, metrics: PlacementMetrics) -> list[tuple[str, str]]:
    del problem
    touched = ", ".join(f"{count} of level {level}" for level, count in enumerate(metrics.domains, 1))
    return [
        ("pairwise distance", f"{metrics.total_distance} hops, mean {metrics.average_distance:.3f}"),
        ("diameter", f"{metrics.diameter} hops, lowest common switch of level {metrics.level}"),
        ("switches touched", touched),
        ("left over at them", counted(metrics.leftover, "free node")),
        ("largest load of a link", f"{short_number(metrics.bottleneck)} pairs of nodes per unit of capacity"),
        ("most free nodes left at a switch", counted(metrics.largest_free_domain, "node")),
        ("switches without a busy or chosen node", str(metrics.untouched_domains)),
    ]


PLACEMENT_VIEW: Final[View[PlacementProblem, Placement]] = View(
    describe=_describe,
    undrawable=lambda problem: too_many_nodes(problem.tree.num_nodes, _LARGEST_DRAWN),
    plot=_plot,
    metric_fields=_metric_fields,
    terminal_picture=_terminal_picture,
    exports={"hosts": HOSTS},
)
