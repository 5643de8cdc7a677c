"""The experiments of the paper, simulated: means over the batches, beside what it prints and the bounds."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.bounds.workload import makespan_bound
from allocsolve.errors import InvalidAnswer
from allocsolve.judge.workload.certificate import workload_certified_bound
from allocsolve.model import WorkloadProblem, terms
from reproductions.posner2024.runs import EASY, EVOLV

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.bench.runs.records import Record, RecordKey
    from allocsolve.bench.runs.store import RecordStore
    from reproductions.posner2024.runs import PlannedRun

__all__ = ["FIGURES", "PRINTED", "BoundRow", "Reproduction", "Row", "Run", "examine"]

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


#: What is told of each run.
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


def examine(planned: Sequence[PlannedRun], store: RecordStore) -> Reproduction:
    """Return what records say.

    Parameters
    ----------
    planned
        See `planned_runs`; those that failed are left out.
    store
        Has a record of each.

    Raises
    ------
    InvalidAnswer
        If a value is below the bound of its problem.
    """
    records = {one.task.key: store[one.task.key] for one in planned}
    runs = tuple(
        _run(one, record)
        for one in planned
        if one.reading is not None and (record := records[one.task.key]).value is not None
    )
    by_cell: dict[tuple[str, str, float], list[Run]] = defaultdict(list)
    for run in runs:
        by_cell[run[:3]].append(run)
    rows = tuple(
        Row(*cell, len(some), {name: fmean(getattr(run, name) for run in some) for name in FIGURES})
        for cell, some in by_cell.items()
    )
    bounds: dict[tuple[str, float], list[tuple[float, ...]]] = defaultdict(list)
    best = _best_values(records)
    for one in planned:
        if one.reading is None:
            bounds[one.scheduler, one.share].append(_bounds(one, records[one.task.key], best))
    return Reproduction(
        runs,
        rows,
        tuple(
            BoundRow(*cell, len(some), *map(fmean, zip(*some, strict=True))) for cell, some in bounds.items()
        ),
    )


def _run(planned: PlannedRun, record: Record) -> Run:
    metrics = record.metrics
    assert planned.reading is not None
    return Run(
        planned.reading.name,
        planned.scheduler,
        planned.share,
        planned.batch,
        makespan=metrics["makespan"],
        turnaround=metrics["turnaround"],
        wait=metrics["wait"],
        run=metrics["turnaround"] - metrics["wait"],
        utilisation=metrics["utilisation"],
        expansions=metrics["expansions_per_job"],
        shrinks=metrics["shrinks_per_job"],
    )


def _best_values(records: Mapping[RecordKey, Record]) -> dict[str, float]:
    """Return the least value of each problem, by digest."""
    best: dict[str, float] = defaultdict(lambda: math.inf)
    for record in records.values():
        if record.value is not None:
            best[record.digest] = min(best[record.digest], terms(record.value)[0])
    return best


def _bounds(planned: PlannedRun, record: Record, best: Mapping[str, float]) -> tuple[float, ...]:
    """Return the bounds of a problem on the makespan and the turnaround, a claimed one, the least value."""
    problem = planned.task.problem
    assert isinstance(problem, WorkloadProblem)
    makespan = workload_certified_bound(problem, makespan_bound(problem).certificate, ("makespan",))
    certified = max(terms(bound)[0] for bound in (record.certified_bound, record.combinatorial_bound))
    claimed, value = max(certified, terms(record.bound)[0]), best[record.digest]
    if value < claimed * (1 - 1e-9):
        msg = f"contradiction: {problem.name} has a bound of {claimed:.10g} s, yet {value:.10g} s"
        raise InvalidAnswer(msg)
    return makespan, certified, claimed, value
