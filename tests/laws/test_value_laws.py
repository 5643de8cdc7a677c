"""Problems and answers of all families are values, which copies and files keep; digests tell them apart."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from schema_draws import DRAWS, documents, names_in, refusal, spoilt, through_text
from tiers import examples

from allocsolve.cli.schema import schemas
from allocsolve.instances import digest, read_problem, read_solution, write_problem, write_solution
from allocsolve.instances.formats.own.envelope import parse_problem, parse_solution

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = {kind: names_in(schemas()[kind]) for kind in DRAWS}


def arrays_in(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Yield the arrays that a value holds, at whatever depth."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from arrays_in(part)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from arrays_in(getattr(value, field.name, None))


@pytest.mark.parametrize("kind", DRAWS)
@given(data=st.data())
def test_problems_and_answers_are_values(kind: str, data: st.DataObject) -> None:
    problem, _, answer = data.draw(documents(kind))
    named = replace(problem, name="x", meta={"seed": [7]})
    for value in (named, parse_solution(through_text(answer), "file", problem)):
        again = pickle.loads(pickle.dumps(value))  # noqa: S301 - bytes that this test made
        for twin in (again, copy.copy(value), copy.deepcopy(value), replace(value)):
            assert (twin, hash(twin)) == (value, hash(value))
            assert not [array for array in arrays_in(twin) if array.flags.writeable]
            assert getattr(twin, "meta", None) == getattr(value, "meta", None)
        assert value != object()
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, dataclasses.fields(value)[0].name, None)
    meta: Any = named.meta
    with pytest.raises(TypeError):
        meta["seed"] = 2
    assert named != problem
    assert replace(named, name=problem.name) == problem, "meta does not count"


@pytest.mark.parametrize("kind", DRAWS)
@given(data=st.data())
@settings(max_examples=examples(200))
def test_files_come_back_and_digests_tell_problems_apart(
    kind: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    problem, document, answer = data.draw(documents(kind))
    path, name = (
        tmp_path_factory.getbasetemp() / f"{kind}.json",
        data.draw(st.text(st.characters(codec="utf-8"))),
    )
    named = replace(problem, name=name, meta={"name": name})
    write_problem(named, path)
    again = read_problem(path)
    assert (again, again.meta, digest(again)) == (named, named.meta, digest(problem))
    solution = parse_solution(through_text(answer), "file", problem)
    write_solution(path, problem, solution, {"from": "a test"})
    assert read_solution(path, problem) == solution
    assert json.loads(path.read_text(encoding="utf-8")) == through_text(answer)
    changed = through_text(data.draw(spoilt(document, NAMES[kind])))
    if changed is not None and refusal(lambda: parse_problem(changed, "file")) is None:
        other = replace(parse_problem(changed, "file"), name="", meta={})
        assert (digest(other) == digest(problem)) == (other == replace(problem, name="", meta={}))
