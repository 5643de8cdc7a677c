"""The commands that turn logs of real machines into workloads: import swf, import sacct and others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.cli.files import check_outputs
from allocsolve.cli.output import plain, say, write_json
from allocsolve.cli.progress import time_bar
from allocsolve.families import family_of
from allocsolve.instances.formats.json_text import save
from allocsolve.pictures.chart import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from allocsolve.instances import JobLog

__all__ = ["import_swf", "import_table"]


def import_swf(args: argparse.Namespace) -> int:
    """Write the workload of a log in the Standard Workload Format."""
    from allocsolve.instances import read_swf_log  # noqa: PLC0415 - when the command runs

    def read() -> JobLog:
        return read_swf_log(args.log, num_nodes=args.nodes, unit=args.unit, limits=args.limits)

    return _import(args, read)


def import_table(args: argparse.Namespace) -> int:
    """Write the workload of a log that is a table of jobs, in the format that the command is named after."""
    from allocsolve.instances import read_table_log  # noqa: PLC0415 - when the command runs

    def read() -> JobLog:
        return read_table_log(
            args.log,
            args.format,
            num_nodes=args.nodes,
            unit=args.unit,
            limits=args.limits,
            timezone=args.timezone,
        )

    return _import(args, read)


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


def _import(args: argparse.Namespace, read: Callable[[], JobLog]) -> int:
    """Write the workload and the schedule of a log, and say what was dropped, changed and unusual."""
    from allocsolve.instances import log_problem, recorded_schedule, write_problem, write_solution  # noqa: PLC0415 - when the command runs
    from allocsolve.judge import violations  # noqa: PLC0415 - when the command runs

    check_outputs(args.out, args.recorded, args.report, inputs=[args.log], force=args.force)
    faults: tuple[str, ...] = ()
    window = {"from_job": args.from_job, "jobs": args.jobs, "origin": args.origin}
    with time_bar(f"reading {args.log}"):
        log = read()
        problem = log_problem(log, **window, warm_up=args.warm_up, cool_down=args.cool_down)
        schedule = recorded_schedule(log, **window) if args.recorded else None
        write_problem(problem, args.out)
        if schedule is not None:
            faults = violations(problem, schedule)
            write_solution(args.recorded, problem, schedule, {"log": log.source, "sha256": log.sha256})
    if args.report:
        save(plain(_report(args.format, log)), args.report)
    family = family_of(problem)
    if args.json:
        told: dict[str, object] = {"problem": args.out, **family.features(problem)}
        told |= {"log": log.report.counts(), "faults": log.report.faults, "machine": str(log.machine)}
        told["timezone"] = log.timezone or None
        if args.recorded:
            told |= {"recorded": args.recorded, "violations": faults}
        write_json(told)
        return 0
    say(str(log.report), f"machine: {log.machine}")
    if log.timezone:
        say(f"times without a zone are those of {log.timezone} (--timezone)")
    say(f"{args.out}: {family.view.describe(problem)}")
    if args.recorded:
        broken = f"{counted(len(faults), 'violation')}: {faults[0]}" if faults else "no violation"
        say(f"{args.recorded}: the schedule as recorded, {broken}")
    return 0
