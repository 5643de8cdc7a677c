"""The commands that read and write the files of other programs: their options, and what `import` does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from allocsolve import instances, judge
from allocsolve.cli import options as opt
from allocsolve.cli.convert import convert, known_exports
from allocsolve.cli.files import check_outputs
from allocsolve.cli.machine_options import add_field_options, add_windows, asked_fields
from allocsolve.cli.network import NETWORK_FILES, add_request, import_topology
from allocsolve.cli.output import say, time_bar, write_json
from allocsolve.cli.parser import make_command
from allocsolve.errors import InvalidOption
from allocsolve.families import family_of
from allocsolve.instances import LOG_FORMATS
from allocsolve.instances.formats.files import save
from allocsolve.instances.formats.logs.log import LIMITS, ORIGINS, UNITS, shared_advice
from allocsolve.instances.formats.logs.tables import LOG_TABLES
from allocsolve.instances.formats.simulators.conversion import CONVERSIONS
from allocsolve.pictures.chart import counted
from allocsolve.report.closed import closed_parts, ran_line
from allocsolve.report.plain import plain

if TYPE_CHECKING:
    import argparse

    from allocsolve.instances import JobLog


def _report(name: str, log: JobLog) -> dict[str, object]:
    """Return what ``--report`` writes: counts by reason, and the lines that could not be read."""
    report = log.report
    return {
        "import": name,
        "log": log.source,
        "sha256": log.sha256,
        "machine": str(log.machine),
        "timezone": log.timezone or None,
        "header": log.header,
        "job_lines": report.job_lines,
        "kept": len(log.names),
        "dropped": report.dropped,
        "changed": report.changed,
        "unusual": report.unusual,
        "faults": report.faults,
    }


#: Options that are for networks only, and those for logs only, each with its default.
_OF_NETWORKS: Final = ("free", "within", "segment", "balanced", "topology")
_OF_LOGS: Final = (
    *("recorded", "report", "format", "time_unit", "origin", "jobs", "warm_up", "nodes", "unit"),
    *("node_types", "resources", "partitions", "eligible", "priority_age", "closed", "events"),
)


def import_file(args: argparse.Namespace) -> int:
    """Write the problem of a log, or with ``--size`` that of a network."""
    is_network = args.size is not None
    for name in _OF_LOGS if is_network else _OF_NETWORKS:
        if getattr(args, name):
            given, of = (
                f"--{name.replace('_', '-')}",
                "logs, --size for networks" if is_network else "networks, with --size",
            )
            raise InvalidOption(f"{given} is for {of}")
    if is_network:
        return import_topology(args)
    if len(args.files) > 1:
        raise InvalidOption(f"one log at a time: {args.files[1]} is a second one; networks have --size")
    return _import_log(args)


def _import_log(args: argparse.Namespace) -> int:
    """Write the workload and the schedule of a log, and say what was dropped, changed and unusual."""
    args.log = args.files[0]
    name = args.format or instances.log_format(args.log)
    is_relative = name == "swf" or LOG_TABLES[name].is_relative
    if args.origin and not is_relative:
        raise InvalidOption(f"--origin: second 0 of {name} logs is that of Unix")
    args.origin = args.origin or "first"
    warm_up, cool_down = (*args.warm_up, 0.0, 0.0)[:2]
    inputs = [args.log, *([args.events] if args.events else [])]
    check_outputs(args.out, args.recorded, args.report, inputs=inputs, force=args.force)
    faults: tuple[str, ...] = ()
    window = {"from_job": args.from_job, "jobs": args.jobs, "origin": args.origin}
    with time_bar(f"reading {args.log}"):
        log = instances.read_table_log(
            args.log,
            name,
            num_nodes=args.nodes,
            unit=args.unit,
            limits=args.limits,
            timezone=args.timezone,
            time_unit=args.time_unit,
            fields=asked_fields(args),
        )
        closed = closed_parts(
            log,
            args.closed,
            events_file=args.events,
            timezone=args.timezone,
            from_job=args.from_job,
            origin=args.origin,
        )
        problem = instances.log_problem(
            log, **window, warm_up=warm_up, cool_down=cool_down, closed=closed.windows
        )
        knows_starts = bool((log.starts < log.ends).any())
        was = (
            instances.recorded_schedule(log, **window)
            if args.recorded or (closed.windows and knows_starts)
            else None
        )
        schedule = was if args.recorded else None
        remarks = [log.asked.remark(), *closed.lines, was and ran_line(problem, was)]
        instances.write_problem(problem, args.out)
        if schedule is not None:
            faults = judge.violations(problem, schedule)
            instances.write_solution(
                args.recorded, problem, schedule, {"log": log.source, "sha256": log.sha256}
            )
    if args.report:
        save(plain(_report(name, log)), args.report)
    family = family_of(problem)
    if args.json:
        document: dict[str, object] = {"problem": args.out, **family.features(problem)}
        document |= {"log": log.report.counts(), "faults": log.report.faults, "machine": str(log.machine)}
        document["timezone"] = log.timezone or None
        if any(remarks):
            document["remarks"] = [remark for remark in remarks if remark]
        if args.recorded:
            document |= {"recorded": args.recorded, "violations": faults}
        write_json(document)
        return 0
    say(str(log.report), f"machine: {log.machine}")
    if (advice := shared_advice(log)) is not None:
        say(advice)
    say(*(remark for remark in remarks if remark))
    if log.timezone:
        say(f"times without a zone are those of {log.timezone} (--timezone)")
    say(f"{args.out}: {family.view.describe(problem)}")
    if args.recorded:
        broken = f"{counted(len(faults), 'violation')}: {faults[0]}" if faults else "no violation"
        say(f"{args.recorded}: the schedule as recorded, {broken}")
    return 0


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
