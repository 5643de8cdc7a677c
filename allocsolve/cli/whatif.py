"""The command for those who run a machine: whatif, from its log to a page."""

from __future__ import annotations

import datetime as dt
import os
import shlex
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allocsolve.cli import options as opt
from allocsolve.cli.files import check_absent, check_outputs
from allocsolve.cli.output import count_bar, remark, say, show_table, time_bar, write_json
from allocsolve.cli.parser import make_command
from allocsolve.errors import InvalidOption
from allocsolve.instances import LOG_FORMATS, log_format, log_problem, read_swf_log, read_table_log
from allocsolve.instances.formats.log_times import zone
from allocsolve.instances.formats.logs import UNITS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from allocsolve.bench import RecordStore
    from allocsolve.instances import JobLog
    from allocsolve.report.tables import Table
    from allocsolve.report.whatif import Variant, WhatIf


def add_whatif(parser: argparse.ArgumentParser) -> None:
    """Add the options of `whatif`."""
    make_command(parser, whatif)
    parser.add_argument("log", metavar="FILE", help="the log: see --format; may be gzipped")
    help_text = "size of the machine (default for .swf: that of the header)"
    parser.add_argument("--nodes", type=opt.integer(1), metavar="N", help=help_text)
    help_text = "what sizes count, also that of the machine (default: nodes, if the log has them)"
    parser.add_argument("--unit", choices=UNITS, help=help_text)
    parser.add_argument("--format", choices=LOG_FORMATS, help="of the log (default: as its first lines say)")
    help_text = "of times without one, and of days and weeks, such as Europe/Berlin (default: %(default)s)"
    parser.add_argument("--timezone", default="UTC", metavar="ZONE", help=help_text)
    opt.add_time_unit(parser)
    help_text = (
        "what if these shares of the jobs could change their size while they run, in per cent, such as 20,100"
    )
    parser.add_argument(
        "--malleable", type=opt.percentages, default=(), metavar="PERCENT,...", help=help_text
    )
    opt.add_budget(parser, "of each search for the best schedule and the bound (default: %(default)s)", 10.0)
    opt.add_policy_seconds(parser)
    help_text = "the page, one file that needs nothing else (default: LOG-whatif.html in this folder)"
    parser.add_argument("--out", type=Path, metavar="FILE.html", help=help_text)
    parser.add_argument("--force", action="store_true", help=opt.FORCE_HELP)


def whatif(args: argparse.Namespace) -> int:
    """Show what was, what could have been and what is impossible, and write it as a page."""
    from allocsolve.bench import RecordStore  # noqa: PLC0415 - when the command runs
    from allocsolve.report.whatif import variants, what_if, whatif_page  # noqa: PLC0415 - when the command runs

    if 0 in args.malleable:
        msg = "--malleable 0: without jobs that can change their size is what the page tells anyway"
        raise InvalidOption(msg)
    out, rows = _outputs(args)
    days = zone(args.timezone)
    with time_bar(f"reading {args.log}"):
        log = _read(args)
        planned = variants(log_problem(log), args.malleable, seconds=args.seconds, workers=args.workers)
    interrupted = False
    with RecordStore(rows, tell=remark) as store:
        try:
            _run(planned, store, args.policy_seconds)
        except KeyboardInterrupt:
            interrupted = True
        with time_bar(f"writing {out}"):
            figures = what_if(log, planned, store, days)
            out.write_text(whatif_page(figures, made=_made(args)), encoding="utf-8", errors="replace")
    if args.json:
        write_json({**_document(figures), "page": out, "records": rows, "interrupted": interrupted})
    else:
        _show(figures)
        say(f"Page: {out} (records: {rows})")
    if interrupted:
        msg = f"what is known is in {out}, the same command goes on from there"
        raise KeyboardInterrupt(msg)
    return 1 if figures.failed else 0


