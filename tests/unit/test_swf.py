"""The reader of workload logs: every trap of real logs, and windows as problems."""

from __future__ import annotations

import gzip
import hashlib
from typing import TYPE_CHECKING

import pytest

from allocsolve.errors import FormatError, InvalidOption
from allocsolve.instances import JobLog, read_swf_log, swf_problem
from allocsolve.model import EvolutionProfile

if TYPE_CHECKING:
    from pathlib import Path

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


def read(folder: Path, text: str, *, num_nodes: int | None = None) -> JobLog:
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
    log = read(tmp_path, HEADER + "\n" + job(1, 5) + "  " + job(2, 7, 61, 100) + "\n")
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
    log = read(tmp_path, header + job(1))
    assert log.num_nodes == size
    check_counts(log, 1, 1)


def test_header_keys_may_repeat_and_prose_is_no_key(tmp_path: Path) -> None:
    text = "; Note: one\n; Information: here\n;    http://example.org/\n; two words: no\n;Note:two\n;\n"
    log = read(tmp_path, text + job(1), num_nodes=4)
    assert log.header == {"Note": "one\ntwo", "Information": "here"}


def test_an_unsorted_log_is_sorted_and_ties_keep_their_order(tmp_path: Path) -> None:
    log = read(tmp_path, HEADER + "".join(job(number, 10 * (number % 2)) for number in range(100, 0, -1)))
    assert log.names == tuple(map(str, [*range(100, 0, -2), *range(99, 0, -2)]))
    assert log.submits.tolist() == [0] * 50 + [10] * 50
    check_counts(log, 100, 100, unsorted=49)


def test_of_runs_of_one_job_at_a_time_the_first_is_kept(tmp_path: Path) -> None:
    log = read(tmp_path, HEADER + job(1, run=0) + job(2, 3) + job(1, 5, 8) + job(1, 4, 9) + job(2, 1))
    assert jobs_of(log) == [("2", 3, 60, 4), ("1", 5, 8, 4)]
    check_counts(log, 5, 2, no_run_time=1, duplicates=2)


def test_times_of_applications_are_rounded_up(tmp_path: Path) -> None:
    lines = [job(1, "0.2", "59.01"), job(2, "1e0", "7.0"), job(3, 2, "0.001"), job(4, 3, "-0.5")]
    problem = swf_problem(read(tmp_path, HEADER + "".join(lines)))
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
    log = read(tmp_path, HEADER + job(7) + line + job(8))
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
    problem = swf_problem(read(tmp_path, LOG), from_job=1, jobs=3)
    assert problem.name == "log-from1-jobs3"
    assert problem.num_nodes == 100
    assert problem.application_names == ("j11", "j13", "j14")
    assert problem.applications == tuple(EvolutionProfile((step,)) for step in ((60, 4), (61, 5), (62, 6)))
    assert problem.releases == (0, 20, 20)
    queued = swf_problem(read(tmp_path, LOG), from_job=2, jobs=3, queued=True)
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
        swf_problem(read(tmp_path, LOG), from_job=from_job, jobs=jobs)
    report = "5 job lines, 1 no run time, 4 kept"
    assert str(caught.value) == f"jobs {window} of log.swf: it has 4 ({report})"
