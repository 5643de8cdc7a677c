"""The command for those who run a machine: whatif, from its log to a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from allocsolve import bench
from allocsolve.cli import options as opt
from allocsolve.cli.files import check_absent, check_outputs, check_writable, made_by
from allocsolve.cli.machine_options import add_events, add_field_options
from allocsolve.cli.output import count_bar, remark, say, show_table, time_bar, write_json
from allocsolve.cli.parser import make_command
from allocsolve.families import family_named
from allocsolve.instances import LOG_FORMATS
from allocsolve.instances.formats.files import replace_file
from allocsolve.instances.formats.logs.log import UNITS
from allocsolve.registry.table import registered_names
from allocsolve.report import logs as report
from allocsolve.report.logs.nodes import names_rule
from allocsolve.report.logs.questions import SPLITS
from allocsolve.report.logs.words import POLICIES

if TYPE_CHECKING:
    import argparse

    from allocsolve.report.logs import WhatIf
    from allocsolve.report.tables import Table


def add_whatif(parser: argparse.ArgumentParser) -> None:
    """Add the options of `whatif`."""
    make_command(parser, whatif)
    help_text = "the log (may be gzipped), or a workload such as import writes"
    parser.add_argument("log", metavar="FILE", help=help_text)
    machine = parser.add_argument_group("machine")
    help_text = (
        "size of the machine (default for .swf: that of the header); several sizes: what if it had each of "
        "them, in place of that of the log, or of the first one if the log states none"
    )
    sizes = opt.distinct(opt.integer(1))
    machine.add_argument("--nodes", type=sizes, default=(), metavar="N,...", help=help_text)
    help_text = "what sizes count, also that of the machine (default: nodes, if the log has them)"
    machine.add_argument("--unit", choices=UNITS, help=help_text)
    add_field_options(machine)
    add_events(machine)
    log = parser.add_argument_group("log")
    help_text = "the format of the log (default: by its first lines)"
    log.add_argument("--format", choices=LOG_FORMATS, help=help_text)
    opt.add_timezone(log, "times, days and weeks")
    opt.add_time_unit(log)
    asked = parser.add_argument_group("questions")
    help_text = (
        "policies to compare, by name, with options or without, such as 'slurm-backfill(bf_interval=60)' or "
        f"'easy(order=shortest-estimate)'; may be given several times (default: {','.join(POLICIES)})"
    )
    asked.add_argument(
        "--policy", type=_policies, action="extend", default=[], metavar="NAME,...", help=help_text
    )
    help_text = "compare the policy of this slurm.conf, or of what scontrol show config printed, too"
    asked.add_argument("--slurm-conf", type=Path, metavar="FILE", help=help_text)
    help_text = (
        "replay what was and the best policy on the network of this topology.conf: hops and switches by rule"
    )
    asked.add_argument("--topology", type=Path, metavar="FILE", help=help_text)
    help_text = (
        "what if these shares of the jobs could change their size while they run, in per cent, such as 20,100"
    )
    asked.add_argument("--malleable", type=opt.percentages, default=(), metavar="PERCENT,...", help=help_text)
    help_text = (
        "what if the machine were closed for a time, such as 2022-11-08T08:00+8h, or a part of it: "
        "2022-11-08/2022-11-09,nodes=50; each window that is given is a question of its own"
    )
    asked.add_argument("--closed", action="append", default=[], metavar="WINDOW", help=help_text)
    help_text = "what if these partitions were one pool, such as std,long; needs --partitions"
    asked.add_argument(
        "--merge", type=opt.distinct(str), action="append", default=[], metavar="P,Q,...", help=help_text
    )
    asked.add_argument("--by", choices=SPLITS, help="show who gains and who loses, by this")
    search = parser.add_argument_group("limits")
    help_text = "time limit of each search for the best schedule and the bound (default: %(default)s)"
    opt.add_budget(search, help_text, 10.0)
    opt.add_policy_seconds(search)
    output = parser.add_argument_group("output")
    help_text = (
        "write the page, one file that needs nothing else, with its records beside it (FILE.sqlite): the "
        "same command goes on from there; a name that ends in .prom: the figures for Prometheus, where the "
        "textfile collector of node_exporter reads them (default: nothing is written)"
    )
    opt.add_outputs(output, help_text, "FILE.html,FILE.prom")
    opt.add_force(output)


def _policies(text: str) -> list[str]:
    """Read names of policies: solvers of workloads, or plug-ins."""
    names = registered_names(family_named("workload"))
    heuristics = [name for name, (row, _) in names.items() if row.method == "heuristic"]
    policies = opt.solvers_of("policy", text, heuristics)
    # A rule of choice that is the default has been told, too, and records leave it out.
    return [told if names_rule(told) else name for told, name in zip(opt.names(text), policies, strict=True)]


#: Options of the command that are what `report.logs.inquire` takes, by the same name.
_ASKED = (
    *("unit", "format", "timezone", "time_unit", "resources", "partitions", "eligible", "priority_age"),
    *("events", "slurm_conf", "topology", "malleable", "closed", "by", "seconds", "workers"),
)


def whatif(args: argparse.Namespace) -> int:
    """Show what was, what could have been and what is impossible, and write it as a page."""
    out, prometheus, rows = _outputs(args)
    with time_bar(f"reading {args.log}"):
        inquiry = report.inquire(
            args.log,
            nodes=args.nodes,
            policies=args.policy or POLICIES,
            merged=args.merge,
            **args.node_types,
            **{name: getattr(args, name) for name in _ASKED},
        )
    interrupted = False
    with bench.RecordStore(rows, tell=remark) as store:
        try:
            with count_bar("starting") as progress:
                inquiry.run(
                    store, policy_seconds=args.policy_seconds, progress=progress, announce=progress.announce
                )
        except KeyboardInterrupt:
            interrupted = True
        with time_bar("writing" if out else "counting"):
            answer = inquiry.answer(store)
    if out is not None:
        out.write_text(answer.page(made=made_by(args)), encoding="utf-8", errors="replace")
    if prometheus is not None:
        replace_file(prometheus, report.prometheus_text(answer.figures).encode(errors="replace"))
    if args.json:
        files = {"page": out, "records": rows, "prometheus": prometheus}
        write_json({**answer.document(), **files, "interrupted": interrupted})
    else:
        say(*answer.remarks)
        _show(answer.figures)
        if out is not None:
            say(f"Page: {out} (records: {rows})")
        elif prometheus is None:
            say("No page was written: --out FILE.html writes one.")
        if prometheus is not None:
            say(f"For Prometheus: {prometheus}")
    if interrupted and out is None:
        raise KeyboardInterrupt("what is known is above; --out FILE.html keeps it and goes on from there")
    if interrupted:
        raise KeyboardInterrupt(f"what is known is in {out}, the same command goes on from there")
    return 1 if answer.figures.failed else 0


def _outputs(args: argparse.Namespace) -> tuple[Path | None, Path | None, Path | None]:
    """Return the files of the page, for Prometheus, and of the page's records."""
    out, prometheus = opt.outputs(args.out, ".prom")
    rows = None
    if out is not None:
        check_writable(out)  # a folder has no suffix that could be replaced
        rows = out.with_suffix(".sqlite")
    inputs = [path for path in (args.log, args.slurm_conf, args.topology) if path is not None]
    check_outputs(out, rows, prometheus, inputs=inputs, force=True)
    if out is not None and rows is not None:
        # A page beside its records is one of this command: that is how an interrupted one goes on.
        check_absent(out, force=args.force or rows.is_file())
    if prometheus is not None:
        check_absent(prometheus, force=args.force or _is_ours(prometheus))
    return out, prometheus, rows


def _is_ours(path: Path) -> bool:
    """Tell whether a file is one of this command for Prometheus: the next run replaces it."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return report.is_prometheus_text(stream.read(100))


def _show(figures: WhatIf) -> None:
    """Print the sentences and tables that stand first on the page."""
    say(f"{figures.log.source}: {report.subject(figures)}", *report.cautions(figures), "")
    if figures.cases:
        _print(report.cases_table(figures))
    if figures.replayed:
        _print(report.network_table(figures.replayed))
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
