"""The page of a log for those who run the machine: one HTML file that needs nothing else."""

from __future__ import annotations

import math
from itertools import count
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.instances.formats.logs.log import log_not_modelled, shared_advice
from allocsolve.instances.formats.logs.of_workload import OF_PROBLEM
from allocsolve.pictures.chart import Axis, counted, duration, percent, size_classes
from allocsolve.pictures.workload import longest_bar, over_time, wait_bars, wait_chart
from allocsolve.report.logs.findings import ELASTIC_POLICIES, HINDSIGHT, RECORDED, means_by
from allocsolve.report.logs.network import network_table
from allocsolve.report.logs.nodes import node_cautions
from allocsolve.report.logs.outlooks import (
    asked_words,
    bound_cell,
    count_cell,
    orders_table,
    outlook_sentences,
    outlooks_table,
    page_split_tables,
    time_cell,
)
from allocsolve.report.logs.questions import size_label
from allocsolve.report.logs.words import (
    ELASTIC_NAMES,
    IMPOSSIBLE,
    NAMES,
    POLICIES,
    Linked,
    anchor,
    at_least,
    definitions,
    linked_name,
    schedule_name,
    without_rule,
)
from allocsolve.report.parts import document, escape, figure_html, isolated, table_html
from allocsolve.report.tables import Table, TableCell, text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from allocsolve.judge import WorkloadMetrics
    from allocsolve.model import IntArray, WorkloadSchedule
    from allocsolve.report.logs.findings import WhatIf
    from allocsolve.report.logs.words import Sentence

#: A policy whose mean wait is so near to the least is as good.
_AS_GOOD: Final = 1.01


def subject(figures: WhatIf) -> str:
    """Return what the log is, in a few words."""
    unit = figures.log.machine.unit
    jobs, size = f"{len(figures.problem.jobs):,} jobs", f"{figures.problem.num_nodes:,} {unit}"
    if len(figures.problem.jobs) == 1:
        jobs = "1 job"
    submits = figures.problem.jobs.packed.submit
    return f"{jobs} on {size}, submitted over {duration(float(submits.max() - submits.min()))}"


#: What stands in place of what policies would have done, where nodes are not modelled.
_NOT_MODELLED: Final = (
    (
        "How long jobs wait under another policy cannot be told: where jobs share nodes, a policy finds room "
        "here that is spread over several of them."
    ),
    (
        "Rows that say nodes not modelled are of a machine that is easier to fill; what is impossible on it "
        "is impossible on the true one, too."
    ),
)


def headlines(figures: WhatIf) -> Iterator[Sentence]:
    """Yield what was, what could have been, what is impossible, and what that means."""
    yield _was(figures)
    if log_not_modelled(figures.log):
        yield from ((sentence,) for sentence in _NOT_MODELLED)
        yield _impossible(figures)
        yield from _meaning(figures)
        return
    if figures.policies:
        yield _policies(figures)
    if figures.hindsight is not None:
        best = Linked(duration(figures.hindsight.metrics.wait), "best known with hindsight")
        yield "Somebody who had known all jobs beforehand could have brought the mean wait to ", best, "."
    yield _impossible(figures)
    yield from _meaning(figures)


def _was(figures: WhatIf) -> Sentence:
    if figures.recorded is None:
        return ("What was cannot be told: ", figures.no_record, ".")
    of = figures.recorded.metrics
    return (
        *("In this log jobs waited ", Linked(duration(of.wait), "mean wait"), " on average; "),
        *("half of them at most ", Linked(duration(of.median_wait), "half waited at most"), ", "),
        *("95 % at most ", Linked(duration(of.p95_wait), "95 % waited at most"), ". "),
        *(Linked(percent(of.utilisation), "busy"), " of the machine was busy."),
    )


