"""Write tables of pages from values: fields of files and of certificates (formats), what is verified (trust).

They come from the schemas by which files are read, and from the kinds of certificates. Run
``python docs/format_tables.py`` after a change of these; a test holds the pages against them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from allocsolve.cli.schema import schemas
from allocsolve.families import families
from allocsolve.model import MAX_INTEGER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

PAGE: Final = Path(__file__).with_name("formats.md")
#: The page with the table of certificates.
TRUST: Final = Path(__file__).with_name("trust.md")

#: A table of the page: its head, the line below, and its rows.
TABLE: Final = re.compile(r"^\| field of `([a-z-]+)` \|.*\n\|[-|]+\n(?:\|.*\n)*", re.MULTILINE)


#: The head of the table of the fields of all kinds of certificates.
FIELDS: Final = "| field of a certificate | | if left out |\n|---|---|---|\n"


def written(page: str) -> str:
    """Return the text of the page with all tables as the schemas have them."""
    known = schemas()
    page = TABLE.sub(lambda match: table(match[1], known[match[1]]), page)
    return _with_table(page, FIELDS, (" | ".join(row) for row in certificate_rows()))


def certificate_rows() -> Iterator[tuple[str, ...]]:
    """Yield a row for each kind of certificates of any family, and those of its fields after it."""
    for family in families():
        for kind in family.rules.certificates:
            schema = kind.schema() if kind.schema else {"properties": {}}
            name = f"`{kind.name}`" if kind.name else "one without a kind"
            which = ", whichever `term` says" if kind.names_term else ""
            yield f"**{name}**, {family.kind}", f"bounds {', '.join(kind.terms)}{which}: {kind.title}", ""
            fields = {
                key: field for key, field in schema["properties"].items() if key not in ("kind", "term")
            }
            yield from rows({**schema, "properties": fields}, {})


def _with_table(page: str, head: str, lines: Iterable[str]) -> str:
    """Return the text of a page with these rows below the head of a table."""
    body = "".join(f"| {line} |\n".replace("|  |", "| |") for line in lines)
    return re.sub(re.escape(head) + r"(?:\|.*\n)*", lambda _: head + body, page)


def with_kinds(page: str) -> str:
    """Return the text of a page with the table of all kinds of certificates as the families have them."""
    head = "| certificate | problems | bounds | by the verified checker |\n|---|---|---|---|\n"
    lines = (
        f"{f'`{kind.name}`' if kind.name else 'without a kind'}: {kind.title} | {family.kind} "
        f"| {', '.join(kind.terms)} | {kind.verified_for or 'no: the judge only'}"
        for family in families()
        for kind in family.rules.certificates
    )
    return _with_table(page, head, lines)


def table(kind: str, schema: dict[str, Any]) -> str:
    """Return the table of a kind of file."""
    lines = [f"| field of `{kind}` | | if left out |", "|---|---|---|"]
    lines += (f"| {' | '.join(row)} |" for row in rows(schema, schema.get("$defs", {})))
    return "\n".join(lines).replace("|  |", "| |") + "\n"


def rows(schema: dict[str, Any], definitions: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, ...]]:
    """Yield name, meaning and default of each field, each with those of the objects in it."""
    for name, field in schema["properties"].items():
        if name == "$schema":
            continue
        variants = [*alternatives(field, definitions)]
        yield f"{prefix}`{name}`", meaning(field, variants), default(name, field, schema.get("required", ()))
        told: set[str] = set()
        for variant in filter(has_own_rows, variants):
            if not {*variant["properties"]} <= told:
                yield from rows(variant, definitions, f"… {prefix}")
            told |= {*variant["properties"]}


def alternatives(field: dict[str, Any], definitions: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schemas of a field: itself, those out of which it may choose, and that of its items."""
    if "$ref" in field:
        field = definitions[field["$ref"].rpartition("/")[2]]
    yield field
    for inner in (*field.get("anyOf", ()), *([field["items"]] if field.get("items") else ())):
        yield from alternatives(inner, definitions)


def has_own_rows(schema: dict[str, Any]) -> bool:
    """Tell whether a schema is that of an object with fields that are needed, or described one by one."""
    fields = schema.get("properties", {}).values()
    is_told = any("description" in field for field in fields)
    return bool(fields) and bool(schema.get("required") or is_told)


def meaning(field: dict[str, Any], variants: list[dict[str, Any]]) -> str:
    """Return what a field means, and which words and numbers it takes."""
    words = [word for variant in variants for word in variant.get("enum", [variant.get("const")])]
    if any("minLength" in variant for variant in variants):  # any text: the words are suggestions
        words = []
    listed = ", ".join(f"`{json.dumps(word)}`" for word in words if word is not None)
    text = next((variant["description"] for variant in variants if "description" in variant), "")
    parts = [text, listed if not text else f"({listed})" if listed else "", numbers(field)]
    return " ".join(filter(None, parts))


def numbers(field: dict[str, Any]) -> str:
    """Return the range of a number, where it says more than that it is within 2^53."""
    low, above, high = (field.get(key) for key in ("minimum", "exclusiveMinimum", "maximum"))
    if above is not None:
        return f"(> {above})"
    if low is None or low == -MAX_INTEGER:
        return ""
    return f"(≥ {low})" if high in (MAX_INTEGER, None) else f"({low} to {high})"


def default(name: str, field: dict[str, Any], required: Collection[str]) -> str:
    """Return what stands for a field that is left out; empty if it must not be or the meaning says it."""
    return "" if name in required or "default" not in field else f"`{json.dumps(field['default'])}`"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    TRUST.write_text(with_kinds(TRUST.read_text(encoding="utf-8")), encoding="utf-8")
