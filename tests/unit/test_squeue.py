"""The queue as squeue prints it: the traps of its text and of the JSON of all versions."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import Capture, refused, run, run_json
from process_tools import python
from squeue_files import NOW, as_json, as_text, good, read

from allocsolve.errors import FormatError, InvalidOption
from allocsolve.instances import SQUEUE_FORMAT, digest, read_problem, read_squeue
from allocsolve.model import WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import TypeAlias

    from allocsolve.instances import QueueListing

    Case: TypeAlias = Callable[[str], Path]


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


def test_policy_object(case: Case) -> None:
    printed, _ = python("-B", case("policy_object.py"))
    results = [line.partition(" -> ")[2] for line in printed.splitlines()]
    assert results == ["[0.0, 100.0, 110.0]", "[  0.  125.  137.5]", "439.0", "None"] * 2


def test_profile_defaults(case: Case, capsys: Capture) -> None:
    told = run_json(capsys, "solve", case("profile_defaults.json"), "--solver", "evolv-easyback")
    assert told["status"] == "feasible"
    read = [read_problem(case(name)) for name in ("profile_defaults.json", "both_want_more.json")]
    assert digest(read[0]) == digest(read[1])


@pytest.mark.parametrize("solver", ["evolv-easyback", "profile-fit", "prices"])
def test_both_want_more(case: Case, capsys: Capture, solver: str) -> None:
    asked = ("--solver", solver, "--objective", "makespan", "--seconds", "5")
    assert run_json(capsys, "solve", case("both_want_more.json"), *asked)["objective"] == 40


def test_both_want_more_and_nobody_takes_care(case: Case, capsys: Capture) -> None:
    said = refused(capsys, "solve", case("both_want_more.json"), "--solver", "evolv-easyback(safe=False)")
    assert "'P' holds 2 and waits for 1 more, of 'Q'; 'Q' holds 2 and waits for 1 more, of 'P'" in said


def test_right(case: Case, capsys: Capture) -> None:
    schedule = case("elastic_stall.json"), case("right.json")
    assert not run_json(capsys, "check", *schedule, status=1)["feasible"]
    told = run_json(capsys, "check", *schedule, "--tolerance", ".001")
    assert (told["feasible"], told["tolerance_s"]) == (True, 0.001)


def test_milliseconds(case: Case, capsys: Capture) -> None:
    asked = ("whatif", case("milliseconds.csv"), "--nodes", "4", "--seconds", ".5")
    assert "say --time-unit ms" in refused(capsys, *asked)
    out = run(capsys, *asked, "--time-unit", "ms")
    mean = (0 + 1.8333 + 2.6667 + 2.5) / 4  # hours
    assert re.search(rf"as it was +{mean:.1f} h .* 2.7 h", out)


def test_dmy(case: Case, capsys: Capture) -> None:
    said = refused(capsys, "whatif", case("dmy.csv"), "--nodes", "4")
    assert "'04.03.2024 08:00' is no time" in said
    assert "2024-03-04T08:00:00" in said


def jobs_of(path: object) -> list[tuple[str, int, float, float | None]]:
    """Return name, size, run time and limit of each job of a workload."""
    problem = read_problem(str(path))
    assert isinstance(problem, WorkloadProblem)
    return [(job.name, job.nodes, job.runtime, job.limit) for job in problem.jobs]


def imported(
    capsys: Capture, kind: str, log: object, *options: object
) -> list[tuple[str, int, float, float | None]]:
    """Return what a log has, by the command."""
    run_json(capsys, "import", "--format", kind, log, "--out", "read.json", "--force", *options)
    return jobs_of("read.json")


def test_pbs_accounting(case: Case, capsys: Capture) -> None:
    ran = [("501", 2, 3600, 7200), ("502[1]", 1, 3100, 3600), ("504", 2, 3600, 3600)]
    assert imported(capsys, "pbs", case("pbs_accounting.txt"), "--nodes", "32") == ran
    assert imported(capsys, "sacct", case("converted.csv"), "--nodes", "32") == ran


def test_sge_accounting(case: Case, capsys: Capture) -> None:
    ran = imported(capsys, "sge", case("sge_accounting.txt"), "--nodes", "32")
    assert [name.partition(".")[0] for name, *_ in ran] == ["579398", "579399"]
    assert [rest for _, *rest in ran] == [[16, 3600, 7200], [1, 3600, 7200]]


@pytest.mark.parametrize("name", ["sacct.json", "sacct_compact.json"])
def test_sacct_as_json(case: Case, capsys: Capture, name: str) -> None:
    ran = [("8149", 2, 3600, 7200), ("9001", 1, 217, None)]
    assert imported(capsys, "sacct", case(name), "--nodes", "8") == ran
    processors = imported(capsys, "sacct", case(name), "--nodes", "8", "--unit", "processors")
    assert processors[0][1] == 8


@pytest.mark.parametrize(
    ("unit", "sizes"), [("nodes", [2, 1]), ("processors", [64, 16]), ("gpus", [4, 1])], ids=str
)
def test_alloctres(case: Case, capsys: Capture, unit: str, sizes: list[int]) -> None:
    ran = imported(capsys, "sacct", case("alloctres.txt"), "--nodes", "128", "--unit", unit)
    assert [job[1] for job in ran] == sizes


def test_batsim_jobs(case: Case, capsys: Capture) -> None:
    run_json(capsys, "convert", case("batsim_jobs.csv"), "workload.json")
    assert len(jobs_of("workload.json")) == 19
    told = run_json(capsys, "check", "workload.json", case("batsim_jobs.csv"))
    assert told["feasible"]
    assert (told["metrics"]["makespan"], told["metrics"]["wait"]) == (441_360, 189_360)


@pytest.mark.parametrize(
    ("solver", "starts"), [("easy", [0, 100, 1003, 3]), ("easy(reservations=2)", [0, 100, 110, 120])]
)
def test_depth(case: Case, capsys: Capture, solver: str, starts: list[float]) -> None:
    told = run_json(capsys, "solve", case("depth.json"), "--solver", solver)
    assert [job["pieces"][0][0] for job in told["solution"]["jobs"]] == starts


@pytest.mark.parametrize(("options", "runs"), [((), 3), (("--limits", "keep"), 4)], ids=["cut", "kept"])
def test_batsim_walltime(case: Case, capsys: Capture, options: tuple[str, ...], runs: float) -> None:
    run_json(capsys, "convert", case("batsim_walltime.json"), "workload.json", *options)
    assert [job[2] for job in jobs_of("workload.json")] == [4, runs, 4, 4]


@pytest.mark.parametrize(
    ("name", "most"), [("two_elastic.json", 703.15), ("elastic_stall.json", 528.34)], ids=["two", "stall"]
)
def test_best_known_of_elastic_jobs(case: Case, capsys: Capture, name: str, most: float) -> None:
    told = run_json(capsys, "solve", case(name), "--solver", "prices", "--seconds", "2")
    assert told["objective"] <= most


@pytest.mark.parametrize("solver", ["annealing", "lns"])
def test_ht_c1p1(case: Case, capsys: Capture, solver: str) -> None:
    """A search ends when its value meets the bound: long before its time."""
    told = run_json(capsys, "solve", case("ht_c1p1.json"), "--solver", solver, "--seconds", "600")
    assert (told["objective"], told["limit"]) == (20, None)


SECOND = "when_and_networks"


def _starts(capsys: Capture, *args: object) -> dict[str, str | None]:
    """Return the time of the day at which each job starts if all run to their limits."""
    told = run_json(capsys, "when", *args, "--nodes", 4)["jobs"]
    clocks = {job["job"]: job["by_limits"] for job in told}
    return {
        name: None if seconds is None else f"{seconds // 3600 % 24}:{seconds // 60 % 60:02}"
        for name, seconds in clocks.items()
    }


@pytest.mark.parametrize(
    "policy",
    ["conservative", "conservative(compression=none)", "easy(reservations=3)", "slurm-backfill", "easy"],
)
def test_who_delays_nobody_starts_now(case: Case, capsys: Capture, policy: str) -> None:
    queue = case(f"{SECOND}/queue_simple.txt")
    assert _starts(capsys, queue, "--policy", policy) == {"2": "16:00", "3": "13:00", "4": "18:00"}


def test_a_log_in_which_nobody_waited(case: Case, capsys: Capture) -> None:
    queue, log = case(f"{SECOND}/queue_simple.txt"), case(f"{SECOND}/log_nobody_waited.txt")
    shown = run(capsys, "when", queue, "--nodes", 4, "--log", log)
    assert "5 % chance" in shown
    assert shown.count("no question of the past could be asked") == 1


def test_held_jobs_start_never(case: Case, capsys: Capture) -> None:
    queue = case(f"{SECOND}/queue_held.txt")
    assert _starts(capsys, queue) == {"302": None, "303": "13:00", "301": None}
    jobs = {job["job"]: job for job in run_json(capsys, "when", queue, "--nodes", 4)["jobs"]}
    assert jobs["301"]["standing"] == "held"
    assert jobs["302"]["blocked"] == "a limit of its account"
    assert [jobs[name]["standing"] for name in ("302", "303")] == ["blocked", "line"]
