"""Kernels for processes: which nodes they go to, how they share a node, and what each operation does."""

from __future__ import annotations

# ruff: noqa: PLR0915
# `go_on` is a single loop.
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.partition.lattice import distance_along
from allocsolve.heuristics.programs._kernels_flows import BITS, MASK, begin_flow
from allocsolve.heuristics.programs.state import (
    ABSENT,
    ALIVE,
    ARRIVES,
    BEGAN,
    BEHIND,
    BUSY,
    COMPUTED,
    COMPUTING,
    CONTENTION,
    CONTIGUOUS,
    CORES,
    DELIVERED,
    DUE,
    ENDED,
    EVENTS,
    FIRST,
    FORKED,
    FREE,
    HEAD,
    JOINED,
    LIVING,
    NEXT,
    NODE,
    OWN_FIRST,
    OWNER,
    RECEIVER,
    RESULT,
    RETRY,
    ROWS,
    SENDER,
    SERVED,
    SINCE,
    STAGE,
    SYNCHRONOUS,
    TAKEN,
    TENANTS,
    WORKED,
    seconds,
)
from allocsolve.kernels import inner_kernel
from allocsolve.kernels.heap import change, raise_up, take_out
from allocsolve.model.program import COMPUTE, FORK, RECEIVE, SEND

if TYPE_CHECKING:
    from allocsolve.heuristics.partition.lattice import Lattice
    from allocsolve.heuristics.programs.state import Executed, Machine, Programs, State
    from allocsolve.model import IntArray


@inner_kernel
def hops(shape: IntArray, wrap: IntArray, coordinates: IntArray, first: int, second: int) -> int:
    """Return the hop distance of two nodes."""
    total = 0
    for axis in range(len(shape)):
        total += distance_along(coordinates[first, axis], coordinates[second, axis], shape[axis], wrap[axis])
    return total


@inner_kernel
def drop(machine: Machine, state: State, row: int, first: int, wanted: int) -> int:
    """Write up to `wanted` free nodes to `State.spot`, in the order of the curve; return their number.

    The nodes are met breadth-first from the first free node on the snake, which is searched from the
    beginning of a row or from the node `first` on.
    """
    lattice, node, met, spot = machine.lattice, state.node, state.met, state.spot
    num_nodes = len(met)
    contiguous = machine.rules[CONTIGUOUS] == 1
    for at in range(num_nodes):
        met[at] = 0
    start = row * lattice.shape[0]
    if first >= 0:
        start = machine.snake_place[first]
    head = tail = 0
    for step in range(num_nodes):
        seed = machine.snake[(start + step) % num_nodes]
        if node[seed, OWNER] >= 0 or met[seed] == 1:
            continue
        if tail > 0 and contiguous:
            break
        met[seed] = 1
        spot[tail] = seed
        tail += 1
        while head < tail < wanted:
            here = spot[head]
            head += 1
            for k in range(lattice.offsets[here], lattice.offsets[here + 1]):
                other = lattice.neighbours[k]
                if node[other, OWNER] < 0 and met[other] == 0 and tail < wanted:
                    met[other] = 1
                    spot[tail] = other
                    tail += 1
        if tail >= wanted:
            break
    count = 0
    for at in range(num_nodes):
        here = machine.curve[at]
        if met[here] == 1:
            spot[count] = here
            count += 1
    return count


@inner_kernel
def room_in_partition(lattice: Lattice, state: State, nodes: IntArray, parent: int) -> int:
    """Return the node with the fewest processes; ties go to the nearest to the parent, then by id."""
    best, best_load, nearest = -1, 0, 0
    for node in nodes:
        load = state.node[node, TENANTS]
        if best >= 0 and load > best_load:
            continue
        far = hops(lattice.shape, lattice.wrap, lattice.coordinates, parent, node)
        if best < 0 or load < best_load or far < nearest or (far == nearest and node < best):
            best, best_load, nearest = int(node), load, far
    return best


