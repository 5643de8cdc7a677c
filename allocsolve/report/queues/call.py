"""When, in one call: from a queue as `squeue` prints it to an interval for each job."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from allocsolve import adaptors, prediction
from allocsolve.errors import InvalidOption, UnknownName
from allocsolve.instances import LogFields, log_format, read_squeue, read_table_log, site_nodes
from allocsolve.instances.formats.logs.log import SWF_UNITS
from allocsolve.instances.formats.logs.squeue import QueuedJob
from allocsolve.instances.formats.logs.squeue_reasons import MAINTENANCE
from allocsolve.instances.formats.logs.times import Clock, zone
from allocsolve.model.places import num_places
from allocsolve.prediction.scenarios import waits_by_limits
from allocsolve.registry.names import parse_name
from allocsolve.report.queues.ends import ends_of, node_remarks
from allocsolve.report.queues.machine import (
    Machine,
    MachineOptions,
    QueuePlaces,
    blocks_of,
    machine_of,
    snapshot_of,
    units_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from allocsolve.instances import JobLog, QueueListing, SiteNodes
    from allocsolve.instances.formats.files import PathLike
    from allocsolve.model import NodeType
    from allocsolve.prediction import JobHistory, Method, Moment, ShorterLimit, StartIntervals
    from allocsolve.simulation import QueueSnapshot, RunnablePolicy

    #: Nodes and time limit in seconds of a job that is not submitted yet, and what it asks for on each node.
    NewJob: TypeAlias = tuple[int, float] | tuple[int, float, Mapping[str, int]]

    #: Called with what is being done; its context is told how much of how much is done, where that is known.
    Watch: TypeAlias = Callable[[str], AbstractContextManager[Callable[[int, int], None] | None]]

#: What takes long, and is counted.
PAST = "asking the past"
#: What messages and tables call a job that is not submitted yet.
_NEW = "new job"
_NO_CHANCES = "Chances need the past of the machine: --log."
#: With fewer questions of the past, the ends of intervals are those of one or two of them.
_ENOUGH = 100
#: Of how many jobs the longest limit that starts them before a window is looked for.
_SHORTER = 100


class WhenAnswer(NamedTuple):
    """When the jobs of a queue will start."""

    queue: QueueListing
    now: float  #: in Unix seconds
    policy: str
    intervals: StartIntervals
    #: Of each job that was asked for: name, nodes, times in Unix seconds, what blocks it; and what was
    #: assumed, where nodes are places and the queue does not say where jobs run.
    jobs: tuple[dict[str, Any], ...]
    remarks: tuple[str, ...]  #: what has to be known to read them

    def document(self) -> dict[str, Any]:
        """Return all of it as ``allocsolve when --json`` prints it."""
        return {
            "queue": self.queue.source,
            "now": self.now,
            "policy": self.policy,
            "methods": sorted({*self.intervals.methods}),
            "questions": max(self.intervals.questions, default=0),
            "running": len(self.queue.running),
            "queued": len(self.queue.queued),
            "others": self.queue.others,
            "cut_arrays": [*self.queue.cut_arrays],
            "jobs": [*self.jobs],
            "remarks": [*self.remarks],
        }


def _unwatched(what: str) -> AbstractContextManager[None]:
    del what
    return nullcontext()


def when(
    queue: PathLike,
    *,
    log: PathLike | None = None,
    job: str | NewJob | None = None,
    nodes: int | None = None,
    unit: str | None = None,
    partitions: Mapping[str, int] = MappingProxyType({}),
    closed: Sequence[str] = (),
    events: PathLike | None = None,
    node_types: Sequence[NodeType] = (),
    node_list: PathLike | None = None,
    policy: str = "easy",
    now: str | None = None,
    timezone: str = "UTC",
    watch: Watch = _unwatched,
) -> WhenAnswer:
    """Return when the queued jobs of a machine will start.

    Parameters
    ----------
    queue
        The file with what ``squeue`` printed, as lines or JSON.
    log
        The past of the machine, of any format of `allocsolve.instances.LOG_FORMATS`; without it there are no
        chances, only the starts if all jobs run to their limits.
    job
        The name of a job; or nodes and time limit in seconds of one that would be submitted now, and what it
        asks for on each node, if nodes are places and it shares them. None for all jobs of the queue.
    nodes
        Size of the machine, in the unit; by default that of the log.
    unit
        ``nodes`` or ``processors``: what sizes count; by default what those of the log do, else nodes.
    partitions
        The most that the jobs of a partition hold at once, by name.
    closed
        Maintenance windows, such as ``2022-11-08T08:00+8h,nodes=50``.
    events
        The file with what ``sacctmgr -P show event`` or ``scontrol show reservation`` printed.
    node_types, node_list
        The nodes, if jobs share them or they differ: their types, or a file, see
        `allocsolve.instances.read_node_list`. Where the queue does not say on which nodes jobs run, each job
        has two rows: as if jobs were packed, and as if they were spread.
    policy
        The queue policy that the machine is thought to have, by the name of a solver.
    now
        When the queue was printed; by default the time that it tells.
    timezone
        Of times without one, such as ``Europe/Berlin``.
    watch
        Called with what is being done; a context manager around it.

    Raises
    ------
    InvalidOption
        If nothing tells the size or the time, or something does not fit the machine.
    UnknownName
        If there is no such job or policy.
    FormatError
        If a file cannot be read.
    """
    site = site_nodes(node_types, node_list)
    if not site.types and any(name == "choice" for name, _ in parse_name(policy).options):
        raise InvalidOption(f"--policy {policy}: a choice of nodes needs --node-types")
    if not site.types and isinstance(job, tuple) and len(job) > len(("nodes", "limit")):
        raise InvalidOption("--job: cpus, mem and gpus of each node need --node-types")
    others: dict[str, Any] = {"--nodes": nodes, "--unit": unit, "--partitions": partitions}
    others |= {"--closed": closed, "--events": events}
    if site.types and any(others.values()):
        given = ", ".join(name for name, value in others.items() if value)
        raise InvalidOption(f"--node-types says what nodes there are, without {given}")
    adaptors.named_policy(policy)
    listing = read_squeue(queue, timezone=timezone)
    instant = _now(now, timezone, listing)
    past = _read(log, nodes, unit, timezone, site) if log else None
    jobs = [*listing.queued]
    if isinstance(job, tuple):
        jobs.append(_as_queued(job, instant))
    history = _history(past, instant) if past else None
    if site.types:
        places = QueuePlaces.of(site, listing, jobs)
        machine = Machine(num_places(site.types), "nodes", {}, (), 0, (), places)
    else:
        options = MachineOptions(partitions, closed, events, timezone)
        machine = machine_of(options, listing, instant, *_size(nodes, unit, past))
    blocks = blocks_of(jobs, machine)
    units = units_of(jobs, blocks, machine)
    limits = () if history is None else (history.longest_limit,)
    shown = _chosen(job, jobs)
    position = {idx: place for place, whole in enumerate(units) for idx in whole.members}
    asked = [position[idx] for idx in shown if idx in position]
    answers: list[prediction.StartIntervals] = []
    rows: list[dict[str, Any]] = []
    ends = ends_of(policy, machine.places, listing)
    for end in ends:
        named = adaptors.named_policy(end.policy)
        snapshot = snapshot_of(listing, units, machine, limits, instant, end.seats)
        known = history and replace(history, choice=end.choice)
        intervals = _answer(snapshot, named, known, asked, watch)
        with watch("looking for shorter limits"):
            # Of the first ones: each takes a search of its own.
            shorter = prediction.shorter_limits(snapshot, named, intervals.by_limits, asked[:_SHORTER])
        answers.append(intervals)
        rows += [
            _row(jobs[idx], machine.needs(jobs[idx]), blocks[idx], intervals, position.get(idx), instant)
            | _shorter_row(shorter.get(position.get(idx, -1)))
            | ({"assumed": end.title} if end.title else {})
            for idx in shown
        ]
    remarks = [*machine.lines, *_window_remarks(machine, rows, len(asked)), *_cut_remarks(listing)]
    if machine.places is not None:
        remarks += node_remarks(ends, listing, history)
    remarks.append(_chances_remark(answers[0], asked) if history else _NO_CHANCES)
    return WhenAnswer(listing, instant, policy, answers[0], tuple(rows), tuple(remarks))


def _size(nodes: int | None, unit: str | None, log: JobLog | None) -> tuple[int, str]:
    """Return the size of the machine, and its unit."""
    if log is not None:
        return log.num_nodes, log.machine.unit
    if nodes is None:
        raise InvalidOption("nothing tells the size of the machine: give --nodes, or --log")
    return nodes, unit or SWF_UNITS[0]


def _now(given: str | None, timezone: str, listing: QueueListing) -> float:
    if given:
        try:
            told = Clock(zone(timezone)).read(given)
        except ValueError as fault:
            raise InvalidOption(f"--now {fault}") from None
        if told is None:
            raise InvalidOption(f"--now {given[:30]!r} is no time")
        return told
    if math.isnan(listing.now):
        raise InvalidOption(f"{listing.source}: nothing in it tells when it was printed: say --now")
    return listing.now


def _read(path: PathLike, nodes: int | None, unit: str | None, timezone: str, site: SiteNodes) -> JobLog:
    fields = LogFields(site=site, keeps_large=bool(site.types))
    log = read_table_log(path, log_format(path), num_nodes=nodes, unit=unit, timezone=timezone, fields=fields)
    if log.machine.unit not in {"nodes", "processors"}:
        raise InvalidOption(f"{path} counts {log.machine.unit}, of which squeue tells nothing")
    return log


def _history(log: JobLog, now: float) -> prediction.JobHistory:
    """Return the past in Unix seconds; of a log that tells no date, as if it ended now."""
    past = prediction.JobHistory.of(log)
    if log.epoch is not None:
        shift = log.epoch
    else:
        shift = now - float(np.nanmax(np.concatenate([past.submits, past.ends, [0.0]])))
    return past.shifted(shift)


def _as_queued(new: NewJob, now: float) -> QueuedJob:
    nodes, limit, *each = new
    amounts = tuple((name, nodes * amount) for asked in each for name, amount in asked.items())
    job = QueuedJob(_NEW, "", nodes, nodes, now, limit, 0, math.nan, math.nan, "", "")
    return job._replace(processors=dict(amounts).get("cpus", 0 if amounts else nodes), amounts=amounts)


def _answer(
    snapshot: QueueSnapshot,
    policy: RunnablePolicy,
    history: JobHistory | None,
    asked: Sequence[int],
    watch: Watch,
) -> prediction.StartIntervals:
    """Return when the jobs start; questions of the past are those that tell about the asked ones."""
    if history is not None:
        is_new = snapshot.submits[[*asked]] == snapshot.now
        told: dict[Moment, bool] = {"submission": is_new.any(), "instant": (~is_new).any()}
        moments = [moment for moment, is_asked in told.items() if is_asked]
        past = []
        for moment in moments:
            with watch(PAST) as update:
                past.append(
                    prediction.past_answers(history, policy, moment, before=snapshot.now, progress=update)
                )
        with watch("running the policy forward"):
            return prediction.when(snapshot, policy, history, past=past)
    count = len(snapshot.nodes)
    nothing = np.full(count, np.nan)
    with watch("running the policy forward"):
        plan = waits_by_limits(snapshot, policy) + snapshot.now
    methods: list[Method] = ["simulation"] * count
    return prediction.StartIntervals(nothing, nothing, nothing, plan, tuple(methods), (0,) * count)


def _shorter_row(shorter: ShorterLimit | None) -> dict[str, Any]:
    """Return what is said of a shorter limit, as JSON has it."""
    fields = {"shorter_limit": "limit", "start_with_it": "start", "window": "window"}
    return {key: shorter and round(getattr(shorter, field)) for key, field in fields.items()}


def _chosen(job: str | NewJob | None, jobs: Sequence[QueuedJob]) -> list[int]:
    """Return the jobs that are asked for."""
    if isinstance(job, tuple):
        return [len(jobs) - 1]
    if job is None:
        return [*range(len(jobs))]
    parts = (f"{job}_", f"{job}+")
    chosen = [idx for idx, one in enumerate(jobs) if one.name == job or one.name.startswith(parts)]
    if not chosen:
        raise UnknownName("queued job", job, [one.name for one in jobs])
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