def _policies(figures: WhatIf) -> Sentence:
    best, *_ = ranked = sorted(figures.policies, key=lambda case: case.metrics.wait)
    worst = ranked[-1]
    wait = Linked(duration(best.metrics.wait), "mean wait")
    as_good = [case for case in ranked if case.metrics.wait <= _AS_GOOD * best.metrics.wait]
    joints = ["", *[", "] * (len(as_good) - 2), *[" and "] * (len(as_good) > 1)]
    names = [
        part for joint, case in zip(joints, as_good, strict=True) for part in (joint, linked_name(case.key))
    ]
    if worst.metrics.wait <= _AS_GOOD * best.metrics.wait:
        return (f"Under each of {_called(figures)[0]} the mean wait would have been about ", wait, ".")
    return (
        *(f"Of {_called(figures)[0]} ", *names, " would have had the least mean wait, ", wait, "; "),
        *(linked_name(worst.key), " the longest, "),
        *(Linked(duration(worst.metrics.wait), "mean wait"), "."),
    )


def _called(figures: WhatIf) -> tuple[str, str]:
    """Return what the policies of a page are called together, and what each of them is."""
    if all(without_rule(case.key)[0] in POLICIES for case in figures.policies):
        return "the usual policies", "Every usual policy"
    return "these policies", "Each of these policies"


def _impossible(figures: WhatIf) -> Sentence:
    if figures.bound is None:
        if figures.hindsight is None:
            return ("What is certainly impossible is not known yet: the search for it was not finished.",)
        return ("Nothing is ", Linked("certainly impossible", "certainly impossible"), " that was proved.")
    bound = Linked(at_least(figures.bound), "certainly impossible")
    return ("No scheduler, however clever, could have brought the mean wait below ", bound, ".")


def _meaning(figures: WhatIf) -> Iterator[Sentence]:
    """Yield what of the recorded mean wait could have been avoided, if that can be told."""
    if figures.recorded is None or figures.faults:
        return
    wait = figures.recorded.metrics.wait
    shared = bool(log_not_modelled(figures.log))
    if figures.bound is not None and wait > 0:
        rest = "the order in which they started" + (", and from where nodes had room" if shared else "")
        share = Linked(f"{math.floor(100 * figures.bound / wait)} %", "certainly impossible")
        yield (
            *("So at least ", share, " of the mean wait came from the jobs and the size of the machine: "),
            f"no order of the jobs avoids it. At most the rest came from {rest}.",
        )
    if not shared and figures.policies and wait > max(case.metrics.wait for case in figures.policies):
        why = (
            f"{_called(figures)[1]} would have had a shorter mean wait than what was. So something else held "
            "jobs back, which this page does not know of: limits for users or groups, jobs that wait for "
            "others, nodes that were down or kept free, or users who submit on hold."
        )
        yield (why,)


def cautions(figures: WhatIf) -> Iterator[str]:
    """Yield what must be known before anything is read into the figures."""
    unit = figures.log.machine.unit
    if figures.faults:
        more = f" (and {counted(len(figures.faults) - 1, 'time')} more)" if len(figures.faults) > 1 else ""
        yield (
            f"The log does not fit a machine of {figures.problem.num_nodes:,} {unit}: "
            f"{figures.faults[0]}{more}."
        )
        yield (
            "What was stands here as the log has it. Other schedules keep to the size of the machine: "
            "compare them with care. Is the size right, and does the log count whole nodes?"
        )
    if large := figures.log.report.dropped.get("too_large", 0):
        jobs, were = ("1 job is", "was") if large == 1 else (f"{large:,} jobs are", "were")
        yield f"{jobs} larger than {figures.problem.num_nodes:,} {unit} and {were} left out."
    yield from _large(figures)
    if (advice := shared_advice(figures.log)) is not None:
        yield advice
    yield from node_cautions(figures)
    if figures.log.machine.told_by == OF_PROBLEM and figures.log.may_share == len(figures.problem.jobs):
        yield f"Nothing in {figures.log.source} says what its sizes count: --unit nodes, if whole nodes."
    if figures.failed:
        yield f"Some computations failed, so their figures are not here: {', '.join(figures.failed)}."
    if figures.missing:
        yield (
            f"Not complete: the program was interrupted before it had computed {', '.join(figures.missing)}. "
            "The same command goes on from there."
        )


