"""The tables of the page of a log."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.pictures.text import duration, percent
from allocsolve.report.table import Table, TableCell, text
from allocsolve.report.whatif.findings import ELASTIC_POLICIES, HINDSIGHT, means_by
from allocsolve.report.whatif.sentences import at_least
from allocsolve.report.whatif.words import ELASTIC_NAMES, NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.judge import WorkloadMetrics
    from allocsolve.model import IntArray
    from allocsolve.report.whatif.findings import WhatIf

__all__ = ["cases_table", "elastic_table", "period_table", "size_table", "waits_table"]

#: Jobs in the table of the longest waits.
_LONGEST: Final = 10
_BOUND: Final = "certainly impossible"


def _time(seconds: float | None) -> TableCell:
    """Return the cell of a duration; exact where it is sorted."""
    return TableCell("-", math.nan) if seconds is None else TableCell(duration(seconds), float(seconds))


def _count(number: int) -> TableCell:
    return TableCell(f"{number:,}", float(number))


def cases_table(found: WhatIf) -> Table:
    """Return waits and use of the machine: as it was, as it would have been, and what is impossible."""
    heads = "schedule", "mean wait", "half waited at most", "95 % waited at most", "longest wait", "busy"
    rows = []
    for case in found.cases:
        of = case.metrics
        times = of.wait, of.median_wait, of.p95_wait, of.max_wait
        busy = TableCell(percent(of.utilisation), of.utilisation)
        rows.append((text(NAMES[case.key]), *map(_time, times), busy))
    if found.bound is not None:
        below = TableCell(f"below {at_least(found.bound)}", found.bound)
        nothing = TableCell("", math.nan)
        rows.append((text(_BOUND), below, *[nothing] * 4))
    return Table("Waits and use of the machine", heads, tuple(rows))


def waits_table(found: WhatIf) -> Table:
    """Return the jobs that waited longest, and how long they would have waited."""
    case = found.cases[0]
    waits = found.waits(case)
    longest = [job for job in np.argsort(-waits, kind="stable")[:_LONGEST].tolist() if waits[job] > 0]
    packed = found.problem.packed
    columns = [(NAMES[one.key], found.waits(one)) for one in found.cases]
    rows = tuple(
        (
            text(found.problem.jobs.names[job]),
            text(found.periods.labels[int(found.periods.of_jobs[job])]),
            _count(int(packed.nodes[job])),
            _time(float(packed.runtime[job])),
            *(_time(float(column[job])) for _, column in columns),
        )
        for job in longest
    )
    heads = ("job", "submitted in", "size", "ran for", *(name for name, _ in columns))
    note = f"The {_LONGEST} jobs with the longest waits, {NAMES[case.key]}; how long each waits, by schedule."
    return Table("Jobs that waited longest", heads, rows, note)


def size_table(found: WhatIf) -> Table:
    """Return the mean waits of jobs by their size."""
    labels = {
        one: "1" if one == 0 else "2" if one == 1 else f"{2 ** (one - 1) + 1:,} to {2**one:,}"
        for one in range(int(found.sizes.max(initial=0)) + 1)
    }
    return _by_class("Mean wait by size", "size", found, found.sizes, labels)


def period_table(found: WhatIf) -> Table:
    """Return the mean waits of jobs by the day or week of their submission."""
    periods = found.periods
    return _by_class(f"Mean wait by {periods.unit}", "submitted in", found, periods.of_jobs, periods.labels)


def _by_class(title: str, what: str, found: WhatIf, classes: IntArray, labels: Mapping[int, str]) -> Table:
    counts = np.bincount(classes)
    means = [means_by(classes, found.waits(case)) for case in found.cases]
    rows = tuple(
        (TableCell(labels[one], float(one)), _count(int(counts[one])), *(_time(mean[one]) for mean in means))
        for one in np.flatnonzero(counts).tolist()
    )
    return Table(title, (what, "jobs", *(NAMES[case.key] for case in found.cases)), rows)


def elastic_table(found: WhatIf) -> Table:
    """Return the mean times to a result if a share of the jobs could change their size."""
    known = {case.key: case.metrics for case in found.cases}
    # A policy that changes sizes is first fit where no job can.
    rigid = {name: known["first-fit"] for name in ELASTIC_POLICIES if "first-fit" in known}
    rigid |= {HINDSIGHT: known[HINDSIGHT]} if HINDSIGHT in known else {}
    bound = None if found.bound is None else found.bound + found.mean_runtime
    rows = [_elastic_row("none", 0, bound, rigid)]
    rows += [
        _elastic_row(f"{100 * one.share:g} %", one.changeable, one.bound, one.metrics)
        for one in found.elastic
    ]
    heads = ("can change size", "jobs", _BOUND, *map(ELASTIC_NAMES.__getitem__, _ELASTIC))
    return Table("Mean time to result", heads, tuple(rows), "Where no job can, both policies are first fit.")


_ELASTIC: Final = (HINDSIGHT, *ELASTIC_POLICIES)


def _elastic_row(
    label: str, jobs: int, bound: float | None, metrics: Mapping[str, WorkloadMetrics]
) -> tuple[TableCell, ...]:
    times = (metrics[name].turnaround if name in metrics else None for name in _ELASTIC)
    below = TableCell("-", math.nan) if bound is None else TableCell(f"below {at_least(bound)}", bound)
    return text(label), _count(jobs), below, *map(_time, times)
