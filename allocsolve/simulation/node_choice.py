"""On which nodes a job starts where nodes are places: the rules, and what kernels take of nodes and jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from allocsolve.errors import UnsupportedProblem
from allocsolve.kernels.heap import Entry
from allocsolve.kernels.node_choices import Choice, Numbers, Places, Shape
from allocsolve.kernels.records import record, records
from allocsolve.model import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import BoolArray, FloatArray, IntArray, PackedPlaces
    from allocsolve.model.closed_nodes import ClosedNodes

#: On which nodes a job starts, where nodes are places; on a machine of equal nodes that are counted it
#: changes nothing.
#:
#: All rules take nodes with room of the least weight first, and of those with equal keys the first by id. A
#: key is worked out from what is free before the job starts; of a node let f be what is free of a resource, h
#: what it has, e what a chunk of the job takes, and l what the largest node of the machine has. Keys that
#: differ by less than 1e-9 are equal.
#:
#: ``first``: by id. ``best-fit``: least sum of (f - e) / l over the resources, as the baseline of FGD.
#: ``slurm``: Slurm's default (``_eval_nodes_consec``): of the runs of nodes with room that have consecutive
#: ids and one weight, the first that is enough and has the fewest free processors; else all of the run with
#: most of them, and so on. Where one more node is enough, it is that of the run with the fewest free
#: processors. Memory and GPUs are not compared. ``least-loaded``: largest f / h of processors (``CR_LLN``).
#: ``most-allocated``: largest mean of (h - f + e) / h over processors and memory (Kubernetes'
#: ``MostAllocated``, not cut to whole numbers). ``dot``: least sum of f e / l^2 over the resources, as the
#: baseline of FGD. ``fgd``: least growth of the expected fragments of GPUs (Weng et al., USENIX ATC 2023):
#: the free GPUs of a node count with the share of the typical jobs that do not fit there. Typical are the
#: commonest pairs of what a chunk takes and the types it may use that make up 95 % of the jobs.
#: ``fgd-scores``: the same as the artefact has it: typical jobs that ask for no GPU count all that is free as
#: a fragment, and the score is the whole part of 100 / (1 + exp(growth)), the largest first, so that many
#: nodes are equal.
#:
#: Processors are ``cpus``, memory is ``mem`` and GPUs are ``gpus``; where no node has such a resource, they
#: are the first, none, and the last resource.
NodeChoice: TypeAlias = Literal[
    "first", "best-fit", "slurm", "least-loaded", "most-allocated", "dot", "fgd", "fgd-scores"
]

#: All choices, the default first.
NODE_CHOICES: tuple[NodeChoice, ...] = get_args(NodeChoice)

#: The share of the jobs that typical ones make up, and the largest sum of rooms, in chunks.
_TYPICAL: Final = 0.95
_MOST_ROOM: Final = 2**62


class Pieces(NamedTuple):
    """Where jobs are on nodes that are places, one job after the other."""

    #: Shape (jobs + 1,): job ``j`` has the rows ``offsets[j]:offsets[j + 1]``.
    offsets: IntArray
    #: Shape (pieces,): a node, by id within a job, and how many chunks are on it.
    nodes: IntArray
    chunks: IntArray

    @classmethod
    def of(cls, spots: Sequence[Spots]) -> Pieces:
        """Return those of jobs whose nodes and chunks are given."""
        lengths = [len(nodes) for nodes, _ in spots]
        nodes = np.concatenate([NO_PLACE, *(nodes for nodes, _ in spots)])
        chunks = np.concatenate([NO_PLACE, *(chunks for _, chunks in spots)])
        return cls(frozen(np.cumsum([0, *lengths])), frozen(nodes), frozen(chunks))

    def spots(self, job: int) -> Spots:
        """Return where a job is."""
        at = slice(self.offsets[job], self.offsets[job + 1])
        return self.nodes[at], self.chunks[at]

    def pairs(self, job: int) -> tuple[tuple[int, int], ...]:
        """Return the nodes of a job, and how many chunks are on each."""
        nodes, chunks = self.spots(job)
        return tuple(zip(nodes.tolist(), chunks.tolist(), strict=True))


#: Nodes of a job by id, and how many chunks are on each.
Spots: TypeAlias = "tuple[IntArray, IntArray]"
NO_PLACE: Final = frozen(np.empty(0, dtype=np.int64))


def given_to_kernels(given: PackedPlaces) -> PackedPlaces:
    """Return places as kernels take them: there is a resource, if only one of which there is nothing.

    `UnsupportedProblem` if a job has so many chunks that room for them cannot be counted.
    """
    if given.chunks.max(initial=0) > _MOST_ROOM // len(given.type_of_node):
        raise UnsupportedProblem(f"a job has {given.chunks.max()} chunks: room for them cannot be counted")
    if given.names:
        return given
    has, each = (np.zeros((len(rows), 1), dtype=np.int64) for rows in (given.has, given.each))
    return given._replace(names=("",), has=has, each=each)


def new_places(given: PackedPlaces, planned: int = 0, closed: ClosedNodes | None = None) -> Places:
    """Return nodes on which nobody is, for kernels, with room for so many reservations; none: for one."""
    nodes, num_jobs = len(given.type_of_node), len(given.shape)
    weight = given.weight[given.type_of_node]
    by_weight = np.argsort(weight, kind="stable")
    levels = np.flatnonzero(np.diff(weight[by_weight], prepend=-1, append=-1))
    level = np.empty(nodes, dtype=np.int64)
    level[by_weight] = np.repeat(np.arange(len(levels) - 1), np.diff(levels))
    # At most one piece for each chunk, and on each node; untouched pages cost nothing.
    most = int(np.minimum(given.chunks, nodes)[given.shape].sum())
    numbers = record(Numbers)
    numbers["used"] = 2 * min(most, planned * nodes)  # before that, reservations are tried in two halves
    most += int(numbers["used"]) + nodes
    shapes = records(
        Shape,
        len(given.chunks),
        chunks=given.chunks,
        least_nodes=given.least_nodes,
        exclusive=given.exclusive,
    )
    return Places(
        *(given.has, given.type_of_node, given.each, given.most, given.shape),
        by_weight=frozen(by_weight),
        levels=frozen(levels),
        level=frozen(level),
        shapes=shapes,
        numbers=numbers,
        waiting=np.zeros(len(given.chunks), dtype=np.int64),
        free=np.tile(given.has[given.type_of_node], (3 if planned else 2, 1, 1)),
        occupants=np.zeros((3 if planned else 2, nodes), dtype=np.int64),
        room=np.zeros(nodes, dtype=np.int64),
        heap=records(Entry, nodes),
        heap_places=np.zeros(0, dtype=np.int64),
        first=np.zeros(num_jobs, dtype=np.int64),
        pieces=np.zeros(num_jobs, dtype=np.int64),
        node=np.empty(most, dtype=np.int64),
        chunks=np.empty(most, dtype=np.int64),
        closed=closed,
    )


def choice_of(given: PackedPlaces, choice: NodeChoice, mix: IntArray | None = None) -> Choice:
    """Return a rule of choice for kernels; how many jobs are of each shape `mix` says, or else `given`."""
    jobs = np.bincount(given.shape, minlength=len(given.chunks)) if mix is None else mix
    place = {name: idx for idx, name in enumerate(given.names)}
    return Choice(
        NODE_CHOICES.index(choice),
        place.get("cpus", 0),
        place.get("mem", -1),
        place.get("gpus", len(place) - 1),
        frozen(given.has.max(axis=0).astype(np.float64)),
        *_typical(given, jobs if choice.startswith("fgd") else jobs[:0]),
    )


def _typical(given: PackedPlaces, jobs: IntArray) -> tuple[IntArray, BoolArray, FloatArray]:
    """Return what typical jobs take, where they may run, and their shares; the commonest first.

    `jobs`, shape (shapes,), says how many are of each shape; empty if no rule asks.

    Of equally many, those come first that take less of the first resource in which they differ; then those
    that may run anywhere; then those that may not run on the last type of node in which they differ.
    """
    resources, types = len(given.names), len(given.has)
    if not len(jobs):
        none = np.empty((0, resources), dtype=np.int64), np.empty((0, types), dtype=np.bool_), np.empty(0)
        return frozen(none[0]), frozen(none[1]), frozen(none[2])
    rows = np.column_stack([given.each, ~given.allowed.all(axis=1), given.allowed[:, ::-1]])[: len(jobs)]
    kinds, kind = np.unique(rows, axis=0, return_inverse=True)
    counts = np.bincount(kind.reshape(-1), weights=jobs, minlength=len(kinds))
    order = np.argsort(-counts, kind="stable")
    order = order[: np.searchsorted(np.cumsum(counts[order]), _TYPICAL * counts.sum()) + 1]
    each, allowed = kinds[order, :resources], kinds[order, :resources:-1].astype(np.bool_)
    share = counts[order] / max(counts[order].sum(), 1)
    return frozen(np.ascontiguousarray(each)), frozen(np.ascontiguousarray(allowed)), frozen(share)


def pieces_of(places: Places) -> Pieces:
    """Return where jobs have run."""
    offsets = np.zeros(len(places.pieces) + 1, dtype=np.int64)
    np.cumsum(places.pieces, out=offsets[1:])
    job = np.repeat(np.arange(len(places.pieces)), places.pieces)
    rows = np.arange(offsets[-1]) - offsets[job] + places.first[job]
    rows = rows[np.lexsort((places.node[rows], job))]
    return Pieces(frozen(offsets), frozen(places.node[rows]), frozen(places.chunks[rows]))
