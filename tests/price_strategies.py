"""Price lists, and workloads with malleable and evolving jobs, for the laws of bounds by prices."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from naive_malleable_prices import TOY_SLOT_S

from allocsolve.model import (
    Amdahl,
    Job,
    Join,
    Overhead,
    Phases,
    PowerLaw,
    Profile,
    Requests,
    SpeedupTable,
    WorkloadProblem,
)

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


SHARES = st.one_of(st.sampled_from([0.0, 0.5, 0.9, 0.999, 1.0]), st.floats(0, 1))


@st.composite
def malleable_jobs(
    draw: st.DrawFn, num_nodes: int, times: st.SearchStrategy[float], submits: st.SearchStrategy[float]
) -> Job:
    nodes = draw(st.integers(1, num_nodes))
    runtime, weight = draw(times), draw(st.sampled_from([1, 1, 1, 2, 0.3]))
    law: Speedup
    if draw(st.integers(0, 2)) == 0:
        more = {n: draw(times) for n in draw(st.sets(st.integers(1, num_nodes), max_size=3))}
        rows = sorted({**more, nodes: runtime}.items())
        law, low, high = SpeedupTable(rows), rows[0][0], rows[-1][0]
    else:
        low, high = draw(st.integers(1, nodes)), draw(st.integers(nodes, num_nodes))
        either: list[Speedup] = [Amdahl(draw(SHARES)), PowerLaw(draw(SHARES))]
        law = draw(st.sampled_from(either))
    return Job(
        draw(submits),
        nodes,
        runtime,
        weight=weight,
        min_nodes=low,
        max_nodes=high,
        speedup=law,
        kind="malleable",
    )


@st.composite
def single_jobs(draw: st.DrawFn) -> WorkloadProblem:
    times = st.one_of(st.integers(2, 60).map(lambda quarters: quarters / 4), st.floats(0.5, 30))
    submits = st.one_of(st.just(0.0), st.integers(0, 12), st.floats(0, 12))
    return WorkloadProblem(8, [draw(malleable_jobs(8, times, submits))])


@st.composite
def toys(draw: st.DrawFn) -> WorkloadProblem:
    """Two or three jobs in whole slots of `naive_malleable_prices`, at least one of them malleable."""
    num_nodes = draw(st.integers(1, 4))
    times, submits = (
        st.integers(low, low + 3).map(lambda slots: float(TOY_SLOT_S * slots)) for low in (1, 0)
    )
    jobs = [draw(malleable_jobs(num_nodes, times, submits))]
    for _ in range(draw(st.integers(1, 2))):
        if draw(st.booleans()):
            jobs.append(draw(malleable_jobs(num_nodes, times, submits)))
        else:
            jobs.append(Job(draw(submits), draw(st.integers(1, num_nodes)), draw(times)))
    return WorkloadProblem(num_nodes, jobs)


@st.composite
def price_lists(draw: st.DrawFn, highest: int = 40) -> dict[str, Any]:
    edges = sorted(draw(st.sets(st.integers(0, 30), min_size=1, max_size=6)))
    prices = draw(st.lists(st.integers(0, highest), min_size=len(edges) - 1, max_size=len(edges) - 1))
    return {"kind": "time-prices", "edges": edges, "prices": prices, "unit": draw(st.integers(1, 30))}


@st.composite
def job_price_lists(draw: st.DrawFn, problem: WorkloadProblem) -> dict[str, Any]:
    """Prices of each job in slots of any length, with units of resources."""
    edges = sorted(draw(st.sets(st.integers(-2, 30), min_size=2, max_size=6)))
    count, slots = len(problem.jobs), len(edges) - 1
    first = [draw(st.integers(0, slots)) for _ in range(count)]
    rows = [draw(st.lists(st.integers(0, 40), max_size=slots - begin)) for begin in first]
    some = draw(st.sets(st.sampled_from([name for name, _ in problem.resources] or ["gpus"])))
    there = dict(problem.resources)
    return {
        "kind": "job-prices",
        "edges": edges,
        "nodes": draw(st.integers(1, 2)),
        "unit": draw(st.integers(1, 30)),
        "units": {name: draw(st.integers(1, 3)) for name in sorted(some) if name in there},
        "first_slots": first,
        "offsets": [0, *itertools.accumulate(map(len, rows))],
        "prices": [price for row in rows for price in row],
    }
