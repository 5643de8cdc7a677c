"""What fields of files and options of solvers take, line by line, as it was when somebody last looked at it.

Readers, validators and refusals are made from these statements, so none of them would notice that one has
been loosened. After a change that is meant: ``PYTHONPATH=. python tests/golden/test_stated_golden.py``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from allocsolve.cli.schema import schemas
from allocsolve.registry import make_solver, solver_options, solver_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

GOLDEN = Path(__file__).parent
_MOST_WORDS = 30


def stated(schema: dict[str, Any], place: str) -> Iterator[str]:
    """Yield what a schema and those in it say, a line for each; but for what they say to people."""
    own: dict[str, Any] = {}
    inner: dict[str, Any] = {}
    for key, part in schema.items():
        if isinstance(part, list) and any(isinstance(one, dict) for one in part):
            inner[key] = {str(idx): one for idx, one in enumerate(part)}
        elif isinstance(part, dict) and part:
            inner[key] = part
        elif key not in ("description", "title"):  # and the names of all solvers and suites would be news
            own[key] = "..." if isinstance(part, list) and len(part) > _MOST_WORDS else part
    if own:
        yield f"{place} {json.dumps(own)}"
    for key, part in inner.items():
        yield from stated(part, f"{place}.{key}")


def fields() -> Iterator[str]:
    for kind, schema in schemas().items():
        yield from stated(schema, kind)


def options() -> Iterator[str]:
    for family, row in solver_rows():
        for name, option in solver_options(make_solver(row.name, family.problem)).items():
            yield f"{family.kind} {row.name} {name} = {option.value!r}: {option.takes}"


WRITTEN = {"fields.txt": fields, "options.txt": options}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_taken_is_what_was_taken(name: str) -> None:
    assert [*WRITTEN[name]()] == (GOLDEN / name).read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    for file, lines in WRITTEN.items():
        (GOLDEN / file).write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
