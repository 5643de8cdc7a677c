"""Conservative backfilling of rigid jobs on `allocsolve.heuristics.ResourceProfile`: a simulator in a page.

Every job is reserved a window when it is submitted, as early as the reservations before it allow, for as long
as it asked for. Most jobs end early: then their nodes are given back, and the waiting jobs are planned anew
in order of submission. None of them moves to a later time, for the window that it had is still there.

    python examples/backfilling.py LOG.swf.gz [--jobs 5000]
    python examples/backfilling.py                # a log of $ALLOCSOLVE_TRACES; random jobs if there is none
"""

from __future__ import annotations

import argparse
import heapq
import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from allocsolve import EvolutionProblem, EvolutionProfile, EvolutionSchedule
from allocsolve.errors import AllocsolveError
from allocsolve.heuristics import ResourceProfile
from allocsolve.instances import read_swf_log
from allocsolve.judge import evolution_violations

LOG = "KTH-SP2-1996-2.1-cln.swf.gz"
END, SUBMIT, START = range(3)  # what happens first in a second: nodes come back before they are asked for


class Job(NamedTuple):
    """A rigid job; times in seconds."""

    submit: int
    run: int
    asked: int
    nodes: int


class Waiting(NamedTuple):
    """A job that has a reservation and has not started."""

    reservation: int
    start: int


def simulate(num_nodes: int, jobs: list[Job]) -> tuple[list[int], int]:
    """Return the start of each job, and how often a waiting job moved to an earlier time."""
    cluster = ResourceProfile(num_nodes)
    events = [(job.submit, SUBMIT, idx) for idx, job in enumerate(jobs)]
    heapq.heapify(events)
    waiting: dict[int, Waiting] = {}  # in order of submission
    running: dict[int, int] = {}
    starts = [0] * len(jobs)
    moved = 0
    early = False

    def plan(idx: int, now: int) -> None:
        job = jobs[idx]
        start = cluster.earliest_window(job.nodes, job.asked, earliest_start=now)
        window = EvolutionProfile(((job.asked, job.nodes),))
        waiting[idx] = Waiting(cluster.reserve(start, window), start)
        heapq.heappush(events, (start, START, idx))

    while events:
        now, event, idx = heapq.heappop(events)
        cluster.forget(now)
        if event == SUBMIT:
            plan(idx, now)
        elif event == END:
            reservation = running.pop(idx)
            if now < starts[idx] + jobs[idx].asked:
                cluster.release(reservation)
                early = True
            if early and not (events and events[0][:2] == (now, END)):  # the last one that ends now
                early = False
                for other, before in list(waiting.items()):
                    cluster.release(before.reservation)
                    plan(other, now)
                    moved += waiting[other].start < before.start
        elif idx in waiting and waiting[idx].start == now:  # else it was planned anew meanwhile
            running[idx] = waiting.pop(idx).reservation
            starts[idx] = now
            heapq.heappush(events, (now + jobs[idx].run, END, idx))
    return starts, moved


def read_jobs(path: Path, most: int) -> tuple[int, list[Job]]:
    """Return the processors of a log and its first jobs; who ran longer than asked for has asked for that."""
    log = read_swf_log(path)
    asked = np.where(np.isnan(log.limits), log.runs, log.limits)
    times = (np.ceil(seconds).astype(np.int64) for seconds in (log.submits - log.submits[0], log.runs, asked))
    columns = (*times, log.nodes)
    rows = zip(*(column[:most].tolist() for column in columns), strict=True)
    return log.num_nodes, [Job(*row) for row in rows]


def random_jobs(most: int) -> tuple[int, list[Job]]:
    """Return 128 nodes and jobs that keep about 90 % of them busy."""
    rng = np.random.default_rng(1)
    nodes = np.exp2(rng.uniform(0, 7, size=most)).astype(np.int64)
    runs = np.exp(rng.uniform(0, 10, size=most)).astype(np.int64)
    asked = (runs * rng.uniform(1, 10, size=most)).astype(np.int64)
    submits = np.sort(rng.integers(0, 1 + int(nodes @ runs / 128 / 0.9), size=most))
    rows = zip(*(column.tolist() for column in (submits, runs, asked, nodes)), strict=True)
    return 128, [Job(*row) for row in rows]


def main(arguments: list[str]) -> int:
    """Simulate a log, have the judge check the schedule, and print how long jobs waited."""
    parser = argparse.ArgumentParser(description="conservative backfilling of a workload log")
    parser.add_argument("log", type=Path, nargs="?", help="file in the Standard Workload Format")
    parser.add_argument("--jobs", type=int, default=5000, help="take the first so many (default 5000)")
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        parser.error(f"--jobs {options.jobs} is below 1")
    folder = os.environ.get("ALLOCSOLVE_TRACES")
    path = options.log or (Path(folder, LOG) if folder else None)
    try:
        num_nodes, jobs = read_jobs(path, options.jobs) if path else random_jobs(options.jobs)
    except AllocsolveError as error:
        parser.error(str(error))
    clock = time.perf_counter()
    starts, moved = simulate(num_nodes, jobs)
    seconds = time.perf_counter() - clock
    held = tuple(EvolutionProfile(((job.run, job.nodes),)) for job in jobs)
    problem = EvolutionProblem(num_nodes, held, tuple(job.submit for job in jobs))
    violations = evolution_violations(problem, EvolutionSchedule.of(starts, held))
    waits = np.array(starts) - np.array([job.submit for job in jobs])
    span = max(start + job.run for start, job in zip(starts, jobs, strict=True))
    busy = sum(profile.area for profile in held) / (num_nodes * span)
    print(f"{path.name if path else 'random jobs'}: {len(jobs)} jobs, {num_nodes} nodes, {busy:.0%} busy")
    print(f"wait: mean {waits.mean():.0f} s, median {np.median(waits):.0f} s, longest {waits.max()} s")
    print(f"{moved} times a waiting job moved to an earlier time; simulated in {seconds:.1f} s")
    print(f"violations: {len(violations)}")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
