"""`DateBranching` by example; shifts of dates: plans stay feasible and never cost more."""

from __future__ import annotations

import json
import math
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tiers import examples

from allocsolve.errors import InvalidAnswer
from allocsolve.exact.workload import DateBranching, Prices, date_branching
from allocsolve.exact.workload._date_forest import DateForest
from allocsolve.exact.workload._date_tree import DateTree, DateTreeParams
from allocsolve.exact.workload.date_branching import DateBranchingParams
from allocsolve.heuristics.workload.date_shifts import DateShifts
from allocsolve.heuristics.workload.reinsertion import Reinserter
from allocsolve.heuristics.workload.serial import Plan, job_sizes
from allocsolve.judge import certified_bound
from allocsolve.judge.workload.date_trees import tree_totals
from allocsolve.judge.workload.rules import workload_value, workload_violations
from allocsolve.model import (
    Amdahl,
    Budget,
    Job,
    Jobs,
    Limit,
    Result,
    Status,
    WorkloadProblem,
    WorkloadSchedule,
)
from allocsolve.model.arrays import frozen
from allocsolve.model.result import terms

if TYPE_CHECKING:
    from collections.abc import Callable


def log(count: int = 48, seed: int = 1) -> WorkloadProblem:
    """A busy log with a few jobs as wide as the machine."""
    random = np.random.default_rng(seed)
    nodes = np.where(np.arange(count) % 15 == 7, 16, random.integers(1, 6, count))
    runtime = np.maximum(5, np.rint(random.lognormal(4, 1, count)))
    span = (nodes * runtime).sum() / (16 * 0.9)
    return WorkloadProblem(16, Jobs(np.floor(np.sort(random.random(count)) * span), nodes, runtime))


def without_weight(problem: WorkloadProblem, nobody: Any) -> WorkloadProblem:
    """Take the weight of some jobs away."""
    packed = problem.packed
    weight = np.where(nobody, 0.0, 1.0)
    return WorkloadProblem(16, Jobs(packed.submit, packed.nodes, packed.runtime, weight=weight))


