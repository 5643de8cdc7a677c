"""A report as one HTML file that needs nothing else: no network, no server, no other file."""

from __future__ import annotations

import base64
import hashlib
from html import escape as escape_markup
from importlib.resources import files
from itertools import count
from typing import TYPE_CHECKING, Final

from allocsolve.pictures.svg import rules
from allocsolve.pictures.text import visible
from allocsolve.report.embedded import embedded
from allocsolve.report.figures import section_figures
from allocsolve.report.tables import contradiction_tables, overview_tables, section_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.report.figures import Figure
    from allocsolve.report.study import Findings, StudyRecords
    from allocsolve.report.table import Table, TableCell

__all__ = ["html"]

#: So many sections are open at first; of more only the first one.
_OPEN: Final = 3

#: A cell of more letters may have several lines.
_LONG: Final = 40

_INSTANCES: Final = """\
<section id="instances">
<h2>Instances</h2>
<noscript><p>The tables and pictures of single instances need JavaScript.</p></noscript>
<div class="controls">
<label>Section <select id="pick-section"></select></label>
<label>Search <input id="search" type="search" placeholder="instance or solver" autocomplete="off"></label>
<label>Instance <select id="pick-instance"></select></label>
<label>Solver <select id="pick-solver"></select></label>
</div>
<p id="about" role="status"></p>
<div id="pictures"><figure id="chosen"></figure><figure id="reference"></figure></div>
<p class="note">All instances and solvers; a row chosen shows its picture above.</p>
<div class="scroll" tabindex="0" role="region" aria-label="All instances">
<table id="cells">
<thead><tr></tr></thead><tbody></tbody></table></div>
<p><span id="shown"></span> <button type="button" id="more">Show more rows</button></p>
</section>"""


def html(findings: Findings, study: StudyRecords) -> str:
    """Return the report as an HTML document.

    A content security policy keeps it from loading anything. Whatever comes from outside (names, errors) is
    shown as text. The drawings of instances are compressed; the script of the page unpacks what is asked for.

    Parameters
    ----------
    findings
        Of the records of the study.
    study
        Where the problems and answers come from: those of the best run of each solver on each instance.

    Notes
    -----
    *Complexity*: one drawing of each answer shown. Pictures beyond `embedded.PICTURE_BYTES` are left out,
    last sections first, and the page says so.
    """
    data = embedded(findings, study)
    script, style = (_asset(name) for name in ("page.js", "page.css"))
    style += rules()
    policy = (
        "default-src 'none'; "
        f"script-src 'sha256-{_hash(script)}'; style-src 'sha256-{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    title = escape(findings.title)
    numbers = count()
    body = [f"<header><h1>{_isolated(findings.title)}</h1>"]
    body += [f'<p class="headline">{escape(sentence)}</p>' for sentence in findings.headlines]
    body += [f'<p class="note">{escape(findings.made)}</p>'] if findings.made else []
    body += ['<section class="warning">'] if findings.contradictions else []
    body += [_table(table, next(numbers)) for table in contradiction_tables(findings)]
    body += ["</section>"] if findings.contradictions else []
    body += [*_contents(findings), "</header>", "<main>"]
    body += [
        "<section>",
        *(_table(table, next(numbers)) for table in overview_tables(findings)),
        "</section>",
    ]
    opened = len(findings.sections) if len(findings.sections) <= _OPEN else 1
    for idx, section in enumerate(findings.sections):
        body.append(f'<details class="section" id="s{idx}"{" open" if idx < opened else ""}>')
        body.append(f"<summary><h2>{_isolated(section.name)}</h2></summary>")
        first, *others = section_tables(section)
        body.append(_table(first, next(numbers)))
        body += ['<div class="figures">', *map(_figure, section_figures(section)), "</div>"]
        body += [*(_table(table, next(numbers)) for table in others), "</details>"]
    body += [*([_INSTANCES] if findings.sections else []), "</main>"]
    for idx, block in enumerate(data if findings.sections else ()):  # the first is the index
        body.append(f'<script type="application/gzip" id="data{idx}">{block}</script>')
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{title}</title>",
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


def _contents(findings: Findings) -> Iterator[str]:
    yield "<nav><ul>"
    for idx, section in enumerate(findings.sections):
        yield f'<li><a href="#s{idx}">{_isolated(section.name)}</a></li>'
    yield '<li><a href="#instances">instances</a></li>' if findings.sections else ""
    yield "</ul></nav>"


def _isolated(name: str) -> str:
    """Return a text from outside such that no letters of it turn what is beside it round."""
    return f"<bdi>{escape(name)}</bdi>"


def _table(table: Table, number: int) -> str:
    title = escape(table.title)
    kinds = ["number" if numeric else "text" for numeric in table.numeric]
    heads = "".join(
        f'<th scope="col" class="{kind}" aria-sort="none"><button type="button">{escape(head)}</button></th>'
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


def _cell(cell: TableCell, kind: str) -> str:
    shown = _isolated(cell.shown) if kind == "text" else escape(cell.shown)
    shape = "long" if len(cell.shown) > _LONG else kind
    return f'<td class="{shape}" data-key="{escape(str(cell.key))}">{shown}</td>'


def _figure(figure: Figure) -> str:
    return (
        f'<figure><h3>{escape(figure.title)}</h3><div class="scroll" tabindex="0" role="region" '
        f'aria-label="{escape(figure.title)}">{figure.drawing.inline()}</div>'
        f"<figcaption>{escape(figure.note)}</figcaption></figure>"
    )


def escape(text: str) -> str:
    """Return a text that stays text on a page, without marks that turn the rest of a line round."""
    return escape_markup("\n".join(map(visible, text.split("\n"))))
