"""Kernels for messages that share links: flows, their routes, and max-min fair rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from allocsolve.heuristics.programs.state import (
    AT,
    BEGAN,
    CLOCK,
    EVENTS,
    FLOW_JOB,
    FLOWS,
    FLOWS_CHANGED,
    FROM,
    INDEX,
    KIND,
    LEFT,
    NEW_RATE,
    NOW,
    RATE,
    TO,
    seconds,
)
from allocsolve.kernels import inner_kernel
from allocsolve.kernels.heap import change, raise_up

if TYPE_CHECKING:
    from allocsolve.heuristics.partition.lattice import Lattice
    from allocsolve.heuristics.programs.state import Executed, State
    from allocsolve.model import FloatArray, IntArray

#: The number of bits of a key that hold its slot, and their mask; the higher bits are the kind of the event.
BITS: Final = 40
MASK: Final = (1 << BITS) - 1


@inner_kernel
def begin_flow(
    state: State, slot: int, job: int, source: int, sink: int, kind: int, work: float, tau: float
) -> None:
    """Add a flow from `source` to `sink` that takes `work` at full speed; it has no rate yet."""
    flow, flow_time, counts = state.flow, state.flow_time, state.counts
    flow[slot, FLOW_JOB], flow[slot, FROM], flow[slot, TO] = job, source, sink
    flow[slot, KIND], flow[slot, INDEX] = kind, counts[FLOWS]
    flow_time[slot, LEFT], flow_time[slot, RATE], flow_time[slot, AT] = work, 0.0, tau
    state.flows[counts[FLOWS]] = slot
    counts[FLOWS] += 1
    counts[FLOWS_CHANGED] = 1


@inner_kernel
def end_flow(state: State, slot: int) -> None:
    """Remove the flow in a slot, if there is one."""
    flow, flows, counts = state.flow, state.flows, state.counts
    index = flow[slot, INDEX]
    if index < 0:
        return
    flow[slot, INDEX] = -1
    counts[FLOWS] -= 1
    counts[FLOWS_CHANGED] = 1
    last = flows[counts[FLOWS]]
    if last != slot:
        flows[index] = last
        flow[last, INDEX] = index


@inner_kernel
def drop_flows(state: State, job: int) -> None:
    """Remove all flows of a job."""
    index = state.counts[FLOWS] - 1
    while index >= 0:
        slot = state.flows[index]
        if state.flow[slot, FLOW_JOB] == job:
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
def _walk(
    lattice: Lattice,
    source: int,
    sink: int,
    users: int,
    rate: float,
    link_left: FloatArray,
    link_users: IntArray,
    links: IntArray,
    count: int,
) -> int:
    """Change the users and the remaining capacity of all links of a route; return how many links are in use.

    A link that had no users is added to `links`.
    """
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
    clock, began = float(state.job_time[job, CLOCK]), state.job_time[job, BEGAN]
    if seconds(began, jobs.limit[job], jobs.factor[job], clock) >= now:
        return clock
    tau = float((now - began) / jobs.factor[job])
    if state.job[job, EVENTS] > 0:
        tau = min(tau, float(state.events[jobs.slot_at[job]].time))
    return max(clock, tau)


@inner_kernel
def set_rates(lattice: Lattice, jobs: Executed, state: State, now: float) -> None:
    """Share all links max-min fairly, and set when each flow ends.

    The link with the least capacity per flow gives its flows their rate, which they take on all of their
    links. This is repeated until all flows have a rate.
    """
    flow, flow_time, flows = state.flow, state.flow_time, state.flows
    left, users, links = state.link_left, state.link_users, state.links
    num_flows, used = state.counts[FLOWS], 0
    for k in range(num_flows):
        slot = flows[k]
        flow_time[slot, NEW_RATE] = -1.0
        flow_time[slot, NOW] = _local_time(jobs, state, flow[slot, FLOW_JOB], now)
        used = _walk(lattice, flow[slot, FROM], flow[slot, TO], 1, 0.0, left, users, links, used)
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
            source, sink = flow[slot, FROM], flow[slot, TO]
            if flow_time[slot, NEW_RATE] < 0 and _crosses(lattice, source, sink, tightest):
                flow_time[slot, NEW_RATE] = rate
                _walk(lattice, source, sink, -1, rate, left, users, links, 0)
    for k in range(num_flows):
        slot = flows[k]
        rate = flow_time[slot, NEW_RATE]
        if rate == flow_time[slot, RATE]:
            continue
        tau = flow_time[slot, NOW]
        done = flow_time[slot, RATE] * (tau - flow_time[slot, AT])
        flow_time[slot, LEFT] = max(0.0, flow_time[slot, LEFT] - done)
        flow_time[slot, AT], flow_time[slot, RATE] = tau, rate
        job = flow[slot, FLOW_JOB]
        base = jobs.slot_at[job]
        events, places = state.events[base:], state.event_places[base:]
        key = (flow[slot, KIND] << BITS) | (slot - base)
        end = tau + flow_time[slot, LEFT] / rate
        if places[slot - base] < 0:
            raise_up(events, places, MASK, state.job[job, EVENTS], end, key)
            state.job[job, EVENTS] += 1
        else:
            change(events, places, MASK, state.job[job, EVENTS], places[slot - base], end, key)
