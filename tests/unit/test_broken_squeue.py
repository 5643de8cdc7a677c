"""Broken queues, 60 and more of text and of JSON: each is refused in one line that names the place."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from broken_files import NO_TEXT, check_changed_bytes, mangled_json, refusal
from offenders import all_offenders
from squeue_files import as_json, good, written

from allocsolve.instances import read_squeue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

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
WHOLE: dict[str, Callable[[bytes], bytes]] = {
    **NO_TEXT,
    "twice": lambda data: data + data,
    "the default columns": lambda _: b"JOBID PARTITION NAME USER ST TIME NODES\n1 a b c R 1:00 1\n",
    "sinfo": lambda _: b"PARTITION AVAIL  TIMELIMIT  NODES  STATE\nstd* up 1-00:00:00 4 idle\n",
    "an error": lambda _: b"slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n",
}


def _texts() -> Iterator[tuple[str, bytes]]:
    rows = good()
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
    yield from ((name, change("\n".join(lines).encode())) for name, change in WHOLE.items())


def _jsons() -> Iterator[tuple[str, bytes]]:
    document = as_json(good(), "wrapped")
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
    yield from ((name, change(data)) for name, change in WHOLE.items())


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
    check_changed_bytes(written(kind, good()).encode(), lambda data: _said(tmp_path, data))
