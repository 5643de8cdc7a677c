"""Bytes of files, devices and pipes, of which none is read beyond a bound or waited for in vain."""

from __future__ import annotations

import errno
import io
import os
import select
import stat
from typing import TYPE_CHECKING, BinaryIO, Final, TypeAlias

from allocsolve.errors import FormatError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["MAX_BYTES", "PathLike", "open_input", "read_input", "read_stream"]

PathLike: TypeAlias = "str | os.PathLike[str]"

#: The largest document that is read: two million applications of one step.
MAX_BYTES: Final = 2**27

#: How long a named pipe waits for somebody who writes, in seconds.
_PATIENCE_S: Final = 2.0


class _Pipe(io.FileIO):
    """A pipe that ends if nobody writes; who does may take any time between two bytes."""

    def __init__(self, path: PathLike) -> None:
        # Opened like this, a pipe does not wait for its other end.
        super().__init__(path, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))
        self._patience = _PATIENCE_S

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        while True:
            count = super().readinto(buffer)
            if count is None:  # somebody is there, but silent
                select.select([self], [], [])
            elif count or not self._patience:
                self._patience = 0.0
                return count
            else:
                select.select([self], [], [], self._patience)
                self._patience = 0.0


def open_input(path: PathLike) -> io.BufferedReader:
    """Open a file, a device or a pipe. A pipe into which nobody writes is empty.

    Raises
    ------
    OSError
        If it cannot be opened.
    """
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - a path of any type
    except ValueError as error:  # a null character
        raise OSError(errno.EINVAL, str(error), path) from None
    if stat.S_ISFIFO(mode):
        return io.BufferedReader(_Pipe(path))
    return open(path, "rb")  # noqa: PTH123 - a path of any type; the caller closes it


def read_input(path: PathLike, max_bytes: int | None = None) -> bytes:
    """Read a file, a device or a pipe.

    Raises
    ------
    OSError
        If it cannot be read.
    FormatError
        If it has more than `max_bytes` (`MAX_BYTES` by default), as endless devices have.
    """
    with open_input(path) as stream:
        return read_stream(stream, str(path), max_bytes)


def read_stream(stream: BinaryIO, source: str, max_bytes: int | None = None) -> bytes:
    """Read all of a stream, which messages call `source`; errors as in `read_input`."""
    most = MAX_BYTES if max_bytes is None else max_bytes
    data = stream.read(most + 1)
    if len(data) > most:
        raise FormatError(source, [f"is larger than {most >> 20} MiB"])
    return data
