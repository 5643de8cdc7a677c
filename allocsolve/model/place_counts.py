"""What jobs on nodes that are places need in counts: every schedule on places keeps them.

So a bound on schedules that keep the counts is one on schedules on places.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.model.arrays import frozen
from allocsolve.model.packed_places import packed_places

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from allocsolve.model.arrays import BoolArray, IntArray
    from allocsolve.model.jobs import Jobs
    from allocsolve.model.machine import Amounts
    from allocsolve.model.packed_places import PackedPlaces
    from allocsolve.model.workload import WorkloadProblem

#: Which dual feasible functions there are of each resource: what chunks of more than a half, a third or a
#: quarter of a node count. Their values are multiples of `_UNIT`-ths.
_STEPS: Final = (1, 2, 3)
_UNIT: Final = 840


class Count(NamedTuple):
    """A resource of which jobs never hold more than there is."""

    name: str
    #: Shape (shapes,): how much a job of each shape holds at least.
    amounts: IntArray
    there: int


class Counted(NamedTuple):
    """A machine in counts, and what its jobs need of it."""

    num_nodes: int
    jobs: Jobs
    resources: Amounts


def counted(problem: WorkloadProblem) -> Counted:
    """Return what jobs need in counts, see `allocsolve.model.WorkloadProblem.on_counts`."""
    places, jobs, asked = packed_places(problem), problem.jobs, problem.jobs.requirements
    whole = places.exclusive & (places.per_node == 1) & ~places.each.any(axis=1) & places.allowed.all(axis=1)
    if whole.all():
        return Counted(problem.num_nodes, jobs.replace(**_ON_COUNTS), problem.resources)
    counts = [
        each
        for each in counts_of(places, [kind.name for kind in problem.node_types])
        if each.amounts[places.shape].any()
    ]
    runtime = jobs.packed.runtime
    loads = [float((each.amounts[places.shape] * runtime).sum()) / each.there for each in counts]
    scarcest = int(np.argmax(loads)) if counts else -1
    # Each job needs some of what is scarcest, as it does of nodes: who needs none gets one of its own.
    nodes = counts[scarcest].amounts[places.shape] if counts else np.zeros(len(jobs), dtype=np.int64)
    spare = nodes == 0
    there = (counts[scarcest].there if counts else 0) + int(spare.sum())
    needs: list[dict[str, int]] = [dict(mine) for mine in asked.needs] or [{} for _ in jobs.names]
    for idx, pool in enumerate(asked.partitions):
        if pool is not None:
            needs[idx][pool] = int(jobs.packed.nodes[idx])
    resources: dict[str, int] = dict(problem.resources)
    for at, each in enumerate(counts):
        if at == scarcest:
            continue
        name = each.name
        while name in resources:
            name += "'"
        resources[name] = each.there
        for idx, amount in enumerate(each.amounts[places.shape].tolist()):
            if amount:
                needs[idx][name] = amount
    columns = {**_ON_COUNTS, "nodes": frozen(np.where(spare, 1, nodes)), "needs": needs, "partitions": None}
    return Counted(max(1, there), jobs.replace(**columns), tuple(sorted(resources.items())))


_ON_COUNTS: Final[Mapping[str, None]] = dict.fromkeys(("chunks", "each", "per_node", "exclusive", "types"))


def counts_of(places: PackedPlaces, titles: Sequence[str]) -> Iterator[Count]:
    """Yield what is counted of places: amounts in all and by type, and dual feasible functions of them.

    `titles` are the names of the types.

    An exclusive job of c chunks holds at least the nodes that c chunks need where most fit, each at least as
    large as the smallest that it may use.
    """
    usable = places.most > 0
    nodes = np.diff(places.first_node)
    largest: IntArray = np.maximum(places.most.max(axis=1, initial=0), 1)
    least: IntArray = np.maximum(places.least_nodes, -(-places.chunks // largest))
    only: IntArray = np.where(usable.sum(axis=1) == 1, usable.argmax(axis=1), -1).astype(np.int64)
    everybody = _UNIT * int(nodes.sum())
    if not places.names:
        yield _in_large_units("nodes held alone", np.where(places.exclusive, least, 0), int(nodes.sum()))
    for at, name in enumerate(places.names):
        has, each = places.has[:, at], places.each[:, at]
        smallest = np.where(usable, has, np.iinfo(np.int64).max).min(axis=1, initial=np.iinfo(np.int64).max)
        alone = least * np.where(usable.any(axis=1), smallest, 0)
        total = places.chunks * each
        total = np.where(places.exclusive, np.maximum(total, alone), total)
        yield _in_large_units(name, total, int((has * nodes).sum()))
        for kind in np.unique(only[only >= 0]).tolist():
            pool = np.where(only == kind, total, 0)
            yield _in_large_units(f"{name} of {titles[kind]}", pool, int(has[kind] * nodes[kind]))
        for step in _STEPS:
            share = np.where(
                places.exclusive, least * _UNIT, places.chunks * _shares(each, has, usable, step)
            )
            yield _in_large_units(f"{name} above 1/{step + 1}", share, everybody)


def _shares(each: IntArray, has: IntArray, usable: BoolArray, step: int) -> IntArray:
    """Return the value of a dual feasible function of a chunk of each shape, in `_UNIT`-ths of a node.

    With x the share of the node that a chunk takes, u(x) = x where (step + 1) x is whole, else
    floor((step + 1) x) / step: the chunks on a node have values of at most 1 in all (Fekete & Schepers, "New
    classes of fast lower bounds for bin packing problems", Mathematical Programming 91, 2001). Of unlike
    types it is the least.
    """
    scaled, size = (step + 1) * each[:, None], np.maximum(has, 1)[None, :]
    floor = scaled // size
    value = np.where(scaled % size == 0, floor * (_UNIT // (step + 1)), floor * (_UNIT // step))
    best: IntArray = np.where(usable, value, _UNIT).min(axis=1, initial=_UNIT)
    return best


def _in_large_units(name: str, amounts: IntArray, there: int) -> Count:
    """Return a count in the largest unit in which all amounts are whole."""
    unit = max(1, int(np.gcd.reduce(amounts)) if len(amounts) else 1)
    return Count(name, amounts // unit, there // unit)
