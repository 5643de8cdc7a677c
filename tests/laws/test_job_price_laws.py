"""Laws of prices per job: whatever the prices, the bound is valid, and the judge says what the twin says."""

from __future__ import annotations

import math

import naive_job_prices as naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_workload_optimum import workload_optimum
from price_strategies import job_price_lists
from tiers import draws, examples

from allocsolve.bounds.workload import job_costs, time_prices
from allocsolve.bounds.workload._kernels_job_prices import SlotEntries, soft_slots
from allocsolve.bounds.workload.job_price_dual import PRIOR, DualJobs, JobDual, JobWindows, slots_of
from allocsolve.bounds.workload.job_prices import job_prices
from allocsolve.judge.workload.job_prices import job_price_bound
from allocsolve.model import Clock, Job, WorkloadProblem, WorkloadTerm, frozen

TERMS: tuple[WorkloadTerm, ...] = ("turnaround", "slowdown", "wait")


@st.composite
def problems(draw: st.DrawFn, scales: tuple[float, ...] = (0.25, 1, 5)) -> WorkloadProblem:
    num_nodes = draw(st.integers(1, 8))
    scale = draw(st.sampled_from(scales))
    weights = st.sampled_from([0, 1, 1, 2, 0.7])
    job = st.builds(
        Job,
        st.integers(0, 12).map(lambda t: t * scale),
        st.integers(1, num_nodes),
        st.integers(1, 9).map(lambda t: t * scale),
        weight=weights,
    )
    return WorkloadProblem(num_nodes, draw(st.lists(job, min_size=1, max_size=5)))


@settings(deadline=None)
@given(st.data())
def test_judge_is_exact(data: st.DataObject) -> None:
    """But for what it rounds: slowdowns, and weights that are no integers, are within 1 / unit a job."""
    problem, term = data.draw(problems()), data.draw(st.sampled_from(TERMS))
    certificate = data.draw(job_price_lists(problem)) | {"term": term}
    weights = problem.packed.weight
    if not weights.any():
        assert job_price_bound(problem, certificate, term) == 0
        return
    exact = naive.bound(problem, certificate, term)
    value = job_price_bound(problem, certificate, term)
    assert value <= exact
    if term == "slowdown" or (weights != np.floor(weights)).any():
        fine = {**certificate, "unit": certificate["unit"] * 10**6}
        fine["prices"] = [price * 10**6 for price in certificate["prices"]]
        value = job_price_bound(problem, fine, term)
        assert value <= exact
        assert value == pytest.approx(float(exact), abs=1e-4)
    else:
        assert value == pytest.approx(float(exact), rel=1e-15, abs=1e-12)


@settings(deadline=None)
@given(st.data(), st.floats(0.01, 0.99))
def test_times_that_are_no_quarters_lose_little(data: st.DataObject, shift: float) -> None:
    problem = data.draw(problems())
    moved = WorkloadProblem(
        problem.num_nodes,
        [Job(job.submit + shift, job.nodes, job.runtime + shift / 3, weight=1) for job in problem.jobs],
    )
    term = data.draw(st.sampled_from(TERMS))
    certificate = data.draw(job_price_lists(moved)) | {"term": term}
    certificate["unit"] *= 10**6
    certificate["prices"] = [price * 10**6 for price in certificate["prices"]]
    exact = float(naive.bound(moved, certificate, term))
    assert exact - 1 < job_price_bound(moved, certificate, term) <= exact + 1e-9


@settings(deadline=None, max_examples=examples(400))
@given(problems((0.25, 1, 5, 1.1)), st.sampled_from(TERMS))
def test_bound_is_below_the_optimum_and_not_below_the_time_prices(
    problem: WorkloadProblem, term: WorkloadTerm
) -> None:
    start = time_prices(problem, term, clock=Clock(math.inf))
    bound = job_prices(problem, term, start, clock=Clock(math.inf))
    optimum = float(workload_optimum(problem, term))
    assert start.value <= bound.value <= optimum + 1e-12 * abs(optimum)
    if bound is not start and bound.certificate["kind"] == "job-prices":
        judged = job_price_bound(problem, bound.certificate, term)
        assert bound.value <= judged <= (bound.value if problem.is_exact else optimum + 1e-12 * abs(optimum))
        assert (bound.starts >= problem.packed.submit).all()


