"""Windows of logs in the Standard Workload Format as evolution problems: rigid jobs of one step.

Rounding: times with a fraction are rounded up (``ceil``), so that a job holds its processors for every
second that it began and is not released before it was submitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.errors import FormatError, InvalidOption
from allocsolve.instances.formats.log_swf import SwfLines, header_size, read_swf_lines
from allocsolve.instances.formats.logs import CleaningReport
from allocsolve.model import MAX_INTEGER, EvolutionProblem, EvolutionProfile, IntArray

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

__all__ = ["SwfLog", "read_swf", "swf_problem"]

_TIMES = (2, 4, 9)


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
    """Read a log line by line, as `read_swf_lines` does; a file named ``.gz`` is unpacked on the way.

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
    lines, sha256 = read_swf_lines(path)
    max_procs = num_nodes or header_size(lines.header, "MaxProcs") or header_size(lines.header, "MaxNodes")
    if max_procs is None:
        raise FormatError(
            str(path), ["neither MaxProcs nor MaxNodes in the header: give the number of nodes"]
        )
    return _clean(Path(path).name, sha256, lines, max_procs)


def _clean(source: str, sha256: str, lines: SwfLines, max_procs: int) -> SwfLog:
    fields = {idx: np.ceil(column).astype(np.int64) for idx, column in lines.fields.items()}
    numbers, submits, runs, allocated, requested, limits = (fields[idx] for idx in (1, 2, 4, 5, 8, 9))
    rounded = np.logical_or.reduce([lines.fields[idx] % 1 != 0 for idx in _TIMES])
    procs = np.where(allocated > 0, allocated, requested)
    rows = np.arange(len(runs))
    dropped = {"faulty": lines.faults.count}
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
    report = CleaningReport(len(runs) + lines.faults.count, dropped, unusual, tuple(lines.faults.texts))
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
