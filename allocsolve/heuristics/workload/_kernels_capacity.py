"""What is free over time, for kernels that plan: nodes, and each other resource of a machine.

Nodes are `FreeNodes`, and so is what each other resource has left. Capacities and what jobs hold, or will
hold by their reservations, are both in it. Without other resources, the machine is None for these kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.kernels import inner_kernel
from allocsolve.kernels.free_nodes import (
    FreeNodes,
    append,
    change,
    earliest,
    forget_past,
    least_free,
    restart,
)
from allocsolve.kernels.records import Record, Records, records

if TYPE_CHECKING:
    from allocsolve.heuristics.workload.resources import Machine
    from allocsolve.model import IntArray
    from allocsolve.simulation.kernels import State


class Fact(Record):
    """What is known of all jobs with at least so many nodes and seconds."""

    nodes: int
    seconds: float
    #: An instant before which no such job has room; in a compression, minus an instant: no such job whose
    #: reservation begins then or later can have an earlier one. The larger one says more.
    time: float


#: The most facts that are kept.
_MOST_FACTS: Final = 16


class Facts(NamedTuple):
    """What is known of who finds no room, as long as nothing is given back; all is written."""

    #: Shape (1,): how many there are.
    used: IntArray
    rows: Records[Fact]


def no_facts() -> Facts:
    """Return that nothing is known."""
    return Facts(np.zeros(1, dtype=np.int64), records(Fact, _MOST_FACTS))


@inner_kernel
def known(facts: Facts, nodes: int, seconds: float) -> float:
    """Return the largest time of the facts that hold for a job. O(facts)."""
    time = -np.inf
    for at in range(facts.used[0]):
        fact = facts.rows[at]
        if fact.nodes <= nodes and fact.seconds <= seconds:
            time = max(time, fact.time)
    return time


@inner_kernel
def note(
    facts: Facts, job: int, nodes: int, seconds: float, time: float, machine: Machine | None = None
) -> None:
    """Keep a fact that was found for a job, in place of those that say less. O(facts)."""
    if machine is not None and machine.offsets[job + 1] - machine.offsets[job] > 1:
        return  # it may be for the lack of something else than nodes
    kept, rows = 0, facts.rows
    for at in range(facts.used[0]):
        fact = rows[at]
        if fact.nodes < nodes or fact.seconds < seconds or fact.time > time:
            rows[kept] = rows[at]
            kept += 1
    kept = min(kept, len(rows) - 1)
    rows[kept].nodes, rows[kept].seconds, rows[kept].time = nodes, seconds, time
    facts.used[0] = kept + 1


@inner_kernel
def book(
    free: FreeNodes, job: int, nodes: int, begin: float, end: float, sign: int, machine: Machine | None = None
) -> None:
    """Take what a job needs out of the plan between two instants (sign -1), or put it back (sign 1)."""
    change(free, begin, end, sign * nodes)
    if machine is not None:
        for at in range(machine.offsets[job] + 1, machine.offsets[job + 1]):
            row = machine.resource[at] - 1
            left = FreeNodes(machine.numbers[row], machine.chunks[row], machine.steps[row])
            change(left, begin, end, sign * machine.amount[at])


@inner_kernel
def others_have_room(machine: Machine, job: int, begin: float, end: float) -> bool:
    """Return whether all that a job needs beyond nodes is free from one instant to another."""
    for at in range(machine.offsets[job] + 1, machine.offsets[job + 1]):
        row = machine.resource[at] - 1
        left = FreeNodes(machine.numbers[row], machine.chunks[row], machine.steps[row])
        if least_free(left, begin, end) < machine.amount[at]:
            return False
    return True


@inner_kernel
def earliest_room(
    free: FreeNodes,
    job: int,
    nodes: int,
    start: float,
    seconds: float,
    known: float,
    machine: Machine | None = None,
) -> float:
    """Return the first instant from `start` on from which a job has room for `seconds`, or `known`.

    From `known` on, infinite for never, it has room anyway: the answer is not later. Resource after resource
    says from when on it has room, until all say the same.
    """
    start = earliest(free, start, nodes, seconds, known)
    if machine is not None:
        begin, end = machine.offsets[job], machine.offsets[job + 1]
        at, agreed = begin + 1, 1
        while agreed < end - begin and start < known:
            if at == end:
                at = begin
            first = start
            if at == begin:
                first = earliest(free, start, nodes, seconds, known)
            else:
                row = machine.resource[at] - 1
                left = FreeNodes(machine.numbers[row], machine.chunks[row], machine.steps[row])
                first = earliest(left, start, machine.amount[at], seconds, known)
            if first > start:
                start, agreed = first, 0
            agreed += 1
            at += 1
    return min(start, known)


@inner_kernel
def begin_at(free: FreeNodes, now: float, machine: Machine | None = None) -> None:
    """Let the plan begin now; what was before is forgotten."""
    forget_past(free, now)
    if machine is not None:
        for row in range(len(machine.numbers)):
            forget_past(FreeNodes(machine.numbers[row], machine.chunks[row], machine.steps[row]), now)


@inner_kernel
def _release_until(state: State, machine: Machine, at: int, time: float) -> tuple[int, int]:
    """Add to what is free what jobs hold that are expected to end by an instant, but for nodes.

    Return the nodes that they hold, and the place of the next one.
    """
    held, nodes = state.held, 0
    while at < state.engine.last and held[at].key <= time:
        nodes += held[at].nodes
        if held[at].job >= 0:
            for place in range(machine.offsets[held[at].job] + 1, machine.offsets[held[at].job + 1]):
                machine.level[machine.resource[place]] += machine.amount[place]
        at += 1
    return nodes, at


@inner_kernel
def _write(free: FreeNodes, time: float, level: int) -> None:
    """From an instant on, after all written ones, so much is free."""
    chunk = free.chunks[free.numbers.used - 1]
    if free.steps[chunk.last - 1].free + chunk.shift != level:
        append(free, time, level)


@inner_kernel
def _expect_steps(state: State, free: FreeNodes, machine: Machine) -> None:
    """Write what is free from now on of a machine. O((running jobs + steps) x resources)."""
    engine, times, capacity = state.engine, machine.times, machine.capacity
    step, level = machine.step[0], machine.level
    for resource in range(1, len(level)):
        level[resource] = capacity[step, resource] - machine.held[resource]
    released, at = _release_until(state, machine, engine.first, engine.clock)
    nodes = engine.free + released
    restart(free, engine.clock, nodes)
    for row in range(len(level) - 1):
        left = FreeNodes(machine.numbers[row], machine.chunks[row], machine.steps[row])
        restart(left, engine.clock, level[row + 1])
    while at < engine.last or step + 1 < len(times):
        time = np.inf
        if at < engine.last:
            time = state.held[at].key
        if step + 1 < len(times):
            time = min(time, times[step + 1])
        released, at = _release_until(state, machine, at, time)
        nodes += released
        if step + 1 < len(times) and times[step + 1] == time:
            step += 1
            nodes += capacity[step, 0] - capacity[step - 1, 0]
            for resource in range(1, len(level)):
                level[resource] += capacity[step, resource] - capacity[step - 1, resource]
        _write(free, time, nodes)
        for row in range(len(level) - 1):
            left = FreeNodes(machine.numbers[row], machine.chunks[row], machine.steps[row])
            _write(left, time, level[row + 1])


@inner_kernel
def expect_running(state: State, free: FreeNodes, machine: Machine | None = None) -> None:
    """Write what is free from now on, if running jobs end when they are expected to.

    A job that has run longer than expected is expected to end now. O(running jobs).
    """
    if machine is not None:
        _expect_steps(state, free, machine)
        return
    now, last, held = state.engine.clock, state.engine.last, state.held
    nodes, at = state.engine.free, state.engine.first
    while at < last and held[at].key <= now:
        nodes += held[at].nodes
        at += 1
    restart(free, now, nodes)
    while at < last:
        end, released = held[at].key, 0
        while at < last and held[at].key == end:
            released += held[at].nodes
            at += 1
        if released:
            nodes += released
            append(free, end, nodes)
