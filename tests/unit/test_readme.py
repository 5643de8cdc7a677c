"""The first screen of the README: its three trails, followed from an empty folder, and its picture."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from console_tools import matches
from readme_tools import ROOT, trails

if TYPE_CHECKING:
    from pathlib import Path

TRAILS = trails()


def test_each_of_the_three_readers_has_a_trail() -> None:
    assert set(TRAILS) == {"heuristic", "simulator", "CI"}
    before, _, rest = (ROOT / "README.md").read_text(encoding="utf-8").partition("**You ")
    assert len(before.splitlines()) <= 20, "they are on the first screen"
    assert rest.index("**You keep") < rest.index("\n## ")


def test_it_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize("reader", TRAILS)
def test_a_trail_can_be_pasted_in_an_empty_folder(
    reader: str, installed: dict[str, str], tmp_path: Path
) -> None:
    trail = TRAILS[reader]
    done = subprocess.run(
        ["bash", "-euo", "pipefail"],  # noqa: S607 - the bash of whoever runs it
        input=trail.commands,
        cwd=tmp_path,
        env=installed,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert matches(trail.shown, done.stdout), done.stdout


def test_the_picture_says_what_a_run_finds() -> None:
    """Its title is that of a new run; where the applications lie may differ, for there are many optima."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (picture,) = re.findall(r"^!\[[^\]]+\]\((docs/_static/[\w-]+\.svg)\)$", text, re.MULTILINE)
    spec = importlib.util.spec_from_file_location("first_picture", ROOT / "docs" / "first_picture.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    drawn, shown = str(module.draw()), (ROOT / picture).read_text(encoding="utf-8")
    assert ROOT / picture == module.OUT
    title = re.compile(r"<title>([^<]*)</title>")
    assert title.findall(shown)[0] == title.findall(drawn)[0]
    gap = re.search(r"(\d+) ?% above the optimum", shown)
    assert gap is not None
    assert f"needs {gap[1]} % more time than necessary" in text.replace("\n", " ")
