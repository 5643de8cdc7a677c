"""A report as one HTML file that needs nothing else: no network, no server, no other file."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final

from allocsolve.report.exhibits import exhibit_lines, instance_exhibits, section_figures
from allocsolve.report.parts import document, embedded, escape, figure_html, isolated, table_html
from allocsolve.report.tables import contradiction_tables, overview_tables, section_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.report.exhibits import Figure, InstanceExhibits
    from allocsolve.report.study import Findings, StudyRecords

__all__ = ["html"]

#: So many sections are open at first; of more only the first one.
_OPEN: Final = 3


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
    last sections first, and the page says so; likewise exhibits beyond `exhibits.EXHIBIT_BYTES`.
    """
    data = embedded(findings, study)
    exhibited = instance_exhibits(findings, study)
    numbers = count()
    body = [f"<header><h1>{isolated(findings.title)}</h1>"]
    body += [f'<p class="headline">{escape(sentence)}</p>' for sentence in findings.headlines]
    body += [f'<p class="note">{escape(findings.made)}</p>'] if findings.made else []
    body += ['<section class="warning">'] if findings.contradictions else []
    body += [table_html(table, next(numbers)) for table in contradiction_tables(findings)]
    body += ["</section>"] if findings.contradictions else []
    body += [*_contents(findings, exhibited), "</header>", "<main>"]
    body += [
        "<section>",
        *(table_html(table, next(numbers)) for table in overview_tables(findings)),
        "</section>",
    ]
    opened = len(findings.sections) if len(findings.sections) <= _OPEN else 1
    for idx, section in enumerate(findings.sections):
        body.append(f'<details class="section" id="s{idx}"{" open" if idx < opened else ""}>')
        body.append(f"<summary><h2>{isolated(section.name)}</h2></summary>")
        first, *others = section_tables(section)
        body.append(table_html(first, next(numbers)))
        body += ['<div class="figures">', *map(_figure, section_figures(section)), "</div>"]
        body += [*(table_html(table, next(numbers)) for table in others), "</details>"]
    for idx, one in enumerate(exhibited):
        body.append(f'<details class="section" id="e{idx}"{" open" if len(exhibited) == 1 else ""}>')
        body.append(f"<summary><h2>{isolated(one.name)}</h2></summary>")
        body += [*exhibit_lines(one, numbers), "</details>"]
    body += [*([_INSTANCES] if findings.sections else []), "</main>"]
    for idx, block in enumerate(data if findings.sections else ()):  # the first is the index
        body.append(f'<script type="application/gzip" id="data{idx}">{block}</script>')
    return document(findings.title, body)


def _contents(findings: Findings, exhibited: Sequence[InstanceExhibits]) -> Iterator[str]:
    yield "<nav><ul>"
    for idx, section in enumerate(findings.sections):
        yield f'<li><a href="#s{idx}">{isolated(section.name)}</a></li>'
    for idx, one in enumerate(exhibited):
        yield f'<li><a href="#e{idx}">{isolated(one.name)}</a></li>'
    yield '<li><a href="#instances">instances</a></li>' if findings.sections else ""
    yield "</ul></nav>"


def _figure(figure: Figure) -> str:
    return figure_html(figure.title, figure.drawing, figure.note)
