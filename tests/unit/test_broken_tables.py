"""Broken tables of jobs, logs and answers: each in one line or counted by reason; nothing is lost."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_tools import Capture, run_json
from hypothesis import given, strategies as st
from offenders import all_offenders
from table_logs import JOBS, PARQUET, TABLES, good, title, titled, write

from allocsolve.cli import main
from allocsolve.errors import FormatError, InvalidOption
from allocsolve.instances import (
    LOG_TABLES,
    log_problem,
    read_problem,
    read_swf_log,
    read_table_log,
    recorded_schedule,
)
from allocsolve.instances.formats.logs.log import JOINED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


#: The row that is broken, and where messages say that it is.
ROW = 2
TIMES = ("x", "-5", "2024-13-01T00:00:00", "2024-01-01T25:00:00", "1900-01-01 00:00:00", "9" * 16, "True")
SPANS = ("x", "-7", "inf", "1:2:3:4", "9" * 16, "1e3", "'")
SIZES = ("x", "-4", "2.5", "4K", "1e3", "inf", "9" * 16)
#: What a cell holds, and what is said of it.
CELLS = {
    **dict.fromkeys(("submit", "start", "end"), TIMES),
    **dict.fromkeys(("run", "limit"), SPANS),
    **dict.fromkeys(("nodes", "requested_nodes", "processors", "requested_processors"), SIZES),
}


class Broken(NamedTuple):
    """A broken file."""

    write: Callable[[str, Path], object]
    said: tuple[str, ...]  #: parts of what is said
    is_refused: bool = False  #: the whole file, not one row of it


def _refused(write: Callable[[str, Path], object], *said: str) -> Broken:
    return Broken(write, said, is_refused=True)


def _changed(name: str, path: Path, **cells: object) -> Path:
    columns = good(name)
    for field, cell in cells.items():
        columns[field] = [*columns[field]]
        columns[field][ROW] = cell
    return write(name, path, titled(name, columns))


def _cell(field: str, value: str) -> Broken:
    unknown: dict[str, object] = {}
    if field.startswith("requested_"):  # it is looked at where the other one is unknown
        unknown = {field.removeprefix("requested_"): None}

    def change(name: str, path: Path) -> object:
        return _changed(name, path, **unknown, **{field: value})

    return Broken(change, (field, repr(value)[:16]))


def _without(*fields: str) -> Callable[[str, Path], object]:
    def change(name: str, path: Path) -> object:
        kept = {field: column for field, column in good(name).items() if field not in fields}
        return write(name, path, titled(name, kept))

    return change


def _twice(field: str) -> Callable[[str, Path], object]:
    def change(name: str, path: Path) -> object:
        columns = titled(name, good(name))
        other = (title(name, field).upper().replace("_", " "), good(name)[field])
        return write(name, path, [*columns, other])

    return change


def _bytes(change: Callable[[bytes], bytes]) -> Callable[[str, Path], object]:
    def write_changed(name: str, path: Path) -> object:
        write(name, path, titled(name, good(name)))
        return path.write_bytes(change(path.read_bytes()))

    return write_changed


def _line(change: Callable[[str], str]) -> Callable[[str, Path], object]:
    """Change one line of text."""

    def change_line(data: bytes) -> bytes:
        lines = data.decode().split("\n")
        lines[ROW + 1] = change(lines[ROW + 1])
        return "\n".join(lines).encode("utf-8", "surrogateescape")

    return _bytes(change_line)


def _empty(name: str, path: Path) -> object:
    return write(name, path, titled(name, {field: [] for field in good(name)}))


def _typed(field: str, kind: pa.DataType, cell: object) -> Callable[[str, Path], object]:
    """Give a column of a Parquet file another type."""

    def change(name: str, path: Path) -> object:
        write(name, path, titled(name, good(name)))
        table = pq.read_table(path)
        at = table.schema.get_field_index(title(name, field))
        return pq.write_table(table.set_column(at, title(name, field), pa.array([cell] * JOBS, kind)), path)

    return change


def _zipped(name: str, path: Path) -> object:
    write(name, path, titled(name, good(name)))
    return path.write_bytes(gzip.compress(path.read_bytes())[:-12])


NO_SIZES = ("nodes", "requested_nodes", "processors", "requested_processors")
#: Of all formats.
COMMON = {
    "no id": Broken(lambda name, path: _changed(name, path, id=""), ("id is empty",)),
    "ends before it starts": Broken(
        lambda name, path: _changed(name, path, end=good(name)["submit"][0]), ("end", "is before")
    ),
    "no job": _refused(_empty, "none of its jobs can be used (0 job lines)"),
    "no column of ids": _refused(_without("id"), "no column id"),
    "no column of submissions": _refused(_without("submit"), "no column submit"),
    "no column of run times": _refused(_without("run", "end"), "neither a column run nor both start and end"),
    "no column of sizes": _refused(_without(*NO_SIZES), "no column"),
    "nothing": _refused(lambda _, path: path.write_bytes(b""), "log"),
    "zeros": _refused(lambda _, path: path.write_bytes(bytes(99)), "log"),
    "no file": _refused(lambda _, path: path, "No such file or directory"),
    "a folder": _refused(lambda _, path: path.mkdir(), "Is a directory"),
    "another file": _refused(lambda _, path: path.write_text('{"format": "allocsolve/1"}\n'), "log"),
}
#: Of text.
LINES = {
    "a cell less": Broken(_line(lambda line: line[: max(line.rfind(","), line.rfind("|"))]), ("cells for",)),
    "a cell more": Broken(_line(lambda line: f"{line},9|9"), ("cells for",)),
    "half a line": Broken(_line(lambda line: line[:20]), ("cells for",)),
    "words": Broken(_line(lambda _: "Traceback (most recent call last):"), ("1 cells for",)),
    "marks": Broken(_line(lambda _: "----|----,----"), ("cells for",)),
    "binary": Broken(_line(lambda _: "\udcff\x00\x1b[2J"), ("1 cells for",)),
    "a quote that is open": Broken(_line(lambda line: f'"{line}'.replace("|", ",")), ("cells for",)),
    "a line without end": Broken(_line(lambda line: line + "9" * 2**20), ("characters or more",)),
    "another header": Broken(_line(lambda _: "a|b,c"), ("cells for",)),
    "a header of one column": _refused(_bytes(lambda data: b"jobs\n" + data), "no column names"),
    "no header": _refused(_bytes(lambda data: data.partition(b"\n")[2]), "no column", "its columns are"),
    "a header of other columns": _refused(
        _bytes(lambda data: b"a|b,c\n" + data.partition(b"\n")[2]), "its columns are"
    ),
}


def _share(percent: int) -> Callable[[bytes], bytes]:
    return lambda data: data[: len(data) * percent // 100]


#: What makes no Parquet file of one.
NO_PARQUET: dict[str, Callable[[bytes], bytes]] = {
    **{f"cut to {percent} %": _share(percent) for percent in (1, 25, 50, 75, 99)},
    "a wrong end": lambda data: data[:-4] + b"PAR9",
    "no end": lambda data: data + b"\n",
    "a footer longer than the file": lambda data: data[:-8] + b"\xff\xff\xff\x7fPAR1",
    "zipped": gzip.compress,
    "text": lambda _: b"job_id,submit_time\n1,2\n",
}
#: Of Parquet files.
FILES = {
    **{name: _refused(_bytes(change), "cannot be read") for name, change in NO_PARQUET.items()},
    "pages of zeros": _refused(
        _bytes(lambda data: data[:4] + bytes(len(data) // 4) + data[4 + len(data) // 4 :])
    ),
    **{
        f"{kind} as {field}": _refused(_typed(field, kind, cell), field, shown)
        for field in ("submit", "run", "nodes")
        for kind, cell, shown in (
            (pa.bool_(), True, "'True'"),
            (pa.list_(pa.int64()), [7], "'[7]'"),
            (pa.struct([("a", pa.int64())]), {"a": 7}, "{'a': 7}"),
            (pa.binary(), b"\xff", "xff"),
            (pa.float64(), -2.5, "'-2.5'"),
        )
    },
}


def _cases(name: str) -> Iterator[tuple[str, Broken]]:
    fields = good(name)
    for field, values in CELLS.items():
        if field not in fields or (field == "requested_nodes" and "nodes" not in fields):
            continue
        yield from ((f"{field} {value[:20]}", _cell(field, value)) for value in values)
    yield from ((f"{field} twice", _refused(_twice(field), "stands twice")) for field in fields)
    yield from COMMON.items()
    yield from (FILES if name in PARQUET else LINES).items()
    if name not in PARQUET:
        yield "a cut archive", _refused(_zipped, "end-of-stream marker")


@pytest.mark.parametrize("name", TABLES)
def test_broken_tables(name: str, tmp_path: Path) -> None:
    cases = [*_cases(name)]
    assert len(cases) >= 60
    with all_offenders() as offender:
        for number, (case, broken) in enumerate(cases):
            folder = tmp_path / str(number)
            folder.mkdir()
            with offender(case):
                _check(name, broken, folder / ("log.gz" if case == "a cut archive" else "log"))


def _check(name: str, broken: Broken, path: Path) -> None:
    broken.write(name, path)
    told = tuple(_named(name, part) for part in broken.said)
    if broken.is_refused:
        with pytest.raises((FormatError, InvalidOption)) as refusal:
            log_problem(read_table_log(path, name, num_nodes=100))
        line = str(refusal.value)
        assert line.startswith((f"{path}: ", "log: none of its jobs"))
    else:
        log = read_table_log(path, name, num_nodes=100)
        assert len(log.report.faults) == log.report.counts()["faulty"] == 1
        line = log.report.faults[0]
        place = f"row {ROW + 1}: " if name in PARQUET else f"line {ROW + 2}: "
        assert line.startswith(place)
        assert log.names == ("1", "2", "4", "5")
    for part in told:
        assert part in line
    assert "\n" not in line
    assert len(line) < 1000


def _named(name: str, part: str) -> str:
    """Write the names of the format's columns for those of fields."""
    words = part.split(" ")
    fields = LOG_TABLES[name].columns
    return " ".join(title(name, word) if word in fields else word for word in words)


