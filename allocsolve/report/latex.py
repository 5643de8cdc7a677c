"""Tables for a paper: LaTeX for the package booktabs, in which every name stays text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from allocsolve.bench.runs.records import objective_terms
from allocsolve.pictures.chart import counted, visible
from allocsolve.report.parts import unused_name
from allocsolve.report.tables import Table, count, in_percent, p_value, seconds, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from allocsolve.report.study import Findings, Section
    from allocsolve.report.tables import TableCell

#: What LaTeX would take for a command, a ligature, or the option of a line break.
_SPECIAL: Final = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\char34}",
    **{letter: f"{{{letter}}}" for letter in "[]*`"},
}


def latex(findings: Findings) -> dict[str, str]:
    """Return the tables of each section as LaTeX by file name, without the ending.

    Each is an environment ``table`` with caption and label, for a document that uses the package booktabs:
    gaps of each solver, and if there are two solvers, their pairs with Wilcoxon's signed-rank test. A line
    holds a row. The names are made of the section and of ``gaps`` or ``pairs``: letters, digits and hyphens
    only.
    """
    documents: dict[str, str] = {}
    for section in findings.sections:
        for kind, table in paper_tables(section).items():
            name = unused_name(f"{section.name} {kind}", documents)
            documents[name] = _document(table, name)
    return documents


def paper_tables(section: Section) -> dict[str, Table]:
    """Return the tables of a section that a paper has room for, by their kinds, as `latex` writes them."""
    comparison = section.comparison
    best = comparison.best_by_digest.values()
    instances = f"{counted(len(best), 'instance')} of {section.name.partition(': ')[0]}"
    seeds = {run.seed for row in comparison.cells.values() for cell in row.values() for run in cell.runs}
    averaged = f", means of {len(seeds)} seeds each" if len(seeds) > 1 else ""
    reference = "optimum" if all(on.proven for on in best) else "best known lower bound"
    gaps = Table(
        f"Gap of {objective_terms(comparison.objective)[0]} to the {reference} in % on {instances}{averaged}",
        ("solver", "n", "mean", "median", "max", "optimal", "time"),
        tuple(
            (
                text(summary.entrant),
                count(gap.count if gap else 0),
                *(in_percent(value) for value in ((gap.mean, gap.median, gap.max) if gap else [None] * 3)),
                count(summary.optimal),
                seconds(summary.runtime.mean),
            )
            for summary in section.summaries
            for gap in [summary.gap]
        ),
        "n: instances with an answer and a bound; optimal: those on which the proven optimum is met; time: "
        "mean run time.",
    )
    if not section.duels:
        return {"gaps": gaps}
    pairs = Table(
        f"Pairs of solvers by {comparison.objective} on {instances}{averaged}",
        ("solver", "other", "n", "wins", "ties", "losses", "median difference, %", "p", "p (Holm)"),
        tuple(
            (
                *map(text, (duel.one, duel.other)),
                *map(count, (duel.wins + duel.ties + duel.losses, duel.wins, duel.ties, duel.losses)),
                in_percent(duel.median_difference),
                *map(p_value, (duel.p, duel.p_holm)),
            )
            for duel in section.duels
        ),
        "wins: instances on which the first is better; differences are relative to the larger value, "
        "negative where the first is better; p: Wilcoxon's signed-rank test, two-sided, adjusted for all "
        "pairs by Holm's method.",
    )
    return {"gaps": gaps, "pairs": pairs}


def _document(table: Table, name: str) -> str:
    columns = "".join("r" if numeric else "l" for numeric in table.numeric)
    return "\n".join(
        (
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escaped(f'{table.title}. {table.note}')}}}",
            rf"\label{{tab:{name}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            _row(map(escaped, table.heads)),
            r"\midrule",
            *(_row(map(_cell, row)) for row in table.rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        )
    )


def _row(cells: Iterable[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _cell(cell: TableCell) -> str:
    shown = escaped(cell.shown)
    if not isinstance(cell.key, float):
        return shown
    return {"-": "--", "inf": r"$\infty$"}.get(shown, f"${shown}$" if cell.shown.startswith("-") else shown)


def escaped(name: str) -> str:
    r"""Return a text that LaTeX shows as it is, in one line.

    >>> print(escaped(r"a_b%&[c]--"))
    a\_b\%\&{[}c{]}-{}-
    """
    shown = "".join(_SPECIAL.get(letter, letter) for letter in visible(" ".join(name.split())))
    return shown.replace("--", "-{}-")
