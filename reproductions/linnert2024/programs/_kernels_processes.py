"""Kernels for processes: which nodes they go to, how they share a node, and what each operation does."""

from __future__ import annotations

# ruff: noqa: PLR0915
# `go_on` is a single loop.
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.partition.allocator import hops
from allocsolve.kernels import inner_kernel
from allocsolve.kernels.heap import change, raise_up, take_out
from reproductions.linnert2024.programs._kernels_flows import BITS, MASK, begin_flow
from reproductions.linnert2024.programs.program import COMPUTE, FORK, RECEIVE, SEND
from reproductions.linnert2024.programs.state import (
    ABSENT,
    COMPUTED,
    DELIVERED,
    ENDED,
    FORKED,
    LIVING,
    RESULT,
    seconds,
)

if TYPE_CHECKING:
    from allocsolve.heuristics.partition.allocator import Lattice
    from allocsolve.kernels.records import Records
    from allocsolve.model import IntArray
    from reproductions.linnert2024.programs.state import Executed, Machine, NodeState, Programs, State


@inner_kernel
def drop(machine: Machine, state: State, row: int, first: int, wanted: int) -> int:
    """Write up to `wanted` free nodes to `State.spot`, in the order of the curve; return their number.

    The nodes are met breadth-first from the first free node on the snake, which is searched from the
    beginning of a row or from the node `first` on.
    """
    lattice, node, met, spot = machine.lattice, state.node, state.met, state.spot
    num_nodes = len(met)
    contiguous = machine.contiguous
    for at in range(num_nodes):
        met[at] = 0
    start = row * lattice.shape[0]
    if first >= 0:
        start = machine.snake_place[first]
    head = tail = 0
    for step in range(num_nodes):
        seed = machine.snake[(start + step) % num_nodes]
        if node[seed].owner >= 0 or met[seed] == 1:
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
                if node[other].owner < 0 and met[other] == 0 and tail < wanted:
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
        load = state.node[node].tenants
        if best >= 0 and load > best_load:
            continue
        far = hops(lattice, parent, node)
        if best < 0 or load < best_load or far < nearest or (far == nearest and node < best):
            best, best_load, nearest = int(node), load, far
    return best


@inner_kernel
def _free_neighbour(offsets: IntArray, neighbours: IntArray, node: Records[NodeState], here: int) -> int:
    """Return the first free neighbour of a node; -1 if there is none."""
    for k in range(offsets[here], offsets[here + 1]):
        other: int = neighbours[k]
        if node[other].owner < 0:
            return other
    return -1


@inner_kernel
def room(machine: Machine, state: State, job: int, parent: int) -> int:
    """Return the node for a process that a leaking job forks on the node `parent`."""
    node, met, spot = state.node, state.met, state.spot
    offsets, neighbours = machine.lattice.offsets, machine.lattice.neighbours
    if machine.own_first and node[parent].tenants < machine.cores:
        return parent
    if state.counts.free == 0:
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
            if node[other].owner == job and met[other] == 0:
                free = _free_neighbour(offsets, neighbours, node, other)
                if free >= 0:
                    return free
                met[other] = 1
                spot[tail] = other
                tail += 1
    for other in range(num_nodes):
        if node[other].owner == job and met[other] == 0:
            free = _free_neighbour(offsets, neighbours, node, other)
            if free >= 0:
                return free
    if not machine.contiguous:
        for step in range(num_nodes):
            at = (machine.snake_place[parent] + step) % num_nodes
            free = int(machine.snake[at])
            if node[free].owner < 0:
                return free
    return parent


@inner_kernel
def _add_event(state: State, job: int, base: int, time: float, key: int) -> None:
    """Add an event to the heap of a job, whose slots begin at `base`."""
    raise_up(state.events[base:], state.event_places[base:], MASK, state.job[job].events, time, key)
    state.job[job].events += 1


@inner_kernel
def _share(cores: int, computing: int) -> float:
    """Return the speed of each process if `computing` processes share a node; 1 is full speed."""
    return 1.0 if computing <= cores else cores / computing


