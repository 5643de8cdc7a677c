"""The command `when`: what it prints of a queue, with and without the past of the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cli_tools import Capture, refused, run, run_json
from squeue_files import NOW, as_text, at, good, written

if TYPE_CHECKING:
    from pathlib import Path

#: A log whose jobs take half of their limits; every second one has to wait.
LOG = "JobID|User|Submit|Start|End|Elapsed|Timelimit|NNodes|State\n" + "".join(
    f"{number}|ann|{at(-90_000 + 600 * number)}|{at(-90_000 + 600 * number + 300 * (number % 2))}"
    f"|{at(-90_000 + 600 * number + 300 * (number % 2) + 300)}|00:05:00|00:10:00|3|COMPLETED\n"
    for number in range(40)
)


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    path = tmp_path / "queue.txt"
    path.write_text(as_text(good()))
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.txt"
    path.write_text(LOG)
    return path


def test_without_the_past_there_are_no_chances(queue: Path, capsys: Capture) -> None:
    shown = run(capsys, "when", queue, "--nodes", 8)
    assert "2 running, 11 queued, 2025-11-25 09:30 (UTC)" in shown
    assert "Chances need the past of the machine: --log." in shown
    assert "5 % chance" not in shown
    told = run_json(capsys, "when", queue, "--nodes", 8)
    jobs = {job["job"]: job for job in told["jobs"]}
    assert jobs["802"]["by_limits"] == NOW
    assert jobs["802"]["planned"] == NOW + 7200
    assert jobs["802"]["earliest"] is None
    assert jobs["805"]["blocked_until"] == jobs["805"]["by_limits"] == NOW + 40_000
    assert jobs["804"]["blocked"] == "waits for other jobs"
    assert jobs["804"]["by_limits"] is None
    assert jobs["806"]["limit"] is None


@pytest.mark.parametrize(
    ("column", "cell"),
    [("TIME_LIMIT", "9999999-00:00:00"), ("START_TIME", "9007199254740992")],
)
def test_times_beyond_the_last_date_are_refused(
    column: str, cell: str, tmp_path: Path, capsys: Capture
) -> None:
    rows = good()
    for row in rows[:2]:
        row[column] = cell
    path = tmp_path / "late.txt"
    path.write_text(as_text(rows))
    told = refused(capsys, "when", path, "--nodes", 4, "--now", "9999-12-31T23:59:59")
    assert told.endswith(" s after 1970 is beyond the year 9999: there is no such date\n")


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
    told = run_json(capsys, "when", queue, "--nodes", 6, "--log", log, "--new", "nodes=6,limit=4:00:00")
    (job,) = told["jobs"]
    assert (job["job"], job["nodes"], job["limit"]) == ("new job", 6, 14_400)
    assert job["by_limits"] > NOW + 3 * 3600
    assert job["earliest"] >= NOW
    told = run_json(capsys, "when", queue, "--nodes", 6, "--new", "nodes=7,limit=30")
    assert told["jobs"][0]["blocked"] == "asks for 7 of 6 nodes"
    assert told["jobs"][0]["limit"] == 1800  # plain numbers are minutes, as for Slurm


def test_the_tasks_of_an_array(queue: Path, capsys: Capture) -> None:
    told = run_json(capsys, "when", queue, "--nodes", 6, "--job", "803")
    assert [job["job"] for job in told["jobs"]] == [f"803_{task}" for task in range(4, 10)]
    told = run_json(capsys, "when", queue, "--nodes", 6, "--job", "803_5")
    assert [job["job"] for job in told["jobs"]] == ["803_5"]


def test_json_says_the_same_as_text(queue: Path, tmp_path: Path, capsys: Capture) -> None:
    text = run_json(capsys, "when", queue, "--nodes", 6)
    for version in ("plain", "wrapped"):
        path = tmp_path / "queue.txt"
        path.write_text(written(version, good()))
        assert run_json(capsys, "when", path, "--nodes", 6) == text


def test_a_policy_may_be_named(queue: Path, capsys: Capture) -> None:
    strict = run_json(capsys, "when", queue, "--nodes", 6, "--policy", "fcfs")
    easy = run_json(capsys, "when", queue, "--nodes", 6)
    task = {name: document["jobs"][1]["by_limits"] for name, document in (("fcfs", strict), ("easy", easy))}
    assert task["easy"] == NOW  # half an hour on a free node
    assert task["fcfs"] > NOW  # not before the job of four nodes


def test_a_log_in_processors(queue: Path, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "log.swf"
    lines = [
        f"{number + 1} {600 * number} 60 300 32 -1 -1 32 600 -1 1 1 1 1 1 1 -1 -1" for number in range(40)
    ]
    path.write_text("; MaxProcs: 192\n; UnixStartTime: 1764000000\n" + "\n".join(lines) + "\n")
    told = run_json(capsys, "when", queue, "--log", path)
    assert {job["job"]: job["nodes"] for job in told["jobs"]}["802"] == 128


def test_refusals(queue: Path, log: Path, tmp_path: Path, capsys: Capture) -> None:
    assert "--nodes, or --log" in refused(capsys, "when", queue)
    assert "hold 4 nodes of a machine of 3" in refused(capsys, "when", queue, "--nodes", 3)
    assert "--nodes gives its size in nodes" in refused(capsys, "when", queue, "--nodes", 3)
    assert "unknown queued job '999'" in refused(capsys, "when", queue, "--nodes", 6, "--job", 999)
    assert "unknown" in refused(capsys, "when", queue, "--nodes", 6, "--policy", "eazy")
    for new in ("nodes=4", "nodes=x,limit=30", "nodes=4,limit=2h", "nodes=4,limit=0", "nodes=4,nodes=4", "4"):
        assert "--new" in refused(capsys, "when", queue, "--nodes", 6, "--new", new)
    assert "not allowed with" in refused(
        capsys, "when", queue, "--nodes", 6, "--new", "nodes=4,limit=30", "--job", 802
    )
    assert "--now" in refused(capsys, "when", queue, "--nodes", 6, "--now", "noon")
    assert "--now" in refused(capsys, "when", queue, "--nodes", 6, "--now", "N/A")
    assert "no time zone" in refused(capsys, "when", queue, "--nodes", 6, "--timezone", "Mars")
    assert "cannot be read" in refused(capsys, "when", tmp_path / "nothing", "--nodes", 6)
    waiting = tmp_path / "waiting.txt"
    waiting.write_text(as_text(good()[1:2]))
    assert "nothing in it tells when it was printed: say --now" in refused(
        capsys, "when", waiting, "--nodes", 6
    )
    assert run_json(capsys, "when", waiting, "--nodes", 6, "--now", at(60))["now"] == NOW + 60
    unlimited = tmp_path / "unlimited.txt"
    unlimited.write_text(as_text([{**good()[0], "TIME_LIMIT": "UNLIMITED"}]))
    assert "no job in it has a time limit" in refused(capsys, "when", unlimited, "--nodes", 6)
    run(capsys, "when", unlimited, "--nodes", 6, "--log", log)


def test_arrays_that_are_cut_off_are_told(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "queue"
    rows = good()
    rows[3] |= {"JOBID": "803_[4,5,...]"}
    path.write_text(as_text(rows))
    assert "The list of tasks is cut off, there are more of them: 803_[4,5,...]" in run(
        capsys, "when", path, "--nodes", 6
    )
