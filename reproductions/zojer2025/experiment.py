"""What is run and what the records say: policies on shares of malleable jobs, and bounds beside them."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from allocsolve.bench.runs.tasks import plan
from allocsolve.instances import elastic_workload
from allocsolve.judge import window_metrics
from allocsolve.judge.quantiles import quantile
from allocsolve.model import MALLEABLE, Budget, WorkloadSchedule
from reproductions.runs import BOUND, PlannedRun, best_values, certified, check_bound, check_draws

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from allocsolve.bench.runs.records import Record, RecordKey
    from allocsolve.bench.runs.runner import Progress
    from allocsolve.bench.runs.store import RecordStore
    from allocsolve.model import FloatArray, IntArray, WorkloadProblem

#: The strategies of the thesis.
POLICIES: Final = ("malleable-min", "malleable-average", "malleable-pref", "malleable-prefkeeper")
#: A policy that is not of the thesis and knows as much as they do.
COMPARED: Final = ("static-price",)
#: Policies for rigid jobs: where all are rigid they are run beside the others.
REFERENCES: Final = ("first-fit", "easy")

#: Shares of malleable jobs, and how many seeds; those of the thesis.
SHARES: Final = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
SEEDS: Final = 10
#: Seconds between the points where a size may change: of the thesis for this log, and of its other logs.
TICK: Final = 10.0
FINE_TICK: Final = 1.0

#: Seconds for a policy, of which none takes that long.
_POLICY_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True)
class Variant:
    """The log with a share of malleable jobs."""

    share: float
    seed: int
    tick: float
    problem: WorkloadProblem


VariantRun: TypeAlias = PlannedRun[Variant]


def variants(
    problem: WorkloadProblem, shares: Sequence[float] = SHARES, seeds: int = SEEDS
) -> tuple[Variant, ...]:
    """Return the variants of a rigid workload, share by share, with the tick of the thesis.

    The seeds 1, 2, .. choose the malleable jobs. No and all jobs malleable are one variant each: there is
    nothing to draw. Where the share 1 is asked for, it comes last once more with the fine tick.
    `InvalidOption` is raised if there is nothing to run, or a share stands twice.
    """
    check_draws(shares, seeds)
    chosen = [
        (share, seed, TICK)
        for share in sorted(shares)
        for seed in range(1, (seeds if 0 < share < 1 else 1) + 1)
    ]
    if 1 in shares:
        chosen.append((1.0, 1, FINE_TICK))
    return tuple(
        Variant(share, seed, tick, elastic_workload(problem, share=share, seed=seed, tick=tick))
        for share, seed, tick in chosen
    )


def planned_runs(
    chosen: Sequence[Variant], policies: Sequence[str], *, seconds: float, workers: int = 1
) -> list[VariantRun]:
    """Return the runs of all policies, and of the bound, which has its seconds and workers.

    Where no job is malleable, `REFERENCES` are run, too. With the fine tick there are only the first policy
    and no bound.
    """
    runs = []
    policy, bound = Budget(seconds=_POLICY_SECONDS), Budget(seconds=seconds, workers=workers)
    for variant in chosen:
        names = list(dict.fromkeys([*policies, *(REFERENCES if variant.share == 0 else ())]))
        solvers = [(names, policy), ([BOUND], bound)] if variant.tick == TICK else [(names[:1], policy)]
        for some, budget in solvers:
            tasks = plan([("", variant.problem)], some, objective="turnaround", budgets=[budget])
            runs += [PlannedRun(task, variant) for task in tasks]
    return runs


#: What the thesis prints of this log, by share and column; of most bars its text gives no figure.
PRINTED: Final[Mapping[float, Mapping[str, str]]] = MappingProxyType(
    {
        0.0: MappingProxyType({"turnaround": "4551", "utilisation": "85 %"}),
        0.4: MappingProxyType({"wait": "< 20"}),
        0.6: MappingProxyType({"wait": "< 20", "utilisation": "~95 %"}),
        0.8: MappingProxyType({"wait": "< 20"}),
        1.0: MappingProxyType({"turnaround": "1696", "wait": "< 20"}),
    }
)

#: Jobs of the first 12 h do not count.
WARM_UP_S: Final = 12 * 3600.0


class Run(NamedTuple):
    """A policy on a variant; times in seconds.

    Of the thesis' window are the jobs that are submitted after the warm-up and end by the last submission;
    its makespan is `run`.
    """

    share: float
    seed: int
    tick: float
    policy: str
    turnaround: float  #: of the window, as are the next four
    wait: float
    median_wait: float
    run: float
    utilisation: float
    all_turnaround: float  #: of all jobs: what the bound is one of
    bound: float  #: no schedule of the variant has a lower mean turnaround of all jobs; NaN without one
    expansions: float  #: changes to more nodes, and to fewer, as means over the malleable jobs
    shrinks: float
    nodes_gained: float  #: nodes in them, likewise
    nodes_lost: float
    runtime_s: float  #: of the simulation

    @property
    def gap(self) -> float:
        """By what part `all_turnaround` is above `bound`, at most: the optimum lies between."""
        return self.all_turnaround / self.bound - 1


#: What is measured of each policy: fields of `Run`, and the gap.
FIGURES: Final = (*Run._fields[4:], "gap")


class Spread(NamedTuple):
    """Mean and quartiles over seeds."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the spread of at least one value."""
        low, high = np.quantile(values, [0.25, 0.75]).tolist()  # between the few seeds, as numpy has them
        return cls(fmean(values), low, high)


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """A policy on the variants of one share; the tick is that of the thesis."""

    share: float
    policy: str
    seeds: int
    figures: Mapping[str, Spread]  #: by the names in `FIGURES`


