"""Two thousand broken inputs: each ends in a moment, with a documented exit status and one line, if any."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

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