@inner_kernel
def _free_neighbour(offsets: IntArray, neighbours: IntArray, node: IntArray, here: int) -> int:
    """Return the first free neighbour of a node; -1 if there is none."""
    for k in range(offsets[here], offsets[here + 1]):
        other: int = neighbours[k]
        if node[other, OWNER] < 0:
            return other
    return -1


@inner_kernel
def room(machine: Machine, state: State, job: int, parent: int) -> int:
    """Return the node for a process that a leaking job forks on the node `parent`."""
    rules, node, met, spot = machine.rules, state.node, state.met, state.spot
    offsets, neighbours = machine.lattice.offsets, machine.lattice.neighbours
    if rules[OWN_FIRST] == 1 and node[parent, TENANTS] < rules[CORES]:
        return parent
    if state.counts[FREE] == 0:
        return parent
    free = _free_neighbour(offsets, neighbours, node, parent)
    if free >= 0:
        return free
    num_nodes = len(met)
    for at in range(num_nodes):
        met[at] = 0
    met[parent] = 1
    spot[0] = parent
    head, tail = 0, 1
    while head < tail:
        here = spot[head]
        head += 1
        for k in range(offsets[here], offsets[here + 1]):
            other = neighbours[k]
            if node[other, OWNER] == job and met[other] == 0:
                free = _free_neighbour(offsets, neighbours, node, other)
                if free >= 0:
                    return free
                met[other] = 1
                spot[tail] = other
                tail += 1
    for other in range(num_nodes):
        if node[other, OWNER] == job and met[other] == 0:
            free = _free_neighbour(offsets, neighbours, node, other)
            if free >= 0:
                return free
    if rules[CONTIGUOUS] == 0:
        for step in range(num_nodes):
            at = (machine.snake_place[parent] + step) % num_nodes
            free = int(machine.snake[at])
            if node[free, OWNER] < 0:
                return free
    return parent


@inner_kernel
def _add_event(state: State, job: int, base: int, time: float, key: int) -> None:
    """Add an event to the heap of a job, whose slots begin at `base`."""
    raise_up(state.events[base:], state.event_places[base:], MASK, state.job[job, EVENTS], time, key)
    state.job[job, EVENTS] += 1


@inner_kernel
def _share(cores: int, computing: int) -> float:
    """Return the speed of each process if `computing` processes share a node; 1 is full speed."""
    return 1.0 if computing <= cores else cores / computing


@inner_kernel
def _foresee(machine: Machine, jobs: Executed, state: State, job: int, here: int) -> None:
    """Set the event at which the first process of a job on a node is done."""
    process, node, node_time = state.process, state.node, state.node_time
    base, first = jobs.slot_at[job], jobs.process_at[job]
    events, places = state.events[base:], state.event_places[base:]
    best, due = -1, 0.0
    p = node[here, HEAD]
    while p >= 0:
        level = state.process_time[first + p, DUE]
        if best < 0 or level < due or (level == due and p < best):
            best, due = p, level
        p = process[first + p, BEHIND]
    speed = _share(machine.rules[CORES], node[here, COMPUTING])
    time = node_time[here, SINCE] + (due - node_time[here, SERVED]) / speed
    key = (COMPUTED << BITS) | best
    last = node[here, FIRST]
    if last == best:
        change(events, places, MASK, state.job[job, EVENTS], places[best], time, key)
        return
    if last >= 0:
        take_out(events, places, MASK, state.job[job, EVENTS], places[last])
        state.job[job, EVENTS] -= 1
    raise_up(events, places, MASK, state.job[job, EVENTS], time, key)
    state.job[job, EVENTS] += 1
    node[here, FIRST] = best


@inner_kernel
def take_node(state: State, here: int, job: int, at: float) -> None:
    """Give a free node to a job, at a time in seconds."""
    node = state.node
    node[here, OWNER] = job
    node[here, COMPUTING] = node[here, TENANTS] = 0
    node[here, HEAD] = node[here, FIRST] = -1
    state.node_time[here, TAKEN] = at
    state.counts[FREE] -= 1


