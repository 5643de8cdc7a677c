"""Notebooks: those of the site, and what is shown in one."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from offenders import all_offenders
from picture_tools import SVG, parsed
from strategies import evolution_problems
from tiers import examples
from wheel_tools import install, run_installed

from allocsolve import EvolutionProblem, EvolutionProfile, PartitionProblem, Torus, plot, solve
from allocsolve.errors import InvalidOption
from allocsolve.instances import klein2011
from allocsolve.model import Result, Status

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.md"))
CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _cells(notebook: Path) -> list[str]:
    return CELL.findall(notebook.read_text(encoding="utf-8"))


def _imported(code: str) -> set[str]:
    nodes = list(ast.walk(ast.parse(code)))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_in_an_empty_folder(
    notebook: Path, wheel: Path, installed: dict[str, str], tmp_path: Path
) -> None:
    """From the wheel alone, or with the extra that it says; it warns of nothing and leaves nothing there."""
    extras = re.findall(r"`pip install 'allocsolve\[(\w+)\]'`", notebook.read_text(encoding="utf-8"))
    if extras:
        installed = install(wheel, tmp_path / "installed", extras)
    empty, temporary = tmp_path / "empty", tmp_path / "temporary"
    empty.mkdir()
    temporary.mkdir()
    script = tmp_path / "cells.py"
    script.write_text("\n".join(_cells(notebook)), encoding="utf-8")
    shell = {**installed, "TMPDIR": str(temporary)}
    done = run_installed(shell, "python", "-P", "-W", "error", str(script), cwd=empty)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(empty.iterdir()) == []


def test_notebooks_are_short_and_need_only_what_the_package_brings() -> None:
    """Each has five to ten cells, names where to go next, is on the index, and can be downloaded."""
    asked = {re.split(r"[<>=\[]", one)[0] for one in PROJECT["dependencies"]}
    allowed = {"allocsolve", *asked, *sys.stdlib_module_names}
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert len(NOTEBOOKS) == 6
    with all_offenders() as offender:
        for notebook in NOTEBOOKS:
            with offender(notebook.name):
                text, cells = notebook.read_text(encoding="utf-8"), _cells(notebook)
                assert 5 <= len(cells) <= 10
                assert len(cells) == text.count("{code-cell}")
                assert "\n## Where to go next\n" in text
                assert f"{{nb-download}}`download this page as a notebook <{notebook.stem}.ipynb>`" in text
                assert f"(notebooks/{notebook.name})" in index
                assert f"\nnotebooks/{notebook.stem}\n" in index
                assert _imported("\n".join(cells)) <= allowed


# --- Notebook -----------------------------------------------------------------------------------------

EVIL = "<img src=x onerror=alert(1)>\u202e"
PROBLEM = EvolutionProblem(4, (EvolutionProfile([(10, 3), (20, 1)]),) * 2, name=EVIL)
PARTITION = PartitionProblem(Torus((4, 4)), np.ones(16, dtype=bool), size=3, name=EVIL)


def _shown_cells(shown: Any) -> list[str]:
    """The texts of the tables that a value shows."""
    root = ET.fromstring(f"<div>{shown._repr_html_()}</div>")  # noqa: S314 - made by the package under test
    assert {node.tag for node in root.iter()} <= {"div", "table", "tr", "td", "th", "bdi", "p"}
    return ["".join(cell.itertext()) for cell in root.iter("td")]


def test_problems_say_what_they_are() -> None:
    for problem, kind, about in (
        (PROBLEM, "evolution", "2 applications, 4 nodes, expand limit inf"),
        (PARTITION, "partition", "3 of 16 free nodes on a 4x4 torus"),
    ):
        cells = _shown_cells(problem)
        assert cells[:6] == ["name", EVIL, "kind", kind, "problem", about]


def test_whoever_imports_a_public_name_sees_tables() -> None:
    code = "from allocsolve import EvolutionProblem; print(EvolutionProblem(4, ())._repr_html_())"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "0 applications, 4 nodes" in done.stdout


def test_results_show_their_answer() -> None:
    result = solve(PROBLEM, "noX")
    cells = _shown_cells(result)
    assert cells[:4] == ["status", str(result.status), "objective", str(result.objective)]
    # The second one needs three of the four nodes.
    assert cells[8:] == ["0", "0", "30", "3", "1", "10", "40", "3"]
    assert _shown_cells(result.answer) == cells[8:]
    result = solve(PARTITION, "gen-alg")
    assert result.answer is not None
    assert ", ".join(map(str, result.answer.nodes.tolist())) in _shown_cells(result)
    assert "no answer" in _shown_cells(Result(Status.UNKNOWN, None, None))


def test_long_tables_are_cut() -> None:
    answer: Any = solve(klein2011(3, num_apps=(40, 40)), "noX").answer
    assert len(_shown_cells(answer)) == 4 * 20
    assert "<p>and 20 more</p>" in answer._repr_html_()


def test_pictures_show_themselves() -> None:
    for problem, solver in ((PROBLEM, "noX"), (PARTITION, "gen-alg")):
        result = solve(problem, solver)
        picture: Any = plot(problem, result)
        assert picture._repr_svg_() == str(picture) == str(plot(problem, result.answer))
        texts = [text.text or "" for text in parsed(picture).iter(f"{SVG}text")]
        assert texts[0] == EVIL[:-1] + "\\u202e"  # the mark that turns letters round is shown, not followed
    with pytest.raises(InvalidOption, match="there is no answer to draw"):
        plot(PROBLEM, Result(Status.UNKNOWN, None, None))
    many = EvolutionProblem(4, (EvolutionProfile([(1, 1)]),) * 800)
    with pytest.raises(InvalidOption, match="800 applications"):
        plot(many, solve(many, "noX"))


@settings(max_examples=examples(20))
@given(evolution_problems())
def test_whatever_is_solved_can_be_shown(problem: EvolutionProblem) -> None:
    result = solve(problem, "infX")
    assert _shown_cells(problem)
    assert len(_shown_cells(result)) == 8 + 4 * min(20, len(problem.applications))
    assert parsed(plot(problem, result)).tag == f"{SVG}svg"
