"""Bad input: exit status 2, one line on stderr that names place and value, nothing on stdout."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cli_tools import Capture, refused

from allocsolve.cli import main
from allocsolve.instances import klein2011, write_problem


def test_a_fault_with_a_line_break_stays_one_line(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "two\nlines.json"
    write_problem(klein2011(1), path)
    assert "lines.json" in refused(capsys, "check", path, path)


def test_too_little_memory_is_one_line(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("allocsolve.cli.create.write_problem", write)
    argv = ["generate", "klein2011", "--count", "1", "--seed", "1", "--out", str(tmp_path / "d")]
    assert main(argv) == 1
    assert capsys.readouterr().err == "allocsolve: error: there is not enough memory for this\n"


TESTS = Path(__file__).resolve().parents[1]
CASES, SLICE = 2000, 1000
SLICES = range(0, CASES, SLICE)
#: What the process of a slice may hold, with all libraries, in MB.
MEMORY_MB = 500


@pytest.mark.parametrize("first", SLICES)
def test_broken_input_is_refused_in_one_line(first: int, tmp_path: Path) -> None:
    command = [sys.executable, str(TESTS / "fuzz_worker.py"), str(first), str(first + SLICE)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    faulty = [case for case in told if case["faults"]]
    assert not faulty, "\n".join(f"case {case['case']}: {case['argv']}\n{case['faults']}" for case in faulty)
    assert done.returncode == 0, f"after case {told[-1:]}:\n{done.stderr}"
    assert [case["case"] for case in told] == [*range(first, first + SLICE)]
    assert max(case["peak_mb"] for case in told) <= MEMORY_MB
    statuses = {case["status"] for case in told}
    assert {0, 1, 2} <= statuses, "some changes do no harm, and some make an answer wrong"
