"""What would have been if one thing had been otherwise: tables and sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.instances.formats.logs.log import log_not_modelled
from allocsolve.pictures.chart import duration
from allocsolve.report.logs.findings import HINDSIGHT, means_by
from allocsolve.report.logs.questions import EASY, order_policy
from allocsolve.report.logs.words import (
    EXACT_LIMITS,
    IMPOSSIBLE,
    NAMES,
    ORDER_NAMES,
    Linked,
    at_least,
    schedule_name,
)
from allocsolve.report.tables import Table, TableCell, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import FloatArray, IntArray
    from allocsolve.report.logs.findings import Outlook, WhatIf
    from allocsolve.report.logs.questions import Classes
    from allocsolve.report.logs.words import Sentence

#: Users in a table: those whose waits change most.
_USERS: Final = 10
#: Seconds by which a mean wait must change to be called shorter or longer.
_CHANGED_S: Final = 1.0
#: What is more than a second of mean wait must be more than one per cent, too, to be told as worse.
_WORSE: Final = 1.01

_NOTHING: Final = TableCell("-", math.nan)


def time_cell(seconds: float | None) -> TableCell:
    """Return the cell of a duration; exact where it is sorted."""
    return _NOTHING if seconds is None else TableCell(duration(seconds), float(seconds))


def bound_cell(bound: float | None, otherwise: str = "-") -> TableCell:
    """Return the cell of a bound, which is rounded down."""
    if bound is None:
        return TableCell(otherwise, math.nan)
    return TableCell(f"below {at_least(bound)}", bound)


def outlooks_table(figures: WhatIf) -> Table:
    """Return what each question brings: the log as it is first."""
    here = figures.outlooks[0].wait
    rows = []
    for outlook in figures.outlooks:
        changed = _NOTHING
        if outlook.wait is not None and here is not None and outlook.question.option:
            changed = _signed(outlook.wait - here)
        rows.append(
            (
                text(outlook.question.label),
                time_cell(outlook.wait),
                changed,
                time_cell(outlook.hindsight),
                bound_cell(outlook.bound, "no bound" if outlook.searched else "-"),
            )
        )
    heads = ("what if", "mean wait", "change", NAMES["prices"], IMPOSSIBLE)
    return Table(f"What if: {NAMES[EASY]}", heads, tuple(rows), " ".join(outlook_notes(figures)))


def _signed(seconds: float) -> TableCell:
    sign = "+" if seconds > 0 else "-" if seconds < 0 else ""
    return TableCell(f"{sign}{duration(abs(seconds))}", seconds)


def outlook_notes(figures: WhatIf) -> Iterator[str]:
    """Yield what else has changed in a row, and why figures are missing."""
    yield "Each row changes one thing."
    told: set[tuple[int, str]] = set()
    for outlook in figures.outlooks:
        question = outlook.question
        if question.note:
            yield question.note
        for solver, why in outlook.faults.items():
            if (id(question.problem), solver) not in told:  # rows may share their runs
                told.add((id(question.problem), solver))
                what = "bound" if solver == HINDSIGHT else "schedule"
                yield f"No {what} ({question.label}): {solver}: {why}."


def orders_table(figures: WhatIf) -> Iterator[Table]:
    """Yield the mean waits of EASY in all orders on all machines, if there are several of both."""
    orders = [
        "submission",
        *(one.question.value for one in figures.outlooks if one.question.option == "order"),
    ]
    machines = [one for one in figures.outlooks if not one.question.option or one.question.policy == EASY]
    if len(orders) == 1 or len(machines) == 1:
        return
    rows = []
    for outlook in machines:
        cases = (outlook.policies.get(_policy(order)) for order in orders)
        waits = (None if case is None else case.metrics.wait for case in cases)
        rows.append((text(outlook.question.label), *map(time_cell, waits)))
    heads = ("what if", *(ORDER_NAMES[order] for order in orders))
    yield Table(f"What if: {NAMES[EASY]} in other orders", heads, tuple(rows), "Mean waits.")


def _policy(order: str) -> str:
    return EASY if order == "submission" else order_policy(order)  # type: ignore[arg-type]  # one that was asked for


def outlook_sentences(figures: WhatIf) -> Iterator[Sentence]:
    """Yield what each change is certain to bring, or cannot bring, and where more nodes are worse."""
    if not figures.outlooks:
        return
    here, *others = figures.outlooks
    not_modelled = log_not_modelled(figures.log)
    told = {id(here.question.problem)}
    for outlook in others:
        if id(outlook.question.problem) not in told:
            told.add(id(outlook.question.problem))
            yield from _certain_in_counts(outlook) if not_modelled else _certain(outlook, here)
    reorders = any(one.question.option == "order" for one in others)
    exact = any(one.question.option == "estimates" for one in others)
    if (reorders or exact) and here.bound is not None:
        what = [*(["no order of the queue"] * reorders), *([f"no {EXACT_LIMITS}"] * exact)]
        bound = Linked(at_least(here.bound), IMPOSSIBLE)
        begin = " and ".join(what)
        yield (
            f"{begin[0].upper()}{begin[1:]} can bring the mean wait below ",
            bound,
            ": the jobs and the machine are the same.",
        )
    if not not_modelled:
        yield from _worse(figures)


def _certain_in_counts(outlook: Outlook) -> Iterator[Sentence]:
    """Yield the bound alone: where nodes are not modelled, no schedule is known to be possible."""
    if outlook.bound is not None:
        bound = Linked(at_least(outlook.bound), IMPOSSIBLE)
        yield f"{outlook.question.clause} no scheduler can bring the mean wait below ", bound, "."


def _certain(outlook: Outlook, here: Outlook) -> Iterator[Sentence]:
    """Yield one sentence: the bound of one against the best schedule that is known of the other."""
    clause = outlook.question.clause
    if here.bound is not None and outlook.best is not None:
        easy = outlook.wait is not None and outlook.wait < here.bound
        value = outlook.wait if easy and outlook.wait is not None else outlook.best
        if _gap(here.bound, value):
            gain = Linked(at_least(here.bound - value), IMPOSSIBLE)
            wait = Linked(duration(value), "mean wait")
            end = " less than any scheduler could have reached as it is."
            if easy:
                yield f"{clause} {NAMES[EASY]} has a mean wait of ", wait, ": certainly at least ", gain, end
            else:
                best = Linked("with hindsight", NAMES["prices"])
                yield f"{clause} the mean wait ", best, " is ", wait, ": certainly at least ", gain, end
            return
    if outlook.bound is None and outlook.searched:
        yield (f"{clause} nothing is certain: no bound was found.",)
    if outlook.bound is None:
        return
    bound = Linked(at_least(outlook.bound), IMPOSSIBLE)
    if here.best is not None and _gap(outlook.bound, here.best):
        loss = Linked(at_least(outlook.bound - here.best), NAMES["prices"])
        yield (
            *(f"{clause} no scheduler can bring the mean wait below ", bound, ": certainly at least ", loss),
            " more than the best schedule known as it is.",
        )
    elif here.wait is not None:
        wait = Linked(duration(here.wait), "mean wait")
        yield (
            *(f"{clause} no scheduler can bring the mean wait below ", bound, f"; {NAMES[EASY]} has ", wait),
            " as it is.",
        )


def _gap(larger: float, smaller: float) -> bool:
    """Return whether what lies between two durations is shown as more than nothing."""
    return larger > smaller and at_least(larger - smaller) != at_least(0)


def _worse(figures: WhatIf) -> Iterator[Sentence]:
    """Yield for each order the sizes of which the larger machine loses most against the smaller one."""
    unit = figures.log.machine.unit
    sized = sorted((one for one in figures.outlooks if one.question.size), key=lambda one: one.question.size)
    for policy in dict.fromkeys(policy for one in sized for policy in one.policies):
        waits = [
            (one.question.size, one.policies[policy].metrics.wait) for one in sized if policy in one.policies
        ]
        pairs = [(few, many) for at, few in enumerate(waits) for many in waits[at + 1 :]]
        worse = [(few, many) for few, many in pairs if many[1] > max(_WORSE * few[1], few[1] + _CHANGED_S)]
        if worse:
            few, many = max(worse, key=lambda pair: pair[1][1] - pair[0][1])
            yield (
                *(f"More {unit} are not always better under a policy: with {_name(policy)} jobs wait "),
                Linked(duration(many[1]), "mean wait"),
                f" on {many[0]:,} {unit}, but ",
                Linked(duration(few[1]), "mean wait"),
                f" on {few[0]:,}.",
            )


def _name(policy: str) -> str:
    orders = {_policy(order): name for order, name in ORDER_NAMES.items() if order != "submission"}
    return f"{NAMES[EASY]}, {orders[policy]}," if policy in orders else NAMES[EASY]


def asked_words(figures: WhatIf) -> list[str]:
    """Return the words that only pages have on which something was asked for."""
    if not figures.outlooks:
        return []
    options = {one.question.option: one.question.label for one in figures.outlooks}
    orders = [one.question.label for one in figures.outlooks if one.question.option == "order"]
    first = [ORDER_NAMES["submission"]] if [*orders_table(figures)] else []
    return ["what if", "change", *first, *orders, *([EXACT_LIMITS] * ("estimates" in options))]


class _Column(NamedTuple):
    """The waits under one question."""

    label: str
    waits: FloatArray  #: shape (jobs,), seconds


def _columns(figures: WhatIf) -> list[_Column]:
    """Return the waits of each job: under each question, or in each schedule if nothing was asked for."""
    if not figures.outlooks:
        return [_Column(schedule_name(case.key), figures.waits(case)) for case in figures.cases]
    columns = []
    for outlook in figures.outlooks:
        case = outlook.policies.get(outlook.question.policy)
        if case is not None:
            columns.append(_Column(outlook.question.label, figures.waits(case)))
    return columns


def page_split_tables(figures: WhatIf) -> Iterator[Table]:
    """Yield the tables of classes that stand on the page nowhere else: it shows waits by size anyway."""
    split = figures.split
    if split is not None and (split.by != "size" or figures.outlooks):
        yield from split_tables(figures)


def split_tables(figures: WhatIf) -> Iterator[Table]:
    """Yield who gains and who loses, and the mean waits of the classes that were asked for."""
    split, columns = figures.split, _columns(figures)
    if split is None or not columns:
        return
    if figures.outlooks[1:] and len(columns) > 1 and columns[0].label == figures.outlooks[0].question.label:
        yield _gains_table(split, columns)
    yield _classes_table(split, columns)


def _gains_table(split: Classes, columns: list[_Column]) -> Table:
    here, *others = columns
    before = _means(split, here.waits)
    rows = []
    for column in others:
        change = _means(split, column.waits) - before
        least, most = int(np.argmin(change)), int(np.argmax(change))
        rows.append(
            (
                text(column.label),
                *(
                    count_cell(int(number))
                    for number in ((change <= -_CHANGED_S).sum(), (change >= _CHANGED_S).sum())
                ),
                _who(split, least, change[least]) if change[least] <= -_CHANGED_S else text("-"),
                _who(split, most, change[most]) if change[most] >= _CHANGED_S else text("-"),
            )
        )
    heads = ("what if", "wait less", "wait longer", "gains most", "loses most")
    plural = f"{len(split.labels):,} {split.by}s" if len(split.labels) != 1 else f"1 {split.by}"
    note = f"Of {plural}, how many have a mean wait that is shorter or longer, by a second at least."
    return Table(f"Who gains, who loses, by {split.by}", heads, tuple(rows), note)


def _who(split: Classes, number: int, change: float) -> TableCell:
    return text(f"{split.labels[number]} ({_signed(float(change)).shown})")


def count_cell(number: int) -> TableCell:
    """Return the cell of a count."""
    return TableCell(f"{number:,}", float(number))


def _means(split: Classes, waits: FloatArray) -> FloatArray:
    """Return the mean wait of each class, 0 of one without jobs."""
    means = means_by(split.of_jobs, waits)
    return np.array([means.get(number, 0.0) for number in range(len(split.labels))])


def _classes_table(split: Classes, columns: list[_Column]) -> Table:
    counts: IntArray = np.bincount(split.of_jobs, minlength=len(split.labels))
    means = [_means(split, column.waits) for column in columns]
    shown = np.flatnonzero(counts)
    note = "Mean waits."
    if split.by == "user" and len(shown) > _USERS:
        sums = counts * (np.max(means, axis=0) - np.min(means, axis=0))
        shown = shown[np.argsort(-sums[shown], kind="stable")[:_USERS]]
        note = f"Mean waits of the {_USERS} users of {len(split.labels):,} whose waits differ most in sum."
    rows = tuple(
        (
            TableCell(split.labels[number], float(number) if split.by == "size" else split.labels[number]),
            count_cell(int(counts[number])),
            *(time_cell(float(mean[number])) for mean in means),
        )
        for number in shown.tolist()
    )
    return Table(f"What if, by {split.by}", (split.by, "jobs", *(one.label for one in columns)), rows, note)


def split_means(figures: WhatIf) -> dict[str, dict[str, float]]:
    """Return the mean waits, in seconds, of all classes that were asked for, by column."""
    if figures.split is None:
        return {}
    split = figures.split
    return {
        column.label: {
            split.labels[number]: mean for number, mean in means_by(split.of_jobs, column.waits).items()
        }
        for column in _columns(figures)
    }
