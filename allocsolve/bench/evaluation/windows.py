"""Hidden windows of logs: drawn by a seed, moved and stretched in time, each with a certified bound.

What a policy can read of a window is what it sees in its views; the times there are none of the log. A bound
is kept as its certificate, from which the judge computes it each time: a forged one proves what is true.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.adaptors import train_test_ranges, window_of_log
from allocsolve.bounds.workload import time_prices
from allocsolve.errors import AllocsolveError, FormatError, InvalidOption, UnsupportedProblem
from allocsolve.instances import (
    digest,
    log_format,
    log_problem,
    read_certificate,
    read_problem,
    read_table_log,
    write_certificate,
)
from allocsolve.instances.formats.files import unpacked_path
from allocsolve.judge import certified_bound
from allocsolve.kernels.cache import kernel_folder
from allocsolve.model import WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

#: What is minimised: the mean turnaround.
OBJECTIVE: Final = ("turnaround",)
#: By how much times are stretched at most, up or down, and how late a window begins, in seconds.
_STRETCH: Final = 0.1
_LATEST: Final = 7 * 86400
#: Names of files that tell about the others.
_TEXTS: Final = (".md", ".txt.license", ".license")


@dataclass(frozen=True, slots=True)
class Window:
    """Jobs of a log as a workload that does not show where it is from."""

    problem: WorkloadProblem
    #: No schedule has a lower mean turnaround, in seconds; positive.
    bound: float


def read_logs(places: Sequence[Path]) -> list[tuple[Path, WorkloadProblem]]:
    """Return the workloads of some files, and of all files of some folders, each with its file.

    Raises `FormatError` if a file is neither a log nor a workload, a folder has no file, or something is not
    there; `UnsupportedProblem` if a machine has more than nodes: no bound of this package holds for its
    windows; `InvalidOption` if there is no file, or two have the same jobs: windows would count them twice.
    """
    read: list[tuple[Path, WorkloadProblem]] = []
    for path in [file for place in places for file in _files(place)]:
        problem = _read(path)
        if not isinstance(problem, WorkloadProblem):
            raise FormatError(str(path), ["this is a problem, but none of workloads"])
        if problem.beyond_plain:
            msg = f"{path}: the workload has {problem.beyond_plain}: policies are evaluated on plain machines"
            raise UnsupportedProblem(msg)
        if not problem.is_rigid:
            msg = f"{path}: the workload has jobs that are not rigid: policies are evaluated on rigid jobs"
            raise UnsupportedProblem(msg)
        if twin := next((other for other, one in read if one.jobs == problem.jobs), None):
            raise InvalidOption(f"{path}: has the jobs of {twin}; windows are drawn from each log once")
        read.append((path, problem))
    if not read:
        raise InvalidOption("no log is given")
    return read


def _files(place: Path) -> list[Path]:
    if not place.is_dir():
        return [place]
    files = sorted(path for path in place.iterdir() if path.is_file() and not path.name.startswith("."))
    files = [path for path in files if path.suffix not in _TEXTS]
    if not files:
        raise FormatError(str(place), ["there is no log in this directory"])
    return files


def _read(path: Path) -> object:
    try:
        return read_problem(path)
    except FormatError as error:
        if unpacked_path(path).suffix in (".json", ".csv") or not path.exists():
            raise
        del error
    return log_problem(read_table_log(path, log_format(path)))


def draw_windows(
    logs: Sequence[tuple[Path, WorkloadProblem]], *, windows: int, jobs: int, split: str, seed: int
) -> list[WorkloadProblem]:
    """Draw windows from logs in turns, none of which has a job of another one.

    Raises `InvalidOption` if a log has not so many. The split is ``train`` or ``test``: see
    `allocsolve.adaptors.train_test_ranges`. One seed draws the same windows of the same logs, see
    `read_logs`.
    """
    rng = np.random.default_rng(seed)
    drawn: list[WorkloadProblem] = []
    for idx, (path, problem) in enumerate(logs):
        count = len(range(idx, windows, len(logs)))
        part = train_test_ranges(problem)[split == "test"]
        spare = len(part) - count * jobs
        if spare < 0:
            msg = f"{path}: {len(part)} jobs to {split} are less than {count} windows of {jobs} jobs"
            raise InvalidOption(msg)
        # What is left over lies between the windows: each way to distribute it is equally likely.
        gaps = np.sort(rng.integers(0, spare + 1, count))
        offsets = part.start + gaps + jobs * np.arange(count)
        drawn += [_hidden(window_of_log(problem, int(offset), jobs), rng) for offset in offsets]
    return drawn


def _hidden(window: WorkloadProblem, rng: np.random.Generator) -> WorkloadProblem:
    """Return a window at other times: all are stretched by one factor, rounded to seconds, and moved.

    Limits that hold still hold, jobs keep their order, names are numbers.
    """
    factor = 1 + rng.uniform(-_STRETCH, _STRETCH)
    later = int(rng.integers(0, _LATEST))

    def seconds(value: float) -> int:
        return max(1, math.ceil(value * factor))

    jobs = []
    for idx, job in enumerate(window.jobs):
        submit = later + math.floor(job.submit * factor)
        limit = None if job.limit is None else seconds(job.limit)
        jobs.append(replace(job, name=str(idx), submit=submit, runtime=seconds(job.runtime), limit=limit))
    return WorkloadProblem(window.num_nodes, jobs, name="window")


def bounds_folder() -> Path:
    """Return the folder of the certificates of bounds: beside that of compiled kernels."""
    kernels = kernel_folder()
    return kernels.with_name(f"{kernels.name}-bounds")


def bounded(problem: WorkloadProblem) -> Window:
    """Return a window with its bound.

    Raises `InvalidOption` if no job counts.
    """
    bound = _bound(problem)
    if bound <= 0:
        raise InvalidOption("a window has no job that counts: all its weights are 0")
    return Window(problem, bound)


def _bound(problem: WorkloadProblem) -> float:
    """Return the bound that the judge computes from a certificate, which is made if there is none."""
    path = bounds_folder() / f"{digest(problem)}.json.gz"
    with contextlib.suppress(AllocsolveError):
        certificate = read_certificate(path, problem).certificate
        return certified_bound(problem, certificate, OBJECTIVE)
    prices = time_prices(problem).certificate
    with contextlib.suppress(AllocsolveError, OSError):  # then it is made again the next time
        path.parent.mkdir(parents=True, exist_ok=True)
        write_certificate(path, problem, OBJECTIVE, prices)
    return certified_bound(problem, prices, OBJECTIVE)
