"""Solvers of third parties on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from cli_tools import Capture, refused, run, run_json, without_compiling
from process_tools import python

from allocsolve.bench import RecordStore
from allocsolve.cli import main
from allocsolve.instances import klein2011, write_problem
from allocsolve.registry import solver_rows

if TYPE_CHECKING:
    from pathlib import Path

    from plugin_tools import Site

SORTED = """
@dataclass(frozen=True)
class Sorted:
    \'\'\'Sort the list.

    Parameters
    ----------
    depth : int
        How deep.
        Or not.
    order
        Of the list.

    Notes
    -----
    None.
    \'\'\'
    depth: int
    order: str = "longest"
    weight: float = 0.5
    objective: tuple[str, ...] = field(default=("makespan",), repr=False)
    secret: int = field(default=1, repr=False)
    def __call__(self, problem: EvolutionProblem, budget: Budget) -> Result:
        return ListScheduling(order=self.order)(problem, budget)

three = Sorted(3)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A small problem."""
    path = tmp_path / "problem.json"
    write_problem(klein2011(1, num_apps=(3, 3)), path)
    return path


#: How the installed program starts, and how the module: they differ in the path that Python gives them, and a
#: study hands its own on to other processes.
CONSOLE_SCRIPT = ["-P", "-c", "from allocsolve.cli import entry; entry()"]
#: Each in a fresh process: what one of them imports, the next one has to find again.
COMMANDS = (
    (CONSOLE_SCRIPT, "solve problem.json --solver acme:greedy"),
    (CONSOLE_SCRIPT, "score problem.json --solvers acme:greedy --baseline noX"),
    (CONSOLE_SCRIPT, "study run studies/study.toml"),
    (["-m", "allocsolve"], "study run studies/module.toml"),
)


def test_modules_in_the_current_directory(third: Site, file: Path) -> None:
    third.module("acme")
    studies = third.folder / "studies"
    studies.mkdir()
    for name in ("study", "module"):
        text = f'suites = ["../{file.name}"]\nsolvers = ["acme:greedy"]\n'
        (studies / f"{name}.toml").write_text(text)
    for program, command in COMMANDS:
        _, said = python(*program, *command.split(), "--json", cwd=third.folder)
        assert without_compiling(said) == "", command
    for name in ("study", "module"):
        (record,) = RecordStore(studies / f"{name}.sqlite")
        assert (record.solver, record.error) == ("acme:greedy", "")


#: Writes to stdout in all ways that there are; C keeps back what it prints until it ends.
CHATTY = """
import ctypes, os, subprocess, sys

def chatty(problem: EvolutionProblem, budget: Budget) -> Result:
    print("from Python")
    os.write(1, b"from a descriptor\\n")
    ctypes.CDLL(None).printf(b"from C\\n")
    subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
    return greedy(problem, budget)