def _outputs(args: argparse.Namespace) -> tuple[Path, Path]:
    """Return the files of the page and of its records, which an earlier run may have left."""
    stem = Path(args.log).name.removesuffix(".gz").rsplit(".", 1)[0]
    out: Path = args.out or Path(f"{stem}-whatif.html")
    rows = out.with_suffix(".sqlite")
    check_outputs(out, rows, inputs=[args.log], force=True)
    # A page beside its records is one of this command: that is how an interrupted one goes on.
    check_absent(out, force=args.force or rows.is_file())
    return out, rows


def _read(args: argparse.Namespace) -> JobLog:
    kind = args.format or log_format(args.log)
    if kind == "swf":
        return read_swf_log(args.log, num_nodes=args.nodes, unit=args.unit)
    return read_table_log(
        args.log, kind, num_nodes=args.nodes, unit=args.unit, timezone=args.timezone, time_unit=args.time_unit
    )


def _run(planned: Sequence[Variant], store: RecordStore, policy_seconds: float) -> None:
    """Run what has no record yet.

    The first variant has one long run, beside which the short ones are made: so kernels are compiled side by
    side. The others have two policies each that take as long as the processors let them.
    """
    from allocsolve.bench import open_executor, run_missing  # noqa: PLC0415 - when the command runs
    from allocsolve.bench.runs.tasks import again  # noqa: PLC0415 - when the command runs

    tasks = [task for variant in planned for task in variant.tasks]
    retried = again(tasks, store, failed=True)
    with count_bar("starting") as progress:
        before = 0
        for idx, variant in enumerate(planned):
            jobs = 1 if idx else min(2, os.cpu_count() or 1)

            def tell(done: int, _: int, what: str, before: int = before) -> None:
                progress(before + done, len(tasks), what)

            with open_executor("local", jobs) as cells:
                run_missing(
                    variant.tasks,
                    store,
                    again=retried,
                    executor=cells,
                    policy_seconds=policy_seconds,
                    progress=tell,
                    announce=remark,
                )
            before += len(variant.tasks)


def _made(args: argparse.Namespace) -> str:
    today = dt.datetime.now(dt.UTC).date()
    command = shlex.join(["allocsolve", *args.words])
    return f"Made on {today} with allocsolve {version('allocsolve')}: {command}"


def _show(figures: WhatIf) -> None:
    """Print the sentences and tables that stand first on the page."""
    from allocsolve.report.whatif import cases_table, cautions, elastic_table, headlines, plain, subject  # noqa: PLC0415 - when the command runs

    say(f"{figures.log.source}: {subject(figures)}", *cautions(figures), "")
    if figures.cases:
        _print(cases_table(figures))
    if figures.elastic:
        _print(elastic_table(figures))
    say(*map(plain, headlines(figures)), "")


def _print(table: Table) -> None:
    heads = [head.replace(" at most", "\nat most").replace(" with ", "\nwith ") for head in table.heads]
    show_table(heads, ([cell.shown for cell in row] for row in table.rows), title=table.title)
    say("")


def _document(figures: WhatIf) -> dict[str, Any]:
    """Return what the page says, as JSON has it; times in seconds."""
    from allocsolve.report.whatif import RECORDED, cautions, headlines, means_by, plain  # noqa: PLC0415 - when the command runs

    cases = {case.key: case.metrics for case in figures.cases}
    waits = {case.key: figures.waits(case) for case in figures.cases}
    by_size = {name: means_by(figures.sizes, column) for name, column in waits.items()}
    by_period = {name: means_by(figures.periods.of_jobs, column) for name, column in waits.items()}
    return {
        "log": figures.log.source,
        "sha256": figures.log.sha256,
        "machine": str(figures.log.machine),
        "cleaning": figures.log.report.counts(),
        "jobs": len(figures.problem.jobs),
        "recorded": cases.pop(RECORDED, None),
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
        "sentences": [plain(sentence) for sentence in headlines(figures)],
        "cautions": [*cautions(figures)],
        "failed": figures.failed,
        "missing": figures.missing,
    }
