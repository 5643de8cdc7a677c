"""The figures of `score` and `study report` as files: as the page has them, or for print."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from allocsolve import figures, report
from allocsolve.cli.files import check_absent, make_folder, write_texts
from allocsolve.errors import InvalidOption
from allocsolve.figures.style import FORMATS, style

if TYPE_CHECKING:
    import argparse

    from allocsolve.cli.options import Options
    from allocsolve.report import Findings, StudyRecords


def add_figures(options: Options) -> None:
    """Add the options that ask for figures."""
    text = "write the figures into this folder: as SVG, as in reports, or with --format for print"
    options.add_argument("--figures", type=Path, metavar="DIR", help=text)
    text = "draw figures for print, a column wide (needs pip install 'allocsolve[plots]')"
    options.add_argument("--format", choices=FORMATS, help=text)


def check_figures(args: argparse.Namespace, *, force: bool) -> None:
    """Refuse figures that could not be made, or that would replace files unasked."""
    if args.format is not None:
        if args.figures is None:
            raise InvalidOption("--format is that of --figures, which names their folder")
        with style():
            pass  # there is a matplotlib
    for figure in sorted(args.figures.glob(f"*.{args.format or 'svg'}")) if args.figures else ():
        check_absent(figure, force=force)


def figure_files(args: argparse.Namespace, findings: Findings, study: StudyRecords) -> list[Path]:
    """Write the figures that are asked for, in a folder that is made if it does not exist."""
    if args.figures is None:
        return []
    if args.format is None:
        return write_texts(report.figures(findings), args.figures, ".svg")
    make_folder(args.figures)
    return figures.write_figures(findings, args.figures, args.format, study=study)
