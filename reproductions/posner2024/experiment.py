"""What is run and what the records say: two schedulers on batches, in several readings, and bounds."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.bounds.workload import makespan_bound
from allocsolve.errors import InvalidAnswer
from allocsolve.judge import certified_bound
from allocsolve.model import Budget, WorkloadProblem, terms
from reproductions.runs import BOUND, PlannedRun, best_values, certified, planned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.bench.runs.records import Record, RecordKey
    from allocsolve.instances.generators.evotree import EvotreeKind
    from reproductions.posner2024.batches import Batch
    from reproductions.runs import PlannedRun

#: The schedulers of the paper: jobs that are not rigid are moldable under the first, and evolve under the
#: second.
EASY: Final = "EasyBackfilling"
EVOLV: Final = "EvolvEasyBack"
SCHEDULERS: Final = (EASY, EVOLV)
_KINDS: Final[dict[str, EvotreeKind]] = {EASY: "moldable", EVOLV: "evolving"}
#: A policy that is not of the paper and knows as much; run where jobs evolve.
COMPARED: Final = "static-price"
#: What looks for schedules of evolving jobs with all of them known, and how many lists it tries.
SEARCH: Final = "evolving-annealing"
_LISTS: Final = 200_000

#: Seconds for a policy, of which none takes that long.
_POLICY_SECONDS: Final = 60.0
_POLICY: Final = "evolv-easyback"


class Reading(NamedTuple):
    """One way to read what the paper leaves open."""

    name: str
    text: str
    evolving: str = _POLICY  #: the solver where jobs evolve
    others: str = _POLICY  #: where none does; there the two schedulers are the same
    release_delay: float = 10.0  #: seconds until an evolving job begins to give back an idle node


#: The first is that of the published program; its release delay is chosen such that its figures fit.
READINGS: Final = (
    Reading("published", "cool-down of 60 s, nodes given back after 10 s"),
    Reading("1 s", "nodes given back after 1 s", release_delay=1.0),
    Reading("5 s", "nodes given back after 5 s", release_delay=5.0),
    Reading("15 s", "nodes given back after 15 s", release_delay=15.0),
    Reading("polling", "decisions every 5 s only", f"{_POLICY}(wake_up=False)", f"{_POLICY}(wake_up=False)"),
    Reading("no cool-down", "no cool-down, as in the text", f"{_POLICY}(cooldown=0)"),
    Reading("start cools", "a job cools down after its start, too", f"{_POLICY}(start_counts=True)"),
    Reading("queue first", "requests after the queue", f"{_POLICY}(requests=last)"),
    Reading("textbook", "textbook EASY where no job evolves", others="easy"),
)


class Cell(NamedTuple):
    """A scheduler on a batch with a share of jobs that are not rigid."""

    batch: str
    scheduler: str
    share: float
    reading: Reading | None  #: None: a bound, or a search for the best known schedule


def planned_runs(
    batches: Sequence[Batch], shares: Sequence[float], *, seconds: float, workers: int = 1
) -> list[PlannedRun[Cell]]:
    """Return the runs of both schedulers in all readings, of what is compared with them, and of the bounds.

    The batches have all of the shares of jobs that are not rigid. There is a bound, of some seconds, for
    each problem of the first reading: how long a job keeps an idle node does not matter to it. Where jobs
    evolve, a search of fixed work is run on it, too, for the best known schedule.
    """
    policy, bound = Budget(seconds=_POLICY_SECONDS), Budget(seconds=seconds, workers=workers)
    search = Budget(iterations=_LISTS)
    runs = []
    for share, scheduler, batch in (
        (share, scheduler, batch) for share in sorted(shares) for scheduler in SCHEDULERS for batch in batches
    ):
        evolves = share > 0 and scheduler == EVOLV
        wanted: list[tuple[str, str, Reading | None, Budget]] = [
            (reading.evolving if evolves else reading.others, scheduler, reading, policy)
            for reading in READINGS
        ]
        wanted.append((BOUND, scheduler, None, bound))
        if evolves:
            wanted += [(COMPARED, COMPARED, READINGS[0], policy), (SEARCH, SEARCH, None, search)]
        for solver, name, reading, budget in wanted:
            delay = (reading or READINGS[0]).release_delay
            problem = batch.problem(share, _KINDS[scheduler], delay)
            label = Cell(batch.name, name, share, reading)
            runs += planned(problem, {solver: label}, objective="turnaround", budget=budget)
    return runs


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
        if cell.scheduler == SEARCH:
            continue  # it counts among the best values
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
    metrics = {**record.metrics, "run": record.metrics["turnaround"] - record.metrics["wait"]}
    names = (*FIGURES[:5], "expansions_per_job", "shrinks_per_job")
    return Run._make((reading, cell.scheduler, cell.share, cell.batch, *(metrics[name] for name in names)))


def _bounds(problem: WorkloadProblem, record: Record, best: float) -> tuple[float, ...]:
    """Return the bounds of a problem on the makespan and the turnaround, a claimed one, the least value."""
    makespan = certified_bound(problem, makespan_bound(problem).certificate, ("makespan",))
    turnaround = certified(record)
    claimed = max(turnaround, terms(record.bound)[0])
    if best < claimed * (1 - 1e-9):
        msg = f"contradiction: {problem.name} has a bound of {claimed:.10g} s, yet {best:.10g} s"
        raise InvalidAnswer(msg)
    return makespan, turnaround, claimed, best
