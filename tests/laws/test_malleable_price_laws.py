"""Laws of the price bound of malleable jobs: cheapest ends as by a slow twin, never above any schedule."""

from __future__ import annotations

import math
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, strategies as st
from naive_evolving_prices import slotted_optimum_of_evolving
from naive_malleable_prices import cost_at, least_cost_of_job
from price_strategies import price_lists, single_jobs, toys

from allocsolve.bounds.workload import job_costs, time_prices, work_prices, workload_bound
from allocsolve.bounds.workload.time_prices import TimeDual
from allocsolve.judge.certificates import price_list
from allocsolve.judge.workload import work_prices as judged_work_prices
from allocsolve.judge.workload.certificate import workload_certified_bound
from allocsolve.judge.workload.work_prices import least_cost_of_work
from allocsolve.model import Job, PowerLaw, WorkloadProblem, frozen

if TYPE_CHECKING:
    from allocsolve.bounds.workload import PriceBound
    from allocsolve.model import WorkloadTerm

MEANS: st.SearchStrategy[WorkloadTerm] = st.sampled_from(["turnaround", "slowdown"])


def evaluated(problem: WorkloadProblem, term: WorkloadTerm, certificate: dict[str, Any]) -> TimeDual:
    dual = TimeDual(problem, job_costs(problem, term), 0.0)
    dual.on(frozen(np.array(certificate["edges"], dtype=np.int64)))
    dual(np.array(certificate["prices"], dtype=np.float64) / certificate["unit"])
    return dual


@given(problem=single_jobs(), term=MEANS, certificate=price_lists())
def test_cheapest_ends_are_those_of_the_twin(
    problem: WorkloadProblem, term: WorkloadTerm, certificate: dict[str, Any]
) -> None:
    edges, unit = certificate["edges"], certificate["unit"]
    prices = [price / unit for price in certificate["prices"]]
    dual = evaluated(problem, term, certificate)
    cost = float(dual.out.costs[0])
    slow = least_cost_of_job(problem, term, 0, edges, prices)
    # The twin has few numbers of nodes: it may be above.
    assert slow * (1 - 3e-4) <= cost <= slow * (1 + 1e-9)
    end = float(dual.work.ends[0])
    assert cost_at(problem, term, 0, edges, prices, end + 1e-9) == pytest.approx(cost, rel=3e-4)
    proven = float(least_cost_of_work(problem, term, price_list(certificate)))
    assert cost * (1 - 1e-4) <= proven <= cost * (1 + 1e-12)


@given(problem=single_jobs(), term=MEANS, certificate=price_lists(), part=st.floats(0.05, 1))
def test_use_is_a_subgradient(
    problem: WorkloadProblem, term: WorkloadTerm, certificate: dict[str, Any], part: float
) -> None:
    """With other prices a job costs at most what it holds now, at those prices."""
    dual = evaluated(problem, term, certificate)
    cost, usage = float(dual.out.costs[0]), dual.out.usage[:-1].copy()
    prices = np.array(certificate["prices"], dtype=np.float64) / certificate["unit"]
    other = prices[::-1] * part
    dual(other)
    assert float(dual.out.costs[0]) <= (cost + float(usage @ (other - prices))) * (1 + 1e-6) + 1e-9


@given(problem=toys(), term=MEANS, certificate=price_lists())
def test_never_above_a_schedule(
    problem: WorkloadProblem, term: WorkloadTerm, certificate: dict[str, Any]
) -> None:
    best = slotted_optimum_of_evolving(problem, term)
    bound = time_prices(problem, term)
    certified = workload_certified_bound(problem, bound.certificate, (term,))
    assert 0 <= bound.value <= certified <= best * (1 + 1e-12)
    assert workload_bound(problem, term) <= best * (1 + 1e-12)
    assert workload_bound(problem, term) <= bound.value + 1e-3
    listed = {**certificate, "term": term}
    assert workload_certified_bound(problem, listed, (term,)) <= best * (1 + 1e-12)


