"""JSON is read by its schema: defaults are filled in, and every fault is named with its place.

The reader knows the keywords that the schemas of this package use (`allocsolve.instances.formats.schema`):
``type``, ``enum``, ``const``, ``minimum``, ``exclusiveMinimum``, ``maximum``, ``multipleOf``, ``minLength``,
``maxLength``, ``pattern``, ``properties``, ``required``, ``additionalProperties``, ``minProperties``,
``maxProperties``, ``default``, ``items``, ``prefixItems``, ``minItems``, ``uniqueItems``, ``anyOf`` and
``$ref``.

Infinite numbers and nan, which JSON has not and TOML has, are where a number or null may be.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from allocsolve.errors import FormatError, InvalidProblem, near_names
from allocsolve.instances.formats.files import Checker, show
from allocsolve.instances.formats.schema import (
    ANSWER_ENVELOPE,
    DEFINITIONS,
    EDITORS_SCHEMA,
    PROBLEM_ENVELOPE,
    record,
)
from allocsolve.model import MAX_INTEGER

if TYPE_CHECKING:
    from allocsolve.families import FileKind
    from allocsolve.instances.formats.files import Document

_NOUNS: Final = {
    "string": "a string",
    "array": "a list",
    "object": "an object",
    "boolean": "true or false",
    "integer": "an integer",
    "number": "a number",
    "null": "null",
}

#: Tells whether a JSON value is of a type.
_IS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: type(value) is int or (type(value) is float and value.is_integer()),
    "number": lambda value: type(value) is int or (type(value) is float and math.isfinite(value)),
    "null": lambda value: value is None,
}

_Definitions: TypeAlias = Mapping[str, "Document"]
T = TypeVar("T")


def read_fields(document: Document, schema: Document, source: str) -> Document:
    """Return the fields of a file by its whole schema, see `allocsolve.instances.formats.schema.file_schema`.

    Raises `FormatError` if it is of another format, else if it has faulty fields: all are named.
    """
    names = [name for name in ("format", "kind") if name in schema["properties"]]
    envelope = {"properties": {name: schema["properties"][name] for name in names}, "required": names}
    for part in envelope, schema:
        check = Checker()
        fields: Document = read_value(check, document, part, "", schema.get("$defs", {}))
        check.finish(source)
    return fields


def read_problem_fields(kind: FileKind[T], document: Document, source: str) -> T:
    """Return the problem of a document whose format and kind have been checked.

    Raises `FormatError` if it has faults: all of the form of its fields are named, else all between them.
    """
    return _read(kind, document, source, PROBLEM_ENVELOPE, {*PROBLEM_ENVELOPE})


def read_answer_fields(kind: FileKind[T], document: Document, source: str, problem: Any) -> T:  # noqa: ANN401 - of the family
    """Return the answer to a problem that a document holds; errors as in `read_problem_fields`."""
    return _read(kind, document, source, ANSWER_ENVELOPE, set(), problem)


def _read(
    kind: FileKind[T],
    document: Document,
    source: str,
    envelope: Mapping[str, Document],
    made_of: set[str],
    *problem: Any,  # noqa: ANN401 - of the family
) -> T:
    """Read the fields of a kind and those of the envelope, of which those in `made_of` are passed on."""
    glances = {
        name: kind.glances[name](document[name], *problem) for name in kind.glances if name in document
    }
    sound = {name: thing for name, thing in glances.items() if thing is not None}
    fields, check = kind.fields(), Checker()
    properties = {"$schema": EDITORS_SCHEMA, "format": {}, "kind": {}, **envelope, **fields.properties}
    schema = record(properties | {name: {} for name in sound}, fields.required)
    values = read_value(check, {**document, **dict.fromkeys(sound)}, schema, "", fields.definitions)
    thing = None
    if not check.faults:
        try:
            names = {*fields.properties, *made_of}
            read = {name: values[name] for name in values if name in names}
            thing = kind.make(check, *problem, **read | sound)
        except InvalidProblem as error:
            check.add("", str(error))
    check.finish(source)
    assert thing is not None, "its faults were raised"
    return thing


def _fault(check: Checker, place: str, schema: Document, fault: str) -> None:
    """Note what is wrong with a value; a cell of a list has no name in its place, so its title names it."""
    check.add_shape(place, f"{schema['title']} {fault}" if "title" in schema else fault)


def read_value(
    check: Checker,
    value: Any,  # noqa: ANN401 - JSON
    schema: Document,
    place: str,
    definitions: _Definitions,
) -> Any:  # noqa: ANN401 - JSON
    """Return a JSON value with its defaults; what is faulty is noted, and None."""
    schema = _named(schema, definitions)
    if "anyOf" in schema:
        return _any_of(check, value, schema["anyOf"], place, definitions)
    kinds = _types(schema)
    if "enum" in schema and value not in schema["enum"]:
        _fault(check, place, schema, f"{show(value)} is none of {', '.join(map(str, schema['enum']))}")
    elif "const" in schema and value != schema["const"]:
        _fault(check, place, schema, f"must be {show(schema['const'])}, not {show(value)}")
    elif kinds and not _is_of(kinds, value):
        _fault(
            check, place, schema, f"must be {' or '.join(_NOUNS[kind] for kind in kinds)}, not {show(value)}"
        )
    elif isinstance(value, dict):
        return _object(check, value, schema, place, definitions)
    elif isinstance(value, list):
        return _list(check, value, schema, place, definitions)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        return _number(check, value, schema, place)
    elif isinstance(value, str):
        return _string(check, value, schema, place)
    else:
        return value
    return None


def _named(schema: Document, definitions: _Definitions) -> Document:
    """Return the schema to which one refers; itself if it does not."""
    return definitions[schema["$ref"].removeprefix(DEFINITIONS)] if "$ref" in schema else schema


def _types(schema: Document) -> Sequence[str]:
    kinds: str | Sequence[str] = schema.get("type", ())
    return (kinds,) if isinstance(kinds, str) else kinds


def _is_of(kinds: Sequence[str], value: object) -> bool:
    for kind in kinds:
        if _IS[kind](value):
            return True
    return type(value) is float and not math.isfinite(value) and {"number", "null"} <= {*kinds}


def _string(check: Checker, value: str, schema: Document, place: str) -> str | None:
    if len(value) < schema.get("minLength", 0):
        check.add_shape(place, "must not be empty")
    elif "pattern" in schema and not (
        re.search(schema["pattern"], value) and len(value) <= schema.get("maxLength", len(value))
    ):
        check.add_shape(place, f"{show(value)} is not {schema['description']}")
    else:
        return value
    return None


def _number(check: Checker, value: float, schema: Document, place: str) -> float | None:
    if type(value) is float and not math.isfinite(value):
        return value
    low, above, high = schema.get("minimum"), schema.get("exclusiveMinimum"), schema.get("maximum")
    if low is not None and value < low:
        fault = f"{show(value)} is below {low:.16g}"
    elif above is not None and value <= above:
        fault = f"{show(value)} is not above {above:.16g}"
    elif high is not None and value > high:
        fault = f"{show(value)} is beyond {'2^53' if high == MAX_INTEGER else high}"
    elif "multipleOf" in schema and value % schema["multipleOf"]:
        fault = f"{show(value)} is no multiple of {schema['multipleOf']}"
    else:
        return int(value) if "integer" in schema.get("type", ()) else value
    _fault(check, place, schema, fault)
    return None


def _object(
    check: Checker, value: Document, schema: Document, place: str, definitions: _Definitions
) -> Document:
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    prefix = f"{place}." if place else ""
    for name in schema.get("required", ()):
        if name not in value:
            check.add_shape(prefix + name, "missing")
    if not schema.get("minProperties", 0) <= len(value) <= schema.get("maxProperties", len(value)):
        check.add_shape(place, f"must have one of {', '.join(known)}, not {len(value)} of them")
    absent = [name for name, part in known.items() if name not in value and "default" in part]
    values = {name: copy(known[name]["default"]) for name in absent}
    for name, item in value.items():
        part = known.get(name, others)
        if part is False:
            check.add_shape(place, _unknown(check, name, known))
        else:
            values[name] = item if part is True else read_value(check, item, part, prefix + name, definitions)
    return values


def _unknown(check: Checker, name: str, known: Iterable[str]) -> str:
    """Return the message on a field; a long list of faults is told without looking for similar names."""
    known = [field for field in known if field != "$schema"]
    near = near_names(name, known) if len(check.faults) < FormatError.SHOWN else []
    if near:
        return f"unknown field {show(name)}; did you mean {' or '.join(near)}?"
    hint = "extra data belongs in meta" if "meta" in known else f"known: {', '.join(known)}"
    return f"unknown field {show(name)} ({hint})"


def _list(
    check: Checker, value: list[Any], schema: Document, place: str, definitions: _Definitions
) -> list[Any]:
    parts = schema.get("prefixItems")
    if parts is not None and len(value) != len(parts):
        check.add_shape(place, f"must have {len(parts)} entries, not {len(value)}")
        return []
    if len(value) < schema.get("minItems", 0):
        check.add_shape(place, f"has {len(value)} entries, at least {schema['minItems']} are needed")
    parts = parts or [schema.get("items", {})] * len(value)
    items = [
        read_value(check, item, part, f"{place}[{idx}]", definitions)
        for idx, (item, part) in enumerate(zip(value, parts, strict=True))
    ]
    if schema.get("uniqueItems"):
        first: dict[Any, int] = {}
        for idx, item in enumerate(items):
            if item is not None and first.setdefault(item, idx) != idx:
                check.add_shape(f"{place}[{idx}]", f"{show(item)} is also {place}[{first[item]}]")
    return items


def _any_of(
    check: Checker,
    value: Any,  # noqa: ANN401 - JSON
    schemas: list[Document],
    place: str,
    definitions: _Definitions,
) -> Any:  # noqa: ANN401 - JSON
    """Return the value by the first schema that takes it; else note its faults by the most alike one.

    That knows the most fields of an object; of several it is the one by which there are the fewest faults.
    """
    schemas = [_named(schema, definitions) for schema in schemas]
    if all(map(_types, schemas)) and not any(_is_of(_types(schema), value) for schema in schemas):
        nouns = dict.fromkeys(_NOUNS[kind] for schema in schemas for kind in _types(schema))
        check.add_shape(place, f"must be {' or '.join(nouns)}, not {show(value)}")
        return None
    trials: list[tuple[int, list[str]]] = []
    for schema in schemas:
        if _types(schema) and not _is_of(_types(schema), value):
            continue
        trial = Checker()
        result = read_value(trial, value, schema, place, definitions)
        if not trial.faults:
            return result
        strange = {*value} - {*schema.get("properties", ())} if isinstance(value, dict) else ()
        trials.append((len(strange), trial.faults))
    _, fewest = min(trials, key=lambda trial: (trial[0], len(trial[1])))
    check.faults += fewest
    check.breaks_schema = True
    return None
