"""Parts of a machine that are closed, by windows and events, and what is said about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve import instances
from allocsolve.errors import InvalidOption
from allocsolve.pictures.chart import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.instances import EventWindows, JobLog, NodeEvents
    from allocsolve.instances.formats.files import PathLike
    from allocsolve.model import ClosedWindow, WorkloadProblem, WorkloadSchedule


class ClosedParts(NamedTuple):
    """What is closed of a machine, and what is to be said about it."""

    windows: tuple[ClosedWindow, ...]
    lines: tuple[str, ...]


def closed_parts(
    log: JobLog,
    given: Sequence[str] = (),
    *,
    events_file: PathLike | None = None,
    timezone: str = "UTC",
    from_job: int = 1,
    origin: str = "first",
) -> ClosedParts:
    """Return these windows and those of a file of events, in seconds of the workload of a log.

    Raises `InvalidOption` if a text says no window, or no event of the file closes a node.
    """
    if not log.names or not (given or events_file):
        return ClosedParts((), ())
    begin = instances.time_origin(log, timezone=timezone, from_job=from_job, origin=origin)
    windows = [instances.closed_window(text, begin) for text in given]
    lines: list[str] = []
    site = log.options.fields.site
    if events_file:
        events = instances.read_node_events(events_file, timezone=timezone)
        found = instances.event_windows(
            events,
            begin,
            until=_last(log) - begin.zero,
            there={"nodes": log.num_nodes, **dict(log.options.fields.resources)},
            unit=log.machine.unit,
            ids=site.ids if site.types else None,
        )
        if events.events and not found.windows:
            what = f"none of its {len(events.events)} events closes a node in the time of the log"
            raise InvalidOption(f"--events {events_file}: {what}")
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
    if found.unknown:
        lines.append(f"left out: {counted(found.unknown, 'node')} that the machine does not have")
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
