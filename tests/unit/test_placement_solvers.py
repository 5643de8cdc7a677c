"""What exact solvers of placement say when they are stopped, and what they refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from allocsolve.bounds import placement_bound
from allocsolve.errors import UnknownName, UnsupportedProblem
from allocsolve.exact import PlacementCpSat, TreeKnapsack
from allocsolve.exact.placement import cpsat, tree_knapsack
from allocsolve.instances import uniform_occupancy
from allocsolve.judge import confirm
from allocsolve.model import Budget, Limit, PlacementProblem, Status, SwitchTree

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL_PODS = uniform_occupancy(SwitchTree.regular((3, 4, 6), (), (4, 3)), 0.4, 20, 1)
ORDER = ("domains", "pairwise")


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("make", [TreeKnapsack, PlacementCpSat])
def test_objectives_are_those_of_the_family(make: Callable[..., object]) -> None:
    assert repr(make("domains, pairwise")) == repr(make(ORDER))
    with pytest.raises(UnknownName, match="makespan"):
        placement_bound(SMALL_PODS, "makespan")


@pytest.mark.parametrize("make", [TreeKnapsack, PlacementCpSat])
def test_a_term_without_a_model_is_refused_in_a_line(make: Any) -> None:
    solver = make()
    object.__setattr__(solver, "objective", ("cable",))  # a term that its family has, and it has not
    with pytest.raises(UnsupportedProblem, match=r"objective 'cable': this solver has no model of it"):
        solver(SMALL_PODS, Budget())


def test_tables_that_are_too_large_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_knapsack, "_MAX_MEMORY", 10)
    result = confirm(SMALL_PODS, TreeKnapsack(ORDER)(SMALL_PODS, Budget()), ORDER)
    assert (result.status, result.limit, result.certificate) == (Status.FEASIBLE, Limit.SIZE, None)
    assert result.bound == (placement_bound(SMALL_PODS, "domains"),)


def test_a_stop_between_terms_keeps_what_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    first = TreeKnapsack()(SMALL_PODS, Budget())
    monkeypatch.setattr(tree_knapsack.TableSearch, "check_clock", interrupt)
    order = ("pairwise", "bottleneck")
    result = confirm(SMALL_PODS, TreeKnapsack(order)(SMALL_PODS, Budget()), order)
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.INTERRUPTED)
    assert result.bound == (first.objective, placement_bound(SMALL_PODS, "bottleneck"))
    assert result.certificate == first.certificate


def test_cpsat_bounds_what_it_cannot_prove(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ortools")
    result = PlacementCpSat(max_nodes=3)(SMALL_PODS, Budget())
    assert (result.status, result.limit) == (Status.UNKNOWN, Limit.SIZE)
    assert result.bound == placement_bound(SMALL_PODS, "pairwise")
    monkeypatch.setattr(cpsat, "_balance", interrupt)
    result = PlacementCpSat(ORDER)(SMALL_PODS, Budget())
    assert (result.status, result.limit) == (Status.UNKNOWN, Limit.INTERRUPTED)
    monkeypatch.undo()
    run: Any = cpsat._Search._run
    outcomes: list[object] = []

    def stopped(*args: object) -> object:
        outcome, least = run(*args)
        outcomes.append(outcome)
        return outcome._replace(optimal=len(outcomes) < 2, interrupted=len(outcomes) > 1), least

    monkeypatch.setattr(cpsat._Search, "_run", stopped)
    result = PlacementCpSat((*ORDER, "leftover"))(SMALL_PODS, Budget())
    optimum = TreeKnapsack(ORDER)(SMALL_PODS, Budget()).objective
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.INTERRUPTED)
    assert result.bound == optimum  # the bound of the run that was said not to be done


def test_a_machine_of_many_levels_and_of_one() -> None:
    chain = SwitchTree(np.arange(-1, 15), np.array([15, 15, 15]))
    for tree, hops in (chain, 2), (SwitchTree.regular((3,)), 2):
        problem = PlacementProblem.of(tree, size=3)
        for term, value in (("pairwise", 3 * hops), ("bottleneck", 0), ("domains", 1), ("leftover", 0)):
            result = confirm(problem, TreeKnapsack((term,))(problem, Budget()), (term,))
            assert (result.status, result.objective) == (Status.OPTIMAL, value)
