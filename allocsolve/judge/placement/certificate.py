"""The certificate of a placement: the judge finds the optimum again, by a program of its own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.judge.certificates import malformed
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.model.checks import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.model import BoolArray, FloatArray, IntArray, PlacementProblem, SwitchTree

#: The value of what is not allowed. Values may be negative and are small beside it: what exceeds its half is
#: not allowed either.
NEVER: Final = 2**61
BEYOND: Final = 2**60


class Asked(NamedTuple):
    """What is asked for, as plain numbers."""

    size: int
    within: int
    segment: int
    number: int  #: of nodes at each touched switch of level 1, 0 for any
    hops: int  #: 1 if distances count, else 0
    domains: int  #: the level whose touched switches count, else 0
    leftover: int  #: 1 if nodes left over count, else 0


class Machine(NamedTuple):
    """The switches; arrays have shape (switches,)."""

    parent: IntArray
    level: IntArray
    weight: IntArray
    capacity: IntArray
    top_down: IntArray
    way: IntArray  #: half hops from each switch to its root
    free: IntArray  #: free nodes at each switch of level 1
    below: IntArray  #: free nodes below each switch
    spare: IntArray  #: free nodes below the root of each switch, but not below the switch
    is_whole: BoolArray  #: whether there must be whole segments below a switch
    begins: IntArray  #: where the values of each switch begin in the memory


@inner_kernel
def _own(machine: Machine, asked: Asked, switch: int, nodes: int) -> int:
    """Return what a switch adds to a sum if so many nodes are chosen below it.

    The nodes of a switch of level 1 pay their way to the root once for each partner. Two nodes below one
    switch do not pay for its link: each of both gets its weight back.
    """
    if nodes == 0:
        return 0
    value: int = -asked.hops * machine.weight[switch] * nodes * (nodes - 1)
    if machine.level[switch] == 1:
        value += asked.hops * machine.way[switch] * nodes * (asked.size - 1)
        value += asked.leftover * (machine.free[switch] - nodes)
    if machine.level[switch] == asked.domains:
        value += 1
    return value


@inner_kernel
def _is_allowed(machine: Machine, asked: Asked, switch: int, nodes: int) -> bool:
    """Return whether so many nodes make whole segments, or the number of a balanced switch."""
    if machine.is_whole[switch] and nodes % asked.segment:
        return False
    return machine.level[switch] > 1 or not asked.number or nodes == asked.number


@inner_kernel
def _pay(
    machine: Machine, asked: Asked, switch: int, most: int, values: IntArray | FloatArray, is_peak: bool
) -> None:
    """Add what the switch costs to the values of all its numbers of nodes."""
    for nodes in range(1, most + 1):
        if machine.level[switch] == 1:
            values[nodes] = 0
        if not _is_allowed(machine, asked, switch, nodes):
            values[nodes] = NEVER
        elif is_peak:
            load = nodes * (asked.size - nodes) / machine.capacity[switch]
            values[nodes] = max(values[nodes], load)
        else:
            values[nodes] += _own(machine, asked, switch, nodes)


@inner_kernel
def _join_row(
    target: IntArray | FloatArray, source: IntArray | FloatArray, value: float, is_peak: bool
) -> None:
    """Take the lesser of each entry and that of the source joined with a value."""
    if is_peak:
        for at in range(len(source)):
            target[at] = min(target[at], max(source[at], value))
    else:
        for at in range(len(source)):
            target[at] = min(target[at], source[at] + value)


@inner_kernel
def _join(
    one: IntArray | FloatArray,
    other: IntArray | FloatArray,
    target: IntArray | FloatArray,
    size: int,
    low: int,
    is_peak: bool,
) -> None:
    """Write the least values of at least `low` and at most `size` nodes, some of both parts.

    `one` is not the longer one.
    """
    for nodes in range(min(len(one) + len(other) - 1, size + 1)):
        target[nodes] = NEVER
    for nodes in range(len(one)):
        value = one[nodes]
        begin, end = max(0, low - nodes), min(len(other), size - nodes + 1)
        if value <= BEYOND and begin < end:
            _join_row(target[nodes + begin : nodes + end], other[begin:end], value, is_peak)


@kernel
def least_value(
    machine: Machine,
    asked: Asked,
    memory: IntArray | FloatArray,
    spare: IntArray | FloatArray,
    done: IntArray,
    is_peak: bool,
) -> float:
    """Return the least sum over all switches, or the least peak of their loads; beyond `BEYOND` if none is.

    The values of a switch are by the nodes chosen below it. Each switch joins them to those of its parent,
    after its children have joined theirs. Above the level `within` all nodes are below one child.
    In the memory there is 0 for no nodes below each switch, else `NEVER`; `spare` has room for one switch,
    and in `done` are zeros by switch. O(free nodes * size).
    """
    size, parent = asked.size, machine.parent
    best: float = 0 * memory[0] + NEVER  # an integer for sums
    for place in range(len(parent) - 1, -1, -1):
        switch = machine.top_down[place]
        most = min(machine.below[switch], size)
        if not most:
            continue
        here, above = machine.begins[switch], parent[switch]
        values = memory[here : here + most + 1]
        _pay(machine, asked, switch, most, values, is_peak)
        if above < 0:
            if most == size:
                best = min(best, values[size])
            continue
        there = machine.begins[above]
        if asked.within and machine.level[above] > asked.within:
            if most == size:
                memory[there + size] = min(memory[there + size], values[size])
            continue
        before = memory[there : there + min(done[above], size) + 1]
        done[above] += machine.below[switch]  # of the children that have joined
        # What has not joined yet below this root has room for the rest only.
        low = size - (machine.spare[above] + machine.below[above] - done[above])
        if len(values) > len(before):
            before, values = values, before
        _join(values, before, spare, size, low, is_peak)
        for nodes in range(min(done[above], size) + 1):
            memory[there + nodes] = spare[nodes]
    return best


def placement_certificate_bound(
    problem: PlacementProblem, certificate: Mapping[str, object], term: str
) -> float:
    """Return a lower bound on a term, after finding the optimum of that term.

    The certificate has ``kind``: "knapsack"; ``term``: the first term of the objective; and ``bound``, which
    is returned: an integer, or a number of a bottleneck. `InvalidAnswer` if it has not this form, no
    placement answers the problem, or one has a value below the bound.

    Notes
    -----
    *No shorter proof.* Distances are concave in the number of nodes below a link, so that multipliers leave a
    gap; what proves an optimum are the least values of each switch for each number of nodes below it.

    *Distances.* If each two nodes met at their root, node i would pay its way up once for each of its k - 1
    partners. For each switch above both of two nodes, both get the weight of its link back. So the sum of
    all distances, in half hops, is (k - 1) times the sum of all ways less the sum of weight * s (s - 1) over
    all switches with s of the nodes below them. `Domains` and `leftover` are sums over the switches by
    definition, and the bottleneck is a maximum.

    *Program.* The least values of a switch are joined child by child: the least of all ways to choose some
    nodes below the next child and the others below the children before it. Segments and balance forbid
    numbers of nodes, balance for each number that divides the size in a program of its own. Above the level
    `within` all nodes are below one child.

    *Complexity*: O(free nodes * size), times the numbers that divide the size if balanced. No code is shared
    with the solver.
    """
    bound = certificate.get("bound")
    if type(bound) is not int and not (
        term == "bottleneck" and type(bound) is float and math.isfinite(bound)
    ):
        raise malformed(f"bound {shown(bound)} of the certificate is not a number of {term}")
    assert isinstance(bound, int | float)
    optimum = least_placement(problem, term)
    if optimum is None:
        raise InvalidAnswer("no placement answers the problem, the certificate is of another one")
    if bound > optimum:
        raise InvalidAnswer(f"the certificate claims the bound {bound} of {term}, the optimum is {optimum}")
    return bound


def least_placement(problem: PlacementProblem, term: str) -> float | None:
    """Return the least value of one term that a placement can have, None if there is no placement."""
    size = problem.size
    machine = _machine(problem)
    is_peak = term == "bottleneck"
    numbers = [0]
    if problem.balanced:
        most = min(int(machine.free.max()), size)
        numbers = [number for number in range(1, most + 1) if size % number == 0]
    empty: FloatArray | IntArray = np.full(int(machine.begins[-1]), NEVER)
    empty[machine.begins[:-1]] = 0
    if is_peak:
        empty = empty.astype(np.float64)
    spare, done = np.empty_like(empty, shape=size + 1), np.zeros_like(machine.free)
    best: float = BEYOND
    for number in numbers:
        asked = Asked(
            size,
            problem.within,
            problem.segment,
            number,
            int(term == "pairwise"),
            int(term.partition("-")[2] or 1) if term.startswith("domains") else 0,
            int(term == "leftover"),
        )
        best = min(best, least_value(machine, asked, empty.copy(), spare, done.copy(), is_peak))
    if best >= BEYOND:
        return None
    if is_peak:
        return float(best)
    constant = problem.tree.node_weight * (size * (size - 1) // 2)
    return int(best) // 2 + constant if term == "pairwise" else int(best)


def _machine(problem: PlacementProblem) -> Machine:
    tree = problem.tree
    free = np.bincount(tree.switch[problem.free], minlength=tree.num_switches)
    root, way = np.arange(tree.num_switches), tree.weight.copy()
    below = free.copy()
    above = tree.parent
    while (has := above >= 0).any():
        at = above[has]
        root[has] = at
        way[has] += tree.weight[at]
        below += _summed(at, free[has], tree)
        above = np.where(has, tree.parent[above], -1)
    level = problem.segment_level
    beyond = (tree.parent < 0) | (tree.level[tree.parent] > level)
    is_whole = (tree.level <= level) & beyond & (problem.segment > 0)
    lengths = np.minimum(below, problem.size) + 1
    return Machine(
        tree.parent,
        tree.level,
        tree.weight,
        tree.capacity,
        tree.top_down,
        way,
        free,
        below,
        below[root] - below,
        is_whole,
        np.concatenate([[0], np.cumsum(lengths)]),
    )


def _summed(at: IntArray, counts: IntArray, tree: SwitchTree) -> IntArray:
    """Return the sums of whole numbers by switch."""
    return np.bincount(at, counts, tree.num_switches).astype(np.int64)
