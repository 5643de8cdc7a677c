"""Nodes that were closed: events of logs, reservations, windows of options."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from cli_tools import run
from fuzz_changes import WORDS, spoilt_words, with_changed_bytes
from hypothesis import given, strategies as st
from offenders import all_offenders

from allocsolve.errors import AllocsolveError, InvalidOption
from allocsolve.instances import (
    NodeEvent,
    NodeEvents,
    TimeOrigin,
    closed_window,
    event_windows,
    ran_while_closed,
    read_node_events,
)
from allocsolve.model import ClosedWindow, Jobs, WorkloadProblem, WorkloadSchedule
from allocsolve.model.packed_machine import packed_machine

if TYPE_CHECKING:
    from pathlib import Path

    from cli_tools import Capture


#: 2024-03-04 08:00 UTC.
EIGHT = 1_709_539_200
HEAD = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User|TRES"
EVENTS = (
    "snow||2024-03-04T07:00:00|Unknown||Cluster Registered TRES||cpu=640,node=10",
    "snow|n01|2024-03-04T08:10:00|2024-03-04T09:00:00|DOWN*|Not responding|slurm(500)|cpu=64,gres/gpu=4",
    "snow|n01|2024-03-04T08:30:00|2024-03-04T09:30:00|DRAIN|disk|root(0)|cpu=64,gres/gpu=4",
    "snow|n[02-04]|2024-03-04T09:00:00|Unknown|DRNG|a|b|cpu=64",
    "snow|n07|2024-03-04T09:00:00|2024-03-04T10:00:00|POW_DN||x|cpu=64",
    "snow|n08|2024-03-03T09:00:00|2024-03-03T10:00:00|DOWN||x|cpu=64",
)
WIDTHS = (10, 15, 19, 19, 6, 30, 10)


def parsable(*rows: str, head: str = HEAD, end: str = "") -> str:
    return "".join(f"{row}{end}\n" for row in (head, *rows))


def fixed(*rows: str, head: str = HEAD) -> str:
    """Columns as they are printed by default: cut off with a plus, right-aligned."""

    def line(cells: list[str]) -> str:
        cut = [
            cell if len(cell) <= width else f"{cell[: width - 1]}+"
            for cell, width in zip(cells, WIDTHS, strict=True)
        ]
        return " ".join(cell.rjust(width) for cell, width in zip(cut, WIDTHS, strict=True)) + " "

    dashes = " ".join("-" * width for width in WIDTHS) + " "
    lines = [line(row.split("|")[:7]) for row in (head, *rows)]
    return "\n".join([lines[0], dashes, *lines[1:]]) + "\n"


def read(folder: Path, text: str | bytes, timezone: str = "UTC") -> NodeEvents:
    path = folder / "events.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_node_events(path, timezone=timezone)


def windows_of(events: NodeEvents, **there: int) -> list[tuple[float, float, dict[str, int]]]:
    found = event_windows(
        events, TimeOrigin(0.0, EIGHT), until=3 * 3600, there={"nodes": 10, **there}
    ).windows
    return [(window.start, window.end, dict(window.amounts)) for window in found]


def test_events_become_windows(tmp_path: Path) -> None:
    nodes = [(600, 3600, {"nodes": 1}), (3600, 5400, {"nodes": 4}), (5400, 10_800, {"nodes": 3})]
    layouts = {
        "parsable2": parsable(*EVENTS),
        "parsable": parsable(*EVENTS, head=f"{HEAD}|", end="|"),
        "fixed": fixed(*EVENTS),
        "twice": parsable(*EVENTS) + parsable(*EVENTS),
        "older names": parsable(*EVENTS, head=HEAD.replace("TimeStart|TimeEnd", "Start|End")),
        "another order": parsable(
            *("|".join(reversed(row.split("|"))) for row in EVENTS), head="|".join(reversed(HEAD.split("|")))
        ),
        "ends of lines": parsable(*EVENTS).replace("\n", "\r\n"),
    }
    layouts["a mark in a reason"] = layouts["parsable2"].replace("Not responding", "Not | responding|")
    layouts["lower case, no end"] = layouts["parsable2"].replace("DRNG", "drain").replace("Unknown", "")
    with all_offenders() as check:
        for name, text in layouts.items():
            with check(name):
                events = read(tmp_path, text)
                assert windows_of(events) == nodes
                assert events.others == 2 * (2 if name == "twice" else 1)
    events, origin = read(tmp_path, parsable(*EVENTS)), TimeOrigin(0.0, EIGHT)
    assert event_windows(events, origin, until=9, there={"nodes": 2}).windows == ()
    found = event_windows(events, origin, until=10_800, there={"nodes": 2})
    assert (found.nodes, found.outside, found.open, found.cut) == (4, 1, 1, 2)


def test_what_nodes_have_is_closed_with_them(tmp_path: Path) -> None:
    events = read(tmp_path, parsable(*EVENTS))
    assert windows_of(events, gpus=40) == [
        (600, 3600, {"nodes": 1, "gpus": 4}),
        (3600, 5400, {"nodes": 4, "gpus": 4}),
        (5400, 10_800, {"nodes": 3}),
    ]
    found = event_windows(events, TimeOrigin(0.0, EIGHT), until=3600, there={"nodes": 640}, unit="processors")
    assert [dict(window.amounts) for window in found.windows] == [{"nodes": 64}]
    untold = read(tmp_path, fixed(*EVENTS))
    with pytest.raises(InvalidOption, match="tells no processors of node n01, and sizes count them"):
        event_windows(untold, TimeOrigin(0.0, EIGHT), until=3600, there={"nodes": 640}, unit="processors")
    with pytest.raises(InvalidOption, match="nothing tells on which date the log begins"):
        event_windows(events, TimeOrigin(), until=9, there={"nodes": 10})


def test_times_are_local(tmp_path: Path) -> None:
    row = "c|n1|2024-03-04T09:10:00|2024-03-04T09:20:00|DOWN|r|u|"
    assert windows_of(read(tmp_path, parsable(row), "Europe/Berlin")) == [(600, 1200, {"nodes": 1})]
    back = "c|n1|2023-10-29T02:50:00|2023-10-29T02:10:00|DOWN|r|u|"  # clocks were set back at 03:00
    event = read(tmp_path, parsable(back), "Europe/Berlin").events[0]
    assert event.end - event.start == 1200


SPANS = st.lists(
    st.tuples(st.lists(st.integers(0, 4), min_size=1, max_size=3), st.integers(-20, 60), st.integers(0, 40)),
    max_size=12,
)


@given(spans=SPANS, until=st.integers(1, 80), size=st.integers(1, 6))
def test_windows_count_nodes_second_by_second(
    spans: list[tuple[list[int], int, int]], until: int, size: int
) -> None:
    listed = [
        NodeEvent(tuple(f"n{node}" for node in nodes), EIGHT + start, EIGHT + start + length, "DOWN", "", "")
        for nodes, start, length in spans
    ]
    found = event_windows(
        NodeEvents("e", tuple(listed), 0), TimeOrigin(0.0, EIGHT), until=until, there={"nodes": size}
    )
    for second in range(-25, 110):
        down = {
            node
            for nodes, start, length in spans
            for node in nodes
            if start <= second < start + length and 0 <= second < until
        }
        closed = [
            dict(window.amounts)["nodes"] for window in found.windows if window.start <= second < window.end
        ]
        assert sum(closed) == min(len(down), size)


@given(data=st.data())
def test_jobs_that_ran_while_closed_are_counted(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 6))
    sizes = [data.draw(st.integers(1, 3)) for _ in range(count)]
    gpus = [data.draw(st.integers(0, 2)) for _ in range(count)]
    starts = np.array([data.draw(st.integers(0, 12)) for _ in range(count)], dtype=float)
    runs = np.array([data.draw(st.integers(1, 8)) for _ in range(count)], dtype=float)
    closed = data.draw(
        st.lists(
            st.builds(
                lambda start, length, amounts: ClosedWindow(start, start + length, amounts),
                st.integers(0, 15),
                st.integers(1, 9),
                st.dictionaries(st.sampled_from(["nodes", "gpus"]), st.integers(1, 3)),
            ),
            max_size=3,
        )
    )
    jobs = Jobs([0] * count, sizes, runs, needs=[{"gpus": number} for number in gpus])
    problem = WorkloadProblem(4, jobs, resources={"gpus": 3}, closed=closed)
    ends = starts + runs
    schedule = WorkloadSchedule(np.arange(count + 1), starts, ends, np.array(sizes))
    machine = packed_machine(problem)
    met = set()
    for second in range(30):
        running = [idx for idx in range(count) if starts[idx] <= second < ends[idx]]
        left = machine.capacity[np.searchsorted(machine.times, second, side="right") - 1]
        for kind, (needs, whole) in enumerate(((sizes, 4), (gpus, 3))):
            if left[kind] < whole and sum(needs[idx] for idx in running) > left[kind]:
                met |= {idx for idx in running if needs[idx]}
    assert ran_while_closed(problem, schedule) == len(met)


@pytest.mark.parametrize("layout", ["parsable", "fixed"])
def test_broken_files_give_one_line(layout: str, tmp_path: Path) -> None:
    """Bytes changed at random, 120 files: read or refused in one line."""
    rng = random.Random(layout)
    good = (parsable if layout == "parsable" else fixed)(*EVENTS).encode()
    said = [_fault(tmp_path, with_changed_bytes(rng, good, b"|-[]:+ \n")) for _ in range(120)]
    assert not [fault for fault in said if "\n" in fault]
    assert len([fault for fault in said if fault]) >= 60


def _fault(folder: Path, data: bytes) -> str:
    try:
        read(folder, data)
    except AllocsolveError as fault:
        return str(fault)
    return ""


def test_the_command_closes_nodes(tmp_path: Path, capsys: Capture) -> None:
    log, events, out = tmp_path / "log.txt", tmp_path / "events.txt", tmp_path / "p.json"
    log.write_text(
        "JobID|Submit|Start|End|Timelimit|NNodes|State\n"
        "1|2024-03-04T08:00:00|2024-03-04T08:00:00|2024-03-04T08:40:00|60|10|COMPLETED\n"
        "2|2024-03-04T08:01:00|2024-03-04T09:30:00|2024-03-04T11:00:00|60|2|COMPLETED\n",
        encoding="utf-8",
    )
    events.write_text(parsable(*EVENTS), encoding="utf-8")
    said = run(capsys, "import", log, "--nodes", 10, "--events", events, "--out", out)
    assert "5 events" not in said
    assert (
        f"{events}: 4 events, 1 outside the time of the log, 1 still open, closed to its end, "
        "2 that close nothing; 4 nodes, 3 windows\n"
    ) in said
    assert "1 recorded job ran when more was in use than the closed windows leave" in said
    assert json.loads(out.read_text(encoding="utf-8"))["closed"] == [
        {"start": 600, "end": 3600, "nodes": 1},
        {"start": 3600, "end": 5400, "nodes": 4},
        {"start": 5400, "end": 10_800, "nodes": 3},
    ]


RESERVATIONS = """\
ReservationName=maint StartTime=2024-03-04T09:00:00 EndTime=2024-03-04T10:00:00 Duration=01:00:00
   Nodes=n[01-02],n04 NodeCnt=3 CoreCnt=24 Features=(null) PartitionName=(null) Flags=MAINT,SPEC_NODES
   TRES=cpu=49,gres/gpu=6
   Users=root Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a

