"""The command for those who run a machine: whatif, from its log to a page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allocsolve import bench
from allocsolve.bench.runs.tasks import again
from allocsolve.cli import options as opt
from allocsolve.cli.files import check_absent, check_outputs, check_writable, made_by
from allocsolve.cli.machine_options import (
    ClosedParts,
    add_events,
    add_field_options,
    asked_fields,
    closed_parts,
)
from allocsolve.cli.output import count_bar, remark, say, show_table, time_bar, write_json
from allocsolve.cli.parser import make_command
from allocsolve.errors import FormatError, InvalidOption
from allocsolve.families import family_named
from allocsolve.instances import LOG_FORMATS, log_format, log_problem, read_table_log
from allocsolve.instances.formats.files import replace_file
from allocsolve.instances.formats.logs.fields import ASKED_FIELDS
from allocsolve.instances.formats.logs.lines import read_text
from allocsolve.instances.formats.logs.log import UNITS
from allocsolve.instances.formats.logs.no_logs import is_problem
from allocsolve.instances.formats.logs.of_workload import OF_PROBLEM, read_workload_log
from allocsolve.instances.formats.logs.times import zone
from allocsolve.registry.table import registered_names
from allocsolve.report import whatif as report
from allocsolve.report.whatif.questions import LIMIT_SOURCES, SPLITS
from allocsolve.report.whatif.words import ORDER_NAMES, POLICIES

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from allocsolve.bench import RecordStore
    from allocsolve.instances import JobLog
    from allocsolve.report.tables import Table
    from allocsolve.report.whatif import Outlook, Variant, WhatIf


def add_whatif(parser: argparse.ArgumentParser) -> None:
    """Add the options of `whatif`."""
    make_command(parser, whatif)
    help_text = "the log (see --format; may be gzipped), or a workload such as import writes"
    parser.add_argument("log", metavar="FILE", help=help_text)
    help_text = (
        "size of the machine (default for .swf: that of the header); several ask what if it had these sizes: "
        "as it is it has that of the log, or the first one if the log tells none"
    )
    sizes = opt.distinct(opt.integer(1))
    parser.add_argument("--nodes", type=sizes, default=(), metavar="N,...", help=help_text)
    help_text = "what sizes count, also that of the machine (default: nodes, if the log has them)"
    parser.add_argument("--unit", choices=UNITS, help=help_text)
    parser.add_argument("--format", choices=LOG_FORMATS, help="of the log (default: as its first lines say)")
    help_text = "of times without one, and of days and weeks, such as Europe/Berlin (default: %(default)s)"
    parser.add_argument("--timezone", default="UTC", metavar="ZONE", help=help_text)
    opt.add_time_unit(parser)
    add_field_options(parser, ASKED_FIELDS)
    add_events(parser)
    parser.set_defaults(from_job=1, origin="first")  # the whole log
    help_text = "policies to compare, by name, with options or without (default: %(default)s)"
    parser.add_argument(
        "--policies", type=_policies, default=",".join(POLICIES), metavar="NAME,...", help=help_text
    )
    help_text = (
        "what if these shares of the jobs could change their size while they run, in per cent, such as 20,100"
    )
    parser.add_argument(
        "--malleable", type=opt.percentages, default=(), metavar="PERCENT,...", help=help_text
    )
    _add_questions(parser)
    opt.add_budget(parser, "of each search for the best schedule and the bound (default: %(default)s)", 10.0)
    opt.add_policy_seconds(parser)
    help_text = "the page, one file that needs nothing else (default: LOG-whatif.html in this folder)"
    parser.add_argument("--out", type=Path, metavar="FILE.html", help=help_text)
    help_text = (
        "write the figures for Prometheus, too, where the textfile collector of node_exporter reads what "
        "ends in .prom; one of an earlier run is replaced"
    )
    parser.add_argument("--prometheus", type=Path, metavar="FILE.prom", help=help_text)
    parser.add_argument("--force", action="store_true", help=opt.FORCE_HELP)


def _add_questions(parser: argparse.ArgumentParser) -> None:
    """Add what is asked of the log: each value changes one thing."""
    help_text = "what if EASY backfilling took the queue in these orders, such as submit,shortest-estimate"
    parser.add_argument("--order", type=opt.distinct(_order), default=(), metavar="ORDER,...", help=help_text)
    help_text = (
        "what if the machine were closed for a time, such as 2022-11-08T08:00+8h, or a part of it: "
        "2022-11-08/2022-11-09,nodes=50; each window that is given is asked for alone"
    )
    parser.add_argument("--closed", action="append", default=[], metavar="WINDOW", help=help_text)
    help_text = "what if users knew how long their jobs run: given,actual"
    limits = opt.distinct(opt.one_of("limits", LIMIT_SOURCES))
    parser.add_argument("--limits", type=limits, default=(), metavar="given,actual", help=help_text)
    help_text = "what if these partitions were one pool, such as std,long; needs --partitions"
    parser.add_argument(
        "--merge", type=opt.distinct(str), action="append", default=[], metavar="P,Q,...", help=help_text
    )
    parser.add_argument("--by", choices=SPLITS, help="show who gains and who loses")


def _policies(text: str) -> list[str]:
    """Read names of policies: solvers of workloads, or plug-ins."""
    names = registered_names(family_named("workload"))
    heuristics = [name for name, (row, _) in names.items() if row.method == "heuristic"]
    return opt.solvers_of("policy", text, heuristics)


def _order(text: str) -> str:
    """Read an order of the queue; that of submission has a short name, too."""
    return opt.one_of("order", tuple(ORDER_NAMES))("submission" if text == "submit" else text)


def whatif(args: argparse.Namespace) -> int:
    """Show what was, what could have been and what is impossible, and write it as a page."""
    if 0 in args.malleable:
        msg = "--malleable 0: without jobs that can change their size is what the page tells anyway"
        raise InvalidOption(msg)
    for name in ("partitions", "resources"):
        if args.malleable and getattr(args, name):
            msg = f"--malleable and --{name}: jobs that need more than nodes cannot change their size"
            raise InvalidOption(msg)
    out, rows = _outputs(args)
    days = zone(args.timezone)
    with time_bar(f"reading {args.log}"):
        if is_problem(read_text(args.log, lambda text: text.head)[0]):
            _check_problem_options(args)
            (log, problem), closed = read_workload_log(args.log, unit=args.unit), ClosedParts((), ())
        else:
            log = _read(args)
            closed = closed_parts(args, log, ())
            problem = log_problem(log, closed=closed.windows)
        asked = report.questions(
            log,
            problem,
            nodes=args.nodes if len(args.nodes) > 1 or log.machine.told_by == OF_PROBLEM else (),
            orders=args.order,
            closed=args.closed,
            limits=args.limits,
            merged=args.merge,
            timezone=args.timezone,
        )
        split = report.classes_of(log, problem, args.by) if args.by else None
        budget = {"seconds": args.seconds, "workers": args.workers}
        planned = report.variants(problem, args.malleable, asked, policies=args.policies, **budget)
    interrupted = False
    with bench.RecordStore(rows, tell=remark) as store:
        try:
            _run(planned, store, args.policy_seconds)
        except KeyboardInterrupt:
            interrupted = True
        with time_bar(f"writing {out}"):
            figures = report.what_if(
                log, planned, store, days, asked=asked, split=split, policies=args.policies
            )
            out.write_text(
                report.whatif_page(figures, made=made_by(args)), encoding="utf-8", errors="replace"
            )
            if args.prometheus is not None:
                replace_file(args.prometheus, report.prometheus_text(figures).encode(errors="replace"))
    if args.json:
        files = {"page": out, "records": rows, "prometheus": args.prometheus}
        remarks = {"remarks": closed.lines} if closed.lines else {}
        write_json({**_document(figures), **remarks, **files, "interrupted": interrupted})
    else:
        say(*closed.lines)
        _show(figures)
        say(f"Page: {out} (records: {rows})")
        if args.prometheus is not None:
            say(f"For Prometheus: {args.prometheus}")
    if interrupted:
        raise KeyboardInterrupt(f"what is known is in {out}, the same command goes on from there")
    return 1 if figures.failed else 0


def _outputs(args: argparse.Namespace) -> tuple[Path, Path]:
    """Return the files of the page and of its records, which an earlier run may have left."""
    stem = Path(args.log).name.removesuffix(".gz").rsplit(".", 1)[0]
    out: Path = args.out or Path(f"{stem}-whatif.html")
    check_writable(out)  # a folder has no suffix that could be replaced
    rows = out.with_suffix(".sqlite")
    check_outputs(out, rows, args.prometheus, inputs=[args.log], force=True)
    # A page beside its records is one of this command: that is how an interrupted one goes on.
    check_absent(out, force=args.force or rows.is_file())
    if args.prometheus is not None:
        check_absent(args.prometheus, force=args.force or _is_ours(args.prometheus))
    return out, rows


def _is_ours(path: Path) -> bool:
    """Tell whether a file is one of this command for Prometheus: the next run replaces it."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return report.is_prometheus_text(stream.read(100))


