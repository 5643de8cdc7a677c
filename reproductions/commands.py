"""The papers of `reproduce` and their options. Nothing of a paper is imported before its command runs."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from allocsolve.cli import options as opt
from allocsolve.cli.parser import add_command, commands_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    AddOptions: TypeAlias = Callable[[argparse.ArgumentParser], None]


class Paper(NamedTuple):
    """A paper: the folder of its name has a module `command` with a function of its name."""

    summary: str
    add_options: AddOptions

    def add(self, papers: Any, name: str) -> None:  # noqa: ANN401 - what argparse returns has no public name
        """Add the command of the paper."""

        def run(args: argparse.Namespace) -> int:
            module = importlib.import_module(f"reproductions.{name}.command")
            status: int = getattr(module, name)(args)
            return status

        self.add_options(add_command(papers, name, run, self.summary))


#: All papers by name, in the order of the help.
PAPERS: Final[dict[str, Paper]] = {}


def paper(summary: str) -> Callable[[AddOptions], AddOptions]:
    """Return a decorator that enters a paper: the function of its name adds the options of its command."""

    def enter(add_options: AddOptions) -> AddOptions:
        PAPERS[add_options.__name__.removeprefix("_")] = Paper(summary, add_options)
        return add_options

    return enter


def add_reproduce(parser: argparse.ArgumentParser) -> None:
    """Add one command per paper below `reproduce`."""
    papers = commands_of(parser, "paper")
    for name, entered in PAPERS.items():
        entered.add(papers, name)


def add_seed(parser: argparse.ArgumentParser, seed: int) -> None:
    """Add the seed, with its default."""
    help_text = "seed of every random choice (default: %(default)s)"
    parser.add_argument("--seed", type=opt.integer(0, 2**31 - 1), default=seed, metavar="S", help=help_text)


def add_seconds(parser: argparse.ArgumentParser, what: str, default: float) -> None:
    """Add the time limit of each run of an exact solver in seconds, with its default."""
    help_text = f"time limit for each {what} (default: %(default)s)"
    parser.add_argument("--seconds", type=opt.seconds, default=default, metavar="T", help=help_text)


def add_shares(parser: argparse.ArgumentParser, what: str, default: str) -> None:
    """Add the shares of jobs of a kind."""
    help_text = f"shares of {what} in per cent (default: {default})"
    parser.add_argument("--share", dest="shares", type=opt.percentages, metavar="P,...", help=help_text)


def add_count(parser: argparse.ArgumentParser, help_text: str, dest: str = "seeds") -> None:
    """Add how many problems are drawn."""
    parser.add_argument("--count", type=opt.integer(1, 10**4), dest=dest, metavar="N", help=help_text)


def add_traces(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the folder of logs."""
    help_text = f"the folder with {what} (default: that of ALLOCSOLVE_TRACES)"
    parser.add_argument("--log", type=Path, dest="traces", metavar="DIR", help=help_text)


def add_records(parser: argparse.ArgumentParser, drawn: str = "what is found") -> None:
    """Add where records and the picture go, where runs are made, and which are made again.

    The picture shows what is `drawn`; there is none if that is empty.
    """
    help_text = (
        "keep records.sqlite and runs.csv in this folder, and do not repeat the runs recorded there "
        "(default: nothing is kept)"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help=help_text)
    if drawn:
        help_text = f"draw {drawn} into this file"
        parser.add_argument("--plot", type=opt.picture, metavar="FILE.svg", help=help_text)
        opt.add_force(parser)
    opt.add_executor(parser)
    opt.add_rerun(parser)


def _add_bounds(parser: argparse.ArgumentParser, seconds: float) -> None:
    """Add how long bounds take, with how many threads, and where the runs go that are recorded."""
    add_seconds(parser, "bound in seconds", seconds)
    help_text = "threads of the solver that gives the bounds (default: %(default)s)"
    parser.add_argument("--workers", type=opt.integer(1), default=1, metavar="W", help=help_text)
    add_records(parser)


