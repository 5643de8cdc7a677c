"""The command `when`: what it prints of a queue, with and without the past of the machine."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import Capture, run, run_json
from json_tools import saved
from squeue_files import NOW, as_text, at, good, written

from allocsolve.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

#: A log whose jobs take half of their limits; every second one has to wait.
LOG = "JobID|User|Submit|Start|End|Elapsed|Timelimit|NNodes|State\n" + "".join(
    f"{number}|ann|{at(-90_000 + 600 * number)}|{at(-90_000 + 600 * number + 300 * (number % 2))}"
    f"|{at(-90_000 + 600 * number + 300 * (number % 2) + 300)}|00:05:00|00:10:00|3|COMPLETED\n"
    for number in range(40)
)


SIX = ("--nodes", 6)


@pytest.fixture(autouse=True)
def no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, nothing is told of what lasts."""
    monkeypatch.setattr("allocsolve.cli.output.DELAY_S", 1e9)


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    return saved(tmp_path, as_text(good()), "queue.txt")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return saved(tmp_path, LOG, "jobs.txt")


def test_without_the_past_there_are_no_chances(queue: Path, capsys: Capture) -> None:
    shown = run(capsys, "when", queue, "--nodes", 8)
    assert "2 running, 11 queued, 2025-11-25 09:30 (UTC)" in shown
    assert "Chances need the past of the machine: --log." in shown
    assert "5 % chance" not in shown
    told = run_json(capsys, "when", queue, "--nodes", 8)
    jobs = {job["job"]: job for job in told["jobs"]}
    expected: dict[str, dict[str, Any]] = {
        "802": {"by_limits": NOW, "planned": NOW + 7200, "earliest": None},
        "804": {"blocked": "waits for other jobs", "by_limits": None},
        "805": {"blocked_until": NOW + 40_000, "by_limits": NOW + 40_000},
        "806": {"limit": None},
    }
    for name, facts in expected.items():
        assert jobs[name].items() >= facts.items()


def test_the_past_tells_chances(queue: Path, log: Path, capsys: Capture) -> None:
    told = run_json(capsys, "when", queue, "--nodes", 6, "--log", log, "--job", "802")
    assert told["now"] == NOW
    assert told["methods"] == ["simulation"]
    assert told["questions"] > 0
    (job,) = told["jobs"]
    assert NOW <= job["earliest"] <= job["median"] <= job["latest"]
    assert job["by_limits"] == NOW + 3 * 3600  # when 801 has run for its 4 hours
    assert job["median"] < job["by_limits"]  # jobs take half of their limits
    shown = run(capsys, "when", queue, "--nodes", 6, "--log", log)
    assert "questions of the past say how far off such answers are" in shown
    assert "5 % chance" in shown


def test_a_job_that_is_not_submitted_yet(queue: Path, log: Path, capsys: Capture) -> None:
    told = run_json(capsys, "when", queue, "--nodes", 6, "--log", log, "--job", "nodes=6,limit=4:00:00")
    (job,) = told["jobs"]
    assert (job["job"], job["nodes"], job["limit"]) == ("new job", 6, 14_400)
    assert job["by_limits"] > NOW + 3 * 3600
    assert job["earliest"] >= NOW
    told = run_json(capsys, "when", queue, "--nodes", 6, "--job", "nodes=7,limit=30")
    assert told["jobs"][0]["blocked"] == "asks for 7 of 6 nodes"
    assert told["jobs"][0]["limit"] == 1800  # plain numbers are minutes, as for Slurm


def test_the_tasks_of_an_array(queue: Path, capsys: Capture) -> None:
    for asked, tasks in (("803", [f"803_{task}" for task in range(4, 10)]), ("803_5", ["803_5"])):
        told = run_json(capsys, "when", queue, "--nodes", 6, "--job", asked)
        assert [job["job"] for job in told["jobs"]] == tasks


def test_json_says_the_same_as_text(queue: Path, tmp_path: Path, capsys: Capture) -> None:
    text = run_json(capsys, "when", queue, "--nodes", 6)
    for version in ("plain", "wrapped"):
        path = saved(tmp_path, written(version, good()), "queue.txt")
        assert run_json(capsys, "when", path, "--nodes", 6) == text


