"""When nodes are down, drained or reserved, as Slurm prints it, and the windows made of it.

Events are read as ``sacctmgr show event`` prints them: in columns of fixed width, the default, and with ``|``
between the cells (``-p``, ``--parsable2``). The line of the names of the columns must be there. A line with a
fault is not left out, as the machine would then be another one: the file is refused.

Reservations are read as ``scontrol show reservation`` prints them. A record begins with ``ReservationName=``
and lasts for one line or several (``-o`` prints one). Who may use a reservation is not told apart: its nodes
are closed to the queue. One without nodes, such as of licences, closes nothing. Of one that is repeated only
the next time is printed.

Source: the pages sacctmgr, sinfo and scontrol of Slurm's documentation.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.errors import FormatError, InvalidOption
from allocsolve.instances.formats.files import read_whole, show
from allocsolve.instances.formats.logs.fields import read_needs, tres_needs
from allocsolve.instances.formats.logs.lines import BYTE_ORDER_MARK
from allocsolve.instances.formats.logs.slurm import tres_count
from allocsolve.instances.formats.logs.times import Clock, zone
from allocsolve.instances.formats.networks.hostlist import host_names
from allocsolve.model import NODES, ClosedWindow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from allocsolve.instances.formats.files import PathLike
    from allocsolve.instances.formats.logs.windows import TimeOrigin

_FIELD: Final = re.compile(r"(\w+)=(\S*)", re.ASCII)
_BEGIN: Final = "ReservationName="
_NONE: Final = "No reservations in the system"
_RESERVED: Final = ("StartTime", "EndTime", "Nodes")
_AMOUNT: Final = re.compile(r"([^=,\s]+)=(\d{1,15})(?=,|$)", re.ASCII)
#: What stands in place of nodes if there are none.
_NOTHING: Final = frozenset({"", "(null)"})


def is_reservations(text: str) -> bool:
    """Tell whether a text is what ``scontrol show reservation`` prints."""
    return text.lstrip().startswith((_BEGIN, _NONE))


def reservation_rows(text: str, source: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the number of the line and the cells of each event that the reservations are, see `node_events`.

    Raises `FormatError` if a field that says when or where is missing, or what there is is no reservation.
    """
    line = 1
    for record in re.split(rf"^(?=\s*{_BEGIN})", text, flags=re.MULTILINE):
        listed = _FIELD.findall(record)
        fields = dict(listed)
        at = line + record[: len(record) - len(record.lstrip())].count("\n")
        line += record.count("\n")
        if record.strip().startswith(_NONE) or not record.strip():
            continue
        missing = [name for name in _RESERVED if name not in fields]
        if missing:
            raise FormatError(source, [f"line {at}: a reservation without {', '.join(missing)}"])
        names = [name for name, _ in listed]
        twice = [name for name in _RESERVED if names.count(name) > 1]
        if twice:
            raise FormatError(source, [f"line {at}: {twice[0]} stands there twice"])
        try:
            nodes = [] if fields["Nodes"] in _NOTHING else host_names(fields["Nodes"])
        except ValueError as fault:
            raise FormatError(source, [f"line {at}: {fault}"]) from None
        cells = {
            "timestart": fields["StartTime"],
            "timeend": fields["EndTime"],
            "state": "MAINT",
            "reason": fields["ReservationName"],
        }
        first, others = _shares(fields.get("TRES", ""), len(nodes))
        apart = 1 if nodes[1:] and first != others else len(nodes)  # the first node has what is left over
        yield at, {**cells, "nodename": ",".join(nodes[:apart]), "tres": first}
        if nodes[apart:]:
            yield at, {**cells, "nodename": ",".join(nodes[apart:]), "tres": others}


def _shares(tres: str, nodes: int) -> tuple[str, str]:
    """Return what the first node and each other one has of what all have: equal parts, and the rest."""
    first, others = [], []
    for name, number in _AMOUNT.findall(tres):
        each, rest = divmod(int(number), max(nodes, 1))
        first.append(f"{name}={each + rest}")
        others.append(f"{name}={each}")
    return ",".join(first), ",".join(others)


