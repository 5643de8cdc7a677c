"""The tables of a report: of the study, of its failures, and of each section."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from allocsolve.bench.runs.records import objective_terms
from allocsolve.bench.scores.gaps import stated_remark
from allocsolve.model import Limit, terms
from allocsolve.pictures.chart import counted, number, percent, probability, time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from allocsolve.bench import Record
    from allocsolve.bench.scores.summary import Summary
    from allocsolve.report.study import Findings, Section


class TableCell(NamedTuple):
    """What is shown, and the number or text that it is sorted by; NaN goes last."""

    shown: str
    key: float | str


@dataclass(frozen=True, slots=True)
class Table:
    """A table; a column of numbers has numbers as keys throughout."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    note: str = ""

    @property
    def numeric(self) -> tuple[bool, ...]:
        """For each column whether it holds numbers."""
        return tuple(
            bool(self.rows) and all(isinstance(row[column].key, float) for row in self.rows)
            for column in range(len(self.heads))
        )


def text(shown: str) -> TableCell:
    """Return the cell of a text."""
    return TableCell(shown, shown)


def count(value: int) -> TableCell:
    """Return the cell of a count."""
    return TableCell(str(value), float(value))


def value(terms: Sequence[float] | None) -> TableCell:
    """Return the cell of an objective value: all its terms, sorted by the first."""
    if terms is None:
        return TableCell("-", math.nan)
    return TableCell(", ".join(map(number, terms)), float(terms[0]))


def seconds(time: float) -> TableCell:
    """Return the cell of a duration."""
    return TableCell(time_text(time, exact=True), time)


def in_percent(fraction: float | None, interval: tuple[float, float] | None = None) -> TableCell:
    """Return the cell of a fraction in per cent, with its interval."""
    if fraction is None:
        return TableCell("-", math.nan)
    if math.isinf(fraction):
        return TableCell("inf", fraction)
    shown = percent(fraction, 2).removesuffix(" %")
    if interval:
        shown += f" [{100 * interval[0]:.2f}, {100 * interval[1]:.2f}]"
    return TableCell(shown, fraction)


def p_value(p: float) -> TableCell:
    """Return the cell of a p-value."""
    return TableCell(probability(p), p)


#: What is listed one by one; the rest is counted.
_LISTED: Final = 200
_NAMED: Final = 5

_ENDED: Final = {
    Limit.TIME: "time limit",
    Limit.ITERATIONS: "iteration limit",
    Limit.SIZE: "too large for the solver",
    Limit.ROUNDING: "the solver rounds its numbers",
    Limit.INTERRUPTED: "interrupted",
    None: "ended",
}


def overview_tables(findings: Findings) -> tuple[Table, ...]:
    """Return the tables of the whole study."""
    return (_study(findings), machine_table(findings), failure_table(findings), limit_table(findings))


def contradiction_tables(findings: Findings) -> tuple[Table, ...]:
    """Return the table of what contradicts; none if nothing does."""
    if not findings.contradictions:
        return ()
    rows = tuple(
        (
            *map(text, (clash.instance, clash.objective, clash.claimed_by, clash.claim, clash.found_by)),
            value(terms(clash.value)),
            count(len(clash.struck)),
            text(_some(dict.fromkeys(row.solver for row in clash.struck))),
        )
        for clash in findings.contradictions
    )
    struck = len({id(row) for clash in findings.contradictions for row in clash.struck})
    return (
        Table(
            "Contradictions",
            ("instance", "objective", "who claims", "claim", "who found", "value", "struck out", "of"),
            rows,
            f"{counted(struck, 'record')} struck out: they count nowhere below. The judge has recomputed "
            "every value, so a bound above it is false, and the record of the claim is struck out. If the "
            "bound was recomputed, too, every record of the instance is: one of two computations is wrong, "
            "please report it. What the library or a file states of an instance does not count if a record "
            "contradicts it.",
        ),
    )


def _study(findings: Findings) -> Table:
    rows = []
    for section in findings.sections:
        comparison, instances = section.comparison, section.comparison.best_by_digest.values()
        seeds = {run.seed for row in comparison.cells.values() for cell in row.values() for run in cell.runs}
        rows.append(
            (
                *map(text, (comparison.suite or "files", comparison.kind, comparison.objective)),
                count(len(instances)),
                count(sum(best.proven for best in instances)),
                count(sum(best.certified for best in instances)),
                count(sum(best.verified for best in instances)),
                *map(count, (len(comparison.cells), len(seeds))),
                count(sum(summary.runs for summary in section.summaries)),
            )
        )
    heads = (
        *("suite", "kind", "objective", "instances", "optima proven", "bounds certified"),
        *("bounds verified", "solvers", "seeds", "runs"),
    )
    first, last = (pick((row.when for row in findings.records), default="") for pick in (min, max))
    when = f" from {first} to {last}" if first else ""
    versions = ", ".join(sorted({row.version for row in findings.records}))
    return Table(
        "Study",
        heads,
        tuple(rows),
        f"{counted(len(findings.records), 'run')}{when}, allocsolve {versions}. Solvers with "
        "several budgets, options or versions count several times. A best bound is certified if it was "
        "recomputed from a certificate or as a combinatorial bound; the others are as solvers claim them, or "
        "as the instance library or a file states them. A "
        "certified bound is verified, too, if a program that is proven right has confirmed it "
        "(allocsolve study verify --verified).",
    )


