"""A simulator that plans with `allocsolve.heuristics.fit`: jobs become known only when they arrive.

It keeps what is held and until when; on each arrival it shows `fit` the nodes that are busy from now on, and
holds what comes back. Evolving jobs may hold a step longer, up to an expand limit: how much waiting does
that save, and at the cost of how many wasted node-seconds?

    python event_loop.py
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from allocsolve import EvolutionProfile
from allocsolve.heuristics import PlacedProfile, fit

NUM_NODES = 64


class Job(NamedTuple):
    """What arrives."""

    arrival: int  # seconds
    request: EvolutionProfile


class Event(NamedTuple):
    """What the loop is driven by, in order of time; what ends comes before what arrives."""

    time: int
    arrives: bool
    job: int


@dataclass(slots=True)
class Cluster:
    """Who holds how many nodes, from now on: (start, end, nodes) in seconds, the past forgotten."""

    held: list[tuple[int, int, int]] = field(default_factory=list)

    def busy_from(self, now: int) -> EvolutionProfile:
        """Return the busy nodes as a function of the time from now on."""
        self.held = [one for one in self.held if one[1] > now]
        change = {now: 0}
        for start, end, nodes in self.held:
            change[max(start, now)] = change.get(max(start, now), 0) + nodes
            change[end] = change.get(end, 0) - nodes
        steps, nodes = [], 0
        for this, following in pairwise(sorted(change)):
            nodes += change[this]
            steps.append((following - this, nodes))
        return EvolutionProfile(steps)

    def hold(self, placed: PlacedProfile, now: int) -> None:
        """Hold the nodes of each step from its start, which counts from now."""
        start = now + placed.start
        for duration, nodes in placed.profile.steps:
            self.held.append((start, start + duration, nodes))
            start += duration


class Outcome(NamedTuple):
    """What became of the jobs."""

    mean_wait: float  # seconds
    last_end: int  # seconds
    wasted: float  # node-seconds held but not asked for, per node-second asked for


def arrivals(count: int, seed: int) -> list[Job]:
    """Draw jobs of one to five steps, on average one every half hour."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.exponential(1800, count)).astype(int).tolist()
    return [
        Job(time, EvolutionProfile(rng.integers((300, 1), (1800, 49), (rng.integers(1, 6), 2)).tolist()))
        for time in times
    ]


def simulate(jobs: list[Job], expand_limit: float, *, shown: int = 0) -> Outcome:
    """Run all jobs; print the first events."""
    cluster, waits, wasted, end = Cluster(), [], 0, 0
    events = [Event(job.arrival, arrives=True, job=idx) for idx, job in enumerate(jobs)]
    heapq.heapify(events)
    seen = 0
    while events:
        now, arrives, idx = heapq.heappop(events)
        seen += 1
        if not arrives:
            end = now
            if seen <= shown:
                print(f"{now:6} s  job {idx} ends")
            continue
        request = jobs[idx].request
        placed = fit(request, cluster.busy_from(now), NUM_NODES, expand_limit)
        cluster.hold(placed, now)
        heapq.heappush(events, Event(now + placed.completion, arrives=False, job=idx))
        waits.append(placed.start)
        wasted += placed.profile.area - request.area
        if seen <= shown:
            longer = placed.profile.duration - request.duration
            print(f"{now:6} s  job {idx} arrives, starts in {placed.start} s, holds nodes {longer} s longer")
    return Outcome(float(np.mean(waits)), end, wasted / sum(job.request.area for job in jobs))


def main() -> None:
    """Compare expand limits on the same arrivals."""
    jobs = arrivals(300, seed=1)
    simulate(jobs, math.inf, shown=8)
    print("\nlimit  mean wait   last end   wasted")
    for limit in (1, 1.5, 2, math.inf):
        wait, end, wasted = simulate(jobs, limit)
        print(f"{limit:5}  {wait:7.0f} s  {end:7} s  {wasted:6.1%}")


if __name__ == "__main__":
    main()
