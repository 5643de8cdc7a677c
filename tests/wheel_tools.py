"""The wheel of this checkout, and an environment of somebody who has installed it and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

ROOT = Path(__file__).resolve().parents[1]


def build_wheel(folder: Path) -> Path:
    """Build the wheel into a folder, as build frontends do, but with the hatchling of these tests."""
    _run(
        sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder), cwd=ROOT
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, folder: Path, extras: Collection[str] = ()) -> dict[str, str]:
    """Install a wheel into a new virtual environment, and return the variables of a shell in it.

    What it asks for is linked to, as the environment of these tests has it; nothing else is there.
    """
    venv.create(folder, with_pip=False)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    python = programs / "python"
    where = 'import sysconfig; print(sysconfig.get_path("purelib"))'
    packages = Path(_run(str(python), "-c", where, cwd=folder).strip())
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python), "install"]
    _run(*pip, "--quiet", "--no-index", "--no-deps", "--no-compile", str(wheel), cwd=folder)
    (asked,) = distributions(name="allocsolve", path=[str(packages)])
    for name in _needed(asked.requires or (), extras):
        for entry in _entries(distribution(name)):
            if not (packages / entry.name).exists():
                (packages / entry.name).symlink_to(entry)
    # What is covered in another copy of the package says nothing of this one.
    left_out = ("COV", "PYTHON", "VIRTUAL_ENV")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return {**inherited, "PATH": os.pathsep.join([str(programs), os.environ["PATH"]])}


def _needed(requirements: Iterable[str], extras: Collection[str]) -> set[str]:
    """Return the distributions that are asked for, and those that they ask for."""
    names: set[str] = set()
    waiting = [(Requirement(text), ("", *extras)) for text in requirements]
    while waiting:
        one, wanted = waiting.pop()
        if one.name in names or not _applies(one, wanted):
            continue
        names.add(one.name)
        asked = distribution(one.name).requires or ()
        waiting += [(Requirement(text), ("", *one.extras)) for text in asked]
    return names


def _applies(requirement: Requirement, extras: Iterable[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in extras)


def _entries(found: Distribution) -> set[Path]:
    """Return what a distribution has at the top of the folder of packages; programs lie elsewhere."""
    tops = {file.parts[0] for file in found.files or () if file.parts[0] not in {"..", "__pycache__"}}
    return {Path(str(found.locate_file(top))) for top in tops}


def run_installed(
    shell: dict[str, str], name: str, *args: str, cwd: Path
) -> subprocess.CompletedProcess[str]:
    """Run a program of such an environment."""
    program = shutil.which(name, path=shell["PATH"])
    assert program is not None
    return subprocess.run(
        [program, *args], cwd=cwd, env=shell, capture_output=True, text=True, encoding="utf-8", check=False
    )


def _run(*argv: str, cwd: Path) -> str:
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