def machine_table(findings: Findings) -> Table:
    """Return the machines and versions that the runs were made with."""
    heads = tuple(dict.fromkeys(name for facts, _ in findings.machines for name in facts))
    rows = tuple(
        (*(text("" if facts.get(name) is None else str(facts.get(name))) for name in heads), count(runs))
        for facts, runs in findings.machines
    )
    return Table("Machines", (*heads, "runs"), rows, "Run times of different machines are not comparable.")


def failure_table(findings: Findings) -> Table:
    """Return all runs without an answer, grouped by their reason."""
    groups = _grouped(
        findings,
        lambda run: (
            run.error or (f"{_ENDED[run.limit]}, no answer{_proof(run)}" if run.value is None else "")
        ),
    )
    return _group_table(
        "Failures", "reason", groups, "Runs that failed or have no answer." if groups else "Nothing failed."
    )


def limit_table(findings: Findings) -> Table:
    """Return all runs with an answer that a limit has stopped, grouped by the limit."""
    groups = _grouped(findings, lambda run: "" if run.value is None or not run.limit else _ENDED[run.limit])
    note = "Runs that a limit stopped, with the answer that they had: no failures."
    return _group_table("Stopped by a limit", "limit", groups, note if groups else "No limit stopped a run.")


def _proof(run: Record) -> str:
    return " (claims that there is none)" if run.status == "infeasible" else ""


_Groups: TypeAlias = "dict[tuple[str, str, str], Counter[str]]"


def _grouped(findings: Findings, reason: Callable[[Record], str]) -> _Groups:
    """Return how often each section, entrant and reason has each instance; runs without a reason are not."""
    groups: _Groups = {}
    for section in findings.sections:
        for entrant, cells in section.comparison.cells.items():
            for cell in cells.values():
                for run in cell.runs:
                    if why := reason(run):
                        groups.setdefault((section.name, entrant, why), Counter())[run.instance] += 1
    return groups


def _group_table(title: str, what: str, groups: _Groups, note: str) -> Table:
    rows = tuple(
        (*map(text, group), count(instances.total()), text(_some(instances)))
        for group, instances in list(groups.items())[:_LISTED]
    )
    more = f" {len(groups) - _LISTED} more rows are not listed." if len(groups) > _LISTED else ""
    return Table(title, ("section", "solver", what, "runs", "on instances"), rows, note + more)


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
    first, *others = objective_terms(section.comparison.objective)
    lexicographic = f" Gaps are of {first}, the first term; all else compares all terms." if others else ""
    rows = [
        (
            text(summary.entrant),
            count(summary.instances),
            *_gaps(summary),
            *map(
                count,
                (summary.best, summary.optimal, summary.incomplete, summary.unbounded, summary.infinite),
            ),
        )
        for summary in section.summaries
    ]
    return Table(
        "Gap to the best known bound, in %",
        (
            *("solver", "instances", "mean", "median", "95th percentile", "max", "shifted geom. mean"),
            *("best known", "optimal", "no answer", "no bound", "infinite"),
        ),
        tuple(rows),
        "The least mean first. In brackets: 95 % bootstrap intervals over the instances. Seeds are averaged "
        "on each instance first. An instance without an answer to every seed, or without any bound, has no "
        "gap and is counted to the right; above a bound of 0 the gap is infinite. The shift is 1 %. best "
        "known, optimal: instances on which every seed meets the best known value, the proven optimum."
        + lexicographic
        + f" {stated_remark(section.comparison.best_by_digest.values())}".rstrip(),
    )


def _gaps(summary: Summary) -> tuple[TableCell, ...]:
    gaps, intervals = summary.gap, summary.gap_intervals
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
            text(summary.entrant),
            *map(count, (summary.runs, summary.failed, summary.unanswered, summary.overruns, summary.proven)),
            *map(seconds, (summary.runtime.mean, summary.runtime.median, summary.runtime.p95)),
            *map(seconds, (summary.runtime.max, summary.runtime.shifted_mean)),
        )
        for summary in section.summaries
    )
    return Table(
        "Runs and run times",
        (
            *("solver", "runs", "failed", "no answer", "over time", "instances proven"),
            *("mean", "median", "95th percentile", "max", "shifted geom. mean"),
        ),
        rows,
        "Wall time of the solver call over the instances, failed runs included. The shift is 1 s. "
        "over time: runs longer than their time limit by more than a tenth of it and a tenth of a second.",
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
        for curve in sorted(section.primal_curves, key=lambda curve: curve.mean_gap)
    )
    end = seconds(section.primal_curves[0].end).shown
    return Table(
        "Primal integral",
        ("solver", "mean primal gap, %", "primal integral"),
        rows,
        f"Of the gap to the best known value over the first {end}, the longest run; 100 % until there is an "
        "answer. Solvers that do not tell what they meet on their way have their answer at their end.",
    )
