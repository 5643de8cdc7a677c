"""Machine code on disk is that of the sources as they are: after an edit it is as if there were none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numba
import pytest

import allocsolve
from allocsolve.kernels import kernel
from allocsolve.kernels.compilations import _kernels
from allocsolve.kernels.free_nodes import FreeNodes, new_free_nodes
from allocsolve.kernels.sources import Source, type_text

PACKAGE = Path(allocsolve.__file__).parent

#: A package of kernels: an entry kernel, an inner one in another module, and what that takes from a third.
MODULES = {
    "numbers.py": "FACTOR = 3\n",
    "layouts.py": """
        from typing import NamedTuple

        class Pair(NamedTuple):
            first: int
            second: int
        """,
    "far.py": '''
        from allocsolve.kernels import inner_kernel
        from kernels_to_edit.numbers import FACTOR

        @inner_kernel
        def scaled(value):
            """Scale."""
            return FACTOR * value  # by what is imported by name
        ''',
    "near.py": """
        from allocsolve.kernels import inner_kernel
        from kernels_to_edit.far import scaled

        @inner_kernel
        def first_scaled(pair):
            return scaled(pair.first)
        """,
    "entry.py": """
        from allocsolve.kernels import kernel
        from kernels_to_edit.near import first_scaled

        @kernel
        def run(pair):
            return first_scaled(pair)

        def unrelated():
            return 1
        """,
    "__init__.py": "",
}

RUN = """
import json
from allocsolve.kernels import compilations
from kernels_to_edit.entry import run
from kernels_to_edit.layouts import Pair
print(json.dumps([run(Pair(first=10, second=1)), compilations()]))
"""

EASY = """
import json
from allocsolve.heuristics import Easy
from allocsolve.model import Budget, Job, WorkloadProblem
jobs = [Job(0, 2, 100), Job(1, 4, 10), Job(2, 1, 50)]
schedule = Easy()(WorkloadProblem(4, jobs), Budget(seconds=10)).answer
print(json.dumps(schedule.ends.tolist()))
"""


#: Kernels whose machine code needs something of Python or numba at run time.
DEMANDING = """
import json, math, sys
import numpy as np
from allocsolve.kernels import compilations, kernel

@kernel
def hashed(first, second):
    return float(hash((first, second)) % 1000)

@kernel
def different(values):
    return len(set(values)) + math.pow(values[3], 2.5)

@kernel
def drawn(count):
    np.random.seed(7)
    return np.random.permutation(count)

@kernel
def multiplied(matrix, right):
    return np.dot(matrix, right)

@kernel
def refused(value):
    if value > 1:
        raise ValueError("too much")
    return value / (value - 1)

def raised(value):
    try:
        refused(value)
    except (ValueError, ZeroDivisionError) as error:
        return len(str(error))

