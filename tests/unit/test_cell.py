"""Isolation: whatever a solver does costs its own row, with a clear reason, and nothing else."""

from __future__ import annotations

import math
import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import psutil
import pytest

from allocsolve.bench import RecordStore, open_executor, plan, run, run_missing
from allocsolve.bench.runs import execution
from allocsolve.errors import InvalidOption
from allocsolve.families import family_named
from allocsolve.heuristics import ListScheduling
from allocsolve.instances import klein2011
from allocsolve.model import Budget, EvolutionProblem, Status
from allocsolve.registry import searches

if TYPE_CHECKING:
    from allocsolve.bench import Record

PROBLEMS = [replace(klein2011([3, idx], num_apps=(3, 3)), name=f"p{idx}") for idx in range(2)]


def _run(*solvers: str, seconds: float = 60.0, memory_mb: float = 4096.0) -> list[Record]:
    tasks = plan(
        [("", problem) for problem in PROBLEMS],
        [f"bad_solvers:{name}" for name in solvers],
        budgets=[Budget(seconds=seconds)],
    )
    with open_executor("local", jobs=1) as executor, RecordStore() as store:
        run_missing(tasks, store, executor=executor, memory_mb=memory_mb)
        return list(store)


def test_every_bad_solver_costs_its_own_row_with_a_reason() -> None:
    faults = {
        "raises": r"RuntimeError: cannot do 100 nodes",
        "leaves": r"SystemExit: 3",
        "dies": r"the process of the solver died: exit status 7; out of luck",
        "crashes": r"the process of the solver died: SIGSEGV",
        "returns_rubbish": r"InvalidAnswer: the solver returned list, not a Result",
        "answers_rubbish": r"InvalidAnswer: .*str",
        "lies": r"InvalidAnswer: the solver claims makespan 1, the judge finds \d+",
        "boasts": r"InvalidAnswer: the solver claims the bound 1000000000, its own answer has \d+",
        "mutates": r"InvalidAnswer: the solver changed the problem that it was given",
        "prints": r"InvalidAnswer: the solver printed to stdout: 'look at me\\n'",
    }
    rows = _run("good", *faults)
    expected = {row.instance: row.value for row in rows if row.solver == "bad_solvers:good"}
    assert None not in expected.values()
    assert len(rows) == len(PROBLEMS) * (1 + len(faults))
    for row in rows:
        name = row.solver.removeprefix("bad_solvers:")
        if name == "good":
            assert (row.error, row.value) == ("", expected[row.instance])
        else:
            assert re.search(faults[name], row.error), row.error
            assert row.value is None
            assert row.combinatorial_bound != -math.inf


def test_a_solver_that_hangs_is_killed_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "GRACE_S", 0.5)
    named = [("", problem) for problem in PROBLEMS]
    tasks = [
        *plan(named, ["bad_solvers:hangs"], budgets=[Budget(seconds=0.5)]),
        *plan(named, ["bad_solvers:good"], budgets=[Budget(seconds=60)]),  # is not killed, however busy it is
    ]
    with open_executor("local", jobs=1) as executor:
        rows = run(tasks, executor=executor)
    assert {row.solver for row in rows} == {"bad_solvers:hangs", "bad_solvers:good"}
    for row in rows:
        if row.solver == "bad_solvers:hangs":
            assert re.fullmatch(r"killed: still running after \d\.\d s", row.error)
            assert row.runtime_s > 1.05
        else:
            assert row.error == ""


