"""Workloads whose nodes are places: few nodes of up to three types, jobs of all shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import assume, strategies as st

from allocsolve.errors import InvalidProblem
from allocsolve.model import Job, NodeType, WorkloadProblem

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

_THINGS = ("cpus", "mem", "gpus")


@st.composite
def node_types(draw: DrawFn, *, most: int = 3) -> list[NodeType]:
    """Draw up to three types of few nodes, some with nothing; a third have GPUs that are devices."""
    size = draw(st.sampled_from([0, 0, 0, 0, 3, 4]))
    types = []
    for idx in range(draw(st.integers(1, most))):
        count, weight = draw(st.integers(1, 3)), draw(st.integers(0, 2))
        has = {name: draw(st.integers(0, 6)) for name in draw(st.sets(st.sampled_from(_THINGS)))}
        devices = {}
        if size and has.pop("gpus", 0):
            devices = {"gpus": draw(st.integers(1, 3))}
            has["gpus"] = size * devices["gpus"]
        types.append(NodeType(f"t{idx}", count, has, weight, devices=devices))
    return types


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
            if any(each.devices for each in types) and more["each"].get("gpus"):
                more["each"]["gpus"] = draw(st.sampled_from([1, 1, 2, 3, 4, 6, 8]))
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