def _check_problem_options(args: argparse.Namespace) -> None:
    """Refuse what is asked of a log where a problem is given."""
    for name in ("format", "time_unit", "resources", "partitions", "eligible", "priority_age", "events"):
        if getattr(args, name):
            raise InvalidOption(
                f"--{name.replace('_', '-')} is for logs: {args.log} is a problem, which has its own machine"
            )


def _read(args: argparse.Namespace) -> JobLog:
    """Read the log, with the size of the machine as it is."""
    if len(args.nodes) > 1:
        try:
            return _read_with(args, None)
        except FormatError:  # it tells no size
            pass
    return _read_with(args, args.nodes[0] if args.nodes else None)


def _read_with(args: argparse.Namespace, num_nodes: int | None) -> JobLog:
    return read_table_log(
        args.log,
        args.format or log_format(args.log),
        num_nodes=num_nodes,
        unit=args.unit,
        timezone=args.timezone,
        time_unit=args.time_unit,
        fields=asked_fields(args, tells_partitions=args.by == "partition", keeps_large=True),
    )


def _run(planned: Sequence[Variant], store: RecordStore, policy_seconds: float) -> None:
    """Run what has no record yet.

    The first variant has one long run, beside which the short ones are made: so kernels are compiled side by
    side. The others have searches that use all processors, and policies that take as long as these let them.
    """
    tasks = [task for variant in planned for task in variant.tasks]
    retried = again(tasks, store, failed=True)
    with count_bar("starting") as progress:
        before = 0
        # One process runs all others: each new one has to load what it runs.
        others = [task for variant in planned[1:] for task in variant.tasks]
        for jobs, part in ((min(2, os.cpu_count() or 1), planned[0].tasks), (1, others)):

            def tell(done: int, _: int, what: str, before: int = before) -> None:
                progress(before + done, len(tasks), what)

            with bench.open_executor("local", jobs) as cells:
                bench.run_missing(
                    part,
                    store,
                    again=retried,
                    executor=cells,
                    policy_seconds=policy_seconds,
                    progress=tell,
                    announce=remark,
                )
            before += len(part)


