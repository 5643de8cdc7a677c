"""Partition problems and their answers as tables: one row for each node.

A problem has the columns ``node``, its coordinates ``x``, ``y``, ``z``, ``axis4``, ... (as many as the
machine has axes, each from 0 on), ``free`` (0 or 1) and ``size`` (how many nodes to choose, the same in all
rows), and may have ``contiguous`` and for each axis ``wrap_x``, ... (whether it is a ring; 0 or 1, the same
in all rows, 0 without it). All nodes of the machine must be there, in any order.

An answer has ``node``, one row for each that is chosen; coordinates may be there, too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.families import TableFormat
from allocsolve.instances.formats.checker import show
from allocsolve.instances.formats.partition import encode_solution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.instances.formats.checker import Document
    from allocsolve.instances.formats.tables import Rows
    from allocsolve.model import IntArray, Partition, PartitionProblem, Topology

__all__ = ["PARTITION_TABLE", "PROBLEM_TABLE"]

_AXES: Final = ("x", "y", "z", *(f"axis{number}" for number in range(4, 33)))


def _problem_fields(rows: Rows) -> Document:
    axes = [axis for axis in _AXES if axis in rows]
    if tuple(axes) != _AXES[: len(axes)]:
        missing = next(axis for axis in _AXES if axis not in axes)
        rows.faults.append(f"there is a column {axes[-1]}, but none {missing}")
    shape = [1 + max((cell for cell in rows.column(axis) if type(cell) is int), default=0) for axis in axes]
    nodes = _checked_nodes(rows, shape)
    if math.prod(shape) != len(rows):
        size = "x".join(show(side) for side in shape)
        rows.faults.append(f"{len(rows)} rows, but the coordinates are those of a machine of {size} nodes")
    _add_repeated(rows, nodes)
    free = [rows.flag("free", row, cell) for row, cell in enumerate(rows.column("free"))]
    wrap = [rows.flag(f"wrap_{axis}", 0, rows.constant(f"wrap_{axis}", 0)) for axis in axes]
    return {
        "topology": {"shape": shape, "wrap": wrap},
        "busy": sorted(node for node, is_free in zip(nodes, free, strict=True) if not is_free),
        "size": rows.constant("size", None),
        "contiguous": rows.flag("contiguous", 0, rows.constant("contiguous", 0)),
    }


def _checked_nodes(rows: Rows, shape: Sequence[int]) -> list[int]:
    """Return the nodes of the rows; coordinates that are not those of the node are faults."""
    nodes = list(rows.column("node"))
    axes = [(axis, rows.column(axis)) for axis in _AXES if axis in rows]
    for row, node in enumerate(nodes):
        nodes[row], stride = 0, 1
        for (axis, cells), side in zip(axes, shape, strict=True):
            if type(cells[row]) is not int or cells[row] < 0:
                rows.add(row, f"{axis} must be an integer from 0 on, not {show(cells[row])}")
                break
            nodes[row] += stride * cells[row]
            stride *= side
        else:
            if node != nodes[row]:
                rows.add(row, f"node {show(node)}, but the one at these coordinates is {show(nodes[row])}")
    return nodes


def _add_repeated(rows: Rows, nodes: Sequence[int]) -> None:
    seen = set[int]()
    for row, node in enumerate(nodes):
        if node in seen:
            rows.add(row, f"node {show(node)} stands twice")
        seen.add(node)


def _problem_columns(problem: PartitionProblem) -> dict[str, Any]:
    topology = problem.topology
    count = topology.num_nodes
    nodes = np.arange(count)
    rings = zip(_AXES, topology.wrap, strict=False)
    return {
        **_places(topology, nodes),
        "free": problem.free,
        "size": np.full(count, problem.size, dtype=np.int64),
        "contiguous": np.full(count, problem.contiguous),
        **{f"wrap_{axis}": np.full(count, ring) for axis, ring in rings},
    }


def _places(topology: Topology, nodes: IntArray) -> dict[str, Any]:
    return {"node": nodes, **dict(zip(_AXES, topology.coordinates(nodes).T, strict=False))}


def _partition_fields(rows: Rows, problem: PartitionProblem) -> Document:
    shape = problem.topology.shape
    for axis in _AXES[len(shape) :]:
        if axis in rows:
            rows.faults.append(f"there is a column {axis}, but the machine has {len(shape)} axes")
    nodes = rows.column("node")
    if not rows.faults and all(axis in rows for axis in _AXES[: len(shape)]):
        _checked_nodes(rows, shape)
    for row in range(len(rows)):
        rows.comes_from(f"nodes[{row}]", row)
    return {"nodes": list(nodes)}


def _partition_columns(problem: PartitionProblem, partition: Partition) -> dict[str, Any]:
    """Return the columns of an answer.

    Raises
    ------
    InvalidAnswer
        If a node is not of the topology.
    """
    encode_solution(problem, partition)
    return _places(problem.topology, partition.nodes)


PROBLEM_TABLE: Final = TableFormat(
    required=("node", "x", "free", "size"),
    optional=("contiguous", *_AXES[1:], *(f"wrap_{axis}" for axis in _AXES)),
    texts=(),
    fields=_problem_fields,
    columns=_problem_columns,
)
PARTITION_TABLE: Final = TableFormat(
    required=("node",),
    optional=_AXES,
    texts=(),
    fields=_partition_fields,
    columns=_partition_columns,
)
