"""Logs of sacct and of the Standard Workload Format, line by line."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import json
import math
from typing import TYPE_CHECKING

import pytest
from cli_tools import refused, run, run_json
from fuzz_cases import SACCT
from offenders import all_offenders
from table_logs import counted
from workload_traces import trace

from allocsolve.errors import AllocsolveError, FormatError, InvalidOption
from allocsolve.instances import (
    JobLog,
    log_problem,
    read_swf_log,
    read_table_log,
    recorded_schedule,
    swf_problem,
)
from allocsolve.instances.formats.logs.times import Clock, duration, time_limit, zone
from allocsolve.judge.workload.rules import workload_violations
from allocsolve.model import EvolutionProfile

if TYPE_CHECKING:
    from pathlib import Path

    from cli_tools import Capture

    from allocsolve.instances import JobLog


def read(folder: Path, text: str, nodes: int | None = 100, **options: object) -> JobLog:
    path = folder / "log.txt"
    path.write_text(text, encoding="utf-8")
    return read_table_log(path, "sacct", num_nodes=nodes, **options)  # type: ignore[arg-type]  # as the test has them


def table(*rows: str, head: str = "JobID|Submit|Start|End|ElapsedRaw|Timelimit|NNodes|State|User") -> str:
    return "\n".join([head, *rows]) + "\n"


def test_a_log_with_all_of_it(tmp_path: Path) -> None:
    log = read(tmp_path, SACCT, 9)
    assert counted(log) == {"job_lines": 6, "steps": 1, "no_run_time": 1, "kept": 3, "resized": 1}
    problem = log_problem(log)
    assert [dataclasses.astuple(row)[:6] for row in problem.jobs] == [
        (0, 4, 3600, 7200, "1", "u"),
        (100, 9, 100, 86_400, "2_7", "v"),
        (300, 2, 1800, 1800, "4", "u"),
    ]
    assert log.timezone == "UTC"
    assert problem.meta["timezone"] == "UTC"
    assert recorded_schedule(log).pieces(2) == ((7200, 9000, 2),)
    assert str(log.machine) == "9 nodes (given; sizes are those of AllocNodes)"


DURATIONS: dict[str, float | None] = {
    "59": 59,
    "00:59": 59,
    "1:00": 60,
    "01:02:03": 3723,
    "1-00:00:00": 86_400,
}
DURATIONS |= {"12-01:02:03": 1_040_523, "00:00:01.500": 1.5, "": None, "Unknown": None, "INVALID": None}
LIMITS: dict[str, float | None] = {
    "30": 1800,
    "30:15": 1815,
    "01:30:00": 5400,
    "2-00": 172_800,
    "2-12:30": 217_800,
    "": None,
}
LIMITS |= {"7-00:00:00": 604_800, "UNLIMITED": None, "Partition_Limit": None, "0": None, "00:00:00": None}


def test_durations_and_limits() -> None:
    with all_offenders() as offender:
        for read_text, known in ((duration, DURATIONS), (time_limit, LIMITS)):
            for text, seconds in known.items():
                with offender(f"{read_text.__name__} {text}"):
                    assert read_text(text) == seconds
            for text in ("x", "1:2:3:4", "-5", "1-", "1h", "1:xx", "--", "٣"):
                with offender(text), pytest.raises(ValueError, match="is no duration"):
                    read_text(text)


#: In Berlin.
TIMES = {
    "1704067200": 1_704_067_200,
    "2024-01-01T00:00:00": 1_704_063_600,
    "2024-01-01 00:00:00": 1_704_063_600,
    "2024-01-01T00:00:00Z": 1_704_067_200,
    "2024-01-01T00:00:00+0200": 1_704_060_000,
    "2024-01-01T00:00:00.250": 1_704_063_600.25,
    "2024-07-01T12:34:56": 1_719_830_096,
    **dict.fromkeys(("Unknown", "None", "", "0")),
}
NO_TIMES = ("yesterday", "2024-13-01T00:00:00", "2024-01-01T25:00:00", "1900-01-01T00:00:00", "-4", "9" * 16)


def test_points_in_time() -> None:
    with all_offenders() as offender:
        for text, seconds in TIMES.items():
            with offender(text):
                assert Clock(zone("Europe/Berlin")).read(text) == seconds
        for text in NO_TIMES:
            with (
                offender(text),
                pytest.raises(ValueError, match=r"is no time that is read|is before 1970|is beyond 2\^53"),
            ):
                Clock(zone("UTC")).read(text)


def test_when_clocks_are_set_back_the_elapsed_time_decides(tmp_path: Path) -> None:
    """On 2024-10-27 in Berlin there were two times from 2 to 3 o'clock."""
    rows = (
        "1|2024-10-27T00:00:00|2024-10-27T01:30:00|2024-10-27T02:30:00|7200|1-00|1|COMPLETED|u",
        "2|2024-10-27T00:00:00|2024-10-27T01:30:00|2024-10-27T02:30:00|3600|1-00|1|COMPLETED|u",
        "3|2024-10-27T00:00:00|2024-10-27T02:50:00|2024-10-27T02:10:00||1-00|1|COMPLETED|u",
        "4|2024-10-27T00:00:00|2024-10-27T02:50:00|2024-10-27T03:10:00|1200|1-00|1|COMPLETED|u",
        "5|2024-03-31T01:00:00|2024-03-31T01:30:00|2024-03-31T03:30:00|3600|1-00|1|COMPLETED|u",
    )
    log = read(tmp_path, table(*rows), timezone="Europe/Berlin")
    assert log.names == ("5", "1", "2", "3", "4")
    assert log.runs.tolist() == [3600, 7200, 3600, 1200, 1200]
    assert (log.ends - log.starts).tolist() == log.runs.tolist()
    assert counted(log)["clock_set_back"] == 3
    assert workload_violations(log_problem(log), recorded_schedule(log)) == ()


