"""Whole problems on the slow machine: the twin of `reproductions.linnert2024.programs`, rule by rule.

Each job has a clock of its own, in units in which its calibration is about 1 long; a factor turns it into
seconds.
"""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from naive_jobs import NaiveJob, NaiveRules
from naive_machine import Machine

from allocsolve.heuristics import growth
from allocsolve.model.reservation import BOOKED, CANCELLED, REJECTED, SUCCESSFUL, Hold, ReservationSchedule
from reproductions.linnert2024.programs import Program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from allocsolve.model import ReservationProblem, Topology


def calibrated(
    topology: Topology, program: Program, size: int, rules: NaiveRules
) -> tuple[tuple[float, float], float]:
    """Return the scales of a program and the length that it then has on its reference partition."""
    forks = any(operation[0] == "fork" for operations in program.processes for operation in operations)
    demand = rules.reference == "demand" and forks
    middle = topology.node_at([side // 2 for side in topology.shape])
    nodes = growth(topology, np.ones(topology.num_nodes, dtype=np.bool_), size, seeds="all")
    assert nodes is not None
    alone = rules._replace(contiguous=True, waiting="queue", own_first=True, need_all=False)

    def length(compute: float, message: float) -> float:
        job = NaiveJob(0, program, size, 0.0, math.inf, (compute, message), 1.0)
        if demand:
            job.first_node = middle
        else:
            job.partition = nodes.tolist()
        Machine(topology, [job], alone).run()
        return job.end

    computing, communicating, part = length(1.0, 0.0), length(0.0, 1.0), rules.communication
    if communicating == 0.0:
        scales = 1.0 / computing, 0.0
    elif computing == 0.0:
        scales = 0.0, 1.0 / communicating
    else:
        scales = (1.0 - part) / computing, part / communicating
    return scales, length(*scales)


def _job(
    problem: ReservationProblem, idx: int, programs: Callable[[int], Program], rules: NaiveRules
) -> NaiveJob:
    job, program = problem.jobs[idx], programs(idx)
    scales, length = calibrated(problem.topology, program, job.nodes, rules)
    return NaiveJob(idx, program, job.nodes, job.arrival, job.deadline, scales, job.runtime / length)


def naive_execute(
    problem: ReservationProblem,
    schedule: ReservationSchedule,
    programs: Callable[[int], Program],
    rules: NaiveRules,
    overrun: str = "end",
) -> ReservationSchedule:
    """Execute bookings of jobs, all of which have programs."""
    jobs = {}
    for idx in np.flatnonzero(schedule.outcomes == BOOKED).tolist():
        job = _job(problem, idx, programs, rules)
        holds = schedule.holds(idx)
        job.partition, job.start, job.limit = [hold.node for hold in holds], holds[0].start, holds[0].end
        if overrun == "grace":
            job.limit = min(
                [problem.jobs[idx].deadline]
                + [
                    other.start
                    for j in range(len(problem.jobs))
                    for other in schedule.holds(j)
                    if other.node in job.partition and other.start >= holds[0].end
                ]
            )
        jobs[idx] = job
    Machine(problem.topology, list(jobs.values()), rules).run()
    for idx, job in jobs.items():
        job.holds = [hold._replace(end=max(hold.end, job.end)) for hold in schedule.holds(idx)]
    return _schedule(len(problem.jobs), jobs)


def naive_leak(
    problem: ReservationProblem, programs: Callable[[int], Program], rules: NaiveRules
) -> ReservationSchedule:
    """Let all jobs leak that can be in time."""
    jobs = {
        idx: _job(problem, idx, programs, rules)
        for idx, job in enumerate(problem.jobs)
        if job.arrival + job.runtime <= job.deadline
    }
    Machine(problem.topology, list(jobs.values()), rules).run()
    return _schedule(len(problem.jobs), jobs)


def _schedule(count: int, jobs: dict[int, NaiveJob]) -> ReservationSchedule:
    codes = {"rejected": REJECTED, "successful": SUCCESSFUL, "cancelled": CANCELLED}
    outcomes, ends, computed = [REJECTED] * count, [math.nan] * count, [0.0] * count
    rows: list[list[Hold]] = [[] for _ in range(count)]
    for idx, job in jobs.items():
        outcomes[idx], ends[idx] = codes[job.state], job.end
        computed[idx] = job.computed * job.factor
        rows[idx] = sorted(joined(job.holds), key=lambda hold: (hold.start, hold.node))
    flat = [hold for one in rows for hold in one]
    return ReservationSchedule(
        np.array(outcomes),
        np.array(ends),
        np.cumsum([0, *map(len, rows)]),
        np.array([hold.node for hold in flat], dtype=np.int64),
        np.array([hold.start for hold in flat]),
        np.array([hold.end for hold in flat]),
        np.array(computed),
    )


def joined(holds: Iterable[Hold]) -> list[Hold]:
    """Return stretches in which a node was not given back, those without length left out."""
    rows: list[Hold] = []
    for hold in sorted(holds):
        if rows and rows[-1].node == hold.node and rows[-1].end == hold.start:
            rows[-1] = Hold(hold.node, rows[-1].start, hold.end)
        else:
            rows.append(hold)
    return [hold for hold in rows if hold.start < hold.end]


# Programs of Linnert et al. 2024


def naive_linnert(kind: int, n: int, job_idx: int, seed: int) -> Program:
    """Return the program of a kind, from its description."""
    draw = np.random.default_rng(7919 * job_idx + 104729 * seed + 17).random
    if kind == 0:
        root = [("send", 2 * i, 1) for i in range(n - 1)] + [("compute", 1)]
        root += [("receive", 2 * i + 1) for i in range(n - 1)]
        return Program(
            [root, *([("receive", 2 * i), ("compute", 1), ("send", 2 * i + 1, 1)] for i in range(n - 1))]
        )
    if kind == 1:
        rounds = range(math.ceil(math.log2(n)))
        return Program(
            [
                [
                    operation
                    for _ in range(10)
                    for operation in chain(
                        [("compute", 1)],
                        *([("send", r * n + i, 1), ("receive", r * n + (i - 2**r) % n)] for r in rounds),
                    )
                ]
                for i in range(n)
            ]
        )
    if kind == 2:
        most = 1 + int(draw() * 6)
        targets = []
        for _ in range(10):
            target = list(range(n))
            for i in range(n - 1, 0, -1):
                j = int(draw() * (i + 1))
                target[i], target[j] = target[j], target[i]
            targets.append(target)
        roots: list[list[object]] = []
        children: list[list[object]] = []
        for i in range(n):
            roots.append([])
            for step in range(10):
                count = 1 + int(draw() * most) if draw() < 0.5 else 0
                mine = range(n + len(children), n + len(children) + count)
                children += [[("compute", 0.5 + draw())] for _ in mine]
                roots[i] += [("fork", q, 0.5) for q in mine]
                roots[i] += [("compute", 0.5 + draw())]
                roots[i] += [("join", q) for q in mine]
                source = targets[step].index(i)
                roots[i] += [("send", step * n + i, 1), ("receive", step * n + source)]
        return Program([*roots, *children])
    peak = max(1, round(n * 6 * draw()))
    full = int(draw() * 10)
    sizes = [1 + int(draw() * peak) for _ in range(10)]
    sizes[full] = peak
    processes: list[list[object]] = [[]]

    def wave(p: int, size: int) -> None:
        work = 0.5 + draw()
        forked = []
        operations: list[object] = []
        for part in (size // 2, (size - 1) // 2):
            if part:
                forked.append(len(processes))
                processes.append([])
                wave(forked[-1], part)
        operations += [("fork", q, 1) for q in forked]
        operations += [("compute", work)]
        operations += [("join", q) for q in forked]
        processes[p] += operations

    for size in sizes:
        wave(0, size)
    return Program(processes)
