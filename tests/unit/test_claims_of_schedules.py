"""Claims of schedules: each is broken where it should be, on the command line and in Python."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cli_tools import refused, run, run_json

from allocsolve.cli import main
from allocsolve.errors import InvalidAnswer, InvalidOption, UnknownName
from allocsolve.heuristics.workload.conservative import Conservative
from allocsolve.instances import write_problem, write_solution
from allocsolve.instances.generators.counterexamples import easy_counterexamples
from allocsolve.judge import WORKLOAD_CLAIMS, workload_breaches, workload_violations
from allocsolve.model import (
    Amdahl,
    EvolutionProblem,
    EvolutionProfile,
    Job,
    Jobs,
    Profile,
    WorkloadProblem,
    WorkloadSchedule,
)
from allocsolve.pictures.workload import breach_picture
from allocsolve.simulation import simulate

if TYPE_CHECKING:
    from pathlib import Path

    from cli_tools import Capture

CASES = {case.name: case for case in easy_counterexamples()}
LATE = 2**24 + 2
#: What the schedule of the tool breaks first of what is EASY backfilling: the claim, the job, the instant.
BROKEN: dict[str, tuple[str, str, float]] = {
    "reservation-without-nodes": ("easy", "j2", 2),
    "head-forgotten-after-a-start": ("easy", "j2", 0),
    "releases-in-order-of-limits": ("easy", "j3", 92),
    "clock-against-run-time-late": ("easy", "j2", 5002),
    "clock-against-run-time-early": ("eager", "j2", 2),
    "one-start-a-call": ("work-conserving", "j2", 103),
    "extra-nodes": ("eager", "j2", 2),
    "run-time-of-candidates-known": ("easy", "j2", 2),
    "true-ends-of-running-jobs": ("eager", "j2", 2),
    "ends-at-the-shadow-time": ("eager", "j2", 2),
    "one-call-an-event": ("easy", "j3", 100),
    "times-in-32-bits": ("easy", "j2", LATE),
}
EASY = ("easy", "work-conserving", "eager")

THREE = WorkloadProblem(4, [Job(0, 3, 100, 100), Job(1, 4, 10, 10), Job(2, 1, 1000, 1000)], name="three")
LATE_HEAD = WorkloadSchedule.of(THREE, [0, 1002, 2])


def found(problem: WorkloadProblem, schedule: WorkloadSchedule, *claims: str) -> dict[str, Any]:
    breaches = workload_breaches(problem, schedule, claims or tuple(WORKLOAD_CLAIMS))
    return {breach.claim: (breach.job, breach.at) for breach in breaches}


@pytest.mark.parametrize("name", BROKEN)
def test_the_schedule_of_a_tool_is_caught_where_it_departs(name: str) -> None:
    assert set(BROKEN) == set(CASES)
    case = CASES[name]
    starts: Any = case.meta["starts"]
    (tool,) = set(starts) - {"easy", "fcfs", "first-fit", "conservative"}
    claim, job, at = BROKEN[name]
    assert found(case, WorkloadSchedule.of(case, starts["easy"]), *EASY) == {}
    breaches = workload_breaches(case, WorkloadSchedule.of(case, starts[tool]), EASY)
    first = min(breaches, key=lambda breach: breach.at)
    assert (first.claim, first.job, first.at) == (claim, job, at)
    assert ("easy" in {breach.claim for breach in breaches}) == (claim == "easy")


def test_the_numbers_of_a_breach_are_those_of_the_definition() -> None:
    (breach,) = workload_breaches(THREE, LATE_HEAD, ["easy"])
    assert breach.message == (
        "job 'j2' starts at 2 s on 1 node, expected to end at 1002 s: the shadow time of 'j1', the head, "
        "which needs 4 nodes, moves from 100 s (0 extra) to 1002 s"
    )
    times = {"expected_end": 1002, "shadow_time": 100, "shadow_time_after": 1002}
    assert breach.numbers == {"nodes": 1, "head": "j1", "head_nodes": 4, "extra_nodes": 0, **times}


def test_conservative_backfilling_may_idle_nodes_while_the_head_fits() -> None:
    """A reservation that is kept after jobs have ended early: why that claim is not its own."""
    problem = WorkloadProblem(2, [Job(0, 2, 5, 10), Job(0, 1, 5), Job(0, 1, 5)])
    schedule = simulate(problem, Conservative("none"))
    assert found(problem, schedule, "work-conserving") == {"work-conserving": ("j1", 5)}


def test_nodes_are_idle_for_a_profile_if_they_are_enough_for_its_first_step() -> None:
    for first, second, breaches in ((1, 2, 2), (2, 1, 0)):
        job = Job(0, first, 20, evolution=Profile([(10, first), (10, second)]))
        problem = WorkloadProblem(2, [Job(0, 1, 10), job])
        columns = [0, 10, 20], [10, 20, 30], [1, first, second]
        schedule = WorkloadSchedule(np.array([0, 1, 3]), *map(np.array, columns))
        assert workload_violations(problem, schedule) == ()
        assert len(workload_breaches(problem, schedule, ["work-conserving", "non-idling"])) == breaches


def test_run_times_limits_and_sizes() -> None:
    problem = WorkloadProblem(4, [Job(0, 2, 10, 8), Job(3, 1, 5), Job(9, 1, 5)])
    late = WorkloadSchedule(np.array([0, 1, 2, 2]), np.array([0.0, 3]), np.array([10.0, 9]), np.array([3, 1]))
    assert found(problem, late, "run-times", "limits", "sizes") == {
        "run-times": ("j1", 9),
        "limits": ("j0", 8),
        "sizes": ("j0", 0),
    }
    never = workload_breaches(problem, late, ["work-conserving"])[0]
    assert (never.job, never.at, never.message[-17:]) == ("j2", 9, "; it starts never")
    columns: Any = [0, 2, 3, 4], [0.0, 5, 3, 9], [5.0, 10, 8, 14], [2, 2, 1, 1]
    pieces = WorkloadSchedule(*map(np.array, columns))
    assert found(problem, pieces, "run-times") == {"run-times": ("j0", 5)}
    with pytest.raises(InvalidAnswer, match="the claim easy is about jobs of one piece, job 'j0' has 2"):
        workload_breaches(problem, pieces, ["easy"])


def test_malleable_jobs_change_sizes_at_points_only() -> None:
    rows = [Job(0, 2, 100, kind="malleable", min_nodes=1, max_nodes=4, speedup=Amdahl(1), points=4)]
    problem = WorkloadProblem(4, rows)

    def of(first: float, size: int) -> WorkloadSchedule:
        left = (1 - first / 100) * 100 * 2 / size
        starts, ends = np.array([0, first]), np.array([first, first + left])
        return WorkloadSchedule(np.array([0, 2]), starts, ends, np.array([2, size]))

    claims = ("points", "sizes", "run-times", "capacity", "release", "limits", "fcfs", "work-conserving")
    assert found(problem, of(25, 4), *claims) == {}
    assert found(problem, of(30, 4), *claims) == {"points": ("j0", 30)}
    assert found(problem, of(25, 5), *claims) == {"sizes": ("j0", 25), "capacity": ("j0", 25)}
    short = WorkloadSchedule(np.array([0, 1]), np.array([0.0]), np.array([60.0]), np.array([2]))
    assert found(problem, short, *claims) == {"run-times": ("j0", 60)}
    told = "claim eager is about jobs that keep their size, job 'j0' is mal"
    with pytest.raises(InvalidOption, match=told):
        workload_breaches(problem, short, ["eager"])


def test_times_that_are_no_quarters_have_a_tolerance() -> None:
    """An end and a start that are meant to be one instant: nodes are free then, and no head waits."""
    problem = WorkloadProblem(2, [Job(0, 2, 0.1 + 0.2), Job(0.1, 2, 1.1)])
    schedule = WorkloadSchedule(
        np.array([0, 1, 2]), np.array([0, 0.3]), np.array([0.1 + 0.2, 1.4]), np.array([2, 2])
    )
    assert found(problem, schedule) == {}
    late = WorkloadSchedule(np.array([0, 1, 2]), np.array([0, 0.31]), np.array([0.3, 1.41]), np.array([2, 2]))
    assert found(problem, late, "work-conserving") == {"work-conserving": ("j1", 0.3)}


def test_unknown_claims_and_other_schedules_are_refused() -> None:
    with pytest.raises(UnknownName, match=r"unknown claim 'esay'; did you mean easy"):
        workload_breaches(THREE, LATE_HEAD, ["esay"])
    with pytest.raises(InvalidAnswer, match="3 scheduled jobs for 1 submitted"):
        workload_breaches(WorkloadProblem(4, [Job(0, 1, 1)]), LATE_HEAD, ["easy"])
    assert workload_breaches(WorkloadProblem(4, []), WorkloadSchedule.of(WorkloadProblem(4, []), [])) == ()


def files(folder: Path, schedule: WorkloadSchedule = LATE_HEAD) -> tuple[Path, Path]:
    write_problem(THREE, folder / "three.json")
    write_solution(folder / "late.json", THREE, schedule, {})
    return folder / "three.json", folder / "late.json"


def test_the_command_names_the_first_breach_of_each_claim(capsys: Capture, tmp_path: Path) -> None:
    problem, schedule = files(tmp_path)
    shown = run(
        capsys, "conformance", problem, schedule, "--claims", "work-conserving, easy,fcfs", status=1
    ).splitlines()
    assert shown[0].split() == ["work-conserving", "holds"]
    assert shown[1].startswith("easy             broken: job 'j2' starts at 2 s on 1 node")
    assert shown[2].endswith("broken: job 'j2' starts at 2 s, before 'j1', which came first")
    assert shown[-1] == "2 of 3 claims do not hold"
    shown = run(capsys, "conformance", problem, schedule, "--claims", "capacity,release").splitlines()
    assert shown[-1] == "all hold (3 jobs, 4 nodes, submitted over 2 s)"


def test_the_command_says_it_in_json_too(capsys: Capture, tmp_path: Path) -> None:
    problem, schedule = files(tmp_path)
    said = run_json(capsys, "conformance", problem, schedule, "--claims", "easy,capacity", status=1)
    assert (said["holds"], said["breaches"]["capacity"]) == (False, None)
    assert (said["breaches"]["easy"]["job"], said["breaches"]["easy"]["at"]) == ("j2", 2)
    assert said["breaches"]["easy"]["numbers"]["shadow_time_after"] == 1002
    said = run_json(capsys, "conformance", problem, schedule, "--claims", "sizes")
    assert said == {"holds": True, "tolerance_s": 0, "never_run": 0, "breaches": {"sizes": None}}


@pytest.mark.parametrize("left", [1, 2, 3])
def test_the_command_says_how_many_jobs_never_run(left: int, capsys: Capture, tmp_path: Path) -> None:
    problem, _ = files(tmp_path)
    rows = ["j0,0,100,0-2", "j2,2,1002,3"][: 3 - left]
    (tmp_path / "jobs.csv").write_text(
        "\n".join(["job_id,starting_time,finish_time,allocated_resources", *rows, ""])
    )
    asked = ("conformance", problem, tmp_path / "jobs.csv", "--claims", "run-times")
    said = f"{left} of 3 jobs never run{'s' * (left == 1)}"
    assert run(capsys, *asked, status=1).splitlines()[-2:] == [said, "1 of 1 claim does not hold"]
    assert run_json(capsys, *asked, status=1)["never_run"] == left


def test_tables_of_other_programs_are_held_to_claims(capsys: Capture, tmp_path: Path) -> None:
    problem, _ = files(tmp_path)
    (tmp_path / "jobs.csv").write_text(
        "job_id,starting_time,finish_time,allocated_resources\nj0,0,100,0-2\nj1,1002,1012,0-3\nj2,2,1002,3\n"
    )
    (tmp_path / "job_statistics.csv").write_text(
        "ID,Submit Time,Start Time,End Time\n0,0,0,100\n1,1,1002,1012\n2,2,2,1002\n"
    )
    for name in ("jobs.csv", "job_statistics.csv"):  # one of them is read with a warning
        assert main(["conformance", str(problem), str(tmp_path / name), "--claims", "easy", "--json"]) == 1
        assert json.loads(capsys.readouterr().out)["breaches"]["easy"]["at"] == 2


def test_a_picture_marks_the_job_and_the_instant(capsys: Capture, tmp_path: Path) -> None:
    problem, schedule = files(tmp_path)
    picture = tmp_path / "breach.svg"
    command = ("conformance", problem, schedule, "--picture", picture, "--claims")
    shown = run(capsys, *command, "release")
    assert shown.endswith(f"no breach, so {picture} was not written\n")
    assert not picture.exists()
    run(capsys, *command, "easy", status=1)
    text = picture.read_text(encoding="utf-8")
    assert '<path class="line"' in text
    assert "><title>2 s</title>" in text
    assert 'class="median"' in text
    assert "><title>j2</title>" in text
    assert "exists; --force replaces it" in refused(capsys, *command, "easy")


def test_a_picture_of_a_long_schedule_shows_the_part_around_the_instant() -> None:
    count = 1000
    problem = WorkloadProblem(2, Jobs([10 * idx for idx in range(count)], [1] * count, [5] * count))
    starts = [10.0 * idx for idx in range(count)]
    starts[700] += 3
    schedule = WorkloadSchedule.of(problem, starts)
    (breach,) = workload_breaches(problem, schedule, ["work-conserving"])
    assert (breach.job, breach.at) == ("j700", 7000)
    text = str(breach_picture(problem, schedule, breach))
    assert 80 < text.count("nodes from") + text.count("node from") < 130
    assert "j700: 1 node from 7003 s" in text


def test_what_has_no_claims_is_refused(capsys: Capture, tmp_path: Path) -> None:
    problem, schedule = files(tmp_path)
    command = ("conformance", problem, schedule, "--claims")
    assert "unknown claim 'esay'; did you mean easy" in refused(capsys, *command, "esay")
    assert "easy is named twice" in refused(capsys, *command, "easy,easy")
    assert "'' names no claim" in refused(capsys, *command, "")
    assert "the following arguments are required: --claims" in refused(capsys, *command[:-1])
    other = tmp_path / "evolution.json"
    write_problem(EvolutionProblem(4, (EvolutionProfile(((1, 1),)),)), other)
    said = refused(capsys, "conformance", other, schedule, "--claims", "easy")
    assert "only answers of the family workload have claims, this is of the family evolution" in said