def _large(figures: WhatIf) -> Iterator[str]:
    """Yield which jobs had more than there is of a partition or a resource."""
    fields, unit = figures.log.options.fields, figures.log.machine.unit
    partitions = dict(fields.partitions)
    for name, had in figures.log.asked.had.items():
        jobs, ran = ("1 job", "It ran") if len(had) == 1 else (f"{len(had):,} jobs", "They ran")
        there = fields.capacities[name]
        place = f"{unit} than the partition {name}" if name in partitions else f"{name} than the machine"
        yield (
            f"{jobs} had more {place} has: up to {max(had):,} of {there:,}. {ran}, and so what was is as the "
            f"log has it; in all other schedules such a job holds all {there:,}. Is that size right?"
        )


def limits(figures: WhatIf) -> Iterator[str]:
    """Yield what the page leaves out."""
    report = figures.log.report
    yield (
        "All jobs have the sizes and the run times of the log, in every schedule. Whether a job runs faster "
        "or slower beside others is not looked at."
    )
    unknown = report.unusual.get("no_limit", 0)
    jobs = len(figures.problem.jobs)
    if unknown:
        yield (
            f"Of {unknown:,} of {jobs:,} jobs the log does not tell which run time users asked for. Policies "
            "that plan with it were given 1.25 times the real one; what users ask for is less exact."
        )
    if raised := report.changed.get("raised_limit", 0):
        yield (
            f"{raised:,} jobs ran longer than they had asked for; they were taken to have asked for what "
            "they ran."
        )
    if (remark := figures.log.asked.remark()) is not None:
        yield f"{remark[0].upper()}{remark[1:]}."
    more = "parts of the machine kept for some, and nodes that were down"
    if figures.problem.closed:
        more = "and parts of the machine kept for some"
    yield (
        "Policies start a job as soon as their rule allows. Limits for users or groups, priorities, jobs "
        f"that wait for others, {more} are not known here; the machine had to respect them."
    )
    yield (
        "Users react: with shorter waits they might have submitted more, or other jobs. No replay of a log "
        "can tell."
    )
    yield (
        "One mean over all jobs hides who waits: a few very long waits may rule it, and many small jobs may "
        "hide them. The tables by size and by time of submission tell more."
    )
    if figures.elastic:
        yield (
            "Which jobs can change their size was drawn by lot; another draw moves the figures by a few per "
            "cent. How much faster a job runs on more nodes is assumed, not measured: on the size of the log "
            "each runs as long as in the log; on twice of it not twice as fast, since some of its work is "
            "never shared out. It may shrink to a fifth of its size and grow until one half of what is added "
            "is lost. Changes happen at points 10 s apart and take no time."
        )


#: Jobs in the table of the longest waits.
_LONGEST: Final = 10


def _row_name(figures: WhatIf, key: str) -> str:
    """Return the name of a schedule; of one that only counts say is possible, with that."""
    shared = log_not_modelled(figures.log) and key != RECORDED
    return f"{schedule_name(key)}, nodes not modelled" if shared else schedule_name(key)


def cases_table(figures: WhatIf) -> Table:
    """Return waits and use of the machine: as it was, as it would have been, and what is impossible."""
    heads = "schedule", "mean wait", "half waited at most", "95 % waited at most", "longest wait", "busy"
    rows = []
    for case in figures.cases:
        of = case.metrics
        times = of.wait, of.median_wait, of.p95_wait, of.max_wait
        busy = TableCell(percent(of.utilisation), of.utilisation)
        rows.append((text(_row_name(figures, case.key)), *map(time_cell, times), busy))
    if figures.bound is not None:
        nothing = TableCell("", math.nan)
        rows.append((text(IMPOSSIBLE), bound_cell(figures.bound), *[nothing] * 4))
    return Table("Waits and use of the machine", heads, tuple(rows))


def waits_table(figures: WhatIf) -> Table:
    """Return the jobs that waited longest, and how long they would have waited."""
    case = figures.cases[0]
    waits = figures.waits(case)
    longest = [job for job in np.argsort(-waits, kind="stable")[:_LONGEST].tolist() if waits[job] > 0]
    packed = figures.problem.jobs.packed
    columns = [(schedule_name(case.key), figures.waits(case)) for case in figures.cases]
    rows = tuple(
        (
            text(figures.problem.jobs.names[job]),
            text(figures.periods.labels[int(figures.periods.of_jobs[job])]),
            count_cell(int(packed.nodes[job])),
            time_cell(float(packed.runtime[job])),
            *(time_cell(float(column[job])) for _, column in columns),
        )
        for job in longest
    )
    heads = ("job", "submitted in", "size", "ran for", *(name for name, _ in columns))
    name = schedule_name(case.key)
    note = f"The {_LONGEST} jobs with the longest waits, {name}; how long each waits, by schedule."
    return Table("Jobs that waited longest", heads, rows, note)


