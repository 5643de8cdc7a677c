"""The public suite on every registered solver of every kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from allocsolve.families import families
from allocsolve.registry import make_solver, solver_names
from allocsolve.testing import check_solver

if TYPE_CHECKING:
    from allocsolve.families import AnyFamily


@pytest.mark.parametrize(
    ("family", "name"),
    [
        pytest.param(family, name, id=f"{family.kind}-{name}")
        for family in families()
        for name in solver_names(family)
    ],
)
def test_the_contract(family: AnyFamily, name: str) -> None:
    check_solver(make_solver(name, family.problem))
