"""Parquet files as rows of cells: the columns that are asked for, a batch of rows at a time.

Cells are texts, as those of a CSV file would be, so that what is said of one holds for the other.
"""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from allocsolve.errors import FormatError, SolverUnavailable
from allocsolve.instances.formats.reading import open_input

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from allocsolve.instances.formats.reading import PathLike

__all__ = ["read_parquet"]

#: Rows that are unpacked at a time.
_BATCH: Final = 2**16
#: Bytes of all cells together.
_TOTAL: Final = 2**30

T = TypeVar("T")


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
        if total > _TOTAL:
            raise FormatError(source, [f"its columns are larger than {_TOTAL >> 20} MiB: cut it before"])
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
