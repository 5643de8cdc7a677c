"""Nodes that are places at an instant: a table of who is on them, and what a view shows of it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from allocsolve.kernels import kernel
from allocsolve.kernels.node_choices import NOW, choose, see_room
from allocsolve.model import Jobs, frozen, packed_places
from allocsolve.model.arrays import read_only_view
from allocsolve.model.checks import choice as checked_choice, shown, whole
from allocsolve.model.packed_places import all_shapes, places_of
from allocsolve.model.places import shape_columns
from allocsolve.simulation.decisions import IllegalDecision
from allocsolve.simulation.node_choice import (
    NODE_CHOICES,
    NodeChoice,
    Pieces,
    choice_of,
    given_to_kernels,
    new_places,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from allocsolve.kernels.node_choices import Choice, Places
    from allocsolve.model import (
        IntArray,
        NodeType,
        PackedPlaces,
        Shape,
        WorkloadProblem,
        WorkloadSchedule,
    )
    from allocsolve.simulation.node_choice import Spots

#: Nodes of a job, and how many of its chunks are on each.
NodeChunks: TypeAlias = "Iterable[tuple[int, int]]"


@kernel
def _chosen(places: Places, choice: Choice, shape: int) -> int:
    """Choose nodes for a job that fits now, and write them first; return how many there are."""
    see_room(places, shape, NOW, NOW)
    return choose(places, choice, choice.rule, shape, 0)


def hold_spots(
    table: tuple[IntArray, IntArray], given: PackedPlaces, shape: int, spots: Spots, sign: int = 1
) -> None:
    """Write into a table, of what is free and of who is where, that a job holds chunks from now on.

    With the sign -1 it gives them back. O(nodes of the job x resources).
    """
    (free, occupants), (nodes, chunks) = table, spots
    alone = given.exclusive[shape]
    taken = given.has[given.type_of_node[nodes]] if alone else chunks[:, None] * given.each[shape]
    free[nodes] -= sign * taken
    occupants[nodes] -= sign if alone else -sign


class NodeTable:
    """Nodes that are places, and who is on them: a table that changes as jobs start and end.

    Parameters
    ----------
    given
        The nodes and the shapes of jobs, as `allocsolve.model.packed_places` returns them.
    choice
        On which nodes a job starts of which nobody says it.
    mix
        Shape (shapes,): how many jobs are of each shape, which ``fgd`` asks; those of `given` if left out.

    Examples
    --------
    >>> from allocsolve.model import Job, NodeType, WorkloadProblem, packed_places
    >>> from allocsolve.simulation import NodeTable
    >>> jobs = [Job(0, 1, 9, chunks=2, each={"cpus": 3}), Job(0, 1, 9, chunks=2, each={"cpus": 1})]
    >>> problem = WorkloadProblem(None, jobs, node_types=[NodeType("node", 3, {"cpus": 4})])
    >>> table = NodeTable(packed_places(problem), "best-fit")
    >>> table.start(0), table.room(1).tolist(), table.start(1)
    (((0, 1), (1, 1)), [1, 1, 2], ((0, 1), (1, 1)))
    >>> table.fits(0)
    False
    """

    def __init__(
        self, given: PackedPlaces, choice: NodeChoice = "first", mix: IntArray | None = None
    ) -> None:
        checked_choice("choice", choice, NODE_CHOICES)
        kernels = given_to_kernels(given)
        self.given = given
        self._places, self._choice = new_places(kernels), choice_of(kernels, choice, mix)
        #: Shape (nodes, resources), (nodes,): what is free, by the names of `given`; and how many jobs are on
        #: each node, -1 if one is there that is exclusive.
        self.free: IntArray = self._places.free[NOW][:, : len(given.names)]
        self.occupants: IntArray = self._places.occupants[NOW]
        self._spots: dict[int, Spots] = {}

    def room(self, job: int) -> IntArray:
        """Return for how many chunks of a job each node has room. Shape (nodes,)."""
        return room_of(self.given, int(self.given.shape[job]), self.free, self.occupants)

    def fits(self, job: int) -> bool:
        """Return whether a job fits now. O(nodes x resources)."""
        return not self._fault(job, self.room(job))

    def start(self, job: int, places: NodeChunks | None = None) -> tuple[tuple[int, int], ...]:
        """Let a job start on these nodes, or on those that the rule chooses; return its nodes and chunks.

        `IllegalDecision` if it does not fit, or not there; nothing is changed then.
        """
        room = self.room(job)
        if fault := self._fault(job, room):
            raise IllegalDecision(job, fault)
        spots = self._chosen(job) if places is None else self._told(job, places, room)
        self.hold(job, spots)
        return tuple(zip(*(column.tolist() for column in spots), strict=True))

    def hold(self, job: int, spots: Spots) -> None:
        """Let a job hold chunks that it has started with, whether or not there is room."""
        self._spots[job] = spots
        self._change(job, spots, 1)

    def end(self, job: int) -> None:
        """Let a job give back what it holds; where it was is remembered."""
        self._change(job, self._spots[job], -1)

    def undo(self, job: int) -> None:
        """Take back the start of a job."""
        self.end(job)
        del self._spots[job]

    def pieces(self, jobs: Iterable[int]) -> Pieces:
        """Return where jobs are, or were."""
        return Pieces.of([self._spots[job] for job in jobs])

    def _change(self, job: int, spots: Spots, sign: int) -> None:
        hold_spots((self.free, self.occupants), self.given, int(self.given.shape[job]), spots, sign)

    def _chosen(self, job: int) -> Spots:
        count = _chosen(self._places, self._choice, int(self.given.shape[job]))
        nodes, chunks = self._places.node[:count], self._places.chunks[:count]
        order = np.argsort(nodes)
        return frozen(nodes[order]), frozen(chunks[order])

    def _fault(self, job: int, room: IntArray) -> str:
        """Return why a job does not fit into room; empty if it does."""
        given, shape = self.given, self.given.shape[job]
        needed, least = int(given.chunks[shape]), int(given.least_nodes[shape])
        total, nodes = int(room.sum()), int((room > 0).sum())
        if total < needed:
            return f"does not fit what is free: room for {total} of its {needed} chunks"
        return (
            f"does not fit what is free: room on {nodes} nodes of at least {least}" if nodes < least else ""
        )

    def _told(self, job: int, places: NodeChunks, room: IntArray) -> Spots:
        """Return where somebody wants a job to start."""
        given, shape = self.given, self.given.shape[job]
        try:
            pairs = sorted((whole(node), whole(chunks)) for node, chunks in places)
        except (TypeError, ValueError):
            raise IllegalDecision(job, f"places {shown(places)} are no pairs of node and chunks") from None
        for at, (node, chunks) in enumerate(pairs):
            if not 0 <= node < len(room):
                raise IllegalDecision(job, f"node {node} is none of the {len(room)} nodes")
            if at and pairs[at - 1][0] == node:
                raise IllegalDecision(job, f"node {node} stands twice")
            if not 1 <= chunks <= room[node]:
                raise IllegalDecision(job, f"{chunks} chunks on node {node}, which has room for {room[node]}")
        total, needed = sum(chunks for _, chunks in pairs), int(given.chunks[shape])
        if total != needed:
            raise IllegalDecision(job, f"starts with {total} of its {needed} chunks")
        if len(pairs) < given.least_nodes[shape]:
            raise IllegalDecision(job, f"starts on {len(pairs)} nodes of at least {given.least_nodes[shape]}")
        return spots_of(pairs)


def spots_of(pairs: Sequence[tuple[int, int]]) -> Spots:
    """Return nodes, rising, and chunks as arrays."""
    rows = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return frozen(rows[:, 0].copy()), frozen(rows[:, 1].copy())


def room_of(given: PackedPlaces, shape: int, free: IntArray, occupants: IntArray) -> IntArray:
    """Return for how many chunks of a shape each node has room. O(nodes x resources)."""
    room: IntArray = given.most[shape][given.type_of_node]
    for resource in np.flatnonzero(given.each[shape]).tolist():
        room = np.minimum(room, free[:, resource] // given.each[shape, resource])
    taken = occupants != 0 if given.exclusive[shape] else occupants < 0
    return np.where(taken, 0, np.maximum(room, 0))


class Seats(NamedTuple):
    """Where jobs run that hold nodes now, as far as that can be."""

    #: Shape (seated,): those that have a place, by where they stand among the jobs, rising.
    jobs: IntArray
    places: tuple[tuple[tuple[int, int], ...], ...]
    #: How many of them are where a rule says, as nobody says where they are, or others are there.
    assumed: int


def seated(
    node_types: tuple[NodeType, ...],
    shapes: Sequence[Shape],
    told: Sequence[NodeChunks | None],
    choice: NodeChoice,
) -> Seats:
    """Return where running jobs are, which are given in the order of their starts.

    Those of which somebody says it are there, if there is room beside those before them; then the others
    start by the rule `choice`. Who has no room is left out.
    """
    nodes, ones = np.array([shape.least_nodes for shape in shapes], dtype=np.int64), np.ones(len(shapes))
    jobs = Jobs(ones, nodes, ones, **shape_columns(shapes))
    table, found = NodeTable(places_of(node_types, jobs), choice), {}
    for job, places in enumerate(told):
        if places is not None:
            with contextlib.suppress(IllegalDecision):
                found[job] = table.start(job, places)
    known = len(found)
    for job in range(len(told)):
        if job not in found:
            with contextlib.suppress(IllegalDecision):
                found[job] = table.start(job)
    seats = sorted(found.items())
    return Seats(
        np.array([job for job, _ in seats], dtype=np.int64),
        tuple(places for _, places in seats),
        len(found) - known,
    )


def spread_evenly(nodes: Sequence[int] | None, chunks: int) -> tuple[tuple[int, int], ...] | None:
    """Return the nodes of a job, with its chunks as evenly on them as can be; None if no node is known."""
    if not nodes:
        return None
    return tuple((node, chunks // len(nodes) + (at < chunks % len(nodes))) for at, node in enumerate(nodes))


class KnownPlaces:
    """The nodes of an engine where these are places, and what policies may know of them now.

    `choice` says where a job starts if the policy does not.
    """

    def __init__(self, problem: WorkloadProblem, choice: NodeChoice) -> None:
        given = packed_places(problem)
        self._types, self._choice = problem.node_types, choice
        self._mix = frozen(np.bincount(given.shape, minlength=len(given.chunks)))
        self._table = NodeTable(given, choice, self._mix)
        self._shapes = tuple(dict.fromkeys(all_shapes(problem.jobs)))
        self._shown = np.full(len(given.shape), -1)
        self._given = given._replace(shape=read_only_view(self._shown))
        #: Who has started since the last view.
        self._new: list[int] = []

    def view(self, ended: IntArray, submitted: IntArray, running: IntArray) -> PlacesView:
        """Return what policies see when some jobs have ended and some were submitted. O(nodes + pieces)."""
        for job in ended.tolist():
            self._table.end(job)
        self._shown[submitted] = self._table.given.shape[submitted]
        self._new = []
        return PlacesView(
            node_types=self._types,
            given=self._given,
            shapes=self._shapes,
            mix=self._mix,
            choice=self._choice,
            free=frozen(self._table.free.copy()),
            occupants=frozen(self._table.occupants.copy()),
            pieces=self._table.pieces(running.tolist()),
        )

    def start(self, job: int, places: NodeChunks | None) -> int:
        """Let a job start; return on how many nodes. `IllegalDecision` if it does not fit, or not there."""
        nodes = len(self._table.start(job, places))
        self._new.append(job)
        return nodes

    @property
    def num_new(self) -> int:
        """How many jobs have started since the last view."""
        return len(self._new)

    def undo(self, count: int) -> None:
        """Take back all starts since the last view but the first ones."""
        while len(self._new) > count:
            self._table.undo(self._new.pop())

    def placed(self, schedule: WorkloadSchedule) -> WorkloadSchedule:
        """Return a schedule of jobs that have at most one piece, with their nodes."""
        offsets, nodes, chunks = self._table.pieces(np.flatnonzero(np.diff(schedule.offsets)).tolist())
        return replace(schedule, place_offsets=offsets, place_nodes=nodes, place_chunks=chunks)


@dataclass(frozen=True, slots=True, eq=False)
class PlacesView:
    """What a view shows of nodes that are places: read-only, and exact."""

    node_types: tuple[NodeType, ...]
    #: The nodes and the shapes of jobs; a job that is not yet submitted has the shape -1.
    given: PackedPlaces = field(repr=False)
    #: The shapes, by the numbers in `given`, and how many jobs of the workload are of each.
    shapes: tuple[Shape, ...] = field(repr=False)
    mix: IntArray = field(repr=False)
    #: The rule that says on which nodes a job starts if the policy does not.
    choice: NodeChoice
    #: Shape (nodes, resources), (nodes,): what is free, by ``given.names``; and how many jobs are on each
    #: node, -1 if one is there that is exclusive.
    free: IntArray
    occupants: IntArray
    #: Where the running jobs are, in the order of `QueueView.running`.
    pieces: Pieces = field(repr=False)

    def room(self, job: int) -> IntArray:
        """Return for how many chunks of a job each node has room. Shape (nodes,)."""
        return room_of(self.given, int(self.given.shape[job]), self.free, self.occupants)

    def table(self) -> NodeTable:
        """Return a table of its own, in which a policy can try starts one after the other."""
        table = NodeTable(self.given, self.choice, self.mix)
        table.free[:], table.occupants[:] = self.free, self.occupants
        return table

    def snapshot(self, running: IntArray, queue: IntArray) -> dict[str, Any]:
        """Return the fields of a `QueueSnapshot` about nodes, of jobs that run and wait."""
        fields = [
            [self.shapes[kind].fields() for kind in self.given.shape[jobs]] for jobs in (running, queue)
        ]
        return {
            "node_types": self.node_types,
            "running_shapes": tuple(fields[0]),
            "shapes": tuple(fields[1]),
            "running_places": tuple(map(self.pieces.pairs, range(len(running)))),
        }

    @property
    def idle(self) -> int:
        """How many nodes nobody is on."""
        return int((self.occupants == 0).sum())
