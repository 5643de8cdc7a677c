"""The lines of a workload log, plain or gzipped: held one at a time, hashed on the way, bounded.

A format of logs that are tables is data: the names of its columns, and what its cells mean. Parquet files
are read a batch of rows at a time, only the columns that are asked for; their cells become texts, as in a
CSV file, so that what holds for the one holds for the other.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import math
import zlib
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from allocsolve.errors import FormatError, SolverUnavailable
from allocsolve.instances.formats.files import open_input

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
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

T = TypeVar("T")


class Faults:
    """Lines that are no jobs: all counted, the first of them named.

    Parameters
    ----------
    place
        What messages call a line, such as ``row``.
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


def read_lines(
    path: PathLike, parse: Callable[[Iterator[tuple[int, str]]], T], *, max_line: int = MAX_LINE
) -> tuple[T, str]:
    """Hand the lines of a file to a function; a file named ``.gz`` is unpacked on the way.

    Parameters
    ----------
    path
        The file.
    parse
        Takes pairs of a number, from 1, and a line. Of a line of `max_line` characters or more only so many
        are given.
    max_line
        See `parse`.

    Returns
    -------
    tuple
        What the function returns, and the SHA-256 of the file as it lies on disk, in hexadecimal.

    Raises
    ------
    FormatError
        If the file cannot be read or unpacked, or has more than 2^29 characters.
    """
    path = Path(path)
    try:
        with open_input(path) as stream, _Hashed(stream) as raw:
            unpacked = gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else io.BufferedReader(raw)
            with io.TextIOWrapper(unpacked, encoding="utf-8-sig", errors="replace") as text:
                result = parse(_lines(text, str(path), max_line))
            return result, raw.digest()
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error  # gzip's own OSErrors have none
        raise FormatError(str(path), [f"cannot be read: {reason}"]) from error


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


