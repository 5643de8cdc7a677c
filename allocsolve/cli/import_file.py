"""The command `import`: the problem of a log, or that of a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from allocsolve import instances, judge
from allocsolve.cli.files import check_outputs
from allocsolve.cli.machine_options import asked_fields
from allocsolve.cli.network import import_topology
from allocsolve.cli.output import say, time_bar, write_json
from allocsolve.errors import InvalidOption
from allocsolve.families import family_of
from allocsolve.instances.formats.files import save
from allocsolve.instances.formats.logs.log import shared_advice
from allocsolve.instances.formats.logs.tables import LOG_TABLES
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
