"""The commands of `library` and their options."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from allocsolve.cli import library, options as opt
from allocsolve.cli.commands import add_command, commands_of
from allocsolve.instances import PACKAGED

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

__all__ = ["add_library"]


def add_library(parser: argparse.ArgumentParser) -> None:
    """Add one command per thing to do with the instance library below `library`."""
    actions = commands_of(parser, "action")

    def action(name: str, run: Callable[[argparse.Namespace], int], summary: str) -> argparse.ArgumentParser:
        added = add_command(actions, name, run, summary)
        help_text = "the folder of the library (default: that of the package)"
        added.add_argument("--library", type=Path, default=PACKAGED, metavar="DIR", help=help_text)
        return added

    action("list", library.list_suites, "list the suites, and how many of their optima are proven")
    added = action("verify", library.verify, "have the judge recompute all that is known of suites")
    added.add_argument("suites", nargs="*", metavar="SUITE", help="names of suites (default: all)")
    added = action("improve", library.improve, "look for better solutions and bounds of open instances")
    added.add_argument("suites", nargs="+", metavar="SUITE", help="names of suites")
    help_text = "a solver besides the exact baseline of each kind of problems; may be given several times"
    added.add_argument(
        "--solver",
        type=opt.solver,
        action="append",
        default=[],
        dest="solvers",
        metavar="NAME",
        help=help_text,
    )
    help_text = "what to minimise, one term (default: the first of each kind)"
    added.add_argument("--objective", type=opt.objective, metavar="NAME", help=help_text)
    help_text = "time limit per problem and solver in seconds (default: %(default)s)"
    added.add_argument("--seconds", type=opt.seconds, default=10.0, metavar="T", help=help_text)
    workers = min(2, os.cpu_count() or 1)
    help_text = "threads of an exact solver and of annealing (default: %(default)s)"
    added.add_argument("--workers", type=opt.integer(1), default=workers, metavar="W", help=help_text)
    action("build", library.build, "write the problems that the library is made of, where they are missing")
