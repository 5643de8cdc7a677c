"""A machine whose nodes are places, and what jobs hold on it, as kernels take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.model.arrays import frozen
from allocsolve.model.places import Shape, device_size, resource_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model.arrays import BoolArray, IntArray
    from allocsolve.model.jobs import Jobs
    from allocsolve.model.places import NodeType


class PackedDevices(NamedTuple):
    """The resource that is on devices, such as GPUs of which jobs take thousandths."""

    #: An index of `PackedPlaces.names`.
    resource: int
    #: How much of it a device has.
    size: int
    #: Shape (types,): how many devices a node has.
    number: IntArray


class PackedPlaces(NamedTuple):
    """Places and shapes of jobs as read-only arrays.

    Node ids are 0.., those of the first type first. Jobs that differ in times only are of one shape. A node
    of type t, of which f, shape (resources,), is free, has room for k chunks of a job of shape s:

    - 0 if not ``allowed[s, t]``, if an exclusive job is there, or if s is exclusive and anybody is there;
    - else ``min(per_node[s], min over r with each[s, r] > 0 of f[r] // each[s, r])``.

    The job fits if the sum of k over the nodes is at least ``chunks[s]`` and at least ``least_nodes[s]``
    nodes have room. An exclusive job takes all of each of its nodes. Who is on a node has to be known beside
    what is free there: chunks, and so jobs, may take nothing.

    With `devices`, of which g, shape (devices of the node,), are free, and v = ``each[s, devices.resource]``,
    k is also at most the sum of ``g // v`` if a chunk takes less than a device, else the number of devices of
    which all is free, divided by ``v // devices.size`` and rounded down.
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
    #: None if nothing is on devices.
    devices: PackedDevices | None = None


class OnPlaces(Protocol):
    """A `WorkloadProblem`, of which no more is asked here."""

    @property
    def node_types(self) -> tuple[NodeType, ...]:
        """The types of its nodes."""

    @property
    def jobs(self) -> Jobs:
        """Its jobs."""


def packed_places(problem: OnPlaces) -> PackedPlaces:
    """Return a machine whose nodes are places, and what its jobs hold. O(jobs + nodes + shapes x types).

    Raises `InvalidProblem` if the nodes are no places: there are no `WorkloadProblem.node_types`.
    """
    if not problem.node_types:
        raise InvalidProblem("the workload has no node_types: its nodes are counted")
    return places_of(problem.node_types, problem.jobs)


def all_shapes(jobs: Jobs) -> tuple[Shape, ...]:
    """Return the shape of each job, those that hold whole nodes included."""
    return jobs.shapes or tuple(map(Shape.whole, jobs.packed.nodes.tolist()))


def places_of(types: tuple[NodeType, ...], jobs: Jobs) -> PackedPlaces:
    """Return the places of these types, and what jobs hold that ask for nothing else."""
    names = resource_names(types)
    index: dict[Shape, int] = {}
    shape = np.array([index.setdefault(mine, len(index)) for mine in all_shapes(jobs)], dtype=np.int64)
    has, each = _table(names, [kind.has for kind in types]), _table(names, [mine.each for mine in index])
    allowed = [[not mine.types or kind.name in mine.types for kind in types] for mine in index]
    may = np.array(allowed, dtype=np.bool_).reshape(len(index), len(types))
    per_node = np.array([mine.per_node for mine in index], dtype=np.int64)
    most = np.where(may, per_node[:, None], 0)
    for amount, there in zip(each.T, has.T, strict=True):
        room = there[None, :] // np.maximum(amount, 1)[:, None]
        most = np.where(amount[:, None] > 0, np.minimum(most, room), most)
    devices = _devices(types, names)
    if devices is not None:
        share = each[:, devices.resource]
        room = devices.number[None, :] * (devices.size // np.maximum(share, 1))[:, None]
        shared = (share > 0) & (share < devices.size)
        most = np.where(shared[:, None], np.minimum(most, room), most)
    counts = np.array([kind.count for kind in types], dtype=np.int64)
    return PackedPlaces(
        names,
        frozen(has),
        frozen(np.array([kind.weight for kind in types], dtype=np.int64)),
        frozen(np.concatenate([[0], np.cumsum(counts)])),
        frozen(np.repeat(np.arange(len(types), dtype=np.int64), counts)),
        frozen(shape),
        frozen(np.array([mine.chunks for mine in index], dtype=np.int64)),
        frozen(each),
        frozen(per_node),
        frozen(np.array([mine.least_nodes for mine in index], dtype=np.int64)),
        frozen(np.array([mine.exclusive for mine in index], dtype=np.bool_)),
        frozen(may),
        frozen(most),
        devices,
    )


def _devices(types: tuple[NodeType, ...], names: Sequence[str]) -> PackedDevices | None:
    """Return the resource that is on devices, if there is one."""
    for resource, name in enumerate(names):
        if size := device_size(types, name):
            count = [dict(kind.devices).get(name, 0) for kind in types]
            return PackedDevices(resource, size, frozen(np.array(count, dtype=np.int64)))
    return None


def _table(names: Sequence[str], rows: Sequence[object]) -> IntArray:
    """Return amounts, shape (rows, names)."""
    amounts = [dict(row) for row in rows]  # type: ignore[call-overload]  # pairs
    table = np.array([[row.get(name, 0) for name in names] for row in amounts], dtype=np.int64)
    return table.reshape(len(rows), len(names))


def check_places(types: tuple[NodeType, ...], jobs: Jobs) -> None:
    """Refuse the first job that asks for what no node is or has, or does not fit the empty nodes."""
    kinds, things = [each.name for each in types], resource_names(types)
    for name, shape in zip(jobs.names, jobs.shapes, strict=False):
        for asked, there in ((shape.types, kinds), (dict(shape.each), things)):
            if unknown := next((each for each in asked if each not in there), None):
                raise InvalidProblem(f"job {name!r}: no node is or has {unknown!r}, only {', '.join(there)}")
    places = places_of(types, jobs)
    if places.devices is not None:
        size, shares = places.devices.size, places.each[:, places.devices.resource]
        for name, share in zip(jobs.names, shares[places.shape].tolist(), strict=True):
            if share > size and share % size:
                what = f"{share} {places.names[places.devices.resource]}"
                raise InvalidProblem(
                    f"job {name!r}: {what} are neither a part of a device of {size} nor whole ones"
                )
    counts = np.diff(places.first_node)
    room = (places.most.astype(object) * counts).sum(axis=1)
    nodes = np.where(places.most > 0, counts, 0).sum(axis=1)
    for name, at in zip(jobs.names, places.shape.tolist(), strict=True):
        chunks, least = places.chunks[at], places.least_nodes[at]
        if room[at] < chunks or nodes[at] < least:
            fits = f"nodes have room for {room[at]} of its {chunks} chunks, on {nodes[at]} nodes of {least}"
            raise InvalidProblem(f"job {name!r} is too large: empty {fits}")