@given(problem=toys(), certificate=price_lists(), steps=st.integers(0, 30))
def test_few_steps_only_lower_the_bound(
    problem: WorkloadProblem, certificate: dict[str, Any], steps: int
) -> None:
    listed = {**certificate, "term": "turnaround"}
    full = workload_certified_bound(problem, listed, ("turnaround",))
    with mock.patch.object(judged_work_prices, "_MAX_STEPS", steps):
        assert workload_certified_bound(problem, listed, ("turnaround",)) <= full * (1 + 1e-9)


@given(problem=toys(), term=MEANS)
def test_work_prices_are_those_of_malleable_jobs(problem: WorkloadProblem, term: WorkloadTerm) -> None:
    prices = work_prices(problem, time_prices(problem, term))
    kinds = [job.kind for job in problem.jobs]
    assert [price > 0 for price in prices.tolist()] == [kind == "malleable" for kind in kinds]


@given(share=st.sampled_from([0.3, 0.5, 0.7]), seed=st.integers(0, 100), count=st.integers(1, 12))
def test_closed_form_of_power_laws(share: float, seed: int, count: int) -> None:
    problem, optimum = power_law_workload(count, share, seed)
    bound = coarse_prices(problem)
    certified = workload_certified_bound(problem, bound.certificate, ("turnaround",))
    assert 0.5 * optimum <= bound.value <= certified <= optimum


@pytest.mark.parametrize(("share", "least"), [(0.3, 0.99), (0.5, 0.95), (0.7, 0.75)])
def test_closed_form_of_a_thousand_jobs(share: float, least: float) -> None:
    """On finer slots the bound rises to .9994, .996 and .98 of the optimum."""
    problem, optimum = power_law_workload(1000, share, 0)
    bound = coarse_prices(problem)
    certified = workload_certified_bound(problem, bound.certificate, ("turnaround",))
    assert least * optimum <= bound.value <= certified <= optimum


def coarse_prices(problem: WorkloadProblem) -> PriceBound:
    """Return the bound after one halving of slots: fixed work."""
    # The function has the name of its module.
    with mock.patch.object(import_module("allocsolve.bounds.workload.time_prices"), "_MOST_WIDTHS", 1):
        return time_prices(problem)


def power_law_workload(count: int, share: float, seed: int) -> tuple[WorkloadProblem, float]:
    """Return jobs that are all there at 0, of speedup n^share, and their least mean turnaround.

    The optimum gives the i-th largest of m jobs that are left (i / m)^c - ((i - 1) / m)^c of all nodes, with
    c = 1 / (1 - share) (Berg, Vesilo & Harchol-Balter, Performance Evaluation 144, 2020). There are so many
    nodes that this is one at least.
    """
    power = 1 / (1 - share)
    num_nodes = 2 * math.ceil(count**power)
    seconds = np.sort(np.ceil(np.random.default_rng(seed).lognormal(8, 1.5, count)))[::-1]
    law = PowerLaw(share)
    jobs = [
        Job(0, num_nodes, float(x), min_nodes=1, max_nodes=num_nodes, speedup=law, kind="malleable")
        for x in seconds
    ]
    rank = np.arange(1, count + 1)
    each = (rank**power - (rank - 1) ** power) ** (1 - share)
    return WorkloadProblem(num_nodes, jobs), float(seconds @ each) / count


def test_a_work_price_by_hand() -> None:
    """One job alone: of 60 s, done twice as fast on all 4 nodes, each second of which costs 1."""
    job = Job(0, 1, 60, min_nodes=1, max_nodes=4, speedup=PowerLaw(0.5), kind="malleable")
    problem = WorkloadProblem(4, [job])
    bound = time_prices(problem)
    assert bound.value == pytest.approx(30)
    assert work_prices(problem, bound).tolist() == pytest.approx([30])
    assert Fraction(bound.value) <= 30
