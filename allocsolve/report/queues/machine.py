"""The machine and the queue of `when` as a policy finds them: sizes, partitions, windows, parts of jobs."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.instances import LogFields, TimeOrigin, closed_window, event_windows, read_node_events
from allocsolve.instances.formats.logs.held import place_columns
from allocsolve.instances.formats.logs.squeue_reasons import MAINTENANCE
from allocsolve.model.machine import NODES
from allocsolve.report.closed import event_remarks
from allocsolve.simulation import QueueSnapshot
from allocsolve.simulation.node_table import seated, spread_evenly

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.instances import QueueListing, SiteNodes
    from allocsolve.instances.formats.files import PathLike
    from allocsolve.instances.formats.logs.fields import PlaceColumns
    from allocsolve.instances.formats.logs.squeue import QueuedJob, RunningJob
    from allocsolve.model import ClosedWindow, FloatArray, NodeType
    from allocsolve.simulation.node_choice import NodeChoice
    from allocsolve.simulation.node_table import Seats

#: What lasts without an end is taken to last so long, in seconds.
_FOR_EVER_S = 10 * 365 * 86_400


class QueuePlaces(NamedTuple):
    """Nodes that are places, and what jobs of a queue hold on them."""

    types: tuple[NodeType, ...]
    running: PlaceColumns
    queued: PlaceColumns

    @classmethod
    def of(cls, site: SiteNodes, listing: QueueListing, queued: Sequence[QueuedJob]) -> QueuePlaces:
        """Return those of a listing, and of these jobs that wait."""

        def columns(
            jobs: Sequence[QueuedJob] | Sequence[RunningJob], lists: list[str | None]
        ) -> PlaceColumns:
            told = [getattr(job, "partition", "|".join(getattr(job, "partitions", ()))) for job in jobs]
            return place_columns(
                site,
                np.array([job.nodes for job in jobs], dtype=np.float64),
                np.array([job.processors for job in jobs], dtype=np.float64),
                [job.amounts for job in jobs],
                [partition or None for partition in told],
                lists,
            )

        running = listing.running
        lists: list[str | None] = [job.node_list for job in running]
        return cls(site.types, columns(running, lists), columns(queued, [None] * len(queued)))

    def seats(self, running: Sequence[RunningJob], choice: NodeChoice) -> Seats:
        """Return where running jobs are; if the queue does not say it, where a rule of choice puts them."""
        by_start = np.argsort([job.start for job in running], kind="stable")
        shapes = [self.running.shapes[job] for job in by_start.tolist()]
        ids = [self.running.node_ids[job] for job in by_start.tolist()]
        told = [spread_evenly(mine, shape.chunks) for mine, shape in zip(ids, shapes, strict=True)]
        seats = seated(self.types, shapes, told, choice)
        return seats._replace(jobs=by_start[seats.jobs])


class Machine(NamedTuple):
    """The machine: how much there is of what jobs need, and when it is not there."""

    size: int
    unit: str
    #: How much the jobs of each partition hold at most at once.
    partitions: Mapping[str, int]
    windows: tuple[ClosedWindow, ...]
    #: How much is closed and no end is told.
    down: int
    #: What is to be said about it.
    lines: tuple[str, ...]
    places: QueuePlaces | None = None

    def needs(self, job: QueuedJob | RunningJob) -> int:
        """Return how much of it a job needs."""
        return job.processors if self.unit == "processors" else job.nodes

    def partition(self, partitions: Sequence[str]) -> str | None:
        """Return which partition limits a job that may start in any of these; None if none does."""
        if not partitions or any(name not in self.partitions for name in partitions):
            return None
        return max(partitions, key=lambda name: self.partitions[name])


class MachineOptions(NamedTuple):
    """What is said of a machine beside its size."""

    partitions: Mapping[str, int] = MappingProxyType({})
    closed: Sequence[str] = ()
    events: PathLike | None = None
    timezone: str = "UTC"


def machine_of(options: MachineOptions, listing: QueueListing, now: float, size: int, unit: str) -> Machine:
    """Return the machine that options name, of nodes that are counted.

    Raises `InvalidOption, FormatError` if a window is none, has passed, or closes what there is not; or if
    the events cannot be read.
    """
    partitions = dict(LogFields(partitions=options.partitions).partitions)
    used = {name for job in listing.queued for name in job.partitions}
    used |= {job.partition for job in listing.running}
    lines = [f"no job is in the partition {name}" for name in partitions if name not in used]
    origin = TimeOrigin(0.0, 0.0, options.timezone)
    windows = [closed_window(text, origin) for text in options.closed]
    for text, window in zip(options.closed, windows, strict=True):
        if window.end <= now:
            raise InvalidOption(f"closed window {text[:60]!r}: it ends before the queue was printed")
        for name, amount in dict(window.amounts).items():
            there = {NODES: size, **partitions}
            if amount > there.get(name, 0):
                msg = f"closed window {text[:60]!r}: closes {amount} {name} of {there.get(name, 0)}"
                raise InvalidOption(msg)
    down = 0
    if options.events:
        events = read_node_events(options.events, timezone=options.timezone)
        to_come = [event for event in events.events if event.end > now]
        found = event_windows(
            events._replace(events=tuple(to_come)),
            origin,
            until=now + _FOR_EVER_S,
            there={NODES: size},
            unit=unit,
        )
        windows += found.windows
        down = max(
            (dict(window.amounts)[NODES] for window in found.windows if window.end == now + _FOR_EVER_S),
            default=0,
        )
        told = {"over": len(events.events) - len(to_come), "without an end": found.open}
        lines += event_remarks(events, found, told)
    return Machine(size, unit, partitions, tuple(windows), down, tuple(lines))


class Unit(NamedTuple):
    """What starts at once: a job, or the parts of a heterogeneous one."""

    members: tuple[int, ...]  #: indices of the jobs
    nodes: int
    limit: float  #: the longest; NaN if one has none
    submit: float
    eligible: float  #: NaN if nothing says so
    needs: Mapping[str, int]  #: by partition


def blocks_of(jobs: Sequence[QueuedJob], machine: Machine) -> list[str]:
    """Return what keeps each job from starting for certain; empty texts for those that wait in line."""
    ends = MAINTENANCE.block if machine.windows else None  # what windows tell the end of
    blocks = [(job.block if job.block != ends else "") or _too_large(job, machine) for job in jobs]
    if machine.places is not None:
        large = machine.places.queued.too_large
        blocks = [block or ("fits no nodes" if large[idx] else "") for idx, block in enumerate(blocks)]
    wholes: dict[str, list[int]] = {}
    for idx, job in enumerate(jobs):
        wholes.setdefault(job.whole, []).append(idx)
    for members in wholes.values():
        if len(members) == 1:
            continue
        stuck = next((idx for idx in members if blocks[idx]), None)
        total = sum(machine.needs(jobs[idx]) for idx in members)
        if stuck is None and machine.places is not None:
            for idx in members:
                blocks[idx] = "its parts hold unlike chunks, which are not modelled"
            continue
        why = "" if stuck is None else f"waits for its part {jobs[stuck].name}"
        needs = _needs([(jobs[idx].partitions, machine.needs(jobs[idx])) for idx in members], machine)
        over = [name for name, amount in needs.items() if amount > machine.partitions[name]]
        if not why and total > machine.size - machine.down:
            why = f"its parts ask for {_of(total, machine)}"
        elif not why and over:
            there = machine.partitions[over[0]]
            why = f"its parts ask for {needs[over[0]]} of {there} {machine.unit} of {over[0]}"
        for idx in members:
            blocks[idx] = blocks[idx] or why
    return blocks


def _too_large(job: QueuedJob, machine: Machine) -> str:
    need = machine.needs(job)
    if need > machine.size - machine.down:
        return f"asks for {_of(need, machine)}"
    partition = machine.partition(job.partitions)
    if partition is not None and need > machine.partitions[partition]:
        return f"asks for {need} of {machine.partitions[partition]} {machine.unit} of {partition}"
    return ""


def _of(need: int, machine: Machine) -> str:
    up = f" that are up, {machine.down} are not" if machine.down else ""
    return f"{need} of {machine.size - machine.down} {machine.unit}{up}"


def units_of(jobs: Sequence[QueuedJob], blocks: Sequence[str], machine: Machine) -> list[Unit]:
    """Return what waits in line, in the order in which it is served; parts at the place of the first one."""
    wholes: dict[str, list[int]] = {}
    for idx, job in enumerate(jobs):
        if not blocks[idx]:
            wholes.setdefault(job.whole, []).append(idx)
    return [
        Unit(
            tuple(members),
            sum(machine.needs(jobs[idx]) for idx in members),
            float(np.max([jobs[idx].limit for idx in members])),
            min(jobs[idx].submit for idx in members),
            float(np.fmax.reduce([jobs[idx].eligible for idx in members])),
            _needs([(jobs[idx].partitions, machine.needs(jobs[idx])) for idx in members], machine),
        )
        for members in wholes.values()
    ]


def _needs(parts: Sequence[tuple[Sequence[str], int]], machine: Machine) -> dict[str, int]:
    """Return what is needed by partition."""
    needs: dict[str, int] = {}
    for partitions, amount in parts:
        name = machine.partition(partitions)
        if name is not None:
            needs[name] = needs.get(name, 0) + amount
    return needs


def snapshot_of(
    listing: QueueListing,
    units: Sequence[Unit],
    machine: Machine,
    limits: Sequence[float],
    now: float,
    seats: Seats | None = None,
) -> QueueSnapshot:
    """Return the queue as the policy finds it; a limit that is not known is the longest one that is.

    Where nodes are places, running jobs have `seats`; those that have none are left out.

    Raises `InvalidOption` if no limit is known, or running jobs hold more than there is. `limits` are known
    beside those of the listing, in seconds.
    """
    told = [job.limit for job in listing.running] + [job.limit for job in listing.queued]
    told += [unit.limit for unit in units]
    known = [limit for limit in told if not math.isnan(limit)]
    longest = max([*known, *limits], default=math.nan)
    if math.isnan(longest) and (units or listing.running):
        raise InvalidOption(f"{listing.source}: no job in it has a time limit, and there is no log")

    def known_limits(listed: Sequence[Unit] | Sequence[RunningJob]) -> FloatArray:
        return np.array([longest if math.isnan(job.limit) else job.limit for job in listed])

    held = np.array([machine.needs(job) for job in listing.running], dtype=np.int64)
    if machine.places is None and held.sum() > machine.size:
        msg = (
            f"{listing.source}: running jobs hold {held.sum()} {machine.unit} of a machine of {machine.size}"
        )
        raise InvalidOption(f"{msg}: --nodes gives its size in {machine.unit}")
    running_needs = [_needs([([job.partition], machine.needs(job))], machine) for job in listing.running]
    for name, size in machine.partitions.items():
        total = sum(needs.get(name, 0) for needs in running_needs)
        if total > size:
            msg = f"{listing.source}: running jobs hold {total} {machine.unit} of {name}, which has {size}"
            raise InvalidOption(f"{msg}: --partitions gives their sizes")
    submits = np.array([min(unit.submit, now) for unit in units])
    eligible = np.array([unit.eligible for unit in units])
    begun = np.array([min(job.start, now) for job in listing.running])
    running = held, begun, known_limits(listing.running)
    nodes = np.array([unit.nodes for unit in units], dtype=np.int64)
    more: dict[str, Any] = {
        "closed": machine.windows,
        "resources": machine.partitions,
        "running_needs": tuple(running_needs),
        "needs": tuple(unit.needs for unit in units),
    }
    if machine.places is not None and seats is not None:
        shapes = [machine.places.running.shapes[job] for job in seats.jobs.tolist()]
        waiting = [machine.places.queued.shapes[unit.members[0]] for unit in units]
        least = [
            np.array([shape.least_nodes for shape in each], dtype=np.int64) for each in (shapes, waiting)
        ]
        running, nodes = (least[0], running[1][seats.jobs], running[2][seats.jobs]), least[1]
        more = {
            "node_types": machine.places.types,
            "running_shapes": tuple(shape.fields() for shape in shapes),
            "shapes": tuple(shape.fields() for shape in waiting),
            "running_places": seats.places,
        }
    return QueueSnapshot(
        machine.size,
        now,
        *running,
        nodes,
        submits,
        known_limits(units),
        np.where(np.isnan(eligible), submits, eligible),
        **more,
    )
