"""The lines of a workload log, plain or gzipped: held one at a time, hashed on the way, bounded.

Parquet files are read a batch of rows at a time, only the columns that are asked for; their cells become
texts, as in a CSV file, so that what holds for the one holds for the other. A log that is JSON, whatever its
lines are, is a text of which one job is held at a time.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import math
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from allocsolve.errors import FormatError, SolverUnavailable
from allocsolve.instances.formats.files import GZIP, is_compressed, open_input

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TextIO

    from _typeshed import WriteableBuffer

    from allocsolve.instances.formats.files import PathLike

#: Characters of a line of a log; a longer one is faulty.
MAX_LINE: Final = 10_000
#: Characters of all lines together.
_TOTAL = 2**29
#: Jobs of a log: what is read takes less than 1 GB.
MAX_JOBS: Final = 4_000_000
#: How many faulty lines are named; all are counted.
MAX_FAULTS: Final = 1000

#: What an encoding puts before a text; in the middle of a file where several were joined.
BYTE_ORDER_MARK: Final = "\ufeff"

T = TypeVar("T")


class Faults:
    """Lines that are no jobs: all counted, the first of them named.

    Messages call a line `place`, such as ``row``.
    """

    def __init__(self, place: str = "line") -> None:
        self._place = place
        self.count = 0
        self.texts: list[str] = []

    def add(self, number: int, fault: object) -> None:
        """Note what is wrong with a line."""
        self.count += 1
        if self.count <= MAX_FAULTS:
            self.texts.append(f"{self._place} {number}: {fault}")


class LogText:
    """The text of a log, which is read once, by lines or by parts, and never held as a whole.

    The head is its first characters, which are still in the stream.
    """

    def __init__(self, stream: TextIO, source: str, head: str) -> None:
        self._stream = stream
        self.source = source
        self.head = head

    def lines(self, max_line: int = MAX_LINE) -> Iterator[tuple[int, str]]:
        """Yield the lines with their numbers, from 1; of each no more than `max_line` characters are held.

        Raises `FormatError` if there are more than 2^29 characters.
        """
        total = number = 0
        fresh = True
        while part := self._stream.readline(max_line):
            total += len(part)
            if total > _TOTAL:
                raise FormatError(self.source, [f"is larger than {_TOTAL >> 20} MiB unpacked"])
            if fresh:
                number += 1
                yield number, part.rstrip("\r\n")
            fresh = part.endswith("\n")

    def records(self, max_line: int) -> Iterator[tuple[int, str | Dropped]]:
        """Yield all lines but empty ones and comments, which begin with ``#``; too long ones as faulty."""
        for number, marked in self.lines(max_line):
            line = marked.removeprefix(BYTE_ORDER_MARK)  # several files joined to one
            if len(line) >= max_line:
                yield number, Dropped("faulty", f"{max_line} characters or more")
            elif line.strip() and not line.startswith("#"):
                yield number, line

    def part(self, characters: int) -> str:
        """Return the next characters, none at the end."""
        return self._stream.read(characters)


class Dropped(NamedTuple):
    """A line of a log that is no job, instead of the cells of one."""

    reason: str  #: as the report counts it; ``faulty`` if it cannot be read
    fault: str = ""  #: what is wrong with a faulty one


class LogRows(NamedTuple):
    """A log as a table, whatever it looks like."""

    titles: Sequence[str]  #: names of the columns
    rows: Iterator[tuple[int, Sequence[str] | Dropped]]  #: a number, and the cells of a job
    place: str = "line"  #: what the number counts


def read_text(path: PathLike, parse: Callable[[LogText], T]) -> tuple[T, str]:
    """Hand the text of a file to a function; one that is gzipped is unpacked on the way.

    It is gzipped if it begins as such files do, or its name ends in ``.gz``. Returns what the function
    returns, and the SHA-256 of the file as it lies on disk, in hexadecimal (of what was read of it).
    """
    path = Path(path)
    try:
        with open_input(path) as stream, _Hashed(stream) as raw:
            packed = io.BufferedReader(raw)
            is_zipped = is_compressed(path) or packed.peek(2)[:2] == GZIP
            unpacked = gzip.GzipFile(fileobj=packed) if is_zipped else packed
            head = unpacked.peek(1).decode("utf-8", "replace").removeprefix(BYTE_ORDER_MARK)
            with io.TextIOWrapper(unpacked, encoding="utf-8-sig", errors="replace") as text:
                result = parse(LogText(text, str(path), head))
            return result, raw.digest()
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error  # gzip's own OSErrors have none
        raise FormatError(str(path), [f"cannot be read: {reason}"]) from error


