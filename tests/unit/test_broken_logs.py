"""Broken logs and answers: each is refused in one line or counted by reason; nothing is lost."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from cli_tools import run_json
from hypothesis import given, strategies as st
from offenders import all_offenders

from allocsolve.cli import main
from allocsolve.instances import (
    digest,
    log_problem,
    read_problem,
    read_sacct_log,
    read_swf_log,
    recorded_schedule,
    write_problem,
)
from allocsolve.model import Job, WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cli_tools import Capture


class Broken(NamedTuple):
    """What is said of a log: a refusal, or what is counted besides one good job."""

    text: str
    said: str = ""
    counts: dict[str, int] | None = None


GOOD = "1 0 0 60 4 -1 -1 4 90 -1 1 1 1 1 1 -1 -1 -1\n"
HEAD = "; MaxProcs: 8\n" + GOOD


def swf(**fields: object) -> str:
    row: dict[str, object] = {"id": 2, "submit": 5, "wait": 0, "run": 60, "size": 4, "asked": 4, "limit": 90}
    row |= {"status": 1} | fields
    order = ("id", "submit", "wait", "run", "size", None, None, "asked", "limit", None, "status")
    return " ".join(str(row[name]) if name else "-1" for name in order) + " 1 1 1 1 -1 -1 -1\n"


SWF = {
    "empty": Broken("", "log.swf: has no job lines"),
    "no header": Broken(GOOD, "give the number of nodes (jobs held up to 4 at a time)"),
    "header only": Broken("; MaxProcs: 8\n", "log.swf: none of its jobs can be used (0 job lines)"),
    "header of words": Broken("; MaxProcs: many\n" + GOOD, "size of the machine"),
    "header of 0": Broken("; MaxProcs: 0\n; MaxNodes: 0\n" + GOOD, "size of the machine"),
    "another file": Broken('{"format": "allocsolve/1"}\n', "looks like a problem of allocsolve"),
    "a table": Broken("a,b,c\n1,2,3\n", "line 1: 1 fields instead of 18"),
    "machine too small": Broken("; MaxProcs: 2\n" + GOOD, "1 job lines, 1 too large"),
    "binary": Broken(HEAD + "\x00\xff\x1b[2J\n", counts={"faulty": 1}),
    "truncated line": Broken(HEAD + GOOD[:20] + "\n", counts={"faulty": 1}),
    "words in numbers": Broken(HEAD + swf(run="6O"), counts={"faulty": 1}),
    "nan": Broken(HEAD + swf(submit="nan"), counts={"faulty": 1}),
    "inf": Broken(HEAD + swf(run="inf"), counts={"faulty": 1}),
    "minus inf": Broken(HEAD + swf(limit="-inf"), counts={"faulty": 1}),
    "huge": Broken(HEAD + swf(run="1e300"), counts={"faulty": 1}),
    "digits without end": Broken(HEAD + swf(run="9" * 4000), counts={"faulty": 1}),
    "a line without end": Broken(HEAD + "1 " * 20_000 + "\n", counts={"faulty": 1}),
    "submitted before 0": Broken(HEAD + swf(submit=-5), counts={"faulty": 1}),
    "half a processor": Broken(HEAD + swf(size=2.5), counts={"faulty": 1}),
    "no size": Broken(HEAD + swf(size=-1, asked=-1), counts={"no_size": 1}),
    "no allocated size": Broken(HEAD + swf(size=0), counts={"requested_size": 1}),
    "larger than the machine": Broken(HEAD + swf(size=9), counts={"too_large": 1}),
    "run time 0": Broken(HEAD + swf(run=0), counts={"no_run_time": 1}),
    "cancelled in the queue": Broken(HEAD + swf(run=-1, size=-1, status=5), counts={"cancelled": 1}),
    "cancelled while it ran": Broken(HEAD + swf(status=5), counts={}),
    "no limit": Broken(HEAD + swf(limit=-1), counts={"no_limit": 1}),
    "limit of 0": Broken(HEAD + swf(limit=0), counts={"no_limit": 1}),
    "ran longer than its limit": Broken(HEAD + swf(limit=59), counts={"raised_limit": 1}),
    "twice": Broken(HEAD + GOOD, counts={"duplicates": 1}),
    "run again": Broken(HEAD + swf(id=1, submit=60), counts={"requeued": 1}),
    "part of a job": Broken(HEAD + swf(id=1, status=2, run=9), counts={"partial": 1}),
    "unsorted": Broken(HEAD + swf(submit=9) + swf(id=3, submit=5), counts={"unsorted": 1}),
    "no wait": Broken(HEAD + swf(wait=-1), counts={"no_recorded_start": 1}),
    "19 fields": Broken(HEAD + swf().rstrip() + " 7\n", counts={"more_fields": 1}),
    "two jobs on one line": Broken(HEAD + swf().rstrip() + " " + swf(id=3), counts={"more_fields": 1}),
    "a header in the middle": Broken(HEAD + "; MaxProcs: 9\n" + swf(), counts={}),
    "carriage returns": Broken((HEAD + swf(size=9)).replace("\n", "\r\n"), counts={"too_large": 1}),
}

COLUMNS = "JobID|Submit|Start|End|ElapsedRaw|Timelimit|NNodes|State|User\n"
JOB = "1|100|200|300|100|60|4|COMPLETED|u\n"
#: One good job, and what comes behind it.
TWO = COLUMNS + JOB
SACCT = {
    "empty": Broken("", "its first line has no column names"),
    "columns of fixed width": Broken("JobID  Submit\n-----  -----\n", "use sacct -P"),
    "no names": Broken(JOB, "no column JobID, no column Submit"),
    "no sizes": Broken("JobID|Submit|Start|End\n1|1|1|2\n", "no column of a size: AllocNodes, NNodes"),
    "names only": Broken(COLUMNS, "none of its jobs can be used (0 job lines)"),
    "a line too short": Broken(TWO + "2|100\n", counts={"faulty": 1}),
    "a line too long": Broken(TWO + JOB.replace("1", "2").strip() + "|9\n", counts={"faulty": 1}),
    "a date of words": Broken(TWO + JOB.replace("1|100", "2|today"), counts={"faulty": 1}),
    "month 13": Broken(TWO + JOB.replace("1|100", "2|2024-13-01T00:00:00"), counts={"faulty": 1}),
    "a duration of words": Broken(TWO + "2|100|200|300|long|60|4|OK|u\n", counts={"faulty": 1}),
    "a limit of words": Broken(TWO + "2|100|200|300|100|long|4|OK|u\n", counts={"faulty": 1}),
    "sizes of words": Broken(TWO + "2|100|200|300|100|60|4K|OK|u\n", counts={"faulty": 1}),
    "no id": Broken(TWO + JOB[1:], counts={"faulty": 1}),
    "an open quote": Broken((TWO + '"2|1|2|3|1|1|4|C|u\n').replace("|", ","), counts={"faulty": 1}),
    "a step": Broken(TWO + JOB.replace("1|", "1.batch|", 1), counts={"steps": 1}),
    "a second header": Broken(TWO + COLUMNS, counts={"headers": 1}),
    "no submit": Broken(TWO + "2|Unknown|200|300|100|60|4|C|u\n", counts={"no_submit": 1}),
    "still running": Broken(TWO + "2|100|200|Unknown|9|60|4|RUNNING|u\n", counts={"unfinished": 1}),
    "never started": Broken(TWO + "2|100|None|300|0|60|4|CANCELLED by 7|u\n", counts={"cancelled": 1}),
    "ends before it starts": Broken(TWO + "2|100|300|200||60|4|COMPLETED|u\n", counts={"faulty": 1}),
    "no nodes": Broken(TWO + "2|100|200|300|100|60|0|C|u\n", counts={"no_size": 1}),
    "more than the machine": Broken(TWO + "2|100|200|300|100|60|9|C|u\n", counts={"too_large": 1}),
    "unlimited": Broken(TWO + "2|100|200|300|100|UNLIMITED|4|C|u\n", counts={"no_limit": 1}),
    "a repeated line": Broken(TWO + JOB, counts={"duplicates": 1}),
    "a resized job": Broken(
        COLUMNS + JOB.replace("COMP", "RESIZING") + "1|100|300|400|100|60|2|COMPLETED|u\n",
        counts={"resized": 1},
    ),
}
LOGS = {"swf": SWF, "sacct": SACCT}


@pytest.mark.parametrize("kind", LOGS)
def test_broken_logs(kind: str, tmp_path: Path, capsys: Capture) -> None:
    with all_offenders() as offender:
        for number, (name, broken) in enumerate(LOGS[kind].items()):
            folder = tmp_path / str(number)
            folder.mkdir()
            with offender(name):
                _check(kind, broken, folder, capsys)
            capsys.readouterr()  # what the next one prints is its own


def _check(kind: str, broken: Broken, folder: Path, capsys: Capture) -> None:
    path, out, recorded = folder / f"log.{kind}", folder / "p.json", folder / "r.json"
    path.write_bytes(broken.text.encode("utf-8", "replace"))
    argv = ["import", kind, path, "--out", out, "--recorded", recorded]
    argv += ["--nodes", "8"] if kind == "sacct" else []
    if broken.counts is None:
        assert main([*map(str, argv)]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert broken.said in said.err
        assert said.err.count("\n") == 1
        assert not out.exists()
        return
    told = run_json(capsys, *argv)["log"]
    others = {
        reason: count for reason, count in told.items() if count and reason not in ("job_lines", "kept")
    }
    assert others == broken.counts
    lines = [line for line in broken.text.split("\n") if line.strip() and not line.startswith(";")]
    assert told["job_lines"] == len(lines) - (kind == "sacct")
    assert len(read_problem(out).jobs) == told["kept"]  # type: ignore[attr-defined]  # a workload


@given(st.data())
def test_no_line_is_lost(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Whatever is done to a log: each line is dropped for one reason, or a job."""
    kind = data.draw(st.sampled_from(["swf", "sacct"]))
    lines = [one.text.split("\n") for one in (SWF if kind == "swf" else SACCT).values() if one.counts]
    rows = [row for text in lines for row in text if row and row[0] not in ";J"]
    text = "\n".join(data.draw(st.lists(st.sampled_from(rows), min_size=1, max_size=30)))
    place = data.draw(st.integers(0, len(text)))
    text = text[:place] + data.draw(st.text("0123456789 |-.:ex\x00\t", max_size=3)) + text[place:]
    path = tmp_path_factory.mktemp("logs") / "log"
    path.write_text(("; MaxProcs: 8\n" if kind == "swf" else COLUMNS) + text + "\n", encoding="utf-8")
    log = read_swf_log(path) if kind == "swf" else read_sacct_log(path, num_nodes=8)
    report = log.report
    assert report.job_lines == len([line for line in re.split("\r\n|\r|\n", text) if line.strip()])
    dropped = sum(report.dropped.values()) + report.changed.get("resized", 0)
    assert report.job_lines == dropped + len(log.names)
    if log.names:
        problem = log_problem(log)
        assert len(problem.jobs) == len(log.names)
        if not np.isnan(log.starts).all():
            assert len(recorded_schedule(log).offsets) == len(problem.jobs) + 1


