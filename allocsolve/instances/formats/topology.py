"""The field ``topology``, as all kinds of files have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.errors import InvalidProblem
from allocsolve.model import Topology

if TYPE_CHECKING:
    from allocsolve.instances.formats.checker import Checker, Document

__all__ = ["decode_topology", "encode_topology"]


def decode_topology(check: Checker, value: object) -> Topology | None:
    """Return the topology; None if it has a fault, so that nothing is compared with a wrong one."""
    before = len(check.faults)
    fields = check.fields(value, "topology", ("shape",), ("wrap",))
    shape = [
        check.integer(side, f"topology.shape[{axis}]", "side", 1)
        for axis, side in enumerate(check.typed(list, fields.get("shape", [1]), "topology.shape"))
    ]
    wrap = [
        check.boolean(ring, f"topology.wrap[{axis}]")
        for axis, ring in enumerate(check.typed(list, fields.get("wrap", [False]), "topology.wrap"))
    ]
    if len(check.faults) > before:
        return None
    if "wrap" not in fields:
        wrap = [False] * len(shape)
    elif len(wrap) != len(shape):  # the model takes no entries at all for the default
        check.add("topology.wrap", f"{len(wrap)} entries for the {len(shape)} axes of the shape")
        return None
    try:
        return Topology(tuple(shape), tuple(wrap))
    except InvalidProblem as error:
        check.add("topology", str(error))
        return None


def encode_topology(topology: Topology) -> Document:
    """Return the field of a topology."""
    return {"shape": list(topology.shape), "wrap": list(topology.wrap)}
