"""The public suite on every registered solver of every kind."""

from __future__ import annotations

import pytest

from allocsolve.registry import Entry, entries, make_solver
from allocsolve.testing import check_solver


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: f"{entry.problem.__name__}-{entry.name}")
def test_the_contract(entry: Entry) -> None:
    check_solver(make_solver(entry.name, entry.problem))
