"""The papers of `reproduce` and their options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from allocsolve.cli import options as opt
from allocsolve.cli.parser import add_command, commands_of
from reproductions.bender2008.command import bender2008
from reproductions.klein2011.command import klein2011
from reproductions.lina2022.command import lina2022
from reproductions.linnert2024.command import linnert2024
from reproductions.posner2024.command import posner2024
from reproductions.zojer2025.command import zojer2025

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

__all__ = ["add_papers"]


def add_papers(parser: argparse.ArgumentParser) -> None:
    """Add one command per paper below `reproduce`."""
    papers = commands_of(parser, "paper")

    def paper(
        name: str, run: Callable[[argparse.Namespace], int], summary: str, seed: int
    ) -> argparse.ArgumentParser:
        added = add_command(papers, name, run, summary)
        help_text = "seed of every random choice (default: %(default)s)"
        added.add_argument(
            "--seed", type=opt.integer(0, 2**31 - 1), default=seed, metavar="S", help=help_text
        )
        return added

    summary = "Klein & Perez 2011: tables 1 and 2; with --optimal, what expansion is worth to the optimum"
    _add_klein2011(paper("klein2011", klein2011, summary, 2011))
    summary = "Bender et al. 2008: the tight family of the median method, and heuristics beside optima"
    added = paper("bender2008", bender2008, summary, 2008)
    help_text = "how many problems of each kind (default: %(default)s)"
    added.add_argument("--tests", type=opt.integer(1), default=30, metavar="N", help=help_text)
    help_text = "time limit for each optimum (default: %(default)s)"
    added.add_argument("--seconds", type=opt.seconds, default=10.0, metavar="T", help=help_text)
    summary = (
        "Lina et al. 2022: malleable and evolving jobs on KIT FH2 and LLNL Atlas, and bounds beside them"
    )
    _add_lina2022(add_command(papers, "lina2022", lina2022, summary))
    summary = "Linnert et al. 2024: jobs with deadlines on a mesh, booked or leaking, and bounds beside them"
    _add_linnert2024(add_command(papers, "linnert2024", linnert2024, summary))
    summary = "Posner 2024: batches of evolving tree searches, and the certified bound beside them"
    _add_posner2024(add_command(papers, "posner2024", posner2024, summary))
    summary = "Zojer 2025: malleable jobs on the log of Cori KNL, and the certified bound beside them"
    _add_zojer2025(add_command(papers, "zojer2025", zojer2025, summary))


def _add_klein2011(parser: argparse.ArgumentParser) -> None:
    help_text = "how many problems; needed for the tables. With --optimal, of each size (default: 10)"
    parser.add_argument("--tests", type=opt.integer(1), metavar="N", help=help_text)
    parser.add_argument("--optimal", action="store_true", help="least makespans within limits 1, 2 and inf")
    only = parser.add_argument_group("with --optimal")
    # No defaults here: given without --optimal, they are refused.
    help_text = "time limit for each optimum in seconds (default: 60)"
    only.add_argument("--seconds", type=opt.seconds, metavar="T", help=help_text)
    help_text = "threads of the exact solver (default: 2 if there are)"
    only.add_argument("--workers", type=opt.integer(1), metavar="W", help=help_text)
    help_text = "where records.sqlite goes; what is there is not run again (default: out)"
    only.add_argument("--out", type=Path, metavar="DIR", help=help_text)
    only.add_argument("--plot", type=Path, metavar="SVG", help="draw what is found into this file")
    only.add_argument("--force", action="store_true", default=None, help=opt.FORCE_HELP)


def _add_lina2022(parser: argparse.ArgumentParser) -> None:
    help_text = "the folder with both logs, as *.swf.gz (default: that of ALLOCSOLVE_TRACES)"
    parser.add_argument("--traces", type=Path, metavar="DIR", help=help_text)
    help_text = "workloads, by the names of the paper; Synthetic needs no log (default: all)"
    parser.add_argument("--logs", type=opt.names, metavar="A,B,...", help=help_text)
    help_text = "shares of elastic jobs in per cent (default: 10,20,...,100)"
    parser.add_argument("--shares", type=opt.percentages, metavar="P,...", help=help_text)
    help_text = "how many seeds draw the elastic jobs (default: 3; the paper has ten runs)"
    parser.add_argument("--seeds", type=opt.integer(1, 10**4), metavar="N", help=help_text)
    help_text = "time limit for each bound in seconds (default: %(default)s)"
    parser.add_argument("--seconds", type=opt.seconds, default=10.0, metavar="T", help=help_text)
    help_text = "where records.sqlite and runs.csv go; what is there is not run again (default: out)"
    parser.add_argument("--out", type=Path, default=Path("out"), metavar="DIR", help=help_text)
    opt.add_executor(parser)
    opt.add_again(parser)


def _add_linnert2024(parser: argparse.ArgumentParser) -> None:
    help_text = "loads: normal, heavy, very heavy (default: all)"
    parser.add_argument("--loads", type=opt.names, metavar="A,B,...", help=help_text)
    help_text = "how many streams of each load and kind of programs (default: 30; the paper has 320)"
    parser.add_argument("--seeds", type=opt.integer(1, 10**4), metavar="N", help=help_text)
    help_text = "jobs of a stream (default: %(default)s, as in the paper)"
    parser.add_argument("--length", type=opt.integer(1, 10**5), default=1000, metavar="J", help=help_text)
    help_text = "time limit for each clairvoyant schedule and its bound in seconds (default: %(default)s)"
    parser.add_argument("--seconds", type=opt.seconds, default=3.0, metavar="T", help=help_text)
    help_text = "where records.sqlite and runs.csv go; what is there is not run again (default: out)"
    parser.add_argument("--out", type=Path, default=Path("out"), metavar="DIR", help=help_text)
    parser.add_argument("--plot", type=Path, metavar="SVG", help="draw figures 14 to 18 into this file")
    parser.add_argument("--force", action="store_true", help=opt.FORCE_HELP)
    opt.add_executor(parser)
    opt.add_again(parser)


def _add_zojer2025(parser: argparse.ArgumentParser) -> None:
    help_text = "the folder with cori_knl/*.csv (default: that of ALLOCSOLVE_TRACES)"
    parser.add_argument("--traces", type=Path, metavar="DIR", help=help_text)
    help_text = "shares of malleable jobs in per cent (default: 0,20,40,60,80,100)"
    parser.add_argument("--shares", type=opt.percentages, metavar="P,...", help=help_text)
    help_text = "how many seeds choose the malleable jobs (default: 10, as in the thesis)"
    parser.add_argument("--seeds", type=opt.integer(1, 10**4), metavar="N", help=help_text)
    help_text = "the policies (default: the four of the thesis, and static-price)"
    parser.add_argument("--policies", type=opt.solvers, metavar="A,B,...", help=help_text)
    _add_records(parser, 30.0)


def _add_posner2024(parser: argparse.ArgumentParser) -> None:
    help_text = "a file with the batches, such as evotree_batches.json (default: they are drawn)"
    parser.add_argument("--batches", type=Path, metavar="FILE", help=help_text)
    help_text = "seed of the first batch that is drawn, the next has S + 1 (default: 42, as in the paper)"
    parser.add_argument("--seed", type=opt.integer(0, 2**31 - 1), metavar="S", help=help_text)
    help_text = "how many batches are drawn (default: 5, as in the paper)"
    parser.add_argument("--count", type=opt.integer(1, 10**4), metavar="N", help=help_text)
    help_text = "shares of jobs that are not rigid in per cent (default: 0,20,40,60,80,100)"
    parser.add_argument("--shares", type=opt.percentages, metavar="P,...", help=help_text)
    _add_records(parser, 5.0)


def _add_records(parser: argparse.ArgumentParser, seconds: float) -> None:
    """Add how long bounds take, and where the runs go that are recorded."""
    help_text = "time limit for each bound in seconds (default: %(default)s)"
    parser.add_argument("--seconds", type=opt.seconds, default=seconds, metavar="T", help=help_text)
    help_text = "threads of the solver that gives the bounds (default: %(default)s)"
    parser.add_argument("--workers", type=opt.integer(1), default=1, metavar="W", help=help_text)
    help_text = "where records.sqlite and runs.csv go; what is there is not run again (default: out)"
    parser.add_argument("--out", type=Path, default=Path("out"), metavar="DIR", help=help_text)
    parser.add_argument("--plot", type=Path, metavar="SVG", help="draw what is found into this file")
    parser.add_argument("--force", action="store_true", help=opt.FORCE_HELP)
    opt.add_executor(parser)
    opt.add_again(parser)
