"""The report of a large study: 1000 instances, 10 solvers, 10 seeds, an answer to every run.

To be had on two cores: 30 s and 20 MB.
"""

from __future__ import annotations

import base64
import functools
import gzip
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from study_tools import MemoryStudy, row

from allocsolve.bench import RecordStore
from allocsolve.cli import main
from allocsolve.instances import digest, klein2011, uniform_occupancy
from allocsolve.model import EvolutionProblem, EvolutionSchedule, Mesh, Partition, PartitionProblem
from allocsolve.report import examine, figures, html, markdown

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_benchmark.fixture import BenchmarkFixture

    from allocsolve.model import Answer, Problem

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
