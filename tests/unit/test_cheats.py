"""Solvers that cheat are found out, or their doings stay their own; cells have limits and processes."""

from __future__ import annotations

import math
import os
import re
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING

import psutil
import pytest
from cheats import CHEATS, HEAD
from plugin_tools import site

from allocsolve.bench import RecordStore, best, describe, open_executor, plan, run, run_missing
from allocsolve.bench.runs import execution
from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.families import family_named
from allocsolve.heuristics import ListScheduling
from allocsolve.instances import klein2011
from allocsolve.model import (
    Budget,
    EvolutionProblem,
    Job,
    Mesh,
    PartitionProblem,
    Status,
    WorkloadProblem,
    terms,
)
from allocsolve.registry import searches

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from plugin_tools import Site

    from allocsolve.bench import Record


#: One process has them all: the studies of the cheats are run once.
of_the_cheats = pytest.mark.xdist_group("cheats")

PROBLEM = replace(klein2011([3, 0], num_apps=(3, 3)), name="p0")
MESH = PartitionProblem.of(Mesh((4, 3)), busy=[1, 6], size=5, name="mesh")

#: Cheats that end at their time limit.
QUICK = ("never_stops", "stops_its_process", "closes_all_files")
#: Cheats that do their harm in the next run, if at all.
TWICE = ("has_children", "has_threads", "breaks_what_others_use", "keeps_what_it_has_found")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the modules of the cheats, and one for the honest solver."""
    path: Path = tmp_path_factory.mktemp("cheats")
    (path / "decent.py").write_text(HEAD)
    modules: dict[str, str] = {}
    for name, cheat in CHEATS.items():
        module, _, function = cheat.solver(name).partition(":")
        body = textwrap.indent(textwrap.dedent(cheat.body).strip(), "    ")
        modules[module] = (
            f"{modules.get(module, HEAD)}\n"
            f"def {function}(problem: EvolutionProblem, budget: Budget) -> Result:\n"
            "    if not problem.name:  # the warm-up\n"
            "        return honest(problem, budget)\n"
            f"{body}\n"
        )
    for module, text in modules.items():
        (path / f"{module}.py").write_text(text)
    return path


@pytest.fixture(scope="module")
def rows(folder: Path) -> Mapping[str, list[Record]]:
    """The rows of each solver by its name; after each cheat, two honest ones run in the same study."""
    made: list[Record] = []
    with pytest.MonkeyPatch.context() as monkeypatch, site(folder, monkeypatch):
        monkeypatch.chdir(folder)
        names = ["decent:honest", "noX", *(cheat.solver(name) for name, cheat in CHEATS.items())]
        described = dict(zip(names, describe(names), strict=True))
        tasks = [
            task
            for idx, (name, cheat) in enumerate(CHEATS.items())
            for seed in range(2 * idx, 2 * idx + (2 if name in TWICE else 1))
            for solver in (cheat.solver(name), "decent:honest", "noX")
            for task in plan(
                [("", PROBLEM)],
                [described[solver]],
                budgets=[Budget(1.0 if name in QUICK else 60.0, seed=seed)],
            )
        ]
        with open_executor("local", jobs=2) as executor, RecordStore() as store:
            run_missing(tasks, store, executor=executor, memory_mb=900)
            made += store
    by_solver: dict[str, list[Record]] = {}
    for row in made:
        by_solver.setdefault(row.solver, []).append(row)
    return by_solver


@of_the_cheats
@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_gains_nothing(name: str, rows: Mapping[str, list[Record]]) -> None:
    expected = CHEATS[name].error
    for row in rows[CHEATS[name].solver(name)]:
        if expected:
            assert re.search(expected, row.error), row.error
            assert (row.value, row.bound, row.status) == (None, -math.inf, Status.UNKNOWN)
            assert row.combinatorial_bound != -math.inf
            assert len(row.error.splitlines()) == 1
        else:
            assert (row.error, row.value) == ("", rows["decent:honest"][0].value)


@of_the_cheats
def test_no_cheat_harms_others(rows: Mapping[str, list[Record]], folder: Path) -> None:
    others = rows["decent:honest"] + rows["noX"]
    assert len(others) >= 2 * len(CHEATS)
    assert {(row.error, row.value) for row in others} == {("", rows["noX"][0].value)}
    assert not (folder / "unpickled").exists(), "code of a cheat has run where its reply was read"
    assert not [process for process in psutil.process_iter() if str(folder) in _command(process)]


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def test_a_false_proof_is_found_out_by_a_better_answer(third: Site) -> None:
    """What cannot be recomputed is believed until somebody else has an answer that contradicts it."""
    claims = {
        "infeasible": ("Result(Status.INFEASIBLE)", "claims it is infeasible"),
        "optimal": (
            "replace(made, objective=made_value, bound=made_value, status=Status.OPTIMAL)",
            "claims the bound",
        ),
    }
    made_late = """
    ends = [sum(app.duration for app in problem.applications[:i]) for i in range(len(problem.applications))]
    made = Result(Status.FEASIBLE, EvolutionSchedule.of(ends, problem.applications))
    made_value = value_of(problem, made.answer)