def test_a_zone_that_is_none_is_refused(tmp_path: Path) -> None:
    for name in ("Europe/Nowhere", "", "../../etc/passwd", "\0"):
        with pytest.raises(AllocsolveError, match="there is no time zone"):
            read(tmp_path, SACCT, timezone=name)


def test_the_lines_of_a_resized_job_become_one(tmp_path: Path) -> None:
    rows = (
        "1|100|200|300|100|60|4|RESIZING|u",
        "2|100|250|260|10|60|1|COMPLETED|u",
        "1|100|300|450|150|60|8|RESIZING|u",
        "1|100|450|500|50|60|2|COMPLETED|u",
    )
    log = read(tmp_path, table(*rows))
    assert log.names == ("1", "2")
    assert (log.starts[0], log.ends[0], log.runs[0], log.nodes[0]) == (200, 500, 300, 8)
    assert counted(log) == {"job_lines": 4, "kept": 2, "resized": 2}


def test_a_requeued_job_is_another_one_and_a_repeated_line_is_not(tmp_path: Path) -> None:
    rows = (
        "1|100|200|300|100|60|4|NODE_FAIL|u",
        "1|300|400|500|100|60|4|COMPLETED|u",
        "1|300|400|500|100|60|4|COMPLETED|u",
    )
    log = read(tmp_path, table(*rows, *rows[:1]))
    assert log.names == ("1", "1#2")
    assert counted(log) == {"job_lines": 4, "duplicates": 2, "kept": 2, "requeued": 1}


