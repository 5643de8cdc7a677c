"""Logs that are JSON, whatever their lines are: a text of which one job is held at a time."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from allocsolve.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.instances.formats.logs.lines import LogText

#: Characters that are read at a time, at first.
_PART: Final = 2**16
#: Characters of one job, with all of its steps.
_MOST: Final = 2**26
#: Characters of a file.
_TOTAL: Final = 2**32
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
        if self._gone > _TOTAL:
            raise FormatError(
                self._text.source, [f"is larger than {_TOTAL >> 30} GiB unpacked: cut it before"]
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
