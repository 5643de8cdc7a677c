"""The example of a simulator: conservative backfilling against planning by the second."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLE: dict[str, Any] = runpy.run_path(
    str(Path(__file__).resolve().parents[2] / "examples" / "backfilling.py"), run_name="example"
)
NODES = 4
times = st.integers(1, 9)
jobs = st.lists(st.tuples(st.integers(0, 12), times, times, st.integers(1, NODES)), min_size=1, max_size=8)


def _planned(rows: Sequence[tuple[int, int, int, int]]) -> list[int]:
    """Starts of (submit, run, asked, nodes), by looking at every second."""
    starts: dict[int, int] = {}
    plans: dict[int, int] = {}
    now = 0
    while len(starts) < len(rows):
        ended = {idx for idx, start in starts.items() if start + rows[idx][1] <= now}
        running = [(start, start + rows[idx][2], rows[idx][3]) for idx, start in starts.items()]
        held = [window for idx, window in zip(starts, running, strict=True) if idx not in ended]
        early = any(starts[idx] + rows[idx][1] == now < starts[idx] + rows[idx][2] for idx in ended)
        arrived = [idx for idx, row in enumerate(rows) if row[0] == now]
        for idx in [*(list(plans) if early else []), *arrived]:
            others = [(plans[j], plans[j] + rows[j][2], rows[j][3]) for j in plans if j != idx]
            plans[idx] = _earliest(now, rows[idx], held + others)
        for idx in [idx for idx, start in plans.items() if start == now]:
            starts[idx] = plans.pop(idx)
        now += 1
    return [starts[idx] for idx in range(len(rows))]


def _earliest(now: int, row: tuple[int, int, int, int], held: list[tuple[int, int, int]]) -> int:
    _, _, asked, nodes = row
    while any(
        sum(n for begin, end, n in held if begin <= second < end) + nodes > NODES
        for second in range(now, now + asked)
    ):
        now += 1
    return now


@given(jobs)
def test_jobs_start_when_planning_by_the_second_says(drawn: list[tuple[int, int, int, int]]) -> None:
    rows = sorted((submit, run, max(run, asked), nodes) for submit, run, asked, nodes in drawn)
    starts, _ = EXAMPLE["simulate"](NODES, [EXAMPLE["Job"](*row) for row in rows])
    assert starts == _planned(rows)


def test_random_jobs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ALLOCSOLVE_TRACES", raising=False)
    assert EXAMPLE["main"](["--jobs", "80"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("random jobs: 80 jobs, 128 nodes, ")
    assert out.endswith("violations: 0\n")


def test_a_real_log(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = traces / EXAMPLE["LOG"]
    if not path.is_file():
        pytest.skip(f"no {path.name} among the real logs")
    assert EXAMPLE["main"]([str(path), "--jobs", "1000"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{path.name}: 1000 jobs, 100 nodes, ")
    assert out.endswith("violations: 0\n")


def test_what_cannot_be_read_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["none.swf"], "none.swf: cannot be read"),
        (["--jobs", "0"], "--jobs 0 is below"),
    ):
        with pytest.raises(SystemExit) as stop:
            EXAMPLE["main"](arguments)
        assert stop.value.code == 2
        assert message in capsys.readouterr().err
