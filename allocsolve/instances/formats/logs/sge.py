"""Accounting files of Sun Grid Engine and its descendants: a line with 40 fields and more for each job.

Fields are separated by colons, and so may be parts of the name of a job and of its category: places are
counted from the number of the job, which is found by what follows it. Comments begin with ``#``. A job that
could not be started has the start time 0. A parallel job may have further lines, one for each of its tasks on
other hosts: they are steps. Univa's and Altair's versions since 8.2 write milliseconds.

Source: the manual page accounting(5).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from allocsolve.instances.formats.logs.lines import Dropped, LogRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.instances.formats.logs.lines import LogText

_MAX_LINE: Final = 2**20
#: Names of fields as the manual page has them.
_TITLES: Final = ("job_number", "submission_time", "start_time", "end_time", "slots", "owner", "category")
#: Where a name may begin to have colons, and places after the number of the job.
_NAME, _OWNER = 4, 3
_SUBMITTED, _STARTED, _ENDED, _SLOTS, _TASK, _CATEGORY = 3, 4, 5, 29, 30, 34
#: The least number of digits of a point in time: 2001.
_TIME_DIGITS: Final = 9
#: Behind the category: the time spent waiting for files, with a fraction, and the task of a parallel job.
_PARALLEL: Final = re.compile(r":\d+\.\d+:([^:]+):")
_LIMIT: Final = re.compile(r"\bh_rt=((?:\d{1,4}:\d{1,2}:\d{1,2})(?![\d.])|[^\s,:]*)", re.ASCII)


def begins(first: str) -> bool:
    """Tell whether a line is one of an accounting file."""
    return _place(first.split(":")) is not None


def _place(fields: Sequence[str]) -> int | None:
    """Return the place of the number of the job: the first with numbers and times behind it as needed."""
    for at in range(_NAME + 1, len(fields) - _ENDED - 2):
        numbers = (fields[at], *fields[at + 2 : at + 8])
        if (
            all(text.lstrip("-").isdigit() for text in numbers)
            and len(fields[at + _SUBMITTED]) >= _TIME_DIGITS
        ):
            return at
    return None


def rows(text: LogText) -> LogRows:
    """Return the jobs of an accounting file."""
    return LogRows(_TITLES, _rows(text))


def _rows(text: LogText) -> Iterator[tuple[int, Sequence[str] | Dropped]]:
    for number, line in text.records(_MAX_LINE):
        yield number, line if isinstance(line, Dropped) else _cells(line)


def _cells(line: str) -> Sequence[str] | Dropped:
    fields = line.split(":")
    at = _place(fields)
    if at is None:
        what = "no number of a job with its times behind it" if len(fields) > _SLOTS else "too few"
        return Dropped("faulty", f"{len(fields)} fields between colons, {what}: {line[:30]!r}")
    if len(fields) <= at + _TASK:
        return Dropped("faulty", f"ends after {len(fields)} fields, before slots and task_number")
    rest = ":".join(fields[at + _CATEGORY :])
    parallel = _PARALLEL.search(f":{rest}")
    if parallel is not None and parallel[1].upper() != "NONE":
        return Dropped("steps")
    name, task = fields[at], fields[at + _TASK]
    if task not in ("0", "", "NONE", "none", "undefined"):
        name = f"{name}.{task}"
    times = (fields[at + place] for place in (_SUBMITTED, _STARTED, _ENDED))
    return [name, *times, fields[at + _SLOTS], fields[_OWNER], rest]


def hard_limit(category: str) -> str:
    """Return the run time that ``-l h_rt=7200`` asks for; empty if nothing does.

    Examples
    --------
    >>> hard_limit("-pe mpi 16 -l h_rt=02:00:00,h_vmem=4G:0.000000:NONE"), hard_limit("-l h_vmem=4G")
    ('02:00:00', '')
    """
    match = _LIMIT.search(category)
    return match[1] if match else ""
