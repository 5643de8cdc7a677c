"""Broken logs of batch systems, of pods, of Batsim, and queues, 60 and more of each: one line."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from batch_logs import JSON, WRITERS, good, read
from broken_files import NO_TEXT, check_changed_bytes, mangled_json, refusal
from offenders import all_offenders
from squeue_files import as_json, good as good_queue, written

from allocsolve.instances import log_problem, read_squeue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from allocsolve.instances import JobLog


#: The job that is broken.
ROW = 2
TIMES = (
    *("x", "-5", "1e9", "9" * 17, "2024-13-01T00:00:00", "04.03.2024 08:00", "0x5f", "1.5.5", "True"),
    "1_0",
)
LIMITS = ("x", "-7", "1e3", "9" * 17, "inf", "1:", "7-", "1_0")
#: What stands for the size of a job, by format.
SIZES: dict[str, tuple[Any, ...]] = {
    "pbs": ("n1/x", "n1/0*x", "/0", "n1//0", "n1/0-", "n1/0+", "+", "n1/-1", "n1/0*", "n1/0,,1", "n1/0*4*4"),
    "sge": ("x", "-4", "2.5", "4K", "1e3", "1_0", "0x4", "٣", "9" * 17),
    "lsf": (
        *('x "n1"', '-1 "n1"', '2.5 "n1"', '99 "n1"', '1 "*n1"', '1 "x*n1"', '1 "2*"', '1 "1*n1*2"'),
        '9e9 "n1"',
    ),
    "sacct": ("x", "-4", "2.5", "4K", "1e3", True, [2], {"set": True}, {"a": 1}, "1_0", -1.5),
    "alibaba-gpu": ("x", "-4", "2.5", "4K", "1e3", "1_0", "٣", "9" * 17),
    "philly": (
        *("x", 5, [5], [[]], {"a": 1}, [{"ip": 5, "gpus": []}], [{"ip": "m1"}]),
        [{"ip": "m1", "gpus": 8}],
    ),
    "evalys": ("x", "1-", "-3", "5-1", "0-9-9", "0;1", "0-3 x", "1e3", "9" * 17),
}
#: Values of JSON that are no times.
NO_TIMES: tuple[Any, ...] = ("x", -5, True, [1], {"set": True}, {"number": "x"}, "1_0", 10**17)


def _changed(name: str, **cells: Any) -> str:
    made = good(name)
    made[ROW] = replace(made[ROW], **cells)
    return WRITERS[name](made)


def _cells(name: str) -> Iterator[tuple[str, str]]:
    """Yield logs with one cell that cannot be read."""
    times = NO_TIMES if name in JSON else TIMES
    for field in ("submit", "start", "end"):
        yield from ((f"{field} {value}", _changed(name, **{field: value})) for value in times)
    if name not in {"lsf", "alibaba-gpu", "philly"}:
        limits = NO_TIMES if name == "sacct" else LIMITS
        values = [value for value in limits if name != "sge" or value != "1:"]  # a colon ends it
        yield from ((f"limit {value}", _changed(name, limit=value)) for value in values)
    size = "nodes" if name == "sacct" else "held"
    yield from ((f"size {value}", _changed(name, **{size: value})) for value in SIZES[name])
    job = good(name)[ROW]
    yield "ends before it starts", _changed(name, end=job.start - 1)
    yield "no id", _changed(name, id="")


def _cut(name: str) -> Iterator[tuple[str, str]]:
    """Yield logs of lines with one that is cut, twice there, or another one."""
    if name in JSON:
        return
    content = WRITERS[name](good(name))
    lines = content.split("\n")
    at = next(idx for idx, line in enumerate(lines) if "503" in line and ";Q;" not in line)
    line = lines[at]

    def put(text: str) -> str:
        return "\n".join([*lines[:at], text, *lines[at + 1 :]])

    for share in (5, 10, 20, 30, 40):
        yield f"{share} % of a line", put(line[: len(line) * share // 100])
    traceback, control = "Traceback (most recent call last):", "\x00\x1b[2J\x07"
    for words in (traceback, "-----|-----", control, "�", "1 2 3", ";;;;"):
        yield f"{words!r} for a line", put(words)
    yield "other separators", put(line.translate(str.maketrans(':;," ', "\t||' ".replace(" ", "_"))))
    yield "a line without end", put(line[:60] + "9" * 2**24)


#: Of all formats: what may be refused as a whole.
WHOLE: dict[str, Callable[[bytes], bytes]] = {
    **NO_TEXT,
    "a cut archive": lambda data: gzip.compress(data)[:-12],
    "half an archive": lambda data: gzip.compress(data)[:100],
}


def _checked(log: JobLog, name: str) -> None:
    """Look whether what was kept can be: no job of a time that is none, or that is not written."""
    assert len({*log.names}) == len(log.names)
    assert ((log.runs > 0) & (log.runs < 10**9)).all()
    assert ((log.nodes >= 1) & (log.nodes <= log.num_nodes)).all()
    written = {job.id: job for job in good(name)}
    for idx, job in enumerate(log.names):
        assert log.submits[idx] == written[job].submit
        assert log.runs[idx] == 3600
    report = log.report
    assert report.job_lines == sum(report.dropped.values()) + len(log.names)
    assert all("\n" not in fault and len(fault) < 300 for fault in report.faults)


def _whole(name: str) -> Iterator[tuple[str, bytes]]:
    data = WRITERS[name](good(name)).encode()
    yield from ((case, change(data)) for case, change in WHOLE.items())
    if name in JSON:
        yield from mangled_json(data)
        lists: tuple[Any, ...] = (None, 5, "x", [5], [None], [[]], {}, [{"job_id": 1, "time": 3}])
        lists += ([{"attempts": 5}], [{"attempts": [5]}], [{"attempts": []}], [{"jobid": [], "attempts": []}])
        wrapped = ({"jobs": jobs} if name == "sacct" else jobs for jobs in lists)
        yield from ((f"jobs {jobs}", json.dumps(jobs).encode()) for jobs in wrapped)
        yield "two values", data + data


@pytest.mark.parametrize("name", WRITERS)
def test_broken_lines(name: str, tmp_path: Path) -> None:
    """One job is broken: it is counted, the others are as they were."""
    with all_offenders() as offender:
        for case, content in [*_cells(name), *_cut(name)]:
            with offender(case):
                log = read(name, tmp_path, content)
                _checked(log, name)
                assert "503" not in log.names
                assert {"501", "502", "504", "505"} <= {*log.names}
                others = 5 if name == "pbs" else 0
                # What stands there instead of a line may be a comment, or a record of something else.
                assert sum(log.report.dropped.values()) > others or "line" in case


def _possible(log: JobLog) -> None:
    assert (log.runs > 0).all()
    assert (log.nodes >= 1).all()
    assert len({*log.names}) == len(log.names)


@pytest.mark.parametrize("name", WRITERS)
def test_broken_files(name: str, tmp_path: Path) -> None:
    """The file is broken: it is refused in one line, or nothing of it is a job."""
    cases = dict(_whole(name))
    assert len(cases) + len([*_cells(name), *_cut(name)]) >= 60
    with all_offenders() as offender:
        for case, content in cases.items():
            with offender(case):
                said = refusal(lambda content=content: log_problem(read(name, tmp_path, content)))  # type: ignore[misc]  # bound
                assert said is not None
                assert re.fullmatch(rf"({re.escape(str(tmp_path))}/)?log: .*", said), "one line"
    data = WRITERS[name](good(name)).encode()
    check_changed_bytes(data, lambda changed: refusal(lambda: _possible(read(name, tmp_path, changed))))


# --- Queues -------------------------------------------------------------------------------------------


#: What cannot stand in a column of the text.
CELLS: dict[str, tuple[str, ...]] = {
    "JOBID": (
        *("", "x", "-1", "1e3", "9_[", "9_[]", "9_[a-b]", "9_[4-1]", "9_[1-9:0]", "9_[0-99999999]", "٣"),
        "9_[%2]",
    ),
    "STATE": ("", "running", "P D", "?"),
    "NODES": ("", "x", "-4", "2.5", "1e3", "4-", "4G", "٣"),
    "CPUS": ("", "x", "-4", "2.5", "1_0"),
    "SUBMIT_TIME": ("", "N/A", "x", "-5", "2025-13-01T00:00:00", "25.11.2025 09:13", "9" * 17, "1_0"),
    "START_TIME": ("x", "tomorrow", "2025-11-25T25:00:00", "9" * 17),
    "TIME_LIMIT": ("x", "-7", "1e3", "1:", "7-", "1_0", "2h"),
    "TIME": ("x", "-7", "1:", "1_0"),
    "PRIORITY": ("x", "-1", "1.5", "1e3", "9" * 17),
}
#: What cannot stand in a field of the JSON.
VALUES: dict[str, tuple[Any, ...]] = {
    "job_id": (None, "x", -1, True, [1], 1.5, {"set": True}),
    "job_state": (None, 5, [], [5], "pending", {"a": 1}, True),
    "node_count": (None, "x", -4, 2.5, True, [4], {"set": True}, {"number": "x"}),
    "cpus": (None, "x", -4, True, {"number": None}),
    "submit_time": (None, 0, "x", -5, True, [1], {"set": False, "number": 7}, 10**17),
    "start_time": ("x", -5, True, [1], {"number": "x"}),
    "time_limit": ("x", -5, True, [1], "2:00:00", {"number": "x"}),
    "priority": ("x", -1, True, 1.5, [1]),
    "hold": (1.5, "yes", [], {"set": True}),
    "array_task_string": (True, [1], "x", "5-1"),
    "eligible_time": ("x", -5, True),
}
#: Of both: what is no queue.
NO_QUEUE: dict[str, Callable[[bytes], bytes]] = {
    **NO_TEXT,
    "twice": lambda data: data + data,
    "the default columns": lambda _: b"JOBID PARTITION NAME USER ST TIME NODES\n1 a b c R 1:00 1\n",
    "sinfo": lambda _: b"PARTITION AVAIL  TIMELIMIT  NODES  STATE\nstd* up 1-00:00:00 4 idle\n",
    "an error": lambda _: b"slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n",
}


def _texts() -> Iterator[tuple[str, bytes]]:
    rows = good_queue()
    for title, cells in CELLS.items():
        for cell in cells:
            changed = [rows[0], {**rows[1], title: cell}, *rows[2:]]
            yield f"{title} {cell}", written("text", changed).encode()
    lines = written("text", rows).splitlines()
    for name, line in {
        "a line that is cut": lines[2][:30],
        "a cell more": lines[2] + "|x",
        "other separators": lines[2].replace("|", ";"),
        "words": "Traceback (most recent call last):",
        "control characters": "\x00\x1b[2J\x07",
    }.items():
        yield name, "\n".join([*lines[:2], line, *lines[3:]]).encode()
    yield "a column less", "\n".join(line.rpartition("|")[0] for line in lines).encode()
    yield "a job twice", "\n".join([*lines, lines[2]]).encode()
    yield "a start of a running job", written("text", [{**rows[0], "START_TIME": "N/A"}, *rows[1:]]).encode()
    yield from ((name, change("\n".join(lines).encode())) for name, change in NO_QUEUE.items())


def _jsons() -> Iterator[tuple[str, bytes]]:
    document = as_json(good_queue(), "wrapped")
    jobs = document["jobs"]
    for field, values in VALUES.items():
        for value in values:
            changed = {**document, "jobs": [jobs[0], {**jobs[1], field: value}, *jobs[2:]]}
            yield f"{field} {value}", json.dumps(changed).encode()
    for value in (None, 5, "x", {}, [5], [None], [[]]):
        yield f"jobs {value}", json.dumps({**document, "jobs": value}).encode()
    for value in ("x", True, [1], -5, 10**17, {"number": "x"}):
        yield f"last_update {value}", json.dumps({**document, "last_update": value}).encode()
    yield "a job twice", json.dumps({**document, "jobs": [*jobs, jobs[0]]}).encode()
    data = json.dumps(document).encode()
    yield from mangled_json(data)
    yield from ((name, change(data)) for name, change in NO_QUEUE.items())


CASES = {"text": _texts, "wrapped": _jsons}


def _said(folder: Path, content: bytes) -> str | None:
    path = folder / "queue"
    path.write_bytes(content)
    return refusal(lambda: read_squeue(path))


@pytest.mark.parametrize("kind", CASES)
def test_broken_queues(kind: str, tmp_path: Path) -> None:
    cases = [*CASES[kind]()]
    assert len(cases) >= 60
    with all_offenders() as offender:
        for case, content in cases:
            with offender(case):
                said = _said(tmp_path, content)
                assert said is not None
                assert len(said) < 400
                assert re.fullmatch(r".*queue: .*", said), "one line"
    check_changed_bytes(written(kind, good_queue()).encode(), lambda data: _said(tmp_path, data))