def test_what_does_not_search_has_a_limit_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its budget neither shortens that nor makes the run one that took too long."""
    monkeypatch.setattr(execution, "GRACE_S", 0.5)
    monkeypatch.setattr(execution, "searches", lambda *_: False)
    named = [("", PROBLEMS[0])]
    for solver, limit in (("takes_its_time", 600.0), ("hangs", 0.5)):
        tasks = plan(named, [f"bad_solvers:{solver}"], budgets=[Budget(seconds=0.1)])
        with open_executor("local", jobs=1) as executor:
            (row,) = run(tasks, executor=executor, policy_seconds=limit)
        if solver == "hangs":
            reason = r"more than the 0\.5 s that a policy has \(--policy-seconds, in a study policy_seconds\)"
            assert re.fullmatch(rf"killed: still running after \d\.\d s, {reason}", row.error)
        else:
            assert (row.error, row.runtime_s > 1) == ("", True)


def test_what_searches_is_known_by_name() -> None:
    """Plug-ins may search: nothing tells that they do not."""
    for kind, names in (
        ("workload", {"conservative": False, "market": True, "prices": True}),
        ("evolution", {"noX": False, "annealing": True, "lns": True, "cpsat": True}),
        ("partition", {"growth-best": False, "bad_solvers:good": True}),
    ):
        for name, expected in names.items():
            assert searches(name, family_named(kind)) is expected
    record = run(plan([("", PROBLEMS[0])], ["noX"], budgets=[Budget(seconds=10)]))[0]
    slow = replace(record, runtime_s=20.0, kind="workload")
    assert [replace(slow, solver=name).overran for name in ("easy", "prices")] == [False, True]


def test_a_solver_that_hangs_in_the_warm_up_is_killed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "WARM_UP_S", 3.0)
    tasks = plan([("", replace(PROBLEMS[0], name=""))], ["bad_solvers:sleeps"], budgets=[Budget(seconds=9)])
    with open_executor("local", jobs=1) as executor:
        (row,) = run(tasks, executor=executor)
    assert re.fullmatch(r"killed: not ready after \d+\.\d s", row.error)


def test_what_a_warm_up_takes_is_not_under_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time until the cell is ready is longer than the time limit and its grace."""
    monkeypatch.setattr(execution, "GRACE_S", 0.5)
    tasks = plan([("", PROBLEMS[0])], ["bad_solvers:compiles"], budgets=[Budget(seconds=0.4)])
    with open_executor("local", jobs=1) as executor:
        (row,) = run(tasks, executor=executor)
    assert (row.error, row.status) == ("", Status.FEASIBLE)


def test_a_problem_is_sent_once_and_a_changed_one_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    pickled: list[str] = []
    real = execution._pickled

    def watched(problem: EvolutionProblem) -> bytes:
        pickled.append(problem.name)
        return real(problem)

    monkeypatch.setattr(execution, "_pickled", watched)
    tasks = plan(
        [("", problem) for problem in PROBLEMS],
        ["noX", "infX", "bad_solvers:mutates_now_and_then"],
        budgets=[Budget(seed=seed) for seed in range(3)],
    )
    with open_executor("local", jobs=1) as executor:
        rows = run(tasks, executor=executor)
    assert pickled == ["p0", "p0", "p1", "p1"], "once to the registered solvers, once to the plug-in"
    changed = [row for row in rows if row.error]
    assert {(row.solver, row.seed) for row in changed} == {("bad_solvers:mutates_now_and_then", 1)}
    assert all("changed the problem" in row.error for row in changed)
    assert {row.features["num_nodes"] for row in rows} == {PROBLEMS[0].num_nodes}
    plugin = [row.value for row in rows if row.solver.startswith("bad") and not row.error]
    assert plugin == [row.value for row in rows if row.solver == "infX" and row.seed != 1]


def test_a_solver_without_a_name_stays_in_its_process() -> None:
    tasks = plan([("", PROBLEMS[0])], [ListScheduling()], budgets=[Budget(seconds=5)])
    with open_executor("local", jobs=1) as executor, pytest.raises(InvalidOption, match="no registered name"):
        run(tasks, executor=executor)
    assert run(tasks)[0].error == ""


def test_a_solver_that_eats_memory_is_killed() -> None:
    eaten, fine, again, _ = _run("eats", "good", memory_mb=700)
    assert re.fullmatch(r"killed: held \d+ MB, more than 700 MB", eaten.error)
    assert fine.error == ""
    assert again.error.startswith("killed: held")


def test_no_process_is_left_behind() -> None:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    _run("good", "dies")
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before


def test_the_processes_are_kept_between_tasks() -> None:
    tasks = plan(
        [("", PROBLEMS[0])], ["bad_solvers:tells_its_process"], budgets=[Budget(seed=s) for s in range(4)]
    )
    with open_executor("local", jobs=1) as executor:
        rows = run(tasks, executor=executor)
    pids = {row.error for row in rows}
    assert len(pids) == 1
    assert str(os.getpid()) not in pids.pop()


def test_several_jobs_make_the_same_rows() -> None:
    tasks = plan(
        [("", problem) for problem in PROBLEMS],
        ["noX", "infX", "rigid"],
        budgets=[Budget(seed=seed) for seed in range(3)],
    )
    with open_executor("local", jobs=3) as executor:
        many = run(tasks, executor=executor, store=RecordStore())
    here = run(tasks)
    assert [(row.key, row.value, row.metrics) for row in many] == [
        (row.key, row.value, row.metrics) for row in here
    ]
