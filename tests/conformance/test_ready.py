"""Readiness: after it, no registered solver compiles or loads anything, on problems of whatever sort."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from compilation import cold_start

from allocsolve.families import families, family_named
from allocsolve.instances import klein2011
from allocsolve.model import Budget
from allocsolve.registry import solve, solver_names

#: Examples of each family that an exact solver proves at once.
SMALL = ("three times the full machine", "two halves", "one job that may leak", "one switch")

TOOL = Path(__file__).resolve().parents[1] / "readiness.py"


def _unready(kind: str) -> dict[str, list[str]]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    output = subprocess.run([sys.executable, TOOL, kind], env=environment, check=True, stdout=subprocess.PIPE)
    unready: dict[str, list[str]] = json.loads(output.stdout)
    return unready


@pytest.mark.parametrize("kind", [family.kind for family in families()])
def test_a_solver_that_is_ready_compiles_nothing(kind: str) -> None:
    late = _unready(kind)
    assert set(late) <= set(solver_names(family_named(kind)))
    assert len(late) > 5
    assert not {solver: kernels for solver, kernels in late.items() if kernels}


def test_a_list_compiles_nothing_after_it_was_made_ready_on_an_empty_cache() -> None:
    problem = klein2011(3, num_apps=(9, 9))
    assert cold_start("infX+c", problem, Budget(seconds=2)).compiled == []


@pytest.fixture(scope="module")
def caches(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a cache of machine code for each family, empty at first: its solvers share many kernels."""
    return {family.kind: tmp_path_factory.mktemp(family.kind) for family in families()}


@pytest.mark.parametrize(
    ("kind", "solver"),
    [
        pytest.param(family.kind, row.name, marks=pytest.mark.xdist_group(f"cache of {family.kind}"))
        for family in families()
        for row in family.solvers
    ],
)
def test_two_seconds_are_two_seconds_on_a_new_cache(kind: str, solver: str, caches: dict[str, Path]) -> None:
    """A small problem, with the proof of a warm call; compiling alone took longer than this end allows.

    What a solver needs that another one has compiled before is seen by the test of readiness.
    """
    (problem,) = (one for one in family_named(kind).examples() if one.name in SMALL)
    warm = solve(problem, solver, seconds=60)
    cold = cold_start(solver, problem, Budget(seconds=2), cache=caches[kind])
    assert cold.compiled == []
    assert cold.status == warm.status
    assert cold.wall_s <= 1.1 * 2 + 5
