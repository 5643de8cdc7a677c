"""The judge of machines whose nodes are places: what each job has on each node, and what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.judge.messages import shown_seconds
from allocsolve.judge.sums import summable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import FloatArray, IntArray, WorkloadProblem, WorkloadSchedule
    from allocsolve.model.arrays import BoolArray


class _Held(NamedTuple):
    """Each pair of a job and one of its nodes; all of shape (pairs,)."""

    #: Of the schedule.
    piece: IntArray
    job: IntArray
    node: IntArray
    chunks: IntArray


class _Asked(NamedTuple):
    """What jobs may hold; all of shape (jobs,)."""

    chunks: IntArray
    per_node: IntArray
    fewest: IntArray
    exclusive: BoolArray


def place_violations(problem: WorkloadProblem, schedule: WorkloadSchedule, left: FloatArray) -> list[str]:
    """Return what is wrong with where the jobs of a schedule lie, of one piece each.

    P1: each job lies on nodes that differ, of types that it may use, with at least one and at most
    `Job.per_node` chunks on each; on no fewer nodes than it says, and with as many chunks as it has. P2: at
    no instant the chunks on a node take more of something than the node has. P3: an exclusive job is alone on
    its nodes, whether or not anybody takes anything there.

    What a piece holds is there for others from the time on that is in `left`, shape (pieces,), in seconds:
    whoever takes it at that instant may. Each node is looked at for itself. O(pairs log pairs x resources),
    where a pair is a job and one of its nodes.
    """
    if schedule.place_offsets is None or schedule.place_nodes is None or schedule.place_chunks is None:
        return ["the schedule does not say on which nodes jobs lie"] if len(problem.jobs) else []
    piece = np.repeat(np.arange(len(schedule.nodes)), np.diff(schedule.place_offsets))
    job_of = np.repeat(np.arange(len(problem.jobs)), np.diff(schedule.offsets))
    held = _Held(piece, job_of[piece], schedule.place_nodes, schedule.place_chunks)
    lines = [*_misplaced(problem, schedule, held, job_of)]
    # Amounts of chunks that nobody may have could be beyond all integers.
    return lines or [*_overfull(problem, schedule, held, left)]


def _asked(problem: WorkloadProblem) -> _Asked:
    chunks, nodes = problem.jobs.chunks, problem.jobs.packed.nodes
    whole = np.ones(len(nodes), dtype=np.bool_)
    if not len(chunks.count):
        return _Asked(nodes, np.ones_like(nodes), nodes, whole)
    whole = chunks.count == 0
    return _Asked(
        np.where(whole, nodes, chunks.count),
        np.where(whole, 1, chunks.per_node),
        nodes,
        whole | chunks.exclusive,
    )


def _node_types(problem: WorkloadProblem) -> IntArray:
    """Return the type of each node, shape (nodes,)."""
    counts = [each.count for each in problem.node_types]
    return np.repeat(np.arange(len(counts), dtype=np.int64), counts)


def _shown_node(problem: WorkloadProblem, node: int) -> str:
    first = 0
    for each in problem.node_types:
        if node < first + each.count:
            return f"node {node} ({each.names[node - first]})" if each.names else f"node {node}"
        first += each.count
    return f"node {node}"


def _misplaced(
    problem: WorkloadProblem, schedule: WorkloadSchedule, held: _Held, job_of: IntArray
) -> Iterator[str]:
    """Yield what breaks P1: a line for each job and kind of fault."""
    asked, names, jobs = _asked(problem), problem.jobs.names, len(problem.jobs)
    strange = (held.node < 0) | (held.node >= problem.num_nodes)
    bad = strange | (held.chunks < 1) | (held.chunks > asked.per_node[held.job])
    for at in np.flatnonzero(bad).tolist():
        job, node, chunks = f"job {names[held.job[at]]!r}", int(held.node[at]), held.chunks[at]
        if strange[at]:
            yield f"{job} is on node {node}, none of 0..{problem.num_nodes - 1}"
        else:
            most = asked.per_node[held.job[at]]
            yield f"{job} has {chunks} chunks on {_shown_node(problem, node)}, not 1..{most}"
    if bad.any():
        return
    order = np.lexsort((held.node, held.job))
    again = (np.diff(held.job[order]) == 0) & (np.diff(held.node[order]) == 0)
    for at in order[1:][again].tolist():
        yield f"job {names[held.job[at]]!r} is on {_shown_node(problem, int(held.node[at]))} twice"
    if problem.jobs.chunks.types:
        kind = _node_types(problem)[held.node]
        titles = [each.name for each in problem.node_types]
        may = [[not mine or title in mine for title in titles] for mine in problem.jobs.chunks.types]
        for at in np.flatnonzero(~np.array(may, dtype=np.bool_)[held.job, kind]).tolist():
            where = f"{_shown_node(problem, int(held.node[at]))}, of the type {titles[kind[at]]!r}"
            yield f"job {names[held.job[at]]!r} is on {where}, which it may not use"
    nodes = np.bincount(held.job, minlength=jobs)
    chunks = np.zeros(jobs, dtype=object)
    np.add.at(chunks, held.job, held.chunks.astype(object))
    says = np.zeros(jobs, dtype=object)
    np.add.at(says, job_of, schedule.nodes.astype(object))
    for idx in np.flatnonzero((chunks != asked.chunks) | (nodes < asked.fewest) | (says != nodes)).tolist():
        job = f"job {names[idx]!r}"
        if not nodes[idx]:
            yield f"{job} lies on no node"
        elif chunks[idx] != asked.chunks[idx]:
            yield f"{job} has {chunks[idx]} chunks on its nodes, not {asked.chunks[idx]}"
        elif nodes[idx] < asked.fewest[idx]:
            yield f"{job} is on {nodes[idx]} nodes, but needs {asked.fewest[idx]}"
        else:
            yield f"{job} is on {nodes[idx]} nodes, but its piece says {says[idx]}"


def _overfull(
    problem: WorkloadProblem, schedule: WorkloadSchedule, held: _Held, left: FloatArray
) -> Iterator[str]:
    """Yield what breaks P2 and P3: a line for each node and resource, at the first instant."""
    pairs = len(held.node)
    node = np.concatenate([held.node, held.node])
    time = np.concatenate([left[held.piece], schedule.starts[held.piece]])
    takes = np.arange(2 * pairs) >= pairs
    # On each node in order of time; at an instant, what is given back comes before what is taken.
    order = np.lexsort((takes, time, node))
    node, time, takes = node[order], time[order], takes[order]
    # Of several events at an instant on a node, the last one counts all of them.
    last = np.ones(2 * pairs, dtype=np.bool_)
    last[:-1] = (np.diff(node) != 0) | (np.diff(time) != 0)

    def in_use(amounts: IntArray) -> IntArray:
        exact = summable(amounts)
        return np.cumsum(np.concatenate([-exact, exact])[order])

    kind = _node_types(problem)[node]
    there = [dict(each.has) for each in problem.node_types]
    needs = [dict(mine) for mine in problem.jobs.chunks.each] or [{} for _ in problem.jobs.names]
    for name in dict.fromkeys(name for mine in needs for name in mine):
        amounts = np.array([mine.get(name, 0) for mine in needs], dtype=np.int64)[held.job] * held.chunks
        has = np.array([mine.get(name, 0) for mine in there], dtype=np.int64)[kind]
        use = in_use(amounts)
        for at in _first_of_nodes(node, (use > has) & last):
            where = _shown_node(problem, int(node[at]))
            yield f"at {shown_seconds(time[at])} s jobs hold {use[at]} {name} of {has[at]} on {where}"
    alone = _asked(problem).exclusive[held.job]
    everybody = in_use(np.ones(pairs, dtype=np.int64))
    shared = (in_use(alone.astype(np.int64)) > 0) & (everybody > 1) & last
    for at in _first_of_nodes(node, shared):
        where = _shown_node(problem, int(node[at]))
        yield f"at {shown_seconds(time[at])} s {everybody[at]} jobs are on {where}, one of them exclusive"


def _first_of_nodes(node: IntArray, where: BoolArray) -> list[int]:
    """Return the first place on each node at which a mask is true; nodes rise."""
    at = np.flatnonzero(where)
    first: list[int] = at[np.unique(node[at], return_index=True)[1]].tolist()
    return first


def share_in_use(
    problem: WorkloadProblem, schedule: WorkloadSchedule, first: float, last: float
) -> float | None:
    """Return how much of the resource of nodes that is used most jobs hold from an instant to another one.

    An exclusive job holds all of its nodes; nodes that exclusive jobs hold count as a resource, too. None if
    the schedule does not say where jobs lie.
    """
    if schedule.place_offsets is None or schedule.place_nodes is None or schedule.place_chunks is None:
        return None
    piece = np.repeat(np.arange(len(schedule.nodes)), np.diff(schedule.place_offsets))
    job = np.repeat(np.arange(len(problem.jobs)), np.diff(schedule.offsets))[piece]
    seconds = np.minimum(schedule.ends, last) - np.maximum(schedule.starts, first)
    seconds = np.maximum(seconds, 0)[piece]
    alone = _asked(problem).exclusive[job]
    kind = _node_types(problem)[np.clip(schedule.place_nodes, 0, problem.num_nodes - 1)]
    shares = [float(seconds[alone].sum()) / problem.num_nodes]
    each = [dict(mine) for mine in problem.jobs.chunks.each] or [{} for _ in problem.jobs.names]
    for name in dict.fromkeys(name for kinds in problem.node_types for name in dict(kinds.has)):
        has = np.array([dict(kinds.has).get(name, 0) for kinds in problem.node_types], dtype=np.float64)
        total = sum(dict(kinds.has).get(name, 0) * kinds.count for kinds in problem.node_types)
        needs = np.array([mine.get(name, 0) for mine in each], dtype=np.float64)
        amounts = np.where(alone, has[kind], needs[job] * schedule.place_chunks)
        shares.append(float((amounts * seconds).sum()) / total)
    return max(shares) / (last - first)
