"""What all commands have in common: help, --json, -v, completion, progress, being a process; and `warm`."""

from __future__ import annotations

import argparse
import importlib.util
import io
import itertools
import json
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli_tools import Capture, refused, run, run_json
from json_tools import PROBLEM
from offenders import all_offenders
from process_tools import python
from squeue_files import as_text, good
from whatif_logs import sacct

import allocsolve
from allocsolve.cli import main, output, solvers as solver_commands
from allocsolve.cli.examples import EXAMPLES
from allocsolve.cli.old_names import translated
from allocsolve.cli.parser import GROUPS as GROUPS_OF_COMMANDS, make_parser
from allocsolve.errors import SolverUnavailable
from allocsolve.families import family_named
from allocsolve.instances import write_problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import Problem


def _parsers(parser: argparse.ArgumentParser, *names: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield all parsers with the words that lead to them."""
    yield " ".join(names), parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from _parsers(below, *names, name)


def _is_group(parser: argparse.ArgumentParser) -> bool:
    return any(isinstance(action, argparse._SubParsersAction) for action in parser._actions)


PARSERS = dict(_parsers(make_parser()))
GROUPS = [words for words, parser in PARSERS.items() if _is_group(parser)]
COMMANDS = [words for words in PARSERS if words not in GROUPS]


def test_without_a_command_the_help_is_shown(capsys: Capture) -> None:
    assert {"", "generate", "study", "library", "reproduce"} <= {*GROUPS}
    for words in GROUPS:
        assert run(capsys, *words.split()) == PARSERS[words].format_help()


def test_every_command_takes_json_and_verbose() -> None:
    assert {"solve", "warm", "study run", "generate klein2011"} <= {*COMMANDS}
    with all_offenders() as offender:
        for words in COMMANDS:
            with offender(words):
                options = {name for action in PARSERS[words]._actions for name in action.option_strings}
                assert {"--json", "-v", "--verbose"} <= options
    long = {name for parser in PARSERS.values() for name in parser._option_string_actions if name[:2] == "--"}
    assert len(long - {"--policy-seconds"}) <= 95, "of which all are shown"


def test_what_is_generated_is_listed(tmp_path: Path, capsys: Capture) -> None:
    drawn = ("--count", 2, "--seed", 1, "--out", tmp_path / "drawn")
    listed = run_json(capsys, "generate", "klein2011", *drawn)
    assert listed["folder"] == str(tmp_path / "drawn")
    assert listed["problems"] == sorted(map(str, (tmp_path / "drawn").iterdir()))


@pytest.mark.usefixtures("in_process", "warmed")
def test_the_examples_of_all_pages_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """From an empty folder, with a log, a queue, a network, a study and a policy."""
    pages = {words for words in PARSERS if not words.startswith("reproduce")}
    assert {words for words in pages if "\nexamples:\n  allocsolve " in PARSERS[words].format_help()} == pages
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("allocsolve.kernels.clear_kernels", lambda: 0)
    shutil.copy(Path(__file__).parents[2] / "examples" / "evolved_policy.py", "mine.py")
    jobs = (f"{i} {10 * i} {5 * i} {100 + i} 4 -1 -1 4 500 -1 1 {i % 3} -1 -1 -1 -1 -1 -1" for i in range(80))
    for name, text in {
        "jobs.txt": sacct(),
        "cluster.swf": "\n".join(["; MaxNodes: 64", *jobs]),
        "queue.txt": as_text(good()),
        "topology.conf": "SwitchName=a Nodes=n[0-3]\nSwitchName=b Nodes=n[4-7]\nSwitchName=r Switches=a,b\n",
        "free.txt": "n[0-6]\n",
        "study.toml": 'suites = ["problems"]\nsolvers = ["noX", "2X"]\n[[budgets]]\nseconds = 1\n',
    }.items():
        Path(name).write_text(text, "utf-8")
    for line in EXAMPLES:
        assert main(shlex.split(line)) == 0, f"{line}: {capsys.readouterr().err}"


def test_old_names_go_on_and_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    for line, *old in (
        (
            "generate klein2011 --num-nodes 64 --nodes 1-48 --apps 3 --out p",
            "--num-nodes",
            "--nodes",
            "--apps",
        ),
        ("generate occupancy --shape 4x4 --torus --busy 0.4 --size 4 --out m", "--shape", "--torus"),
        ("solve --solver mc1x1 m/occupancy-s0-0000.json --hosts hosts.txt", "--hosts"),
        ("generate lublin1999 --jobs 9 --num-nodes 32 --out w", "--num-nodes", "--jobs"),
        (
            "solve w/lublin1999-s0-0000.json --solver fcfs --out s.json --perfetto=t.json --window 0:9",
            "--perfetto",
        ),
        ("conformance w/lublin1999-s0-0000.json s.json --claims fcfs", "conformance"),
        ("check w/lublin1999-s0-0000.json s.json --swf s.swf", "--swf"),
        ("import swf s.swf --nodes 32 --cool-down 5 --warm-up 3 --out i.json", "import swf", "--cool-down"),
        ("solve p/klein2011-s0-0000.json --solver 2X --set expand_limit=2", "--set"),
    ):
        status, err = main(line.split()), capsys.readouterr().err
        assert (status, err.count("; the old name goes with version 0.4\n")) == (0, len(old)), err
        assert all(f"{name} is now " in err for name in old)
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"p", "m", "w", "hosts.txt", "s.json", "t.json", "s.swf", "i.json"}
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    refusal = refused(capsys, "score", "x", "--solver", "noX")
    assert refusal.startswith("allocsolve: error: unknown option '--solver'; did you mean --solvers ")


def test_old_questions_of_whatif_are_policies() -> None:
    usual = "fcfs,first-fit,easy,conservative"
    made = translated(
        ["whatif", "x.swf", "--order", "submit,smallest", "--estimates=given,actual", "--by", "user"]
    )
    orders, exact = f"{usual},easy(order=smallest)", f"{usual},easy(estimate=actual)"
    assert made.words == ["whatif", "x.swf", "--policy", orders, "--policy", exact, "--by", "user"]
    assert made.lines[0] == f"--order is now --policy {orders}; the old name goes with version 0.4"
    assert translated(["whatif", "--limits", "given"]).words == ["whatif", "--policy", usual]


@pytest.fixture
def warmed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what is made ready instead of making it ready."""
    made: list[str] = []

    def make_ready(family: object, name: str) -> None:
        del family
        made.append(name)
        if name == "milp":
            msg = "milp needs pulp"
            raise SolverUnavailable(msg)

    monkeypatch.setattr(solver_commands, "make_ready", make_ready)
    monkeypatch.setattr(solver_commands, "cpu_count", lambda: 1)  # in this process
    return made


def test_all_solvers_are_warmed(warmed: list[str], capsys: Capture) -> None:
    told = run_json(capsys, "warm")
    assert {"noX", "cpsat", "manhattan-median", "branch-and-bound", "milp"} <= {*warmed}
    assert told["ready"] == len(warmed) - warmed.count("milp")
    assert told["unavailable"] == {"milp": "milp needs pulp"}


def test_named_solvers_are_warmed_for_each_of_their_families(warmed: list[str], capsys: Capture) -> None:
    told = run(capsys, "warm", "rigid,milp")
    assert warmed == ["rigid", "milp", "milp", "milp"]
    assert told.startswith("milp needs pulp\n1 solver ready: 0 kernels compiled, ")


def test_solvers_are_warmed_side_by_side(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver_commands, "cpu_count", lambda: 2)
    told = run_json(capsys, "warm", "rigid,fcfs")
    assert (told["ready"], told["unavailable"]) == (2, {})
    with solver_commands._side_by_side([("workload", "nobody")]) as made:
        ((name, _, reason),) = made
    assert (name, reason[:21]) == ("nobody", "nobody: UnknownName: ")


def test_compiled_kernels_are_cleared(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLOCSOLVE_KERNELS", str(tmp_path))
    for name in ("one", "another"):
        (tmp_path / f"allocsolve.{name}-0123.kernel").touch()
    (tmp_path / "notes.txt").touch()
    assert run(capsys, "warm", "--clear") == "2 compiled kernels removed\n"
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]
    assert run_json(capsys, "warm", "--clear")["removed"] == 0


def test_a_warmed_solver_is_ready(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    made_ready: list[Problem] = []
    monkeypatch.setattr("allocsolve.registry.ready", lambda _, problem: made_ready.append(problem))
    run(capsys, "warm", "rigid")
    sizes = [len(problem.applications) for problem in made_ready]  # type: ignore[attr-defined]
    assert sizes[0] < 100 < sizes[1], "a small problem and a large one"
    examples = [len(problem.applications) for problem in family_named("evolution").examples()]
    assert sizes[2:] == examples, "all sorts of problems"


@pytest.mark.skipif(importlib.util.find_spec("shtab") is None, reason="shtab is not installed")
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_commands_options_and_files(tmp_path: Path) -> None:
    script = tmp_path / "allocsolve.bash"
    made, _ = python("-m", "shtab", "--shell", "bash", "allocsolve.cli.parser.make_parser")
    script.write_text(made, "utf-8")
    write_problem(PROBLEM, tmp_path / "problem.json")
    ask = 'source {}; COMP_WORDS=({}); COMP_CWORD={}; _shtab_allocsolve; echo "${{COMPREPLY[*]}}"'

    def completed(*words: str) -> list[str]:
        line = ask.format(script, " ".join(words), len(words) - 1)
        done = subprocess.run(["bash", "-c", line], check=True, capture_output=True, text=True, cwd=tmp_path)  # noqa: S607 - the bash of whoever runs it
        return done.stdout.split()

    assert completed("allocsolve", "so") == ["solve", "solvers"]
    assert completed("allocsolve", "solve", "--so") == ["--solver"]
    for words in (("prob",), ("--certificate", "prob")):
        assert completed("allocsolve", "solve", *words) == ["problem.json"]
    assert completed("allocsolve", "study", "r") == ["run", "report"]


# --- The program as a process -------------------------------------------------------------------------


def start(*argv: str, stdout: int = subprocess.PIPE) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", "-m", "allocsolve", *argv]
    return subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, text=True)


def test_module_runs_and_help_names_every_command(capsys: Capture) -> None:
    out, err = start("--help").communicate()
    assert err == ""
    assert (len(GROUPS_OF_COMMANDS), sum(map(len, GROUPS_OF_COMMANDS.values()))) == (5, 16)
    for command in itertools.chain.from_iterable(GROUPS_OF_COMMANDS.values()):
        assert f"\n    {command} " in out
    for command in ("generate", "solve", "import", "library", "reproduce"):
        assert main(["help", command]) == 0
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
    assert python("-c", code, heavy, for_help)[0].splitlines()[-1] == "[]"


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
        tell.announce.follow(
            "compiling kernels: run, 12 of 54 functions; the first call of a solver takes a while"
        )
        wait_until_shown(screen, r"compiling kernels: run, 12 of 54 functions.*12/54")
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


def test_no_progress_in_a_pipe(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "DELAY_S", 0.01)
    with output.time_bar("solving", 3), output.count_bar("scoring") as tell:
        tell(1, 3, "noX on klein")
        time.sleep(0.05)
    assert capsys.readouterr().err == ""
