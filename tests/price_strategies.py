"""Price lists, and workloads with malleable jobs, for the laws of bounds by prices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from naive_malleable_prices import TOY_SLOT_S

from allocsolve.model import Amdahl, Job, PowerLaw, SpeedupTable, WorkloadProblem

if TYPE_CHECKING:
    from allocsolve.model import Speedup

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
