"""Which parts of applications cannot run at the same time: blocks, pairs, triples and covers.

A *block* is a maximal run of consecutive steps of one application whose node counts are all at least its
own minimum: there is one for each step, a range of the Cartesian tree of the node counts. While a block runs,
its application holds at least that minimum. So if the minima of some blocks of different applications sum to
more than the cluster has, the blocks do not all overlap. As intervals that overlap pairwise share a moment
(Helly), two of them do not overlap: one *ends before* the other *starts*. Every over-commitment of steps is
excluded by the clause of some such set of blocks, and a larger block makes a stronger clause.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.model import EvolutionProblem, IntArray


class Block(NamedTuple):
    """Steps ``first..last`` of an application, which hold at least `nodes` nodes."""

    app: int
    first: int
    last: int
    nodes: int
    #: Nodes of the next larger block around it, -1 if it is the whole application.
    outer: int


def blocks_of(problem: EvolutionProblem) -> list[list[Block]]:
    """Return the blocks of each application, without duplicates. O(steps^2) per application."""
    blocks = []
    for app, profile in enumerate(problem.applications):
        distinct = {}
        nodes = profile.nodes
        for idx, level in enumerate(nodes):
            first = last = idx
            while first > 0 and nodes[first - 1] >= level:
                first -= 1
            while last + 1 < len(nodes) and nodes[last + 1] >= level:
                last += 1
            beside = [nodes[k] for k in (first - 1, last + 1) if 0 <= k < len(nodes)]
            distinct[first, last] = Block(app, first, last, level, max(beside, default=-1))
        blocks.append(list(distinct.values()))
    return blocks


def conflicting_sets(
    blocks: Sequence[Sequence[Block]], num_nodes: int, size: int
) -> Iterator[tuple[Block, ...]]:
    """Yield the maximal minimal sets of blocks of `size` applications that exceed the cluster.

    Minimal: without any one of them the others fit. Maximal: with any one of them replaced by the next larger
    block, they would fit. O(C(applications, size) * blocks^size), vectorised over the blocks.
    """
    nodes = [np.array([block.nodes for block in own], dtype=np.int64) for own in blocks]
    # There is no block around the whole application: count it as one that always fits.
    outer = [
        np.array([b.outer if b.outer >= 0 else -size * num_nodes for b in own], dtype=np.int64)
        for own in blocks
    ]
    peaks = [int(own.max()) for own in nodes]
    for apps in combinations(range(len(blocks)), size):
        if sum(peaks[app] for app in apps) <= num_nodes:
            continue
        own = np.ix_(*(nodes[app] for app in apps))
        larger = np.ix_(*(outer[app] for app in apps))
        total = sum(own)
        exceeding = total > num_nodes
        for axis in range(size):
            exceeding = exceeding & (total - own[axis] <= num_nodes)
            exceeding = exceeding & (total - own[axis] + larger[axis] <= num_nodes)
        for chosen in np.argwhere(exceeding).tolist():
            yield tuple(blocks[app][idx] for app, idx in zip(apps, chosen, strict=True))


def violated_covers(
    blocks: Sequence[Sequence[Block]], num_nodes: int, step_starts: IntArray, step_ends: IntArray
) -> set[tuple[Block, ...]]:
    """Return lifted minimal covers that a vector of step times violates; empty if and only if it fits.

    Wherever more than `num_nodes` are held, steps are dropped from the running set while it remains too
    large, in several orders. Then steps are replaced by larger blocks around them with which the sum stays
    too large.
    """
    apps = np.repeat(np.arange(len(blocks)), [max(b.last for b in own) + 1 for own in blocks])
    firsts = np.searchsorted(apps, np.arange(len(blocks)))
    inner = _inner_blocks(blocks)
    nodes = np.array([block.nodes for own in inner for block in own], dtype=np.int64)
    covers = set()
    for moment in np.unique(step_starts).tolist():
        running = np.flatnonzero((step_starts <= moment) & (moment < step_ends) & (nodes > 0))
        if int(nodes[running].sum()) <= num_nodes:
            continue
        for order in _orders(running, nodes):
            cover = _minimal(order, nodes, num_nodes)
            members = [inner[apps[s]][s - firsts[apps[s]]] for s in cover]
            covers.add(_lifted(members, blocks, num_nodes))
    return covers


def _inner_blocks(blocks: Sequence[Sequence[Block]]) -> list[list[Block]]:
    """Return the smallest block that contains each step of each application."""
    inner = []
    for own in blocks:
        num_steps = max(block.last for block in own) + 1
        inner.append(
            [
                min((b for b in own if b.first <= step <= b.last), key=lambda b: b.last - b.first)
                for step in range(num_steps)
            ]
        )
    return inner


def _orders(running: IntArray, nodes: IntArray) -> Iterator[IntArray]:
    """Yield orders in which to drop steps: by size, up and down, and with each step first once."""
    ascending = running[np.argsort(nodes[running], kind="stable")]
    yield ascending
    yield ascending[::-1]
    for idx in range(1, len(ascending)):
        yield np.roll(ascending, -idx)


def _minimal(running: IntArray, nodes: IntArray, num_nodes: int) -> list[int]:
    """Drop members in the given order as long as the rest exceeds the cluster."""
    total = int(nodes[running].sum())
    cover = []
    for step in running.tolist():
        if total - int(nodes[step]) > num_nodes:
            total -= int(nodes[step])
        else:
            cover.append(step)
    return cover


def _lifted(members: list[Block], blocks: Sequence[Sequence[Block]], num_nodes: int) -> tuple[Block, ...]:
    """Replace members by larger blocks around them, the cheapest replacement first."""
    slack = sum(block.nodes for block in members) - num_nodes - 1
    while True:
        costs = [b.nodes - b.outer if b.outer >= 0 else math.inf for b in members]
        idx = int(np.argmin(costs))
        if costs[idx] > slack:
            return tuple(sorted(members))
        slack -= int(costs[idx])
        old = members[idx]
        members[idx] = next(
            b for b in blocks[old.app] if b.nodes == old.outer and b.first <= old.first and old.last <= b.last
        )
