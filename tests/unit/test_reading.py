"""Input that is endless, empty, huge or nested: one line, little memory, no waiting."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import Capture, refused, run, run_json
from json_tools import MINIMAL, PROBLEM, SOLUTION, saved

from allocsolve.errors import FormatError
from allocsolve.instances import read_problem, read_swf_log
from allocsolve.instances.formats import files
from allocsolve.instances.formats.logs import lines as log_lines, swf as log_swf

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_PATIENCE_S", 0.1)


def stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def commands(path: Path | str, folder: Path) -> list[list[object]]:
    """Every command that reads files, with this one."""
    good = saved(folder, MINIMAL)
    return [
        ["solve", path, "--solver", "noX"],
        ["check", path, good],
        ["check", good, path],
        ["score", path, "--solvers", "noX"],
        ["study", "run", path, "--out", folder / "s.sqlite"],
        ["gate", "--baseline", path, "--suite", "tiny"],
        ["import", "--format", "swf", path, "--out", folder / "o.json"],
    ]


def test_a_pipe_into_which_nobody_writes_is_empty(tmp_path: Path, capsys: Capture) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for argv in commands(pipe, tmp_path):
        assert f"{pipe}: " in refused(capsys, *argv)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no endless device")
def test_an_endless_device_is_left_at_a_bound(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 2**20)
    monkeypatch.setattr(log_lines, "_TOTAL", 2**20)
    for argv in commands("/dev/zero", tmp_path):
        bound = 4 if argv[0] == "study" else 1
        assert f"/dev/zero: is larger than {bound} MiB" in refused(capsys, *argv)


def test_a_problem_from_stdin(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, solution = json.dumps(MINIMAL).encode(), saved(tmp_path, SOLUTION)
    stdin(monkeypatch, problem)
    assert run(capsys, "check", "-", solution).startswith("feasible")
    stdin(monkeypatch, problem)
    best = tmp_path / "best.json"
    out = run(capsys, "solve", "-", "--solver", "noX", "--expand-limit", "1", "--out", best)
    assert out.startswith("problem   stdin (2 applications, ")
    stdin(monkeypatch, problem)
    assert run_json(capsys, "check", "-", best)["feasible"]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "stdin: is empty\n"),
        (b" \n", "stdin: is empty\n"),
        (b"[" * 2**21, "stdin: is larger than 1 MiB\n"),
        (b"{}", "stdin: format: missing\n"),
        (b'{\n"a": \xff}', "stdin: line 2: byte 0xff is not UTF-8\n"),
    ],
)
def test_what_is_wrong_with_stdin_is_one_line(
    content: bytes, fault: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 2**20)
    for argv in (["solve", "-", "--solver", "noX"], ["check", "-", tmp_path / "s.json"]):
        stdin(monkeypatch, content)
        assert refused(capsys, *argv) == f"allocsolve: error: {fault}"


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_nestings_end_at_100_levels(tmp_path: Path) -> None:
    assert read_problem(saved(tmp_path, {**MINIMAL, "meta": {"deep": nested(98)}})).meta["deep"] == nested(98)
    for depth in (99, 900):
        path = saved(tmp_path, {**MINIMAL, "meta": {"deep": nested(depth)}})
        with pytest.raises(FormatError) as caught:
            read_problem(path)
        assert caught.value.faults == ("meta: lists and objects are nested deeper than 100",)


@pytest.mark.parametrize("digits", [17, 308, 309, 400, 5000])
@pytest.mark.parametrize("sign", ["", "-"])
def test_long_numbers_of_a_problem_are_named(digits: int, sign: str, tmp_path: Path) -> None:
    number = sign + "9" * digits
    for field in ("num_nodes", "expand_limit"):
        text = json.dumps({**MINIMAL, field: "X"}).replace('"X"', number)
        with pytest.raises(FormatError, match=f"{field}: "):
            read_problem(saved(tmp_path, text))


SMALL = 'suites = ["tiny"]\nsolvers = ["noX"]\n'


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a = " + "[" * 900 + "]" * 900, "nested"),
        ("a = " + "[" * 100_000, "nested"),
        ("a = " + "[" * 120 + "]" * 120, "nested deeper than 100"),
        (".".join("a" * 120) + " = 1", "nested deeper than 100"),
        (".".join("a" * 100_000) + " = 1", "line 1: more than 1000 points"),
        (SMALL + "memory_mb = " + "9" * 400, "memory_mb: an integer of more than 64 bits"),
        (SMALL + "memory_mb = " + "9" * 5000, "4300"),
        (SMALL + "memory_mb = 0x" + "f" * 5000, "memory_mb: an integer of more than 64 bits"),
        (SMALL + "seeds = [" + "9" * 400 + "]", "seeds[0]: an integer of more than 64 bits"),
        (SMALL + "[[budgets]]\nseconds = " + "9" * 400, "budgets[0].seconds: an integer of more than 64"),
        (SMALL + "[set]\nexpand_limit = " + "9" * 400, "set.expand_limit: an integer of more than 64 bits"),
        (SMALL + "[set]\nexpand_limit = 1e308", "set.expand_limit: 1e+308 is beyond 2^53"),
        ('suites = ["a\\u0000.json"]\nsolvers = ["noX"]', "null"),
        (SMALL + "a = 1979-05-27T07:32:00Z", "a: 1979-05-27 07:32:00+00:00 is a date or a time of day"),
    ],
)
def test_what_toml_may_hold_besides(text: str, fault: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "study.toml"
    path.write_text(text)
    assert fault in refused(capsys, "study", "run", path)


def job(number: object) -> str:
    return f"{number} 0 0 60 4 -1 -1 4 3600 -1 1 1 1 -1 -1 -1 -1 -1\n"


HEADER = "; MaxProcs: 100\n"


def log(folder: Path, text: str) -> Path:
    path = folder / "log.swf"
    path.write_text(text)
    return path


@pytest.mark.parametrize("zeros", [1, 30, 400, 5000])
def test_numbers_of_a_log_may_be_long(zeros: int, tmp_path: Path) -> None:
    read = read_swf_log(log(tmp_path, HEADER + job("0" * zeros + "7") + job("7" + "0" * (zeros + 20))))
    assert read.names == ("7",)
    (fault,) = read.report.faults
    assert "is beyond 2^53" in fault


def test_a_line_without_end_is_one_faulty_line(tmp_path: Path) -> None:
    endless = "1 " * 100_000 + "\n"
    read = read_swf_log(
        log(tmp_path, HEADER + job(1) + endless + " " * 30_000 + "x\n" + job(2) + ";" * 30_000)
    )
    assert read.names == ("1", "2")
    assert read.report.faults == ("line 3: 10000 characters or more", "line 4: 10000 characters or more")


def test_of_faulty_lines_a_thousand_are_named_and_all_counted(tmp_path: Path) -> None:
    report = read_swf_log(log(tmp_path, HEADER + "1\n" * 1500)).report
    assert (report.dropped["faulty"], report.job_lines, len(report.faults)) == (1500, 1500, 1000)
    assert report.counts()["kept"] == 0


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("1" * 2**21, "is larger than 1 MiB unpacked"),
        (HEADER + job(1) + job(2) + job(3), "has more than 2 jobs: cut it before"),
    ],
)
@pytest.mark.parametrize("name", ["log.swf", "log.swf.gz"])
def test_logs_end_somewhere(
    name: str, content: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_lines, "_TOTAL", 2**20)
    monkeypatch.setattr(log_swf, "MAX_JOBS", 2)
    path = tmp_path / name
    path.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    with pytest.raises(FormatError) as caught:
        read_swf_log(path)
    assert caught.value.faults == (fault,)


@pytest.mark.parametrize(
    "argv", [["export", "PIPE", "--out", "t.csv"], ["verify", "PIPE"], ["merge", "m", "PIPE"]]
)
def test_records_are_no_pipe(
    argv: list[str], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("PIPE")
    assert "PIPE: is a device or a pipe, not a file" in refused(capsys, "study", *argv)


def test_a_small_archive_of_an_endless_line_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "log.swf.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(520):
            file.write(b"1" * 2**20)
    assert path.stat().st_size < 2**20
    code = (
        "import sys\n"
        "from memory_tools import peak_mb\n"
        "from allocsolve.cli import main\n"
        "print(main(sys.argv[1:]), peak_mb())\n"
    )
    argv = ["import", "--format", "swf", str(path), "--out", str(tmp_path / "o.json")]
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", code, *argv], capture_output=True, text=True, check=True, env=where
    )
    status, peak = done.stdout.split()
    assert status == "2"
    assert done.stderr == f"allocsolve: error: {path}: is larger than 512 MiB unpacked\n"
    assert float(peak) < 500


@contextlib.contextmanager
def written_to(pipe: Path, parts: list[bytes]) -> Iterator[None]:
    """Make a pipe into which somebody writes part by part, each later than anybody waits for a writer."""
    os.mkfifo(pipe)

    def write() -> None:
        with pipe.open("wb", buffering=0) as file:
            for part in parts:
                file.write(part)
                time.sleep(0.3)

    writer = threading.Thread(target=write)
    writer.start()
    yield
    writer.join()


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    text = json.dumps(MINIMAL).encode()
    for number, parts in enumerate(([text], [text[:9], text[9:30], text[30:]])):
        with written_to(tmp_path / f"pipe{number}", parts):
            assert read_problem(tmp_path / f"pipe{number}") == PROBLEM
    path = log(tmp_path, HEADER + job(1))
    with written_to(tmp_path / "log", [path.read_bytes()]):
        assert read_swf_log(tmp_path / "log").sha256 == read_swf_log(path).sha256
