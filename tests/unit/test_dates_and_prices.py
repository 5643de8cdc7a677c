"""Bounds of workloads by example: trees of dates, shifts of dates, prices per job and of evolving jobs."""

from __future__ import annotations

import itertools
import json
import math
import threading
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_workload_optimum import workload_optimum
from tiers import examples

from allocsolve.bounds.workload import (
    job_prices,
    least_areas,
    makespan_bound,
    shortest_run_times,
    time_prices,
    work_prices,
    workload_bound,
)
from allocsolve.bounds.workload.job_prices import ascended as ascent
from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.exact.workload import DateBranching, Prices, date_branching
from allocsolve.exact.workload._date_forest import DateForest
from allocsolve.exact.workload._date_tree import DateTree, DateTreeParams
from allocsolve.exact.workload.date_branching import DateBranchingParams
from allocsolve.heuristics.workload.date_shifts import DateShifts
from allocsolve.heuristics.workload.reinsertion import Reinserter
from allocsolve.heuristics.workload.serial import Plan, job_sizes
from allocsolve.judge import certified_bound
from allocsolve.judge.workload.date_trees import tree_totals
from allocsolve.judge.workload.job_prices import job_price_bound
from allocsolve.judge.workload.rules import workload_value, workload_violations
from allocsolve.model import (
    Amdahl,
    Budget,
    Clock,
    ClosedWindow,
    Job,
    Jobs,
    Join,
    Limit,
    Overhead,
    Phases,
    Profile,
    Requests,
    Result,
    Status,
    WorkloadProblem,
    WorkloadSchedule,
)
from allocsolve.model.arrays import frozen
from allocsolve.model.result import terms

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def log(
    count: int = 48, seed: int = 1, *, wide: tuple[int, int] = (15, 7), load: float = 0.9
) -> WorkloadProblem:
    """A busy log in which one of so many jobs, from one on, is as wide as the machine."""
    random = np.random.default_rng(seed)
    every, first = wide
    nodes = np.where(np.arange(count) % every == first, 16, random.integers(1, 6, count))
    runtime = np.maximum(5, np.rint(random.lognormal(4, 1, count)))
    span = (nodes * runtime).sum() / (16 * load)
    return WorkloadProblem(16, Jobs(np.floor(np.sort(random.random(count)) * span), nodes, runtime))


#: With more wide jobs and all nodes asked for.
full_log = partial(log, wide=(7, 3), load=1)


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


def on_a_machine(count: int = 14, seed: int = 1) -> WorkloadProblem:
    """The log on a machine with GPUs that is closed for a while, and jobs that are eligible later."""
    packed, random = log(count, seed).packed, np.random.default_rng(seed)
    needs = [{"gpus": int(random.integers(1, 7))} if random.random() < 0.6 else None for _ in range(count)]
    eligible = np.where(random.random(count) < 0.1, packed.submit + 50, np.nan)
    jobs = Jobs(packed.submit, packed.nodes, packed.runtime, needs=needs, eligible=eligible)
    middle = float(np.floor(packed.submit.mean()))
    return WorkloadProblem(
        16, jobs, resources={"gpus": 8}, closed=[ClosedWindow(middle, middle + 300, {"nodes": 15, "gpus": 4})]
    )


def test_trees_on_a_machine_with_resources_and_windows() -> None:
    problem = on_a_machine()
    before: Any = Prices()(problem, Budget(iterations=100))
    solver = DateBranching(params=FEW_ASCENTS)
    result: Any = solver(problem, Budget(iterations=40))
    assert result.certificate["kind"] == "date-tree"
    assert result.certificate["units"] == {"gpus": 1}
    assert certified(problem, result) == result.bound
    assert before.bound < result.bound <= result.objective
    for other in (DateBranching, Prices):
        further: Any = other(start=result.answer, certificate=result.certificate)(
            problem, Budget(iterations=10)
        )
        assert further.objective <= result.objective
        assert further.bound >= result.bound


def test_a_warm_up_on_a_machine_goes_through_a_tree() -> None:
    problem = on_a_machine()
    result: Any = DateBranching(params=FEW_ASCENTS).warm_up(problem, Budget(iterations=4))
    assert result.certificate["kind"] == "date-tree"
    assert certified(problem, result) == result.bound


def test_trees_of_stretches_on_a_machine() -> None:
    problem = on_a_machine(36, 2)
    result: Any = SHORT_STRETCHES(problem, Budget(iterations=6))
    assert result.certificate["kind"] == "date-trees"
    assert certified(problem, result) == result.bound


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


