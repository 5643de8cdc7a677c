"""The machine at several instants: which job has which node of the mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.pictures._mesh import slices
from allocsolve.pictures._reservation_gantt import about_job, job_colour
from allocsolve.pictures._reservation_holds import busy_instants, holders
from allocsolve.pictures.chart import Chart
from allocsolve.pictures.svg import Drawing
from allocsolve.pictures.text import duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.families import Line
    from allocsolve.model import IntArray, ReservationProblem, ReservationSchedule

__all__ = ["LARGEST_MESH", "mesh_lines", "mesh_strip"]

#: Nodes: of more machines at several instants nobody sees single ones.
LARGEST_MESH: Final = 4096

#: Instants of a strip.
_INSTANTS: Final = 6

#: Pixels around the meshes, between them, and of the name over each.
_MARGIN: Final = 16
_GAP: Final = 14
_NAME: Final = 18
_STEPS: Final = (10, 8, 6, 5, 4, 3)

#: In nodes: what is left free between two jobs, on each side.
_INSET: Final = 0.08

#: Lines: a terminal shows no more at once.
_TALLEST_TEXT: Final = 48
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def mesh_strip(
    problem: ReservationProblem, schedule: ReservationSchedule, heading: Sequence[str] = ()
) -> Drawing | None:
    """Return the machine at instants between which about as many node-seconds are held, job by job.

    None if nothing is ever held, or the machine has more nodes than `LARGEST_MESH`.
    """
    instants = busy_instants(schedule, _INSTANTS)
    topology = problem.topology
    if not instants or topology.num_nodes > LARGEST_MESH:
        return None
    held = holders(schedule, np.array(instants), np.arange(topology.num_nodes))
    tiles = [
        (_tile_name(at, column, name), layer)
        for at, column in zip(instants, held.T, strict=True)
        for name, layer in slices(topology, column)
    ]
    rows, columns = tiles[0][1].shape
    named = max(7 * len(name) for name, _ in tiles)
    fits = [one for one in _STEPS if one * columns <= (Chart.WIDTH - 2 * _MARGIN - 2 * _GAP) / 3]
    step = fits[0] if fits else _STEPS[-1]
    tile_width, tile_height = max(step * columns, named) + _GAP, step * rows + _NAME + _GAP
    across = max(1, (Chart.WIDTH - 2 * _MARGIN + _GAP) // tile_width)
    down = -(-len(tiles) // across)
    head = _MARGIN + _NAME * len(heading)
    width = max(2 * _MARGIN + across * tile_width - _GAP, 360)
    drawing = Drawing(width, head + down * tile_height, heading[0] if heading else "nodes over time")
    for idx, line in enumerate(heading):
        drawing.text(_MARGIN, 18 + _NAME * idx, line, kind="soft" if idx else "heading")
    for place, (name, layer) in enumerate(tiles):
        x, y = _MARGIN + place % across * tile_width, head + place // across * tile_height
        drawing.text(x, y + 12, name, kind="soft")
        with drawing.plane(x, y + _NAME, step, step):
            _draw_layer(drawing, problem, schedule, layer)
    return drawing


def _tile_name(at: float, column: IntArray, name: str) -> str:
    if name:
        return f"{duration(at)}, {name}"
    return f"{duration(at)}: {int((column >= 0).sum())} of {len(column)} held"


def _draw_layer(
    drawing: Drawing, problem: ReservationProblem, schedule: ReservationSchedule, layer: IntArray
) -> None:
    rows, columns = layer.shape
    with drawing.plane(0, 0.5, 1, 1):
        drawing.squares("free", [(0, row, columns) for row in range(rows)])
    for job in np.unique(layer[layer >= 0]).tolist():
        boxes = list(_union(layer == job))
        drawing.rectangles(job_colour(schedule, job), boxes, about_job(problem, schedule, job))


def _union(
    mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
) -> Iterator[tuple[float, float, float, float]]:
    """Yield boxes that cover the cells of a job and what lies between neighbours of them."""
    side = round(1 - 2 * _INSET, 2)
    edges = np.diff(mask.astype(np.int8), axis=1, prepend=0, append=0)
    rows, starts = np.nonzero(edges == 1)
    _, stops = np.nonzero(edges == -1)
    for row, start, stop in zip(rows.tolist(), starts.tolist(), stops.tolist(), strict=True):
        yield round(start + _INSET, 2), round(row + _INSET, 2), round(stop - start - 2 * _INSET, 2), side
    for row, column in np.argwhere(mask[:-1] & mask[1:]).tolist():
        yield round(column + _INSET, 2), round(row + 0.5, 2), side, 1.0


def mesh_lines(problem: ReservationProblem, schedule: ReservationSchedule, width: int) -> list[Line]:
    """Return the machine at its busiest instant with a letter for each job, if that fits a terminal."""
    instants = np.unique(schedule.hold_starts)
    if not len(instants) or problem.topology.num_nodes > LARGEST_MESH:
        return []
    order = np.argsort(np.concatenate([schedule.hold_ends, schedule.hold_starts]), kind="stable")
    changes = np.repeat([-1, 1], len(schedule.nodes))[order]
    times = np.concatenate([schedule.hold_ends, schedule.hold_starts])[order]
    busiest = float(times[int(np.argmax(np.cumsum(changes)))])
    column = holders(schedule, np.array([busiest]), np.arange(problem.topology.num_nodes))[:, 0]
    layers = slices(problem.topology, column)
    rows, columns = layers[0][1].shape
    if 2 * columns - 1 > width or len(layers) * (rows + 1) > _TALLEST_TEXT:
        return []
    jobs = np.unique(column[column >= 0]).tolist()
    letters = {job: _LETTERS[idx % len(_LETTERS)] for idx, job in enumerate(jobs)}
    held = int((column >= 0).sum())
    lines: list[Line] = [(), ((f"{held} of {len(column)} nodes held at {busiest:.10g} s:", ""),)]
    for name, layer in layers:
        lines.append(((name, ""),) if name else ())
        lines += [((" ".join(letters.get(job, ".") for job in row), ""),) for row in layer.tolist()]
    return lines