@inner_kernel
def give_back(state: State, here: int, at: float) -> None:
    """Take a node from its job at a time in seconds, and note for how long the job had it."""
    counts, row = state.counts, state.counts[ROWS]
    state.rows[row, 0], state.rows[row, 1] = state.node[here, OWNER], here
    state.row_time[row, 0], state.row_time[row, 1] = state.node_time[here, TAKEN], at
    counts[ROWS] += 1
    state.node[here, OWNER] = -1
    counts[FREE] += 1
    counts[RETRY] = 1


@inner_kernel
def stop_computing(machine: Machine, jobs: Executed, state: State, job_idx: int, p: int, tau: float) -> None:
    """End a computation whose event has been removed from the heap."""
    process, node, node_time = state.process, state.node, state.node_time
    first = jobs.process_at[job_idx]
    here = process[first + p, NODE]
    node_time[here, SERVED], node_time[here, SINCE] = state.process_time[first + p, DUE], tau
    node[here, FIRST] = -1
    node[here, COMPUTING] -= 1
    if node[here, HEAD] == p:
        node[here, HEAD] = process[first + p, BEHIND]
    else:
        before = node[here, HEAD]
        while process[first + before, BEHIND] != p:
            before = process[first + before, BEHIND]
        process[first + before, BEHIND] = process[first + p, BEHIND]
    if node[here, COMPUTING] == 0:
        state.job_time[job_idx, WORKED] += tau - node_time[here, BUSY]
    else:
        _foresee(machine, jobs, state, job_idx, here)


@inner_kernel
def _start_computing(
    machine: Machine, jobs: Executed, state: State, job_idx: int, p: int, work: float, tau: float
) -> None:
    """Begin a computation of a process, and update when the first process on its node is done."""
    process, node, node_time = state.process, state.node, state.node_time
    first = jobs.process_at[job_idx]
    here = process[first + p, NODE]
    if node[here, COMPUTING] > 0:
        speed = _share(machine.rules[CORES], node[here, COMPUTING])
        node_time[here, SERVED] += (tau - node_time[here, SINCE]) * speed
    else:
        node_time[here, SERVED], node_time[here, BUSY] = 0.0, tau
    node_time[here, SINCE] = tau
    node[here, COMPUTING] += 1
    state.process_time[first + p, DUE] = node_time[here, SERVED] + work
    process[first + p, BEHIND] = node[here, HEAD]
    node[here, HEAD] = p
    _foresee(machine, jobs, state, job_idx, here)


@inner_kernel
def _fork(machine: Machine, jobs: Executed, state: State, job_idx: int, parent: int, tau: float) -> int:
    """Return the node of a new process; the job takes the node first if it is free."""
    node = state.node
    if jobs.set_at[job_idx] < jobs.set_at[job_idx + 1]:
        partition = jobs.sets[jobs.set_at[job_idx] : jobs.set_at[job_idx + 1]]
        here = room_in_partition(machine.lattice, state, partition, parent)
    else:
        here = room(machine, state, job_idx, parent)
    if node[here, OWNER] < 0:
        began = state.job_time[job_idx, BEGAN]
        at = seconds(began, jobs.limit[job_idx], jobs.factor[job_idx], tau)
        take_node(state, here, job_idx, at)
    node[here, TENANTS] += 1
    state.job[job_idx, ALIVE] += 1
    return here


