"""The command `schema`, and what the documentation and the site say of schemas."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import refused, run, run_json
from jsonschema import Draft202012Validator

from allocsolve.cli.schema import schema_text, schemas
from allocsolve.instances import PACKAGED

if TYPE_CHECKING:
    from collections.abc import Iterator

Capture = pytest.CaptureFixture[str]

FORMATS = Path(__file__).parents[2] / "docs" / "formats.md"


def test_kinds_are_listed_and_printed(capsys: Capture) -> None:
    known = schemas()
    listed = run(capsys, "schema")
    assert [line.split()[0] for line in listed.splitlines()[2 : 2 + len(known)]] == [*known]
    assert run_json(capsys, "schema") == {"kinds": {kind: known[kind]["title"] for kind in known}}
    assert run(capsys, "schema", "partition") == schema_text(known["partition"])
    assert run_json(capsys, "schema", "partition") == known["partition"]
    said = refused(capsys, "schema", "nonsense")
    assert said == f"allocsolve: error: unknown kind of file 'nonsense'; known: {', '.join(known)}\n"


def test_every_field_of_the_envelope_is_described() -> None:
    for kind, schema in schemas().items():
        own = {name: field for name, field in schema["properties"].items() if "const" not in field}
        bare = [name for name, field in own.items() if not {"description", "items"} & field.keys()]
        assert bare == [], kind


def test_every_field_of_a_certificate_and_of_a_study_is_described() -> None:
    known = schemas()
    bare = [
        f"{place}: {name}"
        for kind, parts in (("certificate", known["certificate"]["$defs"]), ("study", known["study"]))
        for place, name, field in _all_fields(parts, kind)
        if "description" not in field and "const" not in field
    ]
    assert bare == []


def _all_fields(schema: Any, place: str) -> Iterator[tuple[str, str, Any]]:
    """Yield all fields of a schema, at whatever depth; what a condition says of a field describes none."""
    if isinstance(schema, list):
        for part in schema:
            yield from _all_fields(part, place)
    elif isinstance(schema, dict):
        yield from ((place, name, field) for name, field in schema.get("properties", {}).items())
        for key, part in schema.items():
            if key not in ("if", "then", "else"):
                yield from _all_fields(part, f"{place}.{key}")


def test_the_page_on_formats_names_all_kinds() -> None:
    linked = re.findall(r'href="schema/([a-z-]+)\.schema\.json"', FORMATS.read_text(encoding="utf-8"))
    assert linked == [*schemas()]


def test_the_page_on_formats_names_all_fields() -> None:
    named = {*re.findall(r"[`\"]([\w$]+)[`\"]", FORMATS.read_text(encoding="utf-8"))}
    own = {kind: schema for kind, schema in schemas().items() if kind != "gate"}  # gate.md tells of it
    fields = {(kind, name) for kind, schema in own.items() for _, name, _ in _all_fields(schema, kind)}
    missing = {f"{kind}: {name}" for kind, name in fields if name not in named}
    assert missing == set()


@pytest.mark.parametrize("fields", [{}, {"#": "x"}, {"suites": []}])
def test_studies_of_the_site_keep_to_their_schema(fields: dict[str, Any]) -> None:
    """So do all files in the documentation and the examples that are studies; others do not."""
    checker = Draft202012Validator(schemas()["study"])
    blocks = [
        block
        for page in (*FORMATS.parent.glob("*.md"), FORMATS.parents[1] / "README.md")
        for block in re.findall(
            r"^```.*toml\n((?:.*\n)*?)```", page.read_text(encoding="utf-8"), re.MULTILINE
        )
        if re.search("^suites", block, re.MULTILINE)
    ]
    assert len(blocks) >= 4
    for block in blocks:
        document = {**tomllib.loads(re.sub("^:.*$", "", block, flags=re.MULTILINE)), **fields}
        assert checker.is_valid(document) == (not fields)


@pytest.mark.parametrize("suite", ["klein-5-l1", "mesh-16x8", "lublin-256", "linnert-1000"])
def test_files_of_the_library_keep_to_their_schemas(suite: str) -> None:
    known = schemas()
    files = (
        sorted((PACKAGED / suite).glob("*.json"))[:3] + sorted((PACKAGED / suite / "solutions").glob("*"))[:2]
    )
    for file in [*files, PACKAGED / suite / "best_known.json"]:
        document = json.loads(file.read_text(encoding="utf-8"))
        Draft202012Validator(known[document.get("kind", "best-known")]).validate(document)


def test_the_index_of_the_library_keeps_to_its_schema() -> None:
    document = json.loads((PACKAGED / "library.json").read_text(encoding="utf-8"))
    Draft202012Validator(schemas()["library"]).validate(document)


def test_the_baselines_of_the_gate_keep_to_their_schema() -> None:
    for file in (FORMATS.parents[1] / ".ci").glob("gate*.json"):
        Draft202012Validator(schemas()["gate"]).validate(json.loads(file.read_text(encoding="utf-8")))
