"""The catalogue of a study in its SQLite file: rows that only grow, but for references stated anew."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from allocsolve.bench.scores.catalogue import Catalogue, Reference

if TYPE_CHECKING:
    import sqlite3

__all__ = ["read_catalogue", "write_catalogue"]

_SCHEMA: Final = (
    """CREATE TABLE IF NOT EXISTS suites (digest TEXT, suite TEXT, PRIMARY KEY (digest, suite))""",
    """CREATE TABLE IF NOT EXISTS "references"
    (digest TEXT, objective TEXT, lower, upper, source TEXT, PRIMARY KEY (digest, objective, source))""",
)


def write_catalogue(base: sqlite3.Connection, catalogue: Catalogue) -> None:
    """Add a catalogue to that of the file, within a transaction."""
    for statement in _SCHEMA:
        base.execute(statement)
    suites = [(digest, name) for digest, names in catalogue.suites.items() for name in names]
    base.executemany("INSERT OR IGNORE INTO suites VALUES (?, ?)", suites)
    base.executemany(
        'INSERT OR REPLACE INTO "references" VALUES (?, ?, ?, ?, ?)',
        [(*place, *reference) for place, reference in catalogue.references.items()],
    )


def read_catalogue(base: sqlite3.Connection) -> Catalogue:
    """Return the catalogue of a file; the suites of records count, too, whatever it says.

    Rows that can be none are left out.
    """
    tables = {name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    named = [*base.execute("SELECT digest, suite FROM records GROUP BY 1, 2 ORDER BY min(id)")]
    if "suites" in tables:
        named = [*base.execute("SELECT digest, suite FROM suites"), *named]
    suites: dict[str, dict[str, None]] = {}
    for digest, suite in named:
        if isinstance(digest, str) and isinstance(suite, str):
            suites.setdefault(digest, {})[suite] = None
    references: dict[tuple[str, str], Reference] = {}
    stated = [*base.execute('SELECT * FROM "references"')] if "references" in tables else []
    for digest, objective, lower, upper, source in stated:
        numbers = all(isinstance(value, int | float) for value in (lower, upper))
        if numbers and all(isinstance(text, str) for text in (digest, objective, source)):
            before = references.get((digest, objective), Reference(-math.inf, math.inf, ""))
            references[digest, objective] = Reference(
                max(lower, before.lower),
                min(upper, before.upper),
                ", ".join(filter(None, (before.source, source))),
            )
    return Catalogue({digest: tuple(names) for digest, names in suites.items()}, references)