def test_small_problems_are_nearly_tight() -> None:
    """Mean .985 of the optimum; prices per node-second alone: .87."""
    shares = []
    for seed in draws(300):
        problem = naive.family(seed)
        optimum = float(workload_optimum(problem, "turnaround"))
        start = time_prices(problem, "turnaround", clock=Clock(math.inf))
        bound = job_prices(problem, "turnaround", start, clock=Clock(math.inf)).value
        assert start.value <= bound <= optimum
        shares.append(bound / optimum)
    assert np.mean(shares) >= 0.985


def _dual(problem: WorkloadProblem, term: WorkloadTerm, length: float) -> JobDual:
    costs, packed = job_costs(problem, term), problem.packed
    kept = np.flatnonzero(costs.slope > 0)
    jobs = DualJobs(packed.submit, packed.runtime, costs.slope, costs.floor, packed.nodes).of(kept)
    edges = np.arange(0, problem.horizon + length, length)
    windows = JobWindows.empty(
        edges, slots_of(edges, jobs.submit), slots_of(edges, np.full(len(kept), edges[-1]))
    )
    return JobDual(jobs, problem.num_nodes, windows)


@settings(deadline=None)
@given(problems(), st.sampled_from(TERMS), st.integers(0, 2**30), st.sampled_from([0.05, 0.5, 3.0]))
def test_gradient_is_that_of_differences(
    problem: WorkloadProblem, term: WorkloadTerm, seed: int, temperature: float
) -> None:
    dual = _dual(problem, term, 2.0)
    random = np.random.default_rng(seed)
    levels = random.exponential(2.0, len(dual.windows.prices))
    direction = random.normal(size=len(levels))
    _, gradient = dual.soft(levels.copy(), temperature)
    step = 1e-4 * temperature
    ahead, behind = (dual.soft(levels + sign * step * direction, temperature)[0] for sign in (1, -1))
    slope = float(gradient @ direction)
    assert (ahead - behind) / (2 * step) == pytest.approx(
        slope, rel=1e-4, abs=1e-4 * (1 + len(levels) ** 0.5)
    )


@settings(deadline=None)
@given(problems(), st.integers(0, 2**30))
def test_exact_value_is_that_of_the_judge(problem: WorkloadProblem, seed: int) -> None:
    dual = _dual(problem, "turnaround", 2.0)
    prices = np.random.default_rng(seed).integers(0, 50, len(dual.windows.prices))
    counts = np.zeros(len(problem.jobs), dtype=np.int64)
    first = counts.copy()
    kept = np.flatnonzero(problem.packed.weight > 0)
    counts[kept], first[kept] = np.diff(dual.windows.offsets), dual.windows.first
    certificate = {
        "kind": "job-prices",
        "term": "turnaround",
        "edges": dual.windows.edges.astype(int).tolist(),
        "nodes": 1,
        "unit": 100,
        "first_slots": first.tolist(),
        "offsets": [0, *np.cumsum(counts).tolist()],
        "prices": prices.tolist(),
    }
    judged = job_price_bound(problem, certificate, "turnaround") * problem.packed.weight.sum()
    weights = problem.packed.weight
    loss = 0.0 if (weights == np.floor(weights)).all() else 0.02 * problem.horizon * len(problem.jobs)
    value = dual.exact(prices / 100 * dual.windows.lengths)
    assert judged - 1e-6 <= value <= judged + loss + 1e-6


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.floats(-30, 400)), min_size=1, max_size=9),
    st.integers(9, 20),
    st.sampled_from([1.0, 30.0]),
)
def test_soft_maximum_is_that_over_all_sets(
    items: list[tuple[int, float]], capacity: int, stretch: float
) -> None:
    """Also where the tables of probabilities fail, and logarithms are taken."""
    sizes = [size for size, _ in items]
    levels = np.array([odd * stretch for _, odd in items])
    slots = SlotEntries(
        frozen(np.array([0, len(items)])),
        frozen(np.arange(len(items))),
        frozen(np.array(sizes, dtype=np.int64)),
    )
    gradient = np.zeros(len(items))
    value = soft_slots(slots, capacity, frozen(levels), 1.0, PRIOR, gradient, 0, 1)
    odds = [float(level) + PRIOR for level in levels]
    expected, inside = naive.soft_maximum([[size] for size in sizes], odds, [capacity])
    assert value == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert -gradient == pytest.approx(inside, abs=1e-7)
