"""Nodes as places: types of nodes, of which each has its own amounts, and jobs that are made of chunks.

A chunk lies on one node and takes the same amounts there as every other chunk of its job. So whether a job
fits is a sum over the nodes, and does not depend on the rule by which nodes are chosen. What would change
that has no place here: several kinds of chunk in one job, sockets, switches.

One resource may be divided into equal devices: a chunk that takes less than a device has it on one of them,
and any other takes whole devices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from allocsolve.errors import InvalidProblem, UnsupportedProblem
from allocsolve.model.checks import flag, in_range, instance, integer, items, shown
from allocsolve.model.machine import NODES, checked_amounts
from allocsolve.model.plain_only import NO_DEVICES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from allocsolve.model.arrays import IntArray
    from allocsolve.model.machine import Amounts

#: The most nodes that are places, and the most devices on one: what is free on each is kept.
MAX_PLACES: Final = 2**20
MAX_DEVICES: Final = 2**10


@dataclass(frozen=True, slots=True)
class NodeType:
    """Equal nodes of a machine whose nodes are places.

    Parameters
    ----------
    name
        Distinct.
    count
        How many nodes there are, >= 1.
    has
        What there is on each, by name: whole numbers. Rules that look at processors look at ``cpus``.
    weight
        Nodes of the least weight are taken first, >= 0.
    names
        Hostlists of the nodes, such as ``n[001-360]``, for people and readers of logs.
    devices
        Into how many equal devices what there is on each node is divided, by name: with 8,000 thousandths of
        GPUs on 8 devices, a chunk that takes 500 needs a device with so much left, one that takes 2,000 two
        devices that nobody uses, and none takes 1,500. One resource at most, whose devices are equal on all
        types.

    Examples
    --------
    >>> NodeType("gpu", 40, {"cpus": 128, "gpus": 4}, weight=10).has
    (('cpus', 128), ('gpus', 4))
    """

    name: str
    count: int
    has: Amounts | Mapping[str, int]
    weight: int = 0
    names: tuple[str, ...] = ()
    devices: Amounts | Mapping[str, int] = ()

    def __post_init__(self) -> None:
        if not instance("node type: the name", self.name, str) or "|" in self.name:
            raise InvalidProblem(f"node type: the name {shown(self.name)} is not a text without |")
        place = f"node type {self.name!r}"
        fields = {
            "count": in_range(f"{place}: count", integer(f"{place}: count", self.count), 1, MAX_PLACES),
            "weight": in_range(f"{place}: weight", integer(f"{place}: weight", self.weight), 0),
            "has": tuple(pair for pair in checked_amounts(place, self.has, low=0) if pair[1]),
            "names": tuple(instance(f"{place}: names", name, str) for name in items("names", self.names)),
            "devices": checked_amounts(f"{place}: devices", self.devices),
        }
        for what, value in fields.items():
            object.__setattr__(self, what, value)
        has = dict(self.has)
        for name, count in dict(self.devices).items():
            if name not in has or has[name] % count:
                there = has.get(name, 0)
                raise InvalidProblem(f"{place}: {there} {name} are not so much on each of {count} devices")


def checked_types(given: object, resources: Mapping[str, int]) -> tuple[NodeType, ...]:
    """Return the types of the nodes of a machine that has these counted resources besides.

    `InvalidProblem` if names stand twice, or there is more than can be counted.
    """
    types: tuple[NodeType, ...] = items("node_types", given)  # type: ignore[arg-type]  # whatever it is
    for idx, each in enumerate(types):
        instance(f"node_types[{idx}]", each, NodeType)
        if each.name in {other.name for other in types[:idx]}:
            raise InvalidProblem(f"node type {each.name!r} stands twice")
    for name in resource_names(types):
        if name == NODES or name in resources:
            raise InvalidProblem(f"node_types: the name {name!r} of a resource is taken")
        total = sum(dict(each.has).get(name, 0) * each.count for each in types)
        in_range(f"node_types: {name} of all nodes together,", total, 0)
    in_range("node_types: the number of all nodes", num_places(types), 0, MAX_PLACES)
    _check_devices(types)
    return types


def _check_devices(types: tuple[NodeType, ...]) -> None:
    """Refuse more than one resource on devices, and devices that differ."""
    divided = sorted({name for each in types for name in dict(each.devices)})
    if len(divided) > 1:
        raise InvalidProblem(f"node_types: devices of {' and '.join(divided)}, not of one resource")
    for name in divided:
        for each in types:
            amount, count = dict(each.has).get(name, 0), dict(each.devices).get(name, 0)
            size = device_size(types, name)
            if amount != size * count:
                raise InvalidProblem(
                    f"node type {each.name!r}: {amount} {name} are not devices of {size}, as others are"
                )
            in_range(f"node type {each.name!r}: devices of {name}", count, 0, MAX_DEVICES)


def refuse_devices(there: object) -> None:
    """Raise `UnsupportedProblem` if there is anything on devices: who asks does not know them."""
    if there:
        raise UnsupportedProblem(NO_DEVICES)


def max_devices(types: Iterable[NodeType]) -> int:
    """Return the largest number of devices of a node; 0 if nothing is on devices."""
    return max((count for each in types for count in dict(each.devices).values()), default=0)


def device_size(types: Iterable[NodeType], name: str) -> int:
    """Return how much of a resource a device has; 0 if it is not on devices."""
    sizes = (dict(each.has)[name] // dict(each.devices)[name] for each in types if name in dict(each.devices))
    return next(sizes, 0)


def num_places(types: Iterable[NodeType]) -> int:
    """Return how many nodes there are of all types."""
    return sum(each.count for each in types)


def resource_names(types: Iterable[NodeType]) -> tuple[str, ...]:
    """Return what nodes have: ``cpus``, ``mem`` and ``gpus`` first, the others by name."""
    names = {name for each in types for name in dict(each.has)}
    first = [name for name in ("cpus", "mem", "gpus") if name in names]
    return (*first, *sorted(names - {*first}))


class Shape(NamedTuple):
    """What a job holds on nodes that are places, wherever it lies; complete.

    One that holds whole nodes has as many chunks, one on a node, that take nothing, and is exclusive: whoever
    says so in chunks means the same.
    """

    chunks: int
    #: What a chunk takes, without zeros.
    each: Amounts
    #: The most chunks on a node, in 1..chunks.
    per_node: int
    #: In ``ceil(chunks / per_node)..chunks``.
    least_nodes: int
    #: Whether it shares its nodes with nobody.
    exclusive: bool
    #: Names of the types of nodes that it may use, in order; empty: any.
    types: tuple[str, ...]

    @classmethod
    def whole(cls, nodes: int, types: tuple[str, ...] = ()) -> Shape:
        """Return that of a job that holds whole nodes."""
        return cls(nodes, (), 1, nodes, exclusive=True, types=types)

    @property
    def is_whole(self) -> bool:
        """Whether the job holds whole nodes."""
        return self.exclusive and self.per_node == 1 and not self.each

    def fields(self) -> dict[str, Any]:
        """Return the fields of `Job` that differ from those of a job that holds any whole nodes."""
        fields: dict[str, Any] = {}
        if not self.is_whole:
            fields["chunks"] = self.chunks
            if self.each:
                fields["each"] = dict(self.each)
            if self.per_node < self.chunks:
                fields["per_node"] = self.per_node
            if self.exclusive:
                fields["exclusive"] = True
        if self.types:
            fields["types"] = list(self.types)
        return fields


#: The fields of `Job` that say its shape, and columns of `Jobs`.
SHAPE_FIELDS: Final = ("chunks", "each", "per_node", "exclusive", "types")


def given_shapes(
    names: Sequence[str], nodes: IntArray, columns: Mapping[str, Iterable[Any] | None]
) -> tuple[Shape, ...]:
    """Return the shapes of jobs by the columns of `SHAPE_FIELDS`; none if no job says anything there.

    `nodes`, shape (jobs,), are the fewest that jobs say, or all that they hold.
    """
    given = {what: items(what, column) for what, column in columns.items() if column is not None}
    silent = {what: False if what == "exclusive" else None for what in given}
    if all(column.count(silent[what]) == len(column) for what, column in given.items()):
        return ()
    for what, column in given.items():
        if len(column) != len(names):
            raise InvalidProblem(f"{len(column)} {what} for {len(names)} jobs")
    known: dict[Shape, Shape] = {}
    shapes = []
    for idx, (name, fewest) in enumerate(zip(names, nodes.tolist(), strict=False)):
        fields = {what: column[idx] for what, column in given.items() if column[idx] is not None}
        shape = _shape(f"job {name!r}", fewest, **fields)
        shapes.append(known.setdefault(shape, shape))
    return tuple(shapes)


def _shape(
    place: str,
    nodes: int,
    *,
    chunks: Any = None,  # noqa: ANN401 - whatever it is
    each: Any = (),  # noqa: ANN401
    per_node: Any = None,  # noqa: ANN401
    exclusive: Any = False,  # noqa: ANN401
    types: Any = None,  # noqa: ANN401
) -> Shape:
    """Return the shape of a job; messages begin with `place`."""
    allowed = tuple(sorted({instance(f"{place}: type", name, str) for name in types or ()}))
    if types is not None and not allowed:
        raise InvalidProblem(f"{place}: types is empty, so that no node is allowed")
    alone = flag(f"{place}: exclusive", exclusive, InvalidProblem)
    if chunks is None:
        if each or per_node is not None:
            raise InvalidProblem(f"{place} has each or per_node, but no chunks")
        return Shape.whole(nodes, allowed)
    if isinstance(chunks, list | tuple | dict):
        raise InvalidProblem(f"{place}: chunks {shown(chunks)}: several kinds of chunk are not modelled")
    number = in_range(f"{place}: chunks", integer(f"{place}: chunks", chunks), 1)
    most = number if per_node is None else integer(f"{place}: per_node", per_node)
    most = min(number, in_range(f"{place}: per_node", most, 1))
    if nodes > number:
        raise InvalidProblem(f"{place}: {nodes} nodes for {number} chunks")
    amounts = checked_amounts(f"{place}: each (parts of a device are thousandths, say)", each, low=0)
    least = max(nodes, -(-number // most))
    return Shape(number, tuple(pair for pair in amounts if pair[1]), most, least, alone, allowed)


def shape_columns(shapes: Sequence[Shape]) -> dict[str, Any]:
    """Return the columns of `SHAPE_FIELDS` as `Jobs` takes them."""
    rows = [shape.fields() for shape in shapes]
    return {what: [row.get(what) for row in rows] if rows else None for what in SHAPE_FIELDS}
