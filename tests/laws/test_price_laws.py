"""Laws of bounds by prices of node-seconds: rigid, malleable and evolving jobs."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from naive_evolving_prices import least_cost_of_phases, least_cost_of_profile, slotted_optimum_of_evolving
from naive_malleable_prices import cost_at, least_cost_of_job
from naive_workload_optimum import workload_optimum
from naive_workload_prices import least_cost, price_value
from price_strategies import (
    evolving_toys,
    overhead_jobs,
    phased_jobs,
    price_lists,
    profile_jobs,
    requested_jobs,
    single_jobs,
    toys,
)
from tiers import examples

from allocsolve.bounds.workload import job_costs, makespan_bound, time_prices, work_prices, workload_bound
from allocsolve.bounds.workload._kernels_prices import Cheapest, PriceList, cheapest
from allocsolve.bounds.workload.time_prices import TimeDual
from allocsolve.instances.generators.examples import random_workload
from allocsolve.judge import certified_bound, workload_value
from allocsolve.judge.certificates import price_list
from allocsolve.judge.workload import certificate as judge_certificate, certificate as workload_certificate
from allocsolve.judge.workload.certificate import LOOSE_STEP_S, least_cost_of_evolution, least_cost_of_work
from allocsolve.model import (
    Amdahl,
    Budget,
    Job,
    Overhead,
    Phases,
    PowerLaw,
    SpeedupTable,
    WorkloadProblem,
    frozen,
    terms,
)
from allocsolve.registry import make_solver

if TYPE_CHECKING:
    from allocsolve.bounds.workload import PriceBound
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


# --- Evolving price -----------------------------------------------------------------------------------

SUBMITS = st.one_of(st.just(0.0), st.integers(0, 12), st.floats(0, 12))
AMOUNTS = st.one_of(st.integers(2, 60).map(lambda quarters: quarters / 4), st.floats(0.5, 30))
ALONE = {
    "phases": phased_jobs(8, AMOUNTS, SUBMITS),
    "profile": profile_jobs(8, st.integers(1, 15), SUBMITS),
    "overhead": overhead_jobs(8, AMOUNTS, SUBMITS),
}


def alone(kind: str) -> st.SearchStrategy[WorkloadProblem]:
    return ALONE[kind].map(lambda job: WorkloadProblem(8, [job]))


def evaluated(problem: WorkloadProblem, term: WorkloadTerm, certificate: dict[str, Any]) -> TimeDual:
    dual = TimeDual(problem, job_costs(problem, term), 0.0)
    dual.on(frozen(np.array(certificate["edges"], dtype=np.int64)))
    dual(prices_of(certificate))
    return dual


def prices_of(certificate: dict[str, Any]) -> Any:
    return np.array(certificate["prices"], dtype=np.float64) / certificate["unit"]


@given(problem=alone("phases"), term=MEANS, certificate=price_lists())
@example(  # what is free before and after the slot adds up to a hair less than the first phase takes
    problem=WorkloadProblem(
        8,
        [
            Job(
                1.9452818375804153,
                1,
                17.0,
                min_nodes=1,
                max_nodes=2,
                evolution=Phases([(16.5, 1), (0.5, None)]),
            )
        ],
    ),
    term="turnaround",
    certificate={"kind": "time-prices", "edges": [2, 3], "prices": [1], "unit": 1},
)
def test_cheapest_phases_are_those_of_the_twin(
    problem: WorkloadProblem, term: WorkloadTerm, certificate: dict[str, Any]
) -> None:
    edges, prices = certificate["edges"], prices_of(certificate).tolist()
    cost = float(evaluated(problem, term, certificate).out.costs[0])
    slow = max(
        least_cost_of_phases(problem, term, 0, edges, prices, in_order=in_order) for in_order in (True, False)
    )
    assert cost == pytest.approx(slow, rel=1e-6)
    judged = least_cost_of_evolution(problem, term, price_list(certificate))
    assert cost * (1 - 1e-4) <= judged <= cost


@given(problem=alone("profile"), term=MEANS, certificate=price_lists())
def test_cheapest_profiles_are_those_of_the_twin(
    problem: WorkloadProblem, term: WorkloadTerm, certificate: dict[str, Any]
) -> None:
    edges, prices = certificate["edges"], prices_of(certificate).tolist()
    dual = evaluated(problem, term, certificate)
    cost = float(dual.out.costs[0])
    assert cost == pytest.approx(least_cost_of_profile(problem, term, 0, edges, prices), rel=1e-9)
    judged = least_cost_of_evolution(problem, term, price_list(certificate))
    # The judge takes off what steps may be shorter, and what may lie between them, at any price.
    held = float(problem.jobs.evolving.nodes.sum())
    allowance = (LOOSE_STEP_S + 2e-6) * max(prices, default=0.0) * held
    assert cost * (1 - 1e-4) - allowance - 1e-9 <= judged <= cost


@given(problem=single_jobs() | alone("overhead"), term=MEANS, certificate=price_lists())
def test_cheapest_ends_are_those_of_the_twin(
    problem: WorkloadProblem, term: WorkloadTerm, certificate: dict[str, Any]
) -> None:
    edges, prices = certificate["edges"], prices_of(certificate).tolist()
    dual = evaluated(problem, term, certificate)
    cost = float(dual.out.costs[0])
    # The twin has few numbers of nodes: it may be above.
    slow = least_cost_of_job(problem, term, 0, edges, prices)
    assert slow * (1 - 3e-4) <= cost <= slow * (1 + 1e-9)
    if not isinstance(problem.jobs[0].speedup, Overhead):
        end = float(dual.work.ends[0])
        assert cost_at(problem, term, 0, edges, prices, end + 1e-9) == pytest.approx(cost, rel=3e-4)
    judged = least_cost_of_work(problem, term, price_list(certificate))
    assert cost * (1 - 1e-4) <= judged
    if isinstance(problem.jobs[0].speedup, Overhead):  # the judge knows that jobs have whole nodes
        cost = least_cost_of_job(problem, term, 0, edges, prices, whole=True) * (1 + 1e-9)
    assert judged <= cost * (1 + 1e-12)


@given(
    problem=st.one_of(single_jobs(), alone("profile"), alone("overhead")),
    term=MEANS,
    certificate=price_lists(),
    part=st.floats(0.05, 1),
)
def test_use_is_a_subgradient(
    problem: WorkloadProblem, term: WorkloadTerm, certificate: dict[str, Any], part: float
) -> None:
    """With other prices a job costs at most what it holds now, at those prices."""
    dual = evaluated(problem, term, certificate)
    cost, usage = float(dual.out.costs[0]), dual.out.usage[:-1].copy()
    prices = prices_of(certificate)
    other = prices[::-1] * part
    dual(other)
    assert float(dual.out.costs[0]) <= (cost + float(usage @ (other - prices))) * (1 + 1e-6) + 1e-9


@given(job=requested_jobs(8, AMOUNTS, SUBMITS), term=MEANS, certificate=price_lists())
def test_requests_are_priced_as_malleable_work(
    job: Job, term: WorkloadTerm, certificate: dict[str, Any]
) -> None:
    requested = WorkloadProblem(8, [job])
    malleable = WorkloadProblem(8, [replace(job, evolution=None, kind="malleable")])
    certificate["term"] = term
    bounds = [certified_bound(each, certificate, (term,)) for each in (requested, malleable)]
    assert bounds[0] == bounds[1]
    costs = [float(evaluated(each, term, certificate).out.costs[0]) for each in (requested, malleable)]
    assert costs[0] == costs[1]


ALL_KINDS = ("phases", "profile", "requests", "malleable", "rigid")
MIXED = toys() | evolving_toys(ALL_KINDS) | evolving_toys(("requests", "overhead"))


@settings(max_examples=examples(900))
@given(
    problem=toys() | MIXED | evolving_toys(("requests", "overhead")), term=MEANS, certificate=price_lists()
)
def test_never_above_a_schedule(
    problem: WorkloadProblem, term: WorkloadTerm, certificate: dict[str, Any]
) -> None:
    best = slotted_optimum_of_evolving(problem, term)
    bound = time_prices(problem, term)
    certified = certified_bound(problem, bound.certificate, (term,))
    assert 0 <= bound.value <= certified <= best * (1 + 1e-12)
    assert workload_bound(problem, term) <= best * (1 + 1e-12)
    evolves = any(job.evolution is not None for job in problem.jobs)
    assert workload_bound(problem, term) <= bound.value * (1.3 if evolves else 1) + 1e-3
    listed = {**certificate, "term": term}
    assert certified_bound(problem, listed, (term,)) <= best * (1 + 1e-12)


@given(problem=toys() | evolving_toys(("phases",)), certificate=price_lists(), steps=st.integers(0, 60))
def test_few_steps_only_lower_the_bound_on_lists(
    problem: WorkloadProblem, certificate: dict[str, Any], steps: int
) -> None:
    listed = {**certificate, "term": "turnaround"}
    full = certified_bound(problem, listed, ("turnaround",))
    with mock.patch.object(judge_certificate, "_MAX_VISITS", steps):
        assert certified_bound(problem, listed, ("turnaround",)) <= full * (1 + 1e-9)


@given(problem=toys(), term=MEANS)
def test_work_prices_are_those_of_malleable_jobs(problem: WorkloadProblem, term: WorkloadTerm) -> None:
    prices = work_prices(problem, time_prices(problem, term))
    kinds = [job.kind for job in problem.jobs]
    assert [price > 0 for price in prices.tolist()] == [kind == "malleable" for kind in kinds]


@given(share=st.sampled_from([0.3, 0.5, 0.7]), seed=st.integers(0, 100), count=st.integers(1, 12))
def test_closed_form_of_power_laws(share: float, seed: int, count: int) -> None:
    problem, optimum = power_law_workload(count, share, seed)
    bound = coarse_prices(problem)
    certified = certified_bound(problem, bound.certificate, ("turnaround",))
    assert 0.5 * optimum <= bound.value <= certified <= optimum


@pytest.mark.parametrize(("share", "least"), [(0.3, 0.99), (0.5, 0.95), (0.7, 0.75)])
def test_closed_form_of_a_thousand_jobs(share: float, least: float) -> None:
    """On finer slots the bound rises to .9994, .996 and .98 of the optimum."""
    problem, optimum = power_law_workload(1000, share, 0)
    bound = coarse_prices(problem)
    certified = certified_bound(problem, bound.certificate, ("turnaround",))
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
