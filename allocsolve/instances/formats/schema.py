"""JSON Schema (2020-12) of the kinds of files: the parts of which the codecs make theirs, and the envelope.

A schema says what fields there are, of which types and in which ranges. What holds between fields, such as
that no job is wider than the machine, no schema can say: the description lists it, and the reader asks it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from allocsolve.model import MAX_INTEGER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from allocsolve.families import Fields
    from allocsolve.instances.formats.files import Document

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
