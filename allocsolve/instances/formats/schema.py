"""JSON Schema (2020-12) of the kinds of files: its parts, which codecs put together, and the reader.

A schema says what fields there are, of which types and in which ranges. What holds between fields, such as
that no job is wider than the machine, no schema can say: the description lists it, and the reader asks it.

JSON is read by its schema: defaults are filled in, and every fault is named with its place.

The reader knows the keywords that the schemas of this package use:
``type``, ``enum``, ``const``, ``minimum``, ``exclusiveMinimum``, ``maximum``, ``multipleOf``, ``minLength``,
``maxLength``, ``pattern``, ``properties``, ``required``, ``additionalProperties``, ``minProperties``,
``maxProperties``, ``default``, ``items``, ``prefixItems``, ``minItems``, ``uniqueItems``, ``anyOf`` and
``$ref``.

Files of chosen and of busy nodes have fields in common, which are here, too.

Infinite numbers and nan, which JSON has not and TOML has, are where a number or null may be.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import numpy as np

from allocsolve.errors import FormatError, InvalidAnswer, InvalidProblem, near_names
from allocsolve.families import Fields, FileKind
from allocsolve.instances.formats.files import Checker, show
from allocsolve.model import MAX_INTEGER

if TYPE_CHECKING:
    from allocsolve.instances.formats.files import Document
    from allocsolve.model import IntArray

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

#: A list of distinct integers from 0 on says ``uniqueItems``; what else is distinct is asked by the reader.
NODE: Final[Document] = {"type": "integer", "minimum": 0, "maximum": MAX_INTEGER}


#: How schemas refer to others of the same document, before their names.
DEFINITIONS: Final = "#/$defs/"


def reference(name: str) -> Document:
    """Return the schema that stands under a name among the definitions of a kind."""
    return {"$ref": f"{DEFINITIONS}{name}"}


def whole(low: int, description: str = "", **more: Any) -> Document:  # noqa: ANN401 - keywords of a schema
    """Return the schema of an integer in low..2^53."""
    return _described({"type": "integer", "minimum": low, "maximum": MAX_INTEGER, **more}, description)


def real(low: float, description: str = "", *, above: bool = False, **more: Any) -> Document:  # noqa: ANN401 - keywords of a schema
    """Return the schema of a number in low..2^53, or above `low`."""
    least = {"exclusiveMinimum" if above else "minimum": low}
    return _described({"type": "number", **least, "maximum": MAX_INTEGER, **more}, description)


def text(description: str = "", **more: Any) -> Document:  # noqa: ANN401 - keywords of a schema
    """Return the schema of a string."""
    return _described({"type": "string", **more}, description)


def flag(description: str) -> Document:
    """Return the schema of a truth value that is false where it is left out."""
    return _described({"type": "boolean", "default": False}, description)


def choice(values: Sequence[str], description: str, **more: Any) -> Document:  # noqa: ANN401 - keywords of a schema
    """Return the schema of one of some words."""
    return _described({"enum": [*values], **more}, description)


def listing(items: Document, description: str = "", **more: Any) -> Document:  # noqa: ANN401 - keywords of a schema
    """Return the schema of a list."""
    return _described({"type": "array", "items": items, **more}, description)


def cells(*items: Document, description: str = "") -> Document:
    """Return the schema of a list of exactly these."""
    lengths = {"minItems": len(items), "maxItems": len(items)}
    return _described({"type": "array", "prefixItems": [*items], "items": False, **lengths}, description)


def record(
    properties: Mapping[str, Document],
    required: Iterable[str] = (),
    description: str = "",
    **more: Any,  # noqa: ANN401 - keywords of a schema
) -> Document:
    """Return the schema of an object with these fields and no others."""
    fields = {"type": "object", "properties": dict(properties), "required": [*required], **more}
    return _described({**fields, "additionalProperties": False}, description)


def open_record(properties: Mapping[str, Document], required: Iterable[str] = ()) -> Document:
    """Return the schema of an object with these fields and any others, as files of other programs have."""
    return {"type": "object", "properties": dict(properties), "required": [*required]}


def amounts(of: Document, description: str, **more: Any) -> Document:  # noqa: ANN401 - keywords of a schema
    """Return the schema of an object whose fields have any names and equal schemas."""
    return _described({"type": "object", "additionalProperties": of, **more}, description)


def maybe(schema: Document, default: Any = None) -> Document:  # noqa: ANN401 - a JSON value
    """Return the schema of the same, or null."""
    description = schema.get("description", "")
    inner = {key: value for key, value in schema.items() if key != "description"}
    if isinstance(inner.get("type"), str) and "enum" not in inner and "oneOf" not in inner:
        changed = {**inner, "type": [inner["type"], "null"]}
    else:
        changed = {"anyOf": [inner, {"type": "null"}]}
    return _described({**changed, "default": default}, description)


def _described(schema: Document, description: str) -> Document:
    return {"description": description, **schema} if description else schema


def certificate(kind: str, fields: Mapping[str, Document], description: str) -> Document:
    """Return the schema of a kind of certificate, an empty text for one without.

    All fields without a default must be there. Others are ignored by judges, so they may be there, too.
    """
    named: dict[str, Document] = {"kind": {"const": kind}} if kind else {}
    properties = {**named, **fields}
    required = [name for name, schema in properties.items() if "default" not in schema]
    return {"description": description, "type": "object", "properties": properties, "required": required}


def edges() -> Document:
    """Return the schema of the edges of slots."""
    return listing(whole(0), "the seconds at which slots begin and end, rising", minItems=1)


def prices(description: str) -> Document:
    """Return the schema of prices in integers."""
    return listing(whole(0), f"{description}, in 1 / unit units of cost per second")


def unit(of: str = "node-second") -> Document:
    """Return the schema of the unit of prices."""
    return whole(1, f"a price q is q / unit units of cost for a {of}")


#: At the top of every document.
EDITORS_SCHEMA: Final = text("where editors find this schema; nobody else reads it")
#: The fields of all problems, and of all answers.
PROBLEM_ENVELOPE: Final[Mapping[str, Document]] = {
    "name": text("for people", default=""),
    "meta": {"type": "object", "default": {}, "description": "an object with whatever you like"},
}
ANSWER_ENVELOPE: Final[Mapping[str, Document]] = {
    "problem": text("digest of the problem, so that no other takes it for its own"),
    "meta": {"type": "object", "default": {}, "description": "who found it, and how"},
}


def problem_schema(kind: str, fields: Fields, file_format: str) -> Document:
    """Return the schema of the problem files of a family."""
    return _document(kind, fields, file_format, {**fields.properties, **PROBLEM_ENVELOPE}, fields.required)


def answer_schema(kind: str, fields: Fields, file_format: str) -> Document:
    """Return the schema of the solution files of a family."""
    problem, meta = ({name: ANSWER_ENVELOPE[name]} for name in ("problem", "meta"))
    return _document(kind, fields, file_format, {**problem, **fields.properties, **meta}, fields.required)


def file_schema(fields: Fields, file_format: str, kind: str | None = None) -> Document:
    """Return the schema of a file that is none of a family; without a kind, its format says what it is."""
    return _document(kind, fields, file_format, fields.properties, fields.required)


def _document(
    kind: str | None,
    fields: Fields,
    file_format: str,
    properties: Mapping[str, Document],
    required: Iterable[str],
) -> Document:
    envelope: dict[str, Document] = {
        "$schema": EDITORS_SCHEMA,
        "format": {"const": file_format},
        **({} if kind is None else {"kind": {"const": kind}}),
    }
    besides = "".join(f"\n- {clause}" for clause in (*fields.besides, *_TEXT))
    names = ["format", *([] if kind is None else ["kind"]), *required]
    schema = record({**envelope, **properties}, names)
    return {
        "$schema": DIALECT,
        "title": fields.title,
        "description": f"The reader asks besides, which no schema can say:{besides}",
        **schema,
        **({"$defs": dict(fields.definitions)} if fields.definitions else {}),
    }


#: What is asked of the text of every file.
_TEXT: Final = (
    "the text is JSON in UTF-8 of at most 128 MiB",
    "no key stands twice in an object",
    "no number is beyond the range of doubles, no text has half of a surrogate pair",
    "lists and objects are nested at most 100 deep",
)


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
    """Return the fields of a file by its whole schema, see `file_schema`.

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


