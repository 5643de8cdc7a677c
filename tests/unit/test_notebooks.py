"""The notebooks of the site: their code runs as plain scripts, in an empty folder, from the package alone."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from offenders import all_offenders
from wheel_tools import install, run_installed

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