@paper("Klein & Perez 2011: tables 1 and 2; with --optimal, what expansion is worth to the optimum")
def _klein2011(parser: argparse.ArgumentParser) -> None:
    add_seed(parser, 2011)
    help_text = "how many problems; needed for the tables. With --optimal, of each size (default: 10)"
    parser.add_argument("--count", type=opt.integer(1), dest="tests", metavar="N", help=help_text)
    parser.add_argument("--optimal", action="store_true", help="least makespans within limits 1, 2 and inf")
    only = parser.add_argument_group("with --optimal")
    # No defaults here: given without --optimal, they are refused.
    help_text = "time limit for each optimum in seconds (default: 60)"
    only.add_argument("--seconds", type=opt.seconds, metavar="T", help=help_text)
    help_text = "threads of the exact solver (default: 2 if there are)"
    only.add_argument("--workers", type=opt.integer(1), metavar="W", help=help_text)
    help_text = "keep records.sqlite in this folder, and go on from what is there (default: nothing is kept)"
    only.add_argument("--out", type=Path, metavar="DIR", help=help_text)
    help_text = "draw what is found into this file"
    only.add_argument("--plot", type=opt.picture, metavar="FILE.svg", help=help_text)
    only.add_argument("--force", action="store_true", default=None, help="replace files that exist")


@paper("Bender et al. 2008: the tight family of the median method, and heuristics beside optima")
def _bender2008(parser: argparse.ArgumentParser) -> None:
    add_seed(parser, 2008)
    help_text = "how many problems of each kind (default: %(default)s)"
    parser.add_argument("--count", type=opt.integer(1), dest="tests", default=30, metavar="N", help=help_text)
    add_seconds(parser, "optimum", 10.0)


@paper("Lina et al. 2022: malleable and evolving jobs on KIT FH2 and LLNL Atlas, and bounds beside them")
def _lina2022(parser: argparse.ArgumentParser) -> None:
    add_traces(parser, "both logs, as *.swf.gz")
    help_text = "workloads, by the names of the paper; Synthetic needs no log (default: all)"
    parser.add_argument("--suite", type=opt.names, dest="logs", metavar="A,B,...", help=help_text)
    add_shares(parser, "elastic jobs", "10,20,...,100")
    add_count(parser, "how many seeds draw the elastic jobs (default: 3; the paper has ten runs)")
    add_seconds(parser, "bound in seconds", 10.0)
    add_records(parser, "")


@paper("Linnert et al. 2024: jobs with deadlines on a mesh, booked or leaking, and bounds beside them")
def _linnert2024(parser: argparse.ArgumentParser) -> None:
    help_text = "loads: normal, heavy, very heavy (default: all)"
    parser.add_argument("--load", type=opt.names, dest="loads", metavar="A,B,...", help=help_text)
    help_text = "how many streams of each load and kind of programs (default: 30; the paper has 320)"
    add_count(parser, help_text)
    help_text = "jobs of a stream (default: %(default)s, as in the paper)"
    parser.add_argument(
        "--num-jobs", type=opt.integer(1, 10**5), dest="length", default=1000, metavar="J", help=help_text
    )
    add_seconds(parser, "clairvoyant schedule and its bound in seconds", 3.0)
    add_records(parser, "figures 14 to 18")


@paper("Posner 2024: batches of evolving tree searches, and the certified bound beside them")
def _posner2024(parser: argparse.ArgumentParser) -> None:
    help_text = "a file with the batches, such as evotree_batches.json (default: they are drawn)"
    parser.add_argument("batches", type=Path, nargs="?", metavar="FILE", help=help_text)
    help_text = "seed of the first batch that is drawn, the next has S + 1 (default: 42, as in the paper)"
    parser.add_argument("--seed", type=opt.integer(0, 2**31 - 1), metavar="S", help=help_text)
    add_count(parser, "how many batches are drawn (default: 5, as in the paper)", "count")
    add_shares(parser, "jobs that are not rigid", "0,20,40,60,80,100")
    _add_bounds(parser, 5.0)


@paper("Zojer 2025: malleable jobs on the log of Cori KNL, and the certified bound beside them")
def _zojer2025(parser: argparse.ArgumentParser) -> None:
    add_traces(parser, "cori_knl/*.csv")
    add_shares(parser, "malleable jobs", "0,20,40,60,80,100")
    help_text = "how many seeds choose the malleable jobs (default: 10, as in the thesis)"
    add_count(parser, help_text)
    help_text = "the policies (default: the four of the thesis, and static-price)"
    parser.add_argument("--policy", type=opt.solvers, dest="policies", metavar="A,B,...", help=help_text)
    _add_bounds(parser, 30.0)
