"""Where jobs lie on nodes that are places: parts of the rows of nodes, and what is in use over time."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.model.closed_nodes import closed_by_type, closed_nodes
from allocsolve.model.machine import NODES
from allocsolve.model.packed_places import packed_places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import FloatArray, IntArray, WorkloadProblem, WorkloadSchedule

#: The least part of the row of a node that a job has, and what is not worth a box of its own.
_LEAST_PART: Final = 0.04
_WHOLE: Final = 1 - 1e-9


class _Pairs(NamedTuple):
    """Pieces and the nodes on which they lie; arrays of shape (pairs,) and (pairs, resources)."""

    piece: IntArray
    node: IntArray
    taken: IntArray
    has: IntArray


def _pairs(problem: WorkloadProblem, schedule: WorkloadSchedule) -> _Pairs:
    """Return what each piece takes on each of its nodes: all that is there if its job is exclusive."""
    at, node, chunks = schedule.place_offsets, schedule.place_nodes, schedule.place_chunks
    assert at is not None
    assert node is not None
    assert chunks is not None
    places = packed_places(problem)
    piece = np.repeat(np.arange(len(at) - 1), np.diff(at))
    shape = places.shape[np.repeat(np.arange(len(problem.jobs)), np.diff(schedule.offsets))[piece]]
    has = places.has[places.type_of_node[node]]
    taken = np.where(places.exclusive[shape][:, None], has, chunks[:, None] * places.each[shape])
    return _Pairs(piece, node, taken, has)


def place_intervals(
    problem: WorkloadProblem, schedule: WorkloadSchedule, pieces: IntArray
) -> list[tuple[tuple[float, float], ...]]:
    """Return where pieces, by start, are drawn: the first and last of each interval of nodes.

    A job that shares a node has a part of its row, as large as the largest part that it takes of anything
    there; rows on which these parts come to more than a whole are squeezed. O(pairs x jobs on a node).
    """
    pairs = _pairs(problem, schedule)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.nan_to_num(pairs.taken / pairs.has, posinf=0.0).max(axis=1, initial=0.0)
    exclusive = [shape.exclusive for shape in problem.jobs.shapes] or [True] * len(problem.jobs)
    alone = np.repeat(np.array(exclusive), np.diff(schedule.offsets))[pairs.piece]
    parts = np.where(alone, 1.0, np.maximum(shares, _LEAST_PART))
    starts, ends = schedule.starts.tolist(), schedule.ends.tolist()
    offsets = np.searchsorted(pairs.piece, [pieces, pieces + 1]).tolist()
    rows: dict[int, list[tuple[float, float, float]]] = {}
    tops: dict[int, float] = {}
    drawn: list[list[tuple[int, float, float]]] = []
    for piece, first, last in zip(pieces.tolist(), *offsets, strict=True):
        boxes = []
        for pair in range(first, last):
            node, part, low = int(pairs.node[pair]), float(parts[pair]), 0.0
            there = [box for box in rows.get(node, []) if box[0] > starts[piece]]
            for _, begin, end in sorted(there, key=lambda box: box[1]):
                if begin - low >= part - 1e-9:
                    break
                low = max(low, end)
            rows[node] = [*there, (ends[piece], low, low + part)]
            tops[node] = max(tops.get(node, 1.0), low + part)
            boxes.append((node, low, low + part))
        drawn.append(boxes)
    return [_joined(boxes, tops) for boxes in drawn]


def _joined(boxes: list[tuple[int, float, float]], tops: dict[int, float]) -> tuple[tuple[float, float], ...]:
    """Return parts of rows as intervals, rows of these heights squeezed; whole ones of neighbours are one."""
    joined: list[tuple[float, float]] = []
    for node, begin, end in sorted(boxes):
        low, high = begin / tops[node], end / tops[node]
        if high - low >= _WHOLE and joined and joined[-1][1] == node - 1:
            joined[-1] = (joined[-1][0], float(node))
        else:
            joined.append((node + low, node + high - 1))
    return tuple(joined)


def place_totals(problem: WorkloadProblem) -> list[tuple[str, int]]:
    """Return what all nodes have together, by name."""
    places = packed_places(problem)
    totals = np.diff(places.first_node) @ places.has
    return list(zip(places.names, totals.tolist(), strict=True))


def place_use_changes(
    problem: WorkloadProblem, schedule: WorkloadSchedule, name: str
) -> tuple[FloatArray, FloatArray]:
    """Return when how much more of what nodes have is in use: times in seconds, and changes."""
    pairs, places = _pairs(problem, schedule), packed_places(problem)
    taken = pairs.taken[:, places.names.index(name)].astype(np.float64)
    times = np.concatenate([schedule.starts[pairs.piece], schedule.ends[pairs.piece]])
    return times, np.concatenate([taken, -taken])


def closed_on_places(problem: WorkloadProblem, name: str) -> tuple[FloatArray, IntArray, int]:
    """Return from which times on how much of a resource, or of nodes, is closed, and all there is."""
    places = packed_places(problem)
    each = np.ones(len(places.has), dtype=np.int64)
    if name != NODES:
        each = places.has[:, places.names.index(name)]
    times, gone = closed_by_type(closed_nodes(problem.closed, problem.num_nodes), places.type_of_node)
    return times, gone @ each, int(np.diff(places.first_node) @ each)


def node_runs(ids: Sequence[int]) -> list[tuple[float, float]]:
    """Return the first and last of runs of rising ids."""
    cuts = [0, *(np.flatnonzero(np.diff(ids) != 1) + 1).tolist(), len(ids)]
    return [(ids[first], ids[last - 1]) for first, last in itertools.pairwise(cuts)]