def size_table(figures: WhatIf) -> Table:
    """Return the mean waits of jobs by their size."""
    labels = {number: size_label(number) for number in range(int(figures.sizes.max(initial=0)) + 1)}
    return _by_class("Mean wait by size", "size", figures, figures.sizes, labels)


def period_table(figures: WhatIf) -> Table:
    """Return the mean waits of jobs by the day or week of their submission."""
    periods = figures.periods
    return _by_class(f"Mean wait by {periods.unit}", "submitted in", figures, periods.of_jobs, periods.labels)


def _by_class(title: str, what: str, figures: WhatIf, classes: IntArray, labels: Mapping[int, str]) -> Table:
    counts = np.bincount(classes)
    means = [means_by(classes, figures.waits(case)) for case in figures.cases]
    rows = tuple(
        (
            TableCell(labels[number], float(number)),
            count_cell(int(counts[number])),
            *(time_cell(mean[number]) for mean in means),
        )
        for number in np.flatnonzero(counts).tolist()
    )
    return Table(title, (what, "jobs", *(schedule_name(case.key) for case in figures.cases)), rows)


def elastic_table(figures: WhatIf) -> Table:
    """Return the mean times to a result if a share of the jobs could change their size."""
    known = {case.key: case.metrics for case in figures.cases}
    # A policy that changes sizes is first fit where no job can.
    rigid = {name: known["first-fit"] for name in ELASTIC_POLICIES if "first-fit" in known}
    rigid |= {HINDSIGHT: known[HINDSIGHT]} if HINDSIGHT in known else {}
    bound = None if figures.bound is None else figures.bound + figures.mean_runtime
    rows = [_elastic_row("none", 0, bound, rigid)]
    rows += [
        _elastic_row(f"{100 * case.share:g} %", case.changeable, case.bound, case.metrics)
        for case in figures.elastic
    ]
    heads = ("can change size", "jobs", IMPOSSIBLE, *map(ELASTIC_NAMES.__getitem__, _ELASTIC))
    return Table("Mean time to result", heads, tuple(rows), "Where no job can, both policies are first fit.")


_ELASTIC: Final = (HINDSIGHT, *ELASTIC_POLICIES)


def _elastic_row(
    label: str, jobs: int, bound: float | None, metrics: Mapping[str, WorkloadMetrics]
) -> tuple[TableCell, ...]:
    times = (metrics[name].turnaround if name in metrics else None for name in _ELASTIC)
    return text(label), count_cell(jobs), bound_cell(bound), *map(time_cell, times)


def whatif_page(figures: WhatIf, *, made: str = "", remarks: Iterable[str] = ()) -> str:
    """Return the page as an HTML document.

    A content security policy keeps it from loading anything; whatever comes from the log is shown as text.

    Parameters
    ----------
    made
        A line on when and how the page was made.
    remarks
        What else is said of where the figures come from.
    """
    numbers = count()
    body = [f"<header><h1>What if? {isolated(figures.log.source)}</h1>"]
    body += [f'<p class="note">{escape(subject(figures))}.</p>']
    if warnings := [f"<p>{escape(caution)}</p>" for caution in cautions(figures)]:
        body += ['<section class="warning">', *warnings, "</section>"]
    body += ['<div class="cards">', *_cards(figures), "</div>"]
    body += [f'<p class="headline">{_linked(sentence)}</p>' for sentence in headlines(figures)]
    body += [
        *_contents(figures),
        "</header>",
        "<main>",
        *_compared(figures, numbers),
        *_asked(figures, numbers),
        *_who(figures, numbers),
    ]
    body += _elastic(figures, numbers) if figures.elastic else []
    body += ['<section id="limits"><h2>What this page leaves out</h2><ul>']
    body += [f"<li>{escape(limit)}</li>" for limit in limits(figures)]
    body += ["</ul></section>", *_words(figures), *_origin(figures, made, remarks), "</main>"]
    return document(f"What if? {figures.log.source}", body)


