"""The fields of the kinds ``partition`` (a problem) and ``partition-set`` (its answer).

A node id is x + y*X + z*X*Y; ``name``, ``wrap`` (no rings), ``contiguous`` (false) and ``meta`` may be
absent. The nodes of an answer may be in any order; in the digest ``busy`` is in increasing order::

    {"format": "allocsolve/1", "kind": "partition", "name": "...",
     "topology": {"shape": [16, 8], "wrap": [false, false]}, "busy": [node, ...], "size": 32,
     "contiguous": false, "meta": {...}}
    {"format": "allocsolve/1", "kind": "partition-set", "problem": "<digest>", "nodes": [node, ...],
     "meta": {...}}

A document is checked whole: every fault is collected with the path of its field, such as
``busy[3]: node 128 is above the last node 127``, and all are raised together.
`allocsolve.instances.formats.envelope` reads the text, checks the envelope and calls these functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.instances.formats.checker import Checker, show
from allocsolve.instances.formats.topology import decode_topology, encode_topology
from allocsolve.model import MAX_INTEGER, Partition, PartitionProblem

if TYPE_CHECKING:
    from allocsolve.instances.formats.checker import Document

__all__ = ["decode_problem", "decode_solution", "encode_problem", "encode_solution"]


def decode_problem(document: Document, source: str) -> PartitionProblem:
    """Return the problem of a document; a FormatError for the file `source` names every fault."""
    check = Checker()
    required = ("format", "kind", "topology", "busy", "size")
    top = check.fields(document, "", required, ("name", "contiguous", "meta"))
    topology = decode_topology(check, top["topology"]) if "topology" in top else None
    num_nodes = MAX_INTEGER if topology is None else topology.num_nodes
    busy = _decode_busy(check, check.typed(list, top.get("busy", []), "busy"), num_nodes)
    free = num_nodes - len(busy)
    if topology is not None and not free:
        check.add("busy", f"all {num_nodes} nodes are busy")
        free = num_nodes  # told once
    size = check.integer(
        top.get("size", 1), "size", "value", 1, high=free, high_is="the number of free nodes"
    )
    contiguous = check.boolean(top.get("contiguous", False), "contiguous")
    name = check.typed(str, top.get("name", ""), "name")
    meta = check.typed(dict, top.get("meta", {}), "meta")
    check.finish(source)
    assert topology is not None, "its faults were raised"
    return PartitionProblem.of(topology, busy=busy, size=size, contiguous=contiguous, name=name, meta=meta)


def _decode_busy(check: Checker, values: list[Any], num_nodes: int) -> list[int]:
    """Return the busy nodes that are well-formed, each once."""
    first: dict[int, int] = {}
    for idx, value in enumerate(values):
        place = f"busy[{idx}]"
        node = check.integer(
            value, place, "node", 0, high=num_nodes - 1, high_is="the last node", fallback=-1
        )
        if node >= 0 and first.setdefault(node, idx) != idx:
            check.add(place, f"node {node} is also busy[{first[node]}]")
    return list(first)


def encode_problem(problem: PartitionProblem) -> Document:
    """Return the fields of a problem without the envelope, in the order in which they are written."""
    return {
        "name": problem.name,
        "topology": encode_topology(problem.topology),
        "busy": list(problem.busy),
        "size": problem.size,
        "contiguous": problem.contiguous,
        "meta": dict(problem.meta),
    }


def decode_solution(document: Document, source: str, problem: PartitionProblem) -> Partition:  # noqa: ARG001 - the arguments of every decoder of answers
    """Return the partition of a document; a FormatError for the file `source` names every fault.

    Whether the nodes are those of an answer to the problem is for the judge to say.
    """
    check = Checker()
    top = check.fields(document, "", ("format", "kind", "nodes"), ("problem", "meta"))
    check.typed(dict, top.get("meta", {}), "meta")
    nodes = [
        check.integer(value, f"nodes[{idx}]", "node", -MAX_INTEGER)
        for idx, value in enumerate(check.typed(list, top.get("nodes", []), "nodes"))
    ]
    check.finish(source)
    return Partition(np.array(nodes, dtype=np.int64))


def encode_solution(problem: PartitionProblem, partition: Partition) -> Document:
    """Return the nodes of a partition without the envelope.

    Raises
    ------
    InvalidAnswer
        If a node is not of the topology.
    """
    last = problem.topology.num_nodes - 1
    nodes = partition.nodes.tolist()
    strange = next((node for node in nodes if not 0 <= node <= last), None)
    if strange is not None:
        msg = f"the partition does not belong to the problem: node {show(strange)} is not in 0..{last}"
        raise InvalidAnswer(msg)
    return {"nodes": nodes}
