"""Laws of baselines and of what is best known."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from evolving_strategies import evolving_problems
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from library_tools import best_knowns, entry
from naive_optimum import optimum
from placement_strategies import placement_problems
from reservation_strategies import reservation_problems
from strategies import evolution_problems, partition_problems, workload_problems
from tiers import examples

from allocsolve import Budget, judge
from allocsolve.bench import plan
from allocsolve.bench.library.improve import improved
from allocsolve.bench.runs.execution import execute
from allocsolve.bounds.workload import MEAN_TERMS, job_prices, time_prices
from allocsolve.bounds.workload.job_prices import job_prices_of
from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.exact.workload import Prices
from allocsolve.families import families, family_of
from allocsolve.heuristics import Rigid
from allocsolve.heuristics.workload.serial import SERIAL_ORDERS, SerialGeneration
from allocsolve.instances import BestKnown, digest, read_best_known, solution_digest, write_best_known
from allocsolve.judge import assess, certified_bound
from allocsolve.judge.workload.rules import workload_value
from allocsolve.model import (
    Amdahl,
    Clock,
    EvolutionProblem,
    EvolutionSchedule,
    Job,
    PowerLaw,
    Result,
    Stall,
    Status,
    WorkloadProblem,
    WorkloadSchedule,
    terms,
)
from allocsolve.registry import make_solver, solver_names

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject, DrawFn

    from allocsolve.model import Problem


#: Hardly any: a search has no time to begin.
NO_TIME = Budget(seconds=1e-6)
#: What both sides get when searches are compared: on few jobs both reach the best plans.
MOVES = Budget(iterations=20_000)
#: By what share sums that are rounded in another order may differ.
ROUNDING = 1e-9


@st.composite
def malleable_problems(draw: st.DrawFn, *, stalls: bool) -> WorkloadProblem:
    """Few jobs that can change their sizes, at any time or at points, beside rigid and moldable ones."""
    num_nodes = draw(st.integers(2, 8))
    jobs = []
    for _ in range(draw(st.integers(1, 5))):
        nodes = draw(st.integers(1, num_nodes))
        job: dict[str, Any] = {}
        if draw(st.integers(0, 3)):
            law = draw(st.sampled_from([PowerLaw(1), PowerLaw(0.5), Amdahl(0.9), Amdahl(1)]))
            job = {"min_nodes": draw(st.integers(1, nodes)), "max_nodes": num_nodes, "speedup": law}
            if draw(st.integers(0, 4)):
                job |= {"kind": "malleable", "points": draw(st.sampled_from([0, 0, 2, 10]))}
                if stalls:
                    job["reconfiguration"] = Stall(fixed=draw(st.integers(1, 20)))
        jobs.append(Job(draw(st.integers(0, 30)), nodes, draw(st.integers(1, 60)), **job))
    return WorkloadProblem(num_nodes, jobs)


KINDS: dict[str, st.SearchStrategy[Any]] = {
    "rigid": workload_problems(min_jobs=1, max_jobs=8, max_nodes=6, moldable=False),
    "moldable": workload_problems(min_jobs=1, max_jobs=6, max_nodes=6),
    "malleable": malleable_problems(stalls=False),
    "malleable with stalls": malleable_problems(stalls=True),
    "evolving": evolving_problems(),
    "reservation": reservation_problems(may_leak=True),
    "evolution": evolution_problems(max_apps=4, releases=True),
    "partition": partition_problems(max_nodes=16, contiguous=None),
    "placement": placement_problems(),
}
few = settings(max_examples=examples(500), suppress_health_check=[HealthCheck.too_slow])
of_each_kind = pytest.mark.parametrize("kind", KINDS)


def _values(
    name: str, problem: Problem, objective: tuple[str, ...], budget: Budget
) -> tuple[float, ...] | None:
    """Return what the judge says of an answer; None if there is none."""
    try:
        result = make_solver(name, problem, objective)(problem, budget)
    except InvalidOption:  # it is not made for this problem
        return None
    judged = assess(problem, result, objective).result
    return None if judged.objective is None else terms(judged.objective)


def _check(problem: Problem, objective: tuple[str, ...], budget: Budget, *, searches: bool) -> None:
    family = family_of(problem)
    best = _values(family.baseline, problem, objective, budget)
    for name, row in solver_names(family).items():
        if row.method == "heuristic" and row.searches == searches:
            other = _values(name, problem, objective, budget)
            if other is not None:
                assert best is not None, name
                allowed = tuple(value + ROUNDING * abs(value) for value in other)
                assert best <= allowed, name


@of_each_kind
@few
@given(data=st.data())
def test_no_quick_heuristic_is_better_than_a_baseline_without_time(kind: str, data: st.DataObject) -> None:
    problem = data.draw(KINDS[kind])
    objective = data.draw(st.sampled_from(family_of(problem).term_names))
    _check(problem, (objective,), NO_TIME, searches=False)


@of_each_kind
@few
@given(data=st.data())
def test_no_heuristic_is_better_than_a_baseline(kind: str, data: st.DataObject) -> None:
    problem = data.draw(KINDS[kind])
    objective = data.draw(st.sampled_from(family_of(problem).term_names))
    for searches in (False, True):
        _check(problem, (objective,), MOVES, searches=searches)


def test_every_family_has_quick_solvers() -> None:
    assert all(family.quick_solvers(family.large_example(), family.term_names[:1]) for family in families())


def two_that_overlap(law: PowerLaw, nodes: int = 30, **fields: Any) -> WorkloadProblem:
    """Two jobs that together want more than all nodes, the second of which comes a little later."""
    job = {"min_nodes": 1, "max_nodes": nodes, "speedup": law, "kind": "malleable", **fields}
    return WorkloadProblem(50, [Job(0, nodes, 400, **job), Job(20, nodes, 400, **job)])


def test_a_policy_that_changes_sizes_at_the_end_of_another_job() -> None:
    """The second job takes what the first leaves, and more after its end: no constant size is as good."""
    problem = two_that_overlap(PowerLaw(1))
    # 20 nodes for 380 s, then 30: 400 s and 380 + (12000 - 7600) / 30 s.
    least = (400 + 380 + 4400 / 30) / 2
    for budget in (NO_TIME, Budget(seconds=2)):
        values = _values("prices", problem, ("turnaround",), budget)
        assert values is not None
        assert values[0] <= least + 1e-6
    stalled = replace(problem, jobs=two_that_overlap(PowerLaw(1), reconfiguration=Stall(fixed=30)).jobs)
    _check(stalled, ("turnaround",), NO_TIME, searches=False)


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


# --- Best known ---------------------------------------------------------------------------------------

rows = st.tuples(best_knowns(), best_knowns(objective="completion"), best_knowns(instance="äöü 2"))


@given(rows=rows)
def test_rows_come_back_as_they_were(rows: tuple[BestKnown, ...]) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "best_known.json"
        write_best_known(path, rows)
        again = read_best_known(path)
        assert sorted(again, key=repr) == sorted(rows, key=repr)
        text = path.read_bytes()
        write_best_known(path, again[::-1])
        assert path.read_bytes() == text


@given(rows=rows, data=st.data())
def test_a_history_only_grows(rows: tuple[BestKnown, ...], data: DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "best_known.json"
        lengths = [data.draw(st.integers(0, len(row.history))) for row in rows]
        before = [replace(row, history=row.history[:n]) for row, n in zip(rows, lengths, strict=True)]
        write_best_known(path, before)
        write_best_known(path, rows)
        text = path.read_bytes()
        if [len(row.history) for row in rows] != lengths:
            with pytest.raises(InvalidAnswer, match="would lose entries"):
                write_best_known(path, before)
        with pytest.raises(InvalidAnswer, match="would lose entries"):
            write_best_known(path, rows[1:])
        assert path.read_bytes() == text


@given(row=best_knowns())
def test_the_statement_of_a_row_is_that_of_its_history(row: BestKnown) -> None:
    bounds = [entry.value for entry in row.history if entry.kind == "bound"]
    solutions = [entry.value for entry in row.history if entry.kind == "solution"]
    assert row.lower == (bounds[-1] if bounds else -math.inf)
    assert row.upper == (solutions[-1] if solutions else math.inf)
    assert row.lower <= row.upper
    assert row.optimal == bool(bounds and solutions and bounds[-1] == solutions[-1])


@given(row=best_knowns(), kind=st.sampled_from(("bound", "solution")), value=st.floats(-10, 2e9))
def test_an_entry_is_better_and_contradicts_nothing(row: BestKnown, kind: str, value: float) -> None:
    better = row.lower < value <= row.upper if kind == "bound" else row.lower <= value < row.upper
    if better:
        assert row.with_entry(entry(kind, value)).history[:-1] == row.history
    else:
        with pytest.raises(InvalidAnswer, match=r"some \(makespan\): history"):
            row.with_entry(entry(kind, value))


@given(data=st.data())
def test_nothing_is_accepted_without_the_judge(data: DataObject) -> None:
    problem = data.draw(evolution_problems())
    known = BestKnown("some", "makespan", digest(problem))
    if data.draw(st.booleans()):
        start = Rigid()(problem, Budget())
        known = _accepted(known, problem, start, exact=False)
    if data.draw(st.booleans()):
        best = int(optimum(problem, ("makespan",))[0])
        today = {"date": known.history[-1].date} if known.history else {}
        known = known.with_entry(entry("bound", data.draw(st.integers(0, best)), **today))
    schedule = _schedule(problem, data)
    true = int(schedule.completions.max())
    claim = data.draw(st.none() | st.just(true) | st.integers(0, 30))
    bound = data.draw(st.just(-math.inf) | st.integers(0, 30))
    assume(claim is None or bound <= claim)
    status = Status.OPTIMAL if claim is not None and claim == bound else Status.FEASIBLE
    result: Result[EvolutionSchedule] = Result(status, schedule, claim, bound)
    exact = data.draw(st.booleans())
    honest = not judge.violations(problem, schedule) and claim in (None, true) and bound <= true
    proven = bound if exact else -math.inf
    agrees = proven <= known.upper and true >= known.lower
    if not honest or not agrees:
        with pytest.raises(InvalidAnswer):
            _accepted(known, problem, result, exact=exact)
        return
    after = _accepted(known, problem, result, exact=exact)
    assert after.history[: len(known.history)] == known.history
    assert after.upper == min(known.upper, true)
    assert after.lower == max(known.lower, proven)
    if after.upper < known.upper:
        assert after.solution is not None
        assert after.solution.solution == solution_digest(problem, schedule)


def _accepted(known: BestKnown, problem: EvolutionProblem, result: Result[Any], *, exact: bool) -> BestKnown:
    """What is known after a solver has returned this result."""
    (task,) = plan([("", problem)], [lambda *_: result], budgets=[Budget()])
    outcome = execute(task, task.make_solver())
    if outcome.cause is not None:
        raise outcome.cause
    return improved(known, problem, outcome.record, outcome.answer, exact=exact)


def _schedule(problem: EvolutionProblem, data: DataObject) -> EvolutionSchedule:
    """A good schedule, or applications as requested at any times."""
    found = Rigid()(problem, Budget()).answer
    starts = [data.draw(st.integers(0, 9)) for _ in problem.applications]
    loose = EvolutionSchedule.of(starts, problem.applications)
    assert found is not None
    return data.draw(st.sampled_from([found, loose]))


def test_an_infeasibility_is_never_accepted() -> None:
    problem = EvolutionProblem(1, ())
    known = BestKnown("some", "makespan", digest(problem))
    with pytest.raises(InvalidAnswer, match="claims that some has no answer"):
        _accepted(known, problem, Result(Status.INFEASIBLE), exact=True)