values = np.arange(1.0, 9.0)
told = [hashed(3, 0.5), different(values), *drawn(9), *multiplied(np.diag(values), values)]
told += [raised(1), raised(2)]
told = [float(value) for value in told]
print(json.dumps([*told, compilations(), "numba.misc.cffiimpl" in sys.modules]))
"""


@dataclass(frozen=True)
class Site:
    """A folder of modules, and one for the cache."""

    folder: Path
    cache: Path

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.folder / file
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1
        path.write_text(text.replace(old, new), encoding="utf-8")
        # byte code is that of a second and a size: an edit of one letter has to be of another second
        later = path.stat().st_mtime + 10
        os.utime(path, (later, later))

    def run(self, program: str, cache: Path | None = None) -> list[float]:
        paths = os.pathsep.join([str(self.folder), *filter(None, sys.path)])
        environment = {**os.environ, "PYTHONPATH": paths, "ALLOCSOLVE_KERNELS": str(cache or self.cache)}
        environment.pop(
            "COVERAGE_PROCESS_CONFIG", None
        )  # what is covered of a copy is not covered of the package
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=self.folder,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        told: list[float] = json.loads(done.stdout)
        return told


@pytest.fixture
def site(tmp_path: Path) -> Site:
    package = tmp_path / "site" / "kernels_to_edit"
    package.mkdir(parents=True)
    for name, text in MODULES.items():
        (package / name).write_text(textwrap.dedent(text), encoding="utf-8")
    return Site(tmp_path / "site", tmp_path / "cache")


def test_what_was_edited_is_what_runs(site: Site, tmp_path: Path) -> None:
    """One edit after another; comments, docstrings, other functions and places compile nothing."""
    assert site.run(RUN) == [30, 3]
    site.edit("kernels_to_edit/far.py", '"""Scale."""', '"""Scale a value.\n\n    By a factor.\n    """')
    site.edit("kernels_to_edit/far.py", "# by what is imported by name", "# another comment")
    site.edit("kernels_to_edit/entry.py", "return 1", "return 2")
    moved = shutil.copytree(site.folder, tmp_path / "another" / "place")
    assert Site(moved, site.cache).run(RUN) == [30, 0]
    for file, old, new, value in (
        ("numbers.py", "3", "5", 50),  # a constant imported by name
        ("far.py", "FACTOR * value", "FACTOR + value", 15),  # an inner kernel two modules away
        ("near.py", "pair.first", "pair.second", 6),  # an inner kernel
        ("entry.py", "first_scaled(pair)", "-first_scaled(pair)", -6),  # the entry kernel
    ):
        site.edit(f"kernels_to_edit/{file}", old, new)
        assert site.run(RUN) == [value, 3]
    layouts = site.folder / "kernels_to_edit" / "layouts.py"
    lines = layouts.read_text(encoding="utf-8").splitlines()
    layouts.write_text("\n".join([*lines[:-2], lines[-1], lines[-2]]), encoding="utf-8")
    assert site.run(RUN) == [-6, 3], "the other field comes first, of the same type"


def test_code_from_disk_needs_nothing_that_compiling_loads(site: Site) -> None:
    *compiled, count, loaded = site.run(DEMANDING)
    assert count > 5
    assert loaded
    assert site.run(DEMANDING) == [*compiled, 0, False]


def test_the_schedule_of_an_edited_engine_is_not_the_old_one(tmp_path: Path) -> None:
    """Every run time is doubled in an inner kernel, modules away from the loop of the policy."""
    left_out = shutil.ignore_patterns("library", "papers", "__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "site" / "allocsolve", ignore=left_out)
    (tmp_path / "site" / "allocsolve" / "instances" / "library").mkdir()
    for file in (PACKAGE / "instances" / "library").glob("*.py"):
        shutil.copy(file, tmp_path / "site" / "allocsolve" / "instances" / "library")
    site = Site(tmp_path / "site", tmp_path / "cache")
    assert site.run(EASY) == [100, 110, 52]
    site.edit("allocsolve/simulation/_kernels_events.py", "end = now + run_time", "end = now + 2 * run_time")
    assert site.run(EASY) == [200, 220, 102]


def test_a_damaged_file_is_made_again(site: Site) -> None:
    assert site.run(RUN) == [30, 3]
    (file,) = site.cache.glob("*.kernel")
    whole = file.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], whole[:-1] + b"?"):
        file.write_bytes(damaged)
        assert site.run(RUN) == [30, 3]
    assert site.run(RUN) == [30, 0]


def test_kernels_run_where_nothing_can_be_written(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert site.run(RUN, cache=tmp_path / "file" / "folder") == [30, 3]


def test_processes_that_need_the_same_kernel_compile_it_once(site: Site) -> None:
    with ThreadPoolExecutor(3) as threads:
        told = [*threads.map(lambda _: site.run(RUN), range(3))]
    assert sorted(told) == [[30, 0], [30, 0], [30, 3]]
    assert len([*site.cache.iterdir()]) == 1, "no locks and parts are left"


def test_old_versions_of_a_kernel_are_removed(site: Site) -> None:
    site.run(RUN)
    (file,) = site.cache.glob("*.kernel")
    for version in range(20):
        old = file.with_name(f"{file.name.rpartition('-')[0]}-{version:032}.kernel")
        old.write_bytes(b"old")
        os.utime(old, (1e9, 1e9))
    site.edit("kernels_to_edit/numbers.py", "3", "7")
    site.run(RUN)
    assert sorted(one.read_bytes() == b"old" for one in site.cache.iterdir()) == [False, False]


def test_it_can_be_told_of_every_kernel_whether_it_has_changed() -> None:
    for path in PACKAGE.rglob("_kernels*.py"):
        import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))
    kernels = [one for one in _kernels if one.py_func.__module__.startswith("allocsolve.")]
    assert len(kernels) > 90
    assert min(Source.of(one).functions for one in kernels) == 1
    assert max(Source.of(one).functions for one in kernels) > 50


class _Thing:
    """Nobody can tell what is in it."""


_THING = _Thing()


@kernel
def _names_a_thing() -> int:
    return len(str(_THING))


def test_a_kernel_may_not_name_what_may_change_unseen() -> None:
    with pytest.raises(TypeError, match=r"a kernel may not name <.*_Thing object.*nobody could tell"):
        Source.of(_names_a_thing)


def test_the_text_of_a_type_tells_where_its_class_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code looks the class of a named tuple up in its module."""
    kind = numba.typeof(new_free_nodes(4, 2))
    before = type_text(kind)
    monkeypatch.setattr(FreeNodes, "__module__", "elsewhere")
    assert type_text(kind) != before
