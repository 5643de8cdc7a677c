"""Parts of pages: the document with its security policy, tables, figures, texts from outside."""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape as escape_markup
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from allocsolve.pictures.chart import rules, visible
from allocsolve.report.tables import contradiction_tables, overview_tables, section_tables

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from allocsolve.families import Picture
    from allocsolve.report.study import Findings
    from allocsolve.report.tables import Table, TableCell

#: A cell of more letters may have several lines.
_LONG: Final = 40


def document(title: str, body: Sequence[str]) -> str:
    """Return an HTML document that a content security policy keeps from loading anything.

    The title is that of the window, any text; the body is lines of HTML.
    """
    script, style = _asset("page.js"), _asset("page.css") + rules()
    policy = (
        "default-src 'none'; "
        f"script-src 'sha256-{_hash(script)}'; style-src 'sha256-{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(title)}</title>",
            f"<style>{style}</style>",
            "</head>",
            "<body>",
            *body,
            f"<script>{script}</script>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _asset(name: str) -> str:
    return files("allocsolve.report").joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def isolated(name: str) -> str:
    """Return a text from outside such that no letters of it turn what is beside it round."""
    return f"<bdi>{escape(name)}</bdi>"


def table_html(table: Table, number: int, defined: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return a table that can be sorted, with its title and note.

    No other table of the page has its number. Heads are defined on the page where `defined` says by their
    texts; the others lead nowhere.
    """
    title = escape(table.title)
    kinds = ["number" if numeric else "text" for numeric in table.numeric]
    heads = "".join(
        f'<th scope="col" class="{kind}" aria-sort="none"><button type="button">{escape(head)}</button>'
        f"{_definition(head, defined)}</th>"
        for head, kind in zip(table.heads, kinds, strict=True)
    )
    rows = "\n".join(
        "<tr>" + "".join(_cell(cell, kind) for cell, kind in zip(row, kinds, strict=True)) + "</tr>"
        for row in table.rows
    )
    body = (
        f'<div class="scroll" tabindex="0" role="region" aria-labelledby="t{number}">'
        f'<table class="sortable"><thead><tr>{heads}</tr></thead>\n<tbody>{rows}</tbody></table></div>'
        if table.rows
        else ""
    )
    return f'<h3 id="t{number}">{title}</h3>\n{body}<p class="note">{escape(table.note)}</p>'


def _definition(head: str, defined: Mapping[str, str]) -> str:
    """Return what leads from the head of a column to its definition; nothing if there is none."""
    if head not in defined:
        return ""
    return f'<a class="means" href="#{escape(defined[head])}" aria-label="what {escape(head)} means">?</a>'


def _cell(cell: TableCell, kind: str) -> str:
    shown = isolated(cell.shown) if kind == "text" else escape(cell.shown)
    shape = "long" if len(cell.shown) > _LONG else kind
    return f'<td class="{shape}" data-key="{escape(str(cell.key))}">{shown}</td>'


def figure_html(title: str, drawing: Picture, note: str) -> str:
    """Return a drawing with its title and what is to be said of it."""
    return (
        f'<figure><h3>{escape(title)}</h3><div class="scroll" tabindex="0" role="region" '
        f'aria-label="{escape(title)}">{drawing.inline()}</div>'
        f"<figcaption>{escape(note)}</figcaption></figure>"
    )


def escape(text: str) -> str:
    """Return a text that stays text on a page, without marks that turn the rest of a line round."""
    return escape_markup("\n".join(map(visible, text.split("\n"))))


def unused_name(text: str, used: Collection[str]) -> str:
    """Return a name for a file that is not in use yet, of a text: letters, digits and hyphens only."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")
    while name in used:
        name += "-2"
    return name


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