def test_a_policy_may_be_named(queue: Path, capsys: Capture) -> None:
    strict = run_json(capsys, "when", queue, "--nodes", 6, "--policy", "fcfs")
    easy = run_json(capsys, "when", queue, "--nodes", 6)
    task = {name: document["jobs"][1]["by_limits"] for name, document in (("fcfs", strict), ("easy", easy))}
    assert task["easy"] == NOW  # half an hour on a free node
    assert task["fcfs"] > NOW  # not before the job of four nodes


def test_a_log_in_processors(queue: Path, tmp_path: Path, capsys: Capture) -> None:
    lines = [
        f"{number + 1} {600 * number} 60 300 32 -1 -1 32 600 -1 1 1 1 1 1 1 -1 -1" for number in range(40)
    ]
    head = "; MaxProcs: 192\n; UnixStartTime: 1764000000\n"
    told = run_json(
        capsys, "when", queue, "--log", saved(tmp_path, head + "\n".join(lines) + "\n", "log.swf")
    )
    assert {job["job"]: job["nodes"] for job in told["jobs"]}["802"] == 128


def test_a_queue_may_lack_what_a_log_or_an_option_tells(log: Path, tmp_path: Path, capsys: Capture) -> None:
    waiting = saved(tmp_path, as_text(good()[1:2]), "waiting.txt")
    unlimited = saved(tmp_path, as_text([{**good()[0], "TIME_LIMIT": "UNLIMITED"}]), "unlimited.txt")
    assert run_json(capsys, "when", waiting, *SIX, "--now", at(60))["now"] == NOW + 60
    run(capsys, "when", unlimited, *SIX, "--log", log)


def test_arrays_that_are_cut_off_are_told(tmp_path: Path, capsys: Capture) -> None:
    rows = good()
    rows[3] |= {"JOBID": "803_[4,5,...]"}
    told = run(capsys, "when", saved(tmp_path, as_text(rows)), *SIX)
    assert "The list of tasks is cut off, there are more of them: 803_[4,5,...]" in told


#: A queue of four nodes: three run until 16:00, it is 13:00.
SIMPLE = """\
1|a|std|normal|RUNNING|3|3|2024-03-05T10:00:00|2024-03-05T12:00:00|4:00:00|1:00:00|900|None|(null)
2|b|std|normal|PENDING|4|4|2024-03-05T12:30:00|N/A|2:00:00|0:00|800|Resources|(null)
3|c|long|normal|PENDING|1|1|2024-03-05T12:40:00|N/A|30:00|0:00|700|Priority|(null)
4|d|std|normal|PENDING|1|1|2024-03-05T12:50:00|N/A|9:00:00|0:00|600|{}|(null)
""".format("ReqNodeNotAvail, Reserved for maintenance")
MAINTENANCE = """\
ReservationName=maint StartTime=2024-03-05T19:00:00 EndTime=2024-03-05T22:00:00 Duration=03:00:00
   Nodes=n[1-3],n4 NodeCnt=4 CoreCnt=128 Features=(null) PartitionName=(null) Flags=MAINT,SPEC_NODES,ALL_NODES
   TRES=cpu=8
   Users=root Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a
"""


@pytest.fixture
def simple(tmp_path: Path) -> Path:
    return saved(tmp_path, SIMPLE, "simple.txt")


def unix(clock: str) -> int:
    return round(datetime.fromisoformat(f"2024-03-05T{clock}+00:00").timestamp())


def test_a_maintenance_is_told_of(simple: Path, tmp_path: Path, capsys: Capture) -> None:
    """By a window, or by what scontrol prints; without it the job is blocked, and the options are named."""
    shown = run(capsys, "when", simple, "--nodes", 4)
    assert "would not end before a maintenance" in shown
    assert "--events with what scontrol show reservation prints" in shown
    events = saved(tmp_path, MAINTENANCE, "reservations.txt")
    for given in (("--closed", "2024-03-05T19:00+3h"), ("--events", events)):
        told = run_json(capsys, "when", simple, "--nodes", 4, *given)
        starts = {job["job"]: job["by_limits"] for job in told["jobs"]}
        assert starts == {"2": unix("16:00"), "3": unix("13:00"), "4": unix("22:00")}
        shorter = {"shorter_limit": 9000, "start_with_it": unix("13:30"), "window": unix("19:00")}
        assert told["jobs"][-1].items() >= shorter.items()
        assert told["jobs"][0]["shorter_limit"] is None
        shown = run(capsys, "when", simple, "--nodes", 4, *given)
        assert "the window of 2024-03-05 19:00; with a limit of 2:30:00 starts 2024-03-05 13:30" in shown
    assert f"{events}: 1 event; 4 nodes, 1 window" in shown
    asked = run_json(capsys, "when", simple, "--nodes", 4, *given, "--job", "nodes=1,limit=2-00:00:00")
    assert (asked["jobs"][0]["shorter_limit"], asked["jobs"][0]["start_with_it"]) == (9000, unix("13:30"))
    told = run_json(capsys, "when", simple, "--unit", "processors", "--nodes", 8, "--events", events)
    assert {job["job"]: job["by_limits"] for job in told["jobs"]}["4"] == unix("22:00")


