"""Laws of prices per job on machines: never above brute force, recomputed exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import naive_job_prices as naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_workload_optimum import workload_optimum
from price_strategies import job_price_lists
from resource_strategies import general_problems
from strategies import workload_problems
from tiers import examples

from allocsolve.bounds.workload import machine_prices
from allocsolve.bounds.workload._kernels_machine_jobs import (
    MachineEntries,
    fullest_slots_on_machine,
    soft_slots_on_machine,
)
from allocsolve.bounds.workload.job_price_dual import PRIOR, JobWindows
from allocsolve.bounds.workload.machine_job_prices import (
    MachineJobDual,
    MachineJobs,
    machine_job_prices,
    machine_job_prices_of,
)
from allocsolve.errors import InvalidAnswer
from allocsolve.judge import certified_bound
from allocsolve.model import Budget, ClosedWindow, Job, WorkloadProblem, frozen

if TYPE_CHECKING:
    from allocsolve.bounds.workload import PriceBound
    from allocsolve.model import WorkloadTerm

MEANS: st.SearchStrategy[WorkloadTerm] = st.sampled_from(["turnaround", "slowdown", "wait"])
QUARTERS = st.integers(1, 40).map(lambda quarters: quarters / 4)
REALS = st.floats(0.5, 12)
#: Brute force takes up to five jobs. Plain problems have a judge of their own.
SMALL = general_problems(min_jobs=3, max_jobs=5, max_submit=5).filter(lambda toy: not toy.is_plain)


def bounded(problem: WorkloadProblem, term: WorkloadTerm) -> PriceBound:
    """Return the bound by prices per job after a whole ascent."""
    return machine_job_prices(problem, term, machine_prices(problem, term), clock=Budget().start())


@settings(max_examples=examples(1000), deadline=None)
@given(problem=SMALL, term=MEANS, data=st.data())
def test_never_above_the_optimum(problem: WorkloadProblem, term: WorkloadTerm, data: st.DataObject) -> None:
    best, start = workload_optimum(problem, term), machine_prices(problem, term)
    bound = machine_job_prices(problem, term, start, clock=Budget().start())
    assert start.value <= bound.value <= best
    assert bound.value == certified_bound(problem, bound.certificate, (term,))
    drawn = {**data.draw(job_price_lists(problem)), "term": term}
    assert certified_bound(problem, drawn, (term,)) <= best


@settings(max_examples=examples(200), deadline=None)
@given(
    problem=general_problems(min_jobs=3, max_jobs=4, times=REALS | QUARTERS | st.just(1 / 3)).filter(
        lambda toy: not toy.is_plain
    ),
    term=MEANS,
    data=st.data(),
)
def test_times_that_are_no_quarters(
    problem: WorkloadProblem, term: WorkloadTerm, data: st.DataObject
) -> None:
    best = workload_optimum(problem, term) + Fraction(1, 10**9)
    assert bounded(problem, term).value <= best
    drawn = {**data.draw(job_price_lists(problem)), "term": term}
    assert certified_bound(problem, drawn, (term,)) <= best


@given(data=st.data(), term=MEANS)
def test_the_judge_is_its_slow_twin(data: st.DataObject, term: WorkloadTerm) -> None:
    """But for the part of a unit of each slowdown, which is below."""
    times = data.draw(st.sampled_from([None, QUARTERS]))
    problem = data.draw(
        general_problems(min_jobs=1, times=times).filter(lambda toy: not toy.is_plain and toy.is_exact)
    )
    drawn = data.draw(job_price_lists(problem))
    scale = 10**6  # so that what is rounded down is little
    finer = {**drawn, "prices": [price * scale for price in drawn["prices"]], "unit": drawn["unit"] * scale}
    if not problem.jobs.packed.weight.any():
        return
    exact = naive.bound(problem, finer, term)
    certified = certified_bound(problem, {**finer, "term": term}, (term,))
    assert certified <= exact
    assert certified >= exact - (Fraction(1, 1000) if term == "slowdown" else Fraction(1, 10**9))


@given(data=st.data(), term=MEANS)
def test_the_dual_is_what_the_judge_finds(data: st.DataObject, term: WorkloadTerm) -> None:
    problem = data.draw(
        general_problems(min_jobs=2).filter(
            lambda toy: not toy.is_plain and toy.is_exact and bool((toy.jobs.packed.weight > 0).all())
        )
    )
    drawn = {**data.draw(job_price_lists(problem)), "term": term, "nodes": 1, "unit": 10**6}
    drawn["prices"] = [price * 10**6 for price in drawn["prices"]]
    jobs = MachineJobs.of(problem, term)
    drawn["nodes"] = int(jobs.units[0])
    there = dict(problem.resources)
    drawn["units"] = {
        name: int(unit)
        for name, unit in zip(jobs.machine.names[1:], jobs.units[1:].tolist(), strict=True)
        if unit <= there[name]
    }
    windows = JobWindows.of_certificate(drawn, jobs.priced.counted)
    dual = MachineJobDual(jobs, windows)
    value = dual.exact(windows.prices * windows.lengths)
    fewer = MachineJobDual(jobs, windows, jobs.scarce)
    assert fewer.exact(windows.prices * windows.lengths) <= value + 1e-9 * abs(value)
    if term == "wait":
        value -= float((problem.jobs.packed.weight * problem.jobs.packed.runtime).sum())
    mean = value / float(problem.jobs.packed.weight.sum())
    assert mean == pytest.approx(certified_bound(problem, drawn, (term,)), rel=1e-5, abs=1e-5)


ITEMS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(0, 3), st.floats(-2, 90)),
    min_size=1,
    max_size=7,
)


@given(
    items=ITEMS,
    room=st.tuples(st.integers(0, 7), st.integers(0, 6), st.integers(0, 5)),
    used=st.integers(1, 3),
)
@settings(max_examples=examples(300))
def test_sets_that_fit_by_each_resource(
    items: list[tuple[int, int, int, float]], room: tuple[int, int, int], used: int
) -> None:
    """Soft greatest levels, inclusion probabilities and greatest levels are those of all sets.

    Large levels are beyond what tables of probabilities hold, so logarithms are tried, too.
    """
    there = room[:used]
    items = [item for item in items if all(need <= most for need, most in zip(item, there, strict=False))]
    if not items:
        return
    needs = np.array([item[:used] for item in items], dtype=np.int64)
    levels = np.array([item[3] for item in items])
    for temperature in (10.0, 1.0, 0.05):
        slots = MachineEntries(
            *map(
                frozen,
                (
                    np.array([0, len(items)]),
                    np.arange(len(items)),
                    needs.copy(),
                    np.array([there], dtype=np.int64),
                ),
            )
        )
        gradient = np.zeros(len(items))
        value = soft_slots_on_machine(slots, frozen(levels.copy()), temperature, PRIOR, gradient)
        odds = levels / temperature + PRIOR
        expected, inside = naive.soft_maximum(needs.tolist(), odds.tolist(), there)
        assert value == pytest.approx(temperature * expected, rel=1e-9, abs=1e-9)
        assert -gradient == pytest.approx(inside, abs=1e-9)
        kept = np.maximum(levels, 0.0)
        best = max(weight for weight, _ in naive.soft_sets(needs.tolist(), kept.tolist(), there))
        assert fullest_slots_on_machine(slots, frozen(kept)) == pytest.approx(best)


@given(problem=workload_problems(min_jobs=1, max_jobs=5, moldable=False), term=MEANS, data=st.data())
def test_a_resource_that_nobody_needs_changes_nothing(
    problem: WorkloadProblem, term: WorkloadTerm, data: st.DataObject
) -> None:
    drawn = {**data.draw(job_price_lists(problem)), "term": term}
    general = WorkloadProblem(problem.num_nodes, problem.jobs, resources={"licences": 1})
    plain = certified_bound(problem, drawn, (term,))
    assert certified_bound(general, drawn, (term,)) == plain
    assert certified_bound(general, {**drawn, "units": {"licences": 1}}, (term,)) == plain


@given(problem=SMALL, term=MEANS)
def test_an_ascent_goes_on_from_a_certificate(problem: WorkloadProblem, term: WorkloadTerm) -> None:
    first = bounded(problem, term)
    if first.certificate["kind"] != "job-prices":
        return
    known = machine_job_prices_of(problem, term, first.certificate)
    assert known.value == first.value
    again = machine_job_prices(problem, term, known, clock=Budget().start())
    assert again.value >= first.value


def test_jobs_that_cannot_run_beside_one_another_by_any_resource() -> None:
    """Each two of them need more than half of some resource; prices of resources do not see it."""
    jobs = [
        Job(0, 3, 10, needs={"gpus": 3}),
        Job(0, 3, 10, needs={"disks": 3}),
        Job(0, 1, 10, needs={"gpus": 3, "disks": 3}),
    ]
    problem = WorkloadProblem(4, jobs, resources={"gpus": 4, "disks": 4})
    best = float(workload_optimum(problem, "turnaround"))
    assert best == 20
    assert machine_prices(problem).value < 0.95 * best
    assert bounded(problem, "turnaround").value > 0.99 * best


def test_what_is_closed_to_a_job_bars_starts() -> None:
    """Half of the nodes are there, which is too few for the second job."""
    problem = WorkloadProblem(
        4, [Job(0, 4, 10), Job(5, 3, 20)], closed=[ClosedWindow(11, 1000, {"nodes": 2})]
    )
    best = float(workload_optimum(problem, "turnaround"))
    assert machine_prices(problem).value < best / 2
    assert bounded(problem, "turnaround").value == pytest.approx(best, rel=1e-3)


def test_tables_that_are_too_large_are_refused() -> None:
    there = 2**40
    problem = WorkloadProblem(
        there, [Job(0, there, 9, needs={"a": there}), Job(0, 1, 9)], resources={"a": there}
    )
    listed = {
        "kind": "job-prices",
        "term": "turnaround",
        "edges": [0, 9],
        "nodes": 1,
        "unit": 1,
        "units": {"a": 2**20},
        "first_slots": [0, 0],
        "offsets": [0, 1, 2],
        "prices": [5, 5],
    }
    with pytest.raises(InvalidAnswer, match=r"units of the certificate make \d+ sums in a slot"):
        certified_bound(problem, listed, ("turnaround",))
    fine = certified_bound(problem, {**listed, "nodes": there, "units": {}}, ("turnaround",))
    assert fine <= float(workload_optimum(problem, "turnaround"))