def test_what_is_no_run_is_counted_by_reason(tmp_path: Path) -> None:
    rows = (
        "1.batch|100|200|300|100|60|4|COMPLETED|",
        "1.0|100|200|300|100|60|4|COMPLETED|",
        "2|100|None|300|0|60|4|CANCELLED by 1000|u",
        "3|100|Unknown|Unknown|0|60|4|PENDING|u",
        "4|100|200|Unknown|77|60|4|RUNNING|u",
        "5|Unknown|200|300|100|60|4|COMPLETED|u",
        "6|100|200|300|100|60|0|COMPLETED|u",
        "7|100|200|300|100|60|101|COMPLETED|u",
        "8_[1-9]|100|Unknown|Unknown|0|60|4|PENDING|u",
        "9|100|200|300|100|UNLIMITED|4|TIMEOUT|",
        "10|100|200|200|0|60|4|FAILED|u",
        "11+0|100|90|300|210|3|4|COMPLETED|u",
        "JobID|Submit|Start|End|ElapsedRaw|Timelimit|NNodes|State|User",
        "",
        "12|x|200|300|100|60|4|COMPLETED|u",
        "13|100|200|300|100|60|4|COMPLETED",
        "14|100|200|300|abc|60|4|COMPLETED|u",
        "15|100|200|300|100|60|4K|COMPLETED|u",
        "|100|200|300|100|60|4|COMPLETED|u",
    )
    log = read(tmp_path, table(*rows))
    once = ("headers", "no_submit", "cancelled", "unfinished", "no_size", "too_large", "raised_limit")
    counts = {"job_lines": 18, "faulty": 5, "steps": 2, "no_run_time": 3, "kept": 2}
    assert counted(log) == counts | dict.fromkeys((*once, "no_limit", "starts_early"), 1)
    assert log.report.faults == (
        "line 16: Submit 'x' is no time that is read: Unix seconds, or as 2024-03-04T08:00:00",
        "line 17: 8 cells for 9 columns",
        "line 18: ElapsedRaw 'abc' is no duration",
        "line 19: NNodes '4K' is no number of nodes",
        "line 20: JobID is empty",
    )
    assert workload_violations(log_problem(log), recorded_schedule(log)) == (
        "job '11+0' starts at -10 s, before its submission at 0 s",
    )


def test_columns_go_by_many_names(tmp_path: Path) -> None:
    texts = (
        "JobIDRaw|SUBMIT|Elapsed|TimelimitRaw|AllocNodes|ReqNodes|UID|\n7|1000|00:01:40|5|0|3|12|\n",
        'job_id,submit_time,start_time,end_time,time_limit,num_nodes,user_id\n"7",1000,1000,1100,,3,"a,b"\n',
        "JobID|Submit|Start|End|NNodes|User|\n7|1000|1000|1100|3||\n",
        "JobID\tSubmit\tStart\tEnd\tNCPUS\tUser\n7\t1000\t1000\t1100\t3\t\n",
    )
    for text in texts:
        log = read(tmp_path, text)
        assert (log.names, log.runs.tolist(), log.nodes.tolist()) == (("7",), [100], [3])
        assert log.starts.tolist() == [1000] or math.isnan(log.starts[0])
    assert log.machine.unit == "processors"
    log = read(tmp_path, texts[0])
    assert (log.limits.tolist(), log.users, counted(log)["requested_size"]) == ([300], ("12",), 1)


