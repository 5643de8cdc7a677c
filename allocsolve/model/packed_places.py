"""A machine whose nodes are places, and what jobs hold on it, as kernels take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.model.arrays import frozen
from allocsolve.model.places import resource_names

if TYPE_CHECKING:
    from allocsolve.model.arrays import BoolArray, IntArray
    from allocsolve.model.jobs import Jobs
    from allocsolve.model.places import NodeType
    from allocsolve.model.workload import WorkloadProblem


class PackedPlaces(NamedTuple):
    """Places and shapes of jobs as read-only arrays.

    Node ids are 0.., those of the first type first. Jobs that differ in times only are of one shape. A node
    of type t, of which f, shape (resources,), is free, has room for k chunks of a job of shape s:

    - 0 if not ``allowed[s, t]``, if an exclusive job is there, or if s is exclusive and anybody is there;
    - else ``min(per_node[s], min over r with each[s, r] > 0 of f[r] // each[s, r])``.

    The job fits if the sum of k over the nodes is at least ``chunks[s]`` and at least ``least_nodes[s]``
    nodes have room. An exclusive job takes all of each of its nodes. Who is on a node has to be known beside
    what is free there: chunks, and so jobs, may take nothing.
    """

    #: Of the resources of nodes: ``cpus``, ``mem`` and ``gpus`` first, the others by name; there may be none.
    names: tuple[str, ...]
    #: Shape (types, resources): what an empty node has.
    has: IntArray
    #: Shape (types,), >= 0: nodes of the least weight are taken first, whatever the rule.
    weight: IntArray
    #: Shape (types + 1,): the nodes of type t are ``first_node[t]:first_node[t + 1]``.
    first_node: IntArray
    #: Shape (nodes,).
    type_of_node: IntArray
    #: Shape (jobs,): an index of shapes.
    shape: IntArray
    #: Shape (shapes,), >= 1.
    chunks: IntArray
    #: Shape (shapes, resources): what a chunk takes; all 0 of jobs that hold whole nodes.
    each: IntArray
    #: Shape (shapes,): the most chunks on a node, in 1..chunks.
    per_node: IntArray
    #: Shape (shapes,): in ``ceil(chunks / per_node)..chunks``.
    least_nodes: IntArray
    #: Shape (shapes,).
    exclusive: BoolArray
    #: Shape (shapes, types): the types that a job may use, whether or not a chunk fits there.
    allowed: BoolArray
    #: Shape (shapes, types): k of an empty node; 0 if the type is not allowed.
    most: IntArray


def packed_places(problem: WorkloadProblem) -> PackedPlaces:
    """Return a machine whose nodes are places, and what its jobs hold. O(jobs + nodes + shapes x types).

    Raises `InvalidProblem` if the nodes are no places: there are no `WorkloadProblem.node_types`.
    """
    if not problem.node_types:
        raise InvalidProblem("the workload has no node_types: its nodes are counted")
    return places_of(problem.node_types, problem.jobs)


def places_of(types: tuple[NodeType, ...], jobs: Jobs) -> PackedPlaces:
    """Return the places of these types, and what jobs hold that ask for nothing else."""
    names = resource_names(types)
    has = np.array([[dict(each.has).get(name, 0) for name in names] for each in types], dtype=np.int64)
    counts = np.array([each.count for each in types], dtype=np.int64)
    shape, shapes = _shapes(jobs)
    chunks, per_node, least, exclusive, amounts, kinds = zip(*shapes, strict=True) if shapes else ((),) * 6
    each = np.array([[dict(mine).get(name, 0) for name in names] for mine in amounts], dtype=np.int64)
    allowed = [[not mine or kind.name in mine for kind in types] for mine in kinds]
    each, has = each.reshape(len(shapes), len(names)), has.reshape(len(types), len(names))
    may = np.array(allowed, dtype=np.bool_).reshape(len(shapes), len(types))
    limit = np.array(per_node, dtype=np.int64)
    most = np.where(may, limit[:, None], 0)
    for resource in range(len(names)):
        needed = each[:, resource]
        room = has[None, :, resource] // np.maximum(needed, 1)[:, None]
        most = np.where(needed[:, None] > 0, np.minimum(most, room), most)
    first = np.zeros(len(types) + 1, dtype=np.int64)
    np.cumsum(counts, out=first[1:])
    return PackedPlaces(
        names,
        frozen(has),
        frozen(np.array([kind.weight for kind in types], dtype=np.int64)),
        frozen(first),
        frozen(np.repeat(np.arange(len(types), dtype=np.int64), counts)),
        frozen(shape),
        frozen(np.array(chunks, dtype=np.int64)),
        frozen(each),
        frozen(limit),
        frozen(np.array(least, dtype=np.int64)),
        frozen(np.array(exclusive, dtype=np.bool_)),
        frozen(may),
        frozen(most),
    )


def _shapes(jobs: Jobs) -> tuple[IntArray, list[tuple[object, ...]]]:
    """Return the index of each job among the shapes, and these: in the order of their first jobs."""
    mine, count = jobs.chunks, len(jobs)
    index: dict[tuple[object, ...], int] = {}
    nodes = jobs.packed.nodes.tolist()
    kinds = mine.types or ((),) * count
    rows: list[tuple[object, ...]] = [
        (size, 1, size, True, (), kind) for size, kind in zip(nodes, kinds, strict=True)
    ]
    if len(mine.count):
        columns = (
            mine.count.tolist(),
            mine.per_node.tolist(),
            nodes,
            mine.exclusive.tolist(),
            mine.each,
            kinds,
        )
        rows = [row if row[0] else whole for row, whole in zip(zip(*columns, strict=True), rows, strict=True)]
    shape = np.array([index.setdefault(row, len(index)) for row in rows], dtype=np.int64)
    return shape, list(index)


def check_places(types: tuple[NodeType, ...], jobs: Jobs) -> None:
    """Refuse jobs that do not fit the empty machine, by what fits on each of its nodes.

    `InvalidProblem` names the first of them.
    """
    places = places_of(types, jobs)
    counts = np.diff(places.first_node)
    # No chunk counts on more nodes than there are chunks, so that sums stay small.
    nodes_with_room = np.where(places.most > 0, counts, 0).sum(axis=1)
    room = (np.minimum(places.most, places.chunks[:, None]).astype(object) * counts).sum(axis=1)
    good = (room >= places.chunks) & (nodes_with_room >= places.least_nodes)
    if good.all():
        return
    bad = ~np.asarray(good, dtype=np.bool_)[places.shape]
    if not bad.any():
        return
    idx = int(np.argmax(bad))
    at = places.shape[idx]
    place = f"job {jobs.names[idx]!r} fits no empty machine"
    if not nodes_with_room[at]:
        raise InvalidProblem(f"{place}: no node that it may use has room for a chunk of it")
    if nodes_with_room[at] < places.least_nodes[at]:
        least, there = places.least_nodes[at], nodes_with_room[at]
        msg = f"{place}: it needs {least} nodes, and {there} have room for a chunk of it"
        raise InvalidProblem(msg)
    raise InvalidProblem(f"{place}: of its {places.chunks[at]} chunks the nodes have room for {room[at]}")