@given(st.data())
def test_no_row_is_lost(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Whatever the cells hold: each row is dropped for one reason, joined to another, or a job."""
    name = data.draw(st.sampled_from(TABLES))
    count = data.draw(st.integers(1, 12))
    values = ("", "x", "-1", "0", "1", "2", "99", "100", "101", "RESIZING", "CANCELLED", "1.0")
    words = st.sampled_from(values)
    cells = {field: data.draw(st.lists(words, min_size=count, max_size=count)) for field in good(name)}
    path = write(name, tmp_path_factory.mktemp("logs") / "log", titled(name, cells))
    log = read_table_log(path, name, num_nodes=100)
    report = log.report
    assert report.job_lines == count
    joined = sum(report.changed.get(reason, 0) for reason in JOINED)
    assert count == sum(report.dropped.values()) + joined + len(log.names)
    if log.names:
        assert len(log_problem(log).jobs) == len(log.names)


# --- Other logs and answers ---------------------------------------------------------------------------


class Log(NamedTuple):
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
    "empty": Log("", "log.swf: has no job lines"),
    "no header": Log(GOOD, "give the number of nodes (jobs held up to 4 at a time)"),
    "header only": Log("; MaxProcs: 8\n", "log.swf: none of its jobs can be used (0 job lines)"),
    "header of words": Log("; MaxProcs: many\n" + GOOD, "size of the machine"),
    "header of 0": Log("; MaxProcs: 0\n; MaxNodes: 0\n" + GOOD, "size of the machine"),
    "another file": Log('{"format": "allocsolve/1"}\n', "looks like a problem of allocsolve"),
    "a table": Log("a,b,c\n1,2,3\n", "line 1: 1 fields instead of 18"),
    "machine too small": Log("; MaxProcs: 2\n" + GOOD, "1 job lines, 1 too large"),
    "binary": Log(HEAD + "\x00\xff\x1b[2J\n", counts={"faulty": 1}),
    "a line without end": Log(HEAD + "1 " * 20_000 + "\n", counts={"faulty": 1}),
    "19 fields": Log(HEAD + swf().rstrip() + " 7\n", counts={"more_fields": 1}),
    "two jobs on one line": Log(HEAD + swf().rstrip() + " " + swf(id=3), counts={"more_fields": 1}),
    "a header in the middle": Log(HEAD + "; MaxProcs: 9\n" + swf(), counts={}),
    "carriage returns": Log((HEAD + swf(size=9)).replace("\n", "\r\n"), counts={"too_large": 1}),
}

COLUMNS = "JobID|Submit|Start|End|ElapsedRaw|Timelimit|NNodes|State|User\n"
JOB = "1|100|200|300|100|60|4|COMPLETED|u\n"
#: One good job, and what comes behind it.
TWO = COLUMNS + JOB
SACCT = {
    "empty": Log("", "its first line has no column names"),
    "names only": Log(COLUMNS, "none of its jobs can be used (0 job lines)"),
    "month 13": Log(TWO + JOB.replace("1|100", "2|2024-13-01T00:00:00"), counts={"faulty": 1}),
    "an open quote": Log((TWO + '"2|1|2|3|1|1|4|C|u\n').replace("|", ","), counts={"faulty": 1}),
    "ends before it starts": Log(TWO + "2|100|300|200||60|4|COMPLETED|u\n", counts={"faulty": 1}),
    "a repeated line": Log(TWO + JOB, counts={"duplicates": 1}),
    "a resized job": Log(
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
                _check_import(kind, broken, folder, capsys)
            capsys.readouterr()  # what the next one prints is its own


def _check_import(kind: str, broken: Log, folder: Path, capsys: Capture) -> None:
    path, out, recorded = folder / f"log.{kind}", folder / "p.json", folder / "r.json"
    path.write_bytes(broken.text.encode("utf-8", "replace"))
    argv = ["import", "--format", kind, path, "--out", out, "--recorded", recorded]
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
    if kind == "swf":
        fields = (
            {"size": -1, "asked": -1},
            {"size": 9},
            {"run": 0},
            {"limit": 59},
            {"status": 2},
            {"wait": -1},
        )
        rows += [
            swf(**one).strip() for one in (*fields, {"id": 1, "submit": 60}, {"run": "6O"}, {"status": 5})
        ]
    else:
        rows += ["1.batch|1|2|3|1|60|4|C|", "2|Unknown|2|3|1|60|4|C|u", "2|1|2|Unknown|9|60|4|RUNNING|u"]
        rows += ["2|1|None|3|0|60|4|CANCELLED by 7|u", "2|1|2|3|1|60|0|C|u", "2|1|2|3|1|60|9|C|u", "2|today"]
    text = "\n".join(data.draw(st.lists(st.sampled_from(rows), min_size=1, max_size=30)))
    place = data.draw(st.integers(0, len(text)))
    text = text[:place] + data.draw(st.text("0123456789 |-.:ex\x00\t", max_size=3)) + text[place:]
    path = tmp_path_factory.mktemp("logs") / "log"
    path.write_text(("; MaxProcs: 8\n" if kind == "swf" else COLUMNS) + text + "\n", encoding="utf-8")
    log = read_swf_log(path) if kind == "swf" else read_table_log(path, "sacct", num_nodes=8)
    report = log.report
    assert report.job_lines == len([line for line in re.split("\r\n|\r|\n", text) if line.strip()])
    dropped = sum(report.dropped.values()) + report.changed.get("resized", 0)
    assert report.job_lines == dropped + len(log.names)
    if log.names:
        problem = log_problem(log)
        assert len(problem.jobs) == len(log.names)
        if not np.isnan(log.starts).all():
            assert len(recorded_schedule(log).offsets) == len(problem.jobs) + 1
