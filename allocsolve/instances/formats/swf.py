"""Logs in the Standard Workload Format (version 2.2), plain or gzipped, and problems cut out of them.

Real logs break the format in many ways. A line that is no job is dropped, counted and named; a job that
cannot be replayed is dropped and counted; the rest is kept. `CleaningReport` tells what was done.

Rounding: times with a fraction are rounded up (``ceil``), so that a job holds its processors for every
second that it began and is not released before it was submitted.

The format and the archive: Feitelson, Tsafrir & Krakov, "Experience with using the Parallel Workloads
Archive", JPDC 74, 2014.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import math
import re
import zlib
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

import numpy as np

from allocsolve.errors import FormatError, InvalidOption
from allocsolve.instances.formats.reading import open_input
from allocsolve.model import MAX_INTEGER, EvolutionProblem, EvolutionProfile, IntArray

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from _typeshed import WriteableBuffer

__all__ = ["CleaningReport", "SwfLog", "read_swf", "swf_problem"]

#: The fields that are read, by their number in the format.
_FIELDS = {1: "job number", 2: "submit", 4: "run", 5: "allocated", 8: "requested", 9: "requested time"}
_TIMES = (2, 4, 9)
_NOT_NEGATIVE = (1, 2)  # elsewhere a negative value means "unknown"
#: Of a line of the log, and of all lines together, as characters.
_LINE = 10_000
_TOTAL = 2**29
#: Of a log: what is read takes less than 500 MB.
_JOBS = 4_000_000
#: Comments below this line tell nothing of the log.
_HEADER_LINES = 1000
#: How many faulty lines are named; all are counted.
_FAULTS = 1000
#: Integers of more digits are beyond 2^53, or have leading zeros that a double forgets as well.
_DIGITS = 20
_KEY = re.compile(r";+\s*([A-Za-z]\w*)\s*:(?!//)\s*(.*)")


@dataclass(frozen=True, slots=True)
class CleaningReport:
    """What was dropped of a log, what is unusual in the rest, and why; counts of 0 included.

    Dropped are ``faulty`` lines (not 18 numbers, or an impossible one), ``no_run_time`` (0 or unknown, such
    as jobs cancelled before they started), ``no_processors`` (neither allocated nor requested),
    ``too_many_processors`` (the machine is smaller) and ``duplicates`` (of the number of an earlier job).

    Unusual, but kept, are ``unsorted`` (submitted before the job above; the log was sorted by submit time),
    ``requested_processors`` (taken because the allocated ones are unknown), ``no_requested_time``,
    ``above_requested_time`` (ran longer than requested) and ``rounded`` (a time had a fraction).
    """

    job_lines: int  #: lines that are neither empty nor comments
    dropped: Mapping[str, int]
    unusual: Mapping[str, int]
    faults: tuple[str, ...]  #: the first 1000 faulty lines, each with its number and what is wrong

    def counts(self) -> dict[str, int]:
        """Return all counts by name; ``kept`` is what the dropped ones leave of the job lines."""
        remaining = self.job_lines - sum(self.dropped.values())
        return {"job_lines": self.job_lines, **self.dropped, "kept": remaining, **self.unusual}

    def __str__(self) -> str:
        counts = [f"{count} {name.replace('_', ' ')}" for name, count in self.counts().items() if count]
        shown = self.faults[: FormatError.SHOWN]
        return "; ".join([", ".join(counts), *shown, *["..."] * (len(shown) < len(self.faults))])


@dataclass(frozen=True, slots=True, eq=False)
class SwfLog:
    """The jobs of a log that can be replayed, in order of submission; arrays are read-only, one row a job."""

    source: str  #: name of the file, without its folder
    sha256: str  #: of the file as it lies on disk, in hexadecimal
    header: Mapping[str, str]  #: comments by key; a key on several lines has a value of several lines
    max_procs: int  #: processors of the machine
    numbers: IntArray  #: job numbers, distinct
    submits: IntArray  #: submit times in seconds
    runs: IntArray  #: run times in seconds, >= 1
    procs: IntArray  #: processors, in 1..max_procs
    requested_times: IntArray  #: requested run times in seconds, <= 0 if unknown; a few jobs ran longer
    report: CleaningReport


def read_swf(path: str | os.PathLike[str], *, num_nodes: int | None = None) -> SwfLog:
    """Read a log line by line; a file named ``.gz`` is unpacked on the way.

    A line of 10,000 characters or more is faulty; of comments, those in the first 1000 lines are kept.

    Parameters
    ----------
    path
        The file.
    num_nodes
        Processors of the machine; by default MaxProcs of the header, else MaxNodes.

    Raises
    ------
    FormatError
        If the file cannot be read or unpacked, has more than 2^29 characters or 4,000,000 jobs, or
        nothing tells the size of the machine.
    InvalidOption
        If `num_nodes` is not in 1..2^53.
    """
    if num_nodes is not None and not 1 <= num_nodes <= MAX_INTEGER:
        msg = f"num_nodes {num_nodes} is not in 1..2^53"
        raise InvalidOption(msg)
    path = Path(path)
    try:
        with open_input(path) as stream, _Hashed(stream) as raw:
            unpacked = gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else io.BufferedReader(raw)
            with io.TextIOWrapper(unpacked, encoding="utf-8-sig", errors="replace") as text:
                lines = _read_lines(text, str(path))
            sha256 = raw.digest()
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error  # gzip's own OSErrors have none
        raise FormatError(str(path), [f"cannot be read: {reason}"]) from error
    max_procs = num_nodes or _machine_size(lines.header)
    if max_procs is None:
        raise FormatError(
            str(path), ["neither MaxProcs nor MaxNodes in the header: give the number of nodes"]
        )
    return _clean(path.name, sha256, lines, max_procs)


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


class _Lines(NamedTuple):
    header: dict[str, str]
    jobs: IntArray  #: shape (jobs, fields read + 1): the fields, and whether a time was rounded
    faulty: int
    faults: tuple[str, ...]  #: the first of the faulty lines


def _read_lines(stream: TextIO, source: str) -> _Lines:
    header: dict[str, list[str]] = {}
    jobs = array("q")
    faults: list[str] = []
    faulty = 0
    for number, text in _lines(stream, source):
        if text.startswith(";"):
            if (match := _KEY.match(text)) and number <= _HEADER_LINES:
                header.setdefault(match[1], []).append(match[2])
        elif text:
            try:
                jobs.extend(_read_job(text))
            except ValueError as fault:
                faulty += 1
                if faulty <= _FAULTS:
                    faults.append(f"line {number}: {fault}")
        if len(jobs) > _JOBS * (len(_FIELDS) + 1):
            raise FormatError(source, [f"has more than {_JOBS} jobs: cut it before"])
    table = np.frombuffer(jobs, dtype=np.int64).reshape(-1, len(_FIELDS) + 1)
    texts = {key: "\n".join(values) for key, values in header.items()}
    return _Lines(texts, table, faulty, tuple(faults))


def _lines(stream: TextIO, source: str) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers, of which no more than `_LINE` characters are ever held."""
    total = number = 0
    fresh = True
    while part := stream.readline(_LINE):
        total += len(part)
        if total > _TOTAL:
            raise FormatError(source, [f"is larger than {_TOTAL >> 20} MiB unpacked"])
        if fresh:
            number += 1
            yield number, part.strip() if len(part) < _LINE else part
        fresh = part.endswith("\n")


