"""CPU time of checking proofs of makespans, of writing them for the verified checker, and of that checker."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from verified_tools import CHECKER, needs_checker

from allocsolve import Budget, Status
from allocsolve.exact import EvolutionConflictSearch
from allocsolve.instances import klein2011
from allocsolve.judge import certify
from allocsolve.judge.evolution.proof_text import evolution_proof_text
from allocsolve.model import terms

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pytest_benchmark.fixture import BenchmarkFixture

#: Instances of the Klein size, seeds [2011, i], that take 0.6 to 2.4 CPU seconds.
INSTANCES = (7, 13, 9, 3, 8)
#: Checking may take so many times as long as the search, writing so many times as long as checking.
MOST, MOST_WRITING = 10, 5
#: Instances that one worker proves in a minute of CPU time, to be verified as optimal.
LONG_INSTANCES = (7, 13, 9, 3, 8, 11, 19, 2, 15, 6)


@pytest.mark.parametrize("workers", [1, 2])
def test_cpu_time_of_checking_over_that_of_the_search(benchmark: BenchmarkFixture, workers: int) -> None:
    every = [replace(klein2011([2011, idx]), expand_limit=1) for idx in INSTANCES]
    small = replace(klein2011(1, num_apps=(6, 6)), expand_limit=1)
    certify(small, EvolutionConflictSearch()(small, Budget()), ("makespan",))  # compiles

    def run() -> list[tuple[float, float, int]]:
        rows = []
        for problem in every:
            begun = time.process_time()
            result = EvolutionConflictSearch()(problem, Budget(seconds=600, workers=workers))
            found = time.process_time()
            assert result.status is Status.OPTIMAL
            assert result.certificate is not None
            assert certify(problem, result, ("makespan",)) == terms(result.bound)[0]
            size = len(str(result.certificate.get("log", "")))
            rows.append((found - begun, time.process_time() - found, size))
        return rows

    rows: Any = benchmark.pedantic(run, rounds=1)
    ratio = sum(checked for _, checked, _ in rows) / sum(found for found, _, _ in rows)
    benchmark.extra_info |= {
        "asked_ratio": MOST,
        "ratio": round(ratio, 2),
        "search_cpu_s": [round(found, 2) for found, _, _ in rows],
        "check_cpu_s": [round(checked, 2) for _, checked, _ in rows],
        "kilobytes_in_base_64": [round(size / 1000) for _, _, size in rows],
    }
    assert ratio <= MOST


def _proofs(instances: Iterable[int], folder: Path | None) -> list[dict[str, float]]:
    """Return CPU seconds and sizes for each instance; with a folder, have the optimum verified."""
    rows = []
    for idx in instances:
        problem = replace(klein2011([2011, idx]), expand_limit=1)
        begun = time.process_time()
        result = EvolutionConflictSearch(max_proof_mb=100)(problem, Budget(seconds=36000, workers=1))
        found = time.process_time()
        assert result.status is Status.OPTIMAL
        assert result.certificate is not None
        bound = int(terms(certify(problem, result, ("makespan",)))[0])
        checked = time.process_time()
        text = evolution_proof_text(problem, result.certificate, bound, result.answer)
        written = time.process_time()
        row = {
            "instance": idx,
            "makespan": bound,
            "search_cpu_s": round(found - begun, 2),
            "judge_cpu_s": round(checked - found, 2),
            "writing_cpu_s": round(written - checked, 2),
            "megabytes": round(len(text.proof) / 1e6, 1),
        }
        if folder is not None:
            file = folder / "proof"
            file.write_text(text.problem + text.proof, encoding="ascii")
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run([str(CHECKER), str(file)], capture_output=True, text=True, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            assert f"verified makespan = {bound}\n" in done.stdout
            row["checker_cpu_s"] = round(after.ru_utime - before.ru_utime, 2)
        rows.append(row)
    return rows


def test_cpu_time_of_writing_a_proof_over_that_of_checking_it(benchmark: BenchmarkFixture) -> None:
    _proofs(INSTANCES[:1], None)  # compiles
    rows: Any = benchmark.pedantic(lambda: _proofs(INSTANCES, None), rounds=1)
    ratio = sum(row["writing_cpu_s"] for row in rows) / sum(row["judge_cpu_s"] for row in rows)
    benchmark.extra_info |= {"asked_ratio": MOST_WRITING, "ratio": round(ratio, 2), "instances": rows}
    assert ratio <= MOST_WRITING


@needs_checker
@pytest.mark.skipif(
    not os.environ.get("ALLOCSOLVE_LONG_BENCHMARKS"), reason="takes minutes: set ALLOCSOLVE_LONG_BENCHMARKS"
)
def test_optima_of_ten_long_proofs_are_verified(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """Asked for: ten instances of the Klein size verified as optimal, by a schedule and a refutation."""
    _proofs(INSTANCES[:1], None)  # compiles
    rows: Any = benchmark.pedantic(lambda: _proofs(LONG_INSTANCES, tmp_path), rounds=1)
    ratios = [row["writing_cpu_s"] / max(0.01, row["judge_cpu_s"]) for row in rows]
    benchmark.extra_info |= {"asked_ratio": MOST_WRITING, "worst_ratio": max(ratios), "instances": rows}
    assert max(ratios) <= MOST_WRITING
