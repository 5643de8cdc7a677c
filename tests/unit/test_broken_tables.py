"""Broken tables of jobs, 60 and more of each format: one line each, which names the place and the value."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st
from offenders import all_offenders
from table_logs import JOBS, PARQUET, TABLES, good, title, titled, write

from allocsolve.errors import FormatError, InvalidOption
from allocsolve.instances import LOG_TABLES, log_problem, read_table_log
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
