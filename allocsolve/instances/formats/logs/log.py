"""Logs of real machines: their jobs after cleaning, and the workloads made of them.

Real logs break every rule. A line that is no job is dropped, counted and named; a job that cannot be
replayed is dropped and counted; a change of a job is counted; the rest is kept as it is. `CleaningReport`
has all counts.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.errors import FormatError, InvalidOption
from allocsolve.instances.formats.logs.fields import PLAIN, AskedJobs, FieldColumns, LogFields
from allocsolve.model import (
    MAX_INTEGER,
    EvolutionProblem,
    EvolutionProfile,
    FloatArray,
    IntArray,
    Jobs,
    WorkloadProblem,
    WorkloadSchedule,
)
from allocsolve.model.arrays import frozen
from allocsolve.model.checks import choice
from allocsolve.model.places import num_places

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from allocsolve.instances.formats.files import PathLike
    from allocsolve.instances.formats.logs.lines import Faults
    from allocsolve.instances.formats.logs.site_nodes import SiteNodes
    from allocsolve.model import ClosedWindow

#: What sizes may count. Milligpus are thousandths of GPUs.
UNITS: Final = ("nodes", "processors", "gpus", "milligpus")
#: What those of the Standard Workload Format may count.
SWF_UNITS: Final = UNITS[:2]
#: Where sizes count whole ones: what tells of which jobs had a part only.
PARTS: Final[Mapping[str, str]] = MappingProxyType({"nodes": "processors", "gpus": "milligpus"})
#: Where sizes count parts: what tells of which jobs had whole ones.
WHOLES: Final[Mapping[str, str]] = MappingProxyType({part: whole for whole, part in PARTS.items()})
#: In the meta of a problem: how many jobs had a part of a node or GPU only, where sizes count such parts, and
#: how many may have had.
_SHARED: Final = "shared_nodes"
_MAY_SHARE: Final = "possibly_shared_nodes"
LIMITS: Final = ("at-least-run", "keep", "cut")
ORIGINS: Final = ("first", "header")
#: Changes that make one job of several lines: how many lines a job took in.
JOINED: Final = ("resized", "continued", "retried")


@dataclass(frozen=True, slots=True)
class CleaningReport:
    """What was dropped of a log, what was changed, what is unusual in the rest; counts of 0 included.

    A line is counted under one reason why it is dropped, the first that applies.

    Dropped are ``faulty`` lines, ``steps`` of jobs, repeated ``headers``,
    ``other_records`` (of what else happened to a job than a run), ``partial`` lines of a job that another
    line sums up, ``cancelled`` jobs that never ran, ``unfinished`` ones, those of ``no_submit`` time,
    ``no_run_time`` (0 or unknown), ``no_size``, ``too_large`` for the machine, or for what there is of a
    resource, and ``duplicates``. Changed
    are ``requested_size`` (taken where the allocated one is unknown), ``part_of_a_node`` (counted as whole
    nodes, or GPUs), ``raised_limit`` (to the run time), ``cut_at_limit`` (the run time), ``resized`` (lines
    that were joined to the line of their job, which has the largest of the sizes), ``retried`` (further
    attempts, joined the same way; the run time is the sum), ``clock_set_back`` (the
    later of two equal local times was taken) and ``requeued`` (a later run of a job got a name of its own).
    Unusual are ``no_limit``, ``above_limit`` (ran longer than its limit, which was left), ``unsorted``
    (submitted before the job above), ``no_recorded_start``, ``starts_early`` (recorded start before the
    submission), ``other_span`` (recorded start and end are not the run time apart) and ``more_fields``;
    of what `LogFields` asks for ``uneven_chunks`` (on nodes that are places: amounts that are no multiples of
    the nodes, rounded up), ``no_amounts`` (nothing is known but nodes, which are whole), ``fits_no_node``
    (has as many whole nodes), ``no_needs``, ``no_partition``, ``no_priority`` (or no start), which are
    unknown, ``eligible_after_start``: such a job is eligible at its start, and ``more_than_there_is``: such a
    job holds all that there is.
    """

    job_lines: int  #: lines that are neither empty nor comments
    dropped: Mapping[str, int]
    unusual: Mapping[str, int]
    faults: tuple[str, ...]  #: the first 1000 faulty lines, each with its number and what is wrong
    changed: Mapping[str, int] = field(default_factory=dict)

    def counts(self) -> dict[str, int]:
        """Return all counts by name; ``kept`` is what the dropped ones leave of the job lines."""
        joined = sum(self.changed.get(reason, 0) for reason in JOINED)
        remaining = self.job_lines - sum(self.dropped.values()) - joined
        return {
            "job_lines": self.job_lines,
            **self.dropped,
            "kept": remaining,
            **self.changed,
            **self.unusual,
        }

    def __str__(self) -> str:
        numbers = {"job_lines": self.job_lines} | {
            name: count for name, count in self.counts().items() if count
        }
        counts = [f"{count} {name.replace('_', ' ')}" for name, count in numbers.items()]
        shown = self.faults[: FormatError.SHOWN]
        return "; ".join([", ".join(counts), *shown, *["..."] * (len(shown) < len(self.faults))])


@dataclass(frozen=True, slots=True)
class LogOptions:
    """How a log is read."""

    num_nodes: int | None = None  #: size of the machine, in the unit; None takes that of the log
    unit: str | None = None  #: what sizes are numbers of, one of `UNITS`; None lets the reader choose
    #: What happens where a job ran longer than its limit: ``at-least-run`` raises the limit to the run time,
    #: ``keep`` leaves both, ``cut`` ends the job at its limit, as machines do that kill it there.
    limits: str = "at-least-run"
    fields: LogFields = PLAIN  #: what is read beside plain jobs

    def __post_init__(self) -> None:
        if self.num_nodes is not None and not 1 <= self.num_nodes <= MAX_INTEGER:
            raise InvalidOption(f"num_nodes {self.num_nodes} is not in 1..2^53")
        if self.unit is not None:
            choice("unit", self.unit, UNITS)
        choice("limits", self.limits, LIMITS)
        site = self.fields.site.types and "--node-types"
        if site and (self.num_nodes is not None or self.unit not in {None, "nodes"}):
            raise InvalidOption(f"{site} says how many nodes there are, without --nodes and --unit")
        if site and (self.fields.resources or self.fields.partitions):
            raise InvalidOption(f"{site} has no --resources and no --partitions beside it")


class MachineSize(NamedTuple):
    """The machine of a log, and where its size is from."""

    size: int | None  #: None if nothing tells it
    unit: str  #: of `UNITS`
    told_by: str
    per_node: int = 1  #: processors of a node, where sizes were turned into nodes

    @classmethod
    def of_site(cls, site: SiteNodes) -> MachineSize:
        """Return that of a machine whose nodes are places."""
        said = ", ".join(f"{kind.count} {kind.name}" for kind in site.types[:8])
        return cls(num_places(site.types), "nodes", f"given: {said}{', ...' * (len(site.types) > 8)}")

    def __str__(self) -> str:
        unit = self.unit if self.size != 1 else self.unit.removesuffix("s")
        return f"{self.size} {unit} ({self.told_by})"


@dataclass(frozen=True, slots=True, eq=False)
class JobLog:
    """The jobs of a log that can be replayed, in order of submission; arrays are read-only, one row a job."""

    source: str  #: name of the file, without its folder
    sha256: str  #: of the file as it lies on disk, in hexadecimal
    header: Mapping[str, str]  #: of a log with comments, by key
    machine: MachineSize
    epoch: float | None  #: Unix time of second 0 of the log, if it tells that
    timezone: str  #: of times without one; empty if all have one
    names: tuple[str, ...]  #: distinct
    users: tuple[str | None, ...]
    submits: FloatArray  #: seconds, as are the next four
    starts: FloatArray  #: as recorded; NaN if unknown
    ends: FloatArray  #: as recorded; NaN if unknown
    runs: FloatArray  #: above 0
    limits: FloatArray  #: NaN if unknown
    nodes: IntArray  #: in the unit of the machine
    options: LogOptions
    report: CleaningReport
    asked: AskedJobs = field(default_factory=AskedJobs)  #: what `LogFields` asked for
    #: Jobs that had a part of a node (or GPU) only, where sizes count such parts.
    sharing: int = 0
    #: Jobs of which nothing tells whether they had whole nodes, where sizes count parts of these.
    may_share: int = 0
    #: Processors of a node, as jobs on several nodes tell; 0 if they do not.
    per_node: int = 0

    @property
    def num_nodes(self) -> int:
        """Size of the machine, in its unit."""
        return self.machine.size or 0


def log_problem(
    log: JobLog,
    *,
    from_job: int = 1,
    jobs: int | None = None,
    origin: str = "first",
    warm_up: float = 0,
    cool_down: float = 0,
    closed: Iterable[ClosedWindow] = (),
) -> WorkloadProblem:
    """Return the workload of a log, or of a window of it.

    ``meta`` tells log, window and cleaning, and as ``unix_time`` when second 0 is, if the log tells that.

    Parameters
    ----------
    from_job, jobs
        The first job of the window (its position, from 1, among the kept jobs in order of submission), and
        how many; by default all.
    origin
        Second 0 is the submission of the window's ``first`` job, or that of the ``header``: times stay as
        they are in the log.
    warm_up, cool_down
        Jobs submitted less than so many seconds after the first of the window, or before the last, get the
        weight 0: they run, but do not count.
    closed
        When a part of the machine is closed, in seconds of the workload: see `closed_window`, `time_origin`.

    Raises
    ------
    InvalidProblem
        If a window closes what there is not.
    InvalidOption
        If the window is empty or reaches out of the log, or an option is out of range.
    """
    choice("origin", origin, ORIGINS)
    for name, seconds in (("warm_up", warm_up), ("cool_down", cool_down)):
        if not 0 <= seconds <= MAX_INTEGER:
            raise InvalidOption(f"{name} {seconds} is not in 0..2^53")
    window = _window(log, from_job, jobs)
    submits = log.submits[window]
    zero = _zero(log, window, origin)
    counts = (submits >= submits[0] + warm_up) & (submits <= submits[-1] - cool_down)
    count = len(submits)
    whole = count == len(log.names)
    problem_meta = {**_meta(log, from_job, count), "origin": origin}
    if log.epoch is not None:
        problem_meta["unix_time"] = log.epoch + zero
    if log.timezone:
        problem_meta["timezone"] = log.timezone
    problem_meta |= {name: count for name, count in _sharing(log).items() if count}
    if warm_up or cool_down:
        problem_meta |= {"warm_up": warm_up, "cool_down": cool_down}
    columns = log.asked.columns(window, submits, zero)
    return WorkloadProblem(
        log.num_nodes,
        Jobs(
            submits - zero,
            columns.pop("nodes", log.nodes[window]),
            log.runs[window],
            log.limits[window],
            names=log.names[window],
            users=log.users[window],
            weight=counts.astype(np.float64),
            **columns,
        ),
        name=_stem(log) if whole else f"{_stem(log)}-from{from_job}-jobs{count}",
        meta=problem_meta,
        resources=log.options.fields.capacities,
        closed=closed,
        node_types=log.options.fields.site.types,
    )


def recorded_schedule(
    log: JobLog, *, from_job: int = 1, jobs: int | None = None, origin: str = "first"
) -> WorkloadSchedule:
    """Return the schedule that a log records, as an answer to the problem of the same options.

    It is what the log says, whether it keeps the rules or not. A job without a recorded start and end has no
    piece.

    Raises `FormatError` if the log tells no start of any job of the window.
    """
    window = _window(log, from_job, jobs)
    starts, ends = log.starts[window], log.ends[window]
    known = ~(np.isnan(starts) | np.isnan(ends))
    if not known.any():
        raise FormatError(log.source, ["it tells the start of no job: there is no recorded schedule"])
    zero = _zero(log, window, origin)
    offsets = np.concatenate([[0], np.cumsum(known)])
    where = _recorded_places(log, np.flatnonzero(known) + window.start)
    return WorkloadSchedule(
        offsets, starts[known] - zero, ends[known] - zero, log.nodes[window][known], *where
    )


def _recorded_places(log: JobLog, jobs: IntArray) -> tuple[IntArray, IntArray, IntArray] | tuple[()]:
    """Return where jobs ran, as `WorkloadSchedule` takes it, chunks spread evenly; nothing if not known."""
    if not log.asked.shapes:
        return ()
    ids = [log.asked.node_ids[job] or () for job in jobs.tolist()]
    if [*map(len, ids)] != log.nodes[jobs].tolist():
        return ()
    chunks = [log.asked.shapes[job].chunks for job in jobs.tolist()]
    pairs = zip(ids, chunks, strict=True)
    each = [have // len(mine) + (at < have % len(mine)) for mine, have in pairs for at in range(len(mine))]
    nodes = np.array([node for mine in ids for node in mine], dtype=np.int64)
    return np.cumsum([0, *map(len, ids)]), nodes, np.array(each, dtype=np.int64)


def swf_problem(
    log: JobLog, *, from_job: int = 1, jobs: int | None = None, queued: bool = False
) -> EvolutionProblem:
    """Return a window of a log as an evolution problem: each job is a rigid application of one step.

    Times with a fraction are rounded up, so that a job holds its nodes for every second that it began and is
    not released before it was submitted. Applications are named after jobs (``j17``); ``meta`` tells log,
    window and cleaning.

    Parameters
    ----------
    from_job, jobs
        As `log_problem` takes them; errors as there.
    queued
        Whether all jobs are released at 0; else at their submissions, counted from the window's first.
    """
    window = _window(log, from_job, jobs)
    sizes = log.nodes[window].tolist()
    submits, runs = (np.ceil(times[window]).astype(np.int64) for times in (log.submits, log.runs))
    count = len(submits)
    return EvolutionProblem(
        log.num_nodes,
        tuple(EvolutionProfile([step]) for step in zip(runs.tolist(), sizes, strict=True)),
        releases=() if queued else tuple((submits - submits[0]).tolist()),
        name=f"{_stem(log)}-from{from_job}-jobs{count}{'-queued' if queued else ''}",
        application_names=tuple(f"j{name}" if name[0].isdigit() else name for name in log.names[window]),
        meta={**_meta(log, from_job, count), "rounding": "ceil", "queued": queued},
    )


def _stem(log: JobLog) -> str:
    return log.source.removesuffix(".gz").rsplit(".", 1)[0]


def _meta(log: JobLog, from_job: int, count: int) -> dict[str, object]:
    """Return what problems tell of their log and their window."""
    return {
        "log": log.source,
        "sha256": log.sha256,
        "machine": str(log.machine),
        "limits": log.options.limits,
        "from_job": from_job,
        "jobs": count,
        "cleaning": {reason: number for reason, number in log.report.counts().items() if number},
    }


def _zero(log: JobLog, window: slice, origin: str) -> float:
    return float(log.submits[window][0]) if origin == "first" else 0.0


def _window(log: JobLog, from_job: int, jobs: int | None) -> slice:
    if not log.names:
        raise InvalidOption(f"{log.source}: none of its jobs can be used ({log.report})")
    last = len(log.names) if jobs is None else from_job - 1 + jobs
    if from_job < 1 or last < from_job or last > len(log.names):
        wanted = f"{from_job}..{last}" if last >= from_job else f"from {from_job} on"
        raise InvalidOption(f"jobs {wanted} of {log.source}: it has {len(log.names)} ({log.report})")
    return slice(from_job - 1, last)


class LogColumns(NamedTuple):
    """The job lines of a log that can be read, a row each; NaN where a time is unknown."""

    names: Sequence[str]
    submits: FloatArray  #: seconds, as are the next four
    starts: FloatArray
    ends: FloatArray
    runs: FloatArray
    limits: FloatArray
    nodes: FloatArray  #: 0 or less where unknown
    users: Sequence[str | None]
    cancelled: NDArray[np.bool_]
    repeats: NDArray[np.bool_]  #: lines of a job that another line sums up
    asked: FieldColumns = FieldColumns()


def cleaned(
    columns: LogColumns,
    machine: MachineSize,
    options: LogOptions,
    *,
    path: PathLike,
    sha256: str,
    header: Mapping[str, str],
    epoch: float | None,
    faults: Faults,
    timezone: str = "",
    dropped: Mapping[str, int] | None = None,
    changed: Mapping[str, NDArray[np.bool_] | int] | None = None,
    unusual: Mapping[str, int] | None = None,
    sharing: NDArray[np.bool_] | None = None,
    may_share: NDArray[np.bool_] | None = None,
    per_node: int = 0,
) -> JobLog:
    """Drop the jobs that cannot be replayed, sort the rest by submission, and count what was done.

    Raises `FormatError` if nothing tells the size of the machine, or there are faulty lines only and no size
    either. Arguments are called as in `JobLog`. Faults are lines that could not be read; dropped, changed and
    unusual is what the reader has counted already: lines; rows of `columns` that differ from the log, by mask
    (of these, the rows that are kept count) or by number; lines. Rows that are `sharing` had a part of a
    node only, where sizes count such parts, and others may have had.
    """
    if machine.size is None:
        if not columns.names and faults.texts:
            raise FormatError(str(path), faults.texts)
        if not columns.names and not dropped:
            raise FormatError(str(path), ["has no job lines"])
        hint = _size_hint(columns, machine.unit)
        raise FormatError(str(path), [f"nothing in it tells the size of the machine: {hint}"])
    counts = {"faulty": faults.count, **(dropped or {})}
    lines = sum(counts.values()) + len(columns.names)
    rows = np.arange(len(columns.names))
    unknown_run = ~(columns.runs > 0)
    reasons = {
        "partial": columns.repeats,
        "no_submit": np.isnan(columns.submits),
        "cancelled": columns.cancelled & unknown_run,
        "unfinished": np.isnan(columns.runs) & ~np.isnan(columns.starts),
        "no_run_time": unknown_run,
        "no_size": columns.nodes <= 0,
        "too_large": (columns.nodes > machine.size) | columns.asked.too_large(columns.nodes),
    }
    for reason, mask in reasons.items():
        counts[reason] = int(mask[rows].sum())
        rows = rows[~mask[rows]]
    names, rows, repeated, requeued = _distinct(columns, rows)
    counts["duplicates"] = repeated
    unsorted = int((np.diff(columns.submits[rows]) < 0).sum())
    order = np.argsort(columns.submits[rows], kind="stable")
    rows, names = rows[order], [names[at] for at in order.tolist()]
    runs, limits = columns.runs[rows], columns.limits[rows]
    short = limits < runs
    raises, cuts = options.limits == "at-least-run", options.limits == "cut"
    at_rows = {
        reason: int(rows_of[rows].sum()) if isinstance(rows_of, np.ndarray) else rows_of
        for reason, rows_of in (changed or {}).items()
    }
    starts = columns.starts[rows]
    asked, asked_counts = columns.asked.at(rows, columns.nodes[rows], columns.submits[rows], starts)
    report = CleaningReport(
        lines + sum(at_rows.get(reason, 0) for reason in JOINED),
        counts,
        {
            "no_limit": int(np.isnan(limits).sum()),
            "above_limit": int(short.sum()) if options.limits == "keep" else 0,
            "unsorted": unsorted,
            "no_recorded_start": int(np.isnan(starts).sum()),
            "starts_early": int((starts < columns.submits[rows]).sum()),
            "other_span": int((np.abs(columns.ends[rows] - starts - runs) >= 1).sum()),
            **(unusual or {}),
            **asked_counts,
        },
        tuple(faults.texts),
        {
            **at_rows,
            "raised_limit": int(short.sum()) if raises else 0,
            "cut_at_limit": int(short.sum()) if cuts else 0,
            "requeued": requeued,
        },
    )
    return JobLog(
        source=Path(path).name,
        sha256=sha256,
        header=header,
        machine=machine,
        epoch=epoch,
        timezone=timezone,
        names=tuple(names),
        users=tuple([columns.users[row] for row in rows.tolist()]),
        submits=frozen(columns.submits[rows]),
        starts=frozen(starts),
        ends=frozen(np.where(short & cuts, starts + limits, columns.ends[rows])),
        runs=frozen(np.where(short & cuts, limits, runs)),
        limits=frozen(np.where(short, runs, limits) if raises else limits),
        nodes=frozen(columns.nodes[rows].astype(np.int64)),
        options=options,
        report=report,
        asked=asked,
        sharing=0 if sharing is None else int(sharing[rows].sum()),
        may_share=0 if may_share is None else int(may_share[rows].sum()),
        per_node=per_node,
    )


def _distinct(columns: LogColumns, rows: IntArray) -> tuple[list[str], IntArray, int, int]:
    """Return names and rows without duplicates, how many those are, and how many runs were renamed.

    A further line of a name is another run of a job that was queued again if it shares no time with those
    above; otherwise it is a duplicate.
    """
    names = [columns.names[row] for row in rows.tolist()]
    if len(set(names)) == len(names):
        return names, rows, 0, 0
    names.clear()
    runs_of: dict[str, list[tuple[float, float]]] = {}
    distinct: list[int] = []
    taken = set(columns.names)
    repeated = requeued = 0
    for row in rows.tolist():
        name = columns.names[row]
        span = float(columns.starts[row]), float(columns.ends[row])
        others = runs_of.setdefault(name, [])
        if others:
            at = bisect.bisect(others, span)
            neighbours = others[max(at - 1, 0) : at + 1]
            if not all(span[0] >= end or span[1] <= start for start, end in neighbours):
                repeated += 1
                continue
            requeued += 1
            name = f"{name}#{len(others) + 1}"
            while name in taken:
                name += "'"
            taken.add(name)
        bisect.insort(others, span)
        names.append(name)
        distinct.append(row)
    return names, np.array(distinct, dtype=np.int64), repeated, requeued


def _size_hint(columns: LogColumns, unit: str) -> str:
    """Return what a user can make of a log without a size of the machine."""
    given = f"give the number of {unit}"
    ran = ~np.isnan(columns.starts) & (columns.ends > columns.starts) & (columns.nodes > 0)
    if not ran.any():
        return given
    times = np.concatenate([columns.ends[ran], columns.starts[ran]])  # ends come first at one time
    change = np.concatenate([-columns.nodes[ran], columns.nodes[ran]])
    peak = int(np.cumsum(change[np.argsort(times, kind="stable")]).max())
    return f"{given} (jobs held up to {peak} at a time)"


def nodes_not_modelled(meta: Mapping[str, object]) -> str:
    """Return what a problem cannot say since its jobs share nodes, by its meta; empty if none do.

    Where sizes count processors or GPUs, a schedule finds room that is spread over nodes where a machine
    would not: figures of policies are those of another machine; bounds hold for this one.
    """
    for count, had, find in zip(sharing_of(meta), ("had", "may have had"), ("find", "may find"), strict=True):
        if count:
            return (
                f"Nodes not modelled: {count:,} {'job' if count == 1 else 'jobs'} {had} a part of a node or "
                f"GPU only, and such parts are counted wherever they are. Policies {find} room here that the "
                "machine has not; the bounds hold for it, too."
            )
    return ""


def sharing_of(meta: Mapping[str, object]) -> tuple[int, int]:
    """Return how many jobs of a problem share nodes, and how many may, by its meta."""
    counts = (meta.get(name) for name in (_SHARED, _MAY_SHARE))
    sharing, may_share = (count if isinstance(count, int) and count > 0 else 0 for count in counts)
    return sharing, may_share


def log_not_modelled(log: JobLog) -> str:
    """Return what schedules of a log cannot say since its jobs share nodes; see `nodes_not_modelled`."""
    return nodes_not_modelled(_sharing(log))


def _sharing(log: JobLog) -> dict[str, int]:
    """Return how many jobs of a log share nodes, as the meta of its problem tells it."""
    return {_SHARED: log.sharing, _MAY_SHARE: log.may_share}


def shared_advice(log: JobLog) -> str | None:
    """Return what to know about jobs that had a part of a node or GPU only; None if there is none."""
    count = log.report.changed.get("part_of_a_node", 0)
    if not count:
        return log_not_modelled(log) or None
    unit = log.machine.unit
    one = {"nodes": "node", "gpus": "GPU"}[unit]
    return (
        f"Jobs that had a part of a {one} only: {count:,}. Here they count as whole {one}s, so the machine "
        f"looks smaller than it is, and bounds are too high for it. If jobs share {one}s, "
        f"--unit {PARTS[unit]} tells more (--nodes, too)."
    )
