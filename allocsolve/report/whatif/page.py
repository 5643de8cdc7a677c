"""The page of a log for those who run the machine: one HTML file that needs nothing else."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from allocsolve.pictures.chart import Axis
from allocsolve.pictures.text import duration
from allocsolve.pictures.workload_waits import over_time, size_classes, wait_bars, wait_chart
from allocsolve.report.parts import document, escape, figure_html, isolated, table_html
from allocsolve.report.whatif.sentences import at_least, cautions, headlines, limits, subject
from allocsolve.report.whatif.tables import (
    cases_table,
    elastic_table,
    period_table,
    size_table,
    waits_table,
)
from allocsolve.report.whatif.words import NAMES, Linked, Sentence, anchor, definitions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import WorkloadSchedule
    from allocsolve.report.table import Table
    from allocsolve.report.whatif.findings import WhatIf

__all__ = ["whatif_page"]


def whatif_page(found: WhatIf, *, made: str = "") -> str:
    """Return the page as an HTML document.

    A content security policy keeps it from loading anything; whatever comes from the log is shown as text.

    Parameters
    ----------
    found
        All figures.
    made
        A line on when and how the page was made.
    """
    numbers = count()
    body = [f"<header><h1>What if? {isolated(found.log.source)}</h1>"]
    body += [f'<p class="note">{escape(subject(found))}.</p>']
    body += [*_warning(found), '<div class="cards">', *_cards(found), "</div>"]
    body += [f'<p class="headline">{_linked(one)}</p>' for one in headlines(found)]
    body += [*_contents(found), "</header>", "<main>", *_compared(found, numbers), *_who(found, numbers)]
    body += _elastic(found, numbers) if found.elastic else []
    body += ['<section id="limits"><h2>What this page leaves out</h2><ul>']
    body += [f"<li>{escape(one)}</li>" for one in limits(found)]
    body += ["</ul></section>", *_words(found), *_origin(found, made), "</main>"]
    return document(f"What if? {found.log.source}", body)


def _linked(sentence: Sentence) -> str:
    return "".join(
        f'<a href="#{anchor(part.word)}">{escape(part.shown)}</a>'
        if isinstance(part, Linked)
        else escape(part)
        for part in sentence
    )


def _table(table: Table, numbers: Iterator[int]) -> str:
    """Return a table whose heads lead to their definitions."""
    words = definitions(unit="", elastic=True)
    return table_html(table, next(numbers), {head: anchor(head) for head in table.heads if head in words})


def _warning(found: WhatIf) -> list[str]:
    lines = [f"<p>{escape(one)}</p>" for one in cautions(found)]
    return ['<section class="warning">', *lines, "</section>"] if lines else []


def _cards(found: WhatIf) -> Iterator[str]:
    """Yield the mean waits that matter most, each with what it is."""
    cards = []
    if found.recorded is not None:
        cards.append((duration(found.recorded.metrics.wait), "as it was", "mean wait as it was"))
    if (best := found.best_policy) is not None:
        name = NAMES[best.key]
        cards.append((duration(best.metrics.wait), name, f"with {name}, the best of the usual policies"))
    if found.hindsight is not None:
        shown = duration(found.hindsight.metrics.wait)
        cards.append((shown, "best known with hindsight", "the best schedule found, knowing the future"))
    if found.bound is not None:
        shown = f"below {at_least(found.bound)}"
        cards.append((shown, "certainly impossible", "certainly impossible, for any scheduler"))
    for shown, word, what in cards:
        yield f'<a class="card" href="#{anchor(word)}"><b>{escape(shown)}</b><span>{escape(what)}</span></a>'


def _contents(found: WhatIf) -> Iterator[str]:
    yield "<nav><ul>"
    yield '<li><a href="#compared">Was, could have been, impossible</a></li>'
    yield '<li><a href="#who">Who waited</a></li>'
    if found.elastic:
        yield '<li><a href="#elastic">If jobs could change their size</a></li>'
    yield '<li><a href="#limits">What is left out</a></li><li><a href="#words">What the words mean</a></li>'
    yield "</ul></nav>"


def _compared(found: WhatIf, numbers: Iterator[int]) -> Iterator[str]:
    yield '<section id="compared"><h2>What was, what could have been, what is impossible</h2>'
    if found.cases:
        yield _table(cases_table(found), numbers)
        yield _see(*(NAMES[one.key] for one in found.cases), "certainly impossible")
        yield '<div class="figures">'
        means = {NAMES[one.key]: one.metrics.wait for one in found.cases}
        line = " The red marks: no scheduler could have brought the mean to the left of it."
        note = "One bar for each schedule." + (line if found.bound is not None else "")
        yield figure_html("Mean wait", wait_bars("Mean wait", "mean wait", means, found.bound), note)
        note = "Above: how much of the machine was busy. Below: how many jobs waited."
        if len(found.cases) > len(_drawn(found)):
            note += " Three schedules of those in the table: more lines are hard to tell apart."
        yield figure_html("Over time", over_time(found.problem, _drawn(found)), note + _unit_note(found))
        yield "</div>"
    yield "</section>"


def _unit_note(found: WhatIf) -> str:
    return "" if found.log.machine.unit == "nodes" else f" Nodes are {found.log.machine.unit} here."


def _drawn(found: WhatIf) -> dict[str, WorkloadSchedule]:
    """Return the schedules of drawings with lines: as it was, the best policy, and with hindsight."""
    shown = [one for one in (found.recorded, found.best_policy, found.hindsight) if one is not None]
    return {NAMES[one.key]: one.schedule for one in shown}


def _see(*words: str) -> str:
    links = ", ".join(f'<a href="#{anchor(word)}">{escape(word)}</a>' for word in words)
    return f'<p class="note">What the names mean: {links}.</p>'


def _who(found: WhatIf, numbers: Iterator[int]) -> Iterator[str]:
    if not found.cases:
        return
    yield '<section id="who"><h2>Who waited</h2>'
    yield _table(waits_table(found), numbers)
    yield _table(size_table(found), numbers)
    yield _table(period_table(found), numbers)
    yield '<div class="figures">'
    classes, axis = size_classes(found.problem)
    drawn = _drawn(found)
    note = "The mean wait of the jobs between a power of two and the one before it."
    drawing = wait_chart("Mean wait by size", found.problem, drawn, classes, axis)
    yield figure_html("Mean wait by size", drawing, note + _unit_note(found))
    if len(found.periods.labels) > 1:
        periods = found.periods
        title = f"Mean wait by {periods.unit}"
        labels = periods.labels
        first, last = min(labels), max(labels)
        axis = Axis(
            f"{periods.unit} of the submission",
            first,
            last,
            write=lambda at: labels.get(int(at), "").removeprefix(f"{periods.unit} ")[-5:],
            whole=True,
            steps=6,
        )
        drawing = wait_chart(title, found.problem, drawn, periods.of_jobs, axis)
        yield figure_html(title, drawing, f"The mean wait of the jobs submitted in each {periods.unit}.")
    yield "</div></section>"


def _elastic(found: WhatIf, numbers: Iterator[int]) -> list[str]:
    ask = (
        *(
            "What if some of the jobs ",
            Linked("could change their size", "can change size"),
            " while they run? ",
        ),
        *("Then the ", Linked("time to result", "time to result"), " is what to look at, not the wait. "),
        "Beside jobs drawn by lot stand two policies that make use of it, and what is impossible even then.",
    )
    lines = ['<section id="elastic"><h2>If jobs could change their size</h2>']
    return [*lines, f"<p>{_linked(ask)}</p>", _table(elastic_table(found), numbers), "</section>"]


def _words(found: WhatIf) -> Iterator[str]:
    yield '<section id="words"><h2>What the words mean</h2><dl>'
    for word, meaning in definitions(found.log.machine.unit, elastic=bool(found.elastic)).items():
        yield f'<dt id="{anchor(word)}">{escape(word)}</dt><dd>{escape(meaning)}</dd>'
    yield "</dl></section>"


def _origin(found: WhatIf, made: str) -> Iterator[str]:
    log = found.log
    yield '<section id="origin"><h2>Where the figures come from</h2>'
    yield f'<p class="note">The log {isolated(log.source)}: {escape(str(log.report))}. '
    yield f"Machine: {escape(str(log.machine))}. SHA-256 of the file: {escape(log.sha256)}.</p>"
    yield '<p class="note">Every schedule here was checked by a part of the program that shares no code with '
    yield "those that make schedules: no job starts before its submission, each runs for its run time, and "
    yield "at no instant more than all of the machine is in use. "
    yield "The bound was recomputed by it, too.</p>"
    yield f'<p class="note">{escape(made)}</p></section>' if made else "</section>"
