"""The commands on files of other programs: workloads of simulators, logs of real machines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from allocsolve import instances, judge
from allocsolve.cli import options as opt
from allocsolve.cli.files import check_outputs, refuse_suite
from allocsolve.cli.machine_options import asked_fields, closed_parts, ran_line
from allocsolve.cli.output import plain, remark, say, time_bar, write_json
from allocsolve.errors import FormatError, InvalidAnswer, InvalidOption
from allocsolve.families import families, family_of
from allocsolve.instances.formats.files import save
from allocsolve.instances.formats.logs.log import shared_advice
from allocsolve.instances.formats.simulators.conversion import (
    CONVERSIONS,
    format_by_name,
    read_workload,
    write_workload,
)
from allocsolve.model import Result, Status
from allocsolve.pictures.chart import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping

    from allocsolve.instances import JobLog
    from allocsolve.model import Answer, Problem, Value


def convert(args: argparse.Namespace) -> int:
    """Write a problem in another format, and say what that cannot hold."""
    from allocsolve.instances import read_solution  # noqa: PLC0415 - when the command runs

    name = args.format or format_by_name(args.to)
    inputs = [args.source, *([args.answer] if args.answer else [])]
    if CONVERSIONS[name].is_folder:
        _check_folder(args.to, args.source, force=args.force)
    else:
        check_outputs(args.to, inputs=inputs, force=args.force)
    refuse_suite(str(args.source))
    with time_bar(f"reading {args.source}"):
        source, problem, not_read = read_workload(
            args.source, num_nodes=args.nodes, limits=args.limits, time_unit=args.time_unit
        )
        answer = read_solution(args.answer, problem, tell=remark) if args.answer else None
        not_held = write_workload(problem, answer, args.to, name)
    family = family_of(problem)
    if args.json:
        document: dict[str, object] = {
            "from": args.source,
            "from_format": source,
            "to": args.to,
            "format": name,
        }
        write_json(
            {**document, **family.features(problem), "not_read": not_read.counts, "not_held": not_held.counts}
        )
        return 0
    say(f"{args.source}: {family.view.describe(problem)}")
    say(*(f"  {source}, not read: {line}" for line in not_read.lines()))
    say(f"{args.to}: {CONVERSIONS[name].summary}")
    say(*(f"  {name} cannot hold: {line}" for line in not_held.lines()))
    return 0


def _check_folder(folder: Path, source: Path, *, force: bool) -> None:
    """Refuse a folder in which files would be replaced unasked."""
    if folder.exists() and not folder.is_dir():
        raise FormatError(str(folder), ["is not a directory"])
    if folder.is_dir():
        if folder.resolve() in (source.resolve(), source.resolve().parent) and source.is_dir():
            raise FormatError(str(folder), ["cannot be written: this command reads it"])
        if not force and any(folder.iterdir()):
            raise FormatError(str(folder), ["is not empty; --force replaces files of the same names"])
    elif not folder.parent.is_dir():
        raise FormatError(str(folder), [f"cannot be written: there is no directory {folder.parent}"])


def add_exports(parser: argparse.ArgumentParser) -> None:
    """Add an option for each export of any family, and that for a window of time."""
    offered = {name: export for family in families() for name, export in family.view.exports.items()}
    for name, export in offered.items():
        help_text = f"write the solution as {export.summary}"
        parser.add_argument(f"--{name}", type=Path, metavar="FILE", help=help_text)
    windowed = " and ".join(f"--{name}" for name, export in offered.items() if export.windowed)
    parser.set_defaults(window=None, exports=tuple(offered), windowed=windowed)
    if windowed:
        help_text = f"the window of {windowed} in seconds (default: all)"
        parser.add_argument("--window", type=opt.window, metavar="FROM:TO", help=help_text)


def export_paths(args: argparse.Namespace) -> dict[str, Path]:
    """Return the files that were asked for, by the names of their options."""
    paths = {name: getattr(args, name.replace("-", "_")) for name in args.exports}
    return {name: path for name, path in paths.items() if path is not None}


def check_exports(args: argparse.Namespace, problem: Problem) -> None:
    """Refuse what the family of a problem does not write."""
    family, paths = family_of(problem), export_paths(args)
    strange = next((name for name in paths if name not in family.view.exports), None)
    if strange is not None:
        raise InvalidOption(f"--{strange}: no such file is written for problems of the kind {family.kind}")
    for name in paths:
        if more := family.view.exports[name].cannot_hold(problem):
            raise InvalidOption(f"--{name}: the problem has {more}, for which such a file has no place")
    if args.window is not None and not any(family.view.exports[name].windowed for name in paths):
        raise InvalidOption(f"--window is for {args.windowed}")


def write_exports(args: argparse.Namespace, problem: Problem, answer: Any) -> Iterable[tuple[str, Path]]:  # noqa: ANN401 - of the family
    """Write the files that were asked for; return their names and paths."""
    exports, paths = family_of(problem).view.exports, export_paths(args)
    for name, path in paths.items():
        path.write_text(exports[name].text(problem, answer, args.window), encoding="utf-8", errors="replace")
    return paths.items()


def earlier_of(
    args: argparse.Namespace, stored: Problem, problem: Problem
) -> tuple[Answer | None, dict[str, Any] | None]:
    """Return the answer and the certificate of ``--start``; None for what is not there.

    Files are of the problem as it is stored; what is judged is the problem as it is set. Raises `FormatError`
    if a file cannot be read, holds an answer that is not feasible or a certificate that proves nothing, or is
    the second one of its kind.
    """
    start: Answer | None = None
    certificate: dict[str, Any] | None = None
    for path in args.start:
        answer, proof = instances.read_outcome(path, stored, tell=remark)
        if proof is not None:
            _check_first(path, "certificate", certificate)
            certified(path, problem, proof.certificate, args.objective)
            certificate = proof.certificate
            continue
        _check_first(path, "solution", start)
        if faults := judge.violations(problem, answer):
            more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            raise FormatError(str(path), [f"is not feasible: {faults[0]}{more}"])
        start = answer
    return start, certificate


def _check_first(path: Path, what: str, earlier: object) -> None:
    if earlier is not None:
        raise FormatError(str(path), [f"is the second {what} to start from"])


def certified(
    path: str | Path, problem: Problem, certificate: Mapping[str, Any], objective: tuple[str, ...]
) -> Value:
    """Return the bound that the judge recomputes from a certificate."""
    try:
        return judge.certify(problem, Result(Status.UNKNOWN, certificate=certificate), objective)
    except InvalidAnswer as error:
        raise FormatError(str(path), [str(error)]) from error


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


def import_log(args: argparse.Namespace) -> int:
    """Write the workload and the schedule of a log, and say what was dropped, changed and unusual.

    Its format is what the command is named after.
    """
    inputs = [args.log, *([args.events] if args.events else [])]
    check_outputs(args.out, args.recorded, args.report, inputs=inputs, force=args.force)
    faults: tuple[str, ...] = ()
    window = {"from_job": args.from_job, "jobs": args.jobs, "origin": args.origin}
    with time_bar(f"reading {args.log}"):
        log = instances.read_table_log(
            args.log,
            args.format,
            num_nodes=args.nodes,
            unit=args.unit,
            limits=args.limits,
            timezone=args.timezone,
            time_unit=args.time_unit,
            fields=asked_fields(args),
        )
        closed = closed_parts(args, log, args.closed)
        problem = instances.log_problem(
            log, **window, warm_up=args.warm_up, cool_down=args.cool_down, closed=closed.windows
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
        save(plain(_report(args.format, log)), args.report)
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
