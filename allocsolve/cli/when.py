"""The command for those who wait: when, from a queue as `squeue` prints it to an interval for each job."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from allocsolve import adaptors, prediction
from allocsolve.cli import options as opt
from allocsolve.cli.machine_options import add_machine_options
from allocsolve.cli.output import count_lines, say, show_table, time_bar, write_json
from allocsolve.cli.parser import make_command
from allocsolve.cli.when_machine import blocks_of, machine_of, snapshot_of, units_of
from allocsolve.errors import InvalidOption, UnknownName
from allocsolve.instances import log_format, read_squeue, read_table_log
from allocsolve.instances.formats.logs.log import SWF_UNITS
from allocsolve.instances.formats.logs.squeue import QueuedJob
from allocsolve.instances.formats.logs.squeue_reasons import MAINTENANCE
from allocsolve.instances.formats.logs.times import Clock, date_of, time_limit, zone
from allocsolve.prediction.scenarios import waits_by_limits

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from allocsolve.cli.when_machine import Machine
    from allocsolve.instances import JobLog, QueueListing
    from allocsolve.prediction import JobHistory, Method, Moment, ShorterLimit, StartIntervals
    from allocsolve.simulation import QueueSnapshot, RunnablePolicy

#: What messages and tables call a job that is not submitted yet.
_NEW = "new job"
_NO_CHANCES = "Chances need the past of the machine: --log."
#: With fewer questions of the past, the ends of intervals are those of one or two of them.
_ENOUGH = 100
#: Of how many jobs the longest limit that starts them before a window is looked for.
_SHORTER = 100


def add_when(parser: argparse.ArgumentParser) -> None:
    """Add the options of `when`."""
    make_command(parser, when)
    parser.add_argument("queue", metavar="FILE", help="what squeue printed: lines or JSON, see docs/when.md")
    help_text = "the past of the machine, as for whatif: without it there are no chances"
    parser.add_argument("--log", metavar="FILE", help=help_text)
    which = parser.add_mutually_exclusive_group()
    help_text = "only this job, the tasks of this array, or the parts of this heterogeneous job"
    which.add_argument("--job", metavar="ID", help=help_text)
    help_text = "a job that would be submitted now, such as nodes=64,limit=4:00:00"
    which.add_argument("--new", type=_new_job, metavar="nodes=N,limit=TIME", help=help_text)
    help_text = "size of the machine, in the unit (default: that of the log)"
    parser.add_argument("--nodes", type=opt.integer(1), metavar="N", help=help_text)
    help_text = "what sizes count (default: what those of the log do, else nodes)"
    parser.add_argument("--unit", choices=SWF_UNITS, help=help_text)
    add_machine_options(parser, {"partition"})
    help_text = "the queue policy that the machine is thought to have (default: %(default)s)"
    parser.add_argument("--policy", default="easy", metavar="NAME", help=help_text)
    help_text = "when the queue was printed (default: as running jobs or the JSON tell)"
    parser.add_argument("--now", metavar="TIME", help=help_text)
    help_text = "of times without one, such as Europe/Berlin (default: %(default)s)"
    parser.add_argument("--timezone", default="UTC", metavar="ZONE", help=help_text)


def _new_job(text: str) -> tuple[int, float]:
    """Read the nodes and the limit, in seconds, of a job such as nodes=64,limit=4:00:00."""
    import argparse  # noqa: PLC0415 - its error is what readers of options raise

    pairs = [part.partition("=") for part in text.split(",")]
    cells = {name.strip(): value.strip() for name, _, value in pairs}
    if {*cells} != {"nodes", "limit"} or len(pairs) != 2:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not of the form nodes=64,limit=4:00:00")
    try:
        limit = time_limit(cells["limit"])
    except ValueError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from None
    if limit is None:
        raise argparse.ArgumentTypeError(f"the limit {cells['limit'][:20]!r} is no time above 0")
    return opt.integer(1)(cells["nodes"]), limit


def when(args: argparse.Namespace) -> int:
    """Show when each queued job will start."""
    policy = adaptors.named_policy(args.policy)
    listing = read_squeue(args.queue, timezone=args.timezone)
    now = _now(args, listing)
    log = _read(args) if args.log else None
    jobs = [*listing.queued]
    if args.new:
        jobs.append(_as_queued(args.new, now))
    history = _history(log, now) if log else None
    machine = machine_of(args, listing, now, *_size(args, log))
    blocks = blocks_of(jobs, machine)
    units = units_of(jobs, blocks, machine)
    limits = () if history is None else (history.longest_limit,)
    snapshot = snapshot_of(listing, units, machine, limits, now)
    shown = _chosen(args, jobs)
    places = {idx: place for place, unit in enumerate(units) for idx in unit.members}
    asked = [places[idx] for idx in shown if idx in places]
    intervals = _answer(snapshot, policy, history, asked)
    shorter = _shorter_limits(snapshot, policy, intervals, asked)
    rows = [
        _row(jobs[idx], machine.needs(jobs[idx]), blocks[idx], intervals, places.get(idx), now)
        | _shorter_row(shorter.get(places.get(idx, -1)))
        for idx in shown
    ]
    remarks = [*machine.lines, *_window_remarks(machine, rows, len(asked)), *_cut_remarks(listing)]
    remarks.append(_chances_remark(intervals, asked) if history else _NO_CHANCES)
    if args.json:
        write_json({**_document(args, listing, rows, intervals, now), "remarks": remarks})
    else:
        _show(args, listing, rows, remarks, now)
    return 0


def _size(args: argparse.Namespace, log: JobLog | None) -> tuple[int, str]:
    """Return the size of the machine, and its unit."""
    if log is not None:
        return log.num_nodes, log.machine.unit
    if args.nodes is None:
        raise InvalidOption("nothing tells the size of the machine: give --nodes, or --log")
    return args.nodes, args.unit or SWF_UNITS[0]


def _now(args: argparse.Namespace, listing: QueueListing) -> float:
    if args.now:
        try:
            told = Clock(zone(args.timezone)).read(args.now)
        except ValueError as fault:
            raise InvalidOption(f"--now {fault}") from None
        if told is None:
            raise InvalidOption(f"--now {args.now[:30]!r} is no time")
        return told
    if math.isnan(listing.now):
        raise InvalidOption(f"{listing.source}: nothing in it tells when it was printed: say --now")
    return listing.now


def _read(args: argparse.Namespace) -> JobLog:
    kind = log_format(args.log)
    log = read_table_log(args.log, kind, num_nodes=args.nodes, unit=args.unit, timezone=args.timezone)
    if log.machine.unit not in {"nodes", "processors"}:
        raise InvalidOption(f"{args.log} counts {log.machine.unit}, of which squeue tells nothing")
    return log


def _history(log: JobLog, now: float) -> prediction.JobHistory:
    """Return the past in Unix seconds; of a log that tells no date, as if it ended now."""
    past = prediction.JobHistory.of(log)
    if log.epoch is not None:
        shift = log.epoch
    else:
        shift = now - float(np.nanmax(np.concatenate([past.submits, past.ends, [0.0]])))
    return past.shifted(shift)


def _as_queued(new: tuple[int, float], now: float) -> QueuedJob:
    nodes, limit = new
    return QueuedJob(_NEW, "", nodes, nodes, now, limit, 0, math.nan, math.nan, "", "")


def _answer(
    snapshot: QueueSnapshot, policy: RunnablePolicy, history: JobHistory | None, asked: Sequence[int]
) -> prediction.StartIntervals:
    """Return when the jobs start; questions of the past are those that tell about the asked ones."""
    if history is not None:
        is_new = snapshot.submits[[*asked]] == snapshot.now
        told: dict[Moment, bool] = {"submission": is_new.any(), "instant": (~is_new).any()}
        moments = [moment for moment, is_asked in told.items() if is_asked]
        past = []
        for moment in moments:
            with count_lines("asking the past") as update:
                past.append(
                    prediction.past_answers(history, policy, moment, before=snapshot.now, progress=update)
                )
        with time_bar("running the policy forward"):
            return prediction.when(snapshot, policy, history, past=past)
    count = len(snapshot.nodes)
    nothing = np.full(count, np.nan)
    with time_bar("running the policy forward"):
        plan = waits_by_limits(snapshot, policy) + snapshot.now
    methods: list[Method] = ["simulation"] * count
    return prediction.StartIntervals(nothing, nothing, nothing, plan, tuple(methods), (0,) * count)


def _shorter_limits(
    snapshot: QueueSnapshot, policy: RunnablePolicy, intervals: StartIntervals, asked: Sequence[int]
) -> dict[int, ShorterLimit]:
    """Return by place with which limit jobs would start before a window, of the first `_SHORTER` ones."""
    with time_bar("looking for shorter limits"):
        return prediction.shorter_limits(snapshot, policy, intervals.by_limits, asked[:_SHORTER])


def _shorter_row(shorter: ShorterLimit | None) -> dict[str, Any]:
    """Return what is said of a shorter limit, as JSON has it."""
    fields = {"shorter_limit": "limit", "start_with_it": "start", "window": "window"}
    return {key: shorter and round(getattr(shorter, field)) for key, field in fields.items()}


def _chosen(args: argparse.Namespace, jobs: Sequence[QueuedJob]) -> list[int]:
    """Return the jobs that are asked for."""
    if args.new:
        return [len(jobs) - 1]
    if args.job is None:
        return [*range(len(jobs))]
    parts = (f"{args.job}_", f"{args.job}+")
    chosen = [idx for idx, job in enumerate(jobs) if job.name == args.job or job.name.startswith(parts)]
    if not chosen:
        raise UnknownName("queued job", args.job, [job.name for job in jobs])
    return chosen


def _row(
    job: QueuedJob, nodes: int, block: str, intervals: StartIntervals, place: int | None, now: float
) -> dict[str, Any]:
    """Return what is said of a job, as JSON has it; times in Unix seconds."""

    def time(value: float) -> float | None:
        return None if math.isnan(value) else round(value)

    columns = ("earliest", "median", "latest", "by_limits")
    blocked_until = job.eligible if job.eligible > now else math.nan
    return {
        "job": job.name,
        "user": job.user,
        "nodes": nodes,
        "limit": time(job.limit),
        **{name: None if place is None else time(float(getattr(intervals, name)[place])) for name in columns},
        "planned": time(job.planned),
        "blocked_until": time(blocked_until),
        "blocked": block,
        "standing": job.standing if job.block == block else "blocked" if block else "line",
        "reason": job.reason,
    }


def _document(
    args: argparse.Namespace,
    listing: QueueListing,
    rows: list[dict[str, Any]],
    intervals: StartIntervals,
    now: float,
) -> dict[str, Any]:
    return {
        "queue": listing.source,
        "now": now,
        "policy": args.policy,
        "methods": sorted({*intervals.methods}),
        "questions": max(intervals.questions, default=0),
        "running": len(listing.running),
        "queued": len(listing.queued),
        "others": listing.others,
        "cut_arrays": [*listing.cut_arrays],
        "jobs": rows,
    }


def _show(
    args: argparse.Namespace,
    listing: QueueListing,
    rows: list[dict[str, Any]],
    remarks: Sequence[str],
    now: float,
) -> None:
    """Print the table and what has to be known to read it."""
    local = zone(args.timezone)

    def time(value: float | None) -> str:
        return "" if value is None else f"{date_of(value, local):%Y-%m-%d %H:%M}"

    knows = args.log is not None
    chances = ("5 % chance\nbefore", "half\nbefore", "5 % chance\nafter") if knows else ()
    heads = ("job", "nodes", *chances, "if all run to\ntheir limits", "plan of the\nmachine", "blocked")
    table = []
    for row in rows:
        blocked = row["blocked"] or (f"until {time(row['blocked_until'])}" if row["blocked_until"] else "")
        if row["shorter_limit"]:
            limit = _limit_text(row["shorter_limit"])
            begins, starts = time(row["window"]), time(row["start_with_it"])
            shorter = f"too long for the window of {begins}; with a limit of {limit} starts {starts}"
            blocked = f"{blocked}; {shorter}" if blocked else shorter
        times = [time(row[name]) for name in ("earliest", "median", "latest") if knows]
        table.append(
            [row["job"], str(row["nodes"]), *times, time(row["by_limits"]), time(row["planned"]), blocked]
        )
    counts = f"{len(listing.running)} running, {len(listing.queued)} queued"
    say(f"{listing.source}: {counts}, {time(now)} ({args.timezone})", "")
    show_table(heads, table, texts=(0, len(heads) - 1))
    say("")
    for remark in remarks:
        say(remark)


def _limit_text(seconds: int) -> str:
    """Return a time limit as Slurm takes it."""
    days, rest = divmod(seconds, 86_400)
    return (f"{days}-" if days else "") + f"{rest // 3600}:{rest // 60 % 60:02}:{rest % 60:02}"


def _window_remarks(machine: Machine, rows: Sequence[Mapping[str, Any]], asked: int) -> Iterator[str]:
    """Yield what has to be known about times at which the machine is closed."""
    if not machine.windows and any(row["blocked"] == MAINTENANCE.block for row in rows):
        yield "--closed, or --events with what scontrol show reservation prints, says when maintenance is."
    if machine.windows and asked > _SHORTER:
        yield f"Shorter limits are told of the first {_SHORTER} jobs; --job tells that of another."


def _cut_remarks(listing: QueueListing) -> Iterator[str]:
    if listing.cut_arrays:
        yield f"The list of tasks is cut off, there are more of them: {', '.join(listing.cut_arrays)}"


def _chances_remark(intervals: StartIntervals, asked: Sequence[int]) -> str:
    """Return where the chances come from."""
    questions = max((intervals.questions[place] for place in asked), default=0)
    methods = " and ".join(sorted({intervals.methods[place] for place in asked}))
    if not asked:
        return "No job that is shown waits in line, so there are no chances."
    if not questions:
        return f"Chances by {methods}, not calibrated: no question of the past could be asked."
    rough = "; they are too few, so the chances are rough" if questions < _ENOUGH else ""
    return f"Chances by {methods}; {questions} questions of the past say how far off such answers are{rough}."
