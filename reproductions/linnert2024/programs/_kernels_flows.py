"""Kernels for messages that share links: flows, their routes, and max-min fair rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from allocsolve.kernels import inner_kernel
from allocsolve.kernels.heap import change, raise_up
from reproductions.linnert2024.programs.state import seconds

if TYPE_CHECKING:
    from allocsolve.heuristics.partition.allocator import Lattice
    from reproductions.linnert2024.programs.state import Executed, State

#: The number of bits of a key that hold its slot, and their mask; the higher bits are the kind of the event.
BITS: Final = 40
MASK: Final = (1 << BITS) - 1


@inner_kernel
def begin_flow(
    state: State, slot: int, job: int, source: int, sink: int, kind: int, work: float, tau: float
) -> None:
    """Add a flow from `source` to `sink` that takes `work` at full speed; it has no rate yet."""
    flow, counts = state.flow, state.counts
    flow[slot].job, flow[slot].source, flow[slot].sink = job, source, sink
    flow[slot].kind, flow[slot].index = kind, counts.flows
    flow[slot].left, flow[slot].rate, flow[slot].at = work, 0.0, tau
    state.flows[counts.flows] = slot
    counts.flows += 1
    counts.flows_changed = 1


@inner_kernel
def end_flow(state: State, slot: int) -> None:
    """Remove the flow in a slot, if there is one."""
    flow, flows, counts = state.flow, state.flows, state.counts
    index = flow[slot].index
    if index < 0:
        return
    flow[slot].index = -1
    counts.flows -= 1
    counts.flows_changed = 1
    last = flows[counts.flows]
    if last != slot:
        flows[index] = last
        flow[last].index = index


@inner_kernel
def drop_flows(state: State, job: int) -> None:
    """Remove all flows of a job."""
    index = state.counts.flows - 1
    while index >= 0:
        slot = state.flows[index]
        if state.flow[slot].job == job:
            end_flow(state, slot)
        index -= 1


@inner_kernel
def _forwards(here: int, there: int, side: int, ring: int) -> bool:
    """Return whether a route goes towards higher coordinates along an axis."""
    if ring:
        ahead = (there - here) % side
        return ahead <= side - ahead
    return there > here


@inner_kernel
def _crosses(lattice: Lattice, source: int, sink: int, link: int) -> bool:
    """Return whether the route between two nodes, which goes axis by axis, uses a link."""
    shape, wrap, coordinates = lattice.shape, lattice.wrap, lattice.coordinates
    axes = len(shape)
    node, axis = link // (2 * axes), (link % (2 * axes)) // 2
    for k in range(axes):
        if k < axis and coordinates[node, k] != coordinates[sink, k]:
            return False
        if k > axis and coordinates[node, k] != coordinates[source, k]:
            return False
    here, there, at = coordinates[source, axis], coordinates[sink, axis], coordinates[node, axis]
    if here == there:
        return False
    forwards = _forwards(here, there, shape[axis], wrap[axis])
    if forwards != (link % 2 == 0):
        return False
    side = shape[axis]
    if not forwards:
        here, there, at = -here, -there, -at
    return bool((at - here) % side < (there - here) % side)


@inner_kernel
def _walk(lattice: Lattice, state: State, source: int, sink: int, users: int, rate: float, count: int) -> int:
    """Change the users and the remaining capacity of all links of a route; return how many links are in use.

    A link that had no users is added to `State.links`.
    """
    link_left, link_users, links = state.link_left, state.link_users, state.links
    shape, wrap, coordinates = lattice.shape, lattice.wrap, lattice.coordinates
    axes = len(shape)
    node, stride = source, 1
    for axis in range(axes):
        side = shape[axis]
        here, there = coordinates[source, axis], coordinates[sink, axis]
        forwards = _forwards(here, there, side, wrap[axis])
        while here != there:
            link = 2 * (axes * node + axis) + (0 if forwards else 1)
            if users > 0 and link_users[link] == 0:
                links[count] = link
                link_left[link] = 1.0
                count += 1
            link_users[link] += users
            link_left[link] -= rate
            step = here + 1 if forwards else here - 1
            step %= side
            node += (step - here) * stride
            here = step
        stride *= side
    return count


@inner_kernel
def _local_time(jobs: Executed, state: State, job: int, now: float) -> float:
    """Return the present time of the clock of a job."""
    clock, began = float(state.job[job].clock), state.job[job].began
    if seconds(began, jobs.limit[job], jobs.factor[job], clock) >= now:
        return clock
    tau = float((now - began) / jobs.factor[job])
    if state.job[job].events > 0:
        tau = min(tau, float(state.events[jobs.slot_at[job]].time))
    return max(clock, tau)


@inner_kernel
def set_rates(lattice: Lattice, jobs: Executed, state: State, now: float) -> None:
    """Share all links max-min fairly, and set when each flow ends.

    The link with the least capacity per flow gives its flows their rate, which they take on all of their
    links. This is repeated until all flows have a rate.
    """
    flow, flows = state.flow, state.flows
    left, users, links = state.link_left, state.link_users, state.links
    num_flows, used = state.counts.flows, 0
    for k in range(num_flows):
        slot = flows[k]
        flow[slot].new_rate = -1.0
        flow[slot].now = _local_time(jobs, state, flow[slot].job, now)
        used = _walk(lattice, state, flow[slot].source, flow[slot].sink, 1, 0.0, used)
    while used > 0:
        tightest, rate, in_use = -1, 0.0, 0
        for k in range(used):
            link = links[k]
            if users[link] == 0:
                continue
            links[in_use] = link
            in_use += 1
            share = left[link] / users[link]
            if tightest < 0 or share < rate or (share == rate and link < tightest):
                tightest, rate = link, share
        used = in_use
        if tightest < 0:
            break
        for k in range(num_flows):
            slot = flows[k]
            source, sink = flow[slot].source, flow[slot].sink
            if flow[slot].new_rate < 0 and _crosses(lattice, source, sink, tightest):
                flow[slot].new_rate = rate
                _walk(lattice, state, source, sink, -1, rate, 0)
    for k in range(num_flows):
        slot = flows[k]
        rate = flow[slot].new_rate
        if rate == flow[slot].rate:
            continue
        tau = flow[slot].now
        done = flow[slot].rate * (tau - flow[slot].at)
        flow[slot].left = max(0.0, flow[slot].left - done)
        flow[slot].at, flow[slot].rate = tau, rate
        job = flow[slot].job
        base = jobs.slot_at[job]
        events, places = state.events[base:], state.event_places[base:]
        key = (flow[slot].kind << BITS) | (slot - base)
        end = tau + flow[slot].left / rate
        if places[slot - base] < 0:
            raise_up(events, places, MASK, state.job[job].events, end, key)
            state.job[job].events += 1
        else:
            change(events, places, MASK, state.job[job].events, places[slot - base], end, key)
