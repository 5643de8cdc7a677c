"""The simulations of the paper: what records say run by run, and means over seeds."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

from scipy.special import stdtrit

from allocsolve.errors import InvalidAnswer
from allocsolve.judge.reservation import SIZE_CLASSES
from allocsolve.model import ReservationProblem, terms
from reproductions.claims import MissingRunsError, looked_up
from reproductions.linnert2024.runs import COUNT, LOADS, READINGS, TERMS
from reproductions.runs import BOUND, certified

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.bench.runs.records import Record, RecordKey
    from reproductions.linnert2024.runs import Label
    from reproductions.runs import PlannedRun


class Spread(NamedTuple):
    """A mean, and the half of its interval of 95 % by Student's t; NaN of a single value."""

    mean: float
    half: float

    def text(self, factor: float = 1, digits: int = 0) -> str:
        """Return the mean, multiplied, with its interval if there is one."""
        mean = f"{factor * self.mean:.{digits}f}"
        return f"{mean} +- {factor * self.half:.{digits}f}" if math.isfinite(self.half) else mean


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
    quantile = float(stdtrit(len(values) - 1, 0.975))
    return Spread(fmean(values), quantile * stdev(values) / math.sqrt(len(values)))


def examine(planned: Sequence[PlannedRun[Label]], records: Mapping[RecordKey, Record]) -> Reproduction:
    """Return what the records say of the planned runs of a load; failed ones do not count.

    `InvalidAnswer` is raised if bookings are accepted beyond the bound of their stream.
    """
    runs: list[Run] = []
    bounds: list[BoundRow] = []
    booked: dict[tuple[str, int, str], float] = defaultdict(lambda: math.inf)
    for task, label in planned:
        record = records[task.key]
        if record.value is None:
            continue
        if label.strategy == BOUND:
            (term,), least = task.objective, max(certified(record), 0.0)
            bounds.append(BoundRow(label.load, term, label.seed, 1 - least, 1 - terms(record.value)[0]))
        else:
            assert isinstance(task.problem, ReservationProblem)
            runs.append(_run(label, len(task.problem.jobs), record))
        if label.program is None:
            for term in TERMS:
                key, value = (label.load, label.seed, term), record.metrics[term.replace("-", "_")]
                booked[key] = min(booked[key], value)
    for row in bounds:
        value = booked[row.load, row.seed, row.term]
        if value < (1 - row.most) * (1 - 1e-9) - 1e-12:
            place = f"{row.load} load, seed {row.seed}"
            msg = f"contradiction: {place}: {row.term} {value:.10g} is below {1 - row.most:.10g}"
            raise InvalidAnswer(msg)
    return Reproduction(tuple(runs), tuple(bounds))


