"""Laws of the bounds of workloads: never above brute force, never below the job bound, recomputed exactly."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, strategies as st
from naive_workload_optimum import workload_optimum
from naive_workload_prices import least_cost, price_value
from price_strategies import overhead_jobs, price_lists

from allocsolve.bounds.workload import job_costs, makespan_bound, time_prices, workload_bound
from allocsolve.bounds.workload._kernels_prices import Cheapest, PriceList, cheapest
from allocsolve.instances.generators.examples import random_workload
from allocsolve.judge import certified_bound, workload_value
from allocsolve.judge.workload import certificate as workload_certificate
from allocsolve.model import Amdahl, Budget, Job, PowerLaw, SpeedupTable, WorkloadProblem, frozen, terms
from allocsolve.registry import make_solver

if TYPE_CHECKING:
    from allocsolve.model import Speedup, WorkloadTerm

MEANS: st.SearchStrategy[WorkloadTerm] = st.sampled_from(["turnaround", "slowdown"])
QUARTERS = st.integers(1, 60).map(lambda quarters: quarters / 4)
REALS = st.floats(0.5, 20)
WEIGHTS = st.sampled_from([1, 1, 1, 0, 2, 0.3])


@st.composite
def workloads(
    draw: st.DrawFn,
    times: st.SearchStrategy[float] = QUARTERS,
    *,
    moldable: bool = True,
    laws: bool = False,
    max_jobs: int = 4,
) -> WorkloadProblem:
    num_nodes = draw(st.integers(1, 6))
    jobs = []
    for _ in range(draw(st.integers(1, max_jobs))):
        nodes = draw(st.integers(1, num_nodes))
        submit = draw(st.one_of(st.just(0.0), times))
        runtime, weight = draw(times), draw(WEIGHTS)
        kind = draw(st.integers(0, 2)) if moldable else 0
        law: Speedup
        if kind == 1:
            more = {n: draw(times) for n in draw(st.sets(st.integers(1, num_nodes), max_size=2))}
            rows = sorted({**more, nodes: runtime}.items())
            law = SpeedupTable(rows)
            jobs.append(
                Job(
                    submit,
                    nodes,
                    runtime,
                    1,
                    weight=weight,
                    min_nodes=rows[0][0],
                    max_nodes=rows[-1][0],
                    speedup=law,
                )
            )
        elif kind == 2 and laws:
            share = draw(st.sampled_from([0, 0.5, 0.9, 1]))
            low, high = draw(st.integers(1, nodes)), draw(st.integers(nodes, min(num_nodes, nodes + 1)))
            low = max(low, nodes - 1)
            either: list[Speedup] = [Amdahl(share), PowerLaw(share)]
            law = draw(st.sampled_from(either))
            jobs.append(
                Job(submit, nodes, runtime, weight=weight, min_nodes=low, max_nodes=high, speedup=law)
            )
        else:
            jobs.append(Job(submit, nodes, runtime, 1, weight=weight))
    return WorkloadProblem(num_nodes, jobs)


#: Brute force needs few jobs, and each other kind at times.
ANY = st.one_of(workloads(), workloads(moldable=False), workloads(REALS, laws=True), workloads(laws=True))


@given(problem=ANY, term=MEANS)
def test_never_above_the_optimum_and_what_the_judge_recomputes(
    problem: WorkloadProblem, term: WorkloadTerm
) -> None:
    bound = time_prices(problem, term)
    certified = certified_bound(problem, bound.certificate, (term,))
    assert bound.value <= certified <= bound.value + 1e-3
    if problem.is_exact:
        assert certified <= bound.value * (1 + 1e-9)
    best = workload_optimum(problem, term)
    assert certified <= best * (1 + Fraction(1, 10**12))
    cheap = workload_bound(problem, term)
    assert cheap <= best * (1 + Fraction(1, 10**12))
    assert cheap <= bound.value + (1e-9 if problem.is_exact else 1e-3)


@given(problem=workloads(moldable=False), certificate=price_lists())
def test_waits(problem: WorkloadProblem, certificate: dict[str, Any]) -> None:
    best = workload_optimum(problem, "wait")
    bound = time_prices(problem, "wait")
    certified = certified_bound(problem, bound.certificate, ("wait",))
    assert 0 <= bound.value <= certified <= best + Fraction(1, 10**12)
    assert certified <= bound.value + 1e-9
    assert certified_bound(problem, {**certificate, "term": "wait"}, ("wait",)) <= best
    assert workload_bound(problem, "wait") == 0


def test_slots_that_a_short_queue_does_not_fill_are_halved() -> None:
    """The first ones are two mean run times long, and the machine is half empty over each."""
    problem = random_workload(0, 300, 64, load=0.5)
    bound = time_prices(problem, "wait")
    certified = certified_bound(problem, bound.certificate, ("wait",))
    schedule = make_solver("serial-generation", problem, "wait")(problem, Budget()).answer
    assert schedule is not None
    value = terms(workload_value(problem, schedule, ("wait",)))[0]
    assert 10 < bound.value <= certified <= value


@given(problem=workloads(), term=MEANS, certificate=price_lists())
def test_the_judge_is_exact(
    problem: WorkloadProblem, term: WorkloadTerm, certificate: dict[str, Any]
) -> None:
    """But for weights that are no integers, and the part of a unit of each slowdown: both are below."""
    edges, prices = certificate["edges"], certificate["prices"]
    scale = 10**6  # so that what is rounded down is little
    finer = [price * scale for price in prices]
    unit = certificate["unit"] * scale
    listed = {**certificate, "prices": finer, "unit": unit, "term": term}
    exact = price_value(problem, term, edges, {"nodes": finer}, unit)
    certified = certified_bound(problem, listed, (term,))
    assert certified <= exact
    if term == "turnaround" and all(job.weight % 1 == 0 for job in problem.jobs):
        assert certified == pytest.approx(float(exact), rel=1e-15)
    else:
        assert certified >= exact - Fraction(1, 1000)


@given(
    problem=st.one_of(workloads(), workloads(laws=True)), certificate=price_lists(), steps=st.integers(0, 5)
)
def test_few_steps_only_lower_the_bound(
    problem: WorkloadProblem, certificate: dict[str, Any], steps: int
) -> None:
    listed = {**certificate, "term": "turnaround"}
    full = certified_bound(problem, listed, ("turnaround",))
    with mock.patch.object(workload_certificate, "_MAX_STEPS", steps):
        fewer = certified_bound(problem, listed, ("turnaround",))
    # Of a law, run times of nearly equal sizes are rounded to different units.
    assert fewer <= full + (0 if problem.is_exact else 1e-4)


@given(problem=workloads(), term=MEANS, certificate=price_lists())
def test_least_costs_are_those_on_a_fine_grid(
    problem: WorkloadProblem, term: WorkloadTerm, certificate: dict[str, Any]
) -> None:
    edges, prices, unit = (certificate[key] for key in ("edges", "prices", "unit"))
    costs = job_costs(problem, term)
    num_jobs, num_slots = len(problem.jobs), len(edges) - 1
    out = Cheapest(
        np.empty(num_jobs),
        np.empty(num_jobs),
        np.empty(num_jobs, dtype=np.int64),
        np.empty(num_slots + 1),
        np.empty(num_slots + 2),
    )
    each = np.append(np.array(prices, dtype=float) / unit, 0.0)
    integral = np.append(0.0, np.cumsum(each[:-1] * np.diff(edges)))
    columns = (np.array(edges, dtype=float), each, integral)
    for column in columns:
        column.setflags(write=False)
    total = cheapest(problem.packed, costs.slope, costs.floor, 0.0, PriceList(*columns), out)
    slow = [float(least_cost(problem, term, j, edges, {"nodes": prices}, unit)) for j in range(num_jobs)]
    assert out.costs == pytest.approx(slow, rel=1e-12, abs=1e-12)
    assert total == pytest.approx(sum(slow))
    seconds = problem.run_times(frozen(out.sizes.copy()))
    assert (out.starts >= problem.packed.submit).all()
    held = [
        sum(
            n * max(0.0, min(start + time, late) - max(start, early))
            for start, time, n in zip(out.starts, seconds, out.sizes, strict=True)
        )
        for early, late in pairwise(edges)
    ]
    assert out.usage[:-1] == pytest.approx(held)


@given(job=overhead_jobs(12, st.floats(1, 50), st.integers(0, 9)))
def test_the_fastest_number_of_nodes_is_an_integer(job: Job) -> None:
    """With overhead a job is fastest on some number of nodes, which is looked for among all of them here."""
    problem = WorkloadProblem(12, [job])
    packed = problem.packed
    sizes = np.arange(packed.min_nodes[0], packed.max_nodes[0] + 1)
    fastest = job.submit + min(float(problem.run_times(np.array([size]))[0]) for size in sizes)
    longest = {"kind": "makespan", "rule": "longest", "after": job.submit}
    certified = certified_bound(problem, longest, ("makespan",))
    assert certified <= fastest
    assert certified == pytest.approx(fastest, abs=1e-3)
    bound = makespan_bound(problem)
    assert bound.value <= certified_bound(problem, bound.certificate, ("makespan",))


@given(problem=st.one_of(ANY, workloads(st.integers(1, 9))))
def test_makespans(problem: WorkloadProblem) -> None:
    bound = makespan_bound(problem)
    certified = certified_bound(problem, bound.certificate, ("makespan",))
    best = workload_optimum(problem, "makespan")
    assert bound.value <= certified <= best * (1 + Fraction(1, 10**12))
    assert certified <= bound.value + (0 if problem.is_exact else 1e-3)
    assert bound.value == workload_bound(problem, "makespan")
    packed = problem.packed
    assert (
        bound.value >= (packed.submit + problem.run_times(packed.nodes)).max() - 1e-3 or not problem.is_rigid
    )
