"""What is run and what the records say: three algorithms, six orders of victims, table 3, and bounds."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.errors import InvalidOption
from allocsolve.instances import lina_workload
from allocsolve.model import Budget
from reproductions.claims import MissingRunsError, looked_up
from reproductions.lina2022.logs import LOGS
from reproductions.runs import BOUND, PlannedRun, best_values, certified, check_bound, check_draws, planned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.bench.runs.records import Record, RecordKey
    from allocsolve.model import WorkloadProblem
    from reproductions.lina2022.logs import Log
    from reproductions.runs import PlannedRun

#: The algorithm System as its listing prints it, and as the text says.
PRINTED_SYSTEM: Final = "system-printed"
TEXT_SYSTEM: Final = "system-text"
#: Options of `lina`: the algorithms, by the names of the paper; of the last one there are two readings.
ALGORITHMS: Final = ("default", "application", TEXT_SYSTEM, PRINTED_SYSTEM)
#: Options of `lina`, and what the paper calls them.
RULES: Final[Mapping[str, str]] = {
    "random": "Random",
    "gain": "Gain",
    "shrinkable": "Resource",
    "expansions": "Expansion",
    "cost": "Adaptation",
    "remaining": "Time",
}
#: Without elastic jobs: as the policies do it then, and textbook EASY.
RIGID: Final = ("first-fit", "easy")
#: The shares at which there are bounds, with the first seed.
BOUND_SHARES: Final = (0.0, 0.1, 0.5, 1.0)

#: Shares of elastic jobs, those of the paper; and how many seeds: the paper has ten runs.
SHARES: Final = tuple(percent / 100 for percent in range(10, 110, 10))
SEEDS: Final = 3

#: Seconds for a policy, of which none takes that long.
_POLICY_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True)
class Variant:
    """A workload of the paper with a share of elastic jobs; 0: all rigid."""

    log: str
    share: float
    seed: int
    problem: WorkloadProblem


class Label(NamedTuple):
    """What a run is about."""

    variant: Variant
    algorithm: str  #: of `ALGORITHMS`, `RIGID`, or `BOUND`
    rule: str  #: of `RULES`; empty of the others


def variants(log: Log, shares: Sequence[float] = SHARES, seeds: int = SEEDS) -> tuple[Variant, ...]:
    """Return a workload without elastic jobs, and those with each share, above 0 and at most 1, and seed.

    The seeds 1, 2, .. choose elastic jobs and draw what they are; where they are fully flexible there is
    one. `InvalidOption` is raised if there is nothing to run, or a share stands twice or is out of range.
    """
    check_draws(shares, seeds)
    if not all(0 < share <= 1 for share in shares):
        listed = ", ".join(f"{share:g}" for share in shares)
        msg = f"shares {listed}: not all are above 0 and at most 1"
        raise InvalidOption(msg)
    chosen = [Variant(log.name, 0.0, 1, log.problem)]
    for share in sorted(shares):
        for seed in range(1, 2 if log.full else seeds + 1):
            problem = lina_workload(
                log.problem, share=share, seed=seed, flexibility="full" if log.full else "limited"
            )
            chosen.append(Variant(log.name, share, seed, problem))
    return tuple(chosen)


def planned_runs(chosen: Sequence[Variant], *, full: bool, seconds: float) -> list[PlannedRun[Label]]:
    """Return the runs of all policies on the variants of a workload, and some bounds, of some seconds each.

    Where elastic jobs are fully flexible, only one order of victims is run, and no bound.
    """
    runs: list[PlannedRun[Label]] = []
    budget, long = Budget(seconds=_POLICY_SECONDS), Budget(seconds=seconds)
    for variant in chosen:
        labels = {name: Label(variant, name, "") for name in RIGID}
        if variant.share:
            labels = {
                f"lina(candidates={algorithm},victims={rule},seed={variant.seed})": Label(
                    variant, algorithm, rule
                )
                for algorithm in ALGORITHMS
                for rule in (("gain",) if full else RULES)
            }
        runs += planned(variant.problem, labels, objective="turnaround", budget=budget)
        if variant.seed == 1 and variant.share in BOUND_SHARES and not full:
            bound = {BOUND: Label(variant, BOUND, "")}
            runs += planned(variant.problem, bound, objective="turnaround", budget=long)
    return runs


#: The metrics of the paper.
METRICS: Final = ("turnaround", "utilisation", "slowdown")


class Printed(NamedTuple):
    """The orders of victims that differ most, of a workload, an algorithm and a metric."""

    best: str
    worst: str
    difference: float  #: per cent
    share: int  #: of elastic jobs, per cent


#: By workload, a line each of the algorithms Application, System and Default: best and worst order of
#: victims, difference and share, in turnaround, utilisation and slowdown.
_PRINTED: Final = {
    "LLNL": """
        gain random 2.62 40, random shrinkable 8.07 70, gain shrinkable 10.23 50
        gain shrinkable 2.09 100, random shrinkable 3.65 70, gain random 6.69 50
        random shrinkable 3.08 30, random shrinkable 9 90, expansions random 10.44 90""",
    "LLNL_shrunk": """
        cost random 1.45 70, random remaining 3.23 90, cost shrinkable 2.56 50
        gain random 2.19 60, random remaining 1.65 90, gain shrinkable 5.69 90
        shrinkable random 2.36 100, random gain 2.49 90, gain cost 5.32 90""",
    "KIT": """
        gain random 3.21 70, random shrinkable 10.25 50, cost remaining 14.06 50
        cost random 3.04 20, random shrinkable 3.11 40, cost remaining 13.77 80
        gain random 5.7 70, random shrinkable 10.9 50, gain random 18.05 80""",
    "KIT_shrunk": """
        gain random 1.23 80, random shrinkable 0.85 90, gain shrinkable 8.56 60
        gain remaining 1.66 100, random shrinkable 1.33 60, cost random 7.47 20
        gain random 2.84 100, random shrinkable 1.31 90, cost random 14.03 80""",
    "Synthetic": """
        gain random 1.51 60, random shrinkable 8.58 80, gain random 6.3 90
        gain remaining 1.09 90, random shrinkable 3.6 70, gain shrinkable 5.7 90
        gain random 1.79 90, random shrinkable 3.47 70, gain remaining 5.28 100""",
}


def _printed(cell: str) -> Printed:
    best, worst, difference, share = cell.split()
    return Printed(best, worst, float(difference), int(share))


#: By workload, algorithm (System is ``system-text``) and metric.
TABLE_3: Final[Mapping[tuple[str, str, str], Printed]] = {
    (log, algorithm, metric): _printed(cell)
    for log, lines in _PRINTED.items()
    for algorithm, line in zip(("application", TEXT_SYSTEM, "default"), lines.split("\n")[1:], strict=True)
    for metric, cell in zip(METRICS, line.split(","), strict=True)
}


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
    """All that is measured."""

    runs: tuple[Run, ...]
    cells: tuple[Cell, ...]
    bounds: tuple[BoundRow, ...]


def examine(planned: Sequence[PlannedRun[Label]], records: Mapping[RecordKey, Record]) -> Reproduction:
    """Return what the records say of planned runs, of one workload or of several; failed ones do not count.

    `InvalidAnswer` is raised if a value is below the bound of its problem.
    """
    best = best_values([records[task.key] for task, _ in planned])
    runs: list[Run] = []
    bounds: dict[str, BoundRow] = {}
    groups: dict[tuple[str, float, str, str], list[Run]] = defaultdict(list)
    for task, (variant, algorithm, rule) in planned:
        record = records[task.key]
        if algorithm == BOUND:
            bound = certified(record)
            if bound > 0:
                check_bound(bound, best[record.digest])
                bounds[record.digest] = BoundRow(variant.log, variant.share, bound, best[record.digest])
        elif record.value is not None:
            figures = (*(record.metrics[metric] for metric in METRICS), record.runtime_s)
            run = Run._make((variant.log, variant.share, variant.seed, algorithm, rule, *figures))
            runs.append(run)
            groups[variant.log, variant.share, algorithm, rule].append(run)
    cells = (
        Cell(*key, len(some), MappingProxyType({name: _mean(some, name) for name in METRICS}))
        for key, some in groups.items()
    )
    return Reproduction(tuple(runs), tuple(cells), tuple(bounds.values()))


def _mean(runs: Sequence[Run], metric: str) -> float:
    return fmean(getattr(run, metric) for run in runs)


@dataclass(frozen=True, slots=True)
class Contrast:
    """The orders of victims that differ most, at the share where they do."""

    log: str
    algorithm: str
    metric: str
    best: str  #: of `RULES`, as is the next one
    worst: str
    difference: float  #: by what part the best is better than the worst
    share: float
    printed: Printed | None  #: that of the paper


def sign(metric: str) -> int:
    """Return 1 for a metric of which more is better, else -1."""
    return 1 if metric == "utilisation" else -1


class Figures:
    """Means over seeds, by workload, share, algorithm and order of victims.

    Claims are held against one reading of the algorithm System.
    """

    def __init__(self, reproduction: Reproduction, system: str = TEXT_SYSTEM) -> None:
        self._cells = {
            (cell.log, cell.share, cell.algorithm, cell.rule): cell.figures for cell in reproduction.cells
        }
        names = {cell.log for cell in reproduction.cells}
        self.logs = [name for name in LOGS if name in names]
        self.shares = sorted({cell.share for cell in reproduction.cells if cell.share})
        self.system = system
        self.algorithms = ("default", "application", system)

    def need(self, *logs: str) -> None:
        """Refuse to go on without these workloads, by a `MissingRunsError`."""
        for log in logs:
            if not any(key[0] == log for key in self._cells):
                msg = f"{log} was not run"
                raise MissingRunsError(msg)

    def rigid(self, log: str, metric: str) -> float:
        """Return the figure without elastic jobs, by first fit."""
        return self.of(log, 0.0, RIGID[0], "", metric)

    def of(self, log: str, share: float, algorithm: str, rule: str, metric: str) -> float:
        """Return a figure of an algorithm with an order of victims."""
        what = f"{algorithm} {rule} on {log} at {100 * share:g} %"
        return looked_up(self._cells, (log, share, algorithm, rule), what)[metric]

    def mean(self, log: str, share: float, algorithm: str, metric: str) -> float:
        """Return the mean figure of an algorithm over the orders of victims."""
        return fmean(self.of(log, share, algorithm, rule, metric) for rule in RULES)

    def path(self, log: str, algorithm: str, metric: str) -> list[float]:
        """Return the mean figures by share, without the one of rigid jobs."""
        return [self.mean(log, share, algorithm, metric) for share in self.shares]

    def contrast(self, log: str, algorithm: str, metric: str) -> Contrast:
        """Return where the orders of victims differ most."""
        widest: Contrast | None = None
        for share in self.shares:
            values = {rule: self.of(log, share, algorithm, rule, metric) for rule in RULES}
            # Of equal ones the first.
            best = max(values, key=lambda rule: sign(metric) * values[rule])
            worst = min(values, key=lambda rule: sign(metric) * values[rule])
            difference = abs(values[best] / values[worst] - 1)
            if widest is None or difference > widest.difference:
                printed = TABLE_3.get((log, algorithm, metric))
                widest = Contrast(log, algorithm, metric, best, worst, difference, share, printed)
        if widest is None:
            msg = "no runs with elastic jobs"
            raise MissingRunsError(msg)
        return widest

    def contrasts(self, algorithms: Sequence[str], metrics: Sequence[str] = METRICS) -> list[Contrast]:
        """Return those of all workloads, as the paper's table 3 has them."""
        return [
            self.contrast(log, algorithm, metric)
            for log in self.logs
            for algorithm in algorithms
            for metric in metrics
        ]
