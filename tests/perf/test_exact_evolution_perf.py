"""What is proven within a time, two workers, fixed seeds: one benchmark for each promised figure.

They take hours, and run only if ``ALLOCSOLVE_LONG_BENCHMARKS`` is set. Each shows what was asked for beside
what was reached (``extra_info``, ``--benchmark-json``): seconds, and the open gap in per cent, of every
instance. Only wrong answers fail; a missed figure is shown as it is.
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from allocsolve import Budget, EvolutionProblem, Status
from allocsolve.exact import EvolutionConflictSearch, EvolutionCpSat
from allocsolve.heuristics import Annealing
from allocsolve.instances import klein2011
from allocsolve.judge import confirm
from allocsolve.model import terms

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from allocsolve.model import EvolutionObjective


pytestmark = pytest.mark.skipif(
    not os.environ.get("ALLOCSOLVE_LONG_BENCHMARKS"), reason="takes hours: set ALLOCSOLVE_LONG_BENCHMARKS"
)


class Aim(NamedTuple):
    """Instances 0, 1, ... of one kind, how many are to be proven within the seconds, and their gap."""

    seed: int
    num_apps: tuple[int, int]
    limit: float
    objective: EvolutionObjective
    seconds: float
    proven: int
    instances: int = 20
    #: Of all of them in the mean, in per cent.
    gap: float = math.inf


AIMS = {
    "makespan-12-apps": Aim(12, (12, 12), 1, ("makespan",), 5, 20),
    "makespan-klein-60s": Aim(2011, (15, 20), 1, ("makespan",), 60, 18),
    "makespan-klein-600s": Aim(2011, (15, 20), 1, ("makespan",), 600, 20),
    "unlimited-10-apps": Aim(10, (10, 10), math.inf, ("makespan",), 60, 10, 10),
    "limit-2-10-apps": Aim(10, (10, 10), 2, ("makespan",), 60, 18),
    "limit-2-klein": Aim(2011, (15, 20), 2, ("makespan",), 60, 5, 10),
    "unlimited-klein": Aim(2011, (15, 20), math.inf, ("makespan",), 60, 0, 10, 19.0),
    "unlimited-klein-others": Aim(4711, (15, 20), math.inf, ("makespan",), 60, 0, 10, 19.0),
    "completion-10-apps": Aim(10, (10, 10), 1, ("completion",), 60, 20),
    "completion-12-apps": Aim(12, (12, 12), 1, ("completion",), 60, 18),
}

#: Proven makespans of `klein2011` instances with seed [2011, index], limit 1.
KLEIN_OPTIMA = {
    0: 97019,
    2: 89824,
    3: 65032,
    4: 122717,
    5: 111531,
    6: 100811,
    7: 62023,
    8: 94168,
    9: 70620,
    11: 67322,
    12: 124123,
    13: 67804,
    14: 104237,
    15: 109146,
    16: 85423,
    17: 105051,
    19: 71046,
}


def problems(aim: Aim) -> list[EvolutionProblem]:
    drawn = (klein2011([aim.seed, idx], num_apps=aim.num_apps) for idx in range(aim.instances))
    return [replace(problem, expand_limit=aim.limit) for problem in drawn]


@pytest.mark.parametrize("solver", [EvolutionCpSat, EvolutionConflictSearch])
@pytest.mark.parametrize("name", AIMS)
def test_what_is_proven_in_time(
    benchmark: BenchmarkFixture, name: str, solver: type[EvolutionCpSat | EvolutionConflictSearch]
) -> None:
    aim = AIMS[name]
    EvolutionConflictSearch()(replace(klein2011(1, num_apps=(3, 3)), expand_limit=1), Budget())  # compiles

    def run() -> list[tuple[float, float, bool]]:
        rows = []
        for idx, problem in enumerate(problems(aim)):
            result = solver(aim.objective)(problem, Budget(seconds=aim.seconds, workers=2))
            judged = confirm(problem, result, aim.objective)
            assert judged.objective is not None
            (value,), (bound,) = terms(judged.objective), terms(judged.bound)
            proven = judged.status is Status.OPTIMAL
            if aim.seed == 2011 and aim.limit == 1 and idx in KLEIN_OPTIMA:
                assert bound <= KLEIN_OPTIMA[idx] <= value
            rows.append((round(result.runtime, 1), round(100 * (value / bound - 1), 1), proven))
        return rows

    rows: Any = benchmark.pedantic(run, rounds=1)
    gaps = [gap for _, gap, proven in rows if not proven]
    benchmark.extra_info |= {
        "asked_proven": aim.proven,
        "proven": sum(proven for _, _, proven in rows),
        "asked_mean_gap_percent": aim.gap,
        "mean_gap_percent": round(sum(gap for _, gap, _ in rows) / len(rows), 1),
        "mean_open_gap_percent": round(sum(gaps) / max(1, len(gaps)), 1),
        "seconds": [seconds for seconds, _, _ in rows],
        "gaps_percent": [gap for _, gap, _ in rows],
    }
    assert all(seconds < 1.1 * aim.seconds + 1 for seconds, _, _ in rows)


def test_annealing_against_proven_optima(benchmark: BenchmarkFixture) -> None:
    """Asked for: after 3 s 0.7 % above the optimum in the mean, 2.5 % at worst; 50,000 schedules a second."""
    every = {idx: replace(klein2011([2011, idx]), expand_limit=1) for idx in KLEIN_OPTIMA}
    Annealing()(every[7], Budget(iterations=100))  # compiles

    def run() -> list[float]:
        excess = []
        for idx, problem in every.items():
            found = confirm(problem, Annealing()(problem, Budget(3, workers=2)), ("makespan",)).objective
            assert found is not None
            excess.append(100 * (terms(found)[0] / KLEIN_OPTIMA[idx] - 1))
        return excess

    excess: Any = benchmark.pedantic(run, rounds=1)
    begun = time.process_time()
    Annealing()(every[2], Budget(iterations=100_000))
    benchmark.extra_info |= {
        "schedules_per_cpu_second": round(100_000 / (time.process_time() - begun)),
        "mean_excess_percent": round(sum(excess) / len(excess), 2),
        "worst_excess_percent": round(max(excess), 2),
    }
    assert min(excess) >= 0
