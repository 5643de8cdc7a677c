"""Laws of queues as squeue prints them: who cannot start delays nobody, and parts of a job start together."""

from __future__ import annotations

import json
import math
import random
import re
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings, strategies as st
from offenders import all_offenders
from squeue_files import NOW, as_json, at, good, read
from tiers import examples

from allocsolve.heuristics import Conservative, Easy
from allocsolve.instances import read_squeue
from allocsolve.instances.formats.logs.squeue_reasons import MAINTENANCE, REASONS, reason_of
from allocsolve.prediction.scenarios import waits_by_limits
from allocsolve.report.queues.machine import (
    Machine,
    MachineOptions,
    blocks_of,
    machine_of,
    snapshot_of,
    units_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from allocsolve.instances import QueueListing

#: What names of reasons say by their parts, the first that fits: how Slurm has made them.
FAMILIES = (
    (r"(Assoc|QOS)Grp.*", "blocked"),
    (r"QOSMin.*", "never"),
    (r"(Assoc|QOS)Max.*Per(Job|Node)(Limit)?", "never"),
    (r"(Assoc|QOS)Max.*Limit|QOSMax.*PerUser", "blocked"),
    (r"Max.*Per(Account|User)", "blocked"),
    (r"(Association|QOS)(Job|Resource|Time)Limit|QOSUsageThreshold|AccountingPolicy", "blocked"),
    (r"JobHeld.*|JobHold.*|ReservationDeleted|BurstBufferOperation|.*Failure", "held"),
    (r"NonZeroExitCode|RaisedSignal|TimeLimit|InactiveLimit|OutOfMemory", "held"),
    (r"None|Priority|Resources|Prolog|SchedDefer", "line"),
    (r"Invalid.*|.*NotAllowed|Bad.*|.*NeverSatisfied|DeadLine|.*Invalid|MaxMemPerLimit", "never"),
    (r"Partition(NodeLimit|TimeLimit|Config)", "never"),
    (r".*", "blocked"),
)
NOT_IN_LINE = sorted(name for name, reason in REASONS.items() if reason.standing != "line")


def test_all_reasons_of_slurm_are_in_one_of_four_classes() -> None:
    assert len(REASONS) == 222  # 216 of version 25, and six that older ones have
    with all_offenders() as offender:
        for name, reason in REASONS.items():
            with offender(name):
                family = next(standing for pattern, standing in FAMILIES if re.fullmatch(pattern, name))
                assert reason.standing == family
                assert (reason.standing == "line") == (not reason.block)
                for form in (name.upper(), f"({name})", f"{name}, for a reason", f" {name} "):
                    assert reason_of(form) == reason, form


def test_sentences_and_what_is_not_known() -> None:
    long = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
    assert reason_of(long).standing == reason_of(f"({long.replace(' ', '_')})").standing == "line"
    assert reason_of(long.replace("DRAINED", "DRAINED, FAIL")).standing == "line"
    for held in ("launch failed requeued held", "job_requeued_in_held_state"):
        assert reason_of(held) == ("held", f"held: {held}")
    assert reason_of("Sunspots") == ("blocked", "Sunspots")
    assert reason_of("ReqNodeNotAvail, Reserved for maintenance") == MAINTENANCE
    assert reason_of("").standing == "line"


def told(listing: QueueListing, policy: Any, machine: Machine) -> dict[str, float]:
    """Return the start of each job that waits in line if all run to their limits."""
    jobs = [*listing.queued]
    units = units_of(jobs, blocks_of(jobs, machine), machine)
    waits = waits_by_limits(snapshot_of(listing, units, machine, (), NOW), policy)
    return {
        jobs[idx].name: wait for unit, wait in zip(units, waits.tolist(), strict=True) for idx in unit.members
    }


def plain(size: int, **partitions: int) -> Machine:
    return Machine(size, "nodes", partitions, (), 0, ())


@st.composite
def queues(draw: Any) -> list[dict[str, str]]:
    """Draw rows of a queue of eight nodes, of which some are held, blocked or can never start."""
    running, waiting = good()[0], good()[1]
    rows = [{**running, "NODES": str(draw(st.integers(1, 6)))}]
    for number in range(draw(st.integers(1, 9))):
        row = {
            **waiting,
            "JOBID": str(900 + number),
            "NODES": str(draw(st.integers(1, 10))),
            "PRIORITY": str(draw(st.sampled_from([0, 5, 50, 500]))),
            "TIME_LIMIT": draw(st.sampled_from(["30:00", "1:00:00", "2:00:00", "1-00:00:00"])),
            "SUBMIT_TIME": at(-draw(st.integers(0, 3000))),
            "REASON": draw(st.sampled_from(["None", "Priority", "Resources", *NOT_IN_LINE])),
            "START_TIME": draw(st.sampled_from(["N/A", at(5000)])),
            "PARTITION": draw(st.sampled_from(["std", "long", "std,long"])),
        }
        rows.append(row)
    return rows


@settings(max_examples=examples(60))
@given(rows=queues(), limited=st.booleans())
def test_who_cannot_start_delays_nobody(
    rows: list[dict[str, str]], limited: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The others are told the same if those who cannot start are not in the file at all."""
    folder = tmp_path_factory.mktemp("queue")
    machine = plain(8, long=7) if limited else plain(8)
    listing = read("text", folder, rows)
    jobs = [*listing.queued]
    stuck = {job.name for job, block in zip(jobs, blocks_of(jobs, machine), strict=True) if block}
    by_name = {row["JOBID"]: row for row in rows}
    for job in jobs:
        row = by_name[job.name]
        has_begin = row["REASON"] == "BeginTime" and row["START_TIME"] != "N/A"
        if int(row["PRIORITY"]) == 0 or int(row["NODES"]) > 8:
            assert job.name in stuck
        elif row["REASON"] in NOT_IN_LINE and not has_begin:
            assert job.name in stuck
            assert job.standing == REASONS[row["REASON"]].standing
    others = read("text", folder, [row for row in rows if row["JOBID"] not in stuck])
    for policy in (Easy(), Conservative()):
        starts = told(listing, policy, machine)
        assert starts.keys() == {job.name for job in jobs} - stuck
        assert starts == told(others, policy, machine)


@settings(max_examples=examples(40))
@given(rows=queues(), seed=st.integers(0, 99))
def test_parts_of_a_job_start_together(
    rows: list[dict[str, str]], seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """As one job of the nodes of all and of the longest limit; if one part is blocked, all are."""
    rng = random.Random(seed)
    parts = [
        {**good()[1], "JOBID": f"12+{part}", "NODES": str(rng.randint(1, 3)), "PRIORITY": "60"}
        for part in range(3)
    ]
    for part in parts:
        part["TIME_LIMIT"] = rng.choice(["30:00", "2:00:00"])
        part["REASON"] = rng.choice(["Resources", "None", "Resources", "JobHeldUser"])
    whole = {
        **parts[0],
        "JOBID": "12",
        "NODES": str(sum(int(part["NODES"]) for part in parts)),
        "TIME_LIMIT": max((part["TIME_LIMIT"] for part in parts), key=["30:00", "2:00:00"].index),
        "REASON": next((part["REASON"] for part in parts if part["REASON"] == "JobHeldUser"), "None"),
    }
    folder, machine = tmp_path_factory.mktemp("queue"), plain(8)
    apart = told(read("text", folder, [*rows, *parts]), Easy(), machine)
    joined = told(read("text", folder, [*rows, whole]), Easy(), machine)
    starts = {apart.pop(f"12+{part}", math.nan) for part in range(3)}
    together = joined.pop("12", math.nan)
    assert apart == joined
    assert starts == {together} or all(math.isnan(start) for start in starts)
    assert math.isnan(together) == any(math.isnan(start) for start in starts)


def test_parts_say_for_whom_they_wait(tmp_path: Path) -> None:
    parts = [{**good()[1], "JOBID": f"12+{part}", "NODES": "3", "PRIORITY": "60"} for part in range(2)]
    listing = read("text", tmp_path, [good()[0], {**parts[0], "REASON": "JobHeldUser"}, parts[1]])
    assert blocks_of([*listing.queued], plain(8)) == ["held", "waits for its part 12+0"]
    listing = read("text", tmp_path, [good()[0], *parts])
    assert blocks_of([*listing.queued], plain(8)) == ["", ""]
    assert blocks_of([*listing.queued], plain(5)) == ["its parts ask for 6 of 5 nodes"] * 2
    limited = ["its parts ask for 6 of 5 nodes of std"] * 2
    assert blocks_of([*listing.queued], plain(8, std=5, long=4)) == limited


def test_jobs_that_hold_their_nodes(tmp_path: Path) -> None:
    for state in ("COMPLETING", "CG", "STOPPED", "CONFIGURING"):
        listing = read("text", tmp_path, [{**good()[0], "STATE": state}, good()[1]])
        assert [(job.nodes, job.start) for job in listing.running] == [(3, NOW - 3600)], state
        assert listing.others == 0
    suspended = {**good()[0], "STATE": "SUSPENDED", "TIME": "20:00"}
    listing = read("text", tmp_path, [suspended, good()[2]])
    assert listing.running[0].start == NOW - 1200  # it has run for twenty minutes
    for state in ("REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"):
        listing = read("text", tmp_path, [good()[0], {**good()[1], "STATE": state, "REASON": "None"}])
        assert listing.queued[0].standing == "held", state
    listing = read("text", tmp_path, [good()[0], {**good()[1], "STATE": "REQUEUED", "REASON": "None"}])
    assert listing.queued[0].block == "is cleaned up after its last run"


def test_priority_and_states_of_json(tmp_path: Path) -> None:
    document = as_json(good()[:3], "wrapped")
    running, waiting, _ = document["jobs"]
    unset = {"set": False, "infinite": False, "number": 0}
    jobs = [
        {**running, "job_state": ["COMPLETED", "COMPLETING"]},
        {
            **running,
            "job_id": 5,
            "job_state": ["SUSPENDED"],
            "pre_sus_time": {**unset, "set": True, "number": 60},
        },
        {**waiting, "priority": unset},
        {**waiting, "job_id": 8, "priority": {**unset, "set": True}},
        {**waiting, "job_id": 9, "job_state": ["PENDING", "REQUEUE_HOLD"]},
        {**waiting, "job_id": 13, "het_job_id": {**unset, "set": True, "number": 12}, "het_job_offset": 1},
    ]
    path = tmp_path / "queue"
    path.write_text(json.dumps({**document, "jobs": jobs}))
    listing = read_squeue(path)
    assert [(job.name, NOW - job.start) for job in listing.running] == [("801", 3600), ("5", 60)]
    standings = {job.name: job.standing for job in listing.queued}
    assert standings == {"802": "line", "8": "held", "9": "held", "12+1": "line"}


def test_partitions_of_which_one_is_large_enough(tmp_path: Path) -> None:
    machine = plain(8, std=2, long=5)
    assert machine.partition(("std", "long")) == "long"
    assert machine.partition(("std", "other")) is None
    assert machine.partition(()) is None
    listing = read("text", tmp_path, [{**good()[0], "PARTITION": "other"}, {**good()[1], "PARTITION": "std"}])
    assert blocks_of([*listing.queued], machine) == ["asks for 4 of 2 nodes of std"]


def test_nodes_that_are_down_without_an_end(tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.write_text(
        "NodeName|TimeStart|TimeEnd|State|Reason\n"
        f"n1|{at(-5000)}|Unknown|DOWN|disk\nn2|{at(-5000)}|{at(-10)}|DOWN|disk\nn3|{at(50)}|{at(90)}|DOWN|x\n"
    )
    listing = read("text", tmp_path, [good()[0], {**good()[1], "NODES": "8"}])
    machine = machine_of(MachineOptions(events=events), listing, NOW, 8, "nodes")
    assert machine.down == 1
    assert blocks_of([*listing.queued], machine) == ["asks for 8 of 7 nodes that are up, 1 are not"]
    assert [line.partition(": ")[2] for line in machine.lines] == [
        "3 events, 1 over, 1 without an end; 2 nodes, 3 windows"
    ]
