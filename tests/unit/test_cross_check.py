"""Second opinions: a solver of others on makespans, another checker on refutations."""

from __future__ import annotations

import importlib.util
import random
import shutil
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from cli_tools import Capture, refused, run, run_json
from pumpkin_stand_in import __file__ as stand_in
from tiers import examples
from verified_tools import CHECKER, least_makespan, makespan_proof_files, needs_checker, random_profiles

from allocsolve.backends.pumpkin import has_schedule
from allocsolve.cli import main
from allocsolve.errors import SolverUnavailable, UnsupportedProblem
from allocsolve.instances import klein2011, write_certificate, write_problem
from allocsolve.model import EvolutionProblem, EvolutionProfile, Job, WorkloadProblem

if TYPE_CHECKING:
    from pathlib import Path

needs_pumpkin = pytest.mark.skipif(
    importlib.util.find_spec("pumpkin_solver") is None,
    reason="pumpkin-solver is not installed: pip install 'allocsolve[cross-check]'",
)

#: The optimum is 7 s, by areas 6 s: A and B do not fit beside each other.
SMALL = EvolutionProblem(
    3,
    (EvolutionProfile([(3, 2)]), EvolutionProfile([(2, 2)]), EvolutionProfile([(1, 1), (2, 3)])),
    expand_limit=1,
)


WORKLOAD = WorkloadProblem(4, [Job(0, 3, 4), Job(1, 4, 1)])
PRICES = {"kind": "time-prices", "term": "wait", "unit": 4, "edges": [0, 4], "prices": [1]}


@pytest.fixture
def pumpkin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Put the stand-in where the package is looked for."""
    folder = tmp_path / "site"
    folder.mkdir()
    shutil.copy(stand_in, folder / "pumpkin_solver.py")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return monkeypatch


def _agrees(count: int) -> None:
    draw = random.Random(34)
    wrong = []
    for _ in range(count):
        problem = random_profiles(draw)
        optimum = least_makespan(problem)
        profiles = [(r, app.steps) for r, app in zip(problem.releases, problem.applications, strict=True)]
        found = [has_schedule(problem.num_nodes, profiles, optimum - less, 60) for less in (0, 1, optimum)]
        if found != [True, False, False]:
            wrong.append((problem, optimum, found))
    assert not wrong


@pytest.mark.usefixtures("pumpkin")
def test_the_model_has_the_schedules_of_the_problem() -> None:
    _agrees(6)


@needs_pumpkin
def test_pumpkin_finds_the_optima_of_small_problems() -> None:
    _agrees(examples(100))


@needs_pumpkin
def test_pumpkin_proves_a_makespan_again(tmp_path: Path, capsys: Capture) -> None:
    problem, answer, bound = makespan_proof_files(
        tmp_path, replace(klein2011([8, 1], num_apps=(8, 8)), expand_limit=1)
    )
    printed = run(capsys, "check", problem, answer, "--proof", bound, "--cross-check", "60")
    assert "optimal: makespan is 44407 s" in printed
    assert "cross-checked: pumpkin-solver proves, too, that there is no makespan below 44407 s" in printed


def test_the_second_opinion_is_told(tmp_path: Path, capsys: Capture, pumpkin: pytest.MonkeyPatch) -> None:
    problem, answer, bound = makespan_proof_files(tmp_path, SMALL)
    check = ("check", problem, bound, "--cross-check", "9")
    assert "cross-checked: pumpkin-solver proves, too, that there is no makespan below 7 s" in run(
        capsys, *check
    )
    assert run_json(capsys, *check)["cross_checked"] is True
    beside = ("check", problem, answer, "--proof", bound, "--cross-check", "9")
    assert run_json(capsys, *beside)["cross_checked"] is True
    pumpkin.setenv("STAND_IN", "slow")
    assert "not cross-checked: pumpkin-solver has not finished within 9 s" in run(capsys, *check)
    assert run_json(capsys, *check)["cross_checked"] is False
    pumpkin.setenv("STAND_IN", "found")
    assert "the judge accepts it, pumpkin-solver finds an answer with a makespan below 7 s" in refused(
        capsys, *check
    )


def test_a_solver_that_breaks_or_hangs_is_no_opinion(tmp_path: Path, pumpkin: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "pumpkin_solver.py"
    package.write_text("raise ImportError('other calls')\n", encoding="utf-8")
    with pytest.raises(SolverUnavailable, match="does not run: ImportError: other calls"):
        has_schedule(2, [(0, [(1, 1)])], 1, 1)
    package.write_text("import time\ntime.sleep(60)\n", encoding="utf-8")
    pumpkin.setattr("allocsolve.backends.pumpkin._START_S", 0.1)
    assert has_schedule(2, [(0, [(1, 1)])], 1, 0.1) is None
    with pytest.raises(UnsupportedProblem, match="numbers of 32 bits, 1000000 nodes for 3000 s are more"):
        has_schedule(1_000_000, [(0, [(1, 1)])], 3000, 1)


def test_a_missing_package_is_named_before_anything_is_read(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pumpkin_solver", None)
    assert main(["check", "no.json", "no.json", "--cross-check", "9"]) != 0
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "pumpkin-solver is not installed: pip install 'allocsolve[cross-check]' brings it" in said


@pytest.mark.usefixtures("pumpkin")
def test_what_cannot_be_cross_checked_is_refused_in_one_line(tmp_path: Path, capsys: Capture) -> None:
    option = ("--cross-check", "9")
    problem, answer, _ = makespan_proof_files(tmp_path, SMALL)
    said = refused(capsys, "check", problem, answer, *option)
    assert f"--cross-check: {answer} is no certificate" in said
    problem, _, bound = makespan_proof_files(tmp_path, replace(SMALL, expand_limit=2))
    said = refused(capsys, "check", problem, bound, *option)
    assert "makespans under the expand limit 2 are not cross-checked" in said
    write_problem(WORKLOAD, problem)
    write_certificate(bound, WORKLOAD, ("wait",), PRICES)
    said = refused(capsys, "check", problem, bound, *option)
    assert "--cross-check: bounds of workload problems are not cross-checked" in said


@needs_checker
def test_another_checker_on_the_path_is_handed_the_clauses(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLOCSOLVE_VERIFIED", str(CHECKER))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    fake = tmp_path / "cake_lpr"
    fake.write_text(
        "#!/bin/sh\n"
        'head -n 1 "$1" | grep -q "^p cnf " && tail -n 1 "$2" | grep -q " 0 .* 0$" || exit 1\n'
        "echo s VERIFIED UNSAT\n",
        encoding="ascii",
    )
    fake.chmod(0o755)
    problem, _, bound = makespan_proof_files(
        tmp_path, replace(klein2011([8, 0], num_apps=(8, 8)), expand_limit=1)
    )
    check = ("check", problem, bound, "--verified")
    assert "\nconfirmed: cake_lpr accepts the refutation, too\n" in run(capsys, *check)
    assert run_json(capsys, *check)["refuted_by"] == "cake_lpr"
    fake.write_text("#!/bin/sh\necho c Checking failed >&2\n", encoding="ascii")
    assert "the verified checker accepts it, cake_lpr does not: c Checking failed" in refused(capsys, *check)
    # Prices are no clauses.
    write_problem(WORKLOAD, problem)
    write_certificate(bound, WORKLOAD, ("wait",), PRICES)
    assert "confirmed" not in run(capsys, *check)
