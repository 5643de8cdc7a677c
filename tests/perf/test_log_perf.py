"""What a problem of the size of a workload log costs the harness beside its solver, per run.

To be had in 0.5 s a run for 40,000 jobs: sent to the process of the solver and back, judged, on disk. What is
done once for a problem (digest, sending it, its bound) is told apart from what every further run costs.
"""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

import pytest
import toy_family
from plugin_tools import site
from toy_family import MachinesProblem

from allocsolve.bench import RecordStore, open_executor, plan, run
from allocsolve.model import Budget

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_benchmark.fixture import BenchmarkFixture

JOBS = 40_000
RUNS = 6


@pytest.fixture(autouse=True)
def _toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The toy family, as of a distribution of a third party."""
    folder = tmp_path / "third"
    folder.mkdir()
    with site(folder, monkeypatch) as made:
        made.entry_points("toybox", "allocsolve.families", machines="toy_family:TOY")
        monkeypatch.setenv("PYTHONPATH", str(toy_family.__file__).rpartition("/")[0])
        yield


def test_overhead_of_40000_jobs(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    problem = MachinesProblem(16, tuple(1 + 7_919 * job % 86_400 for job in range(JOBS)), "log")
    seconds: list[tuple[float, ...]] = []
    seeds = itertools.count()

    def runs() -> None:
        stamps = [time.perf_counter()]
        budgets = [Budget(seconds=60, seed=next(seeds)) for _ in range(RUNS)]
        tasks = plan([("", problem)], ["greedy"], budgets=budgets)
        with open_executor("local", jobs=1) as executor, RecordStore(tmp_path / "records.sqlite") as store:
            rows = run(
                tasks,
                store=store,
                executor=executor,
                progress=lambda *_: stamps.append(time.perf_counter()),
            )
        assert not [row.error for row in rows if row.error]
        planned, *ended = (later - earlier for earlier, later in itertools.pairwise(stamps))
        seconds.append((planned, *(end - row.runtime_s for end, row in zip(ended, rows, strict=True))))

    benchmark.pedantic(runs, rounds=3)
    planned, first, *further = zip(*seconds, strict=True)
    benchmark.extra_info["plan_s"] = min(planned)
    benchmark.extra_info["first_run_with_start_of_the_process_s"] = min(first)
    benchmark.extra_info["further_run_s"] = min(itertools.chain(*further))