def read_lines(path: PathLike, parse: Callable[[Iterator[tuple[int, str]]], T]) -> tuple[T, str]:
    """Hand the lines of a file to a function; see `read_text`.

    Raises `FormatError` if the file cannot be read or unpacked, or has more than 2^29 characters. The
    function takes pairs of a number, from 1, and a line, of which `MAX_LINE` characters at most are given.
    """
    return read_text(path, lambda text: parse(text.lines(MAX_LINE)))


class _Hashed(io.RawIOBase):
    """The bytes of a file as they lie on disk, and their SHA-256 when they are read."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self._sha256 = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        count = self._stream.readinto(buffer)
        self._sha256.update(memoryview(buffer)[:count])
        return count

    def close(self) -> None:
        """Stay open: what unpacks the bytes closes what it reads from."""

    def digest(self) -> str:
        return self._sha256.hexdigest()


#: Rows that are unpacked at a time.
_BATCH: Final = 2**16
#: Bytes of all cells together.
_PARQUET_TOTAL: Final = 2**30


def read_parquet(
    path: PathLike,
    wanted: Callable[[Sequence[str]], Sequence[int]],
    parse: Callable[[Iterator[tuple[int, Sequence[str]]]], T],
) -> tuple[T, str]:
    """Hand the rows of a file to a function.

    Raises `FormatError` if the file cannot be read, or has more than 2^30 bytes of cells. `wanted` takes the
    names of all columns and returns the places of those that are read; nothing else is unpacked. `parse`
    takes pairs of a number, from 1, and the cells of a row, in that order. Points in time without a zone are
    ISO texts, others Unix seconds; whole numbers have no fraction. Returns what the function returns, and the
    SHA-256 of the file, in hexadecimal.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - an optional dependency
        import pyarrow.parquet as pq  # noqa: PLC0415 - an optional dependency
    except ImportError:
        raise SolverUnavailable("Parquet needs pyarrow: pip install 'allocsolve[parquet]'") from None
    source = str(path)
    try:
        with open_input(Path(path)) as stream:
            if not stream.seekable():
                raise FormatError(source, ["cannot be read: a Parquet file cannot be a pipe"])
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
            stream.seek(0)
            with pq.ParquetFile(stream) as file:
                return parse(_rows(file, wanted(file.schema_arrow.names), source)), sha256
    except (OSError, EOFError, UnicodeDecodeError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        raise FormatError(source, [f"cannot be read: {reason}"]) from error


def _rows(file: Any, places: Sequence[int], source: str) -> Iterator[tuple[int, Sequence[str]]]:  # noqa: ANN401 - pyarrow has no types
    names = file.schema_arrow.names
    columns = [names[place] for place in places]
    total = number = 0
    for batch in file.iter_batches(batch_size=_BATCH, columns=columns):
        total += batch.nbytes
        if total > _PARQUET_TOTAL:
            raise FormatError(
                source, [f"its columns are larger than {_PARQUET_TOTAL >> 20} MiB: cut it before"]
            )
        cells = [_texts(batch.column(batch.schema.get_field_index(name))) for name in columns]
        for row in zip(*cells, strict=True):
            number += 1
            yield number, row


def _texts(column: Any) -> list[str]:  # noqa: ANN401 - pyarrow has no types
    """Return the cells of a column as texts; empty where there is none."""
    import pyarrow as pa  # noqa: PLC0415 - an optional dependency

    if pa.types.is_timestamp(column.type):
        return _times(column)
    cells = column.to_pylist()
    if pa.types.is_integer(column.type):
        return ["" if cell is None else str(cell) for cell in cells]
    return [_text(cell) for cell in cells]


def _text(cell: object) -> str:
    if isinstance(cell, float):
        # A number that Arrow holds as a double since some of its column are missing.
        if cell.is_integer():
            return str(int(cell))
        return "" if math.isnan(cell) else f"{cell:.9f}".rstrip("0")
    return "" if cell is None else str(cell)


def _times(column: Any) -> list[str]:  # noqa: ANN401 - pyarrow has no types
    import pyarrow as pa  # noqa: PLC0415 - an optional dependency

    unit = column.type.unit
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    ticks = column.cast(pa.int64()).to_pylist()
    whole = all(tick is None or tick % per_second == 0 for tick in ticks)
    if column.type.tz is None:
        texts = column.cast(pa.timestamp("s" if whole else unit)).cast(pa.string()).to_pylist()
        return ["" if text is None else text for text in texts]
    seconds = (None if tick is None else tick // per_second if whole else tick / per_second for tick in ticks)
    return [_text(second) for second in seconds]


#: Characters that are read at a time, at first.
_PART: Final = 2**16
#: Characters of one job, with all of its steps.
_MOST: Final = 2**26
#: Characters of a file.
_JSON_TOTAL: Final = 2**32
_BLANK: Final = re.compile(r"[ \t\r\n]*")


class JsonText:
    """A JSON text of which only one value is held at a time.

    The hint is what is said of a value that is too large.
    """

    def __init__(self, text: LogText, hint: str = "") -> None:
        self._hint = hint
        self._text = text
        self._decoder = json.JSONDecoder()
        self._held = ""
        self._at = 0
        self._gone = 0  #: characters before the held ones
        self._is_over = False
        self.place = ""  #: what messages add

    def _more(self, characters: int) -> None:
        self._gone += self._at
        if self._gone > _JSON_TOTAL:
            raise FormatError(
                self._text.source, [f"is larger than {_JSON_TOTAL >> 30} GiB unpacked: cut it before"]
            )
        self._held = self._held[self._at :]
        self._at = 0
        part = self._text.part(characters)
        self._is_over = not part
        self._held += part

    def peek(self) -> str:
        """Return the next character that is not blank; empty at the end."""
        while True:
            blank = _BLANK.match(self._held, self._at)
            self._at = blank.end() if blank else self._at
            if self._at < len(self._held) or self._is_over:
                return self._held[self._at : self._at + 1]
            self._more(_PART)

    def expect(self, mark: str) -> None:
        """Go beyond a mark, which must be there."""
        if self.peek() != mark:
            self._fail(f"{mark!r} is missing")
        self._at += 1

    def next_of(self, end: str, *, is_first: bool) -> bool:
        """Go to the next element of a list or an object; return whether there is one before its end."""
        if self.peek() == end:
            self._at += 1
            return False
        if not is_first:
            self.expect(",")
        return True

    def value(self) -> Any:  # noqa: ANN401 - whatever stands there
        """Return the next value."""
        self.peek()
        wanted = _PART
        while True:
            try:
                value, end = self._decoder.raw_decode(self._held, self._at)
            except json.JSONDecodeError as error:
                if self._is_over:
                    self._fail(error.msg, error.pos)
            except RecursionError:
                self._fail("is nested too deeply")
            else:
                # A number goes on in the next part, perhaps.
                if end < len(self._held) or self._is_over:
                    self._at = end
                    return value
            if len(self._held) - self._at > _MOST:
                self._fail(f"more than {_MOST >> 20} MiB{self._hint}")
            self._more(wanted)
            wanted = min(2 * wanted, _MOST)

    def jobs(self) -> Iterator[Any]:
        """Yield the elements of the next value, a list of jobs."""
        self.expect("[")
        number = 0
        while self.next_of("]", is_first=not number):
            number += 1
            self.place = f" in job {number}"
            yield self.value()
        self.place = ""

    def finish(self) -> None:
        """Check that nothing follows."""
        if self.peek():
            self._fail("there is more than one value")

    def _fail(self, what: str, at: int | None = None) -> None:
        at = self._at if at is None else at
        where = f"character {self._gone + at + 1}{self.place}"
        if self._is_over and at >= len(self._held.rstrip()):
            what = "the file ends there, it was cut off"
        raise FormatError(self._text.source, [f"{where}: {what}"])