"""
    solvers = "".join(
        f"def {name}(problem: EvolutionProblem, budget: Budget) -> Result:{made_late}    return {claim}\n"
        for name, (claim, _) in claims.items()
    )
    third.module("liar", solvers, head=HEAD)
    tasks = plan([("", PROBLEM)], [*(f"liar:{name}" for name in claims), "noX"], budgets=[Budget(60.0)])
    with open_executor("local", jobs=1) as executor:
        *liars, honest = run(tasks, executor=executor)
    for row, (name, (_, fault)) in zip(liars, claims.items(), strict=True):
        assert row.error == honest.error == ""
        with pytest.raises(InvalidAnswer, match=f"contradiction on p0: liar:{name} {fault}"):
            best([row, honest])


#: What is no certificate, and why.
FORGED = {
    "texts": ({"axes": [0, 1], "scale": 1, "roots": "none"}, "roots of the certificate are str"),
    "truths": ({"axes": [0, 1], "scale": True, "roots": []}, "scale True of the certificate"),
    "fractions": ({"axes": [0, 1], "scale": 0.5, "roots": []}, "scale 0.5 of the certificate"),
    "no_axes": ({"axes": [1], "scale": 1, "roots": []}, "axes"),
    "nowhere": (
        {"axes": [0, 1], "scale": 1, "roots": [{"medians": [9], "multipliers": [[1]]}]},
        "root 0 of the certificate",
    ),
    "no_object": ([1, 2], "certificate: must be an object"),
}


def test_certificates_are_refused_or_recomputed(third: Site) -> None:
    """Whatever a certificate holds, a bound that is made of it holds."""
    wild = [{"medians": [m], "multipliers": [[10**9, -(10**9), 10**12, 5]]} for m in range(3)]
    certificates = {name: certificate for name, (certificate, _) in FORGED.items()}
    certificates["wild"] = {"axes": [0, 1], "scale": 1, "roots": wild}
    solvers = [
        f"def {name}(problem: PartitionProblem, budget: Budget) -> Result:\n"
        f"    return replace(Growth()(problem, budget), certificate={certificate!r})\n"
        for name, certificate in certificates.items()
    ]
    third.module("forger", "\n".join(solvers), head=HEAD)
    names = [f"forger:{name}" for name in certificates]
    tasks = plan([("", MESH)], [*names, "branch-and-bound"], budgets=[Budget(60.0)])
    with open_executor("local", jobs=1) as executor:
        *forged, recomputed, exact = run(tasks, executor=executor)
    for row, (_, fault) in zip(forged, FORGED.values(), strict=True):
        assert fault in row.error
        assert row.certified_bound == -math.inf
    assert (recomputed.error, exact.status) == ("", Status.OPTIMAL)
    assert exact.value is not None
    assert terms(recomputed.certified_bound) <= terms(exact.value)


def test_a_solver_that_hangs_in_the_warm_up_costs_that_time_once(
    third: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    solver = "def cheat(problem: EvolutionProblem, budget: Budget) -> Result: time.sleep(3600)\n"
    third.module("sleeper", solver, head=HEAD)
    budgets = [Budget(60.0, seed=seed) for seed in range(4)]
    tasks, honest = (plan([("", PROBLEM)], [name], budgets=budgets) for name in ("sleeper:cheat", "noX"))
    with open_executor("local", jobs=1) as executor:
        run(honest, executor=executor)  # is ready from here on
        monkeypatch.setattr(execution, "WARM_UP_S", 3.0)
        rows = run([*tasks, *honest], executor=executor)
        again = run(tasks[:1], executor=executor)
    first, *others = (row.error for row in rows if row.solver == "sleeper:cheat")
    assert re.fullmatch(r"killed: not ready after \d+\.\d s", first)
    assert others == [f"not run, its warm-up failed before: {first}"] * 3
    assert again[0].error.startswith("killed: not ready"), "another study tries again"
    assert {row.error for row in rows if row.solver == "noX"} == {""}


# --- Cells --------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(("limit", "error"), [(600.0, ""), (0.5, "more than the 0.5 s that a policy has")])
def test_a_policy_of_ones_own_runs_to_the_end_of_a_log(
    limit: float, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of the package do, whatever the budget; the process says that it is one."""
    monkeypatch.setattr(execution, "GRACE_S", 0.5)
    text = """
        import time
        from allocsolve.heuristics import Fcfs
        def slow(view):
            time.sleep(0.4)
            return Fcfs().decide(view)
    """
    problem = WorkloadProblem(1, [Job(idx, 1, 1) for idx in range(4)], name="log")
    with site(tmp_path, monkeypatch) as made, open_executor("local", jobs=1) as executor:
        made.module("mine", text, head="")
        tasks = plan([("", problem)], ["mine:slow"], budgets=[Budget(seconds=0.1)])
        (row,) = run(tasks, executor=executor, policy_seconds=limit)
    assert error in row.error
    assert (row.value is None) == bool(row.error) == bool(error)
    assert not row.overran


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
