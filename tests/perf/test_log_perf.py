"""What a problem of the size of a workload log costs: to be imported, and the harness beside its solver.

The harness is to take 0.5 s a run for 40,000 jobs: sent to the process of the solver and back, judged, on
disk. What is done once for a problem (digest, sending it, its bound) is told apart from what every
further run costs.
"""

from __future__ import annotations

import itertools
import json
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pytest
import toy_family
from plugin_tools import site
from toy_family import MachinesProblem

from allocsolve import Jobs, WorkloadProblem
from allocsolve.bench import RecordStore, open_executor, plan, run
from allocsolve.cli import main
from allocsolve.instances import read_problem, write_problem
from allocsolve.model import Budget

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_benchmark.fixture import BenchmarkFixture


JOBS = 40_000
RUNS = 6
#: Of a log that is imported, in 10 s at most.
LINES = 300_000


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
                tasks, store=store, executor=executor, progress=lambda *_: stamps.append(time.perf_counter())
            )
        assert not [row.error for row in rows if row.error]
        planned, *ended = (later - earlier for earlier, later in itertools.pairwise(stamps))
        seconds.append((planned, *(end - row.runtime_s for end, row in zip(ended, rows, strict=True))))

    benchmark.pedantic(runs, rounds=3)
    planned, first, *further = zip(*seconds, strict=True)
    benchmark.extra_info["plan_s"] = min(planned)
    benchmark.extra_info["first_run_with_start_of_the_process_s"] = min(first)
    benchmark.extra_info["further_run_s"] = min(itertools.chain(*further))


def _log(path: Path) -> tuple[str, ...]:
    """Write a log of `LINES` jobs in the format that its name tells; return the options of its import."""
    rng = np.random.default_rng(1)
    sizes, runs, waits = (rng.integers(1, high, LINES).tolist() for high in (64, 40_000, 9000))
    submits = np.cumsum(rng.integers(0, 60, LINES)).tolist()
    jobs = list(enumerate(zip(submits, waits, runs, sizes, strict=True), 1))
    if path.suffix == ".swf":
        rows = [
            f"{job} {submit} {wait} {length} {size} -1 -1 {size} {2 * length} -1 1 {job % 500} 1{5 * ' -1'}"
            for job, (submit, wait, length, size) in jobs
        ]
        path.write_text("\n".join(["; MaxProcs: 256", *rows]))
        return ()
    first = datetime(2024, 1, 1, tzinfo=UTC)
    rows = ["JobID|User|Submit|Start|End|Elapsed|Timelimit|AllocNodes|State"]
    for job, (submit, wait, length, size) in jobs:
        times = (first + timedelta(seconds=at) for at in (submit, submit + wait, submit + wait + length))
        stamps = "|".join(f"{time:%Y-%m-%dT%H:%M:%S}" for time in times)
        elapsed = f"{length // 3600:02}:{length // 60 % 60:02}:{length % 60:02}"
        rows.append(f"{job}|u{job % 500}|{stamps}|{elapsed}|1-00:00:00|{size}|COMPLETED")
    path.write_text("\n".join(rows))
    return ("--nodes", "256", "--timezone", "America/New_York")


@pytest.mark.parametrize("format_", ["swf", "sacct"])
def test_import_of_300000_lines(format_: str, benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    log = tmp_path / f"log.{format_}"
    options = _log(log)
    argv = ["import", "--format", format_, str(log), *options, "--out", str(tmp_path / "p.json"), "--force"]
    assert benchmark.pedantic(main, args=(argv,), rounds=3) == 0


FEW_JOBS = 28_467


def test_a_log_is_read(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """Seconds of CPU, and how many times those of `json.loads` alone, are in the extra information."""
    draw = np.random.default_rng(0)
    jobs = Jobs(
        submit=np.sort(draw.integers(0, 10**7, FEW_JOBS)),
        nodes=draw.integers(1, 100, FEW_JOBS),
        runtime=draw.integers(1, 10**5, FEW_JOBS),
        limit=np.full(FEW_JOBS, 10**5),
        users=[f"u{user}" for user in draw.integers(0, 200, FEW_JOBS)],
    )
    file = tmp_path / "log.json"
    write_problem(WorkloadProblem(100, jobs), file)
    text = file.read_text(encoding="utf-8")
    seconds = {"read": 1.0, "json": 1.0}
    for _ in range(5):
        stamps = [time.process_time()]
        problem = read_problem(file)
        stamps.append(time.process_time())
        json.loads(text)
        stamps.append(time.process_time())
        seconds["read"] = min(seconds["read"], stamps[1] - stamps[0])
        seconds["json"] = min(seconds["json"], stamps[2] - stamps[1])
    benchmark.extra_info["read_cpu_s"] = round(seconds["read"], 3)
    benchmark.extra_info["times_json"] = round(seconds["read"] / seconds["json"], 2)
    assert isinstance(problem, WorkloadProblem)
    assert len(problem.jobs) == FEW_JOBS
    benchmark.pedantic(read_problem, (file,), rounds=3)
