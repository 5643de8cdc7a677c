"""The fields that files of chosen and of busy nodes have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.families import Fields, FileKind
from allocsolve.instances.formats.files import show
from allocsolve.instances.formats.schema import listing, whole
from allocsolve.model import MAX_INTEGER

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.instances.formats.files import Checker, Document
    from allocsolve.model import IntArray

A = TypeVar("A")

_CHOSEN: Final = listing(whole(-MAX_INTEGER), "the chosen node ids, in any order")


def check_busy_and_size(check: Checker, busy: list[int], size: int, num_nodes: int) -> None:
    """Note the busy nodes that the machine does not have, and a size above the number of free nodes."""
    for idx, node in enumerate(busy):
        if node >= num_nodes:
            check.add(f"busy[{idx}]", f"node {node} is above the last node {num_nodes - 1}")
    free = num_nodes - len(busy)
    if not free:
        check.add("busy", f"all {num_nodes} nodes are busy")
    elif size > free and not check.faults:
        check.add("size", f"value {size} is above the number of free nodes {free}")


def chosen_nodes_kind(
    family: str, answer: Callable[[IntArray], A], num_nodes: Callable[[Any], int]
) -> FileKind[A]:
    """Return the kind of answers that are nodes.

    The name of the family is also the noun for a set of nodes; `answer` makes one of node ids, which has them
    as ``nodes``.
    """
    fields = Fields(
        f"A solution of a {family} problem",
        {"nodes": _CHOSEN},
        ("nodes",),
        ("problem is the digest of the problem",),
    )
    return FileKind(
        lambda: fields,
        lambda _check, _problem, nodes: answer(np.array(nodes, dtype=np.int64)),
        lambda problem, chosen: encode_nodes(chosen.nodes, num_nodes(problem), family),
    )


def encode_nodes(nodes: IntArray, num_nodes: int, answer: str) -> Document:
    """Return the field of the chosen nodes.

    Raises `InvalidAnswer` if a node is none of 0..`num_nodes` - 1; the message calls the set by the noun
    `answer`.
    """
    last = num_nodes - 1
    strange = next((node for node in nodes.tolist() if not 0 <= node <= last), None)
    if strange is not None:
        msg = f"the {answer} does not belong to the problem: node {show(strange)} is not in 0..{last}"
        raise InvalidAnswer(msg)
    return {"nodes": nodes.tolist()}
