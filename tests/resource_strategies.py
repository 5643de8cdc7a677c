"""Workloads on machines with counted resources and closed windows, all mixed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import assume, strategies as st
from strategies import ways_to_run

from allocsolve.model import ClosedWindow, Job, WorkloadProblem, WorkloadSchedule

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

_NAMES = ("gpus", "long", "licences")


@st.composite
def general_problems(
    draw: DrawFn,
    *,
    min_jobs: int = 0,
    max_jobs: int = 6,
    max_nodes: int = 5,
    max_runtime: int = 6,
    max_submit: int = 8,
    overruns: bool = True,
    times: SearchStrategy[float] | None = None,
    moldable: bool = False,
) -> WorkloadProblem:
    """Rigid jobs, few resources and windows, all mixed; some problems are plain.

    With `moldable`, half of the jobs that need nodes only are. Without `overruns` no job runs longer than
    its limit.
    """
    num_nodes = draw(st.integers(1, max_nodes))
    resources = {name: draw(st.integers(1, 6)) for name in draw(st.sets(st.sampled_from(_NAMES), max_size=3))}
    there = {"nodes": num_nodes, **resources}
    seconds = st.integers(1, max_runtime) if times is None else times
    instants = st.integers(0, 3 * max_submit) if times is None else st.just(0) | times
    closed = []
    for _ in range(draw(st.integers(0, 3))):
        some = draw(st.sets(st.sampled_from(sorted(there))))
        amounts = {name: draw(st.integers(1, there[name])) for name in sorted(some)}
        start = draw(instants)
        closed.append(ClosedWindow(start, start + draw(seconds), amounts))
    jobs = []
    for _ in range(draw(st.integers(min_jobs, max_jobs))):
        nodes, runtime = draw(st.integers(1, num_nodes)), draw(seconds)
        low = 1 if overruns else runtime
        more: dict[str, Any] = {}
        pools = [name for name in sorted(resources) if resources[name] >= nodes]
        if pools:
            more["partition"] = draw(st.none() | st.sampled_from(pools))
        needed: set[str] = draw(st.sets(st.sampled_from(sorted(resources)))) if resources else set()
        needed.discard(more.get("partition", ""))
        more["needs"] = {name: draw(st.integers(0, resources[name])) for name in sorted(needed)}
        if moldable and not (more.get("partition") or any(more["needs"].values())) and draw(st.booleans()):
            more |= draw(ways_to_run(num_nodes, nodes, runtime))
        if draw(st.integers(0, 3)) == 0:
            more["eligible"] = draw(instants)
        if draw(st.integers(0, 3)) == 0:
            more["boost"] = draw(st.integers(-5, 10))
        jobs.append(
            Job(
                draw(st.integers(0, max_submit) if times is None else instants),
                nodes,
                runtime,
                draw(
                    st.none()
                    | (st.integers(1, 3 * max_runtime) if times is None else seconds).map(
                        lambda limit, low=low: max(limit, low)  # type: ignore[misc]  # mypy infers no lambda with a default
                    )
                ),
                weight=draw(st.sampled_from([1, 1, 1, 0, 3])),
                **more,
            )
        )
    return WorkloadProblem(num_nodes, jobs, resources=resources, closed=closed)


@st.composite
def limited_problems(draw: DrawFn, *, moldable: bool = False) -> WorkloadProblem:
    """Draw what policies take: with closed windows no job runs longer than its limit."""
    problem = draw(general_problems(max_jobs=8, overruns=draw(st.booleans()), moldable=moldable))
    packed = problem.jobs.packed
    assume(not (problem.closed and (packed.runtime > packed.estimate).any()))
    return problem


@st.composite
def schedules_of(draw: DrawFn, problem: WorkloadProblem, times: SearchStrategy[float]) -> WorkloadSchedule:
    """Any starts: mostly a schedule that over-commits the machine."""
    return WorkloadSchedule.of(problem, [draw(times) for _ in problem.jobs])