@inner_kernel
def _foresee(machine: Machine, jobs: Executed, state: State, job: int, here: int) -> None:
    """Set the event at which the first process of a job on a node is done."""
    process, node = state.process, state.node
    base, first = jobs.slot_at[job], jobs.process_at[job]
    events, places = state.events[base:], state.event_places[base:]
    best, due = -1, 0.0
    p = node[here].head
    while p >= 0:
        level = state.process[first + p].due
        if best < 0 or level < due or (level == due and p < best):
            best, due = p, level
        p = process[first + p].behind
    speed = _share(machine.cores, node[here].computing)
    time = node[here].since + (due - node[here].served) / speed
    key = (COMPUTED << BITS) | best
    last = node[here].first
    if last == best:
        change(events, places, MASK, state.job[job].events, places[best], time, key)
        return
    if last >= 0:
        take_out(events, places, MASK, state.job[job].events, places[last])
        state.job[job].events -= 1
    raise_up(events, places, MASK, state.job[job].events, time, key)
    state.job[job].events += 1
    node[here].first = best


@inner_kernel
def take_node(state: State, here: int, job: int, at: float) -> None:
    """Give a free node to a job, at a time in seconds."""
    node = state.node
    node[here].owner = job
    node[here].computing = node[here].tenants = 0
    node[here].head = node[here].first = -1
    state.node[here].taken = at
    state.counts.free -= 1


@inner_kernel
def give_back(state: State, here: int, at: float) -> None:
    """Take a node from its job at a time in seconds, and note for how long the job had it."""
    counts, node, hold = state.counts, state.node[here], state.holds[state.counts.rows]
    hold.job, hold.node, hold.start, hold.end = node.owner, here, node.taken, at
    counts.rows += 1
    node.owner = -1
    counts.free += 1
    counts.retry = 1


@inner_kernel
def stop_computing(machine: Machine, jobs: Executed, state: State, job_idx: int, p: int, tau: float) -> None:
    """End a computation whose event has been removed from the heap."""
    process, node = state.process, state.node
    first = jobs.process_at[job_idx]
    here = process[first + p].node
    node[here].served, node[here].since = state.process[first + p].due, tau
    node[here].first = -1
    node[here].computing -= 1
    if node[here].head == p:
        node[here].head = process[first + p].behind
    else:
        before = node[here].head
        while process[first + before].behind != p:
            before = process[first + before].behind
        process[first + before].behind = process[first + p].behind
    if node[here].computing == 0:
        state.job[job_idx].worked += tau - node[here].busy
    else:
        _foresee(machine, jobs, state, job_idx, here)


@inner_kernel
def _start_computing(
    machine: Machine, jobs: Executed, state: State, job_idx: int, p: int, work: float, tau: float
) -> None:
    """Begin a computation of a process, and update when the first process on its node is done."""
    process, node = state.process, state.node
    first = jobs.process_at[job_idx]
    here = process[first + p].node
    if node[here].computing > 0:
        speed = _share(machine.cores, node[here].computing)
        node[here].served += (tau - node[here].since) * speed
    else:
        node[here].served, node[here].busy = 0.0, tau
    node[here].since = tau
    node[here].computing += 1
    state.process[first + p].due = node[here].served + work
    process[first + p].behind = node[here].head
    node[here].head = p
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
    if node[here].owner < 0:
        began = state.job[job_idx].began
        at = seconds(began, jobs.limit[job_idx], jobs.factor[job_idx], tau)
        take_node(state, here, job_idx, at)
    node[here].tenants += 1
    state.job[job_idx].alive += 1
    return here


