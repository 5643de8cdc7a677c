"""The MILP: hand instances, the slow twin, and honest answers when it does not finish."""

from __future__ import annotations

import math
import random
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING

import pulp
import pytest

from allocsolve.backends import cbc
from allocsolve.bounds import makespan_bound
from allocsolve.errors import SolverUnavailable
from allocsolve.exact import EvolutionMilp
from allocsolve.exact.evolution import milp
from allocsolve.judge import evolution_value, evolution_violations
from allocsolve.model import (
    Budget,
    EvolutionObjective,
    EvolutionProblem,
    EvolutionProfile,
    EvolutionSchedule,
    Limit,
    Result,
    Status,
    terms,
)

if TYPE_CHECKING:
    from pathlib import Path


def problem_of(
    num_nodes: int, *apps: list[tuple[int, int]], limit: float = 1, releases: tuple[int, ...] = ()
) -> EvolutionProblem:
    return EvolutionProblem(num_nodes, tuple(EvolutionProfile(tuple(app)) for app in apps), releases, limit)


#: No order of list scheduling finds the optimum, 6.
INCOMPLETE = problem_of(3, [(1, 2), (2, 2), (2, 3)], [(2, 1)], [(2, 1)])


def holes(limit: float) -> EvolutionProblem:
    """Two applications that fit into the holes of a third, if these may grow to 2 and 3 s."""
    return problem_of(4, [(1, 4), (1, 1), (1, 4), (1, 1), (1, 4)], [(2, 3)], [(3, 3)], limit=limit)


def judged(
    problem: EvolutionProblem, objective: EvolutionObjective = ("makespan",), budget: Budget | None = None
) -> Result[EvolutionSchedule]:
    result = EvolutionMilp(objective)(problem, budget or Budget())
    if result.answer is not None:
        assert evolution_violations(problem, result.answer) == ()
        assert result.objective is not None
        assert terms(result.objective) == terms(evolution_value(problem, result.answer, objective))
    return result


def test_time_is_counted_in_the_largest_exact_unit() -> None:
    # 1.5 * 60 = 90 s is a time that matters; the first and the last step do too, for simplicity.
    problem = problem_of(4, [(20, 1), (60, 1), (20, 1)], [(40, 4)], limit=1.5, releases=(0, 100))
    assert milp.time_unit(problem) == 10
    assert milp.time_unit(problem_of(4, [(20, 1), (60, 1), (20, 1)], [(40, 4)], limit=9)) == 20
    hours = problem_of(3, *([(3600 * d, n) for d, n in app.steps] for app in INCOMPLETE.applications))
    result = judged(hours)
    assert (result.status, result.objective) == (Status.OPTIMAL, 6 * 3600)


@pytest.mark.parametrize(
    ("problem", "max_variables"),
    [
        (problem_of(3, [(5, 2)], [(4, 2)]), 8),
        (problem_of(100, *([(3571, 60), (1009, 75)] for _ in range(15))), 60_000),
        (problem_of(10**7, [(5, 10**7)], [(5, 2)]), 60_000),
    ],
)
def test_too_large_is_said_at_once(problem: EvolutionProblem, max_variables: int) -> None:
    result = EvolutionMilp(max_variables=max_variables)(problem, Budget())
    assert (result.status, result.limit, result.answer) == (Status.UNKNOWN, Limit.SIZE, None)
    assert result.bound == makespan_bound(problem)
    assert result.runtime < 1


def hard_problem() -> EvolutionProblem:
    rng = random.Random(5)
    apps = [[(rng.randint(1, 40), rng.randint(1, 7)) for _ in range(5)] for _ in range(10)]
    return problem_of(10, *apps, limit=2)


@pytest.mark.parametrize("seconds", [1e-6, 0.3])
@pytest.mark.parametrize("objective", [("makespan",), ("completion", "waste")])
def test_out_of_time_is_a_result(seconds: float, objective: EvolutionObjective) -> None:
    started = time.perf_counter()
    result = judged(hard_problem(), objective, Budget(seconds=seconds, workers=2))
    assert time.perf_counter() - started < 60  # not a measurement: CBC alone would go on for hours
    assert result.status in (Status.UNKNOWN, Status.FEASIBLE)
    assert result.limit is Limit.TIME


def claim(patch: pytest.MonkeyPatch, *statuses: int) -> None:
    """Let CBC solve each stage, but say in turn that it came to these statuses."""
    left = list(statuses)

    def run(model: object, seconds: float, workers: int) -> int:
        cbc.run_cbc(model, seconds, workers)
        return left.pop(0)

    patch.setattr(milp, "run_cbc", run)


def test_an_incumbent_is_not_called_optimal(monkeypatch: pytest.MonkeyPatch) -> None:
    claim(monkeypatch, pulp.LpSolutionIntegerFeasible)
    result = judged(holes(1), budget=Budget(seconds=600))
    assert (result.status, result.limit, result.objective) == (Status.FEASIBLE, Limit.TIME, 10)
    assert result.bound == makespan_bound(holes(1)) == 8


def test_an_incumbent_at_a_bound_is_optimal(monkeypatch: pytest.MonkeyPatch) -> None:
    claim(monkeypatch, pulp.LpSolutionIntegerFeasible)
    result = judged(INCOMPLETE)
    assert (result.status, result.objective, result.bound) == (Status.OPTIMAL, 6, makespan_bound(INCOMPLETE))


def test_a_later_term_may_stay_open(monkeypatch: pytest.MonkeyPatch) -> None:
    claim(monkeypatch, pulp.LpSolutionOptimal, pulp.LpSolutionNoSolutionFound)
    result = judged(holes(math.inf), ("makespan", "waste"), Budget(seconds=600))
    assert (result.status, result.limit, result.bound) == (Status.FEASIBLE, Limit.TIME, (8, 0))
    assert terms(result.objective or 0)[0] == 8


def test_infeasible_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    claim(monkeypatch, pulp.LpSolutionInfeasible)  # every problem has a schedule
    result = EvolutionMilp()(INCOMPLETE, Budget())
    assert (result.status, result.answer, result.limit) == (Status.UNKNOWN, None, None)


def test_no_word_and_no_file_is_left(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    judged(INCOMPLETE, ("makespan", "completion"))
    judged(hard_problem(), budget=Budget(seconds=0.5))
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_is_passed_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(subprocess, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        EvolutionMilp()(INCOMPLETE, Budget())
    assert list(tmp_path.iterdir()) == []


def test_a_cbc_that_overruns_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stubborn = tmp_path / "cbc"
    stubborn.write_text("#!/bin/sh\nexec sleep 3600\n")
    stubborn.chmod(0o755)
    monkeypatch.setattr(pulp.PULP_CBC_CMD, "pulp_cbc_path", str(stubborn))
    result = EvolutionMilp()(INCOMPLETE, Budget(seconds=0.3))
    assert (result.status, result.limit) == (Status.UNKNOWN, Limit.TIME)
    assert result.runtime < 60


@pytest.mark.parametrize("script", [None, "#!/bin/sh\nexit 3\n", "#!/bin/sh\nexit 0\n"])
def test_a_cbc_that_does_not_run_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str | None
) -> None:
    broken = tmp_path / "cbc"
    if script is not None:
        broken.write_text(script)
        broken.chmod(0o755)
    monkeypatch.setattr(pulp.PULP_CBC_CMD, "pulp_cbc_path", str(broken))
    with pytest.raises(SolverUnavailable, match="pip install"):
        EvolutionMilp()(INCOMPLETE, Budget())
