"""The options of `convert`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from allocsolve.cli import options as opt
from allocsolve.cli.commands import make_command
from allocsolve.cli.convert import convert
from allocsolve.instances.formats.workload_conversion import CONVERSIONS

if TYPE_CHECKING:
    import argparse

__all__ = ["add_convert"]


def add_convert(parser: argparse.ArgumentParser) -> None:
    """Add the files and options of `convert`."""
    make_command(parser, convert)
    help_text = "a problem (.json, .csv), a log (.swf, .swf.gz), a workload of Batsim, jobs of ElastiSim"
    parser.add_argument("source", type=Path, metavar="FROM", help=help_text)
    help_text = "the file to write; a folder for ElastiSim"
    parser.add_argument("to", type=Path, metavar="TO", help=help_text)
    help_text = "what to write (default: by the name of TO: .json, .csv, .swf, else a folder for elastisim)"
    parser.add_argument("--format", choices=tuple(CONVERSIONS), help=help_text)
    help_text = "a schedule, for formats that hold one: of this program, Batsim, evalys or ElastiSim"
    parser.add_argument("--answer", type=Path, metavar="FILE", help=help_text)
    help_text = "size of the machine, where FROM does not tell it"
    parser.add_argument("--nodes", type=opt.integer(1), metavar="N", help=help_text)
    parser.add_argument("--force", action="store_true", help=opt.FORCE_HELP)
    parser.epilog = "Logs of machines (windows, cleaning, recorded schedules): allocsolve import."
