"""Readiness: after it, no registered solver compiles or loads anything, on problems of whatever sort."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from compilation import cold_start
from offenders import all_offenders
from process_tools import python

from allocsolve.families import families, family_named
from allocsolve.instances import klein2011
from allocsolve.model import Budget
from allocsolve.registry import solve, solver_names

#: Examples of each family that an exact solver proves at once.
SMALL = ("three times the full machine", "two halves", "one job that may leak", "one switch")

TOOL = Path(__file__).resolve().parents[1] / "readiness.py"


@pytest.mark.parametrize("kind", [family.kind for family in families()])
def test_a_solver_that_is_ready_compiles_nothing(kind: str) -> None:
    late: dict[str, list[str]] = json.loads(python(TOOL, kind)[0])
    assert set(late) <= set(solver_names(family_named(kind)))
    assert len(late) > 5
    assert not {solver: kernels for solver, kernels in late.items() if kernels}


def test_a_list_compiles_nothing_after_it_was_made_ready_on_an_empty_cache() -> None:
    problem = klein2011(3, num_apps=(9, 9))
    assert cold_start("infX+c", problem, Budget(seconds=2)).compiled == []


#: An exact solver of each family: whatever is compiled late costs it its proof.
EXACT = {
    "evolution": "conflict-search",
    "partition": "branch-and-bound",
    "workload": "date-branching",
    "reservation": "prices",
    "placement": "tree-knapsack",
}


def _is_as_on_a_warm_cache(kind: str, solver: str, cache: Path) -> None:
    """Solve a small problem, with the proof of a warm call; compiling alone took longer than this allows."""
    (problem,) = (one for one in family_named(kind).examples() if one.name in SMALL)
    warm = solve(problem, solver, seconds=60)
    cold = cold_start(solver, problem, Budget(seconds=2), cache=cache)
    assert cold.compiled == []
    assert cold.status == warm.status
    assert cold.wall_s <= 1.1 * 2 + 5


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind == "placement" else pytest.mark.release) for kind in EXACT]
)
def test_two_seconds_are_two_seconds_on_a_new_cache(kind: str, tmp_path: Path) -> None:
    """An exact solver of each family; what the others may need late is seen by the test of readiness."""
    _is_as_on_a_warm_cache(kind, EXACT[kind], tmp_path)


def test_two_seconds_are_two_seconds_for_every_solver(tmp_path: Path) -> None:
    """One cache for all, empty at first: what another has compiled is seen by the test of readiness."""
    with all_offenders() as offender:
        for family in families():
            for row in family.solvers:
                if row.name != EXACT[family.kind]:
                    with offender(f"{row.name} of {family.kind}"):
                        _is_as_on_a_warm_cache(family.kind, row.name, tmp_path)