@dataclass(frozen=True, slots=True)
class BoundRow:
    """What is known of the least mean turnaround of all jobs, on the variants of one share; seconds."""

    share: float
    seeds: int
    bound: Spread  #: recomputed by the judge from certificates
    best: Spread | None  #: the best schedules of all runs, clairvoyant ones included; None without any
    gap: float | None  #: mean of (best - bound) / bound; None without schedules


@dataclass(frozen=True, slots=True)
class Reproduction:
    """All that is measured."""

    log: WorkloadProblem
    runs: tuple[Run, ...]  #: of the policies, one by one
    policies: tuple[PolicyRow, ...]
    bounds: tuple[BoundRow, ...]


def examine(
    log: WorkloadProblem,
    planned: Sequence[VariantRun],
    store: RecordStore,
    *,
    records: Mapping[RecordKey, Record] | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Return what records say of the policies and of the best that is possible.

    Failed runs count with their combinatorial bound only. The records are those of the store by default,
    which has the answers. The progress is called after each run that was measured. `InvalidAnswer` is raised
    if a value is below the bound of its problem.
    """
    records = records or {run.task.key: store[run.task.key] for run in planned}
    bounds, best = _known_bounds(records.values()), best_values(records.values())
    for key, bound in bounds.items():
        check_bound(bound, best[key])
    runs = []
    for done, (task, variant) in enumerate(planned):
        record = records[task.key]
        if record.value is not None and task.solver != BOUND:
            answer = store.answer(task.key)
            if isinstance(answer, WorkloadSchedule):
                runs.append(_run(variant, record, answer, bounds[task.key.digest]))
        if progress:
            progress(done + 1, len(planned), task.label)
    pairs: dict[float, dict[str, tuple[float, float]]] = defaultdict(dict)
    for task, variant in planned:
        key = task.key.digest
        if task.solver == BOUND and not math.isnan(bounds[key]):
            pairs[variant.share][key] = bounds[key], best[key]
    bound_rows = (_bound_row(share, [*some.values()]) for share, some in pairs.items())
    return Reproduction(log, tuple(runs), tuple(_policy_rows(runs)), tuple(bound_rows))


def _known_bounds(records: Iterable[Record]) -> dict[str, float]:
    """Return the largest recomputed bound of each problem; NaN without one."""
    bounds: dict[str, float] = {}
    for record in records:
        bounds[record.digest] = max(bounds.get(record.digest, -math.inf), certified(record))
    return {key: bound if bound > 0 else math.nan for key, bound in bounds.items()}


def _policy_rows(runs: Sequence[Run]) -> list[PolicyRow]:
    by_policy: dict[tuple[float, str], list[Run]] = defaultdict(list)
    for run in runs:
        if run.tick == TICK:
            by_policy[run.share, run.policy].append(run)
    return [
        PolicyRow(
            *key, len(some), {name: Spread.of([getattr(run, name) for run in some]) for name in FIGURES}
        )
        for key, some in by_policy.items()
    ]


def _bound_row(share: float, pairs: Sequence[tuple[float, float]]) -> BoundRow:
    lower, upper = zip(*pairs, strict=True)
    best = gap = None
    if all(map(math.isfinite, upper)):
        best, gap = Spread.of(upper), fmean(value / bound - 1 for bound, value in pairs)
    return BoundRow(share, len(pairs), Spread.of(lower), best, gap)


def _run(variant: Variant, record: Record, answer: WorkloadSchedule, bound: float) -> Run:
    """Return what a policy came to on a variant, which has a bound."""
    problem = variant.problem
    last = float(problem.packed.submit.max())
    window = window_metrics(problem, answer, WARM_UP_S, last)
    inside = (problem.packed.submit >= WARM_UP_S) & (answer.last_ends <= last)
    waits = (answer.first_starts - problem.packed.submit)[inside]
    changes = _changes(answer.offsets, answer.nodes)
    malleable = max(int((problem.packed.kind == MALLEABLE).sum()), 1)
    ups, downs = changes[changes > 0], -changes[changes < 0]
    return Run(
        variant.share,
        variant.seed,
        variant.tick,
        record.solver,
        turnaround=window.turnaround,
        wait=window.wait,
        median_wait=quantile(waits, 0.5) if len(waits) else 0.0,
        run=window.turnaround - window.wait,
        utilisation=window.utilisation,
        all_turnaround=record.metrics["turnaround"],
        bound=bound,
        expansions=len(ups) / malleable,
        shrinks=len(downs) / malleable,
        nodes_gained=float(ups.sum()) / malleable,
        nodes_lost=float(downs.sum()) / malleable,
        runtime_s=record.runtime_s,
    )


def _changes(offsets: IntArray, nodes: IntArray) -> FloatArray:
    """Return by how many nodes a piece differs from the one before it, of the same job."""
    changes = np.diff(nodes.astype(np.float64), prepend=0.0)
    changes[offsets[:-1][offsets[:-1] < len(nodes)]] = 0.0
    return changes
