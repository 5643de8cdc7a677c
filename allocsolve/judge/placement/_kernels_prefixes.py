"""The least value of a placement, child by child: the judge's own program, without a way back."""
# Kernels take their arguments by position.

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.kernels import inner_kernel, kernel

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, FloatArray, IntArray

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
