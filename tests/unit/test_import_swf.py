"""Workloads of logs in the Standard Workload Format: machine, windows, limits, counts, the command."""

from __future__ import annotations

import dataclasses
import gzip
import math
from typing import TYPE_CHECKING

import pytest
from cli_tools import refused, run, run_json
from hypothesis import given, strategies as st
from table_logs import counted
from workload_traces import atlas_problem, kit_problem, knl_problem, kth_problem, swf_log

from allocsolve.errors import AllocsolveError, FormatError, InvalidOption
from allocsolve.instances import log_problem, read_problem, read_solution, read_swf_log, recorded_schedule
from allocsolve.judge.workload.rules import workload_violations
from allocsolve.model import WorkloadProblem

if TYPE_CHECKING:
    from pathlib import Path

    from cli_tools import Capture

    from allocsolve.instances import JobLog

HEADER = "; MaxProcs: 100\n; UnixStartTime: 1000000\n"


def job(
    number: object,
    submit: object = 0,
    run: object = 60,
    size: object = 4,
    *,
    wait: object = 5,
    requested: object = -1,
    limit: object = 3600,
    status: object = 1,
    user: object = 3,
    more: str = "",
) -> str:
    fields = [number, submit, wait, run, size, -1, -1, requested, limit, -1, status, user, *[-1] * 6]
    return f"{' '.join(map(str, fields))}{more}\n"


def read(folder: Path, text: str, **options: object) -> JobLog:
    path = folder / "log.swf"
    path.write_text(text, encoding="utf-8")
    return read_swf_log(path, **options)  # type: ignore[arg-type]  # as the test has them


@given(
    rows=st.lists(
        st.tuples(*(st.sampled_from([-1, 0, 5, 2.5]) for _ in range(3)), st.sampled_from([4, 999])),
        min_size=1,
        max_size=6,
    )
)
def test_what_holds_jobs_back_and_is_left_out_is_told(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[float, float, float, int]]
) -> None:
    """Of the jobs that are kept, those with a requested memory, a dependency or a think time above 0."""
    text = ""
    for number, (memory, before, think, size) in enumerate(rows, 1):
        fields = job(number, number, size=size).split()
        fields[9], fields[16], fields[17] = map(str, (memory, before, think))
        text += f"{' '.join(fields)}\n"
    log = read(tmp_path_factory.mktemp("log"), HEADER + text)
    kept = [row for row in rows if row[3] == 4]
    counts = [sum(row[column] > 0 for row in kept) for column in range(3)]
    named = dict(zip(("requested memory", "dependency", "think time"), counts, strict=True))
    assert log.asked.left_out == {name: count for name, count in named.items() if count}
    assert (log.asked.remark() is None) == (not any(counts))


def test_the_commands_tell_what_is_left_out(tmp_path: Path, capsys: Capture) -> None:
    log = tmp_path / "log.swf"
    first, second = job(1).split(), job(2, 9).split()
    second[16:] = ["1", "10"]
    log.write_text(f"{HEADER}{' '.join(first)}\n{' '.join(second)}\n")
    line = "left out, as no option names them (jobs): dependency (1), think time (1)"
    assert line in run(capsys, "import", "swf", log, "--out", tmp_path / "p.json").splitlines()
    told = run_json(capsys, "convert", log, tmp_path / "q.json")
    assert {"dependency of jobs", "think time of jobs"} <= {*told["not_read"]}


def test_a_clean_log_is_a_workload(tmp_path: Path) -> None:
    log = read(tmp_path, HEADER + job(7, 50) + job(9, 60.5, 61.25, 100, wait=0, user=-1))
    problem = log_problem(log)
    assert problem.num_nodes == 100
    assert problem.name == "log"
    assert [dataclasses.astuple(row)[:6] for row in problem.jobs] == [
        (0, 4, 60, 3600, "7", "3"),
        (10.5, 100, 61.25, 3600, "9", None),
    ]
    assert problem.meta["unix_time"] == 1_000_050
    assert str(log.machine) == "100 processors (MaxProcs of the header)"
    assert not any(column.flags.writeable for column in (log.submits, log.runs, log.nodes, log.limits))
    schedule = recorded_schedule(log)
    assert [schedule.pieces(idx) for idx in range(2)] == [((5, 65, 4),), ((10.5, 71.75, 100),)]
    assert workload_violations(problem, schedule) == (
        "from 10.5 s to 65 s up to 104 nodes are held (first at 10.5 s) on a cluster of 100",
    )
    assert log_problem(log, origin="header").jobs[0].submit == 50


