"""Nodes as places: types of nodes, of which each has its own amounts, and jobs that are made of chunks.

A chunk lies on one node and takes the same amounts there as every other chunk of its job. So whether a job
fits is a sum over the nodes, and does not depend on the rule by which nodes are chosen. What would change
that has no place here: several kinds of chunk in one job, parts of a device, sockets, switches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.model.arrays import MAX_INTEGER, IntArray, frozen
from allocsolve.model.checks import flag, in_range, instance, integer, items, shown
from allocsolve.model.keyed import Keyed
from allocsolve.model.machine import NODES, checked_amounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from allocsolve.model.arrays import BoolArray
    from allocsolve.model.machine import Amounts

#: The most nodes that are places: what is free on each is kept.
MAX_PLACES: Final = 2**20


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
        What there is on each, by name: whole numbers, in units that are small enough. ``cpus`` are what rules
        that look at processors look at.
    weight
        Node rules take nodes of the least weight first, >= 0.
    names
        Of the nodes, for people: one for each, or none.

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

    def __post_init__(self) -> None:
        if not instance("node type: the name", self.name, str) or "|" in self.name:
            raise InvalidProblem(f"node type: the name {shown(self.name)} is not a text without |")
        place = f"node type {self.name!r}"
        count = in_range(f"{place}: count", integer(f"{place}: count", self.count), 1, MAX_PLACES)
        weight = in_range(f"{place}: weight", integer(f"{place}: weight", self.weight), 0)
        has = checked_amounts(place, self.has, low=0)
        names = items(f"{place}: names", self.names)
        for name in names:
            instance(f"{place}: name", name, str)
        if len(set(names)) not in {0, count} or len(names) not in {0, count}:
            raise InvalidProblem(f"{place}: {len(set(names))} different names for {count} nodes")
        for name in names:
            if not (name.isprintable() and name) or {*name} & {*" ,[]"}:
                raise InvalidProblem(f"{place}: {shown(name)} is no name of a node")
        object.__setattr__(self, "count", count)
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "has", tuple(pair for pair in has if pair[1]))
        object.__setattr__(self, "names", names)


def checked_types(given: object, resources: Amounts) -> tuple[NodeType, ...]:
    """Return the types of the nodes of a machine that has these counted resources besides.

    `InvalidProblem` if names stand twice, or there is more than can be counted.
    """
    types: tuple[NodeType, ...] = items("node_types", given)  # type: ignore[arg-type]  # whatever it is
    seen: set[str] = set()
    nodes: set[str] = set()
    taken = {NODES, *(name for name, _ in resources)}
    totals: dict[str, int] = {}
    for idx, each in enumerate(types):
        instance(f"node_types[{idx}]", each, NodeType)
        if each.name in seen:
            raise InvalidProblem(f"node type {each.name!r} stands twice")
        seen.add(each.name)
        for name in each.names:
            if name in nodes:
                raise InvalidProblem(f"node type {each.name!r}: the node {name!r} stands twice")
            nodes.add(name)
        for name, amount in dict(each.has).items():
            if name in taken:
                raise InvalidProblem(f"node type {each.name!r}: the name {name!r} of a resource is taken")
            totals[name] = totals.get(name, 0) + amount * each.count
    for name, total in totals.items():
        in_range(f"node_types: {name} of all nodes together,", total, 0, MAX_INTEGER)
    in_range("node_types: the number of all nodes", num_places(types), 0, MAX_PLACES)
    return types


def num_places(types: Sequence[NodeType]) -> int:
    """Return how many nodes there are of all types."""
    return sum(each.count for each in types)


def resource_names(types: Iterable[NodeType]) -> tuple[str, ...]:
    """Return what nodes have: ``cpus``, ``mem`` and ``gpus`` first, the others by name."""
    names = {name for each in types for name in dict(each.has)}
    first = [name for name in ("cpus", "mem", "gpus") if name in names]
    return (*first, *sorted(names - {*first}))


class Chunks(Keyed):
    """What jobs hold on nodes that are places: columns, each empty if no job says anything; immutable.

    `names` are those of the jobs, for messages, `nodes`, shape (jobs,), the numbers of nodes that they say,
    and the others are columns as `allocsolve.model.Jobs` takes them, or None. A job without chunks holds
    whole nodes: `Job.nodes` of them. One that says so in chunks (exclusive, one on a node, nothing of a
    resource) is equal to it.
    """

    __slots__ = ("count", "each", "exclusive", "per_node", "types")

    #: Shape (jobs,): how many chunks; 0: whole nodes.
    count: IntArray
    #: Shape (jobs,): the most on a node, <= the number of chunks; 0 where that is 0.
    per_node: IntArray
    #: Shape (jobs,): whether it shares its nodes with nobody; false for whole nodes.
    exclusive: BoolArray
    #: What a chunk takes.
    each: tuple[Amounts, ...]
    #: Names of the types of nodes that it may use, in order; empty: any.
    types: tuple[tuple[str, ...], ...]

    def __init__(
        self,
        names: Sequence[str],
        nodes: IntArray,
        *,
        chunks: Iterable[int | None] | None,
        each: Iterable[Mapping[str, int] | Amounts | None] | None,
        per_node: Iterable[int | None] | None,
        exclusive: Iterable[bool] | None,
        types: Iterable[Iterable[str] | None] | None,
    ) -> None:
        self.count = self.per_node = _NOBODY
        self.exclusive, self.each, self.types = _NEVER, (), ()
        given = {"chunks": chunks, "each": each, "per_node": per_node, "exclusive": exclusive, "types": types}
        columns = {what: () if column is None else items(what, column) for what, column in given.items()}
        for what, column in columns.items():
            if column and len(column) != len(names):
                raise InvalidProblem(f"{len(column)} {what} for {len(names)} jobs")
        if not any(
            value is not None and value is not False for column in columns.values() for value in column
        ):
            return
        rows = [
            self._row(
                f"job {name!r}",
                int(least),
                **{what: column[idx] if column else None for what, column in columns.items()},
            )
            for idx, (name, least) in enumerate(zip(names, nodes.tolist(), strict=False))
        ]
        counts, most, alone, amounts, allowed = zip(*rows, strict=True)
        if any(counts):
            self.count = frozen(np.array(counts, dtype=np.int64))
            self.per_node = frozen(np.array(most, dtype=np.int64))
            self.exclusive = frozen(np.array(alone, dtype=np.bool_))
            self.each = amounts
        if any(allowed):
            self.types = allowed

    @staticmethod
    def _row(
        place: str,
        nodes: int,
        *,
        chunks: Any,  # noqa: ANN401 - whatever it is
        each: Any,  # noqa: ANN401
        per_node: Any,  # noqa: ANN401
        exclusive: Any,  # noqa: ANN401
        types: Any,  # noqa: ANN401
    ) -> tuple[int, int, bool, Amounts, tuple[str, ...]]:
        """Return the columns of one job."""
        allowed: tuple[str, ...] = ()
        if types is not None:
            listed = items(f"{place}: types", (types,) if isinstance(types, str) else types)
            allowed = tuple(sorted({instance(f"{place}: type", name, str) for name in listed}))
            if not allowed:
                raise InvalidProblem(f"{place}: types is empty, so that no node is allowed")
        alone = exclusive is not None and flag(f"{place}: exclusive", exclusive, InvalidProblem)
        if chunks is None:
            for what, value in (("each", each), ("per_node", per_node)):
                if value is not None:
                    raise InvalidProblem(f"{place} has {what}, but no chunks")
            return 0, 0, False, (), allowed  # whole nodes are exclusive
        if isinstance(chunks, list | tuple | dict):
            raise InvalidProblem(
                f"{place}: chunks {shown(chunks)}: jobs of several kinds of chunk are not modelled"
            )
        number = in_range(f"{place}: chunks", integer(f"{place}: chunks", chunks), 1)
        most = number
        if per_node is not None:
            most = min(number, in_range(f"{place}: per_node", integer(f"{place}: per_node", per_node), 1))
        if nodes > number:
            raise InvalidProblem(f"{place}: {nodes} nodes for {number} chunks")
        amounts = _chunk_amounts(place, each)
        if alone and not amounts and most == 1:
            return 0, 0, False, (), allowed
        return number, most, alone, amounts, allowed

    def __bool__(self) -> bool:
        return bool(len(self.count) or self.types)

    def _key(self) -> tuple[object, ...]:
        arrays = (self.count, self.per_node, self.exclusive)
        return *(array.tobytes() for array in arrays), self.each, self.types

    def least_nodes(self, nodes: IntArray, chunks: Iterable[int | None] | None) -> IntArray:
        """Return the fewest nodes of each job that says `nodes`: more where its chunks need more.

        `chunks` are what jobs say, those that hold whole nodes included. Shape (jobs,).
        """
        if chunks is None:
            return nodes
        least = nodes.copy()
        if len(self.count):
            listed = np.flatnonzero(self.count)
            least[listed] = np.maximum(nodes[listed], -(-self.count[listed] // self.per_node[listed]))
        for idx, number in enumerate(chunks):
            if number is not None and not (len(self.count) and self.count[idx]):
                least[idx] = int(number)  # one chunk on each node
        return frozen(least)

    def of_job(self, idx: int) -> dict[str, Any]:
        """Return the fields of one job that differ from those of one that holds any whole nodes."""
        fields: dict[str, Any] = {}
        if len(self.count) and self.count[idx]:
            number, most = int(self.count[idx]), int(self.per_node[idx])
            fields["chunks"] = number
            if self.each[idx]:
                fields["each"] = dict(self.each[idx])
            if most < number:
                fields["per_node"] = most
            if self.exclusive[idx]:
                fields["exclusive"] = True
        if self.types and self.types[idx]:
            fields["types"] = list(self.types[idx])
        return fields

    def columns(self) -> dict[str, Any]:
        """Return the columns as `allocsolve.model.Jobs` takes them."""
        there = self.count.tolist()
        return {
            "chunks": [number or None for number in there] if there else None,
            "each": [mine if number else None for mine, number in zip(self.each, there, strict=True)]
            if there
            else None,
            "per_node": [number or None for number in self.per_node.tolist()] if there else None,
            "exclusive": self.exclusive.tolist() if there else None,
            "types": [mine or None for mine in self.types] if self.types else None,
        }

    def check(self, names: Sequence[str], types: Sequence[NodeType]) -> None:
        """Refuse jobs that ask for what no node is or has."""
        if not self:
            return
        if not types:
            idx = next(idx for idx in range(len(names)) if self.of_job(idx))
            (what, *_) = self.of_job(idx)
            raise InvalidProblem(f"job {names[idx]!r} has {what}, but the workload has no node_types")
        kinds, things = [each.name for each in types], resource_names(types)
        for idx, name in enumerate(names):
            for kind in self.types[idx] if self.types else ():
                if kind not in kinds:
                    raise InvalidProblem(
                        f"job {name!r}: no node has the type {kind!r}, only {', '.join(kinds)}"
                    )
            for thing, _ in self.each[idx] if self.each else ():
                if thing not in things:
                    known = f"only {', '.join(things)}" if things else "nor any other"
                    raise InvalidProblem(f"job {name!r}: no node has {thing!r}, {known}")


_NOBODY: Final[IntArray] = frozen(np.empty(0, dtype=np.int64))
_NEVER: Final[BoolArray] = frozen(np.empty(0, dtype=np.bool_))


def _chunk_amounts(place: str, each: object) -> Amounts:
    """Return what a chunk takes, without zeros."""
    if each is None:
        return ()
    if isinstance(each, dict):
        for name, amount in each.items():
            if isinstance(amount, float) and not amount.is_integer():
                msg = (
                    f"{place}: each: {name} {shown(amount)} is not whole: parts of a device are not modelled"
                )
                raise InvalidProblem(msg)
    return tuple(pair for pair in checked_amounts(f"{place}: each", each, low=0) if pair[1])
