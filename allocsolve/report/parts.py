"""What pages are made of: the document with its policy, tables, figures, texts from outside."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
import re
from html import escape as escape_markup
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from allocsolve.families import family_of
from allocsolve.model import terms
from allocsolve.pictures.chart import rules, visible
from allocsolve.report.tables import contradiction_tables, overview_tables, section_tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from allocsolve.bench import Comparison
    from allocsolve.bench.scores.comparison import InstanceResult
    from allocsolve.families import Picture
    from allocsolve.model import Problem
    from allocsolve.report.study import Findings, StudyRecords
    from allocsolve.report.tables import Table, TableCell

__all__ = [
    "PICTURE_BYTES",
    "document",
    "embedded",
    "escape",
    "figure_html",
    "isolated",
    "markdown",
    "table_html",
]

#: A cell of more letters may have several lines.
_LONG: Final = 40


def document(title: str, body: Sequence[str]) -> str:
    """Return an HTML document that a content security policy keeps from loading anything.

    Parameters
    ----------
    title
        Of the window; any text.
    body
        Lines of HTML.
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

    Parameters
    ----------
    table
        The table.
    number
        No other table of the page has it.
    defined
        Where on the page heads are defined, by their texts; the others lead nowhere.
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


#: Of all pictures together, compressed; base64 makes a third more of it.
PICTURE_BYTES: Final = 12_000_000

#: A block is unpacked when one of its pictures is asked for.
_BLOCK: Final = 1_000_000


class _Blocks:
    """Collects pictures in blocks of about a megabyte of JSON."""

    def __init__(self) -> None:
        self.packed: list[str] = []
        self._open: list[str] = []
        self._open_size = self._packed_size = 0

    @property
    def full(self) -> bool:
        return self._packed_size >= PICTURE_BYTES

    def add(self, picture: object) -> tuple[int, int]:
        """Take a picture in and return its block and its place there; the first block is the index."""
        place = len(self.packed) + 1, len(self._open)
        self._open.append(_json(picture))
        self._open_size += len(self._open[-1])
        if self._open_size >= _BLOCK:
            self.close()
        return place

    def close(self) -> None:
        """Compress what there is."""
        if self._open:
            self.packed.append(_packed(f"[{','.join(self._open)}]"))
            self._packed_size += 3 * len(self.packed[-1]) // 4
        self._open, self._open_size = [], 0


def embedded(findings: Findings, study: StudyRecords) -> list[str]:
    """Return the index of all instances, then the blocks of their pictures: gzip'ed JSON in base64."""
    blocks = _Blocks()
    sections = [
        {
            "name": section.name,
            "terms": section.comparison.objective.split(","),
            **_instances(section.comparison, study, blocks),
        }
        for section in findings.sections
    ]
    blocks.close()
    return [_packed(_json({"sections": sections})), *blocks.packed]


def _instances(comparison: Comparison, study: StudyRecords, blocks: _Blocks) -> dict[str, object]:
    instances, cells = [], []
    places = {entrant: idx for idx, entrant in enumerate(comparison.entrants)}
    units: dict[str, str] = {}
    for place, (digest, best) in enumerate(comparison.best_by_digest.items()):
        by_entrant = {places[name]: row[digest] for name, row in comparison.cells.items() if digest in row}
        try:
            problem = study.problem(digest)
        except KeyError:
            about, missing = "the problem is not in the records", "the problem is not in the records"
        else:
            view = family_of(problem).view
            units |= view.units
            about, missing = view.describe(problem), view.undrawable(problem)
        if not missing and blocks.full:
            missing = "left out: the page would be too large"
        at = None if missing else blocks.add(_pictures(by_entrant, study, problem))
        instances.append(
            {
                "name": best.instance,
                "about": about,
                "best": None if best.value is None else _plain(terms(best.value)),
                "bound": _plain(terms(best.bound)),
                "proven": best.proven,
                "at": at,
                "missing": missing,
            }
        )
        cells += [[place, entrant, *_cell_values(cell)] for entrant, cell in by_entrant.items()]
    return {"units": units, "solvers": comparison.entrants, "instances": instances, "cells": cells}


def _cell_values(cell: InstanceResult) -> list[object]:
    gap = None if cell.gap is None else "inf" if math.isinf(cell.gap) else float(f"{cell.gap:.6g}")
    value = None if cell.value is None else _plain(cell.value)
    return [value, gap, float(f"{cell.runtime_s:.4g}"), len(cell.runs), cell.failed + cell.unanswered]


def _pictures(
    by_entrant: Mapping[int, InstanceResult], study: StudyRecords, problem: Problem
) -> dict[int, tuple[str, int, list[float | None]]]:
    """Return drawing, seed and value of the best run of each entrant that has an answer to it."""
    answered = []
    for entrant, cell in by_entrant.items():
        run = cell.best_run
        answer = None if run is None else study.answer(run.key)
        if run is not None and run.value is not None and answer is not None:
            answered.append((entrant, answer, run.seed, _plain(terms(run.value))))
    drawings = family_of(problem).view.plots(problem, [answer for _, answer, _, _ in answered])
    return {
        entrant: (drawing.inline(), seed, value)
        for (entrant, _, seed, value), drawing in zip(answered, drawings, strict=True)
    }


def _plain(values: Sequence[float]) -> list[float | None]:
    """Return numbers as JSON has them: whole ones without a point, infinite ones as null."""
    return [None if math.isinf(x) else int(x) if x == int(x) else float(f"{x:.10g}") for x in values]


def _json(document: object) -> str:
    return json.dumps(document, allow_nan=False, separators=(",", ":"))


def _packed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


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
