"""The experiments of the paper, simulated: means over the batches, beside what it prints and the bounds."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.bounds.workload import makespan_bound
from allocsolve.errors import InvalidAnswer
from allocsolve.judge.workload_certificate import workload_certified_bound
from allocsolve.model import WorkloadProblem, terms
from reproductions.posner2024.runs import EASY, EVOLV
from reproductions.runs import best_values, certified

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.bench.runs.records import Record, RecordKey
    from reproductions.posner2024.runs import Cell
    from reproductions.runs import PlannedRun

#: What the text of the paper prints of its figures 4 to 7, by scheduler and share; bars have no numbers.
PRINTED: Final[Mapping[tuple[str, float], Mapping[str, str]]] = MappingProxyType(
    {
        (EASY, 0.0): {"makespan": "1507", "turnaround": "605", "wait": "425-438", "run": "181"}
        | {"utilisation": "81 %"},
        (EASY, 1.0): {"makespan": "1385", "turnaround": "564", "wait": "376", "utilisation": "91 %"},
        (EVOLV, 0.0): {"makespan": "1510", "wait": "425-438", "run": "181", "utilisation": "81 %"},
        (EVOLV, 0.2): {"expansions": "1.9-2.2", "shrinks": "3.5"},
        (EVOLV, 0.8): {"utilisation": "88 %"},
        (EVOLV, 1.0): {"makespan": "1157", "turnaround": "428", "wait": "191", "utilisation": "85 %"}
        | {"expansions": "1.9-2.2", "shrinks": "2.2"},
    }
)


class Run(NamedTuple):
    """A scheduler on a batch, in a reading; times in seconds."""

    reading: str
    scheduler: str
    share: float
    batch: str
    makespan: float
    turnaround: float
    wait: float
    run: float
    utilisation: float
    expansions: float  #: nodes that came to running jobs, and that went, as means over jobs that may change
    shrinks: float


#: What is measured of each run.
FIGURES: Final = Run._fields[4:]


@dataclass(frozen=True, slots=True)
class Row:
    """Means over the batches."""

    reading: str
    scheduler: str
    share: float
    batches: int
    figures: Mapping[str, float]  #: by the names in `FIGURES`


@dataclass(frozen=True, slots=True)
class BoundRow:
    """What no schedule of the jobs can be below; means over the batches, seconds."""

    scheduler: str
    share: float
    batches: int
    makespan: float  #: certified
    turnaround: float  #: certified
    claimed: float  #: of the turnaround: what the solver claims beyond its certificate, as by a search
    best: float  #: the least mean turnaround of all runs of the same jobs


@dataclass(frozen=True, slots=True)
class Reproduction:
    """All that is measured."""

    runs: tuple[Run, ...]
    rows: tuple[Row, ...]
    bounds: tuple[BoundRow, ...]


def examine(planned: Sequence[PlannedRun[Cell]], records: Mapping[RecordKey, Record]) -> Reproduction:
    """Return what the records say of planned runs; those that failed are left out.

    `InvalidAnswer` is raised if a value is below the bound of its problem.
    """
    best = best_values(records.values())
    runs: list[Run] = []
    by_cell: dict[tuple[str, str, float], list[Run]] = defaultdict(list)
    bounds: dict[tuple[str, float], list[tuple[float, ...]]] = defaultdict(list)
    for task, cell in planned:
        record = records[task.key]
        if cell.reading is None:
            assert isinstance(task.problem, WorkloadProblem)
            bounds[cell.scheduler, cell.share].append(_bounds(task.problem, record, best[record.digest]))
        elif record.value is not None:
            run = _run(cell, cell.reading.name, record)
            runs.append(run)
            by_cell[run[:3]].append(run)
    rows = (
        Row(*key, len(some), {name: fmean(getattr(run, name) for run in some) for name in FIGURES})
        for key, some in by_cell.items()
    )
    bound_rows = (
        BoundRow(*key, len(some), *map(fmean, zip(*some, strict=True))) for key, some in bounds.items()
    )
    return Reproduction(tuple(runs), tuple(rows), tuple(bound_rows))


def _run(cell: Cell, reading: str, record: Record) -> Run:
    metrics = record.metrics
    return Run(
        *(reading, cell.scheduler, cell.share, cell.batch),
        makespan=metrics["makespan"],
        turnaround=metrics["turnaround"],
        wait=metrics["wait"],
        run=metrics["turnaround"] - metrics["wait"],
        utilisation=metrics["utilisation"],
        expansions=metrics["expansions_per_job"],
        shrinks=metrics["shrinks_per_job"],
    )


def _bounds(problem: WorkloadProblem, record: Record, best: float) -> tuple[float, ...]:
    """Return the bounds of a problem on the makespan and the turnaround, a claimed one, the least value."""
    makespan = workload_certified_bound(problem, makespan_bound(problem).certificate, ("makespan",))
    turnaround = certified(record)
    claimed = max(turnaround, terms(record.bound)[0])
    if best < claimed * (1 - 1e-9):
        msg = f"contradiction: {problem.name} has a bound of {claimed:.10g} s, yet {best:.10g} s"
        raise InvalidAnswer(msg)
    return makespan, turnaround, claimed, best