def _show(figures: WhatIf) -> None:
    """Print the sentences and tables that stand first on the page."""
    say(f"{figures.log.source}: {report.subject(figures)}", *report.cautions(figures), "")
    if figures.cases:
        _print(report.cases_table(figures))
    if figures.elastic:
        _print(report.elastic_table(figures))
    say(*map(report.plain, report.headlines(figures)), "")
    if figures.outlooks:
        _print(report.outlooks_table(figures))
        say(
            *report.outlook_notes(figures),
            *map(report.plain, report.outlook_sentences(figures)),
            "",
        )
        for more in report.orders_table(figures):
            _print(more)
    for split in report.split_tables(figures):
        _print(split)


def _print(table: Table) -> None:
    heads = [head.replace(" at most", "\nat most").replace(" with ", "\nwith ") for head in table.heads]
    show_table(heads, ([cell.shown for cell in row] for row in table.rows), title=table.title)
    say("")


def _document(figures: WhatIf) -> dict[str, Any]:
    """Return what the page says, as JSON has it; times in seconds."""
    cases = {case.key: case.metrics for case in figures.cases}
    waits = {case.key: figures.waits(case) for case in figures.cases}
    by_size = {name: report.means_by(figures.sizes, column) for name, column in waits.items()}
    by_period = {name: report.means_by(figures.periods.of_jobs, column) for name, column in waits.items()}
    return {
        "log": figures.log.source,
        "sha256": figures.log.sha256,
        "machine": str(figures.log.machine),
        "cleaning": figures.log.report.counts(),
        "jobs": len(figures.problem.jobs),
        "recorded": cases.pop(report.RECORDED, None),
        "no_record": figures.no_record,
        "violations": figures.faults,
        "schedules": cases,
        "wait_bound": figures.bound,
        "mean_wait_by_size": by_size,
        f"mean_wait_by_{figures.periods.unit}": {
            name: {figures.periods.labels[period]: mean for period, mean in column.items()}
            for name, column in by_period.items()
        },
        "malleable": [
            {
                "share": case.share,
                "jobs": case.changeable,
                "turnaround_bound": case.bound,
                "schedules": case.metrics,
            }
            for case in figures.elastic
        ],
        "questions": [*map(_outlook_document, figures.outlooks)],
        "answers": [report.plain(sentence) for sentence in report.outlook_sentences(figures)],
        "split": None
        if figures.split is None
        else {"by": figures.split.by, "mean_wait": report.split_means(figures)},
        "sentences": [report.plain(sentence) for sentence in report.headlines(figures)],
        "cautions": [*report.cautions(figures)],
        "failed": figures.failed,
        "missing": figures.missing,
    }


def _outlook_document(outlook: Outlook) -> dict[str, Any]:
    """Return what would have been if one thing had been otherwise; the log as it is has no option."""
    question = outlook.question
    return {
        "option": question.option,
        "value": question.value,
        "label": question.label,
        "policy": question.policy,
        "schedules": {solver: case.metrics for solver, case in outlook.policies.items()},
        "hindsight_wait": outlook.hindsight,
        "wait_bound": outlook.bound,
        "note": question.note,
        "faults": outlook.faults,
    }
