"""Options of imports that take the machine as it is: resources, partitions, priorities, closed windows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve import instances
from allocsolve.cli import options as opt
from allocsolve.errors import InvalidOption
from allocsolve.pictures.chart import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Mapping, Sequence

    from allocsolve.instances import EventWindows, JobLog, NodeEvents
    from allocsolve.model import ClosedWindow, WorkloadProblem, WorkloadSchedule


def add_machine_options(parser: argparse.ArgumentParser, fields: Collection[str]) -> None:
    """Add what can be asked of a format whose logs tell these fields of jobs."""
    add_field_options(parser, fields)
    help_text = (
        "a time in which a part of the machine is closed, as 2022-11-08T08:00+8h,nodes=50 or START/END; "
        "may be given several times"
    )
    parser.add_argument("--closed", action="append", default=[], metavar="WINDOW", help=help_text)
    add_events(parser)


def add_field_options(parser: argparse.ArgumentParser, fields: Collection[str]) -> None:
    """Add what can be asked of jobs beside nodes and times, of a log that tells these fields."""
    parser.set_defaults(resources={}, partitions={}, eligible=False, priority_age=None)
    if "needs" in fields:
        help_text = "counted resources and how much there is of each, such as gpus=32 (default: none)"
        parser.add_argument("--resources", type=opt.amounts, metavar="NAME=N,...", help=help_text)
    if "partition" in fields:
        help_text = "partitions and how many nodes the jobs of each hold at most at once (default: none)"
        parser.add_argument("--partitions", type=opt.amounts, metavar="NAME=N,...", help=help_text)
    if "eligible" in fields:
        help_text = "jobs start not before they were eligible (default: not before their submission)"
        parser.add_argument("--eligible", action="store_true", help=help_text)
    if "priority" in fields:
        help_text = "make head starts of priorities: PriorityWeightAge and PriorityMaxAge in days, as 1000,7"
        parser.add_argument("--priority-age", type=opt.priority_age, metavar="WEIGHT,DAYS", help=help_text)


def add_events(parser: argparse.ArgumentParser) -> None:
    """Add the file of times in which nodes were down."""
    help_text = (
        "close nodes while they are down, drained or reserved: what sacctmgr -P show event or "
        "scontrol show reservation printed"
    )
    parser.add_argument("--events", type=Path, metavar="FILE", help=help_text)


def asked_fields(args: argparse.Namespace, **more: bool) -> instances.LogFields:
    """Return what is to be read of a log beside plain jobs; `more` are further fields of `LogFields`."""
    return instances.LogFields(args.resources, args.partitions, args.eligible, args.priority_age, **more)


class ClosedParts(NamedTuple):
    """What is closed of a machine, and what is to be said about it."""

    windows: tuple[ClosedWindow, ...]
    lines: tuple[str, ...]


def closed_parts(args: argparse.Namespace, log: JobLog, windows_given: Sequence[str]) -> ClosedParts:
    """Return these windows and those of ``--events``, in seconds of the workload of a log."""
    if not log.names or not (windows_given or args.events):
        return ClosedParts((), ())
    origin = instances.time_origin(log, timezone=args.timezone, from_job=args.from_job, origin=args.origin)
    windows = [instances.closed_window(text, origin) for text in windows_given]
    lines: list[str] = []
    if args.events:
        events = instances.read_node_events(args.events, timezone=args.timezone)
        found = instances.event_windows(
            events,
            origin,
            until=_last(log) - origin.zero,
            there={"nodes": log.num_nodes, **dict(log.options.fields.resources)},
            unit=log.machine.unit,
        )
        if events.events and not found.windows:
            what = f"none of its {len(events.events)} events closes a node in the time of the log"
            raise InvalidOption(f"--events {args.events}: {what}")
        windows += found.windows
        told = {"outside the time of the log": found.outside, "still open, closed to its end": found.open}
        lines += event_remarks(events, found, told)
    return ClosedParts(tuple(windows), tuple(lines))


def event_remarks(events: NodeEvents, found: EventWindows, told: Mapping[str, int]) -> list[str]:
    """Return what is said of events and of what they close, in lines.

    `told` says how many of the events are something, by what they are; zeros are left out.
    """
    others = {**told, "that close nothing": events.others}
    counts = "".join(f", {count} {what}" for what, count in others.items() if count)
    made = f"{counted(found.nodes, 'node')}, {counted(len(found.windows), 'window')}"
    lines = [f"{events.source}: {counted(len(events.events), 'event')}{counts}; {made}"]
    if found.cut:
        what = f"at times {found.cut} more nodes were down than the machine has"
        lines.append(f"{what}: all of it is closed then")
    return lines


def _last(log: JobLog) -> float:
    """Return the last time that a log tells."""
    return float(np.nanmax(np.concatenate([log.ends, log.submits])))


def ran_line(problem: WorkloadProblem, schedule: WorkloadSchedule) -> str | None:
    """Return how many recorded jobs ran where the machine is closed, in one line; None if none did."""
    count = instances.ran_while_closed(problem, schedule)
    if not count:
        return None
    when = "when more was in use than the closed windows leave: the machine was not closed then"
    return f"{counted(count, 'recorded job')} ran {when}"
