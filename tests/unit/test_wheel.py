"""What reaches strangers: the wheel has all of the package and little else, and works where nothing else is.

The trails of the README (`test_readme.py`) and the notebooks (`test_notebooks.py`) run from the same wheel.
"""

from __future__ import annotations

import re
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

from console_tools import matches
from packaging.requirements import Requirement
from wheel_tools import ROOT, run_installed

#: Bytes that a download may have; nearly half of them are the instance library.
MOST_BYTES = 3_500_000


def _files(wheel: Path) -> dict[str, zipfile.ZipInfo]:
    with zipfile.ZipFile(wheel) as archive:
        return {info.filename: info for info in archive.infolist() if not info.is_dir()}


def test_the_wheel_has_each_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    packed = {name for name in _files(wheel) if ".dist-info/" not in name}
    package = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "allocsolve").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == package
    assert {Path(name).suffix for name in packed} == {".py", ".pyi", ".typed", ".json", ".md", ".css", ".js"}


def test_the_wheel_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < MOST_BYTES


def test_the_wheel_asks_for_what_the_project_asks_for(wheel: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (name,) = (name for name in _files(wheel) if name.endswith(".dist-info/METADATA"))
    with zipfile.ZipFile(wheel) as archive:
        said = Parser().parsestr(archive.read(name).decode())
    asked = [one for one in map(Requirement, said.get_all("Requires-Dist", [])) if one.marker is None]
    assert {*asked} == {*map(Requirement, project["dependencies"])}
    assert said["Version"] == project["version"]
    assert said["Requires-Python"] == project["requires-python"]
    assert set(said.get_all("Provides-Extra", [])) == set(project["optional-dependencies"])


def test_nothing_but_the_wheel_and_what_it_asks_for_is_there(
    installed: dict[str, str], tmp_path: Path
) -> None:
    """Neither the checkout, nor what only its tests need, nor what an extra brings can be imported."""
    code = (
        "import importlib.util, sys, allocsolve; print(allocsolve.__file__.startswith(sys.prefix), "
        "[name for name in sys.argv[1:] if importlib.util.find_spec(name)])"
    )
    others = ("reproductions", "tests", "toy_solver", "pytest", "jsonschema", "gymnasium", "pyarrow", "numba")
    done = run_installed(installed, "python", "-P", "-W", "error", "-c", code, *others, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("True ['numba']\n", "")


def test_the_version_is_told(installed: dict[str, str], tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    done = run_installed(installed, "allocsolve", "--version", cwd=tmp_path)
    assert (done.stdout, done.stderr) == (f"allocsolve {project['version']}\n", "")
    code = "import allocsolve; allocsolve.show_versions()"  # as the forms of reports have it
    done = run_installed(installed, "python", "-P", "-W", "error", "-c", code, cwd=tmp_path)
    assert done.stderr == ""
    assert re.search(rf"(?m)^allocsolve: +{re.escape(project['version'])}$", done.stdout)


def test_whatif_makes_its_page(installed: dict[str, str], tmp_path: Path) -> None:
    """The first command of docs/whatif.md on the log that stands there."""
    text = (ROOT / "docs" / "whatif.md").read_text(encoding="utf-8")
    log = re.search(r"(?ms)^:caption: jobs\.txt\n\n(.*?)^```$", text)
    shown = re.search(r"(?ms)^\$ allocsolve (whatif jobs\.txt --nodes 4 --out jobs\.html)\n(.*?)^```$", text)
    assert log is not None
    assert shown is not None
    (tmp_path / "jobs.txt").write_text(log[1], encoding="utf-8")
    done = run_installed(installed, "allocsolve", *shown[1].split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert matches(shown[2], done.stdout), done.stdout
    page = (tmp_path / "jobs.html").read_text(encoding="utf-8")
    assert "</html>" in page
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"jobs.txt", "jobs.html", "jobs.sqlite"}
