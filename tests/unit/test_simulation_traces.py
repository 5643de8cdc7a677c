"""Queue policies on whole logs: figures of two independent programs, and memory."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from when_tools import easy_history, measured, plan_errors
from workload_traces import knl_problem, kth_problem, window_turnaround

from allocsolve.heuristics.workload.conservative import Compression, Conservative, conservative_plan
from allocsolve.heuristics.workload.policies import Easy, Fcfs, FirstFit
from allocsolve.model import Budget

if TYPE_CHECKING:
    from pathlib import Path


def test_window_turnaround_of_cori_knl(traces: Path) -> None:
    problem = knl_problem(traces)
    expected: dict[Fcfs | FirstFit | Easy, float] = {FirstFit(): 4550.60, Easy(): 5077.82, Fcfs(): 6822.59}
    expected |= {Easy(strict=True): 5077.98, Easy(extra_nodes=False): 5205.63, Easy(like="flux"): 5205.63}
    expected |= {Easy(like="accasim"): 4550.60, Easy(estimate="actual"): 5664.49}
    values = {policy: window_turnaround(problem, policy.simulated(problem).schedule) for policy in expected}
    assert values == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(
    ("compression", "knl", "kth"), [("compress", 5003.21, 16_205.93), ("replan", 5199.86, 16_941.74)]
)
def test_conservative_backfilling_of_two_logs(
    traces: Path, compression: Compression, knl: float, kth: float
) -> None:
    cori, kth_sp2 = knl_problem(traces), kth_problem(traces)
    schedule = Conservative(compression)(cori, Budget()).answer
    assert schedule is not None
    assert window_turnaround(cori, schedule) == pytest.approx(knl, abs=0.05)
    schedule = Conservative(compression)(kth_sp2, Budget()).answer
    assert schedule is not None
    assert (schedule.last_ends - kth_sp2.packed.submit).mean() == pytest.approx(kth, abs=0.05)


def test_no_job_of_two_logs_starts_after_its_promise(traces: Path) -> None:
    for problem in (knl_problem(traces), kth_problem(traces)):
        plan = conservative_plan(problem)
        assert (plan.starts <= plan.promised).all()


def test_kth_under_easy(traces: Path) -> None:
    """Questions at submissions, of jobs that wait; docs/when.md has more of them, and other logs."""
    history = easy_history(traces, "KTH")
    simulation, analogues = measured(history, "submission", 500)
    assert simulation.questions == 500 - 2 * 100
    assert 0.84 <= simulation.coverage <= 0.95
    assert simulation.score < analogues.score
    by_limits, _ = plan_errors(history, "submission", 500, 50)
    assert simulation.error <= by_limits / 2


CODE = """
from memory_tools import peak_mb
from allocsolve import Budget
from allocsolve.heuristics import Easy
from allocsolve.instances import lublin1999
from allocsolve.judge import confirm

problem = lublin1999(0, num_jobs=300_000)
generated = peak_mb()
result = confirm(problem, Easy()(problem, Budget()), ("turnaround",))
print(result.objective is not None, generated, peak_mb())
"""


def test_easy_on_300_000_jobs_takes_less_than_1_gb() -> None:
    """About .2 GB for the problem, .3 GB with the run and the judge."""
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, env=where)
    judged, generated, peak = done.stdout.split()
    assert judged == "True"
    assert float(generated) < 500
    assert float(peak) < 1000
