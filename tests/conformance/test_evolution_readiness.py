"""What is compiled before the clock starts is all that a solver of evolution problems needs."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from compilation import cold_start

from allocsolve import Budget, EvolutionProblem, EvolutionProfile
from allocsolve.families import family_of
from allocsolve.instances import klein2011
from allocsolve.registry import solver_names

NAMES = list(solver_names(family_of(EvolutionProblem)))
BUDGET = Budget(seconds=2, iterations=1000)

KLEIN = klein2011(3, num_apps=(9, 9))
#: Each takes another way through the solvers: problem, objective, workers.
CASES = {
    "no expansion": (replace(KLEIN, expand_limit=1), "makespan", 1),
    "a limit that rounds down to none": (
        EvolutionProblem(3, (EvolutionProfile([(1, 1), (1, 2), (1, 3)]),) * 9, expand_limit=1.5),
        "makespan",
        1,
    ),
    "little expansion, late releases": (
        replace(KLEIN, expand_limit=1.01, releases=tuple(range(0, 9000, 1000))),
        "makespan,waste",
        1,
    ),
    "expansion, mean completion": (replace(KLEIN, expand_limit=1.5), "completion", 1),
    "all expansion, threads": (replace(KLEIN, expand_limit=math.inf), "makespan", 2),
    "no expansion, threads": (replace(KLEIN, expand_limit=1), "makespan", 3),
    "waste": (replace(KLEIN, expand_limit=math.inf), "waste", 1),
    "too many for delays": (klein2011(1, num_apps=(300, 300), expand_limit=1), "makespan", 1),
    "thousands": (klein2011(1, num_apps=(1600, 1600)), "makespan", 1),
}


def test_a_list_is_ready() -> None:
    assert cold_start("infX+c", KLEIN, BUDGET).compiled == []


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", NAMES)
def test_every_solver_is_ready(name: str, case: str) -> None:
    problem, objective, workers = CASES[case]
    assert cold_start(name, problem, replace(BUDGET, workers=workers), objective).compiled == []
