"""The queue as squeue prints it: the traps of its text and of the JSON of all versions."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from squeue_files import NOW, as_json, as_text, good, read

from allocsolve.errors import FormatError, InvalidOption
from allocsolve.instances import SQUEUE_FORMAT, read_squeue

if TYPE_CHECKING:
    from pathlib import Path

    from allocsolve.instances import QueueListing


@pytest.mark.parametrize("version", ["text", "plain", "wrapped"])
def test_all_versions_tell_the_same(version: str, tmp_path: Path) -> None:
    listing = read(version, tmp_path, good())
    assert [(job.name, job.nodes, job.start, job.limit) for job in listing.running] == [
        ("801", 3, NOW - 3600, 14_400),
        ("803_2", 1, NOW - 600, 1800),
    ]
    assert [job.name for job in listing.queued] == [
        *("802", "803_4", "803_5", "803_6", "803_7", "803_8", "803_9", "804", "805", "807", "806")
    ]
    by_name = {job.name: job for job in listing.queued}
    assert by_name["802"].limit == 7200
    assert by_name["802"].planned == NOW + 7200
    assert by_name["802"].submit == NOW - 1000
    assert by_name["802"].processors == 128
    assert by_name["802"].user == "bob"
    assert math.isnan(by_name["806"].limit)
    assert listing.now == NOW
    assert listing.cut_arrays == ()


@pytest.mark.parametrize("version", ["text", "plain", "wrapped"])
def test_only_what_waits_for_nodes_is_free_to_start(version: str, tmp_path: Path) -> None:
    listing = read(version, tmp_path, good())
    blocks = {job.name: job.block for job in listing.queued}
    # two tasks at a time, of which one runs
    assert blocks == {
        "802": "",
        "803_4": "",
        **{f"803_{task}": "waits for tasks of its array" for task in range(5, 10)},
        "804": "waits for other jobs",
        "805": "",
        "806": "held",
        "807": "a limit of its account",
    }
    begin = next(job for job in listing.queued if job.name == "805")
    assert begin.eligible == NOW + 40_000
    assert math.isnan(begin.planned)  # its start is the time before which it must not begin


def one(folder: Path, **cells: str) -> QueueListing:
    """Read a queue of one waiting job of which some cells differ."""
    row = {**good()[1], **cells}
    return read("text", folder, [good()[0], row])


def test_sizes_are_the_fewest(tmp_path: Path) -> None:
    sizes = {"4": 4, "4-4": 4, "4-8": 4, "2K": 2048, "1M": 2**20}
    for text, nodes in sizes.items():
        assert one(tmp_path, NODES=text).queued[0].nodes == nodes
    for cells in ({"NODES": "0"}, {"NODES": "0-4"}, {"NODES": "999999999999999M"}, {"CPUS": "0"}):
        with pytest.raises(FormatError, match=r": line 3: (nodes|CPUs) '\w+(-4)?' is not in 1\.\.2\^53$"):
            one(tmp_path, **cells)


def test_limits_and_plans_that_are_none(tmp_path: Path) -> None:
    for text in ("UNLIMITED", "NOT_SET", "Partition_Limit", "N/A", "INVALID", "infinite"):
        assert math.isnan(one(tmp_path, TIME_LIMIT=text).queued[0].limit), text
    limits = {"30:00": 1800, "2:00:00": 7200, "1-00:00:00": 86_400, "1-12": 129_600}
    for text, seconds in limits.items():
        assert one(tmp_path, TIME_LIMIT=text).queued[0].limit == seconds
    for text in ("N/A", "0", "Unknown"):
        assert math.isnan(one(tmp_path, START_TIME=text).queued[0].planned)


def test_minutes_of_json(tmp_path: Path) -> None:
    def limit(value: Any) -> float:
        job = as_json(good(), "plain")["jobs"][1]
        return _of(tmp_path, {"last_update": NOW, "jobs": [{**job, "time_limit": value}]}).queued[0].limit

    assert limit(120) == limit({"set": True, "infinite": False, "number": 120}) == 7200
    assert math.isnan(limit({"set": False, "infinite": False, "number": 0}))
    assert math.isnan(limit({"set": True, "infinite": True, "number": 0}))
    assert math.isnan(limit(0))
    assert math.isnan(limit(None))


def _of(folder: Path, document: Any) -> QueueListing:
    path = folder / "queue"
    path.write_text(json.dumps(document))
    return read_squeue(path)


def test_lists_of_tasks(tmp_path: Path) -> None:
    lists = {
        "9_[4-9%2]": (["9_4", "9_5", "9_6", "9_7", "9_8", "9_9"], 2),
        "9_[1,3,7-8]": (["9_1", "9_3", "9_7", "9_8"], 4),
        "9_[0-15:5]": (["9_0", "9_5", "9_10", "9_15"], 4),
        "9_[5]": (["9_5"], 1),
    }
    for text, (names, free) in lists.items():
        queued = one(tmp_path, JOBID=text).queued
        assert [job.name for job in queued] == names
        assert sum(not job.block for job in queued) == free
        assert [job.name for job in queued if not math.isnan(job.planned)] == names[:1]


def test_lists_that_squeue_cuts_off_are_told(tmp_path: Path) -> None:
    for text in ("9_[1,3,5,...]", "9_[1,3,5,1...]", "9_[1,3,5,..."):
        listing = one(tmp_path, JOBID=text)
        assert [job.name for job in listing.queued] == ["9_1", "9_3", "9_5"], text
        assert listing.cut_arrays == (text,)


def test_tasks_at_a_time_of_json(tmp_path: Path) -> None:
    job = as_json(good(), "plain")["jobs"][1]
    for most in (2, {"set": True, "infinite": False, "number": 2}):
        array = {**job, "job_id": 9, "array_job_id": 9, "array_task_string": "4-9", "array_max_tasks": most}
        listing = _of(tmp_path, {"last_update": NOW, "jobs": [array]})
        assert [not one.block for one in listing.queued] == [True, True, False, False, False, False]


def test_ended_jobs_of_json_are_counted(tmp_path: Path) -> None:
    document = as_json(good(), "wrapped")
    ended = {**document["jobs"][0], "job_state": ["COMPLETED"], "job_id": 5}
    failing = {**document["jobs"][0], "job_state": ["FAILED"], "job_id": 6, "time_limit": None}
    listing = _of(tmp_path, {**document, "jobs": [*document["jobs"], ended, failing]})
    assert listing.others == 2
    assert len(listing.running) == 2


def test_who_is_first_by_priority_is_served_first(tmp_path: Path) -> None:
    rows = [
        good()[0],
        *({**good()[1], "JOBID": idx, "PRIORITY": by} for idx, by in (("1", "5"), ("2", "50"))),
    ]
    rows.append({**good()[1], "JOBID": "3", "PRIORITY": "5", "SUBMIT_TIME": "2025-11-25T08:00:00"})
    assert [job.name for job in read("text", tmp_path, rows).queued] == ["2", "3", "1"]


def test_local_times(tmp_path: Path) -> None:
    path = tmp_path / "queue"
    path.write_text(as_text(good()))
    assert read_squeue(path, timezone="Europe/Berlin").now == NOW - 3600
    with pytest.raises(InvalidOption, match="no time zone"):
        read_squeue(path, timezone="Mars")


def test_reasons_keep_from_starting(tmp_path: Path) -> None:
    for reason in ("JobHeldUser", "JobHeldAdmin", "Dependency", "AssocGrpCpuLimit", "QOSMaxJobsPerUserLimit"):
        assert one(tmp_path, REASON=reason).queued[0].block, reason
    for reason in ("Resources", "Priority", "None", "(Resources)", ""):
        assert not one(tmp_path, REASON=reason).queued[0].block, reason
    assert one(tmp_path, DEPENDENCY="afterok:17(unfulfilled)").queued[0].block == "waits for other jobs"


def test_columns_may_be_in_another_order(tmp_path: Path) -> None:
    path = tmp_path / "queue"
    lines = [line.split("|") for line in as_text(good()).splitlines()]
    path.write_text("\n".join("|".join(reversed(line)) for line in lines))
    assert read_squeue(path).queued == read("text", tmp_path, good()).queued
    path.write_text("\n".join(as_text(good()).splitlines()[1:]))  # squeue -h
    assert read_squeue(path).queued == read("text", tmp_path, good()).queued


def test_a_queue_in_which_nothing_runs_does_not_tell_when(tmp_path: Path) -> None:
    listing = read("text", tmp_path, good()[1:2])
    assert math.isnan(listing.now)
    document = as_json(good(), "plain")
    del document["last_update"]
    assert math.isnan(_of(tmp_path, document).now)


def test_a_line_with_a_fault_refuses_the_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"queue: line 3: time limit '2h' is no duration"):
        one(tmp_path, TIME_LIMIT="2h")
    (tmp_path / "queue").write_text("             JOBID PARTITION     NAME     USER ST       TIME  NODES\n")
    with pytest.raises(FormatError, match=r"squeue -a -t R,PD -o"):
        read_squeue(tmp_path / "queue")
    assert SQUEUE_FORMAT.count("|") == 13