def test_shared_nodes_are_counted(tmp_path: Path) -> None:
    head = "JobID|Submit|Start|End|AllocNodes|AllocCPUS"
    text = table("1|5|5|9|2|72", "2|5|5|9|1|36", "3|5|5|9|1|1", "4|5|5|9|3|108", head=head)
    assert counted(read(tmp_path, text))["part_of_a_node"] == 1
    log = read(tmp_path, text, 1000, unit="processors")
    assert log.nodes.tolist() == [72, 36, 1, 108]
    assert "part_of_a_node" not in counted(log)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "its first line has no column names"),
        ("JobID           Submit\n------ ------\n", "looks like an export in columns of fixed width"),
        (
            "1|2|3\n",
            "no column JobID, no column Submit, neither a column ElapsedRaw nor both Start and End, no",
        ),
        ("JobID|Submit|Elapsed\n", "no column of a size: AllocNodes, NNodes, num_nodes, nodes, allo"),
        ("JobID|Submit|Start|NNodes\n", "neither a column ElapsedRaw nor both Start and End"),
    ],
)
def test_a_file_without_the_columns_is_refused(text: str, fault: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        read(tmp_path, text)
    assert fault in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_the_size_of_the_machine_must_be_given(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"size of the machine: .*\(jobs held up to 13 at a time\)"):
        read(tmp_path, SACCT, None)


def test_the_command(tmp_path: Path, capsys: Capture) -> None:
    log, out, recorded = tmp_path / "log.txt.gz", tmp_path / "p.json", tmp_path / "r.json"
    log.write_bytes(gzip.compress(SACCT.encode()))
    argv = ("import", log, "--out", out, "--recorded", recorded)
    assert "give the number of nodes" in refused(capsys, *argv)
    text = run(capsys, *argv, "--nodes", 9)
    assert "6 job lines, 1 steps, 1 no run time, 3 kept, 1 resized\n" in text
    assert "times without a zone are those of UTC (--timezone)\n" in text
    assert f"{recorded}: the schedule as recorded, 1 violation: " in text
    told = run_json(capsys, *argv, "--nodes", 13, "--force", "--timezone", "Europe/Berlin")
    assert (told["timezone"], told["violations"], told["log"]["kept"]) == ("Europe/Berlin", [], 3)
    assert "there is no time zone 'Mars'" in refused(
        capsys, *argv, "--nodes", 9, "--force", "--timezone", "Mars"
    )


def test_the_report(tmp_path: Path, capsys: Capture) -> None:
    log, out, report = tmp_path / "log.txt", tmp_path / "p.json", tmp_path / "report.json"
    log.write_text(SACCT + "x\n", encoding="utf-8")
    argv = ("import", log, "--nodes", 9, "--out", out, "--report", report)
    run(capsys, *argv)
    told = json.loads(report.read_text(encoding="utf-8"))
    about = {"import", "log", "sha256", "machine", "timezone", "job_lines", "kept", "header"}
    assert set(told) == about | {"dropped", "changed", "unusual", "faults"}
    assert (told["import"], told["log"], told["timezone"]) == ("sacct", "log.txt", "UTC")
    assert told["sha256"] == hashlib.sha256(log.read_bytes()).hexdigest()
    assert told["faults"] == ["line 8: 1 cells for 9 columns"]
    assert (told["changed"]["resized"], told["dropped"]["steps"], told["dropped"]["faulty"]) == (1, 1, 1)
    lines = told["kept"] + sum(told["dropped"].values()) + told["changed"]["resized"]
    assert told["job_lines"] == lines == 7
    assert "exists; --force replaces it" in refused(capsys, *argv[:5], tmp_path / "q.json", *argv[6:])
    assert "writes it twice" in refused(capsys, *argv[:-1], out, "--force")


def test_a_real_log(traces: Path) -> None:
    path = trace(traces, "cirrus_2024Q1_sacct.csv.gz")
    log = read_table_log(path, "sacct", num_nodes=12_960, unit="processors")
    counts = {"job_lines": 11_635, "cancelled": 199, "no_run_time": 2, "kept": 11_434, "no_limit": 11_434}
    assert counted(log) == counts
    assert workload_violations(log_problem(log), recorded_schedule(log)) == ()
    shared = read_table_log(path, "sacct", num_nodes=360)
    assert counted(shared)["part_of_a_node"] == 10_619


# --- Swf ----------------------------------------------------------------------------------------------

HEADER = "; MaxProcs: 100\n"


def job(
    number: object,
    submit: object = 0,
    run: object = 60,
    allocated: object = 4,
    requested: object = 4,
    limit: object = 3600,
) -> str:
    return f"{number} {submit} 0 {run} {allocated} -1 -1 {requested} {limit} -1 1 1 1 -1 -1 -1 -1 -1\n"


def read_swf(folder: Path, text: str, *, num_nodes: int | None = None) -> JobLog:
    path = folder / "log.swf"
    path.write_text(text, encoding="utf-8")
    return read_swf_log(path, num_nodes=num_nodes)


def jobs_of(log: JobLog) -> list[tuple[str, float, float, int]]:
    """Return name, submission, run time and size of each job."""
    columns = (column.tolist() for column in (log.submits, log.runs, log.nodes))
    return list(zip(log.names, *columns, strict=True))


def check_counts(log: JobLog, job_lines: int, kept: int, **others: int) -> None:
    counts = {name: count for name, count in log.report.counts().items() if count}
    assert counts == {"job_lines": job_lines, "kept": kept, **others}
    assert len(log.names) == kept


def test_a_clean_log(tmp_path: Path) -> None:
    log = read_swf(tmp_path, HEADER + "\n" + job(1, 5) + "  " + job(2, 7, 61, 100) + "\n")
    assert jobs_of(log) == [("1", 5, 60, 4), ("2", 7, 61, 100)]
    assert (log.source, log.num_nodes, log.header) == ("log.swf", 100, {"MaxProcs": "100"})
    assert log.limits.tolist() == [3600, 3600]
    assert log.sha256 == hashlib.sha256((tmp_path / "log.swf").read_bytes()).hexdigest()
    assert not any(column.flags.writeable for column in (log.submits, log.runs, log.nodes))
    check_counts(log, 2, 2)
    assert str(log.report) == "2 job lines, 2 kept"


@pytest.mark.parametrize(
    ("header", "size"),
    [
        ("; MaxProcs: 128\n; MaxNodes: 15\n", 128),
        ("; MaxNodes: 16\n", 16),
        (";MaxProcs:128\n", 128),
        ("  ;\t  MaxProcs : 128\n", 128),
        ("; MaxProcs: 128 (64 batch, 64 interactive)\n", 128),
        ("; MaxProcs: about 128\n", 128),
        ("; MaxProcs: -1\n; MaxNodes: 16\n", 16),
        ("; MaxProcs: unknown\n; MaxNodes: 16\n", 16),
        (f"; MaxProcs: {'9' * 5000}\n; MaxNodes: 16\n", 16),
        ("; MaxProcs: 128\n; Note: it was smaller at first\n;   MaxProcs: 64\n", 128),
        ("\ufeff; MaxProcs: 128\r\n", 128),
    ],
    ids=lambda value: str(value)[:30],
)
def test_the_size_of_the_machine(tmp_path: Path, header: str, size: int) -> None:
    log = read_swf(tmp_path, header + job(1))
    assert log.num_nodes == size
    check_counts(log, 1, 1)


def test_header_keys_may_repeat_and_prose_is_no_key(tmp_path: Path) -> None:
    text = "; Note: one\n; Information: here\n;    http://example.org/\n; two words: no\n;Note:two\n;\n"
    log = read_swf(tmp_path, text + job(1), num_nodes=4)
    assert log.header == {"Note": "one\ntwo", "Information": "here"}


def test_an_unsorted_log_is_sorted_and_ties_keep_their_order(tmp_path: Path) -> None:
    log = read_swf(tmp_path, HEADER + "".join(job(number, 10 * (number % 2)) for number in range(100, 0, -1)))
    assert log.names == tuple(map(str, [*range(100, 0, -2), *range(99, 0, -2)]))
    assert log.submits.tolist() == [0] * 50 + [10] * 50
    check_counts(log, 100, 100, unsorted=49)


def test_of_runs_of_one_job_at_a_time_the_first_is_kept(tmp_path: Path) -> None:
    log = read_swf(tmp_path, HEADER + job(1, run=0) + job(2, 3) + job(1, 5, 8) + job(1, 4, 9) + job(2, 1))
    assert jobs_of(log) == [("2", 3, 60, 4), ("1", 5, 8, 4)]
    check_counts(log, 5, 2, no_run_time=1, duplicates=2)


def test_times_of_applications_are_rounded_up(tmp_path: Path) -> None:
    lines = [job(1, "0.2", "59.01"), job(2, "1e0", "7.0"), job(3, 2, "0.001"), job(4, 3, "-0.5")]
    problem = swf_problem(read_swf(tmp_path, HEADER + "".join(lines)))
    assert problem.applications == tuple(EvolutionProfile([(seconds, 4)]) for seconds in (60, 7, 1))
    assert problem.releases == (0, 0, 1)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("1 0 0 60 4\n", "line 3: 5 fields instead of 18"),
        (job(1, run="6O"), "line 3: field 4 (run) '6O' is not a number"),
        (job("j1"), "line 3: field 1 (job number) 'j1' is not a number"),
        (job(1, submit="nan"), "line 3: field 2 (submit) 'nan' is not a number"),
        (job(1, run="1_000"), "line 3: field 4 (run) '1_000' is not a number"),
        (job(1).replace("-1 -1 4", "-1 x 4"), "line 3: field 7 (not used) 'x' is not a number"),
        (job(1, run="inf"), "line 3: field 4 (run) 'inf' is beyond 2^53"),
        (job(1, limit=-(2**53) - 1), "line 3: field 9 (requested time) '-9007199254740993' is beyond 2^53"),
        (job(1, submit=-1), "line 3: field 2 (submit) '-1' is below 0"),
        (job(-1), "line 3: field 1 (job number) '-1' is below 0"),
        (job(1, allocated="2.5"), "line 3: field 5 (allocated) '2.5' is not whole"),
        (job("9" * 5000), "line 3: field 1 (job number) '99999999999999999999' is beyond 2^53"),
        ("\0\x1b[31m" * 18 + "\n", "line 3: 1 fields instead of 18"),
    ],
    ids=lambda value: value[:40] if value.startswith("line") else "",
)
def test_a_faulty_line_is_counted_and_named_and_the_rest_is_kept(
    tmp_path: Path, line: str, fault: str
) -> None:
    log = read_swf(tmp_path, HEADER + job(7) + line + job(8))
    assert log.names == ("7", "8")
    check_counts(log, 3, 2, faulty=1)
    assert log.report.faults == (fault,)
    assert str(log.report) == f"3 job lines, 1 faulty, 2 kept; {fault}"