@inner_kernel
def go_on(
    machine: Machine, programs: Programs, jobs: Executed, state: State, job_idx: int, p: int, tau: float
) -> None:
    """Let a process go on until it has to wait or ends.

    Messages, inputs and results travel in the same way: with contention as a flow whose end is not known yet,
    otherwise with a known time of arrival. An arrival is an event only if a process waits for it.
    """
    process, channel, message = state.process, state.channel, state.message
    program, base = jobs.program[job_idx], jobs.slot_at[job_idx]
    first_process, first_channel = jobs.process_at[job_idx], jobs.channel_at[job_idx]
    first_message = jobs.message_at[job_idx]
    its_processes, its_channels = programs.process_at[program], programs.channel_at[program]
    num_processes = programs.process_at[program + 1] - its_processes
    here = process[first_process + p].node
    last = programs.operation_at[its_processes + p + 1]
    while True:
        at = process[first_process + p].next
        code, target, weight = -1, p, 0.0
        if at < last:
            process[first_process + p].next = at + 1
            code, target, weight = programs.code[at], programs.target[at], programs.amount[at]
        if code == COMPUTE:
            work = jobs.compute[job_idx] * weight
            if work > 0:
                _start_computing(machine, jobs, state, job_idx, p, work, tau)
                return
            continue
        if code == RECEIVE:
            number = channel[first_channel + target].received
            channel[first_channel + target].received = number + 1
            slot = programs.first_message[its_channels + target] + number
            if message[first_message + slot].arrives <= tau:
                continue
            message[first_message + slot].receiver = p
            known = message[first_message + slot].arrives < np.inf
            if known and state.event_places[base + num_processes + slot] < 0:
                key = (DELIVERED << BITS) | (num_processes + slot)
                _add_event(state, job_idx, base, message[first_message + slot].arrives, key)
            return
        if code > FORK:  # a join
            if process[first_process + target].arrives <= tau:
                continue
            process[first_process + target].joined = 1
            arrives = process[first_process + target].arrives
            if arrives < np.inf:
                _add_event(state, job_idx, base, arrives, (RESULT << BITS) | target)
            return
        # Something travels: a message, an input or a result.
        kind, slot, there = RESULT, p, here
        awaited = False
        if code == SEND:
            kind = DELIVERED
            number = channel[first_channel + target].sent
            channel[first_channel + target].sent = number + 1
            slot = num_processes + programs.first_message[its_channels + target] + number
            to = programs.receiver[its_channels + target]
            if to >= 0:
                while process[first_process + to].stage == ABSENT:
                    to = programs.parent[its_processes + to]
                there = process[first_process + to].node
            awaited = message[first_message + slot - num_processes].receiver >= 0
        elif code == FORK:
            kind, slot = FORKED, target
            there = _fork(machine, jobs, state, job_idx, here, tau)
            process[first_process + target].node = there
            process[first_process + target].stage = LIVING
            awaited = True
        else:
            process[first_process + p].stage = ENDED
            to = programs.parent[its_processes + p]
            if to >= 0:
                there = process[first_process + to].node
                weight = programs.weight[its_processes + p]
            awaited = process[first_process + p].joined == 1
        time = 0.0
        if there != here:
            part, far = machine.hop_part, hops(machine.lattice, here, there)
            time = jobs.message[job_idx] * weight * (1.0 - part + part * far)
        if code == SEND and machine.synchronous and time > 0:
            message[first_message + slot - num_processes].sender = p
            awaited = True
        if time > 0 and machine.contention:
            begin_flow(state, base + slot, job_idx, here, there, kind, time, tau)
        else:
            if kind == DELIVERED:
                message[first_message + slot - num_processes].arrives = tau + time
            elif kind == RESULT:
                process[first_process + slot].arrives = tau + time
            if awaited:
                _add_event(state, job_idx, base, tau + time, (kind << BITS) | slot)
        if code < 0:
            state.job[job_idx].alive -= 1
            state.node[here].tenants -= 1
            leaks = jobs.set_at[job_idx] == jobs.set_at[job_idx + 1]
            if leaks and state.node[here].tenants == 0:
                began = state.job[job_idx].began
                until = seconds(began, jobs.limit[job_idx], jobs.factor[job_idx], tau)
                give_back(state, here, until)
            return
        if code == SEND and machine.synchronous and time > 0:
            return
