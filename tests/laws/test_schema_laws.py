"""What a schema takes, its reader takes; problems and answers are values, which copies and files keep."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import pytest
from certificate_draws import Example, certificate_examples
from hypothesis import given, settings, strategies as st
from jsonschema import Draft202012Validator
from schema_draws import DRAWS, compare, documents, names_in, refusal, spoilt, through_text
from tiers import examples

from allocsolve.cli.schema import schemas
from allocsolve.errors import FormatError, InvalidAnswer
from allocsolve.families import family_of
from allocsolve.instances import digest, read_problem, read_solution, write_problem, write_solution
from allocsolve.instances.formats import files
from allocsolve.instances.formats.own.envelope import Proof, parse_problem, parse_solution, read_certificate
from allocsolve.judge import certified_bound

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hypothesis.strategies import DrawFn

    from allocsolve.model import Problem


SCHEMAS = schemas()
EXAMPLES = certificate_examples()


NAMES = {kind: names_in(schema) for kind, schema in SCHEMAS.items()}


def compare_answer(kind: str, problem: Problem, document: dict[str, Any]) -> None:
    """Compare on an answer; one to another problem is not looked into, so it is made one to this."""
    if isinstance(document.get("problem"), str) and document["problem"] != digest(problem):
        assert refusal(lambda: parse_solution(document, "file", problem)) is not None
        document["problem"] = digest(problem)
    compare(SCHEMAS[kind], document, lambda: parse_solution(document, "file", problem))


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_schema_is_one(kind: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[kind])


@pytest.mark.parametrize("kind", DRAWS)
@given(data=st.data())
@settings(max_examples=examples(200))
def test_schema_and_reader_take_the_same_problems_and_answers(kind: str, data: st.DataObject) -> None:
    problem, document, answer = data.draw(documents(kind))
    for whole in (document, answer):
        assert Draft202012Validator(SCHEMAS[whole["kind"]]).is_valid(through_text(whole))
    changed = through_text(data.draw(spoilt(document, NAMES[kind])))
    if changed is not None:
        compare(SCHEMAS[kind], changed, lambda: parse_problem(changed, "file"))
    changed = through_text(data.draw(spoilt(answer, NAMES[answer["kind"]])))
    if changed is not None:
        compare_answer(answer["kind"], problem, changed)


def certificate_document(example: Example) -> dict[str, Any]:
    """Return the file of a certificate."""
    return {
        "format": "allocsolve/1",
        "kind": "certificate",
        "problem": digest(example.problem),
        "objective": [example.term],
        "certificate": copy.deepcopy(example.certificate),
        "meta": {},
    }


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_kind_of_certificate_is_taken(name: str, tmp_path: Path) -> None:
    document = certificate_document(EXAMPLES[name])
    (tmp_path / "certificate.json").write_text(json.dumps(document), encoding="utf-8")
    proof = read_certificate(tmp_path / "certificate.json", EXAMPLES[name].problem)
    assert judged(EXAMPLES[name], proof) is None
    Draft202012Validator(SCHEMAS["certificate"]).validate(document)


def judged(example: Example, proof: Proof) -> InvalidAnswer | None:
    """Return the fault that the judge finds in a certificate."""
    try:
        certified_bound(example.problem, proof.certificate, proof.objective)
    except InvalidAnswer as error:
        return error
    return None


@pytest.mark.parametrize("name", EXAMPLES)
@given(data=st.data())
@settings(max_examples=examples(400))
def test_schema_and_judge_take_the_same_certificates(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What the schema refuses is refused; what is refused for its shape the schema refuses."""
    example = EXAMPLES[name]
    kind = name.removesuffix("-real")
    names = names_in(SCHEMAS["certificate"]["$defs"][kind])
    content = through_text(data.draw(spoilt(example.certificate, names)))
    if content is None:
        return
    document = {**certificate_document(example), "certificate": content}
    file = tmp_path_factory.getbasetemp() / f"{name}.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    refused = judged(example, read_certificate(file, example.problem))
    shown = [error.message for error in Draft202012Validator(SCHEMAS["certificate"]).iter_errors(document)]
    if shown:
        assert refused is not None, (content, shown)
    else:
        assert refused is None or not refused.breaks_schema, (content, refused)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_certificate_of_a_term_that_the_schema_refuses_proves_nothing(name: str) -> None:
    example = EXAMPLES[name]
    for term in family_of(example.problem).term_names:
        document = certificate_document(example)
        if "term" in document["certificate"]:
            document["certificate"]["term"] = term
        if not Draft202012Validator(SCHEMAS["certificate"]).is_valid(document):
            assert judged(example, Proof((term,), document["certificate"])) is not None, term


#: Pieces of strings in which the short way could be led astray: colons, quotes, blanks, surrogates.
_TEXTS = st.text(
    st.sampled_from(["a", ":", " ", '"', "\\", "u", "d", "8", "\t", "{", "é", "\ud800", "\U0001f600"])
)
_SCALARS = st.one_of(
    _TEXTS.map(json.dumps),
    st.integers(-9, 9).map(str),
    st.sampled_from(
        [
            "NaN",
            "-Infinity",
            "1e400",
            "-1e999",
            "1.5",
            "9" * 199,
            "9" * 200,
            "9" * 310,
            "1" + "0" * 250 + "e99",
        ]
    ),
    st.sampled_from(["true", "null"]),
)


@st.composite
def _objects(draw: DrawFn, values: st.SearchStrategy[str]) -> str:
    """Return an object with few different keys, which may stand twice, and blanks where JSON allows them."""
    blank = st.sampled_from(["", "", " ", "\n", "\t"])
    keys = draw(st.lists(st.one_of(st.sampled_from(["a", "b"]), _TEXTS).map(json.dumps), max_size=4))
    return "{" + ", ".join(f"{key}{draw(blank)}:{draw(blank)}{draw(values)}" for key in keys) + "}"


def _lists(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(values, max_size=3).map(lambda items: f"[{', '.join(items)}]")


_VALUES = st.recursive(_SCALARS, lambda values: _lists(values) | _objects(values), max_leaves=8)


def _read(data: bytes) -> object:
    try:
        return files.parse(data, "text")
    except FormatError as error:
        return str(error)


def _read_by_the_walk(data: bytes) -> object:
    with patch.object(files, "_plain_document", return_value=None):
        return _read(data)


@given(text=_objects(_VALUES))
@settings(max_examples=examples(2000))
def test_the_short_way_finds_what_the_walk_finds(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    assert repr(_read(data)) == repr(_read_by_the_walk(data))  # by text: -0.0 and 0 differ, true and 1 too


def test_both_ways_refuse_what_is_nested_too_deeply() -> None:
    for depth in (99, 100, 101, 102):
        data = b'{"a":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"
        found = _read(data)
        assert repr(found) == repr(_read_by_the_walk(data))
        assert isinstance(found, str) is (depth > files.MAX_DEPTH)


# --- Value --------------------------------------------------------------------------------------------

FIELDS = {kind: names_in(schemas()[kind]) for kind in DRAWS}


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
    changed = through_text(data.draw(spoilt(document, FIELDS[kind])))
    if changed is not None and refusal(lambda: parse_problem(changed, "file")) is None:
        other = replace(parse_problem(changed, "file"), name="", meta={})
        assert (digest(other) == digest(problem)) == (other == replace(problem, name="", meta={}))
