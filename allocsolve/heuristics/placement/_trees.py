"""What the rules of placement share: domains by level, the first nodes of switches, best fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import BoolArray, IntArray, SwitchTree


def domain_of(tree: SwitchTree, switches: IntArray, level: int) -> IntArray:
    """Return the highest switch of at most a level at or above each of these, shape (switches,).

    So the switches of level 1 fall into the domains of each level, however long the ways to the roots are:
    a switch counts as a domain of all levels from its own to below that of its parent.
    """
    while True:
        above = tree.parent[switches]
        is_below = (above >= 0) & (tree.level[above] <= level)
        if not is_below.any():
            return switches
        switches = np.where(is_below, above, switches)


def fitting_domains(
    tree: SwitchTree, below: IntArray, size: int, lowest: int, highest: int
) -> tuple[int, IntArray]:
    """Return the lowest level of a range at which a domain can hold the size, and those that can, by id.

    How many free nodes are below each switch `below` says, shape (switches,). Levels are from 1 to the
    height. Return the level and its domains (`domain_of`); 0 and none if nothing holds the size.
    """
    domains = np.flatnonzero(tree.level == 1)
    for level in range(1, highest + 1):
        domains = np.unique(domain_of(tree, domains, level))
        fitting = domains[below[domains] >= size]
        if level >= lowest and len(fitting):
            return level, fitting
    return 0, domains[:0]


def below_domains(tree: SwitchTree, domains: IntArray | Sequence[int]) -> BoolArray:
    """Return which switches are at or below any of these, shape (switches,)."""
    inside = np.zeros(tree.num_switches, dtype=np.bool_)
    inside[domains] = True
    for level in range(tree.height - 1, 0, -1):
        at = np.flatnonzero((tree.level == level) & (tree.parent >= 0))
        inside[at] |= inside[tree.parent[at]]
    return inside


def first_nodes(tree: SwitchTree, free: BoolArray, take: IntArray) -> IntArray:
    """Return the lowest free nodes of each switch, so many of each as said, shape (switches,); by id."""
    nodes = np.flatnonzero(free)
    nodes = nodes[take[tree.switch[nodes]] > 0]
    switch = tree.switch[nodes]
    order = np.argsort(switch, kind="stable")
    counts = np.bincount(switch, minlength=tree.num_switches)
    starts = np.cumsum(counts) - counts
    rank = np.arange(len(nodes)) - starts[switch[order]]
    return np.sort(nodes[order[rank < take[switch[order]]]], kind="stable")


def last_best_fit(counts: IntArray, size: int) -> IntArray:
    """Take the largest counts until one of the others holds the rest; of those, take the smallest.

    The counts must sum up to the size. Return the places of the taken ones, the one that holds the rest last.
    Of equal counts the first is taken.
    """
    order = np.argsort(-counts, kind="stable")
    falling = counts[order]
    rest = size - (np.cumsum(falling) - falling)
    whole = int(np.argmax(falling >= rest))
    fitting = order[whole:][falling[whole:] >= rest[whole]]
    last = fitting[np.argmax(counts[fitting] == counts[fitting].min())]
    return np.append(order[:whole], last)