def test_every_line_is_counted(tmp_path: Path) -> None:
    lines = [
        job(1),
        "garbage\n",
        job(2, run=0, status=5),
        job(3, run=-1, size=-1, status=5),
        job(4, run=0),
        job(5, size=-1),
        job(6, size=101),
        job(7, size=-1, requested=8),
        job(8, 3, limit=-1),
        job(1, 1),
        job(9, 2, limit=59),
        job(10, wait=-1),
        job(11, 4, status=0),
        job(11, 4, 20, status=2),
        job(11, 4, 40, status=3),
        job(12, 4, more=" 0 0 x"),
    ]
    log = read(tmp_path, HEADER + "".join(lines))
    once = ["faulty", "no_run_time", "no_size", "too_large", "duplicates", "requested_size", "raised_limit"]
    once += ["no_limit", "no_recorded_start", "more_fields"]
    counts = {"job_lines": 16, "partial": 2, "cancelled": 2, "kept": 7, "unsorted": 2}
    assert counted(log) == counts | dict.fromkeys(once, 1)
    assert log.names == ("1", "7", "10", "9", "8", "11", "12")
    assert log.limits[3] == 60
    assert math.isnan(log.limits[4])
    assert log_problem(log).jobs[4].limit is None
    assert log.report.faults == ("line 4: 1 fields instead of 18",)
    assert workload_violations(log_problem(log), recorded_schedule(log)) == ("job '10' never runs",)


def test_limits_are_left_and_jobs_cut_at_them_if_asked(tmp_path: Path) -> None:
    """The run time and the recorded end are the limit; a job without one is left alone."""
    log = read(tmp_path, HEADER + job(1, limit=59), limits="keep")
    assert log.limits.tolist() == [59]
    assert counted(log) == {"job_lines": 1, "kept": 1, "above_limit": 1}
    assert log_problem(log).jobs[0].limit == 59
    lines = HEADER + job(1, limit=59) + job(2, limit=61) + job(3, limit=-1)
    log = read(tmp_path, lines, limits="cut")
    assert log.limits.tolist()[:2] == [59, 61]
    assert log.runs.tolist() == [59, 60, 60]
    assert (log.ends - log.starts).tolist() == [59, 60, 60]
    assert log.report.changed["cut_at_limit"] == 1
    assert log.report.unusual["above_limit"] == log.report.changed["raised_limit"] == 0
    assert log_problem(log).meta["limits"] == "cut"


def test_a_later_run_of_one_job_has_a_name_of_its_own(tmp_path: Path) -> None:
    log = read(tmp_path, HEADER + job(1) + job(1, 100) + job(1, 60, 1) + job(1, 110))
    assert log.names == ("1", "1#3", "1#2")
    assert counted(log) == {"job_lines": 4, "duplicates": 1, "kept": 3, "requeued": 2, "unsorted": 1}


BOTH = "MaxProcs: 64\n; MaxNodes: 8"


@pytest.mark.parametrize(
    ("header", "sizes", "options", "machine", "taken"),
    [
        (BOTH, (8, 64), {}, "8 nodes (MaxNodes of the header; 8 processors each)", (1, 8)),
        (BOTH, (8, 63), {}, "64 processors (MaxProcs of the header)", (8, 63)),
        (BOTH, (8, 63), {"unit": "nodes"}, "8 nodes (MaxNodes of the header; 8 processors each)", (1, 8)),
        (BOTH, (8, 64), {"unit": "processors"}, "64 processors (MaxProcs of the header)", (8, 64)),
        (BOTH, (8, 64), {"num_nodes": 64}, "64 processors (given)", (8, 64)),
        (BOTH, (8, 56), {"num_nodes": 7}, "7 nodes (given; 8 processors each)", (1, 7)),
        ("MaxProcs: 512", (8, 338), {"num_nodes": 338}, "338 processors (given)", (8, 338)),
        ("MaxNodes: 16 (of 4)", (4, 16), {}, "16 nodes (MaxNodes of the header)", (4, 16)),
        ("MaxProcs: 100\n; MaxNodes: 100", (4, 16), {}, "100 nodes (MaxNodes of the header)", (4, 16)),
        ("MaxProcs: 24048\n; MaxNodes: 1172", (20,), {}, "24048 processors (MaxProcs of the header)", (20,)),
        ("Note: none", (4, 16), {"num_nodes": 20}, "20 processors (given)", (4, 16)),
    ],
)
def test_the_machine_is_told(
    header: str,
    sizes: tuple[int, ...],
    options: dict[str, object],
    machine: str,
    taken: object,
    tmp_path: Path,
) -> None:
    text = f"; {header}\n" + "".join(job(idx, size=size) for idx, size in enumerate(sizes))
    log = read(tmp_path, text, **options)
    assert str(log.machine) == machine
    assert tuple(log.nodes.tolist()) == taken


def test_a_part_of_a_node_counts_as_a_whole_one(tmp_path: Path) -> None:
    text = "; MaxProcs: 64\n; MaxNodes: 8\n" + job(1, size=9) + job(2, size=8)
    log = read(tmp_path, text, unit="nodes")
    assert log.nodes.tolist() == [2, 1]
    assert counted(log) == {"job_lines": 2, "kept": 2, "part_of_a_node": 1}