def _lines(stream: TextIO, source: str, max_line: int) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers, of which no more than `max_line` characters are ever held."""
    total = number = 0
    fresh = True
    while part := stream.readline(max_line):
        total += len(part)
        if total > _TOTAL:
            raise FormatError(source, [f"is larger than {_TOTAL >> 20} MiB unpacked"])
        if fresh:
            number += 1
            yield number, part.rstrip("\r\n")
        fresh = part.endswith("\n")


LOG_FORMATS: Final = ("swf", "sacct")

#: Lines that are looked at: a log begins with its header or with jobs.
_LOOKED_AT: Final = 100
#: Fields of a line of the Standard Workload Format, at least.
_SWF_FIELDS: Final = 18


def log_format(path: PathLike) -> str:
    """Return ``swf`` or ``sacct``, as the first line that is not empty says; the name does not count.

    Parameters
    ----------
    path
        The file; gzipped if its name ends in ``.gz``.

    Raises
    ------
    FormatError
        If the file cannot be read, or begins like neither.
    """
    first, _ = read_lines(path, _first)
    fields = first.split()
    if first.lstrip().startswith(";") or (len(fields) >= _SWF_FIELDS and all(map(_is_number, fields))):
        return "swf"
    if "submit" in first.lower():
        return "sacct"
    fault = "begins neither with comments or jobs of the Standard Workload Format nor with names of columns"
    raise FormatError(str(path), [f"{fault} such as sacct -P prints, with Submit among them"])


def _first(lines: Iterator[tuple[int, str]]) -> str:
    return next((text for _, text in islice(lines, _LOOKED_AT) if text.strip()), "")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


#: What is read of a job, and what it is; all but the id and the submission may be missing or unknown.
FIELDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "id": "the job's name",
        "submit": "when it entered the queue",
        "start": "when it started",
        "end": "when it ended",
        "run": "its run time; End minus Start where there is no such column",
        "limit": "the run time that the user asked for",
        "nodes": "nodes that it held",
        "requested_nodes": "taken where those are unknown",
        "processors": "processors that it held",
        "requested_processors": "taken where those are unknown",
        "state": "how it ended; tells jobs that were cancelled before they ran",
        "user": "who submitted it",
    }
)


@dataclass(frozen=True, slots=True)
class LogTable:
    """A format of logs with a line or row per job.

    Parameters
    ----------
    name
        Of the format, as the command line has it.
    summary
        What such a file is, in a few words.
    columns
        Names of columns by field (`FIELDS`). Upper and lower case, ``_`` and blanks make no difference; the
        first that is there is taken. Of sizes all are looked at, in this order, for one that is known.
    separators
        What may stand between the cells of a line; empty for Parquet files.
    limit
        What a plain number in the column of limits counts: ``minutes`` or ``seconds``.
    cancelled
        How states begin that tell of a job which was cancelled; in upper case.
    has_steps
        Whether ids with a dot are steps of jobs, which are left out.
    is_cut
        Whether a job that runs over midnight has a line per day, each from 0:00:00 or up to 23:59:59.
    is_relative
        Whether times are seconds that may count from anywhere, and 0 is one.
    max_line
        Characters of a line; a longer one is faulty.
    machine, num_nodes
        The machine that all such logs are of, and its size in nodes; empty and None if there is none.
    source
        Where such logs are published; empty for those of any machine.
    """

    name: str
    summary: str
    columns: Mapping[str, tuple[str, ...]]
    separators: tuple[str, ...] = (",",)
    limit: str = "seconds"
    cancelled: tuple[str, ...] = ("CANCEL",)
    has_steps: bool = False
    is_cut: bool = False
    is_relative: bool = False
    max_line: int = 10_000
    machine: str = ""
    num_nodes: int | None = None
    source: str = ""


def plain_name(column: str) -> str:
    """Return the name of a column without what makes no difference."""
    return column.strip().lower().replace("_", "").replace(" ", "")


_SACCT: Final = LogTable(
    name="sacct",
    summary="what Slurm's sacct -P prints, or such columns as CSV",
    columns={
        "id": ("JobID", "JobIDRaw", "job", "id"),
        "submit": ("Submit", "submit_time", "submit_ts"),
        "start": ("Start", "start_time", "start_ts"),
        "end": ("End", "end_time", "end_ts"),
        "run": ("ElapsedRaw", "Elapsed", "run_time", "runtime_seconds"),
        "limit": ("TimelimitRaw", "Timelimit"),
        "nodes": ("AllocNodes", "NNodes", "num_nodes", "nodes"),
        "requested_nodes": ("ReqNodes",),
        "processors": ("AllocCPUS", "NCPUS", "num_cpus", "cpus"),
        "requested_processors": ("ReqCPUS",),
        "state": ("State", "job_state"),
        "user": ("User", "UID", "user_id"),
    },
    separators=("|", ",", "\t", ";"),
    limit="minutes",
    has_steps=True,
)
_NERSC: Final = LogTable(
    name="nersc",
    summary="a CSV file of jobs of NERSC, such as Cori or Perlmutter",
    columns={
        "id": ("Job", "job_id"),
        "submit": ("Submit", "submit_time"),
        "start": ("Start",),
        "end": ("End",),
        "run": ("Elapsed Secs", "runtime_seconds"),
        "nodes": ("Nodes Allocated", "num_nodes"),
        "processors": ("CPUs",),
        "user": ("User",),
    },
    is_cut=True,
    source="https://github.com/davideberius/elastic-sim",
)
_ALCF: Final = LogTable(
    name="alcf",
    summary="a CSV file of jobs of the ALCF (DIM_JOB_COMPOSITE), such as Theta or Aurora",
    columns={
        "id": ("COBALT_JOBID",),
        "submit": ("QUEUED_TIMESTAMP",),
        "start": ("START_TIMESTAMP",),
        "end": ("END_TIMESTAMP",),
        "run": ("RUNTIME_SECONDS",),
        "limit": ("WALLTIME_SECONDS",),
        "nodes": ("NODES_USED",),
        "requested_nodes": ("NODES_REQUESTED",),
        "processors": ("CORES_USED",),
        "requested_processors": ("CORES_REQUESTED",),
        "user": ("USERNAME_GENID",),
    },
    max_line=2**20,  # the column LOCATION names all nodes of a job
    source="https://reports.alcf.anl.gov/data/",
)
_PM100: Final = LogTable(
    name="pm100",
    summary="the table of jobs of PM100 (Marconi100), a Parquet file",
    columns={
        "id": ("job_id",),
        "submit": ("submit_time",),
        "start": ("start_time",),
        "end": ("end_time",),
        "run": ("run_time",),
        "limit": ("time_limit",),
        "nodes": ("num_nodes_alloc",),
        "requested_nodes": ("num_nodes_req",),
        "processors": ("num_cores_alloc",),
        "requested_processors": ("num_cores_req",),
        "state": ("job_state",),
        "user": ("user_id",),
    },
    separators=(),
    limit="minutes",
    machine="Marconi100",
    num_nodes=980,
    source="https://doi.org/10.5281/zenodo.10127767",
)
_FDATA: Final = LogTable(
    name="fdata",
    summary="a month of F-DATA (Fugaku), a Parquet file",
    columns={
        "id": ("jid",),
        "submit": ("adt",),
        "start": ("sdt",),
        "end": ("edt",),
        "run": ("duration",),
        "limit": ("elpl",),
        "nodes": ("nnuma",),
        "requested_nodes": ("nnumr",),
        "processors": ("cnumat",),
        "requested_processors": ("cnumr",),
        "state": ("exit state",),
        "user": ("usr",),
    },
    separators=(),
    machine="Fugaku",
    num_nodes=158_976,
    source="https://doi.org/10.5281/zenodo.11467483",
)
_HPCOPT: Final = LogTable(
    name="hpcopt",
    summary="a Parquet file of jobs as hpcopt writes it, with its .metadata.json beside it if that is there",
    columns={
        "id": ("job_id",),
        "submit": ("submit_ts",),
        "start": ("start_ts",),
        "end": ("end_ts",),
        "run": ("runtime_actual_sec",),
        "limit": ("runtime_requested_sec",),
        "nodes": ("allocated_nodes",),
        "processors": ("allocated_cpus",),
        "requested_processors": ("requested_cpus",),
        "state": ("status",),
        "user": ("user_id",),
    },
    separators=(),
    cancelled=("CANCEL", "5"),  # the number is that of the Standard Workload Format
    is_relative=True,
    source="https://github.com/ErenAri/HPC-workload-optimizer",
)

#: All formats, by name.
LOG_TABLES: Final[Mapping[str, LogTable]] = MappingProxyType(
    {table.name: table for table in (_SACCT, _NERSC, _ALCF, _PM100, _FDATA, _HPCOPT)}
)


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

    Parameters
    ----------
    path
        The file.
    wanted
        Takes the names of all columns and returns the places of those that are read. Nothing else is
        unpacked.
    parse
        Takes pairs of a number, from 1, and the cells of a row, in the order of `wanted`. Points in time
        without a zone are ISO texts, others Unix seconds; whole numbers have no fraction.

    Returns
    -------
    tuple
        What the function returns, and the SHA-256 of the file, in hexadecimal.

    Raises
    ------
    FormatError
        If the file cannot be read, or has more than 2^30 bytes of cells.
    SolverUnavailable
        If pyarrow is not installed.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - an optional dependency
        import pyarrow.parquet as pq  # noqa: PLC0415 - an optional dependency
    except ImportError:
        msg = "Parquet needs pyarrow: pip install 'allocsolve[parquet]'"
        raise SolverUnavailable(msg) from None
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
