"""Schedules that others made: tables of Batsim, evalys and ElastiSim, and score --answers."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from cli_tools import refused, run, run_json
from hypothesis import given, strategies as st
from offenders import all_offenders

from allocsolve.bench import RecordStore, verify_records
from allocsolve.cli import main
from allocsolve.errors import FormatError
from allocsolve.instances import lublin1999, read_solution, write_problem, write_solution
from allocsolve.judge import value
from allocsolve.judge.workload.rules import workload_violations
from allocsolve.model import (
    EvolutionProblem,
    EvolutionProfile,
    Job,
    Jobs,
    Mesh,
    Partition,
    PartitionProblem,
    WorkloadProblem,
    WorkloadSchedule,
)
from allocsolve.registry import solve

if TYPE_CHECKING:
    from cli_tools import Capture

    from allocsolve.model import Problem

PROBLEM = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 1000), Job(2, 2, 5)])
STARTS = [0, 100, 110, 110]

BATSIM_HEAD = (
    "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,success,"
    "final_state,starting_time,execution_time,finish_time,waiting_time,turnaround_time,stretch,"
    "allocated_resources,consumed_energy,metadata"
)
ELASTISIM_HEAD = "ID,Type,Submit Time,Start Time,End Time,Wait Time,Makespan,Turnaround Time,Status"


def batsim(problem: WorkloadProblem, schedule: WorkloadSchedule, folder: Path, prefix: str = "w0!") -> Path:
    """Write a schedule as Batsim does."""
    path = folder / "jobs.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(f"{BATSIM_HEAD}\n")
        for idx, name in enumerate(problem.jobs.names):
            for start, end, nodes in schedule.pieces(idx):
                held = f"0-{nodes - 1}" if nodes > 1 else "7"
                row = (f"{prefix}{name}", "w0", "p", 0, nodes, 1, 1, "COMPLETED", start, end - start, end)
                csv.writer(file).writerow([*row, 0, 0, 1, held, -1, ""])
    return path


def elastisim(problem: WorkloadProblem, schedule: WorkloadSchedule, folder: Path) -> Path:
    """Write a schedule as ElastiSim does, with six digits."""
    path = folder / "job_statistics.csv"
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{ELASTISIM_HEAD}\n")
        for number, idx in enumerate(sorted(range(len(problem.jobs)), key=problem.packed.submit.__getitem__)):
            ((start, end, _),) = schedule.pieces(idx)
            submit = problem.packed.submit[idx]
            file.write(f"{number},rigid,{submit:.6g},{start:.6g},{end:.6g},1,1,1,completed\n")
    return path


@given(st.data())
def test_a_schedule_is_read_back(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 8))
    times = st.lists(st.integers(0, 900_000), min_size=count, max_size=count)
    runs = data.draw(st.lists(st.integers(1, 90_000), min_size=count, max_size=count))
    problem = WorkloadProblem(9, Jobs(data.draw(times), [1 + idx % 9 for idx in range(count)], runs))
    schedule = WorkloadSchedule.of(problem, data.draw(times))
    folder = tmp_path_factory.mktemp("foreign")
    for path in (batsim(problem, schedule, folder), elastisim(problem, schedule, folder)):
        assert read_solution(path, problem) == schedule
    write_solution(folder / "own.csv", problem, schedule, {})
    assert read_solution(folder / "own.csv", problem) == schedule


def test_six_digits_are_warned_of_and_show(tmp_path: Path) -> None:
    problem = WorkloadProblem(4, [Job(2_400_003, 2, 1001), Job(2_400_009, 2, 10)])
    told: list[str] = []
    schedule = WorkloadSchedule.of(problem, [2_400_004, 2_400_009])
    answer = read_solution(elastisim(problem, schedule, tmp_path), problem, tell=told.append)
    assert len(told) == 1
    assert "have 6 digits: beyond 10^6 s they are off by up to 5 s" in told[0]
    assert isinstance(answer, WorkloadSchedule)
    assert answer.first_starts.tolist() == [2_400_000, 2_400_010]
    assert workload_violations(problem, answer)[0].startswith("job 'j0' starts at 2400000 s, before its subm")
    read_solution(batsim(problem, schedule, tmp_path), problem, tell=told.append)
    assert len(told) == 1


def test_names_of_other_programs(tmp_path: Path) -> None:
    jobs = [Job(0, 1, 5, name="17"), Job(0, 1, 5, name="j3"), Job(0, 2, 5, name="a#2")]
    problem = WorkloadProblem(4, jobs)
    path = tmp_path / "jobs.csv"
    path.write_text(
        "job_id,starting_time,finish_time,allocated_resources\n"
        "17#2,3,5,0\n17#1,0,3,0\nw!3,1,6,1\nw!a#2,0,5,2-3\n"
    )
    answer = read_solution(path, problem)
    assert isinstance(answer, WorkloadSchedule)
    assert answer.pieces(0) == ((0, 3, 1), (3, 5, 1))
    assert (answer.pieces(1), answer.pieces(2)) == (((1, 6, 1),), ((0, 5, 2),))


def test_jobs_that_did_not_run_there_are_named_by_the_judge(tmp_path: Path) -> None:
    path = batsim(PROBLEM, WorkloadSchedule.of(PROBLEM, STARTS), tmp_path)
    lines = path.read_text().splitlines()
    rejected = lines[2].replace(",100.0,10.0,110.0,", ",-1,-1,-1,")
    path.write_text("\n".join([*lines[:2], rejected, *lines[4:]]))
    told = workload_violations(PROBLEM, read_solution(path, PROBLEM))
    assert told[:2] == ("job 'j1' never runs", "job 'j2' never runs")


BATSIM = "job_id,starting_time,finish_time,allocated_resources\n"
FAULTS = {
    BATSIM.replace(",allocated_resources", "")
    + "j0,0,100\n": "there is neither a column allocated_resources",
    BATSIM.replace("finish", "end") + "j0,0,100,0\n": "there is no column 'finish_time'",
    BATSIM + "jx,0,100,0-2\n": "line 2: the problem has no job 'jx'",
    BATSIM + "j0,0,100,a-b\n": "line 2: allocated_resources 'a-b' are no intervals such as 0-2 5",
    BATSIM + "j0,zero,100,0-2\n": "line 2: start must be a number, not 'zero'",
    BATSIM + "j0,0,1e400,0-2\n": "line 2: end ",
    BATSIM + "j0,0,100,5-1\n": "line 2: allocated_resources 5-1 ends before it begins",
    BATSIM + ",0,100,0\n": "line 2: the problem has no job ''",
    BATSIM + "j0,0,100\n": "line 2: 3 cells for 4 columns",
    BATSIM + 'j0,0,100,"0\n': "line 2: unexpected end of data",
    f"{ELASTISIM_HEAD}\n4,rigid,0,0,100,0,100,100,completed\n": "line 2: ID must be one of 0..3, not 4",
    f"{ELASTISIM_HEAD}\nx,rigid,0,0,100,0,100,100,completed\n": "line 2: ID must be one of 0..3, not 'x'",
    f"{ELASTISIM_HEAD}\n1,rigid,9,9,100,0,100,100,completed\n": "line 2: Submit Time 9, but job 'j1' is",
    f"{ELASTISIM_HEAD}\n0,rigid,0,0,soon,0,100,100,completed\n": "line 2: end must be a number, not 'soon'",
}


def test_a_fault_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    with all_offenders() as offender:
        for text, fault in FAULTS.items():
            with offender(f"{fault}: {text}"):
                path.write_text(text, encoding="utf-8")
                with pytest.raises(FormatError) as refusal:
                    read_solution(path, PROBLEM)
                assert fault in str(refusal.value)
                assert len(str(refusal.value).splitlines()) == 1
    path.write_text(f"{ELASTISIM_HEAD}\n0,rigid,0,,100,0,100,100,completed\n", encoding="utf-8")
    read_solution(path, PROBLEM)


def test_answers_beside_solvers(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    problem = lublin1999(1, num_jobs=30, num_nodes=64)
    write_problem(problem, "p.json")
    schedule = solve(problem, "fcfs").answer
    assert schedule is not None
    write_solution("own.json", problem, schedule, {})
    write_solution("own.csv", problem, schedule, {})
    batsim(problem, schedule, tmp_path)
    elastisim(problem, schedule, tmp_path)
    early = WorkloadSchedule.of(problem, schedule.first_starts - 1)
    write_solution("early.json", problem, early, {})
    (tmp_path / "junk.json").write_text("[]")
    names = ["own.json", "own.csv", "jobs.csv", "job_statistics.csv", "early.json", "junk.json"]
    argv = ["score", "p.json", "--solvers", "fcfs", "--answers", ",".join(names[:3]), "--seconds", 5]
    argv += ["--baseline", "fcfs", "--answers", ",".join(names[3:]), "--out", "out", "--json"]
    for time in ("first", "again"):
        again = ["--retry-failed"] if time == "again" else []
        assert main([*map(str, argv), *again]) == 1
        out, err = capsys.readouterr()
        assert "job_statistics.csv have 6 digits" in err
        told = json.loads(out)
        scores = {row["solver"]: row for row in told["scores"]}
        assert list(scores) == ["fcfs", *names]
        assert len({scores[name]["gap"]["mean"] for name in ("fcfs", *names[:3])}) == 1
        failures = {row["solver"]: row["error"] for row in told["failures"]}
        assert set(failures) >= {"early.json", "junk.json"}
        first = problem.jobs.names[0]
        assert f"job {first!r} starts at -1 s, before its submission" in failures["early.json"]
        as_it_stands = value(problem, early, ("turnaround",))
        assert f" more); as it stands: turnaround {as_it_stands:.7g}, slowdown " in failures["early.json"]
        assert "junk.json" in failures["junk.json"]


def test_an_answer_that_was_rounded(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """To milliseconds: jobs end before their work is done, below the optimum, which it does not refute."""
    monkeypatch.chdir(tmp_path)
    problem = WorkloadProblem(1, [Job(0, 1, 1 / 3), Job(0, 1, 2 / 3), Job(0, 1, 1.3336)])
    write_problem(problem, "p.json")
    head, rows = "job,start,end,nodes", ("j0,0,.333,1", "j1,.333,1,1", "j2,1,2.333,1")
    Path("rounded.csv").write_text("\n".join([head, *rows]))
    Path("wrong.csv").write_text("\n".join([head, *rows[:2], "j2,.8,2.133,1"]))
    write_solution("exact.json", problem, solve(problem, "fcfs").answer, {})
    argv = ["score", "p.json", "--baseline", "prices", "--objective", "makespan", "--seconds", 60]
    argv += ["--out", "out"]
    told = run_json(capsys, *argv, "--answers", "rounded.csv", status=1)
    assert "job 'j0' runs for 0.333 s, but takes 0.33" in told["failures"][0]["error"]
    answers = ("--answers", "rounded.csv,exact.json")
    for _ in ("run", "found again"):
        told = run_json(capsys, *argv, *answers, "--tolerance", ".001")
        assert (told["failures"], told["contradictions"], told["tolerance_s"]) == ([], [], 0.001)
        scores = {row["solver"]: row for row in told["scores"]}
        assert -0.001 < scores["rounded.csv"]["gap"]["mean"] < 0
        assert scores["exact.json"]["gap"]["mean"] == pytest.approx(0, abs=1e-5)
        assert [scores[name]["best"] for name in ("prices", "rounded.csv", "exact.json")] == [1, 0, 1]
    said = run(capsys, *argv, *answers, "--tolerance", ".001")
    assert "rounded.csv: judged within 0.001 s; it refutes no bound and is not the best known\n" in said
    assert "exact.json: judged" not in said
    with RecordStore("out/records.sqlite", read_only=True) as store:
        assert [*verify_records(store)] == []
    told = run_json(capsys, *argv, "--answers", "wrong.csv", "--tolerance", ".001", status=1)
    error = told["failures"][0]["error"]
    assert "the answer is not feasible within 0.001 s: from 0.8 s to 1 s up to 2 nodes" in error
    assert "--tolerance is for --answers" in refused(capsys, *argv, "--solvers", "fcfs", "--tolerance", "1")
    write_problem(FAMILIES["evolution"][0], "e.json")
    write_solution("a.json", FAMILIES["evolution"][0], solve(FAMILIES["evolution"][0], "rigid").answer, {})
    err = refused(capsys, "score", "e.json", "--answers", "a.json", "--tolerance", "1", "--out", "out")
    assert "times of evolution answers are whole, there is nothing to tolerate" in err


FAMILIES: dict[str, tuple[Problem, str]] = {
    "evolution": (
        EvolutionProblem(8, (EvolutionProfile([(60, 2), (30, 8)]), EvolutionProfile([(90, 4)]))),
        "rigid",
    ),
    "partition": (PartitionProblem(Mesh((4, 3)), np.arange(12) != 5, 3), "growth"),
}


@pytest.mark.parametrize("kind", FAMILIES)
def test_answers_of_every_family(kind: str, tmp_path: Path, capsys: Capture) -> None:
    problem, name = FAMILIES[kind]
    write_problem(problem, tmp_path / "p.json")
    for suffix in ("json", "csv"):
        write_solution(tmp_path / f"a.{suffix}", problem, solve(problem, name).answer, {})
    answers = f"{tmp_path}/a.json,{tmp_path}/a.csv"
    argv = ("score", tmp_path / "p.json", "--answers", answers, "--baseline", name, "--out", tmp_path / "out")
    told = run_json(capsys, *argv)
    assert [row["solver"] for row in told["scores"]] == [name, *answers.split(",")]
    assert len({str(row["gap"]) for row in told["scores"]}) == 1
    if kind == "partition":
        other = PartitionProblem(Mesh((4, 3)), np.arange(12) != 6, 3)
        write_solution(tmp_path / "a.json", other, Partition(np.array([0, 1, 2])), {})
        told = run_json(capsys, *argv, "--retry-failed", status=1)
        assert "this solves another problem" in told["failures"][0]["error"]


def test_answers_are_of_one_problem(tmp_path: Path, capsys: Capture) -> None:
    for idx in range(2):
        write_problem(FAMILIES["evolution"][0], tmp_path / f"p{idx}.json")
    err = refused(capsys, "score", tmp_path, "--answers", tmp_path / "p0.json", "--out", tmp_path / "out")
    assert "--answers are of one problem, not of 2" in err
    one = ("score", tmp_path / "p0.json", "--out", tmp_path / "out")
    err = refused(capsys, *one, "--answers", tmp_path / "gone")
    assert "gone: cannot be read: No such file or directory" in err
    assert "name --solvers, --answers or both" in refused(capsys, *one)