def _linked(sentence: Sentence) -> str:
    return "".join(
        f'<a href="#{anchor(part.word)}">{escape(part.shown)}</a>'
        if isinstance(part, Linked)
        else escape(part)
        for part in sentence
    )


def _table(table: Table, numbers: Iterator[int], asked: Collection[str] = ()) -> str:
    """Return a table whose heads lead to their definitions."""
    words = definitions(unit="", elastic=True, asked=asked)
    return table_html(table, next(numbers), {head: anchor(head) for head in table.heads if head in words})


def _cards(figures: WhatIf) -> Iterator[str]:
    """Yield the mean waits that matter most, each with what it is."""
    cards = []
    if figures.recorded is not None:
        cards.append((duration(figures.recorded.metrics.wait), "as it was", "mean wait as it was"))
    shared = log_not_modelled(figures.log)
    if (best := figures.best_policy) is not None and not shared:
        name = schedule_name(best.key)
        cards.append((duration(best.metrics.wait), name, f"with {name}, the best of {_called(figures)[0]}"))
    if figures.hindsight is not None and not shared:
        shown = duration(figures.hindsight.metrics.wait)
        cards.append((shown, "best known with hindsight", "the best schedule found, knowing the future"))
    if figures.bound is not None:
        shown = f"below {at_least(figures.bound)}"
        cards.append((shown, "certainly impossible", "certainly impossible, for any scheduler"))
    for shown, word, what in cards:
        link = f' href="#{anchor(word)}"' if word in definitions(unit="", elastic=False) else ""
        yield f'<a class="card"{link}><b>{escape(shown)}</b><span>{escape(what)}</span></a>'


def _contents(figures: WhatIf) -> Iterator[str]:
    yield "<nav><ul>"
    yield '<li><a href="#compared">Was, could have been, impossible</a></li>'
    if figures.outlooks or [*page_split_tables(figures)]:
        yield '<li><a href="#asked">What was asked</a></li>'
    yield '<li><a href="#who">Who waited</a></li>'
    if figures.elastic:
        yield '<li><a href="#elastic">If jobs could change their size</a></li>'
    yield '<li><a href="#limits">What is left out</a></li><li><a href="#words">What the words mean</a></li>'
    yield "</ul></nav>"


def _compared(figures: WhatIf, numbers: Iterator[int]) -> Iterator[str]:
    yield '<section id="compared"><h2>What was, what could have been, what is impossible</h2>'
    if figures.cases:
        yield _table(cases_table(figures), numbers)
        bases = dict.fromkeys(without_rule(case.key)[0] for case in figures.cases)
        yield _see(*(NAMES[base] for base in bases if base in NAMES), "certainly impossible")
        yield '<div class="figures">'
        means = {schedule_name(case.key): case.metrics.wait for case in figures.cases}
        line = " The red marks: no scheduler could have brought the mean to the left of it."
        note = "One bar for each schedule." + (line if figures.bound is not None else "")
        if max(means.values()) > longest_bar(means.values()):
            note += " Bars with a break are longer than the axis: their figures say how long."
        bars = wait_bars("Mean wait", "mean wait", means, figures.bound)
        yield figure_html("Mean wait", bars, note + _counts_note(figures))
        note = "Above: how much of the machine was busy. Below: how many jobs waited."
        if len(figures.cases) > len(_drawn(figures)):
            note += " Three schedules of those in the table: more lines are hard to tell apart."
        if drawn := _drawn(figures, on_nodes=True):
            drawing = over_time(figures.problem, drawn)
            yield figure_html("Over time", drawing, note + _unit_note(figures))
        yield "</div>"
    if figures.replayed:
        yield _table(network_table(figures.replayed), numbers)
    yield "</section>"


def _unit_note(figures: WhatIf) -> str:
    unit = figures.log.machine.unit
    return ("" if unit == "nodes" else f" Nodes are {unit} here.") + _counts_note(figures)