"""
#: After a command, stdout is there for others.
EMBEDDED = """
import ctypes, os, sys
from allocsolve.cli import main
print("before")
status = main(sys.argv[1:])
print("after", flush=True)
os.write(1, b"and after")
sys.exit(status)
"""


@pytest.mark.parametrize("place", ["file", "closed"])
def test_nothing_that_a_solver_writes_is_in_json(place: str, third: Site, file: Path) -> None:
    """And stdout is given back."""
    third.module("acme", CHATTY)
    (third.folder / "embedded.py").write_text(EMBEDDED)
    redirected = "2>&-" if place == "closed" else "2>said"
    words = f"{sys.executable} embedded.py solve {file.name} --solver acme:chatty --json {redirected}"
    shell = ["/bin/sh", "-c", words]
    done = subprocess.run(shell, cwd=third.folder, capture_output=True, text=True, check=True)
    before, document, *rest = done.stdout.splitlines()
    assert [before, *rest] == ["before", "after", "and after"]
    assert json.loads(document)["solver"] == "acme:chatty"
    if place == "file":  # each line once a call, the warm-up's among them
        said = without_compiling((third.folder / "said").read_text())
        assert {*said.splitlines()} == {"from C", "from Python", "from a child", "from a descriptor"}


def test_score_keeps_and_finds_the_records_of_plugins(third: Site, file: Path, capsys: Capture) -> None:
    third.module("acme")
    third.distribution("acme-solvers", longest="acme:greedy")
    out = third.folder / "out"
    argv = ("score", file, "--solvers", "noX,acme:greedy", "--baseline", "longest", "--out", out)
    scores = run_json(capsys, *argv)
    assert [score["solver"] for score in scores["scores"]] == ["noX", "acme:greedy"]
    rows = list(RecordStore(out / "records.sqlite"))
    assert [row.solver_repr for row in rows][1:] == ["acme.greedy"], "two names of one solver, run once"
    again = run_json(capsys, *argv)
    assert again["scores"] == scores["scores"]
    assert list(RecordStore(out / "records.sqlite")) == rows


def test_an_allocator_for_churn(third: Site, capsys: Capture) -> None:
    third.module(
        "acme",
        "def place(problem: PartitionProblem, budget: Budget) -> Result: return Growth()(problem, budget)",
    )
    argv = ["generate", "churn", "--machine", "6x4", "--busy", "0.5", "--size", "3", "--job-nodes", "1-4"]
    argv += ["--num-jobs", "5", "--count", "2", "--seed", "1"]
    run(capsys, *argv, "--out", third.folder / "p", "--allocator", "acme:place")
    assert len(list((third.folder / "p").glob("*.json"))) == 2
    said = refused(capsys, *argv, "--out", third.folder / "q", "--allocator", "acme:greedy")
    assert said.endswith("plug-in 'acme:greedy': it solves evolution problems, not partition problems\n")
    assert not (third.folder / "q").exists()


def test_bad_plugins_are_bad_input(third: Site, file: Path, capsys: Capture) -> None:
    third.module(
        "acme",
        "def f(problem, budget): ...\ndef lacks(problem): ...\n"
        "def leave(problem: EvolutionProblem, budget): raise SystemExit(0)",
    )
    third.distribution("acme-solvers", mine="acme:f", rigid="acme:greedy")
    assert "plug-in 'acme:f': annotate" in refused(capsys, "solve", file, "--solver", "acme:f")
    said = refused(capsys, "score", file, "--solvers", "./acme.py:lacks")
    assert "error: plug-in './acme.py:lacks': acme.lacks lacks the parameter budget: it is called " in said
    assert "plug-in 'mine': annotate" in refused(capsys, "solve", file, "--solver", "mine")
    assert "allocsolve itself and acme-solvers 1.5" in refused(capsys, "solve", file, "--solver", "rigid")
    out = third.folder / "out"
    assert "there is no module 'acne'" in refused(capsys, "score", file, "--solvers", "acne:f", "--out", out)
    said = refused(capsys, "score", file, "--solvers", "noX", "--baseline", "acme:g", "--out", out)
    assert "module 'acme' has no attribute 'g'" in said
    assert not out.exists()
    assert main(["solve", str(file), "--solver", "acme:leave"]) == 1
    said = "allocsolve: error: acme:leave failed: SystemExit: 0; -v shows the traceback\n"
    assert capsys.readouterr().err == said


def test_listed_with_their_distribution(third: Site, capsys: Capture) -> None:
    third.module("acme", "def both(problem: EvolutionProblem | PartitionProblem, budget): ...")
    third.module("broken", "raise RuntimeError('not today')")
    solvers = {"both": "acme:both", "first": "acme:greedy", "longest": "acme:greedy", "noX": "acme:greedy"}
    third.distribution("acme-solvers", **solvers)
    third.distribution("broken-solvers", broken="broken:f", longest="broken:f")
    rows = run_json(capsys, "solvers")["solvers"]
    ours, theirs = rows[: len(solver_rows())], rows[len(solver_rows()) :]
    assert {row["distribution"] for row in ours} == {""}
    assert [(row["name"], row["kind"], row["distribution"]) for row in theirs] == [
        ("both", "evolution", "acme-solvers 1.5"),
        ("both", "partition", "acme-solvers 1.5"),
        ("broken", "-", "broken-solvers 1.5"),
        ("first", "evolution", "acme-solvers 1.5"),
        ("longest", "-", "acme-solvers 1.5 and broken-solvers 1.5"),
        ("noX", "-", "acme-solvers 1.5"),
    ]
    text = run(capsys, "solvers")
    assert "acme-solvers 1.5: acme.both" in text
    assert "acme-solvers 1.5: Place the longest first.\n" in text, "the first line of the docstring"
    assert "unusable, plug-in 'broken': importing broken raised RuntimeError: not today" in text
    assert "unusable, plug-in 'noX': allocsolve itself and acme-solvers 1.5" in text


def test_one_plugin_is_shown_with_its_options(third: Site, capsys: Capture) -> None:
    third.module("acme", SORTED)
    third.distribution("acme-solvers", sorted="acme:Sorted")
    argv = ("solvers", "sorted(depth=3)")
    (page,) = run_json(capsys, *argv)["solvers"]
    told = {"kind": "evolution", "method": "plug-in", "distribution": "acme-solvers 1.5"}
    assert page.items() >= {**told, "summary": "Sort the list."}.items()
    shown = [(option["name"], option["default"], option["value"]) for option in page["options"]]
    assert shown == [("depth", None, "3"), ("order", "longest", "longest"), ("weight", "0.5", "0.5")]
    assert [option["meaning"] for option in page["options"]] == ["How deep. Or not.", "Of the list.", ""]
    text = run(capsys, *argv)
    assert "depth=3 (default: none)" in text.splitlines()
    assert "  How deep. Or not." in text.splitlines()
    assert "acme.greedy" not in run(capsys, "solvers", "acme:greedy")
    assert "It has no options." in run(capsys, "solvers", "acme:greedy")
    third.module("waiting", "def queue(view):\n    'Start some.'")
    assert "\nStart some.\n" in run(capsys, "solvers", "waiting.py:queue")


def test_options_of_plugins(third: Site, file: Path, capsys: Capture) -> None:
    third.module("acme", SORTED)
    third.distribution("acme-solvers", sorted="acme:Sorted")
    found = run_json(capsys, "solve", file, "--solver", "acme:Sorted(weight=0.5, order=largest, depth=3)")
    assert found["solver"] == "acme:Sorted(depth=3, order=largest)"
    assert run_json(capsys, "solve", file, "--solver", "acme:three(depth=3)")["solver"] == "acme:three"
    argv = ("score", file, "--baseline", "noX", "--out", third.folder / "out")
    scored = run_json(capsys, *argv, "--solvers", "sorted(depth=2),acme:three(depth=2)")
    rows = [row for row in RecordStore(third.folder / "out" / "records.sqlite") if row.solver != "noX"]
    assert {row.solver_repr for row in rows} == {"Sorted(depth=2, order='longest', weight=0.5)"}
    # A plug-in is what it is asked for by: a repr may say anything.
    assert [row.code.partition("#")[0] for row in rows] == ["acme:Sorted(depth=2)", "acme:three(depth=2)"]
    names = [score["solver"] for score in scored["scores"]]
    assert names == ["sorted(depth=2)", "acme:three(depth=2)", "noX"]
    options = "(its options: depth, order, weight)"
    for name, reason in (
        ("acme:Sorted", "Sorted() raised TypeError: "),
        ("acme:Sorted(deep=2)", f"unknown option 'deep'; did you mean depth? {options}"),
        ("sorted(depth=x)", f"depth takes a whole number, not 'x' {options}"),
        ("acme:greedy(depth=2)", "unknown option 'depth' (it has no options)"),
    ):
        said = refused(capsys, "solve", file, "--solver", name)
        assert f"plug-in {name!r}: {reason}" in said
        assert said.count("\n") == 1


def test_plugins_are_imported_only_when_asked_for(third: Site, file: Path, capsys: Capture) -> None:
    third.module("acme", "raise RuntimeError('imported')")
    third.distribution("acme-solvers", longest="acme:greedy")
    run(capsys, "solve", file, "--solver", "noX")
    run(capsys, "score", file, "--solvers", "noX", "--baseline", "infX", "--out", third.folder / "out")
    assert "acme" not in sys.modules
    assert "imported" in refused(capsys, "solve", file, "--solver", "longest")


BROKEN = """
def deeper():
    raise RuntimeError("my own bug")

