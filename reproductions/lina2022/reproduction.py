"""The simulations of the paper, computed again: what records say, as means over seeds."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.errors import InvalidAnswer
from allocsolve.model import terms
from reproductions.lina2022.runs import BOUND

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from allocsolve.bench.runs.records import Record, RecordKey
    from reproductions.lina2022.runs import PlannedRun

__all__ = ["METRICS", "BoundRow", "Cell", "Reproduction", "Run", "examine", "joined"]

#: The metrics of the paper.
METRICS: Final = ("turnaround", "utilisation", "slowdown")


class Run(NamedTuple):
    """A policy on a variant. Times in seconds; of rigid jobs seed and rule mean nothing."""

    log: str
    share: float
    seed: int
    algorithm: str
    rule: str
    turnaround: float
    utilisation: float
    slowdown: float  #: with run times of at least 10 s
    runtime_s: float  #: of the simulation


@dataclass(frozen=True, slots=True)
class Cell:
    """A policy at a share; means over the seeds, of the names in `METRICS`."""

    log: str
    share: float
    algorithm: str
    rule: str
    seeds: int
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class BoundRow:
    """What is known of the least mean turnaround of a variant; seconds."""

    log: str
    share: float
    bound: float  #: recomputed by the judge from a certificate
    best: float  #: of the best schedule of all runs; infinite if there is none


@dataclass(frozen=True, slots=True)
class Reproduction:
    """All that is found."""

    runs: tuple[Run, ...]
    cells: tuple[Cell, ...]
    bounds: tuple[BoundRow, ...]


def examine(planned: Sequence[PlannedRun], records: Mapping[RecordKey, Record]) -> Reproduction:
    """Return what records say of the runs of one workload or of several.

    Parameters
    ----------
    planned
        See `planned_runs`; failed ones do not count.
    records
        One of each, by its key.

    Raises
    ------
    InvalidAnswer
        If a value is below the bound of its problem.
    """
    runs: list[Run] = []
    bounds: dict[str, tuple[str, float, float]] = {}
    values: dict[str, float] = {}
    for task, variant, algorithm, rule in planned:
        record = records[task.key]
        if algorithm == BOUND:
            known = max(terms(record.certified_bound)[0], terms(record.combinatorial_bound)[0])
            if known > 0:
                bounds[record.digest] = variant.log, variant.share, known
        elif record.value is not None:
            of = record.metrics
            which = variant.log, variant.share, variant.seed, algorithm, rule
            figures = of["turnaround"], of["utilisation"], of["slowdown"]
            runs.append(Run(*which, *figures, record.runtime_s))
        if record.value is not None:
            value = terms(record.value)[0]
            values[record.digest] = min(values.get(record.digest, math.inf), value)
    for key, (_, _, bound) in bounds.items():
        if values.get(key, math.inf) < bound:
            msg = f"contradiction: a bound of {bound:.10g} s, yet a schedule of {values[key]:.10g} s"
            raise InvalidAnswer(msg)
    rows = tuple(BoundRow(*row, values.get(key, math.inf)) for key, row in bounds.items())
    return Reproduction(tuple(runs), tuple(_cells(runs)), rows)


def joined(parts: Iterable[Reproduction]) -> Reproduction:
    """Return the reproductions of several workloads as one."""
    several = tuple(parts)
    return Reproduction(
        tuple(run for part in several for run in part.runs),
        tuple(cell for part in several for cell in part.cells),
        tuple(row for part in several for row in part.bounds),
    )


def _cells(runs: Sequence[Run]) -> list[Cell]:
    groups: dict[tuple[str, float, str, str], list[Run]] = defaultdict(list)
    for run in runs:
        groups[run.log, run.share, run.algorithm, run.rule].append(run)
    return [
        Cell(
            *group,
            len(some),
            MappingProxyType({name: fmean(getattr(run, name) for run in some) for name in METRICS}),
        )
        for group, some in groups.items()
    ]