def _run(label: Label, jobs: int, record: Record) -> Run:
    of = record.metrics
    return Run(
        label.load,
        label.seed,
        "" if label.program is None else str(label.program),
        label.strategy,
        label.reading,
        jobs=jobs,
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


class Figures:
    """Means over seeds, by load, strategy, kind of programs and reading; ratios on common seeds.

    The reading of the figures is that of a figure for which no other is named.
    """

    def __init__(self, reproduction: Reproduction, reading: str = READINGS[0].name) -> None:
        self._runs: dict[tuple[str, ...], dict[int, Run]] = defaultdict(dict)
        for run in reproduction.runs:
            self._runs[run.load, run.strategy, run.program, run.reading][run.seed] = run
        self._bounds, self.reading = reproduction.bounds, reading
        loads = {run.load for run in reproduction.runs}
        self.loads = [load for load in LOADS if load in loads]

    def runs(self, load: str, strategy: str, program: object, reading: str) -> Mapping[int, Run]:
        """Return the runs of one sort by seed."""
        what = f" with programs {program} ({reading})" if reading else ""
        return looked_up(
            self._runs, (load, strategy, str(program), reading), f"{strategy} at {load} load{what}"
        )

    def executed(
        self, load: str, strategy: str, program: object, figure: str, reading: str | None = None
    ) -> Spread:
        """Return a figure of executions, one of the fields of `Run`."""
        some = self.runs(load, strategy, program, reading or self.reading)
        return spread([getattr(run, figure) for run in some.values()])

    def change(
        self, load: str, strategy: str, program: object, figure: str, readings: tuple[str, str]
    ) -> tuple[Spread, Spread, Spread]:
        """Return a figure in two readings and its change from the first to the second, on common streams."""
        before, after = (self.runs(load, strategy, program, reading) for reading in readings)
        pairs = [
            (getattr(before[seed], figure), getattr(after[seed], figure))
            for seed in sorted(before.keys() & after.keys())
        ]
        if not pairs:
            msg = f"no stream of {strategy} at {load} load in both readings {' and '.join(readings)}"
            raise MissingRunsError(msg)
        firsts, lasts = zip(*pairs, strict=True)
        return spread(firsts), spread(lasts), spread([last - first for first, last in pairs])

    def booked(self, load: str, allocator: str, figure: str) -> Spread:
        """Return a figure of static admission alone."""
        return spread([getattr(run, figure) for run in self.runs(load, allocator, "", "").values()])

    def by_size(self, load: str, allocator: str) -> list[Spread]:
        """Return the accepted shares of the classes of sizes."""
        some = self.runs(load, allocator, "", "").values()
        return [spread(column) for column in zip(*(run.by_size for run in some), strict=True)]

    def ratio(self, load: str, allocator: str, base: str = COUNT) -> Spread:
        """Return how many jobs are accepted in the mean for each that another accepts of the same stream."""
        these, others = (self.runs(load, name, "", "") for name in (allocator, base))
        common = these.keys() & others.keys()
        return spread([these[seed].accepted / others[seed].accepted for seed in sorted(common)])

    def num_jobs(self, load: str) -> int:
        """Return how many jobs a stream has."""
        counts = {key[0]: run.jobs for key, some in self._runs.items() for run in some.values()}
        if load not in counts:
            msg = f"no runs at {load} load"
            raise MissingRunsError(msg)
        return counts[load]

    def offline(self, load: str, term: str) -> tuple[Spread, Spread, Spread]:
        """Return the share that no schedule is above, that of the clairvoyant one, and the gap of both."""
        rows = [row for row in self._bounds if (row.load, row.term) == (load, term)]
        if not rows:
            msg = f"no bounds at {load} load"
            raise MissingRunsError(msg)
        gaps = [row.most / row.offline - 1 if row.offline else 0.0 for row in rows]
        return spread([row.most for row in rows]), spread([row.offline for row in rows]), spread(gaps)

    def accepted_rows(self) -> list[dict[str, Any]]:
        """Return what static admission accepts, as it stands in JSON."""
        return [
            {
                "load": load,
                "allocator": name,
                "jobs": self.booked(load, name, "accepted")._asdict(),
                "ratio": self.ratio(load, name)._asdict() if (load, COUNT, "", "") in self._runs else None,
                "area": self.booked(load, name, "accepted_area")._asdict(),
                "hops": self.booked(load, name, "hops").mean,
                "by_size": [share.mean for share in self.by_size(load, name)],
                "seeds": len(runs),
            }
            for (load, name, _, reading), runs in self._runs.items()
            if not reading
        ]

    def bound_rows(self) -> list[dict[str, Any]]:
        """Return what is possible, as it stands in JSON: shares of the jobs, and of their area."""
        rows = []
        for load, term in dict.fromkeys((row.load, row.term) for row in self._bounds):
            spreads = zip(("most", "offline", "gap"), self.offline(load, term), strict=True)
            rows.append({"load": load, "term": term, **{name: value._asdict() for name, value in spreads}})
        return rows

    def executed_rows(self) -> list[dict[str, Any]]:
        """Return what becomes of jobs when they are executed, as it stands in JSON."""
        names = ("accepted", "cancelled_share", "successful", "held", "computing")
        return [
            {
                "load": load,
                "strategy": strategy,
                "program": program,
                "reading": reading,
                "seeds": len(runs),
                **{name: self.executed(load, strategy, program, name, reading)._asdict() for name in names},
            }
            for (load, strategy, program, reading), runs in self._runs.items()
            if reading
        ]