def _counts_note(figures: WhatIf) -> str:
    """Return what is said under drawings of schedules that only counts say are possible."""
    return " Nodes not modelled, but as it was." if log_not_modelled(figures.log) else ""


def _drawn(figures: WhatIf, *, on_nodes: bool = False) -> dict[str, WorkloadSchedule]:
    """Return the schedules of drawings with lines: as it was, the best policy, and with hindsight.

    Where nodes are places, only those are drawn on them that say where jobs lie.
    """
    shown = [case for case in (figures.recorded, figures.best_policy, figures.hindsight) if case is not None]
    if on_nodes and figures.problem.node_types:
        shown = [case for case in shown if case.schedule.place_offsets is not None]
    return {schedule_name(case.key): case.schedule for case in shown}


def _see(*words: str) -> str:
    links = ", ".join(f'<a href="#{anchor(word)}">{escape(word)}</a>' for word in words)
    return f'<p class="note">What the names mean: {links}.</p>'


def _who(figures: WhatIf, numbers: Iterator[int]) -> Iterator[str]:
    if not figures.cases:
        return
    yield '<section id="who"><h2>Who waited</h2>'
    yield _table(waits_table(figures), numbers)
    yield _table(size_table(figures), numbers)
    yield _table(period_table(figures), numbers)
    yield '<div class="figures">'
    classes, axis = size_classes(figures.problem.jobs.packed.nodes)
    drawn = _drawn(figures)
    note = "The mean wait of the jobs between a power of two and the one before it."
    drawing = wait_chart("Mean wait by size", figures.problem, drawn, classes, axis)
    yield figure_html("Mean wait by size", drawing, note + _unit_note(figures))
    if len(figures.periods.labels) > 1:
        periods = figures.periods
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
        drawing = wait_chart(title, figures.problem, drawn, periods.of_jobs, axis)
        yield figure_html(title, drawing, f"The mean wait of the jobs submitted in each {periods.unit}.")
    yield "</div></section>"


def _asked(figures: WhatIf, numbers: Iterator[int]) -> Iterator[str]:
    """Yield what would have been if one thing had been otherwise, and who gains and loses."""
    words = asked_words(figures)
    tables = [*page_split_tables(figures)]
    if figures.outlooks:
        tables = [outlooks_table(figures), *orders_table(figures), *tables]
    if not tables:
        return
    yield '<section id="asked"><h2>What was asked</h2>'
    yield from (f"<p>{_linked(sentence)}</p>" for sentence in outlook_sentences(figures))
    for table in tables:
        yield _table(table, numbers, words)
    yield _see(*words) if words else ""
    yield "</section>"


def _elastic(figures: WhatIf, numbers: Iterator[int]) -> list[str]:
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
    return [*lines, f"<p>{_linked(ask)}</p>", _table(elastic_table(figures), numbers), "</section>"]


def _words(figures: WhatIf) -> Iterator[str]:
    yield '<section id="words"><h2>What the words mean</h2><dl>'
    unit, elastic = figures.log.machine.unit, bool(figures.elastic)
    for word, meaning in definitions(unit, elastic=elastic, asked=asked_words(figures)).items():
        yield f'<dt id="{anchor(word)}">{escape(word)}</dt><dd>{escape(meaning)}</dd>'
    yield "</dl></section>"


def _origin(figures: WhatIf, made: str, remarks: Iterable[str]) -> Iterator[str]:
    log = figures.log
    yield '<section id="origin"><h2>Where the figures come from</h2>'
    yield f'<p class="note">The log {isolated(log.source)}: {escape(str(log.report))}. '
    yield f"Machine: {escape(str(log.machine))}. SHA-256 of the file: {escape(log.sha256)}.</p>"
    yield '<p class="note">Every schedule here was checked by a part of the program that shares no code with '
    yield "those that make schedules: no job starts before its submission, each runs for its run time, and "
    yield "at no instant more than all of the machine is in use. "
    yield "The bound was recomputed by it, too.</p>"
    yield from (f'<p class="note">{escape(remark)}.</p>' for remark in remarks)
    yield f'<p class="note">{escape(made)}</p></section>' if made else "</section>"