def test_who_waits_for_a_maintenance_may_be_too_large(simple: Path, capsys: Capture) -> None:
    simple.write_text(SIMPLE.replace("PENDING|1|1|2024-03-05T12:50", "PENDING|9|9|2024-03-05T12:50"))
    told = run_json(capsys, "when", simple, "--nodes", 4, "--closed", "2024-03-05T19:00+3h")
    assert told["jobs"][-1]["blocked"] == "asks for 9 of 4 nodes"


def test_chances_are_not_in_a_window(simple: Path, tmp_path: Path, capsys: Capture) -> None:
    log = saved(tmp_path, LOG.replace("2025-11-2", "2024-02-2"), "log.txt")
    told = run_json(capsys, "when", simple, "--nodes", 4, "--log", log, "--closed", "2024-03-05T14:00+8h")
    for job in told["jobs"]:
        for name in ("earliest", "median", "latest"):
            start = job[name]
            assert start + job["limit"] <= unix("14:00") or start >= unix("22:00"), (job["job"], name)


def test_events_that_are_none(simple: Path, tmp_path: Path, capsys: Capture) -> None:
    plain = run_json(capsys, "when", simple, "--nodes", 4)["jobs"]
    texts = ("NodeName|TimeStart|TimeEnd|State|Reason|\n", "No reservations in the system\n")
    for number, text in enumerate(texts):
        path = saved(tmp_path, text, f"events{number}")
        told = run_json(capsys, "when", simple, "--nodes", 4, "--events", path)
        assert told["jobs"] == plain
        assert f"{path}: 0 events; 0 nodes, 0 windows" in told["remarks"]


def test_partitions(simple: Path, capsys: Capture) -> None:
    told = run_json(capsys, "when", simple, "--nodes", 8, "--partitions", "std=4,long=8,fast=2")
    starts = {job["job"]: job["by_limits"] for job in told["jobs"]}
    assert starts["2"] == unix("16:00")  # all of its partition
    assert starts["3"] == unix("13:00")
    assert "no job is in the partition fast" in told["remarks"]


@pytest.mark.parametrize("shift", ["one job", "later", "nobody waited"])
def test_logs_of_which_nothing_can_be_asked(shift: str, queue: Path, tmp_path: Path, capsys: Capture) -> None:
    head, *lines = LOG.splitlines()
    kept = {"one job": lines[:1], "later": lines, "nobody waited": lines[::2]}[shift]
    text = "\n".join([head, *kept]) + "\n"
    path = saved(tmp_path, text.replace("2025-11-2", "2026-11-2") if shift == "later" else text, "log.txt")
    for policy in ("easy", "conservative"):
        args = ("when", queue, "--nodes", 6, "--log", path, "--policy", policy)
        told = run_json(capsys, *args)
        assert told["questions"] == 0
        assert "no question of the past could be asked" in told["remarks"][-1]
        assert all(job["earliest"] is not None for job in told["jobs"] if not job["blocked"])


def test_progress_is_told_off_a_terminal(
    queue: Path, log: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("allocsolve.cli.output.DELAY_S", -1.0)
    main(["when", str(queue), "--nodes", "6", "--log", str(log), "--json"])
    told = capsys.readouterr()
    lines = told.err.splitlines()
    assert lines[0].startswith("asking the past: ")
    assert lines[-1] == "asking the past: 20 of 20"
    assert len(lines) <= 10
    assert told.out.startswith("{")