ReservationName=cfd StartTime=2024-03-04T15:00:00 EndTime=2024-03-04T20:00:00 Duration=05:00:00
   Nodes=(null) NodeCnt=0 CoreCnt=0 Features=(null) PartitionName=(null) Flags=
   Users=tau Accounts=(null) Licenses=cfd:4 State=INACTIVE BurstBuffer=(null) Watts=n/a
"""


def test_reservations_are_events(tmp_path: Path) -> None:
    path = tmp_path / "reservations"
    origin = TimeOrigin(EIGHT)
    one_line = RESERVATIONS.replace("\n   ", " ")
    for text in (RESERVATIONS, one_line, one_line.replace("\n\n", "\n"), f"\n{RESERVATIONS}"):
        path.write_text(text)
        events = read_node_events(path)
        assert [event.nodes for event in events.events] == [("n01",), ("n02", "n04")]
        assert {event.reason for event in events.events} == {"maint"}
        assert events.others == 1
        for unit, there, closed in (
            ("nodes", {"nodes": 8, "gpus": 32}, {"nodes": 3, "gpus": 6}),
            ("processors", {"nodes": 128}, {"nodes": 49}),
        ):
            (window,) = event_windows(events, origin, until=1e6, there=there, unit=unit).windows
            assert window == ClosedWindow(3600, 7200, closed)
    path.write_text("No reservations in the system\n")
    assert read_node_events(path) == NodeEvents(str(path), (), 0)


# --- Windows ------------------------------------------------------------------------------------------

#: 2022-11-08 00:00 UTC.
DAY = 1_667_865_600
CET = TimeOrigin(epoch=0.0, zero=DAY, timezone="Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "origin", "window"),
    [
        ("100+1h", None, ClosedWindow(100, 3700)),
        ("100/3700", None, ClosedWindow(100, 3700)),
        ("/3700", None, ClosedWindow(0, 3700)),
        (" 0+1d12h30m15s , nodes = 5 , gpus=16", None, ClosedWindow(0, 131_415, {"nodes": 5, "gpus": 16})),
        ("0+1.5h", None, ClosedWindow(0, 5400)),
        ("0+1w", None, ClosedWindow(0, 604_800)),
        ("0+90min", None, ClosedWindow(0, 5400)),
        ("2022-11-08T08:00+8h", TimeOrigin(0.0, DAY), ClosedWindow(28_800, 57_600)),
        ("2022-11-08T08:00:30+8h", CET, ClosedWindow(25_230, 54_030)),
        ("2022-11-08 08:00/2022-11-08 10:00", CET, ClosedWindow(25_200, 32_400)),
        ("2022-11-08T08:00+01:00+8h", TimeOrigin(0.0, DAY), ClosedWindow(25_200, 54_000)),
        ("2022-11-08T08:00Z/2022-11-08T09:00Z", CET, ClosedWindow(28_800, 32_400)),
        ("2022-11-08/2022-11-09", TimeOrigin(0.0, DAY), ClosedWindow(0, 86_400)),
        ("2022-11-07T23:00+2h", TimeOrigin(0.0, DAY), ClosedWindow(0, 3600)),
        (f"{DAY + 60}+60s", TimeOrigin(0.0, DAY), ClosedWindow(60, 120)),
        ("90+60s", TimeOrigin(None, 30.0), ClosedWindow(60, 120)),
        # a log whose second 0 is 08:00
        ("2022-11-08T09:00+1h", TimeOrigin(DAY + 28_800, 600), ClosedWindow(3000, 6600)),
        # clocks were set back at 03:00
        (
            "2022-10-30T02:30/2022-10-30T02:15",
            TimeOrigin(0.0, DAY - 864_000, "Europe/Berlin"),
            ClosedWindow(88_200, 90_900),
        ),
    ],
)
def test_a_window_is_read(text: str, origin: TimeOrigin | None, window: ClosedWindow) -> None:
    assert closed_window(text, origin) == window


@given(
    start=st.integers(0, 10**9),
    parts=st.lists(st.tuples(st.integers(1, 500), st.sampled_from("smhdw")), min_size=1, max_size=4),
    amounts=st.dictionaries(st.sampled_from(["nodes", "gpus", "long"]), st.integers(1, 99)),
    zero=st.integers(0, 10**9),
)
def test_start_and_duration_are_start_and_end(
    start: int, parts: list[tuple[int, str]], amounts: dict[str, int], zero: int
) -> None:
    seconds = sum(
        number * {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}[unit] for number, unit in parts
    )
    behind = "".join(f",{name}={amount}" for name, amount in amounts.items())
    origin = TimeOrigin(zero=zero)
    window = closed_window(
        f"{start + zero}+{''.join(f'{number}{unit}' for number, unit in parts)}{behind}", origin
    )
    assert window == ClosedWindow(start, start + seconds, amounts)
    assert window == closed_window(f"{start + zero}/{start + zero + seconds}{behind}", origin)


def test_a_window_before_the_log_is_none() -> None:
    with pytest.raises(InvalidOption, match="ends before the first submission, 2022-11-08T00:00:00"):
        closed_window("2022-11-07T08:00+8h", TimeOrigin(0.0, DAY))
    with pytest.raises(InvalidOption, match="ends before the first submission, second 1667865600 of the log"):
        closed_window("5+8h", TimeOrigin(None, DAY))
    with pytest.raises(InvalidOption, match="there is no time zone"):
        closed_window("5+8h", TimeOrigin(0.0, DAY, "Europe/Nowhere"))


def test_no_text_breaks_it() -> None:
    rng = random.Random(7)
    good = ("2022-11-08T08:00+8h,nodes=5", "100/900", "/5", "5+1d12h,gpus=3,nodes=2")
    changed = [spoilt_words(rng, ["closed", rng.choice(good)]) for _ in range(300)]
    for text in [*WORDS, *(word for words in changed for word in words[1:])]:
        for origin in (None, CET):
            assert "\n" not in _window_fault(text, origin), text


def _window_fault(text: str, origin: TimeOrigin | None) -> str:
    try:
        closed_window(text, origin)
    except AllocsolveError as fault:
        return str(fault)
    return ""
