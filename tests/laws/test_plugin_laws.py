"""Whatever is typed where a solver is named gives a solver or one clear line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocsolve.errors import PluginError, UnknownName
from allocsolve.model import EvolutionProblem
from allocsolve.registry import make_solver, solver_rows

KNOWN = {row.name for _, row in solver_rows()}

words = st.text(max_size=8) | st.sampled_from(["no_such_module", "math", "allocsolve", "lambda", "..", " "])


@given(st.lists(words, min_size=2, max_size=4))
def test_references_to_nothing(parts: list[str]) -> None:
    name = ":".join(parts)
    with pytest.raises(PluginError) as caught:
        make_solver(name, EvolutionProblem)
    assert repr(name) in str(caught.value)
    assert "\n" not in str(caught.value)


@given(words.filter(lambda word: ":" not in word and word not in KNOWN))
def test_unknown_names(name: str) -> None:
    with pytest.raises(UnknownName) as caught:
        make_solver(name, EvolutionProblem)
    assert repr(name) in str(caught.value)
