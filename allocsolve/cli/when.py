"""The command for those who wait: when, from a queue as `squeue` prints it to an interval for each job."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from allocsolve.cli import options as opt
from allocsolve.cli.machine_options import add_node_types, add_partitions, add_windows
from allocsolve.cli.output import count_lines, say, show_table, time_bar, write_json
from allocsolve.cli.parser import make_command
from allocsolve.instances.formats.logs.held import mebibytes
from allocsolve.instances.formats.logs.log import SWF_UNITS
from allocsolve.instances.formats.logs.times import date_of, time_limit, zone
from allocsolve.report import when
from allocsolve.report.queues.call import PAST

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from allocsolve.report import WhenAnswer
    from allocsolve.report.queues.call import NewJob


def add_when(parser: argparse.ArgumentParser) -> None:
    """Add the options of `when`."""
    make_command(parser, show_when)
    parser.add_argument("queue", metavar="FILE", help="what squeue printed: lines or JSON, see docs/when.md")
    question = parser.add_argument_group("question")
    help_text = "the past of the machine, as for whatif: without it there are no chances"
    question.add_argument("--log", metavar="FILE", help=help_text)
    help_text = (
        "only this job, the tasks of this array, or the parts of this heterogeneous job; or a job that would "
        "be submitted now, such as nodes=64,limit=4:00:00, with --node-types also cpus=8,mem=64g,gpus=1 of "
        "each node"
    )
    question.add_argument("--job", type=_asked_job, metavar="ID", help=help_text)
    help_text = "when the queue was printed (default: the time in its running jobs or JSON)"
    question.add_argument("--now", metavar="TIME", help=help_text)
    opt.add_timezone(question)
    machine = parser.add_argument_group("machine")
    help_text = "size of the machine, in the unit (default: that of the log)"
    machine.add_argument("--nodes", type=opt.integer(1), metavar="N", help=help_text)
    help_text = "what sizes count (default: the unit of the log, else nodes)"
    machine.add_argument("--unit", choices=SWF_UNITS, help=help_text)
    help_text = "the queue policy that the machine is thought to have (default: %(default)s)"
    machine.add_argument("--policy", default="easy", metavar="NAME", help=help_text)
    add_node_types(machine)
    add_partitions(machine)
    add_windows(machine)


def _asked_job(text: str) -> str | NewJob:
    """Read the name of a job in the queue, or the nodes and the limit of one that is not."""
    return _new_job(text) if "=" in text else text


def _new_job(text: str) -> NewJob:
    """Read the nodes and the limit, in seconds, of a job such as nodes=64,limit=4:00:00, and its amounts."""
    pairs = [part.partition("=") for part in text.split(",")]
    cells = {name.strip(): value.strip() for name, _, value in pairs}
    if not {"nodes", "limit"} <= {*cells} <= {"nodes", "limit", *_AMOUNTS} or len(pairs) != len(cells):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not of the form nodes=64,limit=4:00:00")
    try:
        limit = time_limit(cells["limit"])
    except ValueError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from None
    if limit is None:
        raise argparse.ArgumentTypeError(f"the limit {cells['limit'][:20]!r} is no time above 0")
    nodes = opt.integer(1)(cells["nodes"])
    try:
        each = {name: read(cells[name]) for name, read in _AMOUNTS.items() if name in cells}
    except ValueError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from None
    return (nodes, limit, each) if each else (nodes, limit)


#: What a job may ask for on each node, and what reads it.
_AMOUNTS: Final[dict[str, Callable[[str], int]]] = {
    "cpus": opt.integer(1),
    "mem": mebibytes,
    "gpus": opt.integer(0),
}


def _shown(what: str) -> AbstractContextManager[Callable[[int, int], None] | None]:
    """Show what is being done, and how much of it where that is known."""
    return count_lines(what) if what == PAST else time_bar(what)


def show_when(args: argparse.Namespace) -> int:
    """Show when each queued job will start."""
    names = ("log", "job", "nodes", "unit", "partitions", "closed", "events", "policy", "now", "timezone")
    given = {name: getattr(args, name) for name in names}
    answer = when(args.queue, **given, **args.node_types, watch=_shown)
    if args.json:
        write_json(answer.document())
    else:
        _show(args, answer)
    return 0


def _show(args: argparse.Namespace, answer: WhenAnswer) -> None:
    """Print the table and what has to be known to read it."""
    local = zone(args.timezone)

    def time(value: float | None) -> str:
        return "" if value is None else f"{date_of(value, local):%Y-%m-%d %H:%M}"

    knows = args.log is not None
    chances = ("5 % chance\nbefore", "half\nbefore", "5 % chance\nafter") if knows else ()
    heads = ("job", "nodes", *chances, "if all run to\ntheir limits", "plan of the\nmachine", "blocked")
    table = []
    for row in answer.jobs:
        blocked = row["blocked"] or (f"until {time(row['blocked_until'])}" if row["blocked_until"] else "")
        if row["shorter_limit"]:
            limit = _limit_text(row["shorter_limit"])
            begins, starts = time(row["window"]), time(row["start_with_it"])
            shorter = f"too long for the window of {begins}; with a limit of {limit} starts {starts}"
            blocked = f"{blocked}; {shorter}" if blocked else shorter
        times = [time(row[name]) for name in ("earliest", "median", "latest") if knows]
        name = f"{row['job']} {row.get('assumed', '')}".rstrip()
        table.append([name, str(row["nodes"]), *times, time(row["by_limits"]), time(row["planned"]), blocked])
    listing = answer.queue
    counts = f"{len(listing.running)} running, {len(listing.queued)} queued"
    say(f"{listing.source}: {counts}, {time(answer.now)} ({args.timezone})", "")
    show_table(heads, table, texts=(0, len(heads) - 1))
    say("", *answer.remarks)


def _limit_text(seconds: int) -> str:
    """Return a time limit as Slurm takes it."""
    days, rest = divmod(seconds, 86_400)
    return (f"{days}-" if days else "") + f"{rest // 3600}:{rest // 60 % 60:02}:{rest % 60:02}"
