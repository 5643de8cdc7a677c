"""Kernels: inner ones are linked into those that call them; machine code on disk is that of the sources."""

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
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numba
import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as npst

import allocsolve
from allocsolve.kernels import allocating_kernel, inner_kernel, kernel
from allocsolve.kernels.cache import Source, _kernels, type_text
from allocsolve.kernels.free_nodes import FreeNodes, new_free_nodes
from allocsolve.kernels.linking import _EntryLibrary, _InnerLibrary
from allocsolve.kernels.records import Record, Records, records

if TYPE_CHECKING:
    from collections.abc import Callable

    from numba.core.dispatcher import Dispatcher
    from numpy.typing import NDArray

    from allocsolve.model import IntArray


class Parts(NamedTuple):
    grid: NDArray[np.float64]
    marks: NDArray[np.bool_]
    few: tuple[NDArray[np.int32], int]


@inner_kernel
def digest(parts: Parts, weight: int) -> float:
    """Return a number that depends on every entry and its place, on the shape, size and strides."""
    grid, (few, number) = parts.grid, parts.few
    total = 0.0
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            total += grid[i, j] * (1 + i + 10 * j)
    for i in range(len(parts.marks)):
        total += 1000 * (i + 1) if parts.marks[i] else 0
    for i in range(len(few)):
        total += few[i] * (i + 1)
    layout = grid.size + 3 * grid.strides[0] + 7 * grid.strides[1] + 11 * few.itemsize + 13 * few.nbytes
    return total + layout + weight * number


@kernel
def digest_of(parts: Parts) -> float:
    return digest(parts, 2) + digest(parts, parts.few[1])


@given(
    grid=npst.arrays(np.float64, npst.array_shapes(min_dims=2, max_dims=2), elements=st.integers(-99, 99)),
    marks=npst.arrays(np.bool_, st.integers(0, 5)),
    few=npst.arrays(np.int32, st.integers(0, 5)),
    number=st.integers(-99, 99),
)
def test_what_an_inner_kernel_sees_of_arrays_is_what_numpy_says(
    grid: NDArray[np.float64], marks: NDArray[np.bool_], few: NDArray[np.int32], number: int
) -> None:
    def told(weight: int) -> float:
        places = 1 + np.arange(grid.shape[0])[:, None] + 10 * np.arange(grid.shape[1])
        layout = grid.size + 3 * grid.shape[1] * 8 + 7 * 8 + 11 * few.itemsize + 13 * few.nbytes
        listed = few.astype(np.int64) * np.arange(1, len(few) + 1)
        entries = (grid * places).sum() + 1000 * (np.flatnonzero(marks) + 1).sum() + listed.sum()
        return float(entries + layout + weight * number)

    made = digest_of(Parts(grid, marks, (few, number)))
    assert made == pytest.approx(told(2) + told(number), rel=1e-12)


@inner_kernel
def fill(values: IntArray, first: int) -> None:
    for i in range(len(values)):
        values[i] = first + i


@allocating_kernel
def counted(first: int, count: int) -> IntArray:
    values = np.empty(count, dtype=np.int64)
    fill(values, first)
    return values


@kernel
def counted_from(first: int, count: int) -> IntArray:
    values = counted(first, count)
    fill(values[1:], first + 2)
    return values


def test_what_an_inner_kernel_allocates_belongs_to_whom_it_is_returned() -> None:
    kept = [counted_from(first, 2000) for first in range(200)]
    for first, values in enumerate(kept):
        assert values[0] == first
        assert values[1:].tolist() == list(range(first + 2, first + 2001))


@inner_kernel
def failing(value: int) -> int:
    if value > 2:
        raise ValueError("too much")
    return value


@kernel
def failing_entry(value: int) -> int:
    return failing(value) + failing(1)


def test_what_an_inner_kernel_raises_comes_out() -> None:
    assert failing_entry(2) == 3
    with pytest.raises(ValueError, match="too much"):
        failing_entry(3)


def _libraries(function: Any) -> list[Any]:
    return [result.library for result in cast("Dispatcher", function).overloads.values()]


