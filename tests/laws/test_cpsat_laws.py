"""CP-SAT from above and from below: whichever ends with the proof, it is that of brute force."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import pytest
from hypothesis import given, settings, strategies as st
from naive_optimum import optimum
from strategies import evolution_problems
from tiers import examples

from allocsolve.bounds import longest_application
from allocsolve.exact import EvolutionCpSat
from allocsolve.exact.evolution.cpsat import EvolutionCpSatParams
from allocsolve.instances import klein2011
from allocsolve.judge import confirm
from allocsolve.model import Budget, EvolutionObjective, EvolutionProblem, Status

OBJECTIVES: tuple[EvolutionObjective, ...] = (("makespan",), ("completion",), ("makespan", "waste"))


def shares(above: float) -> EvolutionCpSatParams:
    """How much of the time goes into the search from above, whatever the term."""
    return EvolutionCpSatParams(above_share_of_makespan=above, above_share_of_completion=above)


@settings(max_examples=examples(80))
@given(
    evolution_problems(max_nodes=3, max_apps=3, max_steps=2, max_duration=3),
    st.sampled_from(OBJECTIVES),
    st.sampled_from((0.0, 1.0)),
    st.sampled_from((1, 2)),
)
def test_optima_from_either_side_are_those_of_brute_force(
    problem: EvolutionProblem, objective: EvolutionObjective, above: float, workers: int
) -> None:
    # A weak bound, so that something is left to prove.
    with mock.patch("allocsolve.exact.evolution.cpsat.makespan_bound", longest_application):
        result = EvolutionCpSat(objective, params=shares(above))(
            problem, Budget(seconds=600, workers=workers)
        )
    confirm(problem, result, objective)
    assert result.status is Status.OPTIMAL
    found = result.objective if isinstance(result.objective, tuple) else (result.objective,)
    assert found == optimum(problem, objective)


@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_a_bound_from_below_is_never_above_the_optimum(limit: float, seed: int) -> None:
    problem = replace(klein2011([78, seed], num_apps=(6, 6)), expand_limit=limit)
    best = EvolutionCpSat()(problem, Budget(seconds=600, workers=2))
    assert best.status is Status.OPTIMAL
    for seconds in (0.3, 1.0, 600.0):
        result = EvolutionCpSat(params=shares(0.0))(problem, Budget(seconds=seconds, workers=2))
        assert result.bound <= best.objective <= result.objective  # type: ignore[operator]  # the value of one term is a number
    assert result.objective == result.bound