def _read_job(text: str) -> list[int]:
    """Return a row of jobs. A line that is garbled anywhere is not trusted, in unused fields neither."""
    if len(text) >= _LINE:
        msg = f"{_LINE} characters or more"
        raise ValueError(msg)
    words = text.split()
    if len(words) != 18:
        msg = f"{len(words)} fields instead of 18"
        raise ValueError(msg)
    values = [_number(word) for word in words]
    for idx, value in enumerate(values, 1):
        fault = ""
        if math.isnan(value):
            fault = "is not a number"
        elif abs(value) > MAX_INTEGER:
            fault = "is beyond 2^53"
        elif value < 0 and idx in _NOT_NEGATIVE:
            fault = "is below 0"
        elif value % 1 and idx in _FIELDS and idx not in _TIMES:
            fault = "is not whole"
        if fault:
            msg = f"field {idx} ({_FIELDS.get(idx, 'not used')}) {words[idx - 1][:20]!r} {fault}"
            raise ValueError(msg)
    return [*(math.ceil(values[idx - 1]) for idx in _FIELDS), any(values[idx - 1] % 1 for idx in _TIMES)]


def _number(word: str) -> float:
    """Return NaN for what is no number; Python's own ``1_000`` is none."""
    if "_" in word:
        return math.nan
    try:
        return int(word) if len(word) <= _DIGITS else float(word)
    except ValueError:
        try:
            return float(word)
        except ValueError:
            return math.nan


