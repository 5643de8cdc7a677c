"""Points in time of logs: plain numbers are seconds if they can be; else they are refused with their unit."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import pytest
from cli_tools import Capture, refused, run
from hypothesis import given, strategies as st

from allocsolve.errors import FormatError, InvalidOption
from allocsolve.instances import log_problem, read_problem, read_table_log, recorded_schedule
from allocsolve.instances.formats.logs.times import TIME_UNITS, check_times

if TYPE_CHECKING:
    from pathlib import Path

START = int(datetime(2024, 3, 4, 8, tzinfo=UTC).timestamp())
#: Submission, start and end, in seconds from the first one.
SPANS = ((0, 0, 7200, 3), (600, 7200, 10800, 4), (1200, 10800, 12600, 1), (1800, 10800, 12000, 1))


def log_in(path: Path, unit: str, first: float = START) -> Path:
    second, epoch = TIME_UNITS[unit]

    def text(at: float) -> str:
        number = (first + at) / second + epoch
        return f"{number:.10f}" if unit == "days" else str(round(number))

    rows = [f"{k},{text(a)},{text(b)},{text(c)},{nodes}" for k, (a, b, c, nodes) in enumerate(SPANS)]
    path.write_text("\n".join(["job_id,submit_time,start_time,end_time,num_nodes", *rows]) + "\n")
    return path


def waits(path: Path, unit: str | None) -> list[float]:
    log = read_table_log(path, "sacct", num_nodes=4, time_unit=unit)
    problem, recorded = log_problem(log), recorded_schedule(log)
    seconds: list[float] = np.round(recorded.first_starts - problem.packed.submit, 3).tolist()
    return seconds


@pytest.mark.parametrize("unit", [name for name in TIME_UNITS if name not in {"s", "ns"}])
def test_a_unit_that_is_not_seconds(tmp_path: Path, unit: str) -> None:
    path = log_in(tmp_path / "log.csv", unit)
    with pytest.raises(FormatError, match=f"they begin on 2024-03-04: say --time-unit {unit}"):
        read_table_log(path, "sacct", num_nodes=4)
    assert waits(path, unit) == [0, 6600, 9600, 9000]


def test_seconds_of_unix_and_of_an_origin_of_their_own(tmp_path: Path) -> None:
    for first in (START, 10**6):
        for unit in (None, "s"):
            assert waits(log_in(tmp_path / "log.csv", "s", first), unit) == [0, 6600, 9600, 9000]


def test_second_0_is_a_time_unless_others_are_of_this_century(tmp_path: Path) -> None:
    assert waits(log_in(tmp_path / "log.csv", "s", 0), None) == [0, 6600, 9600, 9000]
    path = log_in(tmp_path / "slurm.csv", "s")
    path.write_text(path.read_text().replace(f"{START + 10800}", "0"))  # two jobs that never started
    assert read_table_log(path, "sacct", num_nodes=4).names == ("0",)


@given(
    st.lists(st.integers(631_152_001, 4_102_444_799), min_size=1),
    st.sampled_from([name for name in TIME_UNITS if name not in {"s", "days"}]),
)
def test_no_plausible_log_passes_in_a_wrong_unit(seconds: list[int], unit: str) -> None:
    times = np.array(seconds, dtype=np.float64)
    check_times(times, "log", None)
    with pytest.raises(FormatError, match=f"--time-unit {unit}"):
        check_times(np.floor(times / TIME_UNITS[unit][0]), "log", None)


def test_numbers_that_are_dates_are_no_seconds() -> None:
    days = np.array([20240304.0, 20240305, 20240229])
    with pytest.raises(FormatError, match="from 20240229 to 20240305, which look like dates without hours"):
        check_times(days, "log", None)
    with pytest.raises(FormatError, match="no unit makes of them times between 1990 and 2100"):
        check_times(np.array([5.0, 1e15]), "log", None)
    check_times(days, "log", "s")
    check_times(np.append(days, 20240399), "log", None)


def test_the_commands(tmp_path: Path, capsys: Capture) -> None:
    path = log_in(tmp_path / "log.csv", "ms")
    for command in (["whatif", path], ["import", "sacct", path, "--out", tmp_path / "w.json"]):
        assert "say --time-unit ms" in refused(capsys, *command, "--nodes", 4)
    out = tmp_path / "w.json"
    assert "4 jobs" in run(capsys, "import", "sacct", path, "--nodes", 4, "--time-unit", "ms", "--out", out)


def test_dates_that_are_not_read(tmp_path: Path) -> None:
    path = log_in(tmp_path / "log.csv", "s")
    path.write_text(path.read_text().replace(str(START), "04.03.2024 08:00"))
    log = read_table_log(path, "sacct", num_nodes=4)
    assert "is no time that is read: Unix seconds, or as 2024-03-04T08:00:00" in log.report.faults[0]
    lines = [line.replace(",17", ",x17") for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines))
    with pytest.raises(InvalidOption, match="none of its jobs can be used"):
        log_problem(read_table_log(path, "sacct", num_nodes=4))


def test_convert_takes_the_unit_that_its_error_names(tmp_path: Path, capsys: Capture) -> None:
    path, problem = log_in(tmp_path / "log.csv", "ms"), tmp_path / "problem.json"
    said = refused(capsys, "convert", path, problem, "--nodes", 4)
    assert "say --time-unit ms" in said
    run(capsys, "convert", path, problem, "--nodes", 4, "--time-unit", "ms")
    assert read_problem(problem) == log_problem(read_table_log(path, "sacct", num_nodes=4, time_unit="ms"))
    said = refused(capsys, "convert", problem, tmp_path / "other.json", "--time-unit", "ms")
    assert "--time-unit is for logs" in said
