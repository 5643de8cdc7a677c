"""The reader of JSON by schemas: each keyword by examples, every fault with its place, defaults filled in.

No codec checks the form of fields by itself, so what is tested here holds for the files of all families.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from allocsolve.cli.schema import schemas
from allocsolve.instances.formats import schema as file_schemas
from allocsolve.instances.formats.files import Checker, show
from allocsolve.instances.formats.schema import read_value

if TYPE_CHECKING:
    from collections.abc import Iterator

BIG = 2**53 + 1
PAIR = {"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False}
FIELDS = {"properties": {"a": {"type": "integer"}, "b": {"type": "string", "default": "x"}}}
LAW = {"type": "object", **FIELDS, "minProperties": 1, "maxProperties": 1}
EITHER = {"anyOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "integer", "minimum": 1}}]}
DIGEST = {"type": "string", "pattern": "^[0-9a-f]+$", "maxLength": 4, "description": "a digest"}
CLOSED = {**FIELDS, "additionalProperties": False}

#: By keyword: a schema, a value that it takes, one that it does not, and what is said of that at `f`.
RULES: list[tuple[str, Any, Any, Any, str]] = [
    ("type", {"type": "integer"}, 3.0, 8.5, "f: must be an integer, not 8.5"),
    ("type", {"type": "integer"}, -3, True, "f: must be an integer, not true"),
    ("type", {"type": "integer"}, 0, "8", "f: must be an integer, not '8'"),
    ("type", {"type": "number"}, 0.5, False, "f: must be a number, not false"),
    ("type", {"type": "number"}, 2**70, "0.5", "f: must be a number, not '0.5'"),
    ("type", {"type": ["number", "null"]}, None, [], "f: must be a number or null, not a list of 0"),
    ("type", {"type": "string"}, "", None, "f: must be a string, not null"),
    ("type", {"type": "boolean"}, False, 0, "f: must be true or false, not 0"),
    ("type", {"type": "array"}, [1, "a"], {"a": 1}, "f: must be a list, not an object of 1"),
    ("type", {"type": "object"}, {"a": 1}, [1], "f: must be an object, not a list of 1"),
    ("enum", {"enum": ["any", "run"]}, "run", "round", "f: 'round' is none of any, run"),
    ("const", {"const": "pair"}, "pair", 4, "f: must be 'pair', not 4"),
    ("minimum", {"type": "integer", "minimum": 1}, 1, 0, "f: 0 is below 1"),
    ("minimum", {"type": ["number", "null"], "minimum": 1}, 1.5, 0.9, "f: 0.9 is below 1"),
    ("minimum", {"minimum": -(2**53)}, -(2**53), -BIG, f"f: {-BIG} is below {-(2**53)}"),
    ("exclusiveMinimum", {"exclusiveMinimum": 0}, 0.1, 0, "f: 0 is not above 0"),
    ("maximum", {"maximum": 1}, 1, 1.5, "f: 1.5 is beyond 1"),
    ("maximum", {"type": "integer", "maximum": 2**53}, 2**53, BIG, f"f: {BIG} is beyond 2^53"),
    ("maximum", {"maximum": 2**53}, 2.0**53, 1e300, "f: 1e+300 is beyond 2^53"),
    ("multipleOf", {"type": "integer", "multipleOf": 600}, 1200, 1201, "f: 1201 is no multiple of 600"),
    ("minLength", {"type": "string", "minLength": 1}, "a", "", "f: must not be empty"),
    ("pattern", DIGEST, "0f", "0g", "f: '0g' is not a digest"),
    ("maxLength", DIGEST, "0" * 4, "0" * 5, "f: '00000' is not a digest"),
    ("properties", FIELDS, {"a": 1, "c": None}, {"a": "1"}, "f.a: must be an integer, not '1'"),
    ("required", {"required": ["a"]}, {"a": None}, {"b": 1}, "f.a: missing"),
    (*("additionalProperties", CLOSED, {"b": "y"}, {"c": 1}), "f: unknown field 'c' (known: a, b)"),
    (
        *("additionalProperties", {"additionalProperties": {"minimum": 1}}, {"x": 1}, {"y": 0}),
        "f.y: 0 is below 1",
    ),
    ("minProperties", LAW, {"a": 1}, {}, "f: must have one of a, b, not 0 of them"),
    ("maxProperties", LAW, {"b": ""}, {"a": 1, "b": ""}, "f: must have one of a, b, not 2 of them"),
    ("default", {"properties": {"a": {"default": 1, "maximum": 2}}}, {}, {"a": 3}, "f.a: 3 is beyond 2"),
    ("items", {"items": {"type": "integer"}}, [], [1, "x"], "f[1]: must be an integer, not 'x'"),
    ("prefixItems", PAIR, [1, "a"], ["a", "a"], "f[0]: must be an integer, not 'a'"),
    ("prefixItems", {**PAIR, "minItems": 2}, [1, "a"], [1], "f: must have 2 entries, not 1"),
    ("prefixItems", PAIR, [1, "a"], [1, "a", 2], "f: must have 2 entries, not 3"),
    ("minItems", {"minItems": 1}, [0], [], "f: has 0 entries, at least 1 are needed"),
    ("uniqueItems", {"uniqueItems": True}, [3, 1], [3, 1, 3], "f[2]: 3 is also f[0]"),
    ("anyOf", EITHER, [1], 2, "f: must be true or false or a list, not 2"),
    ("anyOf", EITHER, True, [2, 0], "f[1]: 0 is below 1"),
    ("$ref", {"$ref": "#/$defs/law"}, {"a": 1}, {"a": "1"}, "f.a: must be an integer, not '1'"),
]


def read(value: object, schema: Any) -> tuple[Any, list[str]]:
    """Return what is read of a value of the field `f`, and its faults."""
    check = Checker()
    result = read_value(check, value, schema, "f", {"law": LAW})
    assert check.breaks_schema == bool(check.faults)
    return result, check.faults


@pytest.mark.parametrize(("schema", "good", "bad", "fault"), [rule[1:] for rule in RULES])
def test_a_keyword_takes_and_refuses_what_validators_do(schema: Any, good: Any, bad: Any, fault: str) -> None:
    validator = Draft202012Validator({**schema, "$defs": {"law": LAW}})
    assert (read(good, schema)[1], validator.is_valid(good)) == ([], True)
    assert (read(bad, schema)[1], validator.is_valid(bad)) == ([fault], False)


def keywords(schema: Any) -> Iterator[str]:
    """Yield the keywords of a schema and of those in it."""
    if schema in (True, False):
        return
    yield from schema
    if "maxItems" in schema:  # the reader counts entries by `prefixItems` alone
        assert schema["maxItems"] == schema["minItems"] == len(schema["prefixItems"])
    inner = [schema.get(name, True) for name in ("items", "additionalProperties")]
    for part in (*inner, *schema.get("anyOf", ()), *schema.get("prefixItems", ())):
        yield from keywords(part)
    for part in schema.get("properties", {}).values():
        yield from keywords(part)


def test_the_schemas_of_files_say_nothing_that_the_reader_does_not_know() -> None:
    known = {rule[0] for rule in RULES}
    assert known == {*re.findall(r"``(\$?\w+)``", (file_schemas.__doc__ or "").partition("\n\n")[2])}
    read_by_it = {kind: schema for kind, schema in schemas().items() if kind != "certificate"}
    parts = [part for schema in read_by_it.values() for part in (schema, *schema.get("$defs", {}).values())]
    used = {word for part in parts for word in keywords(part)}
    assert used - {"$defs", "$schema", "description", "maxItems", "title"} <= known
    assert {*keywords({"items": {"anyOf": [{"format": "x"}]}})} == {"items", "anyOf", "format"}


def test_all_faults_are_told_at_once_in_the_order_of_the_schema() -> None:
    step = {"prefixItems": [{"type": "integer", "minimum": 1}, {"type": "integer", "minimum": 0}]}
    row = {**CLOSED, "required": ["steps"]}
    row["properties"] = {**FIELDS["properties"], "steps": {"type": "array", "minItems": 1, "items": step}}
    document = [{"steps": [[0, 9], [1, -1]], "b": 2}, {"a": 1, "steps": []}, {"step": 7}]
    assert read(document, {"items": row})[1] == [
        "f[0].steps[0][0]: 0 is below 1",
        "f[0].steps[1][1]: -1 is below 0",
        "f[0].b: must be a string, not 2",
        "f[1].steps: has 0 entries, at least 1 are needed",
        "f[2].steps: missing",
        "f[2]: unknown field 'step' (known: a, b, steps)",
    ]


NAMED = [{"type": "integer", "minimum": 1, "title": "duration"}, {"enum": ["a"], "title": "word"}]
OPEN = {"properties": {"steps": {}, "meta": {}}, "additionalProperties": False}
LISTS = [{"type": "array", "items": {"type": kind}} for kind in ("string", "integer")]
WHOLE = {"properties": {name: {"type": "integer"} for name in "abc"}, "additionalProperties": False}
SHORT = {"properties": {"a": {}}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("value", "schema", "faults"),
    [
        # A title names what has no name in its place.
        ([0, "a"], {"prefixItems": NAMED}, ["f[0]: duration 0 is below 1"]),
        ([None, "a"], {"prefixItems": NAMED}, ["f[0]: duration must be an integer, not null"]),
        ([1, "b"], {"prefixItems": NAMED}, ["f[1]: word 'b' is none of a"]),
        ({"step": 1}, OPEN, ["f: unknown field 'step'; did you mean steps?"]),
        ({"x": 1}, OPEN, ["f: unknown field 'x' (extra data belongs in meta)"]),
        (math.inf, {"type": ["number", "null"], "maximum": 9}, []),
        (math.nan, {"type": ["number", "null"], "maximum": 9}, []),
        (math.inf, {"type": "number"}, [f"f: must be a number, not {show(math.inf)}"]),
        (math.nan, {"type": "number"}, [f"f: must be a number, not {show(math.nan)}"]),
        # Of several schemas the one with the fewest faults is told, or which knows the fields.
        ([1, "a", 2], {"anyOf": LISTS}, ["f[1]: must be an integer, not 'a'"]),
        (
            *({"a": "x", "b": "y"}, {"anyOf": [SHORT, WHOLE]}),
            ["f.a: must be an integer, not 'x'", "f.b: must be an integer, not 'y'"],
        ),
    ],
)
def test_what_is_told(value: object, schema: Any, faults: list[str]) -> None:
    assert read(value, schema)[1] == faults


def test_defaults_are_filled_in_each_time_anew() -> None:
    schema = {"properties": {"a": {"type": "object", "default": {}}, "b": {"default": None}, "c": {}}}
    first, second = (read({}, schema)[0] for _ in range(2))
    assert first == second == {"a": {}, "b": None}
    assert first["a"] is not second["a"]


def test_whole_numbers_are_integers_where_integers_are_asked_for() -> None:
    for kind, value, type_ in (("integer", 6e1, int), ("number", 6e1, float), ("number", 60, int)):
        found, _ = read(value, {"type": kind})
        assert (found, type(found)) == (60, type_)


def test_what_is_faulty_is_read_as_nothing() -> None:
    assert read([1, "x", 0], {"items": {"type": "integer", "minimum": 1}})[0] == [1, None, None]
    assert read([1], PAIR)[0] == []
    assert read({"a": "1", "d": 4}, {**CLOSED, "required": ["c"]})[0] == {"a": None, "b": "x"}
