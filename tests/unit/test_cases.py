"""Inputs that users brought and that once did not work, each with the right answer, as a user runs it.

They lie in the folder ``cases`` beside that of the real logs, ``ALLOCSOLVE_TRACES``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from cli_tools import Capture, refused, run, run_json
from process_tools import python

from allocsolve.instances import digest, read_problem
from allocsolve.model import WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import TypeAlias

    #: From the name of a case to its place.
    Case: TypeAlias = Callable[[str], Path]


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
