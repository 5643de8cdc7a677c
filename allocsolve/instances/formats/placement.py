"""The fields of the kinds ``placement`` (a problem) and ``placement-set`` (its answer).

``name``, ``hops`` (2, 4, 6, ...), ``capacities`` (all 1), ``within`` (0, any level), ``segment`` (0, none),
``segment_level`` (1), ``balanced`` (false) and ``meta`` may be absent. The nodes of an answer may be in any
order; in the digest ``busy`` is in increasing order::

    {"format": "allocsolve/1", "kind": "placement", "name": "...",
     "tree": {"sizes": [8, 16, 18], "hops": [2, 4, 6], "capacities": [1, 1]}, "busy": [node, ...], "size": 32,
     "within": 2, "segment": 8, "segment_level": 1, "balanced": false, "meta": {...}}
    {"format": "allocsolve/1", "kind": "placement-set", "problem": "<digest>", "nodes": [node, ...],
     "meta": {...}}

A tree is written by the numbers of children from the root down, see `allocsolve.model.SwitchTree.regular`,
or switch by switch and node by node. Then ``parent`` has the switch above each switch (-1: none) and
``switch`` the switch of each node; ``weight`` (1) and ``capacity`` (1) may have a number for the link above
each switch, and ``node_weight`` (1) is one number, in hops or half hops::

    "tree": {"parent": [-1, 0, 0], "switch": [1, 1, 2], "weight": [0, 1.5, 0.5], "node_weight": 1}

Both forms of the same tree have the same digest. There are no tables of these kinds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.families import Fields
from allocsolve.instances.formats.files import Checker
from allocsolve.instances.formats.node_lists import (
    CHOSEN_NODES,
    decode_busy_and_size,
    decode_nodes,
    encode_nodes,
)
from allocsolve.instances.formats.schema import NODE, certificate, flag, listing, real, record, text, whole
from allocsolve.model import Placement, PlacementProblem, SwitchTree

if TYPE_CHECKING:
    from allocsolve.instances.formats.files import Document

_REGULAR: Final = ("sizes", "hops", "capacities")
_EXPLICIT: Final = ("parent", "switch", "weight", "node_weight", "capacity")


def decode_tree(check: Checker, value: object) -> SwitchTree | None:
    """Return the switch tree; None if it has a fault, so that nothing is compared with a wrong one."""
    before = len(check.faults)
    given = value if isinstance(value, dict) else {}
    is_regular = "sizes" in given
    required, optional = (("sizes",), _REGULAR) if is_regular else (("parent", "switch"), _EXPLICIT)
    fields = check.fields(value, "tree", required, optional)
    integers = {
        name: [
            check.integer(entry, f"tree.{name}[{idx}]", "entry", -1 if name == "parent" else 0, fallback=0)
            for idx, entry in enumerate(check.typed(list, fields[name], f"tree.{name}"))
        ]
        for name in (*_REGULAR, "parent", "switch", "capacity")
        if name in fields
    }
    halves = [
        _halves(check, entry, f"tree.weight[{idx}]")
        for idx, entry in enumerate(check.typed(list, fields.get("weight", []), "tree.weight"))
    ]
    node_halves = _halves(check, fields.get("node_weight", 1), "tree.node_weight")
    if len(check.faults) > before:
        return None
    try:
        if is_regular:
            return SwitchTree.regular(*(tuple(integers.get(name, ())) for name in _REGULAR))
        parent, switch, capacity = (
            np.array(integers.get(name, []), dtype=np.int64) for name in ("parent", "switch", "capacity")
        )
        return SwitchTree(parent, switch, np.array(halves, dtype=np.int64), node_halves, capacity)
    except InvalidProblem as error:
        check.add("tree", str(error))
        return None


def _halves(check: Checker, value: object, place: str) -> int:
    """Return a weight in half hops."""
    hops = check.real_number(value, place, "weight", 0)
    if not float(2 * hops).is_integer():
        check.add_shape(place, f"weight {hops} is no whole number of half hops")
        return 0
    return int(2 * hops)


def encode_tree(tree: SwitchTree) -> Document:
    """Return the field of a tree: the short form if it has one."""
    form = tree.regular_form()
    if form is not None:
        return {"sizes": list(form.sizes), "hops": list(form.hops), "capacities": list(form.capacities)}
    return {
        "parent": tree.parent.tolist(),
        "switch": tree.switch.tolist(),
        "weight": [_hops(weight) for weight in tree.weight.tolist()],
        "node_weight": _hops(tree.node_weight),
        "capacity": tree.capacity.tolist(),
    }


def _hops(halves: int) -> float:
    return halves / 2 if halves % 2 else halves // 2


def decode_problem(document: Document, source: str) -> PlacementProblem:
    """Return the problem of a document; a FormatError for the file `source` names every fault."""
    check = Checker()
    required = ("format", "kind", "tree", "busy", "size")
    asked = ("within", "segment", "segment_level", "balanced")
    top = check.fields(document, "", required, ("name", *asked, "meta"))
    tree = decode_tree(check, top["tree"]) if "tree" in top else None
    busy, size = decode_busy_and_size(check, top, None if tree is None else tree.num_nodes)
    numbers: dict[str, Any] = {
        name: check.integer(top.get(name, low), name, "value", low, fallback=low)
        for name, low in (("within", 0), ("segment", 0), ("segment_level", 1))
    }
    numbers["balanced"] = check.boolean(top.get("balanced", False), "balanced")
    numbers["name"] = check.typed(str, top.get("name", ""), "name")
    numbers["meta"] = check.typed(dict, top.get("meta", {}), "meta")
    check.finish(source)
    assert tree is not None, "its faults were raised"
    try:
        return PlacementProblem.of(tree, busy=busy, size=size, **numbers)
    except InvalidProblem as error:
        check.add("", str(error))
    check.finish(source)
    raise AssertionError  # a fault was just added


def encode_problem(problem: PlacementProblem) -> Document:
    """Return the fields of a problem without the envelope, in the order in which they are written."""
    return {
        "name": problem.name,
        "tree": encode_tree(problem.tree),
        "busy": list(problem.busy),
        "size": problem.size,
        "within": problem.within,
        "segment": problem.segment,
        "segment_level": problem.segment_level,
        "balanced": problem.balanced,
        "meta": dict(problem.meta),
    }


def decode_solution(document: Document, source: str, problem: PlacementProblem) -> Placement:
    """Return the placement of a document; a FormatError for the file `source` names every fault.

    Whether the nodes are those of an answer to the problem is for the judge to say.
    """
    del problem
    return Placement(decode_nodes(document, source))


def encode_solution(problem: PlacementProblem, placement: Placement) -> Document:
    """Return the nodes of a placement without the envelope.

    Raises
    ------
    InvalidAnswer
        If a node is not of the tree.
    """
    return encode_nodes(placement.nodes, problem.tree.num_nodes, "placement")


def problem_fields() -> Fields:
    """Return what a schema says of a problem."""
    half_hops = real(0, multipleOf=0.5)
    regular = {
        "sizes": listing(whole(0), "how many children a switch has, from the root down"),
        "hops": listing(whole(0), "distance of two nodes by the level of their lowest common switch"),
        "capacities": listing(whole(0), "of the links from the switches of level 1, 2, ... to their parents"),
    }
    explicit = {
        "parent": listing(whole(-1), "the number of the switch above each switch; -1 for a root"),
        "switch": listing(whole(0), "the number of the switch of each node"),
        "weight": listing(half_hops, "of the link from each switch to its parent, in hops or half hops"),
        "node_weight": {**half_hops, "default": 1, "description": "of the link of each node, in hops"},
        "capacity": listing(whole(0), "of the link from each switch to its parent"),
    }
    tree = {
        "description": "a tree of switches: by the numbers of children, or switch by switch",
        "anyOf": [record(regular, ("sizes",)), record(explicit, ("parent", "switch"))],
    }
    return Fields(
        "A placement problem: nodes of a tree of switches that are near each other",
        {
            "tree": tree,
            "busy": listing(NODE, "node ids, each once", uniqueItems=True),
            "size": whole(1, "how many nodes to choose"),
            "within": whole(0, "the highest level of the lowest common switch; 0: any", default=0),
            "segment": whole(0, "nodes of a segment; 0: none", default=0),
            "segment_level": whole(
                1, "the highest level of the lowest common switch of a segment", default=1
            ),
            "balanced": flag("whether switches of level 1 have equally many chosen nodes, or none"),
        },
        ("tree", "busy", "size"),
        (
            "the lists of a tree have fitting lengths, and its switches are a tree",
            "a tree has at most 2^20 nodes and 16 levels, and capacities are at least 1",
            "distances are whole numbers of hops and do not fall",
            "busy nodes are nodes of the tree",
            "size is at most the number of free nodes",
            "levels are levels of the tree, and segment divides size",
        ),
    )


def placement_fields() -> Fields:
    """Return what a schema says of an answer."""
    return Fields(
        "A solution of a placement problem",
        {"nodes": CHOSEN_NODES},
        ("nodes",),
        ("problem is the digest of the problem",),
    )


def certificates() -> dict[str, Document]:
    """Return the schema of the only kind of certificate."""
    bound = "no placement is below it: a whole number, or any of a bottleneck"
    form = certificate(
        "knapsack",
        {
            "term": text("the first term of the objective, which is bounded"),
            "bound": {"description": bound, "type": "number"},
        },
        "the judge finds the optimum again",
    )
    is_peak = {"properties": {"term": {"const": "bottleneck"}}}
    return {"knapsack": {**form, "if": is_peak, "else": {"properties": {"bound": {"type": "integer"}}}}}
