"""The five workloads of the paper, and those in which elastic jobs are fully flexible."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from allocsolve.errors import InvalidOption, UnknownName
from allocsolve.instances import downey1997, log_problem, read_swf_log, shrunk_arrivals
from allocsolve.model import WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Jobs of each log that the paper takes.
NUM_JOBS: Final = 10_000
#: Of the KIT log: with those above it there are more than the largest job of the paper.
_LARGEST_KIT: Final = 10_240
#: The seed of the synthetic workload in the paper, for another generator of random numbers.
_SEED: Final = 17
_KIT: Final = "KIT-FH2-2016*.swf*"
_ATLAS: Final = "LLNL-Atlas-2006*.swf*"


@dataclass(frozen=True, slots=True)
class _Recipe:
    pattern: str  #: of the file; empty for the synthetic workload
    factor: float = 1  #: of the times between submissions
    full: bool = False


_RECIPES: Final = {
    "KIT": _Recipe(_KIT),
    "KIT_shrunk": _Recipe(_KIT, 0.65),
    "LLNL": _Recipe(_ATLAS),
    "LLNL_shrunk": _Recipe(_ATLAS, 0.95),
    "Synthetic": _Recipe(""),
    "KIT_full": _Recipe(_KIT, 1, full=True),
    "KIT_shrunk_full": _Recipe(_KIT, 0.65, full=True),
}

#: The workloads of the paper, by its names.
LOGS: Final = tuple(name for name, recipe in _RECIPES.items() if not recipe.full)
#: Where elastic jobs run on any number of nodes.
FULL: Final = tuple(name for name, recipe in _RECIPES.items() if recipe.full)


@dataclass(frozen=True, slots=True)
class Log:
    """A workload of the paper."""

    name: str  #: of the paper
    problem: WorkloadProblem  #: all jobs rigid
    full: bool  #: whether elastic jobs run on any number of nodes, else on half to eight times their own


def paper_logs(
    folder: str | os.PathLike[str] | None = None, names: Sequence[str] = (*LOGS, *FULL)
) -> tuple[Log, ...]:
    """Return workloads of the paper: the first 10,000 jobs of two logs, denser ones, and a synthetic one.

    Sizes are processors, as in the paper. Of KIT FH2 the jobs above 10,240 processors are left out.

    Parameters
    ----------
    folder
        Holds the logs of the Parallel Workloads Archive under their names there,
        ``KIT-FH2-2016-1.swf.gz`` and ``LLNL-Atlas-2006-2.1-cln.swf.gz``, or other versions of them; the
        folder that the environment variable ``ALLOCSOLVE_TRACES`` names if it is None.
    names
        Of `LOGS` and `FULL`, each once.
    """
    for name in names:
        if name not in _RECIPES:
            raise UnknownName("workload of the paper", name, _RECIPES)
    if not names or len({*names}) < len(names):
        msg = f"workloads {','.join(names)}: none, or some twice"
        raise InvalidOption(msg)
    read: dict[str, WorkloadProblem] = {}
    logs = []
    for name in names:
        recipe = _RECIPES[name]
        if recipe.pattern not in read:
            read[recipe.pattern] = _rigid(folder, recipe.pattern)
        problem = read[recipe.pattern]
        if recipe.factor != 1:
            problem = shrunk_arrivals(problem, recipe.factor)
        logs.append(Log(name, problem, recipe.full))
    return tuple(logs)


def _rigid(folder: str | os.PathLike[str] | None, pattern: str) -> WorkloadProblem:
    if not pattern:
        return downey1997(_SEED, num_jobs=NUM_JOBS)
    place = folder or os.environ.get("ALLOCSOLVE_TRACES")
    if not place:
        msg = "no folder of traces: --log DIR or ALLOCSOLVE_TRACES; --suite Synthetic needs none"
        raise InvalidOption(msg)
    paths = sorted(Path(place).glob(pattern))
    if not paths:
        msg = f"{place} holds no {pattern}, a log of the Parallel Workloads Archive"
        raise InvalidOption(msg)
    log = read_swf_log(paths[0], unit="processors")
    problem = log_problem(log, jobs=min(NUM_JOBS, len(log.names)))
    if pattern == _KIT:
        few = [job for job in problem.jobs if job.nodes <= _LARGEST_KIT]
        meta = {**problem.meta, "largest_size": _LARGEST_KIT}
        return WorkloadProblem(problem.num_nodes, few, name=problem.name, meta=meta)
    return problem
