"""The judge of machines whose nodes are places: what each job has on each node, and what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.judge.messages import shown_seconds
from allocsolve.judge.sums import summable
from allocsolve.model.packed_places import all_shapes
from allocsolve.model.places import resource_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.model import FloatArray, IntArray, Shape, WorkloadProblem, WorkloadSchedule
    from allocsolve.model.arrays import BoolArray


def scarcest_amounts(problem: WorkloadProblem) -> tuple[IntArray, IntArray]:
    """Return how much each job holds of what is scarcest on nodes that are places, and how much each has.

    That is the resource of which all jobs for their run times need most against what all nodes have. A job
    that shares its nodes with nobody holds all of as many of the smallest nodes that it may use. Without
    resources such jobs hold nodes, and others nothing. O(jobs x resources + shapes x types).
    """
    shapes, kinds = all_shapes(problem.jobs), problem.node_types
    counts = [kind.count for kind in kinds]
    held = {name: [0] * len(shapes) for name in resource_names(kinds)}
    there = {
        name: np.repeat(np.array([dict(kind.has).get(name, 0) for kind in kinds], dtype=np.int64), counts)
        for name in held
    }
    for name, column in held.items():
        known: dict[Shape, int] = {}
        for job, shape in enumerate(shapes):
            if shape not in known:
                has = [
                    dict(kind.has).get(name, 0)
                    for kind in kinds
                    if not shape.types or kind.name in shape.types
                ]
                alone = shape.least_nodes * min(has) if shape.exclusive else 0
                known[shape] = max(alone, shape.chunks * dict(shape.each).get(name, 0))
            column[job] = known[shape]
    if not held:
        nodes = [shape.least_nodes if shape.exclusive else 0 for shape in shapes]
        return np.array(nodes, dtype=np.int64), np.ones(problem.num_nodes, dtype=np.int64)
    amounts = {name: np.array(column, dtype=np.int64) for name, column in held.items()}
    runs = problem.jobs.packed.runtime
    scarcest = max(held, key=lambda name: float((amounts[name] * runs).sum()) / int(there[name].sum()))
    return amounts[scarcest], there[scarcest]


def open_amount_seconds(problem: WorkloadProblem, first: float, last: float) -> float:
    """Return how much open nodes have of what is scarcest from an instant to another one, times seconds."""
    _, there = scarcest_amounts(problem)
    total = float(there.sum()) * (last - first)
    for node, has in enumerate(there.tolist()):
        until = first
        for window in problem.closed:  # by start
            if not window.node_ids or node in window.node_ids:
                begin, end = max(window.start, until), min(window.end, last)
                total -= has * max(end - begin, 0)
                until = max(until, end)
    return total


def place_violations(
    problem: WorkloadProblem, schedule: WorkloadSchedule, left: FloatArray, tolerance: float
) -> list[str]:
    """Return what is wrong with where the jobs of a schedule lie.

    P1: each job lies on nodes that differ, of types that it may use, with at least one and at most
    `Job.per_node` chunks on each; on no fewer nodes than it says, and with as many chunks as it has. P2: at
    no instant the chunks on a node take more of something than the node has. P3: an exclusive job is alone on
    its nodes, whether or not anybody takes anything there. P4: nobody is on a node while it is closed.

    What a piece holds is there for others from the time on that is in `left`, shape (pieces,), in seconds:
    whoever takes it at that instant may; windows may end up to `tolerance` seconds late. Each node is looked
    at for itself. O(pairs log pairs x resources + pairs x windows), where a pair is a job and one of its
    nodes.
    """
    at, nodes, chunks = schedule.place_offsets, schedule.place_nodes, schedule.place_chunks
    if at is None or nodes is None or chunks is None:
        return ["the schedule does not say on which nodes jobs lie"] if len(problem.jobs) else []
    job_of = np.repeat(np.arange(len(problem.jobs)), np.diff(schedule.offsets))
    shapes, bounds, said = all_shapes(problem.jobs), at.tolist(), schedule.nodes.tolist()
    kinds = [each.name for each in problem.node_types for _ in range(each.count)]
    lines = []
    for piece, job in enumerate(job_of.tolist()):
        mine = slice(bounds[piece], bounds[piece + 1])
        matter = _misplaced(shapes[job], nodes[mine].tolist(), chunks[mine].tolist(), said[piece], kinds)
        if matter:
            lines.append(f"job {problem.jobs.names[job]!r} {matter}")
    # Chunks that no job may have could take more than there are integers for.
    piece_of = np.repeat(np.arange(len(said)), np.diff(at))
    times = left[piece_of], schedule.starts[piece_of]
    pairs = job_of[piece_of], nodes, chunks
    return lines or [*_overfull(problem, pairs, *times), *_closed(problem, pairs, *times, tolerance)]


def _misplaced(
    shape: Shape, nodes: Sequence[int], chunks: Sequence[int], said: int, kinds: Sequence[str]
) -> str:
    """Return what breaks P1 in the piece of a job; empty if nothing does."""
    for node, count in zip(nodes, chunks, strict=True):
        if not 0 <= node < len(kinds):
            return f"is on node {node}, none of 0..{len(kinds) - 1}"
        if shape.types and kinds[node] not in shape.types:
            return f"is on node {node}, of the type {kinds[node]!r}, which it may not use"
        if not 1 <= count <= shape.per_node:
            return f"has {count} chunks on node {node}, not 1..{shape.per_node}"
    if len({*nodes}) < len(nodes):
        return "is on a node twice"
    if sum(chunks) != shape.chunks:
        return f"has {sum(chunks)} chunks on its nodes, not {shape.chunks}"
    if len(nodes) < shape.least_nodes:
        return f"is on {len(nodes)} nodes, but needs {shape.least_nodes}"
    return "" if len(nodes) == said else f"is on {len(nodes)} nodes, but says {said}"


def _overfull(
    problem: WorkloadProblem, held: tuple[IntArray, IntArray, IntArray], left: FloatArray, starts: FloatArray
) -> Iterator[str]:
    """Yield what breaks P2 and P3: a line for each node and resource, at the first instant.

    Held are job, node and number of chunks of each pair, given back at `left` and taken at `starts`.
    """
    (job, nodes, chunks), shapes = held, all_shapes(problem.jobs)
    pairs = len(nodes)
    node, time = np.concatenate([nodes, nodes]), np.concatenate([left, starts])
    order = np.lexsort((time, node))
    node, time = node[order], time[order]
    # Of several events at an instant on a node, the last one counts all: what is given back there is there.
    last = np.ones(2 * pairs, dtype=np.bool_)
    last[:-1] = (np.diff(node) != 0) | (np.diff(time) != 0)

    def in_use(amounts: IntArray) -> IntArray:
        exact = summable(amounts)
        return np.cumsum(np.concatenate([-exact, exact])[order])

    def first_of_nodes(where: BoolArray) -> list[int]:
        at = np.flatnonzero(where & last)
        return [int(at[idx]) for idx in np.unique(node[at], return_index=True)[1]]

    kind = np.repeat(np.arange(len(problem.node_types)), [each.count for each in problem.node_types])[node]
    for name in sorted({name for shape in shapes for name, _ in shape.each}):
        takes = np.array([dict(shape.each).get(name, 0) for shape in shapes], dtype=np.int64)
        has = np.array([dict(each.has).get(name, 0) for each in problem.node_types], dtype=np.int64)[kind]
        use = in_use(takes[job] * chunks)
        for at in first_of_nodes(use > has):
            at_time = f"at {shown_seconds(time[at])} s"
            yield f"{at_time} jobs hold {use[at]} {name} on node {node[at]}, which has {has[at]}"
    alone = np.array([shape.exclusive for shape in shapes], dtype=np.int64)[job]
    there = in_use(np.ones(pairs, dtype=np.int64))
    for at in first_of_nodes((in_use(alone) > 0) & (there > 1)):
        at_time = f"at {shown_seconds(time[at])} s"
        yield f"{at_time} {there[at]} jobs are on node {node[at]}, one of them exclusive"


def _closed(
    problem: WorkloadProblem,
    held: tuple[IntArray, IntArray, IntArray],
    left: FloatArray,
    starts: FloatArray,
    tolerance: float,
) -> Iterator[str]:
    """Yield what breaks P4: a line for each window, with the first job and node."""
    job, nodes, _ = held
    for window in problem.closed:
        shut = np.full(problem.num_nodes, not window.node_ids)
        shut[[*window.node_ids]] = True
        until = max(window.end - tolerance, window.start)
        met = np.flatnonzero(shut[nodes] & (left > window.start) & (starts < until))
        if len(met):
            name, node = problem.jobs.names[job[met[0]]], nodes[met[0]]
            span = f"from {shown_seconds(window.start)} s to {shown_seconds(window.end)} s"
            yield f"{span} node {node} is closed, but job {name!r} is there"
