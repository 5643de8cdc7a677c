"""The command that reports on a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.cli.files import check_writable, make_folder
from allocsolve.cli.output import say
from allocsolve.pictures.text import counted

if TYPE_CHECKING:
    from pathlib import Path

    from allocsolve.report import StudyRecords

__all__ = ["write_report"]


def write_report(
    study: StudyRecords, title: str, out: Path, *, table: Path | None = None, folder: Path | None = None
) -> None:
    """Write the report of a study as an HTML page, and as Markdown and single figures if asked for.

    Parameters
    ----------
    study
        The records with their problems and answers.
    title
        Of the report.
    out, table
        The files of the page and of the Markdown.
    folder
        Where the figures go, as SVG files; made if it does not exist.

    Raises
    ------
    FormatError
        If a file cannot be written, before any work is done.
    InvalidAnswer
        If two records contradict each other.
    InvalidOption
        If there is no record.
    """
    from allocsolve.report import examine, figures, html, markdown  # noqa: PLC0415 - when the command runs

    for path in (out, table):
        if path is not None:
            check_writable(path)
    if folder is not None:
        make_folder(folder)
    findings = examine(study, title=title)
    out.write_text(html(findings, study), encoding="utf-8", errors="replace")
    say(f"Report of {counted(len(findings.records), 'record')}: {out}")
    if table is not None:
        table.write_text(markdown(findings), encoding="utf-8", errors="replace")
        say(f"Tables: {table}")
    if folder is not None:
        drawn = figures(findings)
        for name, figure in drawn.items():
            (folder / f"{name}.svg").write_text(figure, encoding="utf-8", errors="replace")
        say(f"{counted(len(drawn), 'figure')}: {folder}")
