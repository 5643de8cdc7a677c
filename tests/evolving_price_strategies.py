"""Workloads with evolving jobs, for the laws of bounds by prices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st
from naive_malleable_prices import TOY_SLOT_S
from price_strategies import malleable_jobs

from allocsolve.model import Amdahl, Job, Join, Overhead, Phases, PowerLaw, Profile, Requests, WorkloadProblem

if TYPE_CHECKING:
    from allocsolve.model import Speedup

WEIGHTS = st.sampled_from([1, 1, 1, 2, 0.3])


@st.composite
def phased_jobs(
    draw: st.DrawFn, num_nodes: int, works: st.SearchStrategy[float], submits: st.SearchStrategy[float]
) -> Job:
    low = draw(st.integers(1, num_nodes))
    nodes = draw(st.integers(low, num_nodes))
    most = draw(st.integers(nodes, num_nodes))
    useful = st.one_of(st.none(), st.integers(1, num_nodes))
    phases = Phases(draw(st.lists(st.tuples(works, useful), min_size=1, max_size=3)))
    start = draw(st.sampled_from([0, 0, 4, 8, 12]))
    return Job(
        draw(submits),
        nodes,
        start + phases.run_time(nodes),
        weight=draw(WEIGHTS),
        min_nodes=low,
        max_nodes=most,
        evolution=phases,
        reconfiguration=Join(start) if start else None,
    )


@st.composite
def profile_jobs(
    draw: st.DrawFn, num_nodes: int, times: st.SearchStrategy[int], submits: st.SearchStrategy[float]
) -> Job:
    steps = draw(st.lists(st.tuples(times, st.integers(0, num_nodes)), min_size=1, max_size=3))
    sizes = [max(1, nodes) for _, nodes in steps]
    return Job(
        draw(submits),
        sizes[0],
        sum(seconds for seconds, _ in steps),
        weight=draw(WEIGHTS),
        min_nodes=min(sizes),
        max_nodes=max(sizes),
        evolution=Profile(steps, draw(st.sampled_from([1, 1.5, 2, float("inf")]))),
    )


@st.composite
def overhead_jobs(
    draw: st.DrawFn, num_nodes: int, times: st.SearchStrategy[float], submits: st.SearchStrategy[float]
) -> Job:
    """Malleable ones."""
    low = draw(st.integers(1, num_nodes))
    nodes = draw(st.integers(low, num_nodes))
    return Job(
        draw(submits),
        nodes,
        draw(times),
        weight=draw(WEIGHTS),
        min_nodes=low,
        max_nodes=draw(st.integers(nodes, num_nodes)),
        speedup=Overhead(draw(st.one_of(st.sampled_from([0.0, 0.01, 0.5, 0.9]), st.floats(0, 0.99)))),
        kind="malleable",
    )


@st.composite
def requested_jobs(
    draw: st.DrawFn, num_nodes: int, times: st.SearchStrategy[float], submits: st.SearchStrategy[float]
) -> Job:
    low = draw(st.integers(1, num_nodes))
    nodes = draw(st.integers(low, num_nodes))
    laws: list[Speedup] = [Overhead(draw(st.floats(0, 0.9))), Amdahl(0.9), PowerLaw(0.7)]
    changes = st.integers(-num_nodes, num_nodes).filter(bool)
    shares = sorted(draw(st.sets(st.sampled_from([0.2, 0.5, 0.7]), min_size=1)), reverse=True)
    return Job(
        draw(submits),
        nodes,
        draw(times),
        weight=draw(WEIGHTS),
        min_nodes=low,
        max_nodes=draw(st.integers(nodes, num_nodes)),
        speedup=draw(st.sampled_from(laws)),
        evolution=Requests([(share, draw(changes)) for share in shares]),
    )


@st.composite
def evolving_toys(draw: st.DrawFn, kinds: tuple[str, ...]) -> WorkloadProblem:
    """Two jobs in whole slots, of these kinds, the first one of the first."""
    num_nodes = draw(st.integers(1, 3))
    times, submits, works = (
        st.integers(low, low + 2).map(lambda slots: TOY_SLOT_S * slots) for low in (1, 0, 1)
    )
    jobs = {
        "phases": phased_jobs(num_nodes, works.map(float), submits),
        "profile": profile_jobs(num_nodes, times, submits),
        "requests": requested_jobs(num_nodes, times.map(float), submits),
        "overhead": overhead_jobs(num_nodes, times.map(float), submits),
        "malleable": malleable_jobs(num_nodes, times.map(float), submits),
        "rigid": st.builds(Job, submits, st.integers(1, num_nodes), times),
    }
    first = draw(jobs[kinds[0]])
    return WorkloadProblem(num_nodes, [first, draw(jobs[draw(st.sampled_from(kinds))])])
