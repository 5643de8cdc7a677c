"""Isolation: cells have limits and processes of their own (what solvers do in them: `test_cheats`)."""

from __future__ import annotations

import os
import re
from dataclasses import replace

import psutil
import pytest

from allocsolve.bench import RecordStore, open_executor, plan, run
from allocsolve.bench.runs import execution
from allocsolve.errors import InvalidOption
from allocsolve.families import family_named
from allocsolve.heuristics import ListScheduling
from allocsolve.instances import klein2011
from allocsolve.model import Budget, EvolutionProblem, Status
from allocsolve.registry import searches

PROBLEMS = [replace(klein2011([3, idx], num_apps=(3, 3)), name=f"p{idx}") for idx in range(2)]


def test_what_does_not_search_has_a_limit_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its budget neither shortens that nor makes the run one that took too long."""
    monkeypatch.setattr(execution, "GRACE_S", 0.5)
    monkeypatch.setattr(execution, "searches", lambda *_: False)
    named = [("", PROBLEMS[0])]
    for solver, limit in (("takes_its_time", 600.0), ("hangs", 0.5)):
        tasks = plan(named, [f"bad_solvers:{solver}"], budgets=[Budget(seconds=0.1)])
        with open_executor("local", jobs=1) as executor:
            (row,) = run(tasks, executor=executor, policy_seconds=limit)
        assert row.runtime_s > 0.5
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


def test_the_processes_are_kept_between_tasks_and_not_beyond() -> None:
    tasks = plan(
        [("", PROBLEMS[0])], ["bad_solvers:tells_its_process"], budgets=[Budget(seed=s) for s in range(4)]
    )
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    with open_executor("local", jobs=1) as executor:
        rows = run(tasks, executor=executor)
    pids = {row.error for row in rows}
    assert len(pids) == 1
    assert str(os.getpid()) not in pids.pop()
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before


def test_several_jobs_make_the_same_rows() -> None:
    tasks = plan(
        [("", problem) for problem in PROBLEMS],
        ["noX", "infX", "rigid"],
        budgets=[Budget(seed=seed) for seed in range(3)],
    )
    with open_executor("local", jobs=2) as executor:
        many = run(tasks, executor=executor, store=RecordStore())
    facts = [[(row.key, row.value, row.metrics) for row in rows] for rows in (many, run(tasks))]
    assert facts[0] == facts[1]
