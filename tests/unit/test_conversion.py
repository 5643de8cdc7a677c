"""Files of other programs: what they cannot hold, real examples of them, and schedules that others made."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import json
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from cli_tools import Capture, refused, run, run_json
from hypothesis import given, strategies as st
from process_tools import python

from allocsolve.bench import RecordStore, verify_records
from allocsolve.cli import main
from allocsolve.errors import InvalidAnswer, InvalidOption, UnknownName
from allocsolve.instances import (
    elastic_workload,
    lublin1999,
    read_batsim,
    read_elastisim,
    read_problem,
    read_solution,
    write_elastisim,
    write_problem,
    write_solution,
)
from allocsolve.instances.formats.simulators.conversion import CONVERSIONS
from allocsolve.instances.formats.simulators.elastisim import NODE_PREFIX
from allocsolve.instances.formats.simulators.formula import parse_formula
from allocsolve.instances.formats.simulators.swf import swf_text
from allocsolve.judge import value
from allocsolve.judge.workload.rules import workload_violations
from allocsolve.model import (
    Amdahl,
    EvolutionProblem,
    EvolutionProfile,
    Job,
    Jobs,
    Mesh,
    Partition,
    PartitionProblem,
    PowerLaw,
    Requests,
    SpeedupTable,
    WorkloadProblem,
    WorkloadSchedule,
)
from allocsolve.registry import solve

if TYPE_CHECKING:
    from allocsolve.model import Problem


THREE = WorkloadProblem(
    4,
    [
        Job(0, 3, 100, limit=120, user="ada"),
        Job(1, 2, 60, min_nodes=1, max_nodes=4, speedup=Amdahl(0.9), weight=2),
        Job(2, 1, 30),
    ],
    name="three",
)
SCHEDULE = WorkloadSchedule.of(THREE, [0, 100, 2])


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Return a problem and an answer to it."""
    problem, answer = tmp_path / "P.json", tmp_path / "A.json"
    write_problem(THREE, problem)
    write_solution(answer, THREE, SCHEDULE, {})
    return problem, answer


def test_as_json(files: tuple[Path, Path], capsys: Capture) -> None:
    problem, answer = files
    told = run_json(capsys, "convert", problem, problem.parent / "els", "--solution", answer)
    assert (told["from_format"], told["format"], told["num_jobs"]) == ("json", "elastisim", 3)
    assert (told["not_read"], told["not_held"]) == ({}, {})
    assert told["to"] == str(problem.parent / "els")
    told = run_json(capsys, "convert", problem.parent / "els", problem.parent / "back.json")
    assert (told["from_format"], told["format"], told["not_read"]) == ("elastisim", "json", {})
    assert read_problem(problem.parent / "back.json") == THREE
    assert read_solution(problem.parent / "els" / "schedule.csv", THREE) == SCHEDULE


@pytest.mark.parametrize("name", CONVERSIONS)
def test_every_format(files: tuple[Path, Path], name: str, capsys: Capture) -> None:
    problem, answer = files
    out = problem.parent / f"out.{name}" if not CONVERSIONS[name].is_folder else problem.parent / "folder"
    given = [] if CONVERSIONS[name].answer == "never" else ["--solution", answer]
    if CONVERSIONS[name].answer == "needed":
        assert "shows a solution: --solution FILE" in refused(
            capsys, "convert", problem, out, "--format", name
        )
    if CONVERSIONS[name].answer == "never":
        said = refused(capsys, "convert", problem, out, "--format", name, "--solution", answer)
        assert f"there is no room for a schedule in --format {name}" in said
    assert not out.exists()
    told = run_json(capsys, "convert", problem, out, "--format", name, *given)
    assert told["format"] == name
    assert out.exists()
    said = refused(capsys, "convert", problem, out, "--format", name, *given)
    assert "--force replaces" in said
    run(capsys, "convert", problem, out, "--format", name, *given, "--force")


def test_other_families_have_problem_files_only(tmp_path: Path, capsys: Capture) -> None:
    problem = EvolutionProblem(8, (EvolutionProfile([(60, 2), (30, 8)]),))
    write_problem(problem, tmp_path / "E.json")
    run(capsys, "convert", tmp_path / "E.json", tmp_path / "E.csv")
    assert read_problem(tmp_path / "E.csv") == problem


