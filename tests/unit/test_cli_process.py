"""The program as a process: entry point, imports, pipes, and the progress bars of a terminal."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import allocsolve
from allocsolve.cli import main, output


def start(*argv: str, stdout: int = subprocess.PIPE) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", "-m", "allocsolve", *argv]
    return subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, text=True)


COMMANDS = ("generate", "solve", "check", "solvers", "import", "score", "library", "reproduce")


def test_module_runs_and_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = start("--help").communicate()
    assert err == ""
    for command in COMMANDS:
        assert f"\n    {command} " in out
        assert main([command, "--help"]) == 0
        assert f"usage: allocsolve {command}" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"allocsolve {allocsolve.__version__}\n"


def test_command_line_is_light() -> None:
    code = """
import sys
from allocsolve.cli import main
main(["--help"])
of_help = {*sys.modules}
main(["solve", "x", "--solver", "nox"])
main(["solvers"])
light, lighter = (set(names.split(",")) for names in sys.argv[1:])
print(sorted((light & {*sys.modules}) | (lighter & of_help)))
"""
    heavy = "ortools,pulp,numba,scipy,pandas,matplotlib"
    for_help = "numpy,urllib.request,http.client,ctypes"
    done = subprocess.run(
        [sys.executable, "-c", code, heavy, for_help], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_reader_that_goes_away_is_no_error() -> None:
    process = start("solvers")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.wait(timeout=60) == 141
    assert process.stderr.read() == ""
    process.stderr.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_full_disk_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        process = start("solvers", "--json", stdout=full.fileno())
        _, err = process.communicate()
    assert process.returncode == 2
    assert err == "allocsolve: error: output: No space left on device\n"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch, *, delay: float = 0.01) -> _Terminal:
    """Make stderr a terminal for the rest of the test, on which progress shows after `delay`."""
    screen = _Terminal()
    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(output, "DELAY_S", delay)
    return screen


def wait_until_shown(screen: _Terminal, text: str) -> None:
    """Wait for what a thread writes, which may take a while on a busy machine."""
    end = time.monotonic() + 60
    while not re.search(text, screen.getvalue()):
        assert time.monotonic() < end, screen.getvalue()
        time.sleep(0.01)


def test_progress_counts_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = on_terminal(monkeypatch)
    with output.count_bar("scoring") as tell:
        tell(1, 30, "nothing yet")
        for done in range(2, 6):
            time.sleep(0.1)
            tell(done, 30, "noX on [a] file")
        wait_until_shown(screen, r"noX on \[a\] file.* 5/30")
    rates = [float(rate) for rate in re.findall(r"([\d.]+)/s", screen.getvalue())]
    assert rates, "how fast it goes"
    assert max(rates) < 20, "what was done before does not count"


@pytest.mark.parametrize(("seconds", "text"), [(30.0, r"\d of at most 30 s"), (None, r"\d s")])
def test_progress_shows_time_on_a_terminal(
    seconds: float | None, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = on_terminal(monkeypatch)
    with output.time_bar("cpsat on [a] file", seconds):
        wait_until_shown(screen, rf"cpsat on \[a\] file.* {text}")


def test_short_work_shows_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = on_terminal(monkeypatch, delay=60)
    with output.count_bar("scoring") as tell:
        tell(1, 3, "noX on klein")
    assert screen.getvalue() == ""


def test_no_progress_in_a_pipe(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "DELAY_S", 0.01)
    with output.time_bar("solving", 3), output.count_bar("scoring") as tell:
        tell(1, 3, "noX on klein")
        time.sleep(0.05)
    assert capsys.readouterr().err == ""
