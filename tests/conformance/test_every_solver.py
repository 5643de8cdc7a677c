"""The public suite on every registered solver of every kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from allocsolve.registry import make_solver, solver_rows
from allocsolve.testing import check_solver

if TYPE_CHECKING:
    from allocsolve.families import AnyFamily


@pytest.mark.parametrize(
    ("family", "name"),
    [pytest.param(family, row.name, id=f"{family.kind}-{row.name}") for family, row in solver_rows()],
)
def test_the_contract(family: AnyFamily, name: str) -> None:
    check_solver(make_solver(name, family.problem))
