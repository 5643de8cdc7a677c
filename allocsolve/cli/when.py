"""The command for those who wait: when, from a queue as `squeue` prints it to an interval for each job."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allocsolve.cli import options as opt
from allocsolve.cli.output import say, show_table, time_bar, write_json
from allocsolve.cli.parser import make_command
from allocsolve.errors import InvalidOption, UnknownName
from allocsolve.instances import log_format, read_squeue, read_swf_log, read_table_log
from allocsolve.instances.formats.log_times import Clock, date_of, time_limit, zone
from allocsolve.instances.formats.squeue import QueuedJob, RunningJob
from allocsolve.simulation import QueueSnapshot

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from allocsolve.instances import JobLog, QueueListing
    from allocsolve.model import FloatArray
    from allocsolve.prediction import JobHistory, Method, StartIntervals
    from allocsolve.simulation import RunnablePolicy

#: What messages and tables call a job that is not submitted yet.
_NEW = "new job"
#: With fewer questions of the past, the ends of intervals are those of one or two of them.
_ENOUGH = 100


def add_when(parser: argparse.ArgumentParser) -> None:
    """Add the options of `when`."""
    make_command(parser, when)
    parser.add_argument("queue", metavar="FILE", help="what squeue printed: lines or JSON, see docs/when.md")
    help_text = "the past of the machine, as for whatif: without it there are no chances"
    parser.add_argument("--log", metavar="FILE", help=help_text)
    which = parser.add_mutually_exclusive_group()
    help_text = "only this job, or the tasks of this array"
    which.add_argument("--job", metavar="ID", help=help_text)
    help_text = "a job that would be submitted now, such as nodes=64,limit=4:00:00"
    which.add_argument("--new", type=_new_job, metavar="nodes=N,limit=TIME", help=help_text)
    help_text = "size of the machine (default: that of the log)"
    parser.add_argument("--nodes", type=opt.integer(1), metavar="N", help=help_text)
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
        msg = f"{text[:40]!r} is not of the form nodes=64,limit=4:00:00"
        raise argparse.ArgumentTypeError(msg)
    try:
        limit = time_limit(cells["limit"])
    except ValueError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from None
    if limit is None:
        msg = f"the limit {cells['limit'][:20]!r} is no time above 0"
        raise argparse.ArgumentTypeError(msg)
    return opt.integer(1)(cells["nodes"]), limit


def when(args: argparse.Namespace) -> int:
    """Show when each queued job will start."""
    from allocsolve.adaptors import named_policy  # noqa: PLC0415 - when the command runs

    policy = named_policy(args.policy)
    listing = read_squeue(args.queue, timezone=args.timezone)
    now = _now(args, listing)
    log = _read(args) if args.log else None
    jobs = [*listing.queued]
    if args.new:
        jobs.append(_as_queued(args.new, now))
    history = _history(log, now) if log else None
    machine = _machine(args, log, history)
    sizes = [machine.needs(job) for job in jobs]
    blocks = [
        job.block or (f"asks for {need} of {machine.size} {machine.unit}" if need > machine.size else "")
        for job, need in zip(jobs, sizes, strict=True)
    ]
    free = [idx for idx, block in enumerate(blocks) if not block]
    snapshot = _snapshot(listing, [jobs[idx] for idx in free], machine, now)
    shown = _chosen(args, jobs)
    with time_bar("asking the past" if history else "running the policy forward"):
        intervals = _answer(snapshot, policy, history)
    places = {idx: place for place, idx in enumerate(free)}
    rows = [_row(jobs[idx], sizes[idx], blocks[idx], intervals, places.get(idx), now) for idx in shown]
    if args.json:
        write_json(_document(args, listing, rows, intervals, now))
    else:
        _show(args, listing, rows, intervals, now)
    return 0


class _Machine(NamedTuple):
    """The machine: how much there is of what jobs need, and the limits that the past knows."""

    size: int
    unit: str
    limits: tuple[float, ...]

    def needs(self, job: QueuedJob | RunningJob) -> int:
        """Return how much of it a job needs."""
        return job.processors if self.unit == "processors" else job.nodes


def _machine(args: argparse.Namespace, log: JobLog | None, history: JobHistory | None) -> _Machine:
    if log is not None and history is not None:
        return _Machine(log.num_nodes, log.machine.unit, (history.longest_limit,))
    if args.nodes is None:
        msg = "nothing tells the size of the machine: give --nodes, or --log"
        raise InvalidOption(msg)
    return _Machine(args.nodes, "nodes", ())


def _now(args: argparse.Namespace, listing: QueueListing) -> float:
    if args.now:
        try:
            told = Clock(zone(args.timezone)).read(args.now)
        except ValueError as fault:
            msg = f"--now {fault}"
            raise InvalidOption(msg) from None
        if told is None:
            msg = f"--now {args.now[:30]!r} is no time"
            raise InvalidOption(msg)
        return told
    if math.isnan(listing.now):
        msg = f"{listing.source}: nothing in it tells when it was printed: say --now"
        raise InvalidOption(msg)
    return listing.now


def _read(args: argparse.Namespace) -> JobLog:
    kind = log_format(args.log)
    if kind == "swf":
        log = read_swf_log(args.log, num_nodes=args.nodes)
    else:
        log = read_table_log(args.log, kind, num_nodes=args.nodes, timezone=args.timezone)
    if log.machine.unit not in {"nodes", "processors"}:
        msg = f"{args.log} counts {log.machine.unit}, of which squeue tells nothing"
        raise InvalidOption(msg)
    return log


def _history(log: JobLog, now: float) -> JobHistory:
    """Return the past in Unix seconds; of a log that tells no date, as if it ended now."""
    from allocsolve.prediction import JobHistory  # noqa: PLC0415 - when the command runs

    past = JobHistory.of(log)
    if log.epoch is not None:
        shift = log.epoch
    else:
        shift = now - float(np.nanmax(np.concatenate([past.submits, past.ends, [0.0]])))
    return past.shifted(shift)


def _as_queued(new: tuple[int, float], now: float) -> QueuedJob:
    nodes, limit = new
    return QueuedJob(_NEW, "", nodes, nodes, now, limit, 0, math.nan, math.nan, "", "")


def _snapshot(
    listing: QueueListing, jobs: Sequence[QueuedJob], machine: _Machine, now: float
) -> QueueSnapshot:
    """Return the queue as the policy finds it; a limit that is not known is the longest one that is."""
    told = [*(job.limit for job in listing.running), *(job.limit for job in [*listing.queued, *jobs])]
    known = [limit for limit in told if not math.isnan(limit)]
    longest = max([*known, *machine.limits], default=math.nan)
    if math.isnan(longest) and (jobs or listing.running):
        msg = f"{listing.source}: no job in it has a time limit, and there is no log"
        raise InvalidOption(msg)

    def limits(listed: Sequence[QueuedJob] | Sequence[RunningJob]) -> FloatArray:
        return np.array([longest if math.isnan(job.limit) else job.limit for job in listed])

    held = np.array([machine.needs(job) for job in listing.running], dtype=np.int64)
    if held.sum() > machine.size:
        msg = (
            f"{listing.source}: running jobs hold {held.sum()} {machine.unit} of a machine of {machine.size}"
        )
        raise InvalidOption(f"{msg}: --nodes gives its size in {machine.unit}")
    submits = np.array([min(job.submit, now) for job in jobs])
    eligible = np.array([job.eligible for job in jobs])
    return QueueSnapshot(
        machine.size,
        now,
        held,
        np.array([min(job.start, now) for job in listing.running]),
        limits(listing.running),
        np.array([machine.needs(job) for job in jobs], dtype=np.int64),
        submits,
        limits(jobs),
        np.where(np.isnan(eligible), submits, eligible),
    )


def _answer(snapshot: QueueSnapshot, policy: RunnablePolicy, history: JobHistory | None) -> StartIntervals:
    from allocsolve.prediction import StartIntervals, when as answer  # noqa: PLC0415 - when the command runs
    from allocsolve.prediction.scenarios import waits_by_limits  # noqa: PLC0415 - when the command runs

    if history is not None:
        return answer(snapshot, policy, history)
    count = len(snapshot.nodes)
    nothing = np.full(count, np.nan)
    plan = waits_by_limits(snapshot, policy) + snapshot.now
    methods: list[Method] = ["simulation"] * count
    return StartIntervals(nothing, nothing, nothing, plan, tuple(methods), (0,) * count)


def _chosen(args: argparse.Namespace, jobs: Sequence[QueuedJob]) -> list[int]:
    """Return the jobs that are asked for."""
    if args.new:
        return [len(jobs) - 1]
    if args.job is None:
        return [*range(len(jobs))]
    chosen = [
        idx for idx, job in enumerate(jobs) if job.name == args.job or job.name.startswith(f"{args.job}_")
    ]
    if not chosen:
        what = "queued job"
        raise UnknownName(what, args.job, [job.name for job in jobs])
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
    intervals: StartIntervals,
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
        times = [time(row[name]) for name in ("earliest", "median", "latest") if knows]
        table.append(
            [row["job"], str(row["nodes"]), *times, time(row["by_limits"]), time(row["planned"]), blocked]
        )
    counts = f"{len(listing.running)} running, {len(listing.queued)} queued"
    say(f"{listing.source}: {counts}, {time(now)} ({args.timezone})", "")
    show_table(heads, table, texts=(0, len(heads) - 1))
    say("")
    if listing.cut_arrays:
        say(f"The list of tasks is cut off, there are more of them: {', '.join(listing.cut_arrays)}")
    if not knows:
        say("Chances need the past of the machine: --log.")
        return
    asked = max(intervals.questions, default=0)
    methods = " and ".join(sorted({*intervals.methods}))
    if asked:
        rough = "; they are too few, so the chances are rough" if asked < _ENOUGH else ""
        say(f"Chances by {methods}; {asked} questions of the past say how far off such answers are{rough}.")
    elif rows:
        say(f"Chances by {methods}, not calibrated: no job of the log waited.")
