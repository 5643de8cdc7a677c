"""Searches in threads: what fails in one is raised, and Ctrl-C ends all of them with what is known."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from allocsolve import Budget
from allocsolve.exact import EvolutionConflictSearch
from allocsolve.heuristics import Annealing
from allocsolve.instances import klein2011
from allocsolve.judge import confirm
from allocsolve.kernels.threads import run_in_threads
from allocsolve.model import Limit
from allocsolve.registry import ready

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_fault_in_one_stops_the_others_and_is_raised() -> None:
    stop, stopped = threading.Event(), []

    def fails() -> None:
        msg = "broken"
        raise ArithmeticError(msg)

    def waits() -> None:
        stopped.append(stop.wait(60))

    with pytest.raises(ArithmeticError, match="broken"):
        run_in_threads([waits, fails, waits], stop)
    assert stopped == [True, True]


@pytest.mark.parametrize("solver", [Annealing(), EvolutionConflictSearch()])
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_ends_the_search_with_what_is_known(
    solver: Annealing | EvolutionConflictSearch, workers: int, press_ctrl_c: Callable[[], None]
) -> None:
    problem = replace(klein2011([2011, 18]), expand_limit=1)
    ready(solver, problem)
    press_ctrl_c()
    result = solver(problem, Budget(seconds=120, workers=workers))
    assert result.limit is Limit.INTERRUPTED
    confirm(problem, result, ("makespan",))
    assert result.runtime < 60
