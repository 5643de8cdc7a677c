"""What it costs to compile: the first call of solvers on an empty cache, and the kernels of all of them.

Seconds of CPU, in processes of their own. Each is shown with what was asked for and what it was before inner
kernels were linked (extra information of pytest-benchmark: ``asked_s``, ``before_s``).
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_benchmark.fixture import BenchmarkFixture

#: Seconds that were asked for (None: nothing) and those before, on two shared cores of an Intel Xeon.
WARMED = {
    "noX": (3.0, 2.3),
    "growth": (3.0, 2.6),
    "easy": (4.0, 6.9),
    "branch-and-bound": (8.0, 16.6),
    "conflict-search": (10.0, 23.2),
    "malleable-min": (None, 36.9),
    "lina": (None, 25.1),
    "static-price": (None, 25.5),
}
ALL = (100.0, 191.0)
HELP = (0.3, None)

JOBS = """JobID|User|Submit|Start|End|Elapsed|Timelimit|NNodes|State
101|ann|2024-03-04T08:00:00|2024-03-04T08:00:00|2024-03-04T10:00:00|02:00:00|03:00:00|3|COMPLETED
102|bob|2024-03-04T08:10:00|2024-03-04T10:00:00|2024-03-04T11:00:00|01:00:00|02:00:00|4|COMPLETED
103|ann|2024-03-04T08:20:00|2024-03-04T11:00:00|2024-03-04T11:30:00|00:30:00|01:00:00|1|COMPLETED
104|cem|2024-03-04T08:30:00|2024-03-04T11:00:00|2024-03-04T11:20:00|00:20:00|01:00:00|1|COMPLETED
105|bob|2024-03-05T09:00:00|2024-03-05T09:00:00|2024-03-05T10:30:00|01:30:00|02:00:00|2|COMPLETED
"""

#: Makes a solver ready for a problem that takes it through all of its kernels, as before its first call.
READY = """
import sys
from allocsolve.registry import families_named, make_solver, ready
for family in families_named(sys.argv[1])[:1]:
    problem = family.large_example()
    ready(make_solver(sys.argv[1], problem), problem)
"""


def _cpu_s(cache: Path, *argv: str) -> float:
    environment = {
        **os.environ,
        "ALLOCSOLVE_KERNELS": str(cache),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *argv], env=environment, cwd=cache.parent, check=True, capture_output=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _shown(
    benchmark: BenchmarkFixture, asked: tuple[float | None, float | None], cache: Path, *argv: str
) -> None:
    seconds = benchmark.pedantic(_cpu_s, (cache, *argv), rounds=1)
    benchmark.extra_info |= {"cpu_s": round(seconds, 2), "asked_s": asked[0], "before_s": asked[1]}


@pytest.mark.parametrize("solver", WARMED)
def test_the_first_call_of_a_solver(solver: str, benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    _shown(benchmark, WARMED[solver], tmp_path / "cache", "-c", READY, solver)


def test_the_kernels_of_all_solvers(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    _shown(benchmark, ALL, tmp_path / "cache", "-m", "allocsolve", "warm")


def test_help(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    _shown(benchmark, HELP, tmp_path / "cache", "-m", "allocsolve", "--help")


def test_what_if(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """The example of its page, on an empty cache, then with its kernels."""
    (tmp_path / "jobs.txt").write_text(JOBS, encoding="utf-8")
    argv = ("-m", "allocsolve", "whatif", "jobs.txt", "--nodes", "4")
    _shown(benchmark, (15.0, None), tmp_path / "cache", *argv)
    warm_s = _cpu_s(tmp_path / "cache", *argv, "--out", "again.html")
    benchmark.extra_info |= {"warm_cpu_s": round(warm_s, 2), "warm_asked_s": 3.0}
