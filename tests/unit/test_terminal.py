"""What the terminal gets: no commands of others, no endless lines."""

from __future__ import annotations

import sys
import unicodedata
from typing import TYPE_CHECKING

import pytest
from cli_tools import Capture, refused, run
from hypothesis import given, strategies as st

from allocsolve.cli import main
from allocsolve.cli.output import LENGTH, remark, say, shortened, show_fields, show_lines, show_table
from allocsolve.errors import FormatError
from allocsolve.instances import klein2011, write_problem
from allocsolve.pictures.chart import visible

if TYPE_CHECKING:
    from pathlib import Path

#: Clears the screen, sets the title, rings; turns the line round; looks like another line.
HOSTILE = "a\x1b[2J\x1b]0;title\x07\x9b31m\r\u202eb\u2066\u200f\u2028\x85c"

texts = st.text(st.characters(codec=None, exclude_categories=()), max_size=2 * LENGTH + 99)


def harmless(text: str) -> bool:
    return all(unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in text)


@given(texts)
def test_texts_are_harmless_and_short(text: str) -> None:
    shown = shortened(text)
    assert harmless(shown)
    assert len(shown) <= LENGTH
    assert harmless(visible(text))
    if len(visible(text)) <= LENGTH:
        assert shown == visible(text)


@given(texts)
def test_what_is_harmless_is_shown_as_it_is(text: str) -> None:
    clean = "".join(char for char in text if char.isprintable())
    assert visible(clean) == clean


def test_a_long_text_keeps_its_ends() -> None:
    shown = shortened("problem.json: " + "x" * 5_000_000 + "; did you mean cpsat?")
    assert shown.startswith("problem.json: xxx")
    assert shown.endswith("xxx; did you mean cpsat?")
    assert len(shown) == LENGTH


@pytest.mark.parametrize(
    "show",
    [
        say,
        lambda text: show_fields([(text, text)]),
        lambda text: show_table([""], [[text]], title=text),
        lambda text: show_lines([[(text, "bold")]]),
    ],
    ids=["say", "fields", "table", "lines"],
)
def test_all_that_is_printed_is_harmless(show: object, capsys: Capture) -> None:
    assert callable(show)
    show(HOSTILE)
    out = capsys.readouterr().out
    assert harmless(out.replace("\n", ""))
    assert "a\\x1b[2J" in out
    assert "\\u202eb" in out


def test_remarks_are_one_short_line(capsys: Capture) -> None:
    remark(HOSTILE * 100)
    err = capsys.readouterr().err
    assert err.endswith("\n")
    assert harmless(err[:-1])
    assert len(err) == LENGTH + 1


def test_names_of_files_and_problems_are_shown_harmless(tmp_path: Path, capsys: Capture) -> None:
    name = HOSTILE.replace("/", "")
    path = tmp_path / f"{name}.json"
    write_problem(klein2011(1, num_apps=(2, 2)), path)
    assert harmless(refused(capsys, "check", path, path)[:-1])
    assert harmless(run(capsys, "solve", path, "--solver", "noX").replace("\n", ""))


def test_options_are_shown_harmless(capsys: Capture) -> None:
    for options in (["--solver", HOSTILE], ["--solver", "noX", "--objective", HOSTILE]):
        assert harmless(refused(capsys, "solve", "x", *options)[:-1])
    assert len(refused(capsys, "solve", "x", "--solver", "y" * 100_000)) <= LENGTH + 1


def test_a_report_of_many_faults_names_what_fits(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "problem.json"
    apps = ", ".join(f'{{"steps": [[0, 1]], "{"x" * 40}{idx}": 1}}' for idx in range(50))
    path.write_text(
        f'{{"format": "allocsolve/1", "kind": "evolution", "num_nodes": 1, "applications": [{apps}]}}'
    )
    err = refused(capsys, "solve", path, "--solver", "noX")
    assert len(err) <= LENGTH + 1
    assert " more\n" in err
    assert "applications[0].steps[0][0]: duration 0 is below 1" in err


def test_the_first_fault_is_always_named() -> None:
    error = FormatError("file", ["x" * 1000, "y"])
    assert error.faults == ("x" * 1000, "y")
    assert str(error) == f"file: {'x' * 1000}; and 1 more"
    assert str(FormatError("file", ["a"] * 7)) == "file: a; a; a; a; a; and 2 more"


def test_an_error_of_a_library_is_one_short_line(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loud.py").write_text(
        "from allocsolve.model import EvolutionProblem\n"
        "class Loud:\n"
        "    def __call__(self, problem: EvolutionProblem, budget):\n"
        "        raise RuntimeError('\\x1b[2J' + 'x' * 5_000_000 + '\\n' * 5)\n"
        "    def __repr__(self):\n"
        "        return 'Loud()'\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    path = tmp_path / "problem.json"
    write_problem(klein2011(1, num_apps=(2, 2)), path)
    assert main(["solve", str(path), "--solver", "loud:Loud"]) == 1
    err = capsys.readouterr().err
    assert "loud:Loud failed: RuntimeError: \\x1b[2Jxxx" in err
    assert len(err.splitlines()[-1]) <= LENGTH
    assert harmless(err.replace("\n", ""))