#: How to print what is read.
_HOW: Final = (
    "print it with sacctmgr -P show event start=DATE format=NodeName,TimeStart,TimeEnd,State,Reason,TRES, "
    "or with scontrol show reservation"
)
#: Columns without which there are no windows.
_NEEDED: Final = ("nodename", "timestart", "timeend", "state")
#: What older versions call them.
_OLDER: Final = {"start": "timestart", "end": "timeend"}
_DASHES: Final = re.compile(r"-+(?: +-+)*")
_STATE: Final = re.compile(r"[A-Z_+*$~#!%@^.\- ]{1,60}", re.ASCII)
#: Parts of states in which a node takes no job; others, such as that of a node which sleeps, are left out.
_CLOSED: Final = re.compile(r"DOWN(?!_)|DRAIN|DRNG|FAIL|MAINT|REBOOT|BOOT|ERROR|NO_RESP", re.ASCII)
_SLEEPS: Final = re.compile(r"POWER|POW_", re.ASCII)
#: What is printed in place of an end that is not there yet.
_OPEN: Final = frozenset({"", "unknown", "none", "n/a"})
_MAX_EVENTS: Final = 1_000_000


class NodeEvent(NamedTuple):
    """A time in which nodes took no jobs."""

    nodes: tuple[str, ...]  #: names
    start: float  #: Unix seconds
    end: float  #: Unix seconds; infinite while it lasts
    state: str
    reason: str
    tres: str  #: what each node has, such as ``cpu=8,gres/gpu=4``; empty if it is not told


class NodeEvents(NamedTuple):
    """What ``sacctmgr show event`` or ``scontrol show reservation`` has printed."""

    source: str
    events: tuple[NodeEvent, ...]
    others: int  #: events of the cluster, and of nodes that were not closed


def read_node_events(path: PathLike, *, timezone: str = "UTC") -> NodeEvents:
    """Read what ``sacctmgr show event`` has printed, in columns or with ``|`` between the cells.

    What ``scontrol show reservation`` prints is read, too: nodes are closed while they are reserved.

    Raises `FormatError` if it cannot be read, or an event cannot; the message names the lines and the values.

    Parameters
    ----------
    timezone
        Of its times, such as ``Europe/Berlin``.
    """
    source = str(path)
    clock = Clock(zone(timezone))
    text = read_whole(path).decode("utf-8", "replace").removeprefix(BYTE_ORDER_MARK)
    events: list[NodeEvent] = []
    faults: list[str] = []
    others = 0
    rows = reservation_rows if is_reservations(text) else _rows
    for number, cells in rows(text, source):
        try:
            event = _event(cells, clock)
        except ValueError as fault:
            faults.append(f"line {number}: {fault}")
            continue
        if event is None:
            others += 1
        else:
            events.append(event)
        if len(events) > _MAX_EVENTS:
            raise FormatError(source, [f"has more than {_MAX_EVENTS:,} events: cut it before"])
    if faults:
        raise FormatError(source, faults)
    return NodeEvents(source, tuple(events), others)


