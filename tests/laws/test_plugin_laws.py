"""Whatever is typed where a solver is named gives a solver or one clear line."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from allocsolve.errors import PluginError, UnknownName
from allocsolve.families import families
from allocsolve.model import EvolutionProblem
from allocsolve.registry import make_solver
from allocsolve.registry.table import registered_names

REGISTERED = {name for family in families() for name in registered_names(family)}

words = st.text(max_size=8) | st.sampled_from(["no_such_module", "math", "allocsolve", "lambda", "..", " "])


#: What is in parentheses are options: `test_solver_name_laws`.
plain = words.filter(lambda word: not {*"()"} & {*word})


@given(st.lists(plain, min_size=2, max_size=4))
def test_references_to_nothing(parts: list[str]) -> None:
    name = ":".join(parts)
    with pytest.raises(PluginError) as caught:
        make_solver(name, EvolutionProblem)
    assert repr(name) in str(caught.value)
    assert "\n" not in str(caught.value)


@given(plain.filter(lambda word: ":" not in word and word not in REGISTERED))
def test_unknown_names(name: str) -> None:
    with pytest.raises(UnknownName) as caught:
        make_solver(name, EvolutionProblem)
    assert repr(name) in str(caught.value)