def in_order(problem: WorkloadProblem) -> Plan:
    """The jobs one after the other in order of submission."""
    sizes = job_sizes(problem)
    return Plan.in_order(problem, sizes, sizes.offsets[:-1].copy(), frozen(np.arange(len(problem.jobs))))


@settings(deadline=None, max_examples=examples(20))
@given(st.integers(1, 40), st.integers(0, 2**30))
def test_plans_stay_feasible_and_never_cost_more(count: int, seed: int) -> None:
    problem = full_log(count, seed)
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
        problem = full_log(150, seed)
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
    problem = full_log(60, 1)
    plan = in_order(problem)
    search = Reinserter(plan, ("turnaround",), 0)
    search.only(np.zeros(0, dtype=np.int64))
    assert not search.run(10)
    search.only(np.arange(60))
    assert search.run(10)


# --- Prices -------------------------------------------------------------------------------------------


ENDLESS = math.inf
#: Not the function of the same name.
module = import_module("allocsolve.bounds.workload.job_prices")

#: Three jobs of which no two fit: one after the other, the mean turnaround is 2.
THREE_WIDE = WorkloadProblem(4, [Job(0, 3, 1), Job(0, 3, 1), Job(0, 3, 1)])


def minutes_log(jobs: int, seed: int = 1, num_nodes: int = 16) -> WorkloadProblem:
    """Jobs of minutes to hours on a busy cluster."""
    random = np.random.default_rng(seed)
    submits = np.cumsum(random.integers(0, 1500, jobs)).tolist()
    sizes = (2 ** random.integers(0, 5, jobs)).tolist()
    runs = random.integers(60, 7200, jobs).tolist()
    return WorkloadProblem(num_nodes, [Job(*row) for row in zip(submits, sizes, runs, strict=True)])


def certificate(**changed: Any) -> dict[str, Any]:
    """Prices of `THREE_WIDE` that prove the optimum, but for what is changed."""
    return {
        "kind": "job-prices",
        "term": "turnaround",
        "edges": [0, 1, 2],
        "nodes": 1,
        "unit": 1,
        "first_slots": [0, 0, 0],
        "offsets": [0, 2, 4, 6],
        "prices": [2, 1, 2, 1, 2, 1],
        **changed,
    }


def test_jobs_that_exclude_each_other() -> None:
    """Prices per node-second pay for a node that nobody can use."""
    assert job_price_bound(THREE_WIDE, certificate(), "turnaround") == 2
    start = time_prices(THREE_WIDE, "turnaround", clock=Clock(ENDLESS))
    bound = job_prices(THREE_WIDE, "turnaround", start, clock=Clock(ENDLESS))
    assert start.value < 1.8
    assert bound.value == pytest.approx(2, abs=1e-3)
    assert bound.value <= 2


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"term": "wait"}, "bounds 'wait'"),
        ({"edges": [0, 2, 2]}, "edges"),
        ({"edges": [0, 1]}, "prices of job 0"),
        ({"first_slots": [0, 0]}, "2 first slots"),
        ({"first_slots": [0, 1, 0]}, "prices of job 1"),
        ({"offsets": [0, 2, 4, 5]}, "offsets"),
        ({"offsets": [0, 4, 2, 6]}, "offsets"),
        ({"units": {"tapes": 1}}, "the machine has no 'tapes' beside its nodes"),
        ({"units": {"nodes": 1}}, "the machine has no 'nodes' beside its nodes"),
        ({"prices": [2**53] * 6, "edges": [0, 10**6, 10**7]}, "costs of job 0"),
    ],
)
def test_judge_refuses(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidAnswer, match="certificate") as refused:
        certified_bound(THREE_WIDE, certificate(**changed), ("turnaround",))
    assert words in str(refused.value)


ONE = {"first_slots": [0], "offsets": [0, 0], "prices": []}
MOLDABLE = WorkloadProblem(4, [Job(0, 2, 10, min_nodes=1, max_nodes=4, speedup=Amdahl(0.5))])


@pytest.mark.parametrize(
    ("problem", "changed", "term", "words"),
    [
        (MOLDABLE, {}, "turnaround", "rigid"),
        (THREE_WIDE, {}, "makespan", "makespan"),
        (
            WorkloadProblem(10**9, [Job(0, 3, 1)]),
            {**ONE, "offsets": [0, 2], "prices": [1, 1]},
            None,
            "too many",
        ),
        (WorkloadProblem(1, [Job(2**53 - 10, 1, 0.3)]), ONE, None, r"2\^53 ticks"),
        (WorkloadProblem(1, [Job(0, 1, 1, weight=2**50)]), {**ONE, "unit": 2**20}, None, "weight"),
    ],
)
def test_judge_refuses_what_is_not_for_prices_per_job(
    problem: WorkloadProblem, changed: dict[str, Any], term: Any, words: str
) -> None:
    with pytest.raises(InvalidAnswer, match=words):
        certified_bound(problem, certificate(**changed), (term or "turnaround",))


