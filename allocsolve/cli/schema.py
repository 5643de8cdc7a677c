"""The command that tells the JSON Schema of a kind of file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from allocsolve.bench.gate.baseline import baseline_schema
from allocsolve.bench.runs.study import study_schema
from allocsolve.cli.output import say, show_table, write_json, write_whole
from allocsolve.cli.parser import make_command
from allocsolve.errors import UnknownName
from allocsolve.instances.formats.own.envelope import certificate_schema, family_schemas
from allocsolve.instances.library.files import best_known_schema, library_schema

if TYPE_CHECKING:
    import argparse


def schemas() -> dict[str, dict[str, Any]]:
    """Return the schemas of all kinds of files, by kind."""
    return {
        **family_schemas(),
        "certificate": certificate_schema(),
        "best-known": best_known_schema(),
        "library": library_schema(),
        "gate": baseline_schema(),
        "study": study_schema(),
    }


def schema_text(schema: dict[str, Any]) -> str:
    """Return a schema as a file has it."""
    return f"{json.dumps(schema, indent=2, ensure_ascii=False)}\n"


def add_schema(parser: argparse.ArgumentParser) -> None:
    """Add the options of `schema`."""
    make_command(parser, schema)
    parser.add_argument("kind", nargs="?", metavar="KIND", help="the kind of file (default: list all kinds)")


def schema(args: argparse.Namespace) -> int:
    """Print the schema of a kind of file, or list the kinds."""
    known = schemas()
    if args.kind is None and args.json:
        write_json({"kinds": {kind: known[kind]["title"] for kind in known}})
    elif args.kind is None:
        rows = ([kind, known[kind]["title"]] for kind in known)
        show_table(["kind", "what it holds"], rows, texts=(0, 1))
        say("", "allocsolve schema KIND prints the JSON Schema of one")
    elif args.kind not in known:
        raise UnknownName("kind of file", args.kind, known, shown=len(known))
    else:
        write_whole(schema_text(known[args.kind]).rstrip())
    return 0