def test_inner_kernels_are_not_optimised_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inner functions have neither machine code nor a name of their own in that of the entry kernel."""
    monkeypatch.setenv("ALLOCSOLVE_KERNELS", str(tmp_path))  # so that it is compiled
    fresh = kernel(cast("Dispatcher", failing_entry).py_func)
    assert fresh(1) == 2
    (entry,) = _libraries(fresh)
    assert isinstance(entry, _EntryLibrary)
    inner = _libraries(failing)
    assert inner
    assert all(isinstance(library, _InnerLibrary) for library in inner)
    assert not any(library._compiled for library in inner)
    exported = {one.name for one in entry.get_defined_functions() if one.linkage.name == "external"}
    assert exported
    assert not any("failing" in name and "entry" not in name for name in exported)


def test_constants_and_narrow_integers_are_compiled_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLOCSOLVE_KERNELS", str(tmp_path))

    @inner_kernel
    def doubled(value: int) -> int:
        return 2 * value

    @kernel
    def many(values: NDArray[np.int32]) -> int:
        return doubled(3) + doubled(values[0]) + doubled(values[0] + 1) + doubled(len(values))

    assert many(np.array([5], dtype=np.int32)) == 6 + 10 + 12 + 2
    assert [str(args) for args in cast("Dispatcher", doubled).overloads] == ["(int64,)"]


class Item(Record):
    weight: float
    count: int


class All(NamedTuple):
    values: IntArray
    grid: IntArray
    cube: NDArray[np.float64]
    marks: NDArray[np.bool_]
    few: NDArray[np.int32]
    items: Records[Item]


def walk(parts: All, start: int, steps: int) -> float:
    """Read and write entries of all sorts, with values that live for a branch, a round or the whole call."""
    values, grid, cube, marks, few, items = parts
    size, rows, columns = len(values), grid.shape[0], grid.shape[1]
    at, total, last = start, 0.0, 0
    for step in range(steps):
        here = values[at]
        before = at
        if marks[step % len(marks)]:
            other = few[here % len(few)]
            grid[here % rows, other % columns] += step
            last = other
        else:
            marks[-1 - step % len(marks)] = here % 2 == 0
            other = step
        while other > 3:
            other -= 3
            if other == 5:
                break
        item = items[here % len(items)]
        item.count += other
        items[-1].weight = item.weight + total
        cube[0, here % 2, -1] += item.count
        values[before], values[at - 1] = values[at - 1] + 1, values[before]
        at = (at + here + last) % size
        total += cube[0, 1, -1] - grid[rows - 1, columns - 1] + items[0].weight
    return total + at


@inner_kernel
def inner_walk(parts: All, start: int, steps: int) -> float:
    """Do the same as an inner kernel, which takes arrays by their addresses."""
    return _walk(parts, start, steps)


@allocating_kernel
def counting_walk(parts: All, start: int, steps: int) -> float:
    """Do the same as a kernel that counts references."""
    copied = np.empty(len(parts.values), dtype=np.int64)
    for idx in range(len(copied)):
        copied[idx] = parts.values[idx]
    rest = All(copied, parts.grid, parts.cube, parts.marks, parts.few, parts.items)
    return _counted_walk(rest, start, steps)


_walk = inner_kernel(walk)
_counted_walk = allocating_kernel(walk)
_entry_walk = kernel(walk)


@kernel
def walk_by_inner(parts: All, start: int, steps: int) -> float:
    return inner_walk(parts, start, steps)


@kernel
def walk_by_counting(parts: All, start: int, steps: int) -> float:
    return counting_walk(parts, start, steps)


def _parts(seed: int) -> All:
    random = np.random.default_rng(seed)
    lengths = random.integers(2, 6, 5)
    items = records(Item, int(lengths[4]), weight=random.integers(0, 9, lengths[4]))
    return All(
        random.integers(0, 99, lengths[0]),
        random.integers(0, 9, (int(lengths[1]), int(lengths[2]))),
        random.integers(0, 9, (2, 2, 3)).astype(np.float64),
        random.integers(0, 2, lengths[3]).astype(np.bool_),
        random.integers(0, 9, lengths[3]).astype(np.int32),
        items,
    )


@pytest.mark.parametrize("made", [_entry_walk, walk_by_inner, walk_by_counting])
@given(seed=st.integers(0, 2**32), steps=st.integers(0, 30))
def test_a_kernel_computes_what_its_function_does(
    made: Callable[[All, int, int], float], seed: int, steps: int
) -> None:
    plain, compiled = _parts(seed), _parts(seed)
    records_of = plain._replace(items=plain.items.view(np.recarray))  # type: ignore[attr-defined]  # an array
    assert made(compiled, 1, steps) == walk(records_of, 1, steps)
    for one, other in zip(plain[1:], compiled[1:], strict=True):
        assert np.array_equal(cast("Any", one), cast("Any", other))


def test_an_entry_of_an_array_takes_few_instructions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before LLVM simplifies anything. numba takes 24 for an entry, and 30 more to count references."""
    monkeypatch.setenv("ALLOCSOLVE_KERNELS", str(tmp_path))  # so that it is compiled

    def one(values: IntArray, at: int) -> int:
        return int(values[at])

    def four(values: IntArray, at: int) -> int:
        return int(values[at] + values[at + 1] + values[at + 2] + values[at + 3])

    def instructions(function: Callable[[IntArray, int], int]) -> int:
        inner = inner_kernel(function)
        assert kernel(_calling(inner))(np.arange(9), 2) in {2, 14}
        (result,) = cast("Any", inner).overloads.values()
        assert isinstance(result.library, _InnerLibrary)
        return str(result.library._final_module).count("\n  ")

    assert instructions(four) - instructions(one) <= 3 * 12


def _calling(inner: Callable[[IntArray, int], int]) -> Callable[[IntArray, int], int]:
    def entry(values: IntArray, at: int) -> int:
        return inner(values, at)

    return entry


# --- The cache ----------------------------------------------------------------------------------------


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
        # What is covered of a copy is not covered of the package.
        environment.pop("COVERAGE_PROCESS_CONFIG", None)
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
    for path in PACKAGE.rglob("*.py"):
        if "kernel\ndef " not in path.read_text(encoding="utf-8"):
            continue
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
