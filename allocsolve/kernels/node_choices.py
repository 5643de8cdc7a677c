"""On which nodes a job goes, for kernels: the places that nodes are, and the rules that choose among them.

All rules take nodes of the least weight first, and of equal ones the first by id; see
`allocsolve.simulation.node_choice.NodeChoice` for what each one looks at. A node that is taken gets as
many chunks as it has room for, less what the fewest nodes of the job demand of those to come.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.kernels import inner_kernel
from allocsolve.kernels.closed_nodes import is_closed
from allocsolve.kernels.heap import BY_ITEM, Entry, lower, raise_up
from allocsolve.kernels.records import Record

if TYPE_CHECKING:
    from allocsolve.kernels.records import Records
    from allocsolve.model.arrays import BoolArray, IntArray
    from allocsolve.model.closed_nodes import ClosedNodes
    from allocsolve.model.columns import FloatArray

#: Codes of the rules, in the order of `allocsolve.simulation.node_choice.NODE_CHOICES`. `LATE` is for
#: plans: it takes the nodes on which least of a job fits now, whatever their weights.
FIRST: Final = 0
BEST_FIT: Final = 1
SLURM_RUNS: Final = 2
LEAST_LOADED: Final = 3
MOST_ALLOCATED: Final = 4
DOT: Final = 5
FGD: Final = 6
FGD_SCORES: Final = 7
LATE: Final = 8

#: Of `Places.free` and `Places.occupants`: now; at the shadow time of the head, beside its plan, or at the
#: instant that is looked at; and after that.
NOW: Final = 0
LATER: Final = 1
AHEAD: Final = 2

#: Sums of shares are not exact: keys that are equal when multiplied by this and rounded are equal.
_EQUAL: Final = 1e9


class Shape(Record):
    """What jobs of a shape hold, and how much room there is for one now if there are any in the queue."""

    #: Given, see `allocsolve.model.PackedPlaces`.
    chunks: int
    least_nodes: int
    exclusive: int
    #: How many of the queue are of it, and its place in `Places.waiting`.
    queued: int
    at: int
    #: For how many chunks there is room now, and on how many nodes.
    room: int
    nodes: int
    #: The last plan beside which such a job did not fit.
    failed: int


class Numbers(Record):
    """The single numbers of `Places`."""

    #: Number of shapes in the queue.
    waiting: int
    #: Number of pieces that are written.
    used: int
    #: Number of nodes of the plan of the head, and of all plans so far.
    planned: int
    plans: int
    #: The time (s) of the call.
    now: float


class Places(NamedTuple):
    """Nodes, shapes of jobs, who is where, and what is left."""

    #: Shape (types, resources), (nodes,), (shapes, resources), (shapes, types) and (jobs,): given, see
    #: `allocsolve.model.PackedPlaces`; read-only. There is one resource at least.
    has: IntArray
    type_of_node: IntArray
    each: IntArray
    most: IntArray
    shape: IntArray
    #: Shape (nodes,): nodes by (weight, id); those of the l-th least weight are the places
    #: ``levels[l]:levels[l + 1]`` of it, and `level` is that of each node; read-only.
    by_weight: IntArray
    levels: IntArray
    level: IntArray
    shapes: Records[Shape]
    numbers: Numbers
    #: Shape (shapes,): those in the queue come first.
    waiting: IntArray
    #: Shape (3, nodes, resources) and (3, nodes): what is free, and how many jobs are on each node, -1 if one
    #: is there that is exclusive; `NOW`, `LATER` and `AHEAD`, the last one only for plans of several jobs.
    free: IntArray
    occupants: IntArray
    #: Shape (nodes,): the room for chunks of the job that is looked at.
    room: IntArray
    #: Shape (nodes,): candidates by (key, id), and where they stand on the heap: empty, as nobody asks.
    heap: Records[Entry]
    heap_places: IntArray
    #: Shape (jobs,): the pieces of a job that has started are ``first:first + pieces``.
    first: IntArray
    pieces: IntArray
    #: Shape (pieces + nodes,): a node, and how many chunks are on it; what is planned comes last.
    node: IntArray
    chunks: IntArray
    #: None if no node is closed for a time.
    closed: ClosedNodes | None


class Choice(NamedTuple):
    """A rule, and what it looks at; read-only."""

    rule: int
    #: The resources that are processors, memory (-1 if there is none), and what FGD saves.
    cpus: int
    memory: int
    saved: int
    #: Shape (resources,): what the largest node has.
    largest: FloatArray
    #: Typical jobs: shape (typical, resources), (typical, types) and (typical,), the last of sum 1.
    typical_each: IntArray
    typical_allowed: BoolArray
    share: FloatArray


@inner_kernel
def chunks_on(places: Places, when: int, shape: int, node: int) -> int:
    """Return for how many chunks of a shape a node has room. O(resources)."""
    room, there = places.most[shape, places.type_of_node[node]], places.occupants[when, node]
    if there < 0 or (there and places.shapes[shape].exclusive):
        return 0
    for resource in range(places.free.shape[2]):
        needed, left = places.each[shape, resource], places.free[when, node, resource]
        if needed > left:
            return 0
        if needed > 0 and left < room * needed:
            room = left // needed
    return int(room)


@inner_kernel
def hold(places: Places, when: int, shape: int, piece: int, sign: int) -> None:
    """Let a job of a shape hold a piece, or (sign -1) give it back; an exclusive one holds the whole node."""
    node, free = places.node[piece], places.free
    alone = places.shapes[shape].exclusive
    places.occupants[when, node] += -sign if alone else sign
    for resource in range(free.shape[2]):
        if alone:
            free[when, node, resource] -= sign * places.has[places.type_of_node[node], resource]
        else:
            free[when, node, resource] -= sign * places.chunks[piece] * places.each[shape, resource]


@inner_kernel
def has_room(places: Places, shape: int) -> bool:
    """Return whether a job fits into the room that is noted. O(nodes)."""
    total = nodes = 0
    for node in range(len(places.room)):
        total += places.room[node]
        nodes += places.room[node] > 0
    return bool(total >= places.shapes[shape].chunks and nodes >= places.shapes[shape].least_nodes)


@inner_kernel
def see_room(places: Places, shape: int, when: int, other: int) -> bool:
    """Note the room that nodes have at one time and at another one; return whether a job fits. O(nodes)."""
    for node in range(len(places.room)):
        room = chunks_on(places, when, shape, node)
        if room and when != other:
            room = min(room, chunks_on(places, other, shape, node))
        places.room[node] = room
    return has_room(places, shape)


@inner_kernel
def _fragments(places: Places, choice: Choice, node: int, shape: int, chunks: int, whole: bool) -> float:
    """Return what typical jobs cannot use of the saved resource of a node if a job took chunks of it more.

    Where a typical job does not fit, that is all that is free. `whole` says whether it is all for typical
    jobs that ask for none, too. O(typical jobs x resources).
    """
    kind, saved, lost = places.type_of_node[node], choice.saved, 0.0
    gone = chunks > 0 and places.shapes[shape].exclusive
    left = 0 if gone else places.free[NOW, node, saved] - chunks * places.each[shape, saved]
    for typical in range(len(choice.share)):
        fits = choice.typical_allowed[typical, kind]
        if whole and choice.typical_each[typical, saved] == 0:
            fits = False
        for resource in range(places.free.shape[2]):
            rest = 0 if gone else places.free[NOW, node, resource] - chunks * places.each[shape, resource]
            if choice.typical_each[typical, resource] > rest:
                fits = False
        if not fits:
            lost += choice.share[typical] * left
    return lost


@inner_kernel
def _key(places: Places, choice: Choice, rule: int, shape: int, node: int) -> float:
    """Return the key of a node that has room for a job: the least comes first."""
    has, free, each = places.has, places.free, places.each
    kind, key = places.type_of_node[node], 0.0
    if rule == LATE:
        if places.closed is not None:
            now = places.numbers.now
            if is_closed(places.closed, node, now, now):
                return 0.0
        return float(chunks_on(places, NOW, shape, node))
    if rule == LEAST_LOADED:
        if has[kind, choice.cpus]:
            key = -free[NOW, node, choice.cpus] / has[kind, choice.cpus]
    elif rule == MOST_ALLOCATED:
        looked_at = 0
        for resource in (choice.cpus, choice.memory):
            if resource >= 0 and has[kind, resource]:
                held = has[kind, resource] - free[NOW, node, resource] + each[shape, resource]
                key -= held / has[kind, resource]
                looked_at += 1
        key /= max(looked_at, 1)
    elif rule == BEST_FIT:
        for resource in range(has.shape[1]):
            if choice.largest[resource] > 0:
                key += (free[NOW, node, resource] - each[shape, resource]) / choice.largest[resource]
    elif rule == DOT:
        for resource in range(has.shape[1]):
            most = choice.largest[resource]
            if most > 0:
                key += free[NOW, node, resource] / most * each[shape, resource] / most
    else:
        whole = rule == FGD_SCORES
        chunks = min(places.room[node], places.shapes[shape].chunks)
        before = _fragments(places, choice, node, shape, 0, whole)
        key = _fragments(places, choice, node, shape, chunks, whole) - before
        if whole:
            growth = math.floor(key * _EQUAL + 0.5) / _EQUAL
            return -float(math.floor(100.0 / (1.0 + math.exp(growth))))
    return float(math.floor(key * _EQUAL + 0.5))


@inner_kernel
def _take(places: Places, shape: int, first: int, used: int, rest: int, node: int) -> int:
    """Write a further node of a job, on which it gets as much as it can; return how many chunks."""
    taken = min(places.room[node], rest - max(0, places.shapes[shape].least_nodes - used - 1))
    places.node[first + used], places.chunks[first + used] = node, taken
    return int(taken)


@inner_kernel
def _take_runs(places: Places, shape: int, cpus: int, first: int) -> int:
    """Choose nodes as Slurm does by default: from runs of nodes with room, of consecutive ids and one weight.

    Of the runs of the least weight it takes the first one that is enough and has the fewest free processors;
    if none is, all of the one that has most of them, and looks again. Where one more node is enough, it is
    the one of the run with the fewest free processors. O(nodes) for each run that is taken.
    """
    room, level, free = places.room, places.level, places.free
    rest, least, used = places.shapes[shape].chunks, places.shapes[shape].least_nodes, 0
    while rest:
        begin = end = most = at = 0
        enough = False
        while at < len(room):
            if not room[at]:
                at += 1
                continue
            last, processors, there = at, 0, 0
            while last < len(room) and room[last] and level[last] == level[at]:
                processors += free[NOW, last, cpus]
                there += room[last]
                last += 1
            suffices = there >= rest and last - at >= least - used
            better = not enough
            if suffices == enough:
                better = processors < most if enough else processors > most
            if begin == end or level[at] < level[begin] or (level[at] == level[begin] and better):
                begin, end, most, enough = at, last, processors, suffices
            at = last
        single = -1
        for node in range(begin, end):
            if room[node] < rest or least - used > 1:
                continue
            if single < 0 or free[NOW, node, cpus] < free[NOW, single, cpus]:
                single = node
        if single >= 0:
            begin = single
        while rest and begin < end:
            rest -= _take(places, shape, first, used, rest, begin)
            room[begin] = 0
            begin += 1
            used += 1
    return used


@inner_kernel
def choose(places: Places, choice: Choice, rule: int, shape: int, first: int) -> int:
    """Choose nodes for a job that fits into the room that is noted; write them from a place on.

    Return how many there are. O(nodes x cost of a key + nodes chosen x log nodes).
    """
    if rule == SLURM_RUNS:
        return _take_runs(places, shape, choice.cpus, first)
    heap, unnoted = places.heap, places.heap_places
    rest, used, level = places.shapes[shape].chunks, 0, 0
    while rest:
        count, end = 0, len(places.room) if rule == LATE else places.levels[level + 1]
        for at in range(places.levels[level], end):
            node = places.by_weight[at]
            if not places.room[node]:
                continue
            if rule == FIRST:
                rest -= _take(places, shape, first, used, rest, node)
                used += 1
                if not rest:
                    return used
                continue
            key = _key(places, choice, rule, shape, node)
            if rest == 1 and count:  # only the best one is wanted
                if key > heap[0].time or (key == heap[0].time and node > heap[0].item):
                    continue
                count = 0
            raise_up(heap, unnoted, BY_ITEM, count, key, node)
            count += 1
        while rest and count:
            count -= 1
            rest -= _take(places, shape, first, used, rest, heap[0].item)
            lower(heap, unnoted, BY_ITEM, count, 0, heap[count].time, heap[count].item)
            used += 1
        level += 1
    return used