def test_text_in_another_encoding_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_bytes(b"; Acknowledge: M\xfcller\n" + (HEADER + job(1)).encode())
    check_counts(read_swf_log(path), 1, 1)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (gzip.compress((HEADER + job(1) * 999).encode())[:-20], "Compressed file ended before the end-of-st"),
        (gzip.compress(HEADER.encode())[:-8] + b"\0" * 8, "CRC check failed"),
        (gzip.compress(HEADER.encode(), 0).replace(b"MaxProcs", b"MaxNodes"), "CRC check failed"),
        (gzip.compress(b"")[:10] + b"\xff" * 40, "Error -3 while decompressing data"),
        (HEADER.encode(), "Not a gzipped file"),
    ],
    ids=["truncated", "no checksum", "changed", "garbage", "plain text"],
)
def test_a_damaged_archive_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "log.swf.gz"
    path.write_bytes(content)
    with pytest.raises(FormatError) as caught:
        read_swf_log(path)
    assert str(caught.value).startswith(f"{path}: cannot be read: {reason}")
    assert len(str(caught.value).splitlines()) == 1


LOG = (
    HEADER + job(11, 500, 60, 4) + job(12, 510, 0) + job(13, 520, 61, 5) + job(14, 520, 62, 6) + job(15, 599)
)


