"""Laws of prices per job on machines: never above brute force, recomputed exactly, hard to tamper with."""

from __future__ import annotations

import copy
import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_machine_job_prices import machine_job_price_value, soft_sets
from naive_workload_optimum import workload_optimum
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
    from collections.abc import Callable

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


@st.composite
def drawn_prices(draw: st.DrawFn, problem: WorkloadProblem, highest: int = 40) -> dict[str, Any]:
    """Prices of each job in slots of any length, with units."""
    edges = sorted(draw(st.sets(st.integers(-2, 30), min_size=2, max_size=6)))
    count, slots = len(problem.jobs), len(edges) - 1
    first = [draw(st.integers(0, slots)) for _ in range(count)]
    rows = [draw(st.lists(st.integers(0, highest), max_size=slots - begin)) for begin in first]
    some = draw(st.sets(st.sampled_from([name for name, _ in problem.resources] or ["gpus"])))
    there = dict(problem.resources)
    return {
        "kind": "job-prices",
        "edges": edges,
        "nodes": draw(st.integers(1, 2)),
        "unit": draw(st.integers(1, 30)),
        "units": {name: draw(st.integers(1, 3)) for name in sorted(some) if name in there},
        "first_slots": first,
        "offsets": np.cumsum([0, *map(len, rows)]).tolist(),
        "prices": [price for row in rows for price in row],
    }


@settings(max_examples=examples(1000), deadline=None)
@given(problem=SMALL, term=MEANS, data=st.data())
def test_never_above_the_optimum(problem: WorkloadProblem, term: WorkloadTerm, data: st.DataObject) -> None:
    best, start = workload_optimum(problem, term), machine_prices(problem, term)
    bound = machine_job_prices(problem, term, start, clock=Budget().start())
    assert start.value <= bound.value <= best
    assert bound.value == certified_bound(problem, bound.certificate, (term,))
    drawn = {**data.draw(drawn_prices(problem)), "term": term}
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
    drawn = {**data.draw(drawn_prices(problem)), "term": term}
    assert certified_bound(problem, drawn, (term,)) <= best


@given(data=st.data(), term=MEANS)
def test_the_judge_is_its_slow_twin(data: st.DataObject, term: WorkloadTerm) -> None:
    """But for the part of a unit of each slowdown, which is below."""
    times = data.draw(st.sampled_from([None, QUARTERS]))
    problem = data.draw(
        general_problems(min_jobs=1, times=times).filter(lambda toy: not toy.is_plain and toy.is_exact)
    )
    drawn = data.draw(drawn_prices(problem))
    scale = 10**6  # so that what is rounded down is little
    finer = {**drawn, "prices": [price * scale for price in drawn["prices"]], "unit": drawn["unit"] * scale}
    if not problem.jobs.packed.weight.any():
        return
    exact = machine_job_price_value(problem, finer, term)
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
    drawn = {**data.draw(drawn_prices(problem)), "term": term, "nodes": 1, "unit": 10**6}
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
        weights = soft_sets(needs.tolist(), odds.tolist(), there)
        most = max(weight for weight, _ in weights)
        total = math.fsum(math.exp(weight - most) for weight, _ in weights)
        assert value == pytest.approx(temperature * (most + math.log(total)), rel=1e-9, abs=1e-9)
        for item in range(len(items)):
            inside = math.fsum(math.exp(weight - most) for weight, chosen in weights if chosen[item]) / total
            assert -gradient[item] == pytest.approx(inside, abs=1e-9)
        kept = np.maximum(levels, 0.0)
        best = max(weight for weight, _ in soft_sets(needs.tolist(), kept.tolist(), there))
        assert fullest_slots_on_machine(slots, frozen(kept)) == pytest.approx(best)


@given(problem=workload_problems(min_jobs=1, max_jobs=5, moldable=False), term=MEANS, data=st.data())
def test_a_resource_that_nobody_needs_changes_nothing(
    problem: WorkloadProblem, term: WorkloadTerm, data: st.DataObject
) -> None:
    drawn = {**data.draw(drawn_prices(problem)), "term": term}
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


def _problem() -> WorkloadProblem:
    rng = random.Random(7)
    jobs = [
        Job(rng.randrange(200), rng.randint(1, 16), rng.randint(5, 60), needs={"gpus": rng.randint(0, 4)})
        for _ in range(30)
    ]
    return WorkloadProblem(
        16, jobs, resources={"gpus": 6}, closed=[ClosedWindow(100, 160), ClosedWindow(300, 400, {"gpus": 3})]
    )


#: Each makes of a certificate one that proves less, or none.
TAMPERINGS: tuple[Callable[[dict[str, Any], random.Random], object], ...] = (
    lambda bad, rng: bad.update(unit=bad["unit"] * rng.randint(2, 9)),
    lambda bad, rng: bad.update(unit=rng.choice([0, -1, 1.5, True, None, "1", 2**60])),
    lambda bad, rng: bad["edges"].pop(rng.randrange(len(bad["edges"]))),
    lambda bad, _rng: bad["edges"].sort(reverse=True),
    lambda bad, rng: bad.update(edges=[edge + rng.randint(20, 99) for edge in bad["edges"]]),
    lambda bad, _rng: bad["prices"].reverse(),
    lambda bad, rng: bad["prices"].append(rng.randrange(9)),
    lambda bad, rng: _put(bad["prices"], rng, [-1, 1.5, True, "7", None, 2**53 + 1, 10**30]),
    lambda bad, rng: _put(bad["offsets"], rng, [-1, 2**40, None]),
    lambda bad, _rng: bad["units"].update(tapes=1),
    lambda bad, _rng: bad["units"].update(nodes=1),
    lambda bad, rng: bad["units"].update(gpus=rng.choice([0, -1, True, 1.0, None, 2**54])),
    lambda bad, rng: bad.update(units=rng.choice([None, [], 7, [["gpus", 1]]])),
    lambda bad, rng: bad["units"].update(gpus=rng.randint(2, 6)),
    lambda bad, rng: bad.update(nodes=rng.randint(2, 16)),
    lambda bad, rng: bad.update(term=rng.choice(["wait", "slowdown", "makespan", None, 7])),
    lambda bad, rng: bad.update(kind=rng.choice(["time-prices", "date-tree", "prices", None])),
    lambda bad, _rng: bad.update(prices=[price * 3 for price in bad["prices"]]),
)


def _put(row: list[Any], rng: random.Random, values: list[Any]) -> None:
    row[rng.randrange(len(row))] = rng.choice(values)


def test_tampered_certificates_are_refused_100_of_100() -> None:
    """They are none, or do not prove what was claimed."""
    problem = _problem()
    bound = bounded(problem, "turnaround")
    assert bound.certificate["kind"] == "job-prices"
    assert bound.value > 1.05 * machine_prices(problem).value
    admitted, messages = [], []
    for number in range(100):
        bad = copy.deepcopy(dict(bound.certificate))
        TAMPERINGS[number % len(TAMPERINGS)](bad, random.Random(number))
        try:
            value = certified_bound(problem, bad, ("turnaround",))
        except InvalidAnswer as error:
            messages.append(str(error))
        else:
            admitted += [(number, value)] if value > bound.value else []
    assert len(messages) > 50
    assert [text for text in messages if "certificate" not in text or "\n" in text] == []
    assert admitted == []


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
