"""The formats of `import` and their options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from allocsolve.cli import import_log, options as opt
from allocsolve.cli.commands import add_command, commands_of
from allocsolve.instances.formats.log_tables import LOG_TABLES
from allocsolve.instances.formats.logs import LIMITS, ORIGINS, UNITS

if TYPE_CHECKING:
    import argparse

    from allocsolve.cli.commands import Commands
    from allocsolve.instances.formats.log_tables import LogTable

__all__ = ["add_imports"]


def add_imports(parser: argparse.ArgumentParser) -> None:
    """Add one command per format of logs below `import`."""
    parser.epilog = "Workloads of simulators (Batsim, ElastiSim) are no logs: allocsolve convert reads them."
    formats = commands_of(parser, "format")
    swf = add_command(
        formats, "swf", import_log.import_swf, "a log in the standard workload format, .swf or .swf.gz"
    )
    _add_files(swf)
    help_text = "size of the machine (default: that of the header)"
    swf.add_argument("--nodes", type=opt.integer(1), metavar="N", help=help_text)
    help_text = "what sizes count (default: nodes if all are whole nodes by MaxNodes and MaxProcs)"
    swf.add_argument("--unit", choices=UNITS, help=help_text)
    _add_origin(swf)
    _add_window(swf)
    for table in LOG_TABLES.values():
        _add_table(formats, table)


def _add_table(formats: Commands, table: LogTable) -> None:
    parser = add_command(formats, table.name, import_log.import_table, table.summary)
    _add_files(parser)
    known = f"default: the {table.num_nodes} nodes of {table.machine}"
    help_text = f"size of the machine ({known if table.num_nodes else 'which the log does not tell'})"
    parser.add_argument("--nodes", type=opt.integer(1), metavar="N", help=help_text)
    help_text = "what sizes count (default: nodes if there is such a column)"
    parser.add_argument("--unit", choices=UNITS, help=help_text)
    help_text = "of times without one, such as Europe/Berlin (default: %(default)s)"
    parser.add_argument("--timezone", default="UTC", metavar="ZONE", help=help_text)
    if table.is_relative:
        _add_origin(parser)
    else:
        parser.set_defaults(origin="first")  # second 0 of such a log is that of Unix
    _add_window(parser)


def _add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("log", metavar="FILE", help="the log; text may be gzipped, as FILE.gz")
    parser.add_argument("--out", type=Path, required=True, metavar="PROBLEM", help="the problem to write")
    help_text = "write the schedule that the log records to this file, as an answer to the problem"
    parser.add_argument("--recorded", type=Path, metavar="ANSWER", help=help_text)
    help_text = "write what was read, dropped, changed and unusual to this JSON file"
    parser.add_argument("--report", type=Path, metavar="FILE.json", help=help_text)
    parser.add_argument("--force", action="store_true", help=opt.FORCE_HELP)


def _add_origin(parser: argparse.ArgumentParser) -> None:
    help_text = "second 0: submission of the first job, or as in the log (default: %(default)s)"
    parser.add_argument("--origin", choices=ORIGINS, default="first", help=help_text)


def _add_window(parser: argparse.ArgumentParser) -> None:
    help_text = "limits below the run time: raised to it, or left (default: %(default)s)"
    parser.add_argument("--limits", choices=LIMITS, default=LIMITS[0], help=help_text)
    help_text = "the first job: its place, from 1, in order of submission (default: 1)"
    parser.add_argument("--from-job", type=opt.integer(1), default=1, metavar="I", help=help_text)
    parser.add_argument("--jobs", type=opt.integer(1), metavar="N", help="how many jobs (default: all)")
    help_text = "jobs of the first S seconds get weight 0: they run, but do not count"
    parser.add_argument("--warm-up", type=opt.seconds, default=0.0, metavar="S", help=help_text)
    help_text = "so do jobs submitted less than S seconds before the last"
    parser.add_argument("--cool-down", type=opt.seconds, default=0.0, metavar="S", help=help_text)
