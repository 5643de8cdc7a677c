"""The kinds ``partition`` (a problem) and ``partition-set`` (its answer), and their tables.

Their schemas state the fields; docs/formats.md shows them, the columns of the tables, and what is in the
digest. Of the fields that may be absent ``complete`` and ``box`` are written where they say something.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.families import Fields, FileKind, TableFormat
from allocsolve.instances.formats.files import Checker, show
from allocsolve.instances.formats.schema import (
    NODE,
    certificate,
    check_busy_and_size,
    chosen_nodes_kind,
    flag,
    listing,
    record,
    whole,
)
from allocsolve.model import Partition, PartitionProblem, Topology

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.instances.formats.files import Document
    from allocsolve.instances.formats.tables import Rows
    from allocsolve.model import IntArray


def topology_of(check: Checker, fields: Document) -> Topology | None:
    """Return the topology that fields describe; None if they contradict each other, which is noted."""
    shape: list[int] = fields["shape"]
    for name in ("wrap", "complete"):
        if len(fields.get(name, shape)) != len(shape):  # the model takes no entries at all for the default
            count = len(fields[name])
            check.add(f"topology.{name}", f"{count} entries for the {len(shape)} axes of the shape")
    if check.faults:
        return None
    try:
        return Topology(tuple(shape), tuple(fields.get("wrap", ())), tuple(fields.get("complete", ())))
    except InvalidProblem as error:
        check.add("topology", str(error))
        return None


def topology_values(topology: Topology) -> Document:
    """Return the fields of a topology."""
    complete = {"complete": list(topology.complete)} if any(topology.complete) else {}
    return {"shape": list(topology.shape), "wrap": list(topology.wrap), **complete}


def _problem_of(
    check: Checker,
    topology: Document,
    busy: list[int],
    size: int,
    box: bool | list[int],  # noqa: FBT001 - a field of that name
    **more: Any,  # noqa: ANN401 - fields that the model takes as they are
) -> PartitionProblem | None:
    """Return the problem; None, with the faults noted, if fields contradict each other."""
    machine = topology_of(check, topology)
    if machine is None:
        return None
    check_busy_and_size(check, busy, size, machine.num_nodes)
    if check.faults:
        return None
    try:
        sides = tuple(box) if isinstance(box, list) else box
        return PartitionProblem.of(machine, busy=busy, size=size, box=sides, **more)
    except InvalidProblem as error:  # the sides of the box, which the other fields bound
        check.add("box", str(error))
        return None


def _values_of(problem: PartitionProblem) -> Document:
    box = problem.box
    return {
        "name": problem.name,
        "topology": topology_values(problem.topology),
        "busy": list(problem.busy),
        "size": problem.size,
        "contiguous": problem.contiguous,
        **({"box": list(box) if isinstance(box, tuple) else box} if box else {}),
        "meta": dict(problem.meta),
    }


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
    wrap, complete = (
        [rows.flag(f"{kind}_{axis}", 0, rows.constant(f"{kind}_{axis}", 0)) for axis in axes]
        for kind in ("wrap", "complete")
    )
    box: object = rows.flag("box", 0, rows.constant("box", 0))
    if any(f"box_{axis}" in rows for axis in _AXES):
        box = [rows.constant(f"box_{axis}", None) for axis in axes]
    return {
        "topology": {"shape": shape, "wrap": wrap, **({"complete": complete} if any(complete) else {})},
        "busy": sorted(node for node, is_free in zip(nodes, free, strict=True) if not is_free),
        "size": rows.constant("size", None),
        "contiguous": rows.flag("contiguous", 0, rows.constant("contiguous", 0)),
        "box": box,
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
    columns: dict[str, object] = {
        f"wrap_{axis}": ring for axis, ring in zip(_AXES, topology.wrap, strict=False)
    }
    if any(topology.complete):
        columns |= {f"complete_{axis}": full for axis, full in zip(_AXES, topology.complete, strict=False)}
    if problem.box is True:
        columns["box"] = True
    elif isinstance(problem.box, tuple):
        columns |= {f"box_{axis}": side for axis, side in zip(_AXES, problem.box, strict=False)}
    return {
        **_places(topology, nodes),
        "free": problem.free,
        "size": np.full(count, problem.size, dtype=np.int64),
        "contiguous": np.full(count, problem.contiguous),
        **{column: np.full(count, value) for column, value in columns.items()},
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
    """Return the columns of an answer."""
    ANSWER.values(problem, partition)
    return _places(problem.topology, partition.nodes)


PROBLEM_TABLE: Final = TableFormat(
    required=("node", "x", "free", "size"),
    optional=(
        "contiguous",
        "box",
        *_AXES[1:],
        *(f"{field}_{axis}" for field in ("wrap", "complete", "box") for axis in _AXES),
    ),
    texts=(),
    fields=_problem_fields,
    columns=_problem_columns,
)
PARTITION_TABLE: Final = TableFormat(
    required=("node",), optional=_AXES, texts=(), fields=_partition_fields, columns=_partition_columns
)


def topology_field() -> Document:
    """Return what a schema says of a topology."""
    axes = {
        "shape": listing(whole(1), "nodes along each axis; node id = x + y X + z X Y"),
        "wrap": listing({"type": "boolean"}, "which axes are rings; none if left out"),
        "complete": listing({"type": "boolean"}, "which axes are complete; none if left out"),
    }
    return record(axes, ("shape",), "a mesh, torus or HyperX")


#: What no schema says of a topology.
TOPOLOGY_BESIDES: Final = (
    "wrap and complete have an entry for each axis, and no axis is both",
    "there are at most 32 axes, and not too many nodes",
)


def problem_fields() -> Fields:
    """Return what a schema says of a problem."""
    box = {
        "anyOf": [{"type": "boolean"}, listing(whole(1))],
        "default": False,
        "description": "whether they must be a box; or the sides of "
        "the box, one for each axis, such as `[2, 2]`",
    }
    return Fields(
        "A partition problem: nodes of a mesh, torus or HyperX that are near each other",
        {
            "topology": topology_field(),
            "busy": listing(NODE, "node ids, each once", uniqueItems=True),
            "size": whole(1, "how many nodes to choose, at most as many as are free"),
            "contiguous": flag("whether they must be connected"),
            "box": box,
        },
        ("topology", "busy", "size"),
        (
            *TOPOLOGY_BESIDES,
            "busy nodes are nodes of the topology",
            "size is at most the number of free nodes",
            "a box has a side for each axis, fits and has as many nodes as are chosen",
        ),
    )


#: A problem, and its answer; whether the nodes answer the problem is for the judge to say.
PROBLEM: Final = FileKind(problem_fields, _problem_of, _values_of)
ANSWER: Final = chosen_nodes_kind("partition", Partition, lambda problem: problem.topology.num_nodes)


def certificate_schema(kind: str) -> Document:
    """Return the schema of a kind of certificate."""
    number: Document = {"type": "integer", "minimum": 1 - 2**63, "maximum": 2**63 - 1}
    bound: Document = {"description": "in hops: no answer is below it", "type": "integer"}
    medians = listing(number, "one layer for each axis in the order of axes; if all are lines, but the first")
    axes = listing(number, "all axes, a line first if there is one")
    flat = "all vectors one after the other, each with a number for each count of all axes but the first"
    steps = "the tree, depth first: three integers for each step"
    root = {"medians": medians, "multipliers": listing(number, flat), "steps": listing(number, steps)}
    by_axis = listing(listing(number), "a list for each axis but the first: one for each layer, and one more")
    schemas = {
        "boxes": certificate("boxes", {"bound": bound}, "the judge looks at all boxes that cost less"),
        "cut-tree": certificate(
            "cut-tree",
            {
                "axes": axes,
                "scale": {
                    "description": "units of a hop, an even number",
                    "type": "integer",
                    "minimum": 2,
                    "multipleOf": 2,
                },
                "bound": bound,
                "roots": _roots(root, "one for each choice of medians that stars do not exclude"),
            },
            "the trees of a search",
        ),
        "": certificate(
            "",
            {
                "axes": axes,
                "scale": {"description": "units of a hop", "type": "integer", "minimum": 1},
                "roots": _roots({"medians": medians, "multipliers": by_axis}, "multipliers by medians"),
            },
            "multipliers of a partition, without a tree",
        ),
    }
    return schemas[kind]


def _roots(fields: dict[str, Document], description: str) -> Document:
    return listing({"type": "object", "properties": fields, "required": [*fields]}, description)
