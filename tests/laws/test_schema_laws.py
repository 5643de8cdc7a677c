"""What the schema of a kind of file takes, its reader takes, and the other way round.

Faults between fields, which no schema can say, are told apart by the reader itself: it says that a document
breaks the schema if and only if the schema refuses it, whatever else is wrong.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings, strategies as st
from jsonschema import Draft202012Validator
from schema_draws import DRAWS, FILES, compare, documents, names_in, refusal, spoilt, through_text
from tiers import examples

from allocsolve.bench.gate.baseline import read_baseline
from allocsolve.cli.schema import schemas
from allocsolve.instances import digest
from allocsolve.instances.formats.envelope import (
    parse_problem,
    parse_solution,
    read_certificate,
)
from allocsolve.instances.library.files import Library, read_statements

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from allocsolve.model import Problem

SCHEMAS = schemas()
READERS: dict[str, Callable[[Path], object]] = {
    "best-known": read_statements,
    "library": lambda file: Library(file.parent).folders,
    "gate": read_baseline,
}


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
@settings(max_examples=examples(1000))
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


@pytest.mark.parametrize("kind", FILES)
@given(data=st.data())
@settings(max_examples=examples(1000))
def test_schema_and_reader_take_the_same_files(
    kind: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.getbasetemp() / f"{kind}.json"
    changed = through_text(data.draw(spoilt(FILES[kind], NAMES[kind])))
    if changed is not None:
        file.write_text(json.dumps(changed), encoding="utf-8")
        compare(SCHEMAS[kind], changed, lambda: READERS[kind](file))


@given(data=st.data())
@settings(max_examples=examples(1000))
def test_schema_and_reader_take_the_same_certificates(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    problem, _, _ = data.draw(documents("evolution"))
    document = {
        "format": "allocsolve/1",
        "kind": "certificate",
        "problem": digest(problem),
        "objective": ["makespan", "waste"],
        "certificate": {"kind": "area"},
        "meta": {},
    }
    changed = through_text(data.draw(spoilt(document, NAMES["certificate"])))
    if changed is not None:
        file = tmp_path_factory.getbasetemp() / "certificate.json"
        file.write_text(json.dumps(changed), encoding="utf-8")
        compare(SCHEMAS["certificate"], changed, lambda: read_certificate(file, problem))
