"""What jobs on nodes that are places need in counts: every schedule on places keeps them.

So a bound on schedules that keep the counts is one on schedules on places.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve.model.closed_nodes import closed_by_type, closed_nodes
from allocsolve.model.machine import NODES, ClosedWindow
from allocsolve.model.packed_places import places_of
from allocsolve.model.places import SHAPE_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from allocsolve.model.arrays import BoolArray, IntArray
    from allocsolve.model.jobs import Jobs
    from allocsolve.model.machine import Amounts
    from allocsolve.model.packed_places import PackedPlaces
    from allocsolve.model.places import NodeType

#: Which dual feasible functions there are of each resource: what chunks of more than a half, a third or a
#: quarter of a node count. Their values are multiples of `_UNIT`-ths of a node.
_STEPS: Final = (1, 2, 3)
_UNIT: Final = 840


def counted(
    types: tuple[NodeType, ...], jobs: Jobs, there_is: Amounts, closed: Sequence[ClosedWindow]
) -> dict[str, Any]:
    """Return the fields of a problem in counts, see `allocsolve.model.WorkloadProblem.on_counts`.

    `there_is` are the counted resources that the machine has beside its nodes, `closed` are windows of nodes.
    """
    places, asked = places_of(types, jobs), jobs.requirements
    without: Mapping[str, None] = dict.fromkeys(SHAPE_FIELDS)
    whole = places.exclusive & (places.per_node == 1) & ~places.each.any(axis=1) & places.allowed.all(axis=1)
    if whole.all():
        nodes = _Count(NODES, places.chunks, np.ones(len(types), dtype=np.int64), 1)
        windows = _windows(closed, places, {NODES: nodes})
        return {"jobs": jobs.replace(**without), "node_types": (), "closed": windows}
    titles = [kind.name for kind in types]
    counts = [count for count in _counts(places, titles) if count.amounts.any()]
    nodes_of_type = np.diff(places.first_node)
    loads = [
        float((count.amounts[places.shape] * jobs.packed.runtime).sum()) / count.there(nodes_of_type)
        for count in counts
    ]
    scarcest = int(np.argmax(loads)) if counts else -1
    needs: list[dict[str, int]] = [dict(mine) for mine in asked.needs] or [{} for _ in jobs.names]
    for idx, pool in enumerate(asked.partitions):
        if pool is not None:
            needs[idx][pool] = int(jobs.packed.nodes[idx])
    held, there = np.zeros(len(jobs), dtype=np.int64), 0
    resources: dict[str, int] = dict(there_is)
    named: dict[str, _Count] = {}
    for at, count in enumerate(counts):
        amounts, name = count.amounts[places.shape], count.name
        if at == scarcest:
            held, there = amounts, count.there(nodes_of_type)
            named[NODES] = count
            continue
        while name in resources:
            name += "'"
        resources[name], named[name] = count.there(nodes_of_type), count
        for idx in np.flatnonzero(amounts).tolist():
            needs[idx][name] = int(amounts[idx])
    # Each job needs some of what is scarcest, as it does of nodes: who needs none gets one of its own.
    none = held == 0
    columns = {**without, "nodes": np.where(none, 1, held), "needs": needs, "partitions": None}
    fields = {"num_nodes": there + int(none.sum()), "resources": resources, "node_types": ()}
    return {**fields, "jobs": jobs.replace(**columns), "closed": _windows(closed, places, named)}


class _Count(NamedTuple):
    """Something that is counted."""

    name: str
    #: Shape (shapes,): how much jobs hold at least, in units.
    amounts: IntArray
    #: Shape (types,): how much each node has.
    each: IntArray
    unit: int

    def there(self, nodes: IntArray) -> int:
        """Return how much so many nodes have, shape (types,), in whole units."""
        return int(self.each @ nodes) // self.unit


def _windows(
    closed: Sequence[ClosedWindow], places: PackedPlaces, counts: Mapping[str, _Count]
) -> list[ClosedWindow]:
    """Return windows that close what nodes have that are closed."""
    if not closed:
        return []
    whole = np.diff(places.first_node)
    times, gone = closed_by_type(closed_nodes(closed, int(whole.sum())), places.type_of_node)
    windows = []
    for start, end, nodes in zip(times[:-1].tolist(), times[1:].tolist(), gone, strict=False):
        less = {name: count.there(whole) - count.there(whole - nodes) for name, count in counts.items()}
        if amounts := {name: amount for name, amount in less.items() if amount}:
            windows.append(ClosedWindow(start, end, amounts))
    return windows


def _counts(places: PackedPlaces, titles: Sequence[str]) -> Iterator[_Count]:
    """Yield what is counted.

    These are amounts in all and of each type, and dual feasible functions of them. An exclusive job holds at
    least the nodes that its chunks need where most of them fit, each as large as the smallest that it may
    use: its chunks may share nodes.
    """
    usable, alone = places.most > 0, places.exclusive
    ones = np.ones(len(titles), dtype=np.int64)
    least = np.maximum(places.least_nodes, -(-places.chunks // np.maximum(places.most.max(axis=1), 1)))
    only = np.where(usable.sum(axis=1) == 1, usable.argmax(axis=1), -1)
    if not places.names:
        yield _Count("nodes held alone", np.where(alone, least, 0), ones, 1)
    for at, name in enumerate(places.names):
        has, each = places.has[:, at], places.each[:, at]
        smallest = np.where(usable, has, has.max()).min(axis=1)
        total = np.maximum(places.chunks * each, np.where(alone, least * smallest, 0))
        pools = [(name, total, has)]
        pools += [
            (
                f"{name} of {titles[kind]}",
                np.where(only == kind, total, 0),
                np.where(np.arange(len(has)) == kind, has, 0),
            )
            for kind in np.unique(only[only >= 0]).tolist()
        ]
        for step in _STEPS:
            share = np.where(alone, least * _UNIT, places.chunks * _shares(each, has, usable, step))
            pools.append((f"{name} above 1/{step + 1}", share, ones * _UNIT))
        for what, amounts, there in pools:
            unit = max(1, int(np.gcd.reduce(amounts)))  # the largest in which all amounts are whole
            yield _Count(what, amounts // unit, there, unit)


def _shares(each: IntArray, has: IntArray, usable: BoolArray, step: int) -> IntArray:
    """Return the value of a dual feasible function of a chunk of each shape, in `_UNIT`-ths of a node.

    With x the share of the node that a chunk takes, u(x) = x where (step + 1) x is whole, else
    floor((step + 1) x) / step: the chunks on a node have values of at most 1 in all (Fekete & Schepers, "New
    classes of fast lower bounds for bin packing problems", Mathematical Programming 91, 2001). Of unlike
    types it is the least.
    """
    scaled, size = (step + 1) * each[:, None], np.maximum(has, 1)[None, :]
    floor = scaled // size
    value = np.where(scaled % size == 0, floor * (_UNIT // (step + 1)), floor * (_UNIT // step))
    least: IntArray = np.where(usable, value, _UNIT).min(axis=1)
    return least
