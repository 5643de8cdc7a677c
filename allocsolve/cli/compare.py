"""The command that compares two studies: whether a new version helped."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from allocsolve.cli.output import remark, say, show_table, write_json
from allocsolve.cli.report import struck_out
from allocsolve.pictures.chart import counted, probability

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from allocsolve.bench.scores.comparison import PairedStudies, SolverChange
    from allocsolve.bench.scores.statistics import Interval

__all__ = ["compare_studies"]

_HEADS = (
    *("\nsolver", "\nobjective", "\nproblems", "\nbetter", "\nequal", "\nworse"),
    *("newly\nsolved", "newly\nfailed", "proven\nbefore", "\nafter", "change of\nvalue, %", "p\n(Holm)"),
)
_GAP_HEADS = (
    *("\nsolver", "\nobjective", "mean gap, %\nbefore", "\nafter", "\nchange", "time\nafter / before"),
)


def compare_studies(args: argparse.Namespace) -> int:
    """Pair the runs of two studies and show what changed, solver by solver."""
    from allocsolve.bench import RecordStore  # noqa: PLC0415 - when the command runs
    from allocsolve.bench.scores.comparison import pair_studies  # noqa: PLC0415 - when the command runs
    from allocsolve.bench.scores.contradictions import consistent  # noqa: PLC0415 - when the command runs
    from allocsolve.bench.scores.selection import select  # noqa: PLC0415 - when the command runs

    with (
        RecordStore(args.before, read_only=True, tell=remark) as one,
        RecordStore(args.after, read_only=True, tell=remark) as other,
    ):
        sides = [list(one), list(other)]
        catalogue = one.catalogue().merged(other.catalogue())
    chosen, catalogue = select(
        [row for side in sides for row in side],
        catalogue,
        solvers=args.solvers,
        exclude=args.exclude,
        suites=args.suites,
    )
    rows, catalogue, contradictions = consistent(chosen, catalogue)
    counting = {id(row) for row in rows}
    before, after = ([row for row in side if id(row) in counting] for side in sides)
    paired = pair_studies(before, after, catalogue)
    if args.json:
        fields = {field.name: getattr(paired, field.name) for field in dataclasses.fields(paired)}
        refuted = [str(contradiction) for contradiction in contradictions]
        write_json({"before": args.before, "after": args.after, **fields, "contradictions": refuted})
    else:
        say(*map(struck_out, contradictions))
        if paired.changes:
            title = f"{args.after} against {args.before}, {counted(paired.pairs, 'pair')} of runs"
            show_table(_HEADS, map(_row, paired.changes), title=title, texts=(0, 1))
            say("")
            show_table(_GAP_HEADS, map(_gap_row, paired.changes), texts=(0, 1))
            say("")
        say(*_remarks(paired))
    return 1 if contradictions else 0


def _row(change: SolverChange) -> tuple[str, ...]:
    return (
        *(change.entrant, change.objective),
        *map(str, (change.instances, change.better, change.equal, change.worse)),
        *map(str, (change.newly_solved, change.newly_failed, change.proven_before, change.proven_after)),
        _percent(change.difference, change.difference_interval, sign="+"),
        probability(change.p_holm),
    )


def _gap_row(change: SolverChange) -> tuple[str, ...]:
    return (
        *(change.entrant, change.objective, _percent(change.gap_before), _percent(change.gap_after)),
        _percent(change.gap_change, change.gap_change_interval, sign="+"),
        _ratio(change.time_ratio, change.time_ratio_interval),
    )


def _percent(fraction: float | None, interval: Interval = None, *, sign: str = "") -> str:
    if fraction is None:
        return "-"
    ends = f" [{100 * interval[0]:{sign}.2f}, {100 * interval[1]:{sign}.2f}]" if interval else ""
    return f"{100 * fraction:{sign}.2f}{ends}"


def _ratio(ratio: float | None, interval: Interval) -> str:
    if ratio is None:
        return "-"
    ends = f" [{interval[0]:.3g}, {interval[1]:.3g}]" if interval else ""
    return f"{ratio:.3g}{ends}"


def _remarks(paired: PairedStudies) -> Iterator[str]:
    """Yield what must be known to read the table."""
    if paired.pairs:
        yield "Below 0 is better. In brackets: 95 % intervals over the problems, by bootstrap. p: Wilcoxon."
    else:
        yield "No run has a counterpart: of the same problem, solver, objective, budget and seed."
    for name, (before, after) in paired.machine_differences.items():
        yield f"Times do not compare, {name} differs: {', '.join(before)} before, {', '.join(after)} after."
    if paired.same_code:
        yield f"The same code made both: {', '.join(paired.same_code)}."
    for side, counts in (("before", paired.unpaired_before), ("after", paired.unpaired_after)):
        if counts:
            yield f"Runs that only stand in the study {side}: {_counts(counts)}."


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{solver} {count}" for solver, count in counts.items())
