"""Laws of going on from earlier runs: whatever is given, no bound falls and no schedule gets worse."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tiers import examples

from allocsolve.bounds.workload import MEAN_TERMS, job_prices, time_prices
from allocsolve.bounds.workload.job_prices import job_prices_of
from allocsolve.exact.workload import Prices
from allocsolve.heuristics.workload.serial import SERIAL_ORDERS, SerialGeneration
from allocsolve.judge import assess, certified_bound
from allocsolve.judge.workload.rules import workload_value
from allocsolve.model import Amdahl, Budget, Clock, Job, WorkloadProblem, WorkloadSchedule
from allocsolve.model.result import terms

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

#: More than `WorkloadCpSat` is left to without a time limit.
MANY = 15


@st.composite
def problems(draw: DrawFn, fewest: int, most: int) -> WorkloadProblem:
    """Jobs of any width; some are moldable where `fewest` is above 0."""
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    num_nodes, moldable = draw(st.integers(2, 8)), draw(st.booleans())
    scale = draw(st.sampled_from([0.25, 1, 7, 0.3]))
    jobs = []
    for _ in range(draw(st.integers(fewest, most))):
        nodes = int(random.integers(1, num_nodes + 1))
        elastic: dict[str, Any] = {}
        if moldable and random.random() < 0.3:
            elastic = {"min_nodes": 1, "max_nodes": num_nodes, "speedup": Amdahl(0.9)}
        submit, runtime = random.integers(0, 40) * scale, random.integers(1, 15) * scale
        jobs.append(Job(submit, nodes, runtime, weight=float(random.choice([0, 1, 2])), **elastic))
    return WorkloadProblem(num_nodes, jobs)


@st.composite
def certificates(draw: DrawFn, problem: WorkloadProblem, term: str) -> dict[str, Any]:
    """Any prices that the judge admits, good or bad."""
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    slots = draw(st.integers(1, 12))
    edges = np.cumsum(random.integers(1, 9, slots + 1))
    shared = {"term": term, "edges": edges.tolist(), "unit": draw(st.sampled_from([1, 7, 10, 1000]))}
    most = 2 * shared["unit"]
    if draw(st.booleans()) or not problem.is_rigid:
        return {"kind": "time-prices", "prices": random.integers(0, most, slots).tolist(), **shared}
    first = random.integers(0, slots + 1, len(problem.jobs))
    counts = np.array([random.integers(0, slots - at + 1) for at in first], dtype=np.int64)
    return {
        "kind": "job-prices",
        "nodes": draw(st.integers(1, 2)),
        "first_slots": first.tolist(),
        "offsets": [0, *np.cumsum(counts).tolist()],
        "prices": random.integers(0, most, int(counts.sum())).tolist(),
        **shared,
    }


@settings(max_examples=examples(10))
@given(st.data(), st.sampled_from(["turnaround", "slowdown", "wait,makespan"]))
@pytest.mark.parametrize(("fewest", "most"), [(1, 3), (MANY, MANY + 5)])
def test_no_result_is_worse_than_what_it_started_from(
    fewest: int, most: int, data: st.DataObject, text: str
) -> None:
    problem = data.draw(problems(fewest, most))
    objective: Any = tuple(text.split(","))
    if not problem.is_rigid and objective[0] == "wait":
        objective = ("makespan", "turnaround")
    start = SerialGeneration(data.draw(st.sampled_from(SERIAL_ORDERS)))(problem, Budget()).answer
    certificate = {"kind": "makespan", "rule": "area", "after": 0}
    if objective[0] != "makespan":
        certificate = data.draw(certificates(problem, objective[0]))
    assert start is not None
    given_value = terms(workload_value(problem, start, objective))
    given_bound = certified_bound(problem, certificate, objective)
    solver = Prices(objective, start, certificate)
    first = assess(problem, solver(problem, Budget(iterations=50)), objective)
    assert terms(first.result.objective or 0) <= given_value
    assert terms(first.result.bound)[0] >= min(given_bound, terms(first.result.objective or 0)[0])
    assert terms(first.certified_bound)[0] >= min(given_bound, terms(first.result.objective or 0)[0])
    # And again, from what that left.
    solver = Prices(objective, first.result.answer, first.result.certificate)
    again = assess(problem, solver(problem, Budget(iterations=50, seed=1)), objective)
    assert terms(again.result.objective or 0) <= terms(first.result.objective or 0)
    assert terms(again.certified_bound)[0] >= terms(first.certified_bound)[0]


@settings(max_examples=examples(20))
@given(st.data(), st.sampled_from(MEAN_TERMS))
def test_the_ascent_goes_on_from_prices_of_node_seconds(data: st.DataObject, term: Any) -> None:
    problem = data.draw(problems(1, 6))
    term = term if problem.is_rigid else "turnaround"
    earlier = time_prices(problem, term)
    again = time_prices(problem, term, start=earlier.certificate)
    assert again.value >= earlier.value * (1 - 1e-9) - 1e-9
    certified = certified_bound(problem, again.certificate, (term,))
    assert again.value <= certified


@settings(max_examples=examples(15))
@given(st.data(), st.sampled_from(MEAN_TERMS))
def test_the_ascent_goes_on_from_prices_per_job(data: st.DataObject, term: Any) -> None:
    problem = data.draw(problems(1, 6).filter(lambda problem: problem.is_rigid))
    certificate = data.draw(certificates(problem, term).filter(lambda one: one["kind"] == "job-prices"))
    earlier = job_prices_of(problem, term, certificate)
    again = job_prices(problem, term, earlier, clock=Clock(math.inf))
    assert again.value >= earlier.value
    assert again.value == certified_bound(problem, again.certificate, (term,))


@settings(max_examples=examples(20))
@given(problems(1, 8), st.integers(0, 5))
def test_a_schedule_that_is_later_than_need_be(problem: WorkloadProblem, late: int) -> None:
    """The plan that repeats it starts no job later."""
    early = SerialGeneration()(problem, Budget()).answer
    assert early is not None
    sizes = None if problem.is_rigid else early.nodes
    start = WorkloadSchedule.of(problem, early.starts + late, sizes)
    result = Prices(start=start)(problem, Budget(iterations=20))
    assert terms(result.objective or 0) <= terms(workload_value(problem, start, ("turnaround",)))
