"""A report as Markdown: the tables, for papers and pull requests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from allocsolve.pictures.text import visible
from allocsolve.report.tables import contradiction_tables, overview_tables, section_tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from allocsolve.report.study import Findings
    from allocsolve.report.table import Table

__all__ = ["markdown"]


def markdown(findings: Findings) -> str:
    """Return all tables of a report as Markdown (of GitHub's kind); names from outside stay text."""
    lines = [f"# {_escaped(findings.title)}", ""]
    for sentence in (*findings.headlines, findings.made):
        lines += [_escaped(sentence), ""] if sentence else []
    for table in contradiction_tables(findings):
        lines += _table(table, "##")
    for table in overview_tables(findings):
        lines += _table(table, "##")
    for section in findings.sections:
        lines += [f"## {_escaped(section.name)}", ""]
        for table in section_tables(section):
            lines += _table(table, "###")
    return "\n".join(lines)


def _table(table: Table, level: str) -> Iterator[str]:
    yield from (f"{level} {_escaped(table.title)}", "")
    if table.rows:
        yield _row(table.heads)
        yield _row("---:" if numeric else "---" for numeric in table.numeric)
        yield from (_row(_escaped(cell.shown) for cell in row) for row in table.rows)
        yield ""
    if table.note:
        yield from (_escaped(table.note), "")


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    r"""Return a text that Markdown shows as it is.

    >>> print(_escaped("a|b <img> *c*"))
    a\|b \<img\> \*c\*
    """
    return re.sub(r"([\\`*_{}\[\]<>()#|!&~])", r"\\\1", visible(" ".join(text.split())))
