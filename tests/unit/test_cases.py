"""Inputs that users brought and that once did not work, each with the right answer, as a user runs it.

They lie in the folder ``cases`` beside that of the real logs, ``ALLOCSOLVE_TRACES``.
"""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from cli_tools import refused, run, run_json

from allocsolve.instances import digest, read_problem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import TypeAlias

    #: From the name of a case to its place.
    Case: TypeAlias = Callable[[str], Path]

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def case(traces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    """Return where a case is; commands write into a folder of their own."""
    cases = traces.parent / "cases"
    monkeypatch.chdir(tmp_path)

    def place(name: str) -> Path:
        if not (cases / name).exists():
            pytest.skip(f"no {name} among the cases: {cases} has none")
        return cases / name

    return place


def test_policy_object(case: Case) -> None:
    done = subprocess.run(
        [sys.executable, "-B", case("policy_object.py")], capture_output=True, text=True, check=True
    )
    results = [line.partition(" -> ")[2] for line in done.stdout.splitlines()]
    assert results == ["[0.0, 100.0, 110.0]", "[  0.  125.  137.5]", "439.0", "None"] * 2


def test_profile_defaults(case: Case, capsys: Capture) -> None:
    told = run_json(capsys, "solve", case("profile_defaults.json"), "--solver", "evolv-easyback")
    assert told["status"] == "feasible"
    read = [read_problem(case(name)) for name in ("profile_defaults.json", "both_want_more.json")]
    assert digest(read[0]) == digest(read[1])


@pytest.mark.parametrize("solver", ["evolv-easyback", "profile-fit", "prices"])
def test_both_want_more(case: Case, capsys: Capture, solver: str) -> None:
    asked = ("--solver", solver, "--objective", "makespan", "--seconds", "5")
    assert run_json(capsys, "solve", case("both_want_more.json"), *asked)["objective"] == 40


def test_both_want_more_and_nobody_takes_care(case: Case, capsys: Capture) -> None:
    said = refused(capsys, "solve", case("both_want_more.json"), "--solver", "evolv-easyback(safe=False)")
    assert "'P' holds 2 and waits for 1 more, of 'Q'; 'Q' holds 2 and waits for 1 more, of 'P'" in said


def test_right(case: Case, capsys: Capture) -> None:
    schedule = case("elastic_stall.json"), case("right.json")
    assert not run_json(capsys, "check", *schedule, status=1)["feasible"]
    told = run_json(capsys, "check", *schedule, "--tolerance", ".001")
    assert (told["feasible"], told["tolerance_s"]) == (True, 0.001)


def test_milliseconds(case: Case, capsys: Capture) -> None:
    asked = ("whatif", case("milliseconds.csv"), "--nodes", "4", "--seconds", "2")
    assert "say --time-unit ms" in refused(capsys, *asked)
    out = run(capsys, *asked, "--time-unit", "ms")
    mean = (0 + 1.8333 + 2.6667 + 2.5) / 4  # hours
    assert re.search(rf"as it was +{mean:.1f} h .* 2.7 h", out)


def test_dmy(case: Case, capsys: Capture) -> None:
    said = refused(capsys, "whatif", case("dmy.csv"), "--nodes", "4")
    assert "'04.03.2024 08:00' is no time" in said
    assert "2024-03-04T08:00:00" in said