A = TypeVar("A")

_CHOSEN: Final = listing(whole(-MAX_INTEGER), "the chosen node ids, in any order")


def check_busy_and_size(check: Checker, busy: list[int], size: int, num_nodes: int) -> None:
    """Note the busy nodes that the machine does not have, and a size above the number of free nodes."""
    for idx, node in enumerate(busy):
        if node >= num_nodes:
            check.add(f"busy[{idx}]", f"node {node} is above the last node {num_nodes - 1}")
    free = num_nodes - len(busy)
    if not free:
        check.add("busy", f"all {num_nodes} nodes are busy")
    elif size > free and not check.faults:
        check.add("size", f"value {size} is above the number of free nodes {free}")


def chosen_nodes_kind(
    family: str, answer: Callable[[IntArray], A], num_nodes: Callable[[Any], int]
) -> FileKind[A]:
    """Return the kind of answers that are nodes.

    The name of the family is also the noun for a set of nodes; `answer` makes one of node ids, which has them
    as ``nodes``.
    """
    fields = Fields(
        f"A solution of a {family} problem",
        {"nodes": _CHOSEN},
        ("nodes",),
        ("problem is the digest of the problem",),
    )
    return FileKind(
        lambda: fields,
        lambda _check, _problem, nodes: answer(np.array(nodes, dtype=np.int64)),
        lambda problem, chosen: encode_nodes(chosen.nodes, num_nodes(problem), family),
    )


def encode_nodes(nodes: IntArray, num_nodes: int, answer: str) -> Document:
    """Return the field of the chosen nodes.

    Raises `InvalidAnswer` if a node is none of 0..`num_nodes` - 1; the message calls the set by the noun
    `answer`.
    """
    last = num_nodes - 1
    strange = next((node for node in nodes.tolist() if not 0 <= node <= last), None)
    if strange is not None:
        msg = f"the {answer} does not belong to the problem: node {show(strange)} is not in 0..{last}"
        raise InvalidAnswer(msg)
    return {"nodes": nodes.tolist()}
