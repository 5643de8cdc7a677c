"""No bound of a workload is above its best schedule, however jobs and machines are made.

The best schedule is that of a brute force which shares nothing with the judge, the bounds and the solvers,
and the judge admits it. Bounds are those of all functions of `allocsolve.bounds.workload`, those of
certificates of all kinds that are no search, with random numbers, and what solvers claim.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given, reject, settings, strategies as st
from naive_schedules import TooLarge, best_schedule
from naive_workload_optimum import workload_optimum
from structure_draws import draw_structure
from tiers import examples

from allocsolve.bounds.workload import (
    job_prices,
    machine_prices,
    makespan_bound,
    time_prices,
    workload_bound,
)
from allocsolve.errors import AllocsolveError
from allocsolve.judge.workload.certificate import workload_certified_bound
from allocsolve.judge.workload.rules import workload_value, workload_violations
from allocsolve.model import WORKLOAD_OBJECTIVES, Budget, Clock, Status, WorkloadProblem, terms
from allocsolve.registry import make_solver
from allocsolve.registry.workload import WORKLOAD

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from allocsolve.model import WorkloadTerm

#: Which kinds of jobs are together, and whether the machine is more than nodes.
KINDS = {
    "sizes": (("rigid", "table", "law"), False),
    "profiles": (("profile", "profile", "rigid"), False),
    "changing": (("malleable", "table", "requests", "rigid"), False),
    "phases": (("phases", "rigid"), False),
    "all": (("phases", "profile", "requests", "malleable", "table"), False),
    "machines": (("rigid", "rigid", "table"), True),
    "changing on machines": (("profile", "malleable", "rigid"), True),
}
#: Relative: floats, and times of evolving jobs that the judge's schedule rounds.
TOLERANCE = 1e-9

#: Situations of the brute force; a problem that has more is left out.
MOST = 4_000

RANDOM = st.randoms(use_true_random=False)
TERMS = st.sampled_from(WORKLOAD_OBJECTIVES)


def best_of(problem: WorkloadProblem, term: WorkloadTerm) -> float:
    """Return the value of the best schedule by brute force, which the judge admits."""
    try:
        best = best_schedule(problem, term, MOST)
    except TooLarge:
        reject()
    assert workload_violations(problem, best.schedule) == ()
    value = workload_value(problem, best.schedule, (term,))
    assert value == pytest.approx(float(best.value), rel=1e-9, abs=1e-9)
    return terms(value)[0]


def priced_certificates(rng: random.Random, problem: WorkloadProblem, term: str) -> Iterator[dict[str, Any]]:
    """Yield prices of node-seconds, and of the resources of a machine if all jobs are rigid."""
    unit = rng.choice([1, 3, 10])
    for _ in range(4):
        edges = sorted(rng.sample(range(30), rng.randint(1, 6)))

        def prices(slots: int = len(edges) - 1) -> list[int]:
            return [rng.randint(0, 2 * unit) for _ in range(slots)]

        shared = {"term": term, "edges": edges, "unit": unit}
        if problem.is_plain:
            yield {"kind": "time-prices", "prices": prices(), **shared}
        if problem.is_rigid:
            names = ("nodes", *dict(problem.resources))
            listed = {name: prices() for name in names if rng.random() < 0.8}
            yield {"kind": "machine-prices", "prices": listed, **shared}


def makespan_certificates(rng: random.Random, problem: WorkloadProblem) -> Iterator[dict[str, Any]]:
    """Yield all rules from each submission on, and from others."""
    for rule in ("longest", "area", "wide"):
        for after in {0.0, *problem.packed.submit.tolist(), rng.randint(0, 9), rng.randint(0, 9) + 0.5}:
            yield {"kind": "makespan", "rule": rule, "after": after}


def bounds_of(
    rng: random.Random, problem: WorkloadProblem, term: WorkloadTerm
) -> Iterator[tuple[object, float]]:
    """Yield bounds with what they are of."""

    def certified(of: WorkloadProblem, certificate: Any) -> tuple[object, float]:
        return certificate, workload_certified_bound(of, certificate, (term,))

    plain = problem.on_plain_machine()
    yield "the cheap bound", workload_bound(plain, term)
    yield "the bound of the family", WORKLOAD.bound(problem, term)
    if term == "makespan":
        bound = makespan_bound(plain)
        yield "makespan", bound.value
        for certificate in (bound.certificate, *makespan_certificates(rng, plain)):
            yield certified(plain, certificate)
        return
    if term == "wait" and not problem.is_rigid:
        return
    by_time = time_prices(plain, term)
    found = [(plain, by_time)]
    if problem.is_rigid:
        found.append((plain, job_prices(plain, term, by_time, clock=Clock(math.inf))))
        found.append((problem, machine_prices(problem, term)))
    for of, priced in found:
        yield "prices", priced.value
        yield certified(of, priced.certificate)
    for certificate in (*priced_certificates(rng, plain, term), *priced_certificates(rng, problem, term)):
        yield certified(problem if certificate["kind"] == "machine-prices" else plain, certificate)


def assert_below(what: object, bound: float, best: float) -> None:
    assert bound <= best + TOLERANCE * (1 + abs(best)), what


@pytest.mark.parametrize("kinds", KINDS)
@settings(max_examples=examples(400))
@given(rng=RANDOM, term=TERMS)
def test_no_bound_is_above_the_best_schedule(kinds: str, rng: random.Random, term: WorkloadTerm) -> None:
    listed, machine = KINDS[kinds]
    problem = draw_structure(rng, listed, most=2 if "changing" in kinds else 3, machine=machine)
    best = best_of(problem, term)
    for what, bound in bounds_of(rng, problem, term):
        assert_below(what, bound, best)


#: All that claim a bound.
SOLVERS = ("prices", "date-branching", "cpsat", "milp", "reinsertion", "list-annealing", "evolving-annealing")


@pytest.mark.parametrize("kinds", KINDS)
@given(rng=RANDOM, term=TERMS)
@settings(max_examples=examples(100))
def test_no_solver_claims_more_than_the_best_schedule(
    kinds: str, rng: random.Random, term: WorkloadTerm
) -> None:
    listed, machine = KINDS[kinds]
    problem = draw_structure(rng, listed, most=2, machine=machine)
    best = best_of(problem, term)
    for name in SOLVERS:
        try:
            result = make_solver(name, problem, (term,))(problem, Budget(seconds=2, iterations=20))
        except AllocsolveError:  # it does not take these jobs, or this term of them
            continue
        assert_below((name, result), terms(result.bound)[0], best)
        if result.certificate is not None:
            certified = workload_certified_bound(problem, result.certificate, (term,))
            assert_below((name, result), certified, best)
        if result.status is Status.OPTIMAL:
            assert result.answer is not None
            value = workload_value(problem, result.answer, (term,))
            assert_below(name, terms(value)[0], best)


@given(rng=RANDOM, term=TERMS)
def test_the_brute_force_has_the_optima_of_another_one(rng: random.Random, term: WorkloadTerm) -> None:
    """That one places jobs one after the other, so it knows only those that keep their size."""
    problem = draw_structure(rng, ("rigid", "table", "law"))
    assume(not problem.is_malleable and (term != "wait" or problem.is_rigid))
    assert best_of(problem, term) == pytest.approx(float(workload_optimum(problem, term)), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kinds", [kinds for kinds in KINDS if "machines" not in kinds])
@given(rng=RANDOM, term=TERMS)
def test_jobs_hold_what_they_surely_hold(kinds: str, rng: random.Random, term: WorkloadTerm) -> None:
    problem = draw_structure(rng, KINDS[kinds][0], most=2)
    try:
        schedule = best_schedule(problem, term, MOST).schedule
    except TooLarge:
        reject()
    for job, least in enumerate(problem.least_held.tolist()):
        assert all(nodes >= least for _, _, nodes in schedule.pieces(job))
