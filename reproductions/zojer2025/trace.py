"""The jobs of the KNL partition of Cori, 6-11 November 2022, prepared as the thesis describes it."""

from __future__ import annotations

import csv
import os
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from allocsolve.errors import FormatError, InvalidOption
from allocsolve.instances.formats.logs.lines import read_lines
from allocsolve.model import Jobs, WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Nodes of the partition.
NUM_NODES: Final = 9688
#: Where the daily files are published.
SOURCE: Final = "https://github.com/davideberius/elastic-sim"

#: Jobs that share a node with others, and transfers: they are left out.
_SHARED_QOS: Final = frozenset({"xfer", "xfer_dna", "compile"})
#: Names of the columns, in the daily files and where days are joined already.
_COLUMNS: Final = {
    "job": ("Job", "job_id"),
    "submit": ("Submit", "submit_time"),
    "start": ("Start", "start"),
    "end": ("End", "end"),
    "nodes": ("Nodes Allocated", "num_nodes"),
    "qos": ("QOS", "qos"),
}
#: What is looked for in a folder, in this order.
_PLACES: Final = ("cori_knl_merged.csv.gz", "cori_knl_merged.csv", "cori_knl/*.csv", "cori_knl/*.csv.gz")


@dataclass(slots=True)
class _Part:
    """A job as far as its lines were read: one line a day."""

    start: datetime
    end: datetime
    nodes: int


@dataclass(slots=True)
class _Days:
    """What was read of all files."""

    lines: int = 0
    shared: Counter[str] = field(default_factory=Counter)
    joined: int = 0
    jobs: dict[tuple[datetime, str], _Part] = field(default_factory=dict)

    def add(self, row: dict[str, str]) -> None:
        """Take up a line: a job of its own, or a further day of one."""
        self.lines += 1
        if row["qos"] in _SHARED_QOS:
            self.shared[row["qos"]] += 1
            return
        submit, start, end = (datetime.fromisoformat(row[name]) for name in ("submit", "start", "end"))
        key, nodes = (submit, row["job"]), int(row["nodes"])
        part = self.jobs.get(key)
        if part is None:
            self.jobs[key] = _Part(start, end, nodes)
            return
        self.joined += 1
        part.start, part.end = min(part.start, start), max(part.end, end)
        part.nodes = max(part.nodes, nodes)


def trace_files(folder: str | os.PathLike[str] | None) -> list[Path]:
    """Return the files of the log in a folder.

    It holds ``cori_knl/`` with the daily files, or ``cori_knl_merged.csv.gz`` where their lines are joined;
    it is the folder that the environment variable ``ALLOCSOLVE_TRACES`` names if it is None. `InvalidOption`
    is raised if no folder is named, or it holds neither.
    """
    place = folder or os.environ.get("ALLOCSOLVE_TRACES")
    if not place:
        msg = f"no folder of traces: --log DIR or ALLOCSOLVE_TRACES; the log of Cori is part of {SOURCE}"
        raise InvalidOption(msg)
    for pattern in _PLACES:
        paths = sorted(Path(place).glob(pattern))
        if paths:
            return paths
    msg = f"{place} holds neither cori_knl_merged.csv.gz nor cori_knl/*.csv, which are part of {SOURCE}"
    raise InvalidOption(msg)


def cori_knl(folder: str | os.PathLike[str] | None = None) -> WorkloadProblem:
    """Return the workload of Cori KNL (section 3.2): 41,524 rigid jobs on 9,688 nodes, without limits.

    Jobs of the qualities of service xfer, xfer_dna and compile, which share nodes, are left out; the lines
    of a job of several days (equal id and submission) are joined, from its first start to its last end.
    Second 0 is the first submission; jobs are in order of submission, then of their ids. The ``meta`` of the
    workload has the files with their SHA-256, and how many lines were left out and joined. `FormatError` is
    raised if a file cannot be read or is no such log.
    """
    days, hashes = _Days(), {}
    for path in trace_files(folder):
        _, hashes[path.name] = read_lines(path, partial(_read, path, days))
    keys = sorted(days.jobs)
    if not keys:
        raise FormatError(", ".join(hashes), ["no jobs"])
    parts = [days.jobs[key] for key in keys]
    seen: Counter[str] = Counter()
    names = []
    for _, job in keys:
        seen[job] += 1
        names.append(job if seen[job] == 1 else f"{job}#{seen[job]}")  # it was queued again
    return WorkloadProblem(
        NUM_NODES,
        Jobs(
            [(submit - keys[0][0]).total_seconds() for submit, _ in keys],
            [part.nodes for part in parts],
            [(part.end - part.start).total_seconds() for part in parts],
            names=names,
        ),
        name="cori-knl",
        meta={
            "source": SOURCE,
            "files": hashes,
            "lines": days.lines,
            "shared_nodes": dict(sorted(days.shared.items())),
            "joined": days.joined,
        },
    )


def _read(path: Path, days: _Days, lines: Iterator[tuple[int, str]]) -> None:
    """Take up the lines of a file."""
    rows = csv.reader(line for _, line in lines)
    head = next(rows, [])
    places = {}
    for name, titles in _COLUMNS.items():
        place = next((head.index(title) for title in titles if title in head), None)
        if place is None:
            raise FormatError(str(path), [f"there is no column {' or '.join(titles)}"])
        places[name] = place
    for number, row in enumerate(rows, 2):
        try:
            days.add({name: row[place] for name, place in places.items()})
        except (IndexError, ValueError) as error:
            raise FormatError(str(path), [f"line {number}: {error}"]) from None
