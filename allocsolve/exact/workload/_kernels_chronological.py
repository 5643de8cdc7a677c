"""Branch and bound over schedules in order of starts, bounded by prices; dominated states are skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.kernels import inner_kernel, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.model import FloatArray, IntArray

#: The most jobs: the jobs of a set are bits of a signed integer of 64 bits.
MAX_JOBS = 62

#: The states remembered in a bucket of the hash table, the number of buckets, and the most running jobs of a
#: remembered state.
_BUCKET, _BUCKETS, _RUNNING = 8, 1 << 15, 24


class Instance(NamedTuple):
    """The jobs to schedule; times are in units of a grid; read-only."""

    num_nodes: int
    #: Shape (jobs,).
    release: IntArray
    latest: IntArray
    #: Shape (jobs,): job j that ends at C costs ``max(floor_j, slope_j (C - reference_j))``.
    slope: FloatArray
    floor: FloatArray
    reference: IntArray
    #: Shape (jobs,): an earlier job of equal shape and weight, submitted no later (a twin); -1: there is
    #: none.
    twin: IntArray
    #: Sizes of job j: ``offsets[j]:offsets[j + 1]``.
    offsets: IntArray
    nodes: IntArray
    times: IntArray
    #: 1 if the end of a job counts, 0 if its start.
    of_end: int


class Tables(NamedTuple):
    """Prices by cells, each of some units of the grid; read-only."""

    step: int
    #: Shape (jobs, cells + 1): the integral of the price of a job up to a cell.
    paid: FloatArray
    #: Shape (sizes,): the number of times that a size pays the price.
    share: FloatArray
    #: Shape (jobs, cells + 1): the least cost, prices included, of a job that starts in a cell or later.
    ahead: FloatArray
    #: Shape (cells + 1,): the price of all nodes from a cell on.
    charged: FloatArray


class Tree(NamedTuple):
    """The path from the root to the current state, and the states seen before; written by the search."""

    #: Shape (1,) each: the depth; the nodes of the tree so far; the states seen so far.
    at: IntArray
    #: Shape (jobs + 1,) each: the started jobs, latest start, cost, running jobs; the next child, the
    #: children.
    started: IntArray
    time: IntArray
    cost: FloatArray
    running: IntArray
    child: IntArray
    children: IntArray
    #: Shape (jobs + 1, jobs): ends, nodes, sizes and jobs of the running jobs, by end.
    ends: IntArray
    held: IntArray
    sizes: IntArray
    owners: IntArray
    #: Shape (jobs + 1, sizes): children, by bound.
    child_job: IntArray
    child_size: IntArray
    child_start: IntArray
    child_bound: FloatArray
    #: Shape (jobs + 1,): the start and the size of the last started job.
    chosen_job: IntArray
    chosen_start: IntArray
    chosen_size: IntArray
    #: Shape (jobs,): the best schedule.
    best_starts: IntArray
    best_sizes: IntArray
    #: Shape (2,): the cutoff, above which no schedule is sought, and the cost of the best schedule.
    cutoff: FloatArray
    #: States: shape (states,), (states, _RUNNING).
    seen_started: IntArray
    seen_time: IntArray
    seen_cost: FloatArray
    seen_running: IntArray
    seen_ends: NDArray[np.int32]
    seen_held: NDArray[np.int32]
    #: Shape (jobs,): work space.
    earliest: IntArray


def new_tree(num_jobs: int, num_sizes: int, cutoff: float) -> Tree:
    """Return the root."""
    depths, states = num_jobs + 1, _BUCKET * _BUCKETS

    def integers(*shape: int) -> IntArray:
        return np.zeros(shape, dtype=np.int64)

    return Tree(
        at=integers(2),
        started=integers(depths),
        time=integers(depths),
        cost=np.zeros(depths),
        running=integers(depths),
        child=integers(depths),
        children=np.full(depths, -1, dtype=np.int64),
        ends=integers(depths, num_jobs),
        held=integers(depths, num_jobs),
        sizes=integers(depths, num_jobs),
        owners=integers(depths, num_jobs),
        child_job=integers(depths, num_sizes),
        child_size=integers(depths, num_sizes),
        child_start=integers(depths, num_sizes),
        child_bound=np.zeros((depths, num_sizes)),
        chosen_job=integers(depths),
        chosen_start=integers(depths),
        chosen_size=integers(depths),
        best_starts=integers(num_jobs),
        best_sizes=integers(num_jobs),
        cutoff=np.array([cutoff, np.inf]),
        seen_started=integers(states),
        seen_time=integers(states),
        seen_cost=np.zeros(states),
        seen_running=np.full(states, -1, dtype=np.int64),
        seen_ends=np.zeros((states, _RUNNING), dtype=np.int32),
        seen_held=np.zeros((states, _RUNNING), dtype=np.int32),
        earliest=integers(num_jobs),
    )


@inner_kernel
def _first_fit(instance: Instance, tree: Tree, depth: int, begin: int, nodes: int) -> int:
    """Return the first time from `begin` on at which `nodes` nodes are free."""
    count = tree.running[depth]
    idx = 0
    while idx < count and tree.ends[depth, idx] <= begin:
        idx += 1
    free = instance.num_nodes
    for other in range(idx, count):
        free -= tree.held[depth, other]
    time = begin
    while free < nodes:
        time = tree.ends[depth, idx]
        free += tree.held[depth, idx]
        idx += 1
    return int(time)


@inner_kernel
def _cost(instance: Instance, job: int, start: int, time: int) -> float:
    end = start + time * instance.of_end
    return float(max(instance.floor[job], instance.slope[job] * (end - instance.reference[job])))


@inner_kernel
def _bound(instance: Instance, tables: Tables, tree: Tree, depth: int, child: tuple[int, int, int]) -> float:
    """Return a lower bound on the schedules in which a child (job, start, size) comes next.

    It is the cost so far, plus what the running jobs pay from then on, plus the least cost of each other job
    from then on and not before its nodes are free, less the price of all nodes from then on.
    """
    job, size, start = child
    step = tables.step
    cell, above = start // step, (start + step - 1) // step
    end = start + instance.times[size]
    total = tree.cost[depth] + _cost(instance, job, start, instance.times[size]) - tables.charged[cell]
    total += tables.share[size] * max(0.0, tables.paid[job, end // step] - tables.paid[job, above])
    for idx in range(tree.running[depth]):
        until = tree.ends[depth, idx]
        if until > start:
            owner = tree.owners[depth, idx]
            paid = tables.paid[owner, until // step] - tables.paid[owner, above]
            total += tables.share[tree.sizes[depth, idx]] * max(0.0, paid)
    last = tables.ahead.shape[1] - 1
    for other in range(len(instance.release)):
        if other != job and not (tree.started[depth] >> other) & 1:
            total += tables.ahead[other, min(last, max(start, tree.earliest[other]) // step)]
    return float(total)


@inner_kernel
def _expand(instance: Instance, tables: Tables, tree: Tree, depth: int) -> None:
    """List the children of a state that are below the cutoff, by bound.

    A job is left out if another one could run as a whole before its start, or if its earlier twin waits.
    """
    count = len(instance.release)
    started, now = tree.started[depth], tree.time[depth]
    least_end = np.int64(1) << 62
    for job in range(count):
        if (started >> job) & 1:
            continue
        begin, first = max(now, instance.release[job]), np.int64(1) << 62
        for size in range(instance.offsets[job], instance.offsets[job + 1]):
            start = _first_fit(instance, tree, depth, begin, instance.nodes[size])
            first = min(first, np.int64(start))
            least_end = min(least_end, start + instance.times[size])
        tree.earliest[job] = first
    children = 0
    for job in range(count):
        if (started >> job) & 1 or tree.earliest[job] >= least_end:
            continue
        twin = instance.twin[job]
        if twin >= 0 and not (started >> twin) & 1:
            continue
        begin = max(now, instance.release[job])
        for size in range(instance.offsets[job], instance.offsets[job + 1]):
            start = _first_fit(instance, tree, depth, begin, instance.nodes[size])
            if start >= least_end or start + instance.times[size] > instance.latest[job]:
                continue
            bound = _bound(instance, tables, tree, depth, (job, size, start))
            if bound > tree.cutoff[0]:
                continue
            at = children
            while at > 0 and tree.child_bound[depth, at - 1] > bound:
                tree.child_bound[depth, at] = tree.child_bound[depth, at - 1]
                tree.child_job[depth, at] = tree.child_job[depth, at - 1]
                tree.child_size[depth, at] = tree.child_size[depth, at - 1]
                tree.child_start[depth, at] = tree.child_start[depth, at - 1]
                at -= 1
            tree.child_bound[depth, at] = bound
            tree.child_job[depth, at] = job
            tree.child_size[depth, at] = size
            tree.child_start[depth, at] = start
            children += 1
    tree.child[depth] = 0
    tree.children[depth] = children


@inner_kernel
def _descend(instance: Instance, tree: Tree, depth: int, child: int) -> None:
    """Write the state of a child, one level down."""
    job, size = tree.child_job[depth, child], tree.child_size[depth, child]
    start, below = tree.child_start[depth, child], depth + 1
    end = start + instance.times[size]
    tree.started[below] = tree.started[depth] | (np.int64(1) << job)
    tree.time[below] = start
    tree.cost[below] = tree.cost[depth] + _cost(instance, job, start, instance.times[size])
    tree.chosen_job[below], tree.chosen_start[below], tree.chosen_size[below] = job, start, size
    count, put = 0, False
    for idx in range(tree.running[depth] + 1):
        last = idx == tree.running[depth]
        if not put and (last or tree.ends[depth, idx] > end):
            tree.ends[below, count] = end
            tree.held[below, count] = instance.nodes[size]
            tree.sizes[below, count] = size
            tree.owners[below, count] = job
            count += 1
            put = True
        if not last and tree.ends[depth, idx] > start:
            tree.ends[below, count] = tree.ends[depth, idx]
            tree.held[below, count] = tree.held[depth, idx]
            tree.sizes[below, count] = tree.sizes[depth, idx]
            tree.owners[below, count] = tree.owners[depth, idx]
            count += 1
    tree.running[below] = count
    tree.children[below] = -1


@inner_kernel
def _holds_no_more(tree: Tree, at: int, depth: int) -> bool:
    """Return whether an earlier state holds more nodes at no time; checked where this one frees some."""
    now, seen = tree.time[depth], tree.seen_running[at]
    mine, theirs, other = 0, 0, 0
    for idx in range(tree.running[depth]):
        mine += tree.held[depth, idx]
    for idx in range(seen):
        if tree.seen_ends[at, idx] > now:
            theirs += tree.seen_held[at, idx]
        else:
            other = idx + 1
    if theirs > mine:
        return False
    for idx in range(tree.running[depth]):
        mine -= tree.held[depth, idx]
        while other < seen and tree.seen_ends[at, other] <= tree.ends[depth, idx]:
            theirs -= tree.seen_held[at, other]
            other += 1
        if theirs > mine:
            return False
    return True


@inner_kernel
def _dominated(tree: Tree, depth: int) -> bool:
    """Return whether an earlier state is no worse; otherwise this state is remembered.

    In the earlier state the same jobs have started, no start was later, the cost is no higher, and no more
    nodes are held at any time from now on.
    """
    started, now, cost = tree.started[depth], tree.time[depth], tree.cost[depth]
    count = tree.running[depth]
    mixed = (started ^ (started >> 31)) * np.int64(0x2545F4914F6CDD1D)
    place = ((mixed >> 33) & (_BUCKETS - 1)) * _BUCKET
    for at in range(place, place + _BUCKET):
        if tree.seen_running[at] < 0 or tree.seen_started[at] != started:
            continue
        if tree.seen_time[at] > now or tree.seen_cost[at] > cost:
            continue
        if _holds_no_more(tree, at, depth):
            return True
    if count <= _RUNNING:
        at = place + tree.at[1] % _BUCKET
        tree.seen_started[at], tree.seen_time[at], tree.seen_cost[at] = started, now, cost
        tree.seen_running[at] = count
        for idx in range(count):
            tree.seen_ends[at, idx] = tree.ends[depth, idx]
            tree.seen_held[at, idx] = tree.held[depth, idx]
    return False


@kernel
def search(instance: Instance, tables: Tables, tree: Tree, gain: float, count: int) -> bool:
    """Visit up to `count` states; return whether the search is over. Schedules lower the cutoff by `gain`."""
    num_jobs = len(instance.release)
    depth = tree.at[0]
    for _ in range(count):
        if tree.children[depth] < 0:
            _expand(instance, tables, tree, depth)
        child = tree.child[depth]
        if child >= tree.children[depth] or tree.child_bound[depth, child] > tree.cutoff[0]:
            if depth == 0:
                return True
            depth -= 1
            continue
        tree.child[depth] += 1
        tree.at[1] += 1
        _descend(instance, tree, depth, child)
        if depth + 1 == num_jobs:
            if tree.cost[depth + 1] <= tree.cutoff[0]:
                for idx in range(1, num_jobs + 1):
                    job = tree.chosen_job[idx]
                    tree.best_starts[job] = tree.chosen_start[idx]
                    tree.best_sizes[job] = tree.chosen_size[idx]
                tree.cutoff[1] = tree.cost[depth + 1]
                tree.cutoff[0] = tree.cost[depth + 1] - gain
        elif not _dominated(tree, depth + 1):
            depth += 1
    tree.at[0] = depth
    return False
