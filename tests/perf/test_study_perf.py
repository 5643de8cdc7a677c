"""What the harness of studies costs: per task, and to find out what has been run of a large study."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from sample_records import PROBLEM, RECORD

from allocsolve.bench import RecordStore, open_executor, plan, run, suite
from allocsolve.bench.runs.execution import judged_outcome
from allocsolve.bench.runs.worker import Call, decoded_reply, encoded_reply
from allocsolve.cli import main
from allocsolve.model import Budget, EvolutionProblem, EvolutionProfile
from allocsolve.registry import make_solver

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from pytest_benchmark.fixture import BenchmarkFixture

ROWS = 100_000


def test_overhead_of_a_task(benchmark: BenchmarkFixture) -> None:
    """At most 5 ms beside the run itself: to the process of the solver and back, judged, on disk."""
    problems = [("klein-5-l1", problem) for problem in suite("klein-5-l1")]
    budgets = [Budget(seconds=10, seed=seed) for seed in range(40)]
    tasks = plan(problems, ["noX"], budgets=budgets)
    with open_executor("local", jobs=1) as executor:
        run(tasks[:1], executor=executor)  # starts the process
        seconds: list[float] = []

        def study() -> None:
            start = time.perf_counter()
            rows = run(tasks, executor=executor)
            seconds.append(time.perf_counter() - start - sum(row.runtime_s for row in rows))
            assert not [row.error for row in rows if row.error]

        benchmark.pedantic(study, rounds=3)
    benchmark.extra_info["overhead_ms"] = [1000 * taken / len(tasks) for taken in seconds]


def test_overhead_of_a_large_answer(benchmark: BenchmarkFixture) -> None:
    """At most 0.5 s for 40,000 applications: said in text by the solver's process, read, and judged."""
    apps = tuple(EvolutionProfile([(60 + idx % 1000, 1 + idx % 75)]) for idx in range(40_000))
    problem = EvolutionProblem(1024, apps)
    (task,) = plan([("", problem)], ["noX"], budgets=[Budget(seconds=60)])
    call = Call(make_solver("noX", problem)(problem, Budget()), 0.0, None)

    def answer() -> None:
        reply = decoded_reply(encoded_reply(problem, task.key.digest, call), task)
        assert judged_outcome(task, reply.result, reply.runtime).record.value is not None

    benchmark.pedantic(answer, rounds=5)


def test_resume_of_a_study_of_100000_rows(
    benchmark: BenchmarkFixture, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At most 2 s to read the study, scan the file, and see that nothing is left to do."""
    problems = suite("klein-5-l1")
    study = tmp_path / "study.toml"
    seeds = list(range(ROWS // len(problems)))
    study.write_text(f'suites = ["klein-5-l1"]\nsolvers = ["noX"]\nseeds = {seeds}\n')
    named = [("klein-5-l1", problem) for problem in problems]
    tasks = plan(named, ["noX"], budgets=[Budget(seconds=10, seed=seed) for seed in seeds])
    with RecordStore(study.with_suffix(".sqlite")) as store:
        for task in tasks:
            store.append(replace(RECORD, **task.key._asdict()), PROBLEM, None)

    def scan() -> None:
        with RecordStore(study.with_suffix(".sqlite")) as again:
            assert all(task.key in again for task in tasks)

    benchmark.pedantic(scan, rounds=3)
    start = time.perf_counter()
    assert main(["study", "run", str(study), "--json"]) == 0
    benchmark.extra_info["whole_command_s"] = time.perf_counter() - start
    assert json.loads(capsys.readouterr().out)["run"] == 0