def _rows(text: str, source: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the cells of each event by the names of their columns, in lower case."""
    lines = [(number, line.rstrip()) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise FormatError(source, ["is empty"])
    number, head = lines[0]
    spans: list[slice] | None = None
    if "|" not in head:
        if len(lines) < 2 or not _DASHES.fullmatch(lines[1][1].strip()):
            raise FormatError(source, [f"line {number}: {show(head[:40])} names no columns; {_HOW}"])
        spans = [slice(*match.span()) for match in re.finditer("-+", lines[1][1])]
    titles = [_OLDER.get(name.lower(), name.lower()) for name in _split(head, spans)]
    if titles and not titles[-1]:
        titles.pop()  # -p ends each line with a mark
    missing = [name for name in _NEEDED if name not in titles]
    if missing:
        raise FormatError(source, [f"line {number}: no column {', '.join(missing)}; {_HOW}"])
    heads = {head, lines[1][1] if spans is not None else head}  # again where files were joined
    for number, line in lines[1:]:
        if line in heads:
            continue
        cells = _split(line, spans)
        if len(cells) == len(titles) + 1 and not cells[-1]:
            cells.pop()
        more = len(cells) - len(titles)
        if more > 0 and spans is None and "reason" in titles:  # a reason may have the mark in it, too
            at = titles.index("reason")
            cells[at : at + more + 1] = ["|".join(cells[at : at + more + 1])]
        if len(cells) != len(titles):
            raise FormatError(source, [f"line {number}: {len(cells)} cells for {len(titles)} columns"])
        yield number, dict(zip(titles, cells, strict=True))


def _split(line: str, spans: Sequence[slice] | None) -> list[str]:
    if spans is None:
        return [cell.strip() for cell in line.split("|")]
    return [line[span].strip() for span in spans]


def _event(cells: Mapping[str, str], clock: Clock) -> NodeEvent | None:
    """Return an event; None if it is of the cluster, or of nodes that were not closed."""
    names, state = cells["nodename"], cells["state"].upper()
    start = _time(cells["timestart"], "TimeStart", clock)
    is_open = cells["timeend"].lower() in _OPEN or cells["timeend"].startswith(("1970-01-01", "0000-"))
    end = math.inf if is_open else _time(cells["timeend"], "TimeEnd", clock)
    if end < start:
        end = _time(cells["timeend"], "TimeEnd", clock, later=True)
    if end < start:
        raise ValueError(f"TimeEnd {cells['timeend'][:30]!r} is before TimeStart {cells['timestart'][:30]!r}")
    if not names:
        return None
    is_sure = _SLEEPS.search(state) or _CLOSED.search(state)
    tres = cells.get("tres", "")
    cut = next((cell for cell in (names, tres, "" if is_sure else state) if cell.endswith("+")), "")
    if cut:
        raise ValueError(f"{show(cut)} is cut off: {_HOW}")
    if not _STATE.fullmatch(state):
        raise ValueError(f"the state {show(cells['state'])} is none")
    tres_needs(tres), tres_count("cpu", tres)
    nodes = tuple(dict.fromkeys(host_names(names)))
    if not is_sure or _SLEEPS.search(state):
        return None
    return NodeEvent(nodes, start, end, state, cells.get("reason", ""), tres)


def _time(text: str, title: str, clock: Clock, *, later: bool = False) -> float:
    try:
        seconds = clock.read(text, later=later)
    except ValueError as fault:
        raise ValueError(f"{title} {fault}") from None
    if seconds is None:
        raise ValueError(f"{title} {text[:30]!r} is no time")
    return seconds


class EventWindows(NamedTuple):
    """What events close of a machine in the time of a workload."""

    windows: tuple[ClosedWindow, ...]
    nodes: int  #: different ones
    outside: int  #: events that lie before or after the workload
    open: int  #: events that last: they close to the end of the workload
    cut: int  #: nodes by which more were down at a time than the machine has; 0 if never
    unknown: int = 0  #: nodes that are none of the places of the machine


def event_windows(
    events: NodeEvents,
    origin: TimeOrigin,
    *,
    until: float,
    there: Mapping[str, int],
    unit: str = "nodes",
    ids: Mapping[str, int] | None = None,
) -> EventWindows:
    """Return the windows in which a part of a machine is closed since nodes were down or drained.

    Events of one node that overlap count once. Between two changes there is one window with the number of
    nodes; where nodes are places there is one for each span, with the nodes that are closed in it. O(events
    log events), times the nodes of an event.

    Raises `InvalidOption` if the log does not tell its date, events tell no processors although sizes count
    them, or nodes are places and have no names.

    Parameters
    ----------
    origin
        What second 0 of the workload is; the log must tell its date.
    until
        The end of the workload in its seconds: what lasts is closed up to there.
    there
        How much there is of each resource that is counted, nodes among them. What nodes have of others than
        nodes is known where the events tell ``TRES``.
    unit
        What sizes of jobs count: ``nodes``, or ``processors``, which ``TRES`` must tell then.
    ids
        The ids of nodes by name, where nodes are places.
    """
    if ids == {}:
        raise InvalidOption(f"{events.source}: names nodes, and --node-types has no names of nodes")
    if origin.epoch is None:
        msg = f"{events.source}: nothing tells on which date the log begins, so events have no place in it"
        raise InvalidOption(msg)
    spans: dict[str, list[tuple[float, float]]] = {}
    has: dict[str, dict[str, int]] = {}
    outside = lasting = 0
    for event in events.events:
        start = max(origin.seconds(event.start), 0.0)
        end = min(origin.seconds(event.end), until)
        if end <= start:
            outside += 1
            continue
        lasting += event.end == math.inf
        amounts = _amounts(event, unit, events.source) if ids is None else {}
        for node in event.nodes:
            spans.setdefault(node, []).append((start, end))
            has[node] = amounts
    if ids is not None:
        named = {ids[node]: _union(times) for node, times in spans.items() if node in ids}
        return EventWindows(_of_nodes(named), len(named), outside, lasting, 0, len(spans) - len(named))
    changes: dict[float, dict[str, int]] = {}
    for node, times in spans.items():
        for start, end in _union(times):
            for at, sign in ((start, 1), (end, -1)):
                change = changes.setdefault(at, {})
                for name, amount in has[node].items():
                    change[name] = change.get(name, 0) + sign * amount
    windows, cut = _windows(changes, there)
    return EventWindows(windows, len(spans), outside, lasting, cut)


def _amounts(event: NodeEvent, unit: str, source: str) -> dict[str, int]:
    """Return what is closed with each node of an event."""
    amounts = {name: count for name, count in read_needs(tres_needs(event.tres)) or () if count}
    amounts[NODES] = 1
    if unit != "nodes":
        cpus = tres_count("cpu", event.tres) if unit == "processors" else ""
        if not cpus or cpus == "0":
            msg = f"{source}: tells no {unit} of node {event.nodes[0]}, and sizes count them: print TRES, too"
            raise InvalidOption(msg)
        amounts[NODES] = int(cpus)
    return amounts


def _union(times: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return what spans cover together, as spans that do not touch."""
    covered: list[tuple[float, float]] = []
    for start, end in sorted(times):
        if covered and start <= covered[-1][1]:
            covered[-1] = covered[-1][0], max(covered[-1][1], end)
        else:
            covered.append((start, end))
    return covered


def _of_nodes(spans: Mapping[int, list[tuple[float, float]]]) -> tuple[ClosedWindow, ...]:
    """Return a window for each span in which nodes are closed, with their ids."""
    closed: dict[tuple[float, float], list[int]] = {}
    for node, times in spans.items():
        for span in times:
            closed.setdefault(span, []).append(node)
    return tuple(ClosedWindow(*span, node_ids=tuple(nodes)) for span, nodes in sorted(closed.items()))


def _windows(
    changes: Mapping[float, Mapping[str, int]], there: Mapping[str, int]
) -> tuple[tuple[ClosedWindow, ...], int]:
    """Return a window for each span in which the same is closed, and how much too many nodes are down."""
    closed = dict.fromkeys(there, 0)
    windows: list[ClosedWindow] = []
    cut = 0
    begin, amounts = 0.0, dict[str, int]()
    for at in sorted(changes):
        for name, change in changes[at].items():
            if name in closed:
                closed[name] += change
        now = {name: min(number, there[name]) for name, number in closed.items() if number > 0}
        cut = max(cut, closed[NODES] - there[NODES])
        if now == amounts:
            continue
        if amounts:
            windows.append(ClosedWindow(begin, at, amounts))
        begin, amounts = at, now
    return tuple(windows), cut
