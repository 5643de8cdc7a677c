"""No bound of a workload is above its best schedule, however jobs and machines are made.

The best schedule is that of a brute force which shares nothing with the judge, the bounds and the solvers,
and the judge admits it. Bounds are those of all functions of `allocsolve.bounds.workload`, those of
certificates of all kinds that are no search, with random numbers, and what solvers claim.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given, reject, settings, strategies as st
from naive_schedules import TooLarge, best_schedule
from naive_workload_optimum import workload_optimum
from tiers import examples

from allocsolve.bounds.workload import job_prices, machine_prices, makespan_bound, time_prices, workload_bound
from allocsolve.errors import AllocsolveError
from allocsolve.judge import certified_bound
from allocsolve.judge.workload.rules import workload_value, workload_violations
from allocsolve.model import (
    WORKLOAD_OBJECTIVES,
    Amdahl,
    Budget,
    Clock,
    ClosedWindow,
    Job,
    Join,
    Overhead,
    Phases,
    PowerLaw,
    Profile,
    Requests,
    SpeedupTable,
    Stall,
    Status,
    WorkloadProblem,
    terms,
)
from allocsolve.registry import make_solver
from allocsolve.registry.workload import WORKLOAD

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping, Sequence

    from allocsolve.model import Speedup, WorkloadTerm


LAWS: tuple[Speedup, ...] = (
    *(Amdahl(share) for share in (0, 0.5, 1)),
    *(PowerLaw(exponent) for exponent in (0, 0.5, 1)),
    *(Overhead(share) for share in (0, 0.5, 0.9)),
)
STALLS = (None, None, Stall(1), Stall(0, 1, 0, "larger"), Stall(0, 0.5, 1))


def draw_structure(
    rng: random.Random, kinds: Sequence[str], *, most: int = 3, machine: bool = False
) -> WorkloadProblem:
    """Return up to `most` jobs of these kinds on one to three nodes.

    The kinds are ``rigid``, ``table``, ``law``, ``malleable``, ``requests``, ``phases`` and ``profile``. With
    `machine` there may be counted resources, closed windows and jobs that are eligible later.
    """
    num_nodes, scale = rng.randint(1, 3), rng.choice([1, 1, 5])
    jobs = [_job(rng, rng.choice(kinds), num_nodes, scale) for _ in range(rng.randint(1, most))]
    if not machine:
        return WorkloadProblem(num_nodes, jobs)
    resources = {"gpus": rng.randint(1, 2), "licences": 1} if rng.random() < 0.6 else {}
    closed = [_window(rng, num_nodes, resources) for _ in range(rng.randint(0, 2))]
    asking = [_asking(rng, job, resources) for job in jobs]
    return WorkloadProblem(num_nodes, asking, resources=resources, closed=closed)


def _job(rng: random.Random, kind: str, num_nodes: int, scale: int) -> Job:
    low, nodes, high = sorted(rng.choices(range(1, num_nodes + 1), k=3))
    row: dict[str, Any] = {
        "submit": scale * rng.choice([0, 0, rng.randint(0, 6)]),
        "weight": rng.choice([1, 1, 1, 0, 2, 0.5]),
    }
    if kind == "profile":
        return _profile(rng, row, num_nodes, scale)
    if kind == "phases":
        return _phases(rng, {**row, "min_nodes": low, "nodes": nodes, "max_nodes": high})
    row |= {"nodes": nodes, "runtime": scale * rng.randint(1, 5)}
    if kind == "rigid":
        return Job(**row)
    if kind == "table":
        rows = [(size, float(scale * rng.randint(1, 5))) for size in sorted({low, nodes, high})]
        row["runtime"] = dict(rows)[nodes]
        return Job(**row, speedup=SpeedupTable(rows), kind=rng.choice(["moldable", "malleable"]))
    row |= {"min_nodes": low, "max_nodes": high, "speedup": rng.choice(LAWS)}
    if kind == "malleable":
        points = rng.choice([0, 0, 1, 2, 3])
        return Job(**row, kind="malleable", points=points, reconfiguration=rng.choice(STALLS))
    if kind == "requests":
        shares = sorted({rng.choice([0.25, 0.5, 0.75]) for _ in range(2)}, reverse=True)
        asked = Requests([(share, rng.choice([-2, -1, 1, 2])) for share in shares])
        return Job(**row, evolution=asked, reconfiguration=rng.choice(STALLS))
    return Job(**row)


def _profile(rng: random.Random, row: dict[str, Any], num_nodes: int, scale: int) -> Job:
    steps = [(scale * rng.randint(1, 4), rng.randint(0, num_nodes)) for _ in range(rng.randint(1, 4))]
    profile = Profile(steps, rng.choice([1, 1, 1.5, 2, float("inf"), float("inf")]))
    return Job(
        **row, nodes=max(1, steps[0][1]), runtime=sum(seconds for seconds, _ in steps), evolution=profile
    )


def _phases(rng: random.Random, row: dict[str, Any]) -> Job:
    works = (1, 2, 3, 0.5, 5)
    listed = [(rng.choice(works), rng.choice([None, 1, rng.randint(1, 3)])) for _ in range(rng.randint(1, 3))]
    phases = Phases(listed, release_delay=rng.choice([0, 0, 1]))
    join = Join(*(rng.choice([0, 0, 1, 2]) for _ in range(3)))
    return Job(
        **row, runtime=join.start + phases.run_time(row["nodes"]), evolution=phases, reconfiguration=join
    )


def _window(rng: random.Random, num_nodes: int, resources: Mapping[str, int]) -> ClosedWindow:
    start = rng.randint(0, 8)
    amounts: list[dict[str, int]] = [{}, {"nodes": rng.randint(1, num_nodes)}]
    if resources:
        amounts += [{"gpus": 1}, {"nodes": 1, "licences": 1}]
    return ClosedWindow(start, start + rng.randint(1, 6), rng.choice(amounts))


def _asking(rng: random.Random, job: Job, resources: Mapping[str, int]) -> Job:
    changes: dict[str, Any] = {}
    if resources and job.kind in (None, "rigid") and job.speedup is None and job.evolution is None:
        most = resources["gpus"]
        choices = (None, {"gpus": 0}, {"gpus": 1}, {"gpus": most, "licences": 1}, {"licences": 0, "gpus": 1})
        changes["needs"] = rng.choice(choices)
    if rng.random() < 0.4:
        changes["eligible"] = rng.randint(0, 9)
    if rng.random() < 0.3:
        changes["boost"] = rng.choice([-3, 5])
    return replace(job, **changes)


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
        return certificate, certified_bound(of, certificate, (term,))

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
            certified = certified_bound(problem, result.certificate, (term,))
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