def test_a_window_counts_kept_jobs_and_releases_from_its_first(tmp_path: Path) -> None:
    problem = swf_problem(read_swf(tmp_path, LOG), from_job=1, jobs=3)
    assert problem.name == "log-from1-jobs3"
    assert problem.num_nodes == 100
    assert problem.application_names == ("j11", "j13", "j14")
    assert problem.applications == tuple(EvolutionProfile((step,)) for step in ((60, 4), (61, 5), (62, 6)))
    assert problem.releases == (0, 20, 20)
    queued = swf_problem(read_swf(tmp_path, LOG), from_job=2, jobs=3, queued=True)
    assert (queued.name, queued.releases) == ("log-from2-jobs3-queued", (0, 0, 0))
    assert queued.meta == {
        "log": "log.swf",
        "sha256": hashlib.sha256((tmp_path / "log.swf").read_bytes()).hexdigest(),
        "machine": "100 processors (MaxProcs of the header)",
        "limits": "at-least-run",
        "from_job": 2,
        "jobs": 3,
        "cleaning": {"job_lines": 5, "kept": 4, "no_run_time": 1},
        "rounding": "ceil",
        "queued": True,
    }


@pytest.mark.parametrize(
    ("from_job", "jobs", "window"), [(0, 2, "0..1"), (1, 0, "from 1 on"), (2, 4, "2..5"), (9, 1, "9..9")]
)
def test_a_window_outside_the_log_is_refused(tmp_path: Path, from_job: int, jobs: int, window: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        swf_problem(read_swf(tmp_path, LOG), from_job=from_job, jobs=jobs)
    report = "5 job lines, 1 no run time, 4 kept"
    assert str(caught.value) == f"jobs {window} of log.swf: it has 4 ({report})"
