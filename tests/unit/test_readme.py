"""The first screen of the README: its three trails, followed from an empty folder, and its picture."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from console_tools import matches
from readme_tools import ROOT, trails

TRAILS = trails()


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment of somebody who has installed the package: the wheel, and nothing of the source.

    Where no package index can be reached, no wheel can be built: then the package is that of these tests.
    """
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--target", str(folder / "lib"), str(ROOT)], check=False, capture_output=True)
    package = folder / "lib" / "allocsolve"
    # What is compiled is cached beside the code: that of these tests need not be compiled again.
    for cache in (ROOT / "allocsolve").rglob("__pycache__") if package.is_dir() else ():
        shutil.copytree(cache, package / cache.relative_to(ROOT / "allocsolve"), dirs_exist_ok=True)
    (folder / "bin").mkdir()
    for name, call in (("python", ""), ("allocsolve", " -m allocsolve")):
        program = folder / "bin" / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P{call} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    where = folder / "lib" if package.is_dir() else ROOT
    others = [entry for entry in sys.path if entry and Path(entry).resolve() != ROOT]
    path = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
    # What is covered in another copy of the package says nothing of this one.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    return {**inherited, "PATH": path, "PYTHONPATH": os.pathsep.join([str(where), *others])}


def test_each_of_the_three_readers_has_a_trail() -> None:
    assert set(TRAILS) == {"heuristic", "simulator", "CI"}
    before, _, rest = (ROOT / "README.md").read_text(encoding="utf-8").partition("**You ")
    assert len(before.splitlines()) <= 20, "they are on the first screen"
    assert rest.index("**You keep") < rest.index("\n## ")


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize("reader", TRAILS)
def test_a_trail_can_be_pasted_in_an_empty_folder(
    reader: str, programs: dict[str, str], tmp_path: Path
) -> None:
    trail = TRAILS[reader]
    done = subprocess.run(
        ["bash", "-euo", "pipefail"],  # noqa: S607 - the bash of whoever runs it
        input=trail.commands,
        cwd=tmp_path,
        env=programs,
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
