"""The command that reports on a study."""

from __future__ import annotations

import datetime as dt
import shlex
from importlib.metadata import version
from typing import TYPE_CHECKING

from allocsolve.cli.files import check_absent, check_outputs, make_folder
from allocsolve.cli.output import remark, say, write_json
from allocsolve.pictures.chart import counted

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from allocsolve.bench.scores.contradictions import Contradiction
    from allocsolve.report import Findings, StudyRecords

__all__ = ["report_study", "struck_out", "write_report"]


def report_study(args: argparse.Namespace) -> int:
    """Write the report of a study; the exit status says whether its records contradict each other."""
    from allocsolve.bench import RecordStore  # noqa: PLC0415 - when the command runs
    from allocsolve.bench.scores.selection import select  # noqa: PLC0415 - when the command runs
    from allocsolve.report import examine  # noqa: PLC0415 - when the command runs

    check_outputs(args.out, args.markdown, inputs=[args.study], force=args.force)
    if args.figures is not None:
        for figure in sorted(args.figures.glob("*.svg")):
            check_absent(figure, force=args.force)
    today = dt.datetime.now(dt.UTC).date()
    made = (
        f"Made on {today} with allocsolve {version('allocsolve')}: {shlex.join(['allocsolve', *args.words])}"
    )
    with RecordStore(args.study, read_only=True, tell=remark) as store:
        records, catalogue = select(
            store, store.catalogue(), solvers=args.solvers, exclude=args.exclude, suites=args.suites
        )
        findings = examine(records, title=args.study.stem, catalogue=catalogue, made=made)
        drawn = write_report(store, findings, args.out, table=args.markdown, folder=args.figures)
    if args.json:
        write_json(
            {
                "report": args.out,
                "markdown": args.markdown,
                "figures": drawn,
                "records": len(findings.records),
                "headlines": findings.headlines,
                "contradictions": [str(one) for one in findings.contradictions],
                "struck_out": len({id(row) for one in findings.contradictions for row in one.struck}),
            }
        )
    else:
        say(*map(struck_out, findings.contradictions))
        say(*findings.headlines)
        say(f"Report of {counted(len(findings.records), 'record')}: {args.out}")
        say(*([f"Tables: {args.markdown}"] if args.markdown else []))
        say(*([f"{counted(len(drawn), 'figure')}: {args.figures}"] if args.figures else []))
    return 1 if findings.contradictions else 0


def struck_out(contradiction: Contradiction) -> str:
    """Return the line on records that contradict each other."""
    return f"{contradiction}; {counted(len(contradiction.struck), 'record')} struck out"


def write_report(
    study: StudyRecords,
    findings: Findings,
    out: Path,
    *,
    table: Path | None = None,
    folder: Path | None = None,
) -> list[Path]:
    """Write a report as an HTML page, and as Markdown and single figures if asked for.

    Parameters
    ----------
    study
        The records with their problems and answers.
    findings
        What the report says of them.
    out, table
        The files of the page and of the Markdown.
    folder
        Where the figures go, as SVG files; made if it does not exist.

    Returns
    -------
    list
        The files of the figures.

    Raises
    ------
    FormatError
        If the folder cannot be made.
    """
    from allocsolve.report import figures, html, markdown  # noqa: PLC0415 - when the command runs

    if folder is not None:
        make_folder(folder)
    out.write_text(html(findings, study), encoding="utf-8", errors="replace")
    if table is not None:
        table.write_text(markdown(findings), encoding="utf-8", errors="replace")
    if folder is None:
        return []
    drawn = {folder / f"{name}.svg": figure for name, figure in figures(findings).items()}
    for path, figure in drawn.items():
        path.write_text(figure, encoding="utf-8", errors="replace")
    return list(drawn)
