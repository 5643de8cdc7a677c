"""Schedules whose times another program has rounded: right within a tolerance that the user chooses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from cli_tools import refused, run, run_json
from format_draws import random_workload_of
from hypothesis import example, given, settings, strategies as st
from tiers import examples

from allocsolve.errors import InvalidOption
from allocsolve.heuristics import MalleableMin
from allocsolve.instances import klein2011, write_problem, write_solution
from allocsolve.judge import violations, workload_breaches
from allocsolve.model import EvolutionSchedule, Job, PowerLaw, Stall, WorkloadProblem, WorkloadSchedule
from allocsolve.simulation import simulate

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]

#: 3 nodes for 700 s and a stall of 10 s: the last 1,900 node-seconds are done on 7 nodes in 271.428... s.
GROWS = Job(0, 4, 1000, min_nodes=3, max_nodes=7, speedup=PowerLaw(1), kind="malleable")
PROBLEM = WorkloadProblem(7, [replace(GROWS, reconfiguration=Stall(10))])
ROUNDED = WorkloadSchedule(np.array([0, 2]), np.array([0.0, 700]), np.array([700, 981.429]), np.array([3, 7]))


def rounded(schedule: WorkloadSchedule, digits: int) -> WorkloadSchedule:
    return replace(schedule, starts=np.round(schedule.starts, digits), ends=np.round(schedule.ends, digits))


def test_exact_by_default_and_right_within_what_is_chosen() -> None:
    (fault,) = violations(PROBLEM, ROUNDED)
    assert fault.startswith("job 'j0' ends with 1.00000")
    assert violations(PROBLEM, ROUNDED, tolerance=1e-3) == ()
    assert violations(PROBLEM, ROUNDED, tolerance=1e-5) == (fault,)
    late = replace(ROUNDED, ends=ROUNDED.ends + np.array([0, 0.01]))
    assert violations(PROBLEM, late, tolerance=1e-3)
    assert [breach.claim for breach in workload_breaches(PROBLEM, ROUNDED, ["run-times"])] == ["run-times"]
    assert workload_breaches(PROBLEM, ROUNDED, ["run-times"], tolerance=1e-3) == ()


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4))
@example(seed=192, digits=1)  # 1917.4 s in place of 1917.5, and a hair less in floating point
def test_what_is_rounded_is_right_within_the_unit_and_no_more(seed: int, digits: int) -> None:
    problem = random_workload_of(seed, "roa")
    schedule, unit = simulate(problem, MalleableMin()), 10.0**-digits
    assert violations(problem, schedule) == ()
    assert violations(problem, rounded(schedule, digits), tolerance=unit) == ()
    if len(problem.jobs):
        job = seed % len(problem.jobs)
        last = int(schedule.offsets[job + 1]) - 1
        ends, pieces = schedule.ends.copy(), slice(int(schedule.offsets[job]), last + 1)
        run_times = problem.run_times(schedule.nodes[pieces], np.full(last + 1 - pieces.start, job))
        # What the job does in one unit in each of its pieces, in seconds of the last one, and a little.
        ends[last] += 1.001 * unit * float((run_times[-1] / run_times).sum()) + 1e-4
        assert violations(problem, replace(schedule, ends=ends), tolerance=unit)


@pytest.mark.parametrize("tolerance", [-1, float("nan"), float("inf"), "1"])
def test_what_is_no_tolerance_is_refused(tolerance: float) -> None:
    with pytest.raises(InvalidOption, match="tolerance"):
        violations(PROBLEM, ROUNDED, tolerance=tolerance)


def test_whole_times_have_none() -> None:
    problem = klein2011([7, 0], num_apps=(3, 4))
    answer = EvolutionSchedule.of([0] * len(problem.applications), problem.applications)
    with pytest.raises(InvalidOption, match="times of evolution answers are whole"):
        violations(problem, answer, tolerance=1)


def test_the_commands_say_the_tolerance(tmp_path: Path, capsys: Capture) -> None:
    problem, schedule = tmp_path / "grows.json", tmp_path / "rounded.json"
    write_problem(PROBLEM, problem)
    write_solution(schedule, PROBLEM, ROUNDED, {})
    out = run(capsys, "check", problem, schedule, status=1)
    assert out.startswith("not feasible, 1 violation:\n")
    assert "  if its times were rounded: with --tolerance 0.001 it is feasible\n" in out
    worse, off = tmp_path / "worse.json", tmp_path / "off.json"
    write_solution(worse, PROBLEM, replace(ROUNDED, ends=np.array([700, 982.0])), {})
    assert "with --tolerance 1 it is feasible" in run(capsys, "check", problem, worse, status=1)
    write_solution(off, PROBLEM, replace(ROUNDED, ends=np.array([700, 990.0])), {})
    assert "rounded" not in run(capsys, "check", problem, off, status=1)
    assert "feasible within 0.001 s (" in run(capsys, "check", problem, schedule, "--tolerance", ".001")
    told = run_json(capsys, "check", problem, schedule, "--tolerance", ".001")
    assert (told["feasible"], told["tolerance_s"]) == (True, 0.001)
    told = run_json(capsys, "check", problem, schedule, status=1)
    assert (told["feasible"], told["tolerance_s"]) == (False, 0)
    claim = ("conformance", problem, schedule, "--claims", "run-times")
    assert "1 of 1 claim does not hold\n" in run(capsys, *claim, status=1)
    assert "all hold within 0.001 s (" in run(capsys, *claim, "--tolerance", "1e-3")
    assert run_json(capsys, *claim, "--tolerance", "1e-3")["tolerance_s"] == 0.001
    for wrong, fault in (
        ("-1", "-1 is not a finite"),
        ("inf", "inf is not a finite"),
        ("ms", "'ms' is not a"),
    ):
        assert f"--tolerance: {fault}" in refused(capsys, "check", problem, schedule, f"--tolerance={wrong}")
