"""The options of the commands that read and write the files of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from allocsolve.cli import options as opt
from allocsolve.cli.convert import convert, known_exports
from allocsolve.cli.import_file import import_file
from allocsolve.cli.machine_options import add_field_options, add_windows
from allocsolve.cli.network import NETWORK_FILES, add_request
from allocsolve.cli.parser import make_command
from allocsolve.instances import LOG_FORMATS
from allocsolve.instances.formats.logs.log import LIMITS, ORIGINS, UNITS
from allocsolve.instances.formats.logs.tables import LOG_TABLES
from allocsolve.instances.formats.simulators.conversion import CONVERSIONS

if TYPE_CHECKING:
    import argparse


def add_convert(parser: argparse.ArgumentParser) -> None:
    """Add the files and options of `convert`."""
    make_command(parser, convert)
    help_text = "a problem (.json, .csv), a log (see import), a workload of Batsim, jobs of ElastiSim"
    parser.add_argument("source", type=Path, metavar="FROM", help=help_text)
    parser.add_argument("to", type=Path, metavar="TO", help="the file to write; a folder for ElastiSim")
    read = parser.add_argument_group("what is read")
    help_text = "a solution to write, for formats that show one: of this program, Batsim, evalys or ElastiSim"
    read.add_argument("--solution", type=Path, metavar="FILE", help=help_text)
    help_text = "size of the machine, for files that do not state it"
    read.add_argument("--nodes", type=opt.integer(1), metavar="N", help=help_text)
    help_text = "jobs that outlive their limits: cut at them, or kept (default: cut if FROM is of Batsim)"
    read.add_argument("--limits", choices=("cut", "keep"), help=help_text)
    opt.add_time_unit(read)
    written = parser.add_argument_group("what is written")
    help_text = "the format of TO (default: by its name: .json, .csv, .swf, else a folder for elastisim)"
    formats = (*CONVERSIONS, *(name for name in known_exports() if name not in CONVERSIONS))
    written.add_argument("--format", choices=formats, help=help_text)
    windowed = ", ".join(name for name, export in known_exports().items() if export.windowed)
    help_text = f"write only this window of the schedule, in seconds, as {windowed} (default: all)"
    written.add_argument("--window", type=opt.window, metavar="FROM:TO", help=help_text)
    opt.add_force(written)
    parser.epilog = "Logs of machines (windows, cleaning, recorded schedules): allocsolve import."


def add_import(parser: argparse.ArgumentParser) -> None:
    """Add the options of `import`: those of logs, and those of networks."""
    make_command(parser, import_file)
    parser.epilog = (
        "A workload is made of a log, a placement problem of a network: with --size. Workloads of simulators "
        "(Batsim, ElastiSim) are for allocsolve convert."
    )
    help_text = f"a log, as text, Parquet or gzipped; or {NETWORK_FILES}"
    parser.add_argument("files", nargs="+", metavar="FILE", help=help_text)
    output = parser.add_argument_group("output")
    output.add_argument("--out", type=Path, required=True, metavar="PROBLEM", help="the problem to write")
    help_text = "write the schedule that the log records to this file, as a solution of the problem"
    output.add_argument("--recorded", type=Path, metavar="SOLUTION", help=help_text)
    help_text = "write what was read, dropped, changed and unusual to this JSON file"
    output.add_argument("--report", type=Path, metavar="FILE.json", help=help_text)
    opt.add_force(output)
    log = parser.add_argument_group("logs")
    help_text = "the format of the log (default: by its first lines)"
    log.add_argument("--format", choices=LOG_FORMATS, help=help_text)
    opt.add_timezone(log)
    opt.add_time_unit(log)
    help_text = "second 0: submission of the first job, or as in the log (default: first)"
    log.add_argument("--origin", choices=ORIGINS, help=help_text)
    help_text = (
        "limits below the run time: raised to it, kept, or the job is cut there (default: %(default)s)"
    )
    log.add_argument("--limits", choices=LIMITS, default=LIMITS[0], help=help_text)
    help_text = "the first job to take: its place, from 1, in order of submission (default: 1)"
    log.add_argument("--from-job", type=opt.integer(1), default=1, metavar="I", help=help_text)
    help_text = "how many jobs to take (default: all)"
    log.add_argument("--num-jobs", type=opt.integer(1), dest="jobs", metavar="N", help=help_text)
    help_text = (
        "give weight 0 to jobs of the first S seconds, and to those submitted less than T seconds before the "
        "last: they run, but do not count"
    )
    seconds = opt.pair(opt.tolerance)
    log.add_argument("--warm-up", type=seconds, default=(), metavar="S[,T]", help=help_text)
    machine = parser.add_argument_group("machine of a log")
    help_text = "size of the machine, in the unit (default: what the log or its format says)"
    machine.add_argument("--nodes", type=opt.integer(1), metavar="N", help=help_text)
    help_text = "what sizes count (default: nodes, if the log has them)"
    machine.add_argument("--unit", choices=UNITS, help=help_text)
    add_field_options(machine)
    add_windows(machine)
    add_request(parser)
    tables = {name: table.summary for name, table in LOG_TABLES.items()}
    opt.add_notes(parser, "formats of logs", {"swf": "the Standard Workload Format", **tables})
