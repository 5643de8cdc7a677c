"""The accounting file of LSF, lsb.acct: a line for each job that has ended.

::

    "JOB_FINISH" "10.1" 1709542805 501 1001 33554438 8 1709539201 0 0 1709539205 "ann" "normal" "" "" "" ...

Texts stand in quotes, which are doubled inside; after ten more texts there is a list of hosts that were asked
for and one of hosts that were held, each with its length before it: a host for each slot, or ``4*n01``. The
index of an array task is the word 29 behind the state. Other records (EVENT_ADRSV_FINISH, JOB_RESIZE) are no
runs. The run time that a user asked for stands at places that differ between versions, and is not read.

Source: the manual page lsb.acct(5).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from allocsolve.instances.formats.logs.lines import Dropped, LogRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.instances.formats.logs.lines import LogText

_MAX_LINE: Final = 2**24
_TITLES: Final = (
    *("jobId", "submitTime", "startTime", "eventTime", "execHosts", "numProcessors", "userName"),
)
_RECORD: Final = re.compile(r'"([A-Z_]+)" "\d[\w.]*" \d')
_WORD: Final = re.compile(r'"((?:[^"]|"")*)"|([^\s"]+)')
#: Places of words in a record.
_ENDED, _ID, _PROCESSORS, _SUBMITTED, _STARTED, _USER, _ASKED = 2, 3, 6, 7, 10, 11, 22
#: From the state of a job on: state, factor, name, command, 19 numbers of usage, four texts and numbers, and
#: the login shell and event before the index.
_INDEX: Final = 29
_SLOTS: Final = re.compile(r"(?:(\d{1,9})\*)?([^*\s]+)", re.ASCII)


def begins(first: str) -> bool:
    """Tell whether a line is a record of lsb.acct."""
    return _RECORD.match(first) is not None


def rows(text: LogText) -> LogRows:
    """Return the jobs of lsb.acct."""
    return LogRows(_TITLES, _rows(text))


def _rows(text: LogText) -> Iterator[tuple[int, Sequence[str] | Dropped]]:
    for number, line in text.records(_MAX_LINE):
        if isinstance(line, Dropped):
            yield number, line
        elif (record := _RECORD.match(line)) is None:
            yield number, Dropped("faulty", f'{line[:30]!r} is no record such as "JOB_FINISH" "10.1" ...')
        elif record[1] != "JOB_FINISH":
            yield number, Dropped("other_records")
        else:
            yield number, _cells(line)


def _cells(line: str) -> Sequence[str] | Dropped:
    words = [quoted.replace('""', '"') or plain for quoted, plain in _WORD.findall(line)]
    try:
        held = _ASKED + 1 + _length(words, _ASKED, "numAskedHosts")
        last = held + 1 + _length(words, held, "numExHosts")
    except ValueError as fault:
        return Dropped("faulty", str(fault))
    if len(words) <= last + _INDEX:
        return Dropped("faulty", f"ends after {len(words)} words, before the index of its array")
    index = words[last + _INDEX]
    if not index.isdigit():
        return Dropped("faulty", f"idx {index[:20]!r} is no number")
    name = words[_ID] if index == "0" else f"{words[_ID]}[{index}]"
    times = (words[place] for place in (_SUBMITTED, _STARTED, _ENDED))
    return [name, *times, " ".join(words[held + 1 : last]), words[_PROCESSORS], words[_USER]]


def _length(words: Sequence[str], at: int, name: str) -> int:
    """Return the length of a list of hosts."""
    text = words[at] if at < len(words) else ""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError(f"{name} {text[:20]!r} is no number")
    if at + int(text) >= len(words):
        raise ValueError(f"ends within the {text} hosts of {name}")
    return int(text)


def _hosts(text: str) -> Iterator[tuple[str, int]]:
    for word in text.split():
        match = _SLOTS.fullmatch(word)
        if match is None:
            raise ValueError(f"{word[:30]!r} is no host such as n01 or 4*n01")
        yield match[2], int(match[1] or 1)


def hosts(text: str) -> str:
    """Return how many hosts ``4*n01 4*n02`` or ``n01 n01 n02`` names; empty if none."""
    return str(len({host for host, _ in _hosts(text)})) if text else ""


def slots(text: str) -> str:
    """Return how many slots ``4*n01 4*n02`` or ``n01 n01 n02`` has; empty if none; see `hosts`."""
    return str(sum(count for _, count in _hosts(text))) if text else ""
