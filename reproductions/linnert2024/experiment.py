"""What is run and what the records say: strategies, loads, kinds of programs, several readings."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from scipy.special import stdtrit

from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.instances import linnert2024
from allocsolve.judge.reservation.rules import SIZE_CLASSES
from allocsolve.model import Budget, ReservationProblem, terms
from reproductions.claims import MissingRunsError, looked_up
from reproductions.runs import BOUND, PlannedRun, certified, planned

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from allocsolve.bench.runs.records import Record, RecordKey

#: What the jobs of a stream do: all the same kind, or one drawn for each.
Program: TypeAlias = int | Literal["mixed"]

#: The loads of the paper: seconds between arrivals in the mean.
LOADS: Final[dict[str, float]] = {"normal": 1500, "heavy": 150, "very heavy": 1}
PROGRAMS: Final[tuple[Program, ...]] = (0, 1, 2, 3, "mixed")
NUM_JOBS: Final = 1000

#: Jobs of 1000 that the paper accepts by the number of free nodes alone.
PRINTED_COUNTS: Final = {"normal": 510, "heavy": 400, "very heavy": 260}

#: Streams of each load and kind of programs; the paper has 320 of each. The readings after the first one have
#: fewer.
SEEDS: Final = 30
READING_SEEDS: Final = 5

#: The strategies of the paper. Its Manhattan median approach is read as Fig. 8 says, where a busy node that
#: is chosen ends a growth.
HILBERT: Final = "hilbert"
MEDIAN: Final = "literal"
LEAK: Final = "leak"
FREE_LEAK: Final = "leak-noncontiguous"
STATIC: Final = (HILBERT, MEDIAN)
STRATEGIES: Final = (*STATIC, LEAK, FREE_LEAK)

#: Allocators that only book: the first counts free nodes and nothing else.
COUNT: Final = "count"
ADMISSIONS: Final = (COUNT, "any", HILBERT, "growth", MEDIAN, "literal-set", "town", "manhattan-median")

#: What bounds are of: jobs, and their area.
TERMS: Final = ("rejected", "rejected-area")

#: Where the solvers are that execute programs.
_SOLVERS: Final = "reproductions.linnert2024.programs"

#: Seconds for a strategy, of which none takes that long.
_STRATEGY_SECONDS: Final = 120.0


class Reading(NamedTuple):
    """One way to read what the paper leaves open, as options of solvers."""

    name: str
    text: str
    static: str = ""
    leak: str = ""


SYNCHRONOUS: Final = "synchronous"
#: The first takes the paper at its word.
READINGS: Final = (
    Reading("as printed", "a booked job is cancelled when its booking ends; asynchronous messages"),
    Reading("grace", "not before its deadline or the next booking of its nodes", "overrun=grace"),
    Reading(
        "demand",
        "programs that fork take their run time on as many nodes as they ask for",
        "reference=demand",
        "reference=demand",
    ),
    Reading("no queue", "the leak rejects a job that finds no node when it arrives", leak="waiting=reject"),
    Reading(SYNCHRONOUS, "senders wait until a message has arrived", "synchronous=True", "synchronous=True"),
)


class Label(NamedTuple):
    """What a run is about."""

    load: str  #: of `LOADS`
    seed: int
    program: Program | None  #: None if nothing is executed
    strategy: str  #: of `STRATEGIES` with a reading, else of `ADMISSIONS`, or `BOUND`
    reading: str  #: of `READINGS`; empty if nothing is executed


def solver_of(strategy: str, reading: Reading) -> str:
    """Return the solver that is a strategy of the paper in a reading."""
    if strategy in STATIC:
        options = ",".join(filter(None, (f"allocator={strategy}", reading.static)))
        return f"{_SOLVERS}:StaticExecution({options})"
    options = ",".join(filter(None, ("contiguous=False" if strategy == FREE_LEAK else "", reading.leak)))
    return f"{_SOLVERS}:ReservationLeak({options})" if options else f"{_SOLVERS}:ReservationLeak"


def planned_runs(
    load: str,
    *,
    seeds: int = SEEDS,
    reading_seeds: int = READING_SEEDS,
    num_jobs: int = NUM_JOBS,
    seconds: float,
) -> list[PlannedRun[Label]]:
    """Return all runs of a load. One task may stand for several readings that ask for the same.

    Streams have the seeds 0, 1, .. below `seeds`, of which the readings after the first one have those below
    `reading_seeds` only. Each bound takes some seconds. `InvalidOption` is raised if there is no such load,
    or nothing to run.
    """
    if load not in LOADS or seeds < 1 or reading_seeds < 0:
        msg = f"load {load!r} of {seeds} seeds, {reading_seeds} of readings: no load, or nothing to run"
        raise InvalidOption(msg)
    runs: list[PlannedRun[Label]] = []
    for seed in range(seeds):
        for program in PROGRAMS:
            problem = linnert2024(seed, gap=LOADS[load], num_jobs=num_jobs, program=program)
            if program == PROGRAMS[-1]:
                runs += _unexecuted(load, seed, problem, seconds)
            readings = READINGS if seed < reading_seeds else READINGS[:1]
            runs += _executed(load, seed, program, problem, readings)
    return runs


def _unexecuted(
    load: str, seed: int, problem: ReservationProblem, seconds: float
) -> Iterator[PlannedRun[Label]]:
    """Yield what books only, and the bounds."""
    labels = {f"static(allocator={name})": Label(load, seed, None, name, "") for name in ADMISSIONS}
    yield from planned(problem, labels, objective=TERMS[0], budget=Budget(seconds=_STRATEGY_SECONDS))
    bound = {BOUND: Label(load, seed, None, BOUND, "")}
    for term in TERMS:
        yield from planned(problem, bound, objective=term, budget=Budget(seconds=seconds))


def _executed(
    load: str, seed: int, program: Program, problem: ReservationProblem, readings: Sequence[Reading]
) -> Iterator[PlannedRun[Label]]:
    """Yield the strategies of the paper in all readings."""
    solvers = {
        Label(load, seed, program, strategy, reading.name): solver_of(strategy, reading)
        for reading in readings
        for strategy in STRATEGIES
    }
    runs = planned(
        replace(problem, leaking=True),
        {solver: solver for solver in solvers.values()},
        objective="unsuccessful",
        budget=Budget(seconds=_STRATEGY_SECONDS),
    )
    tasks = {run.label: run.task for run in runs}
    yield from (PlannedRun(tasks[solver], label) for label, solver in solvers.items())


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


#: The metrics of a record that are fields of `Run`, in their order.
_METRICS: Final = (
    *("accepted_jobs", "successful_jobs", "cancelled_jobs", "cancelled_share", "accepted_area"),
    *("mean_hops", "booked_utilisation", "computing_utilisation"),
)


def _run(label: Label, jobs: int, record: Record) -> Run:
    of, program = record.metrics, "" if label.program is None else str(label.program)
    by_size = tuple(of[f"accepted_by_size.{place}"] for place in range(len(SIZE_CLASSES)))
    figures = (jobs, *(of[name] for name in _METRICS), by_size, record.runtime_s)
    return Run._make((label.load, label.seed, program, label.strategy, label.reading, *figures))


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