@inner_kernel
def go_on(
    machine: Machine, programs: Programs, jobs: Executed, state: State, job_idx: int, p: int, tau: float
) -> None:
    """Let a process go on until it has to wait or ends.

    Messages, inputs and results travel in the same way: with contention as a flow whose end is not known yet,
    otherwise with a known time of arrival. An arrival is an event only if a process waits for it.
    """
    process, process_time, channel = state.process, state.process_time, state.channel
    message, arrival, rules = state.message, state.arrival, machine.rules
    program, base = jobs.program[job_idx], jobs.slot_at[job_idx]
    first_process, first_channel = jobs.process_at[job_idx], jobs.channel_at[job_idx]
    first_message = jobs.message_at[job_idx]
    its_processes, its_channels = programs.process_at[program], programs.channel_at[program]
    num_processes = programs.process_at[program + 1] - its_processes
    here = process[first_process + p, NODE]
    last = programs.operation_at[its_processes + p + 1]
    while True:
        at = process[first_process + p, NEXT]
        code, target, weight = -1, p, 0.0
        if at < last:
            process[first_process + p, NEXT] = at + 1
            code, target, weight = programs.code[at], programs.target[at], programs.amount[at]
        if code == COMPUTE:
            work = jobs.compute[job_idx] * weight
            if work > 0:
                _start_computing(machine, jobs, state, job_idx, p, work, tau)
                return
            continue
        if code == RECEIVE:
            number = channel[first_channel + target, 1]
            channel[first_channel + target, 1] = number + 1
            slot = programs.first_message[its_channels + target] + number
            if arrival[first_message + slot] <= tau:
                continue
            message[first_message + slot, RECEIVER] = p
            known = arrival[first_message + slot] < np.inf
            if known and state.event_places[base + num_processes + slot] < 0:
                key = (DELIVERED << BITS) | (num_processes + slot)
                _add_event(state, job_idx, base, arrival[first_message + slot], key)
            return
        if code > FORK:  # a join
            if process_time[first_process + target, ARRIVES] <= tau:
                continue
            process[first_process + target, JOINED] = 1
            arrives = process_time[first_process + target, ARRIVES]
            if arrives < np.inf:
                _add_event(state, job_idx, base, arrives, (RESULT << BITS) | target)
            return
        # Something travels: a message, an input or a result.
        kind, slot, there = RESULT, p, here
        awaited = False
        if code == SEND:
            kind = DELIVERED
            number = channel[first_channel + target, 0]
            channel[first_channel + target, 0] = number + 1
            slot = num_processes + programs.first_message[its_channels + target] + number
            to = programs.receiver[its_channels + target]
            if to >= 0:
                while process[first_process + to, STAGE] == ABSENT:
                    to = programs.parent[its_processes + to]
                there = process[first_process + to, NODE]
            awaited = message[first_message + slot - num_processes, RECEIVER] >= 0
        elif code == FORK:
            kind, slot = FORKED, target
            there = _fork(machine, jobs, state, job_idx, here, tau)
            process[first_process + target, NODE] = there
            process[first_process + target, STAGE] = LIVING
            awaited = True
        else:
            process[first_process + p, STAGE] = ENDED
            to = programs.parent[its_processes + p]
            if to >= 0:
                there = process[first_process + to, NODE]
                weight = programs.weight[its_processes + p]
            awaited = process[first_process + p, JOINED] == 1
        time = 0.0
        if there != here:
            lattice, part = machine.lattice, machine.hop_part
            far = hops(lattice.shape, lattice.wrap, lattice.coordinates, here, there)
            time = jobs.message[job_idx] * weight * (1.0 - part + part * far)
        if code == SEND and rules[SYNCHRONOUS] == 1 and time > 0:
            message[first_message + slot - num_processes, SENDER] = p
            awaited = True
        if time > 0 and rules[CONTENTION] == 1:
            begin_flow(state, base + slot, job_idx, here, there, kind, time, tau)
        else:
            if kind == DELIVERED:
                arrival[first_message + slot - num_processes] = tau + time
            elif kind == RESULT:
                process_time[first_process + slot, ARRIVES] = tau + time
            if awaited:
                _add_event(state, job_idx, base, tau + time, (kind << BITS) | slot)
        if code < 0:
            state.job[job_idx, ALIVE] -= 1
            state.node[here, TENANTS] -= 1
            leaks = jobs.set_at[job_idx] == jobs.set_at[job_idx + 1]
            if leaks and state.node[here, TENANTS] == 0:
                began = state.job_time[job_idx, BEGAN]
                until = seconds(began, jobs.limit[job_idx], jobs.factor[job_idx], tau)
                give_back(state, here, until)
            return
        if code == SEND and rules[SYNCHRONOUS] == 1 and time > 0:
            return
