"""The tables of a report: of the study, of its failures, and of each section."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from allocsolve.model import Limit
from allocsolve.pictures.text import counted
from allocsolve.report.table import Table, TableCell, count, in_percent, p_value, seconds, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from allocsolve.bench import Record
    from allocsolve.bench.scores.summary import Summary
    from allocsolve.report.study import Findings, Section

__all__ = ["failure_table", "gap_table", "machine_table", "overview_tables", "section_tables"]

#: What is listed one by one; the rest is counted.
_LISTED: Final = 200
_NAMED: Final = 5

_ENDED: Final = {
    Limit.TIME: "time limit",
    Limit.ITERATIONS: "iteration limit",
    Limit.SIZE: "too large for the solver",
    Limit.INTERRUPTED: "interrupted",
    None: "ended",
}


def overview_tables(findings: Findings) -> tuple[Table, ...]:
    """Return the tables of the whole study."""
    return _study(findings), machine_table(findings), failure_table(findings)


def _study(findings: Findings) -> Table:
    rows = []
    for section in findings.sections:
        comparison, instances = section.comparison, section.comparison.best_by_digest.values()
        seeds = {run.seed for row in comparison.cells.values() for cell in row.values() for run in cell.runs}
        rows.append(
            (
                text(comparison.suite or "files"),
                text(comparison.kind),
                text(comparison.objective),
                count(len(instances)),
                count(sum(best.proven for best in instances)),
                count(sum(best.certified for best in instances)),
                count(len(comparison.cells)),
                count(len(seeds)),
                count(sum(one.runs for one in section.summaries)),
            )
        )
    heads = (
        "suite",
        "kind",
        "objective",
        "instances",
        "optima proven",
        "bounds certified",
        "solvers",
        "seeds",
        "runs",
    )
    first, last = (pick(row.when for row in findings.records) for pick in (min, max))
    when = f" from {first} to {last}" if first else ""
    versions = ", ".join(sorted({row.version for row in findings.records}))
    return Table(
        "Study",
        heads,
        tuple(rows),
        f"{counted(len(findings.records), 'run')}{when}, allocsolve {versions}. Solvers with "
        "several budgets, options or versions count several times. A best bound is certified if it was "
        "recomputed from a certificate or as a combinatorial bound; the others are as solvers claim them.",
    )


def machine_table(findings: Findings) -> Table:
    """Return the machines and versions that the runs were made with."""
    heads = tuple(dict.fromkeys(name for facts, _ in findings.machines for name in facts))
    rows = tuple(
        (*(text("" if facts.get(name) is None else str(facts.get(name))) for name in heads), count(runs))
        for facts, runs in findings.machines
    )
    return Table("Machines", (*heads, "runs"), rows, "Run times of different machines are not comparable.")


def _reason(run: Record) -> str:
    if run.error:
        return run.error
    if run.value is None:
        proof = " (claims that there is none)" if run.status == "infeasible" else ""
        return f"{_ENDED[run.limit]}, no answer{proof}"
    return f"{_ENDED[run.limit]}, answer not proven"


def failure_table(findings: Findings) -> Table:
    """Return all runs without an answer and all that a limit has stopped, grouped by their reason."""
    groups: dict[tuple[str, str, str], Counter[str]] = {}
    for section in findings.sections:
        for entrant, cells in section.comparison.cells.items():
            for cell in cells.values():
                for run in cell.runs:
                    if run.error or run.value is None or run.limit is not None:
                        group = section.name, entrant, _reason(run)
                        groups.setdefault(group, Counter())[run.instance] += 1
    rows = tuple(
        (*map(text, group), count(instances.total()), text(_some(instances)))
        for group, instances in list(groups.items())[:_LISTED]
    )
    more = f" {len(groups) - _LISTED} more reasons are not listed." if len(groups) > _LISTED else ""
    return Table(
        "Failures and limits",
        ("section", "solver", "reason", "runs", "on instances"),
        rows,
        ("Runs that failed, had no answer, or were stopped by a limit." if groups else "Nothing failed.")
        + more,
    )


def _some(names: Iterable[str]) -> str:
    listed: Sequence[str] = list(names)
    more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return ", ".join(listed[:_NAMED]) + more


def section_tables(section: Section) -> tuple[Table, ...]:
    """Return the tables of a section."""
    tables = [gap_table(section), _runs(section)]
    if section.duels:
        tables.append(_duels(section))
    if section.primal_curves:
        tables.append(_primal(section))
    return tuple(tables)


def gap_table(section: Section) -> Table:
    """Return the gaps of each solver."""
    first, *others = section.comparison.objective.split(",")
    lexicographic = f" Gaps are of {first}, the first term; all else compares all terms." if others else ""
    rows = [
        (
            text(one.entrant),
            count(one.instances),
            *_gaps(one),
            *map(count, (one.best, one.optimal, one.incomplete, one.unbounded, one.infinite)),
        )
        for one in section.summaries
    ]
    return Table(
        "Gap to the best known bound, in %",
        (
            *("solver", "instances", "mean", "median", "95th percentile", "max", "shifted geom. mean"),
            *("best known", "optimal", "no answer", "no bound", "infinite"),
        ),
        tuple(rows),
        "In brackets: 95 % bootstrap intervals over the instances. Seeds are averaged on each instance "
        "first. An instance without an answer to every seed, or without any bound, has no gap and is "
        "counted to the right; above a bound of 0 the gap is infinite. The shift is 1 %. best known, "
        "optimal: instances on which every seed meets the best known value, the proven optimum."
        + lexicographic,
    )


def _gaps(one: Summary) -> tuple[TableCell, ...]:
    gaps, intervals = one.gap, one.gap_intervals
    if gaps is None:
        return (in_percent(None),) * 5
    return (
        in_percent(gaps.mean, intervals["mean"]),
        in_percent(gaps.median, intervals["median"]),
        in_percent(gaps.p95, intervals["p95"]),
        in_percent(gaps.max),
        in_percent(gaps.shifted_mean),
    )


def _runs(section: Section) -> Table:
    rows = tuple(
        (
            text(one.entrant),
            count(one.runs),
            count(one.failed),
            count(one.unanswered),
            count(one.proven),
            *map(seconds, (one.runtime.mean, one.runtime.median, one.runtime.p95)),
            *map(seconds, (one.runtime.max, one.runtime.shifted_mean)),
        )
        for one in section.summaries
    )
    return Table(
        "Runs and run times",
        (
            *("solver", "runs", "failed", "no answer", "instances proven"),
            *("mean", "median", "95th percentile", "max", "shifted geom. mean"),
        ),
        rows,
        "Wall time of the solver call over the instances, failed runs included. The shift is 1 s.",
    )


def _duels(section: Section) -> Table:
    rows = tuple(
        (
            *(text(duel.one), text(duel.other)),
            *(count(duel.wins), count(duel.ties), count(duel.losses)),
            in_percent(duel.median_difference),
            *(p_value(duel.p), p_value(duel.p_holm)),
        )
        for duel in section.duels
    )
    return Table(
        "Pairs of solvers",
        ("solver", "other", "wins", "ties", "losses", "median difference, %", "p", "p (Holm)"),
        rows,
        "On the instances that both were run on; no answer loses against any. Differences are relative to "
        "the larger value, negative where the first is better. p: Wilcoxon's signed-rank test, two-sided; "
        "Holm's correction is for all pairs of this table.",
    )


def _primal(section: Section) -> Table:
    rows = tuple(
        (text(curve.entrant), in_percent(curve.mean_gap), seconds(curve.mean_gap * curve.end))
        for curve in section.primal_curves
    )
    end = seconds(section.primal_curves[0].end).shown
    return Table(
        "Primal integral",
        ("solver", "mean primal gap, %", "primal integral"),
        rows,
        f"Of the gap to the best known value over the first {end}, the longest run; 100 % until there is an "
        "answer. Solvers that do not tell what they meet on their way have their answer at their end.",
    )
