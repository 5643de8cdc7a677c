"""The fields that files of chosen and of busy nodes have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.instances.formats.files import Checker, show
from allocsolve.instances.formats.schema import listing, whole
from allocsolve.model import MAX_INTEGER

if TYPE_CHECKING:
    from allocsolve.instances.formats.files import Document
    from allocsolve.model import IntArray


#: What a schema says of the nodes of an answer.
CHOSEN_NODES: Final = listing(whole(-MAX_INTEGER), "the chosen node ids, in any order")


def decode_busy_and_size(check: Checker, top: Document, num_nodes: int | None) -> tuple[list[int], int]:
    """Return the busy nodes and how many are to be chosen; the machine has None nodes if it is faulty."""
    there = MAX_INTEGER if num_nodes is None else num_nodes
    busy = _decode_busy(check, check.typed(list, top.get("busy", []), "busy"), there)
    free = there - len(busy)
    if num_nodes is not None and not free:
        check.add("busy", f"all {num_nodes} nodes are busy")
        free = num_nodes  # told once
    size = check.integer(
        top.get("size", 1), "size", "value", 1, high=free, high_is="the number of free nodes"
    )
    return busy, size


def _decode_busy(check: Checker, values: list[Any], num_nodes: int) -> list[int]:
    """Return the busy nodes that are well-formed, each once."""
    first: dict[int, int] = {}
    for idx, value in enumerate(values):
        place = f"busy[{idx}]"
        node = check.integer(value, place, "node", 0, fallback=-1)
        if node >= 0 and first.setdefault(node, idx) != idx:
            check.add_shape(place, f"node {node} is also busy[{first[node]}]")
        elif node >= num_nodes:
            check.add(place, f"node {node} is above the last node {num_nodes - 1}")
    return [node for node in first if node < num_nodes]


def decode_nodes(document: Document, source: str) -> IntArray:
    """Return the chosen nodes of an answer; a FormatError for the file `source` names every fault."""
    check = Checker()
    top = check.fields(document, "", ("format", "kind", "nodes"), ("problem", "meta"))
    check.typed(dict, top.get("meta", {}), "meta")
    nodes = [
        check.integer(value, f"nodes[{idx}]", "node", -MAX_INTEGER)
        for idx, value in enumerate(check.typed(list, top.get("nodes", []), "nodes"))
    ]
    check.finish(source)
    return np.array(nodes, dtype=np.int64)


def encode_nodes(nodes: IntArray, num_nodes: int, answer: str) -> Document:
    """Return the field of the chosen nodes.

    Raises
    ------
    InvalidAnswer
        If a node is none of 0..`num_nodes` - 1; the message calls the set by the noun `answer`.
    """
    last = num_nodes - 1
    strange = next((node for node in nodes.tolist() if not 0 <= node <= last), None)
    if strange is not None:
        msg = f"the {answer} does not belong to the problem: node {show(strange)} is not in 0..{last}"
        raise InvalidAnswer(msg)
    return {"nodes": nodes.tolist()}