def broken(problem: EvolutionProblem, budget: Budget) -> Result:
    if problem.name:
        deeper()
    return greedy(problem, budget)
"""


def test_the_author_of_a_solver_sees_where_it_raised(third: Site, file: Path, capsys: Capture) -> None:
    third.module("acme", BROKEN)
    out = third.folder / "out"
    argv = ["score", str(file), "--solvers", "acme:broken", "--baseline", "noX", "--out", str(out)]
    assert main(argv) == 1
    shown = capsys.readouterr().out
    assert f"Tracebacks are kept in {out / 'records.sqlite'}; -v shows them." in shown
    assert "in deeper" not in shown
    assert main([*argv, "-v"]) == 1
    shown = capsys.readouterr().out
    assert ", in broken\n" in shown
    assert ", in deeper\n" in shown
    assert "call_solver" not in shown, "what is ours is left out"
    assert "Tracebacks are kept" not in shown
    assert main([*argv, "--json"]) == 1
    (failure,) = json.loads(capsys.readouterr().out)["failures"]
    assert failure["error"] == "RuntimeError: my own bug"
    assert ", in deeper\n" in failure["traceback"]
    assert main(["solve", str(file), "--solver", "acme:broken", "-v"]) == 1
    said = capsys.readouterr().err
    assert ", in deeper\n" in said
    assert "\\n" not in said, "line by line"
    assert said.endswith("allocsolve: error: acme:broken failed: RuntimeError: my own bug\n")
