"""What stands beside the package for those who distribute it says the same as `pyproject.toml`."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

import allocsolve

if TYPE_CHECKING:
    import pytest


ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

#: What a channel calls a package of the index.
CONDA, SPACK = {"ortools": "ortools-python"}, {"ortools": "or-tools"}


def _requirements() -> dict[str, str]:
    """Return the versions that each dependency of the project may have, by its name."""
    pairs = (re.fullmatch(r"([a-z-]+)(.*)", requirement) for requirement in PROJECT["dependencies"])
    return {match[1]: match[2] for match in pairs if match}


def _least(versions: str) -> tuple[int, ...]:
    """Return the least version as numbers, without zeros at its end."""
    numbers = [int(part) for part in re.findall(r"\d+", versions.partition(",")[0])]
    return tuple(numbers[: max(idx + 1 for idx, part in enumerate(numbers) if part)])


def test_the_conda_recipe_asks_for_what_the_project_asks_for() -> None:
    recipe = yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["context"]["version"] == PROJECT["version"]
    listed = dict(line.split(" ", 1) for line in recipe["requirements"]["run"])
    wanted = {CONDA.get(name, name): versions for name, versions in _requirements().items()}
    assert listed == {"python": PROJECT["requires-python"], **wanted}


def test_the_spack_package_asks_for_what_the_project_asks_for() -> None:
    text = (ROOT / "packaging/spack/package.py").read_text(encoding="utf-8")
    assert f"allocsolve-{PROJECT['version']}.tar.gz" in text
    listed = dict(re.findall(r'depends_on\("([\w-]+)@([\d.]+)', text))
    del listed["python"]
    wanted = {SPACK.get(name, f"py-{name}"): versions for name, versions in _requirements().items()}
    assert {name: _least(versions) for name, versions in listed.items()} == {
        name: _least(versions) for name, versions in wanted.items()
    }


def test_whoever_cites_and_whoever_reads_the_changes_finds_the_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == PROJECT["version"]
    heads = re.findall(
        r"^## \[([\d.]+)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert heads[0][0] == PROJECT["version"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", day) for _, day in heads[1:])


def test_workflows_run_what_there_is() -> None:
    """Each names files and targets of the repository; a tag publishes only what was built from it."""
    flows = {
        path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
        for path in (ROOT / ".github/workflows").glob("*.yml")
    }
    assert set(flows) == {"test", "nightly", "release", "site"}
    container = (ROOT / "Containerfile").read_text(encoding="utf-8")
    assert container.rstrip().endswith('ENTRYPOINT ["allocsolve"]')
    commands = [
        step["run"]
        for flow in flows.values()
        for job in flow["jobs"].values()
        for step in job["steps"]
        if "run" in step
    ]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = [command.split()[1] for command in commands if command.startswith("make ")]
    assert targets
    assert all(f"\n{target}:" in makefile for target in targets)
    assert ".ci/run" in commands
    assert flows["release"][True] == {"push": {"tags": ["v*"]}}  # YAML 1.1 reads `on` as true
    assert flows["release"]["jobs"]["publish"]["needs"] == "build"
    matrix = flows["test"]["jobs"]["fast"]["strategy"]["matrix"]
    assert f">={matrix['python'][0]}" == PROJECT["requires-python"]
    stated = [one.rpartition(" :: ")[2] for one in PROJECT["classifiers"] if " :: Python :: 3." in one]
    assert matrix["python"] == stated


def test_reports_of_bugs_ask_for_what_shows_the_versions() -> None:
    for name in ("bug", "bound"):
        form = yaml.safe_load((ROOT / f".github/ISSUE_TEMPLATE/{name}.yml").read_text(encoding="utf-8"))
        (asked,) = (field for field in form["body"] if field["id"] == "versions")
        command = re.search(r'python -c "([^"]+)"', asked["attributes"]["description"])
        assert command is not None
        assert command[1] == "import allocsolve; allocsolve.show_versions()"


CODE = """
import importlib, os, pkgutil, select, signal, sys
import distributed, gymnasium, numba, ortools.sat.python.cp_model, psutil, pulp
import rich.console, scipy.optimize, yaml
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
for module, names in (
    (os, ("fork", "getuid", "killpg", "mkfifo", "sched_getaffinity", "setsid", "wait4")),
    (select, ("poll", "epoll", "POLLIN", "POLLOUT")),
    (signal, ("SIGALRM", "SIGHUP", "SIGKILL", "SIGSTOP", "SIGUSR1", "setitimer")),
):
    for name in names:
        delattr(module, name)
import allocsolve
for found in pkgutil.walk_packages(allocsolve.__path__, "allocsolve."):
    if found.name.rpartition(".")[2] == "__main__":
        continue
    try:
        importlib.import_module(found.name)
    except Exception as error:
        print(f"{found.name}: {type(error).__name__}: {error}")
try:
    allocsolve.bench.PolicyEvaluator(["."])
except allocsolve.errors.SolverUnavailable as error:
    assert "forked" in str(error)
else:
    print("policies are evaluated without a fork")
"""


def test_modules_import_nothing_of_posix(tmp_path: Path) -> None:
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=tmp_path, env=where, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ""


def test_versions_are_shown_one_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    allocsolve.show_versions()
    lines = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    shown = {name: value.strip() for name, value in lines.items()}
    assert shown["allocsolve"] == allocsolve.__version__
    assert shown["numpy"] == np.__version__
    assert shown["python"] == platform.python_version()
    assert {"platform", "processor", "cpus", "numba", "ortools"} <= shown.keys()
