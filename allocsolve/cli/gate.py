"""The command that keeps solvers from getting worse: gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.cli.files import check_writable
from allocsolve.cli.output import remark, say, show_table, write_json
from allocsolve.cli.progress import count_bar
from allocsolve.pictures.text import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from allocsolve.bench import GateChange, GateReport

__all__ = ["gate"]


def gate(args: argparse.Namespace) -> int:
    """Run a suite and compare it with the baseline, or write the baseline."""
    from allocsolve.bench import open_executor, run_gate  # noqa: PLC0415 - when the command runs

    if args.update:
        check_writable(args.baseline)
    with count_bar("gate") as progress, open_executor("local", jobs=1) as cells:
        report = run_gate(
            args.baseline,
            update=args.update,
            suite=args.suite,
            solvers=args.solvers,
            executor=cells,
            progress=progress,
            announce=remark,
        )
    if args.json:
        write_json({"passed": report.passed, **_fields(report)})
    else:
        _show(report)
    return 0 if report.passed else 1


def _fields(report: GateReport) -> dict[str, object]:
    return {name: getattr(report, name) for name in report.__dataclass_fields__}


def _show(report: GateReport) -> None:
    if report.changes:
        # Gaps are fractions, times in units of the reference kernel, as in the file.
        heads = ("what", "kind", "solver", "problem", "baseline", "now", "change")
        show_table(heads, map(_row, report.changes), texts=(0, 1, 2, 3))
        say("", *_errors(report))
    ran = (
        f"{report.suite}: {counted(report.problems, 'problem')}, {counted(report.solvers, 'solver')}, "
        f"{report.timed} of them timed"
    )
    count = counted(len(report.changes), "change")
    if report.updated:
        say(f"{ran}; {count}, written to {report.baseline}")
    elif report.passed:
        say(f"{ran}; as in {report.baseline}")
    else:
        say(f"{ran}; {count} from {report.baseline}", "Where they are meant, accept them with --update.")


def _row(change: GateChange) -> tuple[str, ...]:
    # The reason of a failure is a sentence: below the table.
    values = [change.before, None if _failed(change) else change.now]
    texts = (change.what, change.kind, change.solver, change.problem, *map(_text, values), change.relative)
    return tuple(text or "-" for text in texts)


def _text(value: float | str | None) -> str:
    return "" if value is None else str(value)


def _failed(change: GateChange) -> bool:
    return change.what in ("refuted", "failed")


def _errors(report: GateReport) -> Iterator[str]:
    for change in report.changes:
        if _failed(change):
            yield str(change)
