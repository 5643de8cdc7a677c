"""Executions of a thousand jobs: bookings and the leak, with calibration apart.

Fixed work: the first stream after Linnert et al. 2024 on 16x8, at normal and at very heavy load, with
programs of one kind or mixed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest

from allocsolve.heuristics import Static
from allocsolve.instances import linnert2024
from allocsolve.model import SUCCESSFUL, Budget
from reproductions.linnert2024.programs import execute, execute_leaking

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from allocsolve.model import ReservationSchedule

#: How many jobs are successful: of bookings by ``literal``, and with the leak.
SUCCESSES = {
    (1500, 0): (515, 942),
    (1500, 1): (498, 929),
    (1500, 2): (482, 933),
    (1500, 3): (469, 994),
    (1500, "mixed"): (485, 968),
    (1, 0): (415, 427),
    (1, 1): (433, 427),
    (1, 2): (404, 382),
    (1, 3): (385, 449),
    (1, "mixed"): (415, 421),
}


def _successes(schedule: ReservationSchedule) -> int:
    return int(np.count_nonzero(schedule.outcomes == SUCCESSFUL))


@pytest.mark.parametrize(("gap", "kind"), SUCCESSES)
def test_a_thousand_bookings(benchmark: BenchmarkFixture, gap: int, kind: int | Literal["mixed"]) -> None:
    """Calibrated before: .1 to .2 s to be had, programs are built in that time."""
    problem = linnert2024(0, gap=gap, program=kind, leaking=True)
    booked = Static("literal")(problem, Budget()).answer
    assert booked is not None
    execute(problem, booked)
    done = benchmark.pedantic(execute, (problem, booked), rounds=3)
    assert _successes(done) == SUCCESSES[gap, kind][0]


@pytest.mark.parametrize(("gap", "kind"), SUCCESSES)
def test_a_thousand_jobs_leak(benchmark: BenchmarkFixture, gap: int, kind: int | Literal["mixed"]) -> None:
    """Calibrated before: .2 to .7 s to be had, programs are built in that time."""
    problem = linnert2024(0, gap=gap, program=kind, leaking=True)
    execute_leaking(problem)
    done = benchmark.pedantic(execute_leaking, (problem,), rounds=3)
    assert _successes(done) == SUCCESSES[gap, kind][1]