def certified(problem: WorkloadProblem, result: Any) -> Any:
    """Return the bound that the judge finds in what a file keeps of a certificate."""
    assert result.answer is not None
    assert workload_violations(problem, result.answer) == ()
    certificate = json.loads(json.dumps(result.certificate))
    return certified_bound(problem, certificate, ("turnaround",))


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that has Ctrl-C pressed at a climb."""

    def at(climb: int) -> None:
        climbed = DateTree.climb
        calls = iter(range(100))

        def stopped(tree: DateTree, *args: Any) -> None:
            if next(calls) == climb:
                raise KeyboardInterrupt
            climbed(tree, *args)

        monkeypatch.setattr(DateTree, "climb", stopped)

    return at


#: Searches without a time limit are short.
FEW_ASCENTS = DateBranchingParams(ascents_unlimited=8)


@pytest.fixture(scope="module")
def solved() -> tuple[WorkloadProblem, Result[WorkloadSchedule], Result[WorkloadSchedule]]:
    """Return a problem, what prices say of it, and what the tree says."""
    problem = log()
    return problem, Prices()(problem, Budget()), DateBranching(params=FEW_ASCENTS)(problem, Budget())


def test_the_tree_closes_a_gap_that_prices_leave(solved: Any) -> None:
    problem, before, result = solved
    assert result.certificate["kind"] == "date-tree"
    assert certified(problem, result) == result.bound
    assert workload_value(problem, result.answer, ("turnaround",)) == result.objective
    assert result.objective <= before.objective
    assert result.objective - result.bound < 0.9 * (before.objective - before.bound)
    values = [value for _, value in result.incumbents]
    assert values == sorted(values, reverse=True)
    assert values[-1] == result.objective


def test_the_same_answer_without_a_time_limit(solved: Any) -> None:
    problem, _, result = solved
    again = DateBranching(params=FEW_ASCENTS)(problem, Budget())
    for name in ("objective", "bound", "certificate"):
        assert getattr(again, name) == getattr(result, name)


def test_going_on_from_a_tree(solved: Any) -> None:
    problem, _, result = solved
    start = {"start": result.answer, "certificate": result.certificate}
    for solver, budget in (
        (DateBranching(**start, params=FEW_ASCENTS), Budget()),
        (Prices(**start), Budget(iterations=100)),
    ):
        further: Any = solver(problem, budget)
        assert further.objective <= result.objective
        assert further.bound >= result.bound
        assert certified(problem, further) == further.bound


def test_two_workers_within_a_time_limit() -> None:
    problem = log(70, 2)
    result = DateBranching(params=FEW_ASCENTS)(problem, Budget(seconds=2, workers=2))
    assert terms(result.bound) <= terms(result.objective or 0)
    assert certified(problem, result) == pytest.approx(result.bound, rel=1e-9)


def test_a_worker_waits_for_the_leaf_of_another(solved: Any) -> None:
    """While one is at the best leaf, all others may be above the best value: the search is not over."""
    problem, before, _ = solved
    budget = Budget(seconds=600, workers=2)
    search = date_branching._Search(
        problem,
        ("turnaround",),
        before.answer,
        before.certificate,
        budget,
        clock=budget.start(),
        params=FEW_ASCENTS,
    )
    taken = search._next()
    assert taken is not None
    front, leaf = taken
    assert leaf is front.tree.root
    search._push(front, replace(leaf, bound=math.inf))
    found: list[Any] = []
    other = threading.Thread(target=lambda: found.append(search._next()))
    other.start()
    other.join(0.5)
    assert other.is_alive()
    with search._changed:
        front.busy.clear()
        search._push(front, leaf)
        search._changed.notify_all()
    other.join()
    assert found == [(front, leaf)]


def test_after_ctrl_c_both_sides_are_there(interrupt: Callable[[int], None]) -> None:
    problem = log()
    interrupt(6)
    result = DateBranching(params=FEW_ASCENTS)(problem, Budget())
    assert result.limit is Limit.INTERRUPTED
    assert certified(problem, result) == result.bound


@pytest.mark.parametrize("objective", ["slowdown", "wait,makespan", "makespan"])
def test_other_terms(objective: str) -> None:
    problem = log(45, 3)
    result = DateBranching(objective, params=FEW_ASCENTS)(problem, Budget())  # type: ignore[arg-type]  # a text is parsed
    before = Prices(objective)(problem, Budget())  # type: ignore[arg-type]  # a text is parsed
    assert terms(result.objective or 0) <= terms(before.objective or 0)
    assert terms(result.bound)[0] >= terms(before.bound)[0] * (1 - 1e-9)


def test_jobs_that_are_not_rigid_are_for_prices() -> None:
    jobs = [Job(idx, 2, 9, min_nodes=1, max_nodes=4, speedup=Amdahl(0.9)) for idx in range(14)]
    problem = WorkloadProblem(4, jobs)
    result = DateBranching(params=FEW_ASCENTS)(problem, Budget(iterations=100))
    assert result.answer is not None
    assert (result.certificate or {}).get("kind") == "time-prices"


def test_few_jobs_are_optimal() -> None:
    problem = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 1000)])
    assert DateBranching(params=FEW_ASCENTS)(problem, Budget()).status is Status.OPTIMAL
    assert DateBranching(params=FEW_ASCENTS)(WorkloadProblem(4, []), Budget()).status is Status.OPTIMAL


def test_jobs_without_weight_have_no_dates() -> None:
    problem = without_weight(log(45, 4), np.arange(45) % 3 == 0)
    result = DateBranching(params=FEW_ASCENTS)(problem, Budget())
    certificate: dict[str, Any] = dict(result.certificate or {})
    assert certified(problem, result) == pytest.approx(result.bound)
    if certificate["kind"] == "date-tree":
        # A tree of others may cut a job that has no weight.
        more = {"jobs": [0, *2 * certificate["jobs"]], "cuts": [9, *2 * certificate["cuts"]]}
        cut = {**certificate, **more}
        tree = DateForest(problem, "turnaround", cut).stretches[0].tree
        for leaf in tree.root.leaves():
            tree.value(leaf)
        assert min(leaf.bound for leaf in tree.root.leaves()) / 30 == pytest.approx(result.bound, rel=1e-4)


#: With it a log of 70 jobs is several stretches.
SHORT_STRETCHES = DateBranching(
    params=replace(FEW_ASCENTS, trees=DateTreeParams(one_tree_jobs=30, fewest_jobs=12, most_jobs=35))
)


def test_stretches_have_trees_of_their_own() -> None:
    problem = log(70, 2)
    before: Any = Prices()(problem, Budget())
    result: Any = SHORT_STRETCHES(problem, Budget())
    certificate = result.certificate
    assert certificate["kind"] == "date-trees"
    assert len(certificate["trees"]) >= 2
    assert certified(problem, result) == result.bound
    assert result.objective <= before.objective
    assert before.bound < result.bound <= result.objective
    same = SHORT_STRETCHES(problem, Budget())
    assert (same.objective, same.certificate) == (result.objective, result.certificate)
    for solver in (DateBranching, Prices):
        further: Any = solver(start=result.answer, certificate=certificate)(problem, Budget(iterations=10))
        assert further.objective <= result.objective
        assert further.bound >= result.bound


def test_stretches_with_two_workers_and_after_ctrl_c(interrupt: Callable[[int], None]) -> None:
    problem = log(70, 2)
    interrupt(9)
    result = SHORT_STRETCHES(problem, Budget(iterations=40, workers=2))
    assert result.limit is Limit.INTERRUPTED
    assert (result.certificate or {})["kind"] == "date-trees"
    assert certified(problem, result) == result.bound


def test_trees_of_others_may_have_stretches_of_jobs_without_weight() -> None:
    problem = without_weight(log(70, 2), np.arange(70) < 10)
    result = SHORT_STRETCHES(problem, Budget(iterations=4))
    certificate = json.loads(json.dumps(result.certificate))
    assert certificate["kind"] == "date-trees"
    more = len(certificate["trees"])
    nobody = {"parent": -1, "jobs": [], "first_slots": [], "offsets": [0], "differences": []}
    tree = {"slots": [0, 1], "lists": [nobody], "jobs": [-1], "cuts": [0], "totals": [0]}
    owner = [more] * 10 + certificate["stretches"][10:]
    other = {**certificate, "stretches": owner, "trees": [*certificate["trees"], tree]}
    other["trees"][0] |= {"lists": [nobody], "jobs": [-1], "cuts": [0]}
    for number, totals in enumerate(tree_totals(problem, other, "turnaround")):
        other["trees"][number]["totals"] = totals
    bound = certified_bound(problem, other, ("turnaround",))
    further: Any = DateBranching(start=result.answer, certificate=other)(problem, Budget(iterations=4))
    assert further.bound >= bound


def test_a_certificate_of_another_problem_is_refused(solved: Any) -> None:
    _, _, result = solved
    with pytest.raises(InvalidAnswer):
        DateBranching(certificate=result.certificate)(log(50), Budget(seconds=math.inf))


# --- Shifts of dates ----------------------------------------------------------------------------------


def busy_log(count: int, seed: int) -> WorkloadProblem:
    """A busy busy_log with some wide jobs."""
    random = np.random.default_rng(seed)
    nodes = np.where(np.arange(count) % 7 == 3, 16, random.integers(1, 6, count))
    runtime = np.maximum(5, np.rint(random.lognormal(4, 1, count)))
    span = (nodes * runtime).sum() / 16
    return WorkloadProblem(16, Jobs(np.floor(np.sort(random.random(count)) * span), nodes, runtime))


def in_order(problem: WorkloadProblem) -> Plan:
    """The jobs one after the other in order of submission."""
    sizes = job_sizes(problem)
    return Plan.in_order(problem, sizes, sizes.offsets[:-1].copy(), frozen(np.arange(len(problem.jobs))))


@settings(deadline=None, max_examples=examples(20))
@given(st.integers(1, 40), st.integers(0, 2**30))
def test_plans_stay_feasible_and_never_cost_more(count: int, seed: int) -> None:
    problem = busy_log(count, seed)
    plan = in_order(problem)
    search = DateShifts(plan, ("turnaround",), seed)
    before = plan.values(("turnaround",))
    for _ in range(5):
        search.run(2)
        after = plan.values(("turnaround",))
        assert after[0] <= before[0] * (1 + 1e-9)
        assert workload_violations(problem, plan.schedule()) == ()
        before = after
    # What is free is what the jobs leave: all come to the same places once more.
    assert Plan(problem, plan.sizes, plan.placed.starts, plan.placed.chosen).values(("turnaround",)) == before


def test_shifts_find_what_reinsertion_does_not() -> None:
    better = 0
    for seed in range(4):
        problem = busy_log(150, seed)
        plan = in_order(problem)
        Reinserter(plan, ("turnaround",), seed).run(15_000)
        alone = Plan(problem, plan.sizes, plan.placed.starts, plan.placed.chosen)
        Reinserter(alone, ("turnaround",), seed).run(30_000)
        DateShifts(plan, ("turnaround",), seed).run(50)
        better += plan.values(("turnaround",)) < alone.values(("turnaround",))
    assert better >= 3


def test_nothing_to_shift() -> None:
    problem = WorkloadProblem(4, Jobs(np.array([0.0, 99.0]), np.array([4, 4]), np.array([9.0, 9.0])))
    assert not DateShifts(in_order(problem), ("turnaround",), 0).run(1)
    assert not DateShifts(in_order(WorkloadProblem(4, [])), ("turnaround",), 0).run(1)


def test_moves_about_some_jobs_only() -> None:
    problem = busy_log(60, 1)
    plan = in_order(problem)
    search = Reinserter(plan, ("turnaround",), 0)
    search.only(np.zeros(0, dtype=np.int64))
    assert not search.run(10)
    search.only(np.arange(60))
    assert search.run(10)
