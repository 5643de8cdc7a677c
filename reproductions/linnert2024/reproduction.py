"""The simulations of the paper, computed again: what records say, run by run and as means over seeds."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING, NamedTuple

from allocsolve.errors import InvalidAnswer
from allocsolve.judge.reservation.rules import SIZE_CLASSES
from allocsolve.model import ReservationProblem, terms
from reproductions.linnert2024.runs import BOUND, TERMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from allocsolve.bench.runs.records import Record, RecordKey
    from reproductions.linnert2024.runs import PlannedRun

__all__ = ["BoundRow", "Reproduction", "Run", "Spread", "examine", "joined", "spread"]


class Spread(NamedTuple):
    """A mean, and the half of its interval of 95 % by Student's t; NaN of a single value."""

    mean: float
    half: float


class Run(NamedTuple):
    """A strategy on a stream."""

    load: str
    seed: int
    program: str  #: empty if nothing was executed
    strategy: str
    reading: str  #: empty if nothing was executed
    jobs: int
    accepted: float  #: jobs, as are the next two
    successful: float
    cancelled: float
    cancelled_share: float  #: of the accepted jobs
    accepted_area: float  #: share of the area of all jobs
    hops: float  #: mean distance between the nodes of a job
    held: float  #: utilisation: node-seconds held, and computed in
    computing: float
    by_size: tuple[float, ...]  #: accepted share of the jobs of each of `SIZE_CLASSES`
    runtime_s: float


@dataclass(frozen=True, slots=True)
class BoundRow:
    """How much of a stream can be accepted at all; shares of the jobs, or of their area."""

    load: str
    term: str  #: of `TERMS`
    seed: int
    most: float  #: that no schedule is above, recomputed by the judge
    offline: float  #: of the clairvoyant schedule


@dataclass(frozen=True, slots=True)
class Reproduction:
    """All that is measured."""

    runs: tuple[Run, ...]
    bounds: tuple[BoundRow, ...]


def spread(values: Sequence[float]) -> Spread:
    """Return the mean of values and its interval."""
    if len(values) < 2:
        return Spread(fmean(values), math.nan)
    from scipy.special import stdtrit  # noqa: PLC0415 - when there is something to tell

    quantile = float(stdtrit(len(values) - 1, 0.975))
    return Spread(fmean(values), quantile * stdev(values) / math.sqrt(len(values)))


def examine(planned: Sequence[PlannedRun], records: Mapping[RecordKey, Record]) -> Reproduction:
    """Return what records say of the runs of a load.

    Parameters
    ----------
    planned
        See `planned_runs`; failed ones do not count.
    records
        One of each, by its key.

    Raises
    ------
    InvalidAnswer
        If bookings are accepted beyond the bound of their stream.
    """
    runs: list[Run] = []
    bounds: list[BoundRow] = []
    booked: dict[tuple[str, int, str], float] = defaultdict(lambda: math.inf)
    for one in planned:
        record = records[one.task.key]
        if record.value is None:
            continue
        if one.strategy == BOUND:
            (term,) = one.task.objective
            least = max(terms(record.certified_bound)[0], terms(record.combinatorial_bound)[0], 0.0)
            bounds.append(BoundRow(one.load, term, one.seed, 1 - least, 1 - terms(record.value)[0]))
        else:
            runs.append(_run(one, record))
        if one.program is None:
            for term in TERMS:
                key, value = (one.load, one.seed, term), record.metrics[term.replace("-", "_")]
                booked[key] = min(booked[key], value)
    for row in bounds:
        value = booked[row.load, row.seed, row.term]
        if value < (1 - row.most) * (1 - 1e-9) - 1e-12:
            place = f"{row.load} load, seed {row.seed}"
            msg = f"contradiction: {place}: {row.term} {value:.10g} is below {1 - row.most:.10g}"
            raise InvalidAnswer(msg)
    return Reproduction(tuple(runs), tuple(bounds))


def _run(one: PlannedRun, record: Record) -> Run:
    of, problem = record.metrics, one.task.problem
    assert isinstance(problem, ReservationProblem)
    return Run(
        one.load,
        one.seed,
        "" if one.program is None else str(one.program),
        one.strategy,
        one.reading,
        jobs=len(problem.jobs),
        accepted=of["accepted_jobs"],
        successful=of["successful_jobs"],
        cancelled=of["cancelled_jobs"],
        cancelled_share=of["cancelled_share"],
        accepted_area=of["accepted_area"],
        hops=of["mean_hops"],
        held=of["booked_utilisation"],
        computing=of["computing_utilisation"],
        by_size=tuple(of[f"accepted_by_size.{place}"] for place in range(len(SIZE_CLASSES))),
        runtime_s=record.runtime_s,
    )


def joined(parts: Iterable[Reproduction]) -> Reproduction:
    """Return the reproductions of several loads as one."""
    several = tuple(parts)
    return Reproduction(
        tuple(run for part in several for run in part.runs),
        tuple(row for part in several for row in part.bounds),
    )