def test_who_keeps_the_given_bound() -> None:
    """Moldable jobs, the makespan, jobs without weight, and who has no time."""
    nobody = WorkloadProblem(4, [Job(0, 2, 10, weight=0)])
    cases: Any = ((MOLDABLE, "turnaround"), (THREE_WIDE, "makespan"), (nobody, "turnaround"))
    for problem, term in cases:
        start = time_prices(problem, "turnaround", clock=Clock(ENDLESS))
        assert job_prices(problem, term, start, clock=Clock(ENDLESS)) is start
    start = time_prices(minutes_log(30), "turnaround", clock=Clock(0.1))
    bound = job_prices(minutes_log(30), "turnaround", start, clock=Clock(0))
    assert (bound.value, bound.certificate) == (start.value, start.certificate)


@pytest.mark.parametrize("workers", [1, 2])
def test_pieces_of_a_log(monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    """As a minutes_log of thousands of jobs is done: pieces, then all together."""
    monkeypatch.setattr(module, "PIECE", 60)
    monkeypatch.setattr(module, "_STEPS", 15)
    problem = minutes_log(130)
    start = time_prices(problem, "turnaround", clock=Clock(0.1))
    bound = job_prices(problem, "turnaround", start, clock=Clock(ENDLESS), workers=workers)
    assert bound.value > 1.01 * start.value
    assert job_price_bound(problem, json.loads(json.dumps(bound.certificate)), "turnaround") == bound.value
    assert bound.starts.shape == (130,)


def test_ctrl_c_leaves_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = minutes_log(30)
    start = time_prices(problem, "turnaround", clock=Clock(0.1))
    calls = itertools.count()

    def ascended(*arguments: Any, **named: Any) -> Any:
        if next(calls):
            raise KeyboardInterrupt
        return original(*arguments, **named)

    original = ascent
    monkeypatch.setattr(module, "ascended", ascended)
    bound = job_prices(problem, "turnaround", start, clock=Clock(ENDLESS))
    assert bound.interrupted
    assert bound.value > start.value
    bound = job_prices(problem, "turnaround", start, clock=Clock(ENDLESS))  # in the first call
    assert bound.interrupted
    assert bound.value == start.value


def test_large_clusters_are_coarsened() -> None:
    """Sizes that share a divisor lose nothing by it; others are still bounded."""
    small = THREE_WIDE
    for factor in (1000, 1000.5):
        large = WorkloadProblem(
            int(4 * factor), [Job(0, int(3 * factor), 1), Job(0, int(3 * factor), 1), Job(0, 3000, 1)]
        )
        start = time_prices(large, "turnaround", clock=Clock(ENDLESS))
        bound = job_prices(large, "turnaround", start, clock=Clock(ENDLESS))
        assert bound.certificate["nodes"] != 1
        assert bound.value == pytest.approx(float(workload_optimum(small, "turnaround")), abs=1e-3)
        assert bound.value <= workload_optimum(large, "turnaround")


# --- Evolving jobs ------------------------------------------------------------------------------------


#: 2 s of start, 4 s on 4 nodes, 3 s on one, 1 s on 4.
PHASED = Job(
    0,
    2,
    2 + 8 + 3 + 2,
    min_nodes=2,
    max_nodes=4,
    evolution=Phases([(16, None), (3, 1), (4, 8)], release_delay=5),
    reconfiguration=Join(2, 3, 4),
)
STEPS = Job(1, 2, 12, min_nodes=1, max_nodes=3, evolution=Profile([(5, 2), (3, 1), (4, 3)]))
REQUESTED = Job(2, 2, 6, min_nodes=1, max_nodes=4, speedup=Overhead(0.2), evolution=Requests([(0.5, 2)]))
EVOLVING = WorkloadProblem(4, [PHASED, STEPS, REQUESTED])


def certified_turnaround(problem: WorkloadProblem, certificate: Any) -> float:
    return certified_bound(problem, json.loads(json.dumps(certificate)), ("turnaround",))


def test_least_times_and_areas() -> None:
    """Lina's job is fastest on 2 sqrt(.8 / .2) = 4 nodes: 6 (.8 * 2 / 4 + .2 * 4 / 2) s."""
    assert shortest_run_times(EVOLVING).tolist() == pytest.approx([10, 12, 4.8])
    assert least_areas(EVOLVING).tolist() == pytest.approx([2 * 2 + 23, 10 + 3 + 12, 6 * (0.8 * 2 + 0.2 / 2)])
    assert workload_bound(EVOLVING, "turnaround") == pytest.approx((10 + 12 + 4.8) / 3, abs=1e-4)
    bound = makespan_bound(EVOLVING)
    assert bound.value == pytest.approx((27 + 25 + 10.2) / 4, abs=1e-4)
    assert bound.value <= certified_bound(EVOLVING, bound.certificate, ("makespan",)) <= 62.2 / 4


def test_jobs_with_phases_are_never_wide() -> None:
    jobs = [Job(0, 3, 10, evolution=Phases([(30, None)])) for _ in range(2)]
    wide = WorkloadProblem(4, [*jobs, Job(0, 3, 20)])
    certificate = {"kind": "makespan", "rule": "wide", "after": 0}
    assert certified_bound(wide, certificate, ("makespan",)) == pytest.approx(20)
    assert makespan_bound(wide).certificate["rule"] == "area"


@pytest.mark.parametrize("job", [PHASED, STEPS, REQUESTED])
def test_a_job_alone(job: Job) -> None:
    problem = WorkloadProblem(4, [job])
    bound = time_prices(problem)
    assert bound.value == pytest.approx(shortest_run_times(problem)[0], abs=1e-4)
    assert bound.value == certified_turnaround(problem, bound.certificate)


def test_a_queue_of_phases() -> None:
    """One node, 10 s each: the optimum is 15, and the bound near it although slots are shared."""
    job = Job(0, 1, 10, evolution=Phases([(4, None), (6, 1)]))
    bound = time_prices(WorkloadProblem(1, [job, job]))
    assert 12 < bound.value <= 15


def test_work_prices_are_those_of_laws() -> None:
    prices = work_prices(EVOLVING, time_prices(EVOLVING))
    assert prices[2] > 0
    assert prices[:2].tolist() == [0, 0]


def test_wait_has_no_bound() -> None:
    with pytest.raises(InvalidOption, match="jobs that are not rigid"):
        time_prices(EVOLVING, "wait")
    certificate = {"kind": "time-prices", "term": "wait", "edges": [0], "prices": [], "unit": 1}
    with pytest.raises(InvalidAnswer, match="jobs that are not rigid"):
        certified_bound(EVOLVING, certificate, ("wait",))


def evotree(traces: Path, *, evolving: bool) -> list[WorkloadProblem]:
    """Return the five batches of Posner et al. (2024); a nominal job of k nodes takes the measured 181 s."""
    data = json.loads((traces / "evotree_batches.json").read_text())
    seconds, start = data["measured_rigid_runtime_s"], data["start_cost_s"]
    unit = (seconds - start) / 200
    problems = []
    for batch in data["batches"]:
        jobs = []
        for submit, nodes in zip(batch["effective_submit"], batch["nodes"], strict=True):
            low, high = data["ranges"][str(nodes)]
            tree = (50 * nodes * unit, None)
            phases = Phases([tree, (100 * unit, 1), tree], 10)
            shape: dict[str, Any] = {}
            if evolving:
                join = Join(start, data["grow_cost_s"], data["shrink_cost_s"])
                shape = {"evolution": phases, "reconfiguration": join, "min_nodes": low, "max_nodes": high}
            runtime = start + phases.run_time(nodes) if evolving else seconds
            jobs.append(Job(submit, nodes, runtime, **shape))
        problems.append(WorkloadProblem(data["nodes"], jobs))
    return problems


def test_evotree_rigid(traces: Path) -> None:
    bounds = [time_prices(problem).value for problem in evotree(traces, evolving=False)]
    assert np.mean(bounds) >= 350


def test_evotree_evolving(traces: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On some 70 slots of 10 s and more, which is fixed work; all work in any order alone is worth 200.5."""
    # The function has the name of its module.
    monkeypatch.setattr(import_module("allocsolve.bounds.workload.time_prices"), "_MOST_WIDTHS", 2)
    values = []
    for problem in evotree(traces, evolving=True):
        bound = time_prices(problem)
        assert bound.value == certified_turnaround(problem, bound.certificate)
        values.append(bound.value)
    assert np.mean(values) >= 205
