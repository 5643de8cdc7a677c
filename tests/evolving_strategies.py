"""Workloads with jobs of all kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from strategies import workload_problems

from allocsolve.model import (
    Amdahl,
    Job,
    Join,
    Overhead,
    Phases,
    PowerLaw,
    Profile,
    Requests,
    Stall,
    WorkloadProblem,
)

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

_COSTS = (0, 0, 0.5, 1, 2.25)


@st.composite
def _stalls(draw: DrawFn) -> Stall | None:
    if draw(st.booleans()):
        return None
    fixed, per_node, shared = (draw(st.sampled_from(_COSTS)) for _ in range(3))
    return Stall(fixed, per_node, shared, draw(st.sampled_from(["new", "larger"])))


@st.composite
def _requested(draw: DrawFn, num_nodes: int) -> dict[str, Any]:
    low, nodes, high = sorted(draw(st.integers(1, num_nodes)) for _ in range(3))
    shares = draw(st.lists(st.sampled_from([0.875, 0.75, 0.5, 0.3, 0.25, 0.1]), min_size=1, unique=True))
    changes = st.integers(-num_nodes, num_nodes).filter(bool)
    return {
        "nodes": nodes,
        "runtime": draw(st.sampled_from([1, 2, 6, 12.5])),
        "min_nodes": low,
        "max_nodes": high,
        "speedup": draw(st.sampled_from([Amdahl(0.9), PowerLaw(1), PowerLaw(0.5), Overhead(0.01)])),
        "evolution": Requests([(share, draw(changes)) for share in sorted(shares, reverse=True)]),
        "reconfiguration": draw(_stalls()),
    }


@st.composite
def _reactive(draw: DrawFn, num_nodes: int) -> dict[str, Any]:
    low, nodes, high = sorted(draw(st.integers(1, num_nodes)) for _ in range(3))
    most = st.none() | st.integers(1, num_nodes)
    phases = draw(st.lists(st.tuples(st.sampled_from([1, 2.5, 6, 20]), most), min_size=1, max_size=4))
    evolution = Phases(phases, draw(st.sampled_from([0, 0, 1, 2.5])))
    join = Join(*(draw(st.sampled_from(_COSTS)) for _ in range(3)))
    return {
        "nodes": nodes,
        "runtime": join.start + evolution.run_time(nodes),
        "min_nodes": low,
        "max_nodes": high,
        "evolution": evolution,
        "reconfiguration": draw(st.sampled_from([join, None])) if join.start == 0 else join,
    }


@st.composite
def _profile(draw: DrawFn, num_nodes: int) -> dict[str, Any]:
    steps = draw(st.lists(st.tuples(st.integers(1, 5), st.integers(1, num_nodes)), min_size=1, max_size=4))
    sizes = [nodes for _, nodes in steps]
    return {
        "nodes": sizes[0],
        "runtime": sum(seconds for seconds, _ in steps),
        "min_nodes": min(sizes),
        "max_nodes": max(sizes),
        "evolution": Profile(steps),
    }


@st.composite
def evolving_problems(
    draw: DrawFn,
    *,
    max_jobs: int = 5,
    max_nodes: int = 4,
    max_submit: int = 8,
    readings: tuple[str, ...] = ("requested", "reactive", "profile"),
) -> WorkloadProblem:
    """Few jobs on few nodes: about half of them evolve, of the others some are malleable, with stalls."""
    others = draw(
        workload_problems(max_jobs=max_jobs, max_nodes=max_nodes, max_submit=max_submit, malleable=True)
    )
    kinds = {"requested": _requested, "reactive": _reactive, "profile": _profile}
    jobs: list[Job] = []
    for job in others.jobs:
        if draw(st.booleans()):
            fields = draw(kinds[draw(st.sampled_from(readings))](others.num_nodes))
            jobs.append(Job(submit=job.submit, limit=job.limit, weight=job.weight, **fields))
        elif job.kind == "malleable":
            fields = {name: getattr(job, name) for name in Job.__dataclass_fields__}
            jobs.append(Job(**{**fields, "name": "", "reconfiguration": draw(_stalls())}))
        else:
            fields = {name: getattr(job, name) for name in Job.__dataclass_fields__}
            jobs.append(Job(**{**fields, "name": ""}))
    return WorkloadProblem(others.num_nodes, jobs)