def _machine_size(header: Mapping[str, str]) -> int | None:
    for key in ("MaxProcs", "MaxNodes"):
        match = re.search(r"-?\d+", header.get(key, ""))  # text may follow
        if match and 1 <= (size := int(match[0][:17])) <= MAX_INTEGER:
            return size
    return None


def _clean(source: str, sha256: str, lines: _Lines, max_procs: int) -> SwfLog:
    numbers, submits, runs, allocated, requested, limits, rounded = lines.jobs.T
    procs = np.where(allocated > 0, allocated, requested)
    rows = np.arange(len(runs))
    dropped = {"faulty": lines.faulty}
    useless = {
        "no_run_time": runs <= 0,
        "no_processors": procs <= 0,
        "too_many_processors": procs > max_procs,
    }
    for reason, mask in useless.items():
        dropped[reason] = int(mask[rows].sum())
        rows = rows[~mask[rows]]
    first = np.sort(np.unique(numbers[rows], return_index=True)[1])
    dropped["duplicates"] = len(rows) - len(first)
    rows = rows[first]
    unusual = {
        "unsorted": int((np.diff(submits[rows]) < 0).sum()),
        "requested_processors": int((allocated[rows] <= 0).sum()),
        "no_requested_time": int((limits[rows] <= 0).sum()),
        "above_requested_time": int(((limits > 0) & (runs > limits))[rows].sum()),
        "rounded": int(rounded[rows].sum()),
    }
    rows = rows[np.argsort(submits[rows], kind="stable")]
    report = CleaningReport(len(runs) + lines.faulty, dropped, unusual, lines.faults)
    table = np.empty((5, len(rows)), dtype=np.int64)
    for place, column in enumerate((numbers, submits, runs, procs, limits)):
        table[place] = column[rows]
    table.setflags(write=False)
    return SwfLog(
        source,
        sha256,
        lines.header,
        max_procs,
        numbers=table[0],
        submits=table[1],
        runs=table[2],
        procs=table[3],
        requested_times=table[4],
        report=report,
    )


def swf_problem(log: SwfLog, *, from_job: int, jobs: int, queued: bool = False) -> EvolutionProblem:
    """Cut a window out of a log: rigid jobs are applications of one step.

    Applications are named after job numbers (``j17``); ``meta`` tells log, window and cleaning.

    Parameters
    ----------
    log
        The log.
    from_job
        First job of the window: its position, from 1, among the kept jobs in order of submission.
    jobs
        Size of the window.
    queued
        Whether all jobs are released at 0; else at their submit times, counted from the window's first.

    Raises
    ------
    InvalidOption
        If the window is empty or reaches out of the log.
    """
    window = slice(from_job - 1, from_job - 1 + jobs)
    if from_job < 1 or jobs < 1 or window.stop > len(log.numbers):
        msg = f"jobs {from_job}..{window.stop} of {log.source}: it has {len(log.numbers)} ({log.report})"
        raise InvalidOption(msg)
    submits = log.submits[window]
    steps = zip(log.runs[window].tolist(), log.procs[window].tolist(), strict=True)
    origin = {"generator": "swf", "log": log.source, "sha256": log.sha256, "rounding": "ceil"}
    stem = log.source.removesuffix(".gz").removesuffix(".swf")
    return EvolutionProblem(
        num_nodes=log.max_procs,
        applications=tuple(EvolutionProfile((step,)) for step in steps),
        releases=() if queued else tuple((submits - submits[0]).tolist()),
        name=f"{stem}-from{from_job}-jobs{jobs}{'-queued' if queued else ''}",
        application_names=tuple(f"j{number}" for number in log.numbers[window].tolist()),
        meta={
            **origin,
            "from_job": from_job,
            "jobs": jobs,
            "queued": queued,
            "cleaning": log.report.counts(),
        },
    )
