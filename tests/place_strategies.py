"""Workloads whose nodes are places: few nodes of up to three types, jobs of all shapes."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypothesis import assume, strategies as st

from allocsolve.errors import InvalidProblem
from allocsolve.heuristics import Easy, Fcfs, FirstFit, SlurmBackfill
from allocsolve.heuristics.workload.policies import QUEUE_ORDERS
from allocsolve.model import ClosedWindow, Job, NodeType, WorkloadProblem
from allocsolve.simulation.node_choice import NODE_CHOICES

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from allocsolve.model import WorkloadSchedule

_THINGS = ("cpus", "mem", "gpus")


@st.composite
def node_types(draw: DrawFn, *, most: int = 3) -> list[NodeType]:
    """Draw up to three types of few nodes, some with nothing."""
    return [
        NodeType(
            f"t{idx}",
            draw(st.integers(1, 3)),
            {name: draw(st.integers(0, 6)) for name in draw(st.sets(st.sampled_from(_THINGS)))},
            weight=draw(st.integers(0, 2)),
        )
        for idx in range(draw(st.integers(1, most)))
    ]


@st.composite
def place_problems(draw: DrawFn, *, min_jobs: int = 0, max_jobs: int = 7) -> WorkloadProblem:
    """Draw a workload of jobs that fit the empty machine, among them some that hold whole nodes."""
    types = draw(node_types())
    things = sorted({name for each in types for name in dict(each.has)})
    there = sum(each.count for each in types)
    jobs: list[Job] = []
    for _ in range(draw(st.integers(min_jobs, max_jobs))):
        more: dict[str, Any] = {}
        nodes = draw(st.integers(1, min(3, there)))
        if draw(st.integers(0, 3)):
            more["chunks"] = draw(st.integers(nodes, nodes + 4))
            more["per_node"] = draw(st.none() | st.integers(1, 4))
            more["exclusive"] = draw(st.integers(0, 4)) == 0
            some = draw(st.sets(st.sampled_from(things))) if things else set()
            more["each"] = {name: draw(st.integers(0, 4)) for name in sorted(some)}
        if draw(st.integers(0, 2)) == 0:
            more["types"] = sorted(draw(st.sets(st.sampled_from([each.name for each in types]), min_size=1)))
        job = Job(draw(st.integers(0, 6)), nodes, draw(st.integers(1, 6)), **more)
        try:
            WorkloadProblem(None, [job], node_types=types)
        except InvalidProblem:  # it fits no empty machine
            continue
        jobs.append(job)
    assume(len(jobs) >= min_jobs)
    return WorkloadProblem(None, jobs, node_types=types)


@st.composite
def closed_windows(draw: DrawFn, num_nodes: int, *, latest: int = 20) -> tuple[ClosedWindow, ...]:
    """Draw times in which some nodes, or all, are closed."""
    ids = st.sets(st.integers(0, num_nodes - 1), max_size=4).map(lambda nodes: (*sorted(nodes),))
    spans = draw(st.lists(st.tuples(st.integers(0, latest), st.integers(1, latest), ids), max_size=4))
    return tuple(ClosedWindow(start, start + length, node_ids=nodes) for start, length, nodes in spans)


@st.composite
def place_problems_with_windows(draw: DrawFn, *, max_jobs: int = 7) -> WorkloadProblem:
    """Draw the same where nodes are closed for a time."""
    problem = draw(place_problems(min_jobs=1, max_jobs=max_jobs))
    return replace(problem, closed=draw(closed_windows(problem.num_nodes)))


@st.composite
def problems(draw: st.DrawFn) -> WorkloadProblem:
    """Draw a workload whose jobs come at all times, some with head starts, some longer than expected."""
    drawn = draw(place_problems(min_jobs=1, max_jobs=18))
    longest = draw(st.sampled_from([9, 40]))
    jobs = []
    for job in drawn.jobs:
        runtime = draw(st.integers(1, longest))
        limit = draw(st.none() | st.sampled_from([runtime, 2 * runtime, 3 * runtime, 1]))
        boost = draw(st.sampled_from([0, 0, 0, 3, -2]))
        submit, eligible = draw(st.integers(0, 2 * longest)), draw(st.none() | st.integers(0, 30))
        own: dict[str, Any] = {"submit": submit, "eligible": eligible, "boost": boost, "needs": None}
        jobs.append(replace(job, runtime=runtime, limit=limit, **own))
    return WorkloadProblem(None, jobs, node_types=drawn.node_types)


def seen(schedule: WorkloadSchedule) -> tuple[list[float], list[dict[int, int]]]:
    """Return the starts of jobs, and how many chunks of each are on which node."""
    offsets, nodes, chunks = schedule.place_offsets, schedule.place_nodes, schedule.place_chunks
    assert offsets is not None
    assert nodes is not None
    assert chunks is not None
    rows = list(zip(nodes.tolist(), chunks.tolist(), strict=True))
    at = offsets.tolist()
    spots = [dict(rows[first:last]) for first, last in itertools.pairwise(at)]
    return schedule.first_starts.tolist(), spots


POLICIES: dict[str, st.SearchStrategy[Fcfs | FirstFit | Easy | SlurmBackfill]] = {
    "fcfs": st.builds(Fcfs, choice=st.sampled_from(NODE_CHOICES)),
    "first-fit": st.builds(FirstFit, choice=st.sampled_from(NODE_CHOICES)),
    "easy": st.builds(Easy, choice=st.sampled_from(NODE_CHOICES)),
    "options of easy": st.builds(
        Easy,
        order=st.sampled_from(QUEUE_ORDERS),
        strict=st.booleans(),
        extra_nodes=st.booleans(),
        scan_limit=st.none() | st.integers(0, 3),
        choice=st.sampled_from(NODE_CHOICES),
    ),
    "reservations": st.builds(
        Easy,
        reservations=st.sampled_from([2, 3, 5, "all"]),
        order=st.sampled_from(QUEUE_ORDERS),
        scan_limit=st.none() | st.integers(0, 3),
        choice=st.sampled_from(NODE_CHOICES),
    ),
}
SLURM = st.builds(
    SlurmBackfill,
    bf_interval=st.integers(1, 4),
    bf_window=st.just(1),
    bf_resolution=st.integers(1, 7) | st.just(40),
    bf_max_job_test=st.integers(1, 8),
    order=st.sampled_from(QUEUE_ORDERS),
    choice=st.sampled_from(NODE_CHOICES),
)