def test_logs_are_read_as_they_are(tmp_path: Path, capsys: Capture) -> None:
    lines = [
        "; MaxNodes: 8",
        "; MaxProcs: 8",
        "1 50 5 60 4 -1 -1 4 30 -1 1 1 1 1 1 -1 -1 -1",
        "2 60 0 0 4 -1 -1 4 30 -1 1 1 1 1 1 -1 -1 -1",
        "x 60",
    ]
    with gzip.open(tmp_path / "log.swf.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    told = run_json(capsys, "convert", tmp_path / "log.swf.gz", tmp_path / "P.json")
    assert told["not_read"] == {
        "job lines that were dropped (faulty)": 1,
        "job lines that were dropped (no run time)": 1,
        "line 5: 2 fields instead of 18": 1,
        "recorded starts (`allocsolve import --recorded` writes them)": 1,
    }
    problem = read_problem(tmp_path / "P.json")
    assert isinstance(problem, WorkloadProblem)
    assert (problem.jobs[0].submit, problem.jobs[0].limit, problem.jobs[0].name) == (50, 30, "1")
    (tmp_path / "none.swf").write_text("; MaxProcs: 8\n")
    assert "there is no job in it" in refused(capsys, "convert", tmp_path / "none.swf", tmp_path / "Q.json")


def test_windows_and_jobs_that_change_or_never_run() -> None:
    jobs = [Job(0, 2, 60, min_nodes=1, max_nodes=4, speedup=Amdahl(1), kind="malleable"), Job(9, 1, 5)]
    problem = WorkloadProblem(4, jobs)
    schedule = WorkloadSchedule(
        np.array([0, 2, 2]), np.array([0.0, 40]), np.array([40.0, 50]), np.array([2, 4])
    )
    first, second = swf_text(problem, schedule).splitlines()[-2:]
    assert first.split()[:5] == ["1", "0", "0", "50", "2"]
    assert (second.split()[2], second.split()[10]) == ("-1", "-1")
    assert swf_text(problem, schedule, (60, 90)).splitlines()[-1].startswith(";")


def test_the_folder_of_elastisim(tmp_path: Path) -> None:
    write_elastisim(WorkloadProblem(101, THREE.jobs), tmp_path, zmq_url="tcp://localhost:5555")
    configuration = json.loads((tmp_path / "configuration.json").read_text(encoding="utf-8"))
    for name in ("jobs_file", "platform_file"):
        assert (tmp_path / configuration[name]).is_file()
    assert configuration["zmq_url"] == "tcp://localhost:5555"
    document = json.loads((tmp_path / "jobs.json").read_text(encoding="utf-8"))
    assert {(tmp_path / job["application_model"]).is_file() for job in document["jobs"]} == {True}
    platform = (tmp_path / "platform.xml").read_text(encoding="utf-8")
    assert 'radical="1000-1100"' in platform
    names = [f"{NODE_PREFIX}{number}" for number in range(1000, 1101)]
    assert sorted(names) == names
    with pytest.raises(InvalidOption, match="tick 0 is not above 0"):
        write_elastisim(THREE, tmp_path, tick=0)
    other = WorkloadSchedule.of(WorkloadProblem(1, [Job(0, 1, 1)]), [0])
    with pytest.raises(InvalidAnswer, match="1 scheduled jobs for 3 submitted"):
        write_elastisim(THREE, tmp_path, schedule=other)


def test_models_of_other_people(tmp_path: Path) -> None:
    """The model of Zojer et al. 2025, and those of laws and requests by formulas."""
    models: dict[str, tuple[object, ...]] = {
        "amdahl": ("malleable", "divide", "(flops/divide)/(1/((1-pp)+pp/num_nodes))", None),
        "power": ("moldable", 4, "flops/num_nodes^0.5/4", None),
        "flat": ("moldable", 1, "num_nodes > 2 ? flops / 2 : flops", None),
        "asks": ("evolving", 4, "flops/4/num_nodes", "num_nodes + (phase_iteration == 2 ? 3 : 0)"),
    }
    jobs = []
    arguments = {"flops": 6e10, "divide": 5, "pp": 0.75, "num_nodes_pref": "2"}
    common = {"submit_time": 3, "num_nodes_min": 1, "num_nodes_max": 4, "arguments": arguments}
    for name, (kind, iterations, flops, request) in models.items():
        tasks = [{"type": "CPU", "flops": flops, "computation_pattern": "Uniform"}]
        phase = {"iterations": iterations, "evolving_request": request, "tasks": tasks}
        (tmp_path / f"{name}.json").write_text(json.dumps({"phases": [phase]}), encoding="utf-8")
        jobs.append({"type": kind, "application_model": f"some/where/{name}.json", **common})
    (tmp_path / "jobs.json").write_text(json.dumps({"jobs": jobs}), encoding="utf-8")
    found = read_elastisim(tmp_path / "jobs.json", num_nodes=4)
    amdahl, power, flat, asks = found.problem.jobs
    assert isinstance(amdahl.speedup, Amdahl)
    assert amdahl.speedup.parallel == pytest.approx(0.75, rel=1e-9)
    assert (amdahl.runtime, amdahl.points, amdahl.kind) == (37.5, 5, "malleable")
    assert isinstance(power.speedup, PowerLaw)
    assert power.speedup.exponent == pytest.approx(0.5, rel=1e-9)
    assert flat.speedup == SpeedupTable([(1, 60), (2, 60), (3, 30), (4, 30)])
    assert asks.evolution == Requests([(0.5, 3)])
    assert asks.runtime == 30


def test_formulas() -> None:
    names = frozenset({"n"})
    for text, number in {
        "2^3^2": 512,
        "-2^2": -4,
        "7 % 4 + 1e1": 13,
        "n > 2 and n < 4 ? 1 : 0": 1,
        "n == 1 ? 1 : n == 2 ? 2 : 9": 9,
        "min(n, 2, 5) + max(1) + round(2.5)": 6,
        "1 < 2 || 1 / 0": None,
        "20 / 3 * 3": 20,
        "sqrt(16) + floor(-0.5) + abs(-3) + trunc(-1.5)": 5,
        "(1-0.9)+0.9/n": Fraction(4, 10),
    }.items():
        formula = parse_formula(text, names)
        if number is None:
            with pytest.raises(InvalidOption, match="has no value for n = 3"):
                formula({"n": 3})
        else:
            assert formula({"n": 3}) == number, text
    with pytest.raises(InvalidOption, match="is longer than 100000 characters"):
        parse_formula("1" * 100_001, names)


def test_the_example_of_elastisim(traces: Path, tmp_path: Path) -> None:
    with gzip.open(traces / "elastisim_example_jobs.json.gz", "rb") as file:
        (tmp_path / "jobs.json").write_bytes(file.read())
    task = {"type": "cpu", "flops": "flops/num_nodes^alpha", "computation_pattern": "uniform"}
    task |= {"bytes": "communication_size", "communication_pattern": "all_to_all"}
    request = "phase_iteration % 2 == 0 ? num_nodes - 4 : num_nodes + 4"
    phase = {"iterations": "iterations", "evolving_request": request, "tasks": [task]}
    (tmp_path / "application_model.json").write_text(json.dumps({"phases": [phase]}), encoding="utf-8")
    found = read_elastisim(tmp_path, num_nodes=128)
    counts = np.bincount(found.problem.packed.kind)
    assert counts.tolist() == [238, 163, 80, 19]
    assert sum(isinstance(law, PowerLaw) for law in found.problem.jobs.speedups) == 262
    assert sorted(found.unheld.counts.values()) == [1, 6, 500]
    first = found.problem.jobs[1]
    # 15 iterations of 196401146004155 operations, divided by 14^alpha; ElastiSim takes alpha with 6 decimals.
    assert (first.nodes, first.submit) == (14, 81)
    assert first.runtime == pytest.approx(15 * 196401146004155 / 14**0.775077 / 1e9, rel=1e-12)


def test_batsim_kills_jobs_at_their_walltime_unless_limits_are_kept(tmp_path: Path, capsys: Capture) -> None:
    jobs = [
        {"id": name, "subtime": submit, "walltime": limit, "res": nodes, "profile": "p"}
        for name, submit, limit, nodes in (("short", 0, 2.5, 2), ("enough", 1, 7, 4), ("none", 1, -1, 1))
    ]
    document = {"nb_res": 6, "jobs": jobs, "profiles": {"p": {"type": "DelayProfile", "delay": 7}}}
    source, kept, cut = (tmp_path / name for name in ("batsim.json", "kept.json", "cut.json"))
    source.write_text(json.dumps(document), encoding="utf-8")
    killed = read_batsim(source)
    assert killed.problem.packed.runtime.tolist() == [2.5, 7, 7]
    assert list(killed.unheld.counts.values()) == [1]
    run_json(capsys, "convert", source, kept, "--limits", "keep")
    problem = read_problem(kept)
    assert isinstance(problem, WorkloadProblem)
    assert problem.packed.runtime.tolist() == [7, 7, 7]
    assert problem.jobs[0].limit == 2.5
    told = run_json(capsys, "convert", kept, cut, "--limits", "cut")
    assert told["not_read"] == {"jobs that outlive their limit, cut there": 1}
    assert read_problem(cut) == killed.problem == problem.cut_at_limits()
    with pytest.raises(UnknownName, match="limits"):
        read_batsim(source, limits="raise")


def test_the_example_of_batsim(traces: Path, tmp_path: Path, capsys: Capture) -> None:
    path = traces / "batsim_example_250jobs.json"
    found = read_batsim(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    assert (found.problem.num_nodes, len(found.problem.jobs), found.unheld.counts) == (128, 250, {})
    for job, told in zip(found.problem.jobs, document["jobs"], strict=True):
        delay = document["profiles"][told["profile"]]["delay"]
        row = (str(told["id"]), told["subtime"], told["res"], delay, told["walltime"])
        assert (job.name, job.submit, job.nodes, job.runtime, job.limit) == row
    told = run_json(capsys, "convert", path, tmp_path / "w.json", "--format", "batsim4")
    assert (told["from_format"], told["not_held"]) == ("batsim", {})
    profiles = json.loads((tmp_path / "w.json").read_text())["profiles"]
    assert {one["type"] for one in profiles.values()} == {"delay"}
    assert read_batsim(tmp_path / "w.json").problem == found.problem


EVALYS = """
import sys
import matplotlib
matplotlib.use("Agg")
from evalys.jobset import JobSet
jobs = JobSet.from_csv(sys.argv[1])
jobs.plot(with_details=True)
jobs.gantt()
load = jobs.utilisation
load = load[load.area > 1e-6]  # it adds up waits and run times once more, so that ends are off by a rounding
print(len(jobs.df), jobs.res_bounds, jobs.df.waiting_time.mean(), int(load.load.max()))
"""


@pytest.mark.skipif(importlib.util.find_spec("evalys") is None, reason="evalys is not installed")
def test_evalys_loads_and_plots_a_schedule(tmp_path: Path, capsys: Capture) -> None:
    problem = elastic_workload(lublin1999(3, num_jobs=60, num_nodes=32), share=0.5, seed=1)
    answer = solve(problem, "malleable-min").answer
    assert isinstance(answer, WorkloadSchedule)
    assert len(answer.starts) > 60
    write_problem(problem, tmp_path / "P.json")
    write_solution(tmp_path / "A.json", problem, answer, {})
    table = tmp_path / "jobs.csv"
    run(
        capsys, "convert", tmp_path / "P.json", table, "--format", "evalys", "--solution", tmp_path / "A.json"
    )
    # In a process of its own: it imports what this one must not, and warns.
    rows, bounds, wait, most = python("-c", EVALYS, table)[0].rsplit(maxsplit=3)
    assert (int(rows), bounds) == (len(answer.starts), "0-31")
    waits = answer.starts - problem.packed.submit[np.repeat(np.arange(60), np.diff(answer.offsets))]
    assert float(wait) == pytest.approx(float(waits.mean()), abs=1e-6)
    assert int(most) <= 32
    assert read_solution(table, problem) == answer


# --- Schedules ----------------------------------------------------------------------------------------


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
    argv = ["score", "p.json", "--solvers", "fcfs", "--solution", ",".join(names[:3]), "--seconds", 5]
    argv += ["--baseline", "fcfs", "--solution", ",".join(names[3:]), "--out", "out", "--json"]
    for time in ("first", "again"):
        again = ["--rerun", "failed"] if time == "again" else []
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
    told = run_json(capsys, *argv, "--solution", "rounded.csv", status=1)
    assert "job 'j0' runs for 0.333 s, but takes 0.33" in told["failures"][0]["error"]
    answers = ("--solution", "rounded.csv,exact.json")
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
    told = run_json(capsys, *argv, "--solution", "wrong.csv", "--tolerance", ".001", status=1)
    error = told["failures"][0]["error"]
    assert "the answer is not feasible within 0.001 s: from 0.8 s to 1 s up to 2 nodes" in error
    assert "--tolerance is for --solution" in refused(capsys, *argv, "--solvers", "fcfs", "--tolerance", "1")
    write_problem(FAMILIES["evolution"][0], "e.json")
    write_solution("a.json", FAMILIES["evolution"][0], solve(FAMILIES["evolution"][0], "rigid").answer, {})
    err = refused(capsys, "score", "e.json", "--solution", "a.json", "--tolerance", "1", "--out", "out")
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
    file, out = tmp_path / "p.json", tmp_path / "out"
    argv = ("score", file, "--solution", answers, "--baseline", name, "--out", out)
    told = run_json(capsys, *argv)
    assert [row["solver"] for row in told["scores"]] == [name, *answers.split(",")]
    assert len({str(row["gap"]) for row in told["scores"]}) == 1
    if kind == "partition":
        other = PartitionProblem(Mesh((4, 3)), np.arange(12) != 6, 3)
        write_solution(tmp_path / "a.json", other, Partition(np.array([0, 1, 2])), {})
        told = run_json(capsys, *argv, "--rerun", "failed", status=1)
        assert "this solves another problem" in told["failures"][0]["error"]
