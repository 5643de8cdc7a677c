"""The lines of a workload log, plain or gzipped: held one at a time, hashed on the way, bounded."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from allocsolve.errors import FormatError
from allocsolve.instances.formats.reading import open_input

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TextIO

    from _typeshed import WriteableBuffer

    from allocsolve.instances.formats.reading import PathLike

__all__ = ["MAX_FAULTS", "MAX_JOBS", "MAX_LINE", "Faults", "read_lines"]

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
