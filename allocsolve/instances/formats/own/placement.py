"""The fields of the kinds ``placement`` (a problem) and ``placement-set`` (its answer)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.families import Fields, FileKind
from allocsolve.instances.formats.schema import (
    NODE,
    certificate,
    check_busy_and_size,
    chosen_nodes_kind,
    flag,
    listing,
    real,
    record,
    text,
    whole,
)
from allocsolve.model import Placement, PlacementProblem, SwitchTree

if TYPE_CHECKING:
    from allocsolve.instances.formats.files import Checker, Document

_HALF_HOPS: Final = real(0, multipleOf=0.5)
_REGULAR: Final = {
    "sizes": listing(
        whole(0),
        "how many children a switch has, from the root down: `[2, 3, 4]` is 2 pods of 3 racks of 4 nodes",
    ),
    "hops": listing(
        whole(0), "distance of two nodes by the level of their lowest common switch; 2, 4, 6, ... if left out"
    ),
    "capacities": listing(
        whole(0), "of the links from the switches of level 1, 2, ... to their parents; 1 if left out"
    ),
}
_EXPLICIT: Final = {
    "parent": listing(whole(-1), "the number of the switch above each switch; -1 for a root"),
    "switch": listing(whole(0), "the number of the switch of each node"),
    "weight": listing(
        _HALF_HOPS, "of the link from each switch to its parent, in hops or half hops; 1 if empty", default=[]
    ),
    "node_weight": {**_HALF_HOPS, "default": 1, "description": "of the link of each node, in hops"},
    "capacity": listing(whole(0), "of the link from each switch to its parent; 1 if empty", default=[]),
}
_PROBLEM: Final = Fields(
    "A placement problem: nodes of a tree of switches that are near each other",
    {
        "tree": {
            "description": "a tree of switches: by the numbers of children, or switch by switch",
            "anyOf": [record(_REGULAR, ("sizes",)), record(_EXPLICIT, ("parent", "switch"))],
        },
        "busy": listing(NODE, "node ids, each once", uniqueItems=True),
        "size": whole(1, "how many nodes to choose, at most as many as are free"),
        "within": whole(0, "the highest level of the lowest common switch; 0: any", default=0),
        "segment": whole(0, "nodes of a segment, a divisor of `size`; 0: none", default=0),
        "segment_level": whole(1, "the highest level of the lowest common switch of a segment", default=1),
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


def _problem_of(
    check: Checker,
    tree: Document,
    busy: list[int],
    size: int,
    **more: Any,  # noqa: ANN401 - fields that the model takes as they are
) -> PlacementProblem | None:
    """Return the problem; None, with the faults noted, if fields contradict each other."""
    try:
        switches = _tree_of(tree)
    except InvalidProblem as error:
        check.add("tree", str(error))
        return None
    check_busy_and_size(check, busy, size, switches.num_nodes)
    return None if check.faults else PlacementProblem.of(switches, busy=busy, size=size, **more)


def _tree_of(tree: Document) -> SwitchTree:
    if "sizes" in tree:
        return SwitchTree.regular(*(tuple(tree.get(name, ())) for name in _REGULAR))
    parent, switch, capacity = (
        np.array(tree[name], dtype=np.int64) for name in ("parent", "switch", "capacity")
    )
    half_hops = np.array([2 * weight for weight in tree["weight"]], dtype=np.int64)
    return SwitchTree(parent, switch, half_hops, int(2 * tree["node_weight"]), capacity)


def _values_of(problem: PlacementProblem) -> Document:
    fields = {name: getattr(problem, name) for name in _PROBLEM.properties if name not in {"tree", "busy"}}
    tree = _tree_values(problem.tree)
    meta = dict(problem.meta)
    return {"name": problem.name, "tree": tree, "busy": list(problem.busy), **fields, "meta": meta}


def _tree_values(tree: SwitchTree) -> Document:
    """Return the fields of a tree: the short form if it has one."""
    form = tree.regular_form()
    if form is not None:
        return {name: list(numbers) for name, numbers in form._asdict().items()}
    return {
        "parent": tree.parent.tolist(),
        "switch": tree.switch.tolist(),
        "weight": [_hops(half) for half in tree.weight.tolist()],
        "node_weight": _hops(tree.node_weight),
        "capacity": tree.capacity.tolist(),
    }


def _hops(halves: int) -> float:
    return halves / 2 if halves % 2 else halves // 2


#: A problem; both forms of the same tree, see `allocsolve.model.SwitchTree`, have the same digest.
PROBLEM: Final = FileKind(lambda: _PROBLEM, _problem_of, _values_of)
#: Its answer; whether the nodes answer the problem is for the judge to say.
ANSWER: Final = chosen_nodes_kind("placement", Placement, lambda problem: problem.tree.num_nodes)


def certificate_schema() -> Document:
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
    return {**form, "if": is_peak, "else": {"properties": {"bound": {"type": "integer"}}}}
