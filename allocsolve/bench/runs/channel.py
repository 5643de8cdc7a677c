"""The two ends of the pipes between a process that runs solvers and its owner.

Orders go in, pickled by the owner, who is trusted. What comes out is never unpickled: marks of one byte in a
fixed order, and a reply that is text.
"""

from __future__ import annotations

import os
import select
import struct
from pickle import HIGHEST_PROTOCOL, dumps, loads
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from allocsolve.errors import FormatError

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

__all__ = ["COMPILING", "DONE", "READY", "REPLY", "Channel", "listen", "packed", "tell"]

#: What a process says of an order, in this order: kernels are being compiled (once or not at all; a line that
#: says which follows, after its length); the clock starts; the solver has returned; a reply follows likewise.
COMPILING: Final = b"c"
READY: Final = b"r"
DONE: Final = b"d"
REPLY: Final = b"a"

_LENGTH: Final = struct.Struct("<Q")
_AT_ONCE: Final = 1 << 20


class Channel:
    """The owner's end: nothing that the process does or leaves undone makes the owner wait."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None, "it is a pipe"
        assert process.stdout is not None, "it is a pipe"
        self._inward, self._outward = process.stdin.fileno(), process.stdout.fileno()
        os.set_blocking(self._inward, False)
        self._poll = select.poll()
        self._poll.register(self._outward, select.POLLIN)
        self._unsent = memoryview(b"")
        self._received = bytearray()
        self.ended = False  #: whether the process has closed its end

    def send(self, data: bytes) -> None:
        """Have something sent by the following calls of `exchange`."""
        self._unsent = memoryview(data)
        self._poll.register(self._inward, select.POLLOUT)

    def exchange(self, seconds: float) -> None:
        """Send and receive what goes; wait for that at most so long."""
        for descriptor, event in self._poll.poll(1000 * seconds):
            if descriptor == self._outward:
                data = os.read(descriptor, _AT_ONCE)
                self._received += data
                self.ended = not data
            elif event & select.POLLOUT:
                self._push()
            else:  # nobody reads any more, which the end of the replies will say
                self._poll.unregister(descriptor)

    def _push(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._inward, self._unsent[:_AT_ONCE]) :]
        except BlockingIOError:
            return
        except OSError:
            self._unsent = memoryview(b"")
        if not self._unsent:
            self._poll.unregister(self._inward)

    @property
    def silent(self) -> bool:
        """Whether everything that has come was taken."""
        return not self._received

    def message(self, largest: int) -> tuple[bytes, bytes] | None:
        """Take the next mark, with the line or reply that follows it; None as long as it is not complete.

        Raises
        ------
        FormatError
            If a reply is announced with more bytes than `largest`.
        """
        mark = bytes(self._received[:1])
        end = begin = 1
        if mark in (COMPILING, REPLY):
            begin += _LENGTH.size
            if len(self._received) < begin:
                return None
            length = _LENGTH.unpack_from(self._received, 1)[0]
            if length > largest:
                raise FormatError("reply", [f"has {length} bytes, more than {largest}"])
            end = begin + length
        if len(self._received) < end:
            return None
        data = bytes(self._received[begin:end])
        del self._received[:end]
        return mark, data


def packed(order: object) -> bytes:
    """Return an order as it is sent."""
    data = dumps(order, HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(data)) + data


def listen(pipe: BinaryIO, take: Callable[[Any], None]) -> None:
    """Pass on orders, in the process, until the pipe ends or breaks."""
    while len(head := pipe.read(_LENGTH.size)) == _LENGTH.size:
        take(loads(pipe.read(_LENGTH.unpack(head)[0])))  # noqa: S301 - from the owner


def tell(pipe: BinaryIO, mark: bytes, reply: bytes | None = None) -> None:
    """Say something of an order, in the process: marks, of which the last may have a line or reply."""
    pipe.write(mark if reply is None else mark + _LENGTH.pack(len(reply)) + reply)
    pipe.flush()
