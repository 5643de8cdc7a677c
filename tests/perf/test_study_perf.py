"""What the harness of studies and their reports cost."""

from __future__ import annotations

import base64
import functools
import gzip
import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from sample_records import PROBLEM, RECORD
from study_tools import MemoryStudy, row

from allocsolve.bench import RecordStore, open_executor, plan, run, suite
from allocsolve.bench.runs.execution import judged_outcome
from allocsolve.bench.runs.worker import Call, decoded_reply, encoded_reply
from allocsolve.cli import main
from allocsolve.instances import digest, klein2011, uniform_occupancy
from allocsolve.model import (
    Budget,
    EvolutionProblem,
    EvolutionProfile,
    EvolutionSchedule,
    Mesh,
    Partition,
    PartitionProblem,
)
from allocsolve.registry import make_solver
from allocsolve.report import examine, figures, html, markdown

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_benchmark.fixture import BenchmarkFixture

    from allocsolve.model import Answer, Problem


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


# --- Report -------------------------------------------------------------------------------------------
#
# To be had on two cores: 30 s and 20 MB.

INSTANCES, SOLVERS, SEEDS = 1000, 10, 10


def _problem(kind: str, idx: int) -> Problem:
    if kind == "evolution":
        return klein2011([1, idx])
    return uniform_occupancy(Mesh((16, 16)), 0.3, 32, idx)


def _answer(problem: Problem, rng: np.random.Generator) -> Answer:
    """An answer as hard to compress as any; nothing judges it here."""
    if isinstance(problem, EvolutionProblem):
        packed = problem.packed
        durations = packed.durations + rng.integers(0, 3000, len(packed.durations))
        return EvolutionSchedule(
            rng.integers(0, 100_000, len(problem.applications)), packed.offsets, durations, packed.nodes
        )
    assert isinstance(problem, PartitionProblem)
    return Partition(rng.choice(np.flatnonzero(problem.free), problem.size, replace=False))


@functools.cache
def _study(kind: str) -> MemoryStudy:
    study, rng = MemoryStudy(), np.random.default_rng(1)
    for idx in range(INSTANCES):
        problem = _problem(kind, idx)
        key = digest(problem)
        study.problems[key] = problem
        bound = int(rng.integers(100_000, 200_000))
        for solver in range(SOLVERS):
            answer = _answer(problem, rng)  # one per solver keeps the setup short; each run looks it up
            for seed in range(SEEDS):
                value = bound + int(rng.gamma(1 + solver, 1000)) * (solver > 0)
                made = row(
                    f"instance-{idx:04}",
                    f"solver-{solver}",
                    value,
                    bound if not solver else -np.inf,
                    suite="large",
                    kind=kind,
                    digest=key,
                    seed=seed,
                    runtime=float(rng.lognormal(solver - 8, 1.5)),
                    incumbents=((1e-5, value + 5000), (2e-5, value)) if solver == 1 else (),
                )
                study.records.append(made)
                study.answers[made.key] = answer
    return study


@pytest.mark.parametrize("kind", ["evolution", "partition"])
def test_hundred_thousand_records(benchmark: BenchmarkFixture, kind: str) -> None:
    study = _study(kind)
    page = benchmark.pedantic(lambda: html(examine(study, title="large"), study), rounds=1)
    assert len(page.encode()) < 20_000_000
    index = page.split('id="data0">')[1].split("<")[0]
    (section,) = json.loads(gzip.decompress(base64.b64decode(index)))["sections"]
    assert len(section["cells"]) == INSTANCES * SOLVERS
    assert all(instance["at"] for instance in section["instances"])


def test_tables_and_figures_of_hundred_thousand_records(benchmark: BenchmarkFixture) -> None:
    findings = examine(_study("evolution"))
    text, drawn = benchmark.pedantic(lambda: (markdown(findings), figures(findings)), rounds=1)
    assert len(text) < 20_000
    assert len(drawn) == 4
    assert max(map(len, drawn.values())) < 500_000


def test_the_command_on_a_file(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """The same from the file of a study: 100,000 rows are read, and 10,000 answers looked up."""
    study, path, page = _study("evolution"), tmp_path / "study.sqlite", tmp_path / "page.html"
    with RecordStore(path) as store:
        for record in study:
            store.append(record, study.problems[record.digest], study.answers[record.key])
    command = ["study", "report", str(path), "--out", str(page)]
    assert benchmark.pedantic(main, args=(command,), rounds=1) == 0
    assert page.stat().st_size < 20e6