PROBLEM = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 1000)])
PIECES = {"j0": [[0, 100, 3]], "j1": [[100, 110, 4]], "j2": [[110, 1110, 1]]}


def own(pieces: Mapping[str, object], **others: object) -> str:
    jobs = [{"name": name, "pieces": listed} for name, listed in pieces.items()]
    return json.dumps({"format": "allocsolve/1", "kind": "workload-schedule", "jobs": jobs, **others})


TABLE = "job,start,end,nodes\n"
BATSIM = "job_id,starting_time,finish_time,allocated_resources\n"
ANSWERS = {
    "empty.json": ("", "empty.json: is empty"),
    "list.json": ("[]", "must be an object"),
    "other kind.json": (own(PIECES, kind="evolution-schedule"), "kind: 'evolution-schedule' is not"),
    "other problem.json": (own(PIECES, problem="0" * 64), "this solves another problem"),
    "missing job.json": (own({"j0": PIECES["j0"], "j1": PIECES["j1"]}), "'j2' is missing"),
    "unknown job.json": (own({**PIECES, "j3": []}), "the problem has no job 'j3'"),
    "no piece.json": (own({**PIECES, "j2": []}), "job 'j2' never runs"),
    "two pieces.json": (own({**PIECES, "j2": [[110, 600, 1], [600, 1110, 1]]}), "job 'j2' runs in 2 pieces"),
    "early.json": (
        own({**PIECES, "j0": [[-1, 99, 3]]}),
        "job 'j0' starts at -1 s, before its submission at 0",
    ),
    "too short.json": (own({**PIECES, "j0": [[0, 99, 3]]}), "job 'j0' runs for 99 s, but takes 100 s"),
    "wrong size.json": (own({**PIECES, "j0": [[0, 100, 2]]}), "job 'j0' holds 2 nodes, but needs 3"),
    "overlap.json": (
        own({**PIECES, "j2": [[50, 1050, 1]]}),
        "from 100 s to 110 s up to 5 nodes are held (first at 100 s) on a cluster of 4",
    ),
    "text as time.json": (own({**PIECES, "j0": [["0", 100, 3]]}), "must be a number, not '0'"),
    "infinite.json": (own(PIECES).replace("1110", "1e999"), ""),
    "no table.csv": ("", "no table.csv: is empty"),
    "no column.csv": ("job,start,end\nj0,0,100\n", "there is no column 'nodes'"),
    "one job.csv": (TABLE + "j0,0,100,3\n", "'j1' is missing"),
    "ragged.csv": (TABLE + "j0,0,100\n", "line 2: 3 cells for 4 columns"),
    "words.csv": (TABLE + "j0,soon,100,3\nj1,100,110,4\nj2,110,1110,1\n", "start must be a number"),
    "batsim unknown.csv": (BATSIM + "w!j9,0,100,0-2\n", "line 2: the problem has no job 'w!j9'"),
    "batsim rejected.csv": (BATSIM + "j0,0,100,0-2\nj1,-1,-1,\nj2,110,1110,0\n", "job 'j1' never runs"),
}
assert len(SWF) + len(SACCT) + len(ANSWERS) >= 60


def test_broken_answers_beside_a_good_one(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_problem(PROBLEM, "p.json")
    (tmp_path / "good.json").write_text(own(PIECES, problem=digest(PROBLEM)))
    for name, (text, _) in ANSWERS.items():
        (tmp_path / name).write_text(text)
    argv = ["score", "p.json", "--answers", ",".join(["good.json", *ANSWERS]), "--baseline", "fcfs", "--json"]
    assert main([*argv, "--out", str(tmp_path / "out")]) == 1
    told = json.loads(capsys.readouterr().out)
    scores = {row["solver"]: row for row in told["scores"]}
    assert set(scores) == {"fcfs", "good.json", *ANSWERS}
    assert scores["good.json"]["gap"] == scores["fcfs"]["gap"] is not None
    assert [name for name, row in scores.items() if row["failed"]] == [*ANSWERS]
    errors = {row["solver"]: row["error"] for row in told["failures"]}
    for name, (_, said) in ANSWERS.items():
        assert said in errors[name], name
        assert "\n" not in errors[name]