def test_logs_of_frontier_tell_nodes_in_field_21(tmp_path: Path) -> None:
    text = (
        "; UnixStartTime: 5\n"
        + job(1, size=280000, more=" 8 60 frontier:excl:2500x112")
        + job(2, size=2, more=" 8 60 frontier:excl:2x112")
    )
    log = read(tmp_path, text, num_nodes=9408)
    assert log.nodes.tolist() == [2500, 2]
    assert str(log.machine) == "9408 nodes (sizes of field 21, given)"
    assert read(tmp_path, text, num_nodes=10**6, unit="processors").nodes.tolist() == [280_000, 224]
    with pytest.raises(FormatError, match=r"size of the machine: .*jobs held up to 2502 at a time"):
        read(tmp_path, text)


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="MaxProcs 100 of the header is no multiple of MaxNodes 33"):
        read(tmp_path, "; MaxProcs: 100\n; MaxNodes: 33\n" + job(1), unit="nodes")
    for options, fault in (
        ({"num_nodes": 0}, r"num_nodes 0 is not in 1\.\.2\^53"),
        ({"unit": "cores"}, "unknown unit 'cores'"),
        ({"limits": "none"}, "unknown limits 'none'"),
    ):
        with pytest.raises(AllocsolveError, match=fault):
            read(tmp_path, HEADER + job(1), **options)
    log = read(tmp_path, HEADER + job(1, wait=-1))
    with pytest.raises(FormatError, match="it tells the start of no job"):
        recorded_schedule(log)
    with pytest.raises(InvalidOption, match=r"jobs from 2 on of log\.swf: it has 1"):
        log_problem(log, from_job=2)
    with pytest.raises(InvalidOption, match=r"log.swf: none of its jobs can be used \(0 job lines\)"):
        log_problem(read(tmp_path, HEADER))
    with pytest.raises(InvalidOption, match="warm_up -1 is not in"):
        log_problem(log, warm_up=-1)


def test_windows_and_weights(tmp_path: Path) -> None:
    log = read(tmp_path, HEADER + "".join(job(idx, 10 * idx) for idx in range(1, 9)))
    problem = log_problem(log, from_job=3, jobs=5, warm_up=10, cool_down=15)
    assert problem.name == "log-from3-jobs5"
    assert problem.packed.submit.tolist() == [0, 10, 20, 30, 40]
    assert problem.packed.weight.tolist() == [0, 1, 1, 0, 0]
    assert problem.meta["unix_time"] == 1_000_030
    assert recorded_schedule(log, from_job=3, jobs=5).first_starts.tolist() == [5, 15, 25, 35, 45]


def test_the_command(tmp_path: Path, capsys: Capture) -> None:
    log, out, recorded = tmp_path / "log.swf.gz", tmp_path / "p.json", tmp_path / "r.csv"
    lines = [job(idx, idx, 60 + idx, idx) for idx in range(1, 8)]
    log.write_bytes(gzip.compress((HEADER + "".join(lines) + "not a job\n").encode()))
    argv = ("import", "swf", log, "--out", out, "--recorded", recorded, "--jobs", 3)
    text = run(capsys, *argv)
    assert text.startswith("8 job lines, 1 faulty, 7 kept; line 10: 3 fields instead of 18\n")
    assert "machine: 100 processors (MaxProcs of the header)\n" in text
    assert "the schedule as recorded, no violation" in text
    problem = read_problem(out)
    assert isinstance(problem, WorkloadProblem)
    assert problem.packed.runtime.tolist() == [61, 62, 63]
    assert read_solution(recorded, problem) == recorded_schedule(read_swf_log(log), jobs=3)
    told = run_json(capsys, *argv, "--force", "--nodes", 5, "--warm-up", 1)
    assert (told["log"]["kept"], told["log"]["too_large"]) == (5, 2)
    assert told["violations"] == ["from 7 s to 66 s up to 6 nodes are held (first at 7 s) on a cluster of 5"]
    assert told["machine"] == "5 processors (given)"
    assert "r.csv: exists" in refused(
        capsys, "import", "swf", log, "--out", tmp_path / "q", "--recorded", recorded
    )


def test_real_logs(traces: Path) -> None:
    kth, atlas, kit, knl = (make(traces) for make in (kth_problem, atlas_problem, kit_problem, knl_problem))
    assert (kth.num_nodes, len(kth.jobs)) == (100, 28_467)
    dropped = {"no_run_time": 8, "no_size": 1}
    assert kth.meta["cleaning"] == {"job_lines": 28_476, "kept": 28_467, "raised_limit": 475, **dropped}
    assert (atlas.num_nodes, len(atlas.jobs)) == (1152, 36_600)
    assert atlas.meta["machine"] == "1152 nodes (MaxNodes of the header; 8 processors each)"
    assert (kit.num_nodes, len(kit.jobs)) == (24_048, 9988)
    assert (knl.num_nodes, len(knl.jobs)) == (9688, 41_524)
    recorded = recorded_schedule(swf_log(traces, "KTH-SP2-1996-2.1-cln"))
    broken = workload_violations(kth, recorded)
    assert len(broken) == 23
    assert broken[0].startswith("from 1889398 s to 1889419 s up to 101 nodes are held")
