"""Laws of bounds by prices of resources: never above brute force, recomputed exactly, hard to tamper with."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_resources import needs_of, release_of
from naive_workload_optimum import workload_optimum
from naive_workload_prices import least_cost, price_value
from resource_strategies import general_problems
from strategies import workload_problems
from tiers import examples

from allocsolve.bounds.workload import job_costs, machine_prices, time_prices
from allocsolve.bounds.workload.machine_prices import MachineDual, mean_capacity
from allocsolve.bounds.workload.time_prices import TimeDual
from allocsolve.errors import InvalidAnswer, InvalidOption, UnsupportedProblem
from allocsolve.judge import certified_bound
from allocsolve.judge.workload import machine_prices as judge
from allocsolve.model import Amdahl, ClosedWindow, Job, WorkloadProblem, frozen, packed_machine

if TYPE_CHECKING:
    from allocsolve.model import WorkloadTerm

MEANS: st.SearchStrategy[WorkloadTerm] = st.sampled_from(["turnaround", "slowdown", "wait"])
QUARTERS = st.integers(1, 40).map(lambda quarters: quarters / 4)
#: Brute force takes up to five jobs.
SMALL = general_problems(min_jobs=3, max_jobs=5, max_submit=5)


@st.composite
def price_rows(draw: st.DrawFn, problem: WorkloadProblem, highest: int = 40) -> dict[str, Any]:
    """Prices of some resources in the same slots."""
    edges = sorted(draw(st.sets(st.integers(0, 30), min_size=1, max_size=6)))
    slots = st.lists(st.integers(0, highest), min_size=len(edges) - 1, max_size=len(edges) - 1)
    names = draw(st.sets(st.sampled_from(["nodes", *(name for name, _ in problem.resources)])))
    prices = {name: draw(slots) for name in sorted(names)}
    return {"kind": "machine-prices", "edges": edges, "prices": prices, "unit": draw(st.integers(1, 30))}


@settings(max_examples=examples(500), deadline=None)
@given(problem=SMALL, term=MEANS, data=st.data())
def test_never_above_the_optimum(problem: WorkloadProblem, term: WorkloadTerm, data: st.DataObject) -> None:
    best = workload_optimum(problem, term)
    bound = machine_prices(problem, term)
    assert bound.value == certified_bound(problem, bound.certificate, (term,)) <= best
    drawn = {**data.draw(price_rows(problem)), "term": term}
    assert certified_bound(problem, drawn, (term,)) <= best


@given(data=st.data(), term=MEANS)
def test_the_judge_is_its_slow_twin(data: st.DataObject, term: WorkloadTerm) -> None:
    """But for the part of a unit of each slowdown, which is below."""
    problem = data.draw(general_problems(min_jobs=1, times=data.draw(st.sampled_from([None, QUARTERS]))))
    drawn = data.draw(price_rows(problem))
    scale = 10**6  # so that what is rounded down is little
    finer = {name: [price * scale for price in row] for name, row in drawn["prices"].items()}
    unit = drawn["unit"] * scale
    exact = price_value(problem, term, drawn["edges"], finer, unit)
    listed = {**drawn, "prices": finer, "unit": unit, "term": term}
    certified = certified_bound(problem, listed, (term,))
    assert certified <= exact
    if problem.is_exact:  # else times are rounded down
        assert certified >= exact - (Fraction(1, 1000) if term == "slowdown" else Fraction(1, 10**12))


@given(data=st.data(), term=MEANS)
def test_least_costs_are_those_on_a_fine_grid(data: st.DataObject, term: WorkloadTerm) -> None:
    problem = data.draw(general_problems(min_jobs=1, times=data.draw(st.sampled_from([None, QUARTERS]))))
    drawn = data.draw(price_rows(problem))
    edges, unit = frozen(np.array(drawn["edges"], dtype=np.int64)), drawn["unit"]
    names = packed_machine(problem).names
    rows = {name: drawn["prices"].get(name, [0] * (len(edges) - 1)) for name in names}
    dual = MachineDual(problem, job_costs(problem, term), 0.0)
    dual.on(edges)
    value, gradient = dual((np.array([*rows.values()]) / unit * dual.most).ravel())
    slow = [float(least_cost(problem, term, j, drawn["edges"], rows, unit)) for j in range(len(problem.jobs))]
    assert dual.out.costs == pytest.approx(slow, rel=1e-12, abs=1e-12)
    there = mean_capacity(dual.machine, edges)
    earned = sum(
        price / unit * there[row, k] * width
        for row, name in enumerate(names)
        for k, (price, width) in enumerate(zip(rows[name], np.diff(edges).tolist(), strict=True))
    )
    assert value == pytest.approx(sum(slow) - earned)
    jobs = [*problem.jobs]
    assert all(start >= release_of(job) for start, job in zip(dual.out.starts, jobs, strict=True))
    for row, name in enumerate(names):
        for k in range(len(edges) - 1):
            held = sum(
                needs_of(job).get(name, 0)
                * max(0.0, min(start + job.runtime, float(edges[k + 1])) - max(start, float(edges[k])))
                for start, job in zip(dual.out.starts.tolist(), jobs, strict=True)
            )
            beyond = (held / float(edges[k + 1] - edges[k]) - there[row, k]) / dual.most[row, 0]
            assert gradient.reshape(len(names), -1)[row, k] == pytest.approx(beyond, abs=1e-9)


@given(problem=workload_problems(min_jobs=1, max_jobs=5, moldable=False), term=MEANS)
def test_on_a_plain_machine_it_is_the_plain_bound(problem: WorkloadProblem, term: WorkloadTerm) -> None:
    """The ascents end at different prices, as they climb differently; any prices prove the same in both."""
    plain, costs = time_prices(problem, term), job_costs(problem, term)
    by_node, by_resource = TimeDual(problem, costs, 0.0), MachineDual(problem, costs, 0.0)
    if len(plain.prices):
        by_node.on(plain.edges)
        by_resource.on(plain.edges)
        value = by_node(plain.prices)[0]
        assert by_resource(plain.prices * problem.num_nodes)[0] == pytest.approx(value, rel=1e-12, abs=1e-9)
    edges, prices, unit = (plain.certificate[key] for key in ("edges", "prices", "unit"))
    same = {"kind": "machine-prices", "term": term, "edges": edges, "prices": {"nodes": prices}, "unit": unit}
    exact = certified_bound(problem, plain.certificate, (term,))
    assert certified_bound(problem, same, (term,)) == pytest.approx(exact, rel=1e-12, abs=1e-12)


@given(data=st.data(), steps=st.integers(0, 5))
def test_few_steps_only_lower_the_bound(data: st.DataObject, steps: int) -> None:
    problem = data.draw(general_problems(min_jobs=1))
    listed = {**data.draw(price_rows(problem)), "term": "turnaround"}
    full = certified_bound(problem, listed, ("turnaround",))
    with mock.patch.object(judge, "_MAX_STEPS", steps):
        assert certified_bound(problem, listed, ("turnaround",)) <= full


@given(problem=SMALL, term=MEANS)
def test_an_ascent_goes_on_from_a_certificate(problem: WorkloadProblem, term: WorkloadTerm) -> None:
    first = machine_prices(problem, term)
    again = machine_prices(problem, term, start=first.certificate)
    assert again.value >= first.value * (1 - 1e-9) - 1e-9


def test_a_closed_window_costs_what_waiting_for_its_end_costs() -> None:
    # The second job cannot end before the window begins, and the plain bound knows nothing of it.
    problem = WorkloadProblem(4, [Job(0, 4, 10), Job(5, 2, 20)], closed=[ClosedWindow(11, 1000)])
    bound = machine_prices(problem)
    assert bound.value == pytest.approx(float(workload_optimum(problem, "turnaround")), rel=1e-6)
    assert time_prices(problem.on_plain_machine()).value < bound.value / 10


def test_windows_between_whole_seconds() -> None:
    problem = WorkloadProblem(
        4, [Job(0, 4, 9.75), Job(22, 4, 5)], closed=[ClosedWindow(0, 20.75), ClosedWindow(30.5, 60.25)]
    )
    best = workload_optimum(problem, "turnaround")
    assert machine_prices(problem).value == pytest.approx(float(best), rel=0.05)


def _problem() -> WorkloadProblem:
    rng = random.Random(7)
    jobs = [
        Job(rng.randrange(200), rng.randint(1, 16), rng.randint(5, 60), needs={"gpus": rng.randint(0, 4)})
        for _ in range(40)
    ]
    return WorkloadProblem(
        16, jobs, resources={"gpus": 6}, closed=[ClosedWindow(100, 160), ClosedWindow(300, 400, {"gpus": 3})]
    )


def test_what_is_refused() -> None:
    moldable = Job(0, 2, 5, name="a", min_nodes=1, max_nodes=3, speedup=Amdahl(0.5))
    problem = WorkloadProblem(4, [moldable], closed=[ClosedWindow(5, 6)])
    with pytest.raises(UnsupportedProblem, match="job 'a' is moldable: prices of resources bound rigid jobs"):
        machine_prices(problem)
    with pytest.raises(InvalidOption, match="makespan is no mean over the jobs"):
        machine_prices(_problem(), "makespan")
    listed = {"kind": "machine-prices", "term": "makespan", "edges": [0], "prices": {}, "unit": 1}
    with pytest.raises(InvalidAnswer, match="bound turnaround, slowdown, wait, not makespan"):
        certified_bound(_problem(), listed, ("makespan",))
    with pytest.raises(InvalidAnswer, match="jobs that are not rigid, of which certificates of the kind mac"):
        certified_bound(problem, {**listed, "term": "wait"}, ("wait",))
    plain = {"kind": "time-prices", "term": "turnaround", "edges": [0, 1], "prices": [1], "unit": 1}
    with pytest.raises(
        InvalidAnswer, match="the workload has closed windows and counted resources, of which"
    ):
        certified_bound(_problem(), plain, ("turnaround",))
    huge = {"nodes": [2**53, 2**53]}
    with pytest.raises(InvalidAnswer, match=r"prices of nodes of the certificate, .* are beyond 2\^61 units"):
        certified_bound(
            _problem(), {**listed, "term": "wait", "prices": huge, "edges": [0, 2**9, 2**10]}, ("wait",)
        )


@given(weights=st.lists(st.sampled_from([1e-3, 1.0, 1e12, 2.0**53]), min_size=1, max_size=5))
def test_large_numbers_stay_within_64_bits(weights: list[float]) -> None:
    """What does not fit is cut off, which lowers the bound."""
    there = 2**53
    jobs = [
        Job(0, there, 2**40, weight=weight, needs={"a": there, "b": there, "c": there}) for weight in weights
    ]
    problem = WorkloadProblem(there, jobs, resources=dict.fromkeys("abc", there))
    rows = {name: [2**50, 2**16] for name in ("nodes", *"abc")}
    listed = {"kind": "machine-prices", "edges": [0, 3, 2**40], "prices": rows, "unit": 2**30}
    for term in ("turnaround", "slowdown", "wait"):
        value = certified_bound(problem, {**listed, "term": term}, (term,))
        ends = [float(2**40 * (place + 1)) for place in range(len(jobs))]
        scale = sum(Fraction(job.weight) for job in jobs)
        order = sorted(range(len(jobs)), key=lambda j: -jobs[j].weight)
        best = (
            sum(Fraction(jobs[j].weight) * Fraction(end) for j, end in zip(order, ends, strict=True)) / scale
        )
        if term == "slowdown":
            best /= 2**40
        elif term == "wait":
            best -= 2**40
        assert 0 <= value <= best
