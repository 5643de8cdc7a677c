"""Requests of running jobs in an auction of nodes: which ones pay at the price that all others pay."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.heuristics.workload._kernels_clearing import HIGHEST, Demand, cheapness_at, wanted_nodes
from allocsolve.heuristics.workload.demand import LINEAR
from allocsolve.kernels import inner_kernel
from allocsolve.model.evolving import REACTIVE
from allocsolve.simulation.kernels import Resizing, State, answer, time_ratio

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.jobs import FloatArray, PackedJobs

__all__ = ["Offers", "accept_requests", "grant_accepted", "initial_offers"]


class Offers(NamedTuple):
    """Requests that pay, in a call. Shape (jobs,) or as said."""

    #: Jobs whose requests are accepted; shape (1,): how many these are.
    accepted: IntArray
    total: IntArray
    #: Jobs whose requests may be; and at which cheapness of a node each of them just pays.
    jobs: IntArray
    cheapness: FloatArray


def initial_offers(count: int) -> Offers:
    """Return room for the requests of so many jobs."""
    return Offers(
        np.zeros(count, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(count, dtype=np.int64),
        np.zeros(count),
    )


@inner_kernel
def paying_cheapness(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> float:
    """Return from which cheapness of a node on the request of a job pays, infinite for never.

    It does if a unit of the work costs less on the nodes asked for: its time, and nodes at the price. Where
    more nodes do as much more it pays at any price, but not before others like it have as many.
    """
    held, asked = state.job[job].size, resizing.job[job].request
    linear = asked / LINEAR
    if resizing.job[job].reading == REACTIVE:
        return float(linear)
    slower, faster = time_ratio(jobs, job, held), time_ratio(jobs, job, asked)
    if faster >= slower:
        return float(np.inf)
    more_area = asked * faster - held * slower
    return float(max(linear, np.sqrt(max(0.0, more_area) / (slower - faster))))


@inner_kernel
def accept_requests(
    jobs: PackedJobs,
    state: State,
    resizing: Resizing,
    offers: Offers,
    demand: Demand,
    members: IntArray,
    count: int,
    shared: int,
    rung: int,
) -> int:
    """Accept requests, those that pay at the highest prices first; return the nodes that these take.

    One is accepted if, at the price at which it just pays, the members want so few nodes that there are
    enough for it and all that were accepted before. `rung` is that of the clearing price without requests:
    what does not pay there is left out at once. O(members) for each request that does.
    """
    queue, cheapness, number = offers.jobs, offers.cheapness, 0
    limit = cheapness_at(rung + 1) if rung + 1 < HIGHEST else np.inf
    for nth in range(resizing.ledger.requests):
        job = resizing.requests[nth]
        least = paying_cheapness(jobs, state, resizing, job)
        if least >= limit:
            continue
        place = number
        while place and cheapness[place - 1] > least:
            queue[place], cheapness[place] = queue[place - 1], cheapness[place - 1]
            place -= 1
        queue[place], cheapness[place] = job, least
        number += 1
    taken = 0
    for nth in range(number):
        job = queue[nth]
        more = resizing.job[job].request - state.job[job].size
        left = shared - taken - more
        if left >= 0 and wanted_nodes(jobs, demand, members, count, cheapness[nth]) <= left:
            offers.accepted[offers.total[0]] = job
            offers.total[0] += 1
            taken += more
    return taken


@inner_kernel
def grant_accepted(jobs: PackedJobs, state: State, resizing: Resizing, offers: Offers) -> None:
    """Grant accepted requests for which there are free nodes by now; the others stay open."""
    for nth in range(offers.total[0]):
        job = offers.accepted[nth]
        if resizing.job[job].request - state.job[job].size <= state.engine.free:
            answer(jobs, state, resizing, job, True)
