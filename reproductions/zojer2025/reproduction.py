"""The simulations of the thesis on the log of Cori KNL, computed again, beside the certified bound."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.model import terms
from reproductions.zojer2025.runs import BOUND, TICK, Run, measured

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.bench.runs.records import Record, RecordKey
    from allocsolve.bench.runs.runner import Progress
    from allocsolve.bench.runs.store import RecordStore
    from allocsolve.model import WorkloadProblem
    from reproductions.zojer2025.runs import PlannedRun

__all__ = ["FIGURES", "PRINTED", "BoundRow", "PolicyRow", "Reproduction", "Spread", "examine"]

#: What is told of each policy: fields of `Run`, and the regret.
FIGURES: Final = (*Run._fields[4:], "regret")

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


class Spread(NamedTuple):
    """Mean and quartiles over seeds."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the spread of at least one value."""
        low, high = np.quantile(values, [0.25, 0.75]).tolist()
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
    """All that is found."""

    log: WorkloadProblem
    runs: tuple[Run, ...]  #: of the policies, one by one
    policies: tuple[PolicyRow, ...]
    bounds: tuple[BoundRow, ...]


def examine(
    log: WorkloadProblem,
    planned: Sequence[PlannedRun],
    store: RecordStore,
    *,
    progress: Progress | None = None,
) -> Reproduction:
    """Return what records say of the policies and of the best that is possible.

    Parameters
    ----------
    log
        The rigid workload.
    planned
        See `planned_runs`; failed ones count with their combinatorial bound only.
    store
        Has a record and, where it did not fail, an answer of each.
    progress
        Told after each answer that was measured.

    Raises
    ------
    InvalidAnswer
        If a value is below the bound of its problem.
    """
    records = {run.task.key: store[run.task.key] for run in planned}
    bounds, values = _known(records)
    runs = []
    for done, (task, variant) in enumerate(planned):
        record = records[task.key]
        if record.value is not None and task.solver != BOUND:
            answer = store.answer(task.key)
            if answer is not None:
                runs.append(measured(variant, record, answer, bounds[task.key.digest]))
        if progress:
            progress(done + 1, len(planned), task.label)
    by_policy: dict[tuple[float, str], list[Run]] = defaultdict(list)
    for run in runs:
        if run.tick == TICK:
            by_policy[run.share, run.policy].append(run)
    rows = tuple(
        PolicyRow(
            share,
            policy,
            len(some),
            {name: Spread.of([getattr(run, name) for run in some]) for name in FIGURES},
        )
        for (share, policy), some in by_policy.items()
    )
    digests: dict[float, dict[str, None]] = defaultdict(dict)
    for task, variant in planned:
        if task.solver == BOUND and not math.isnan(bounds[task.key.digest]):
            digests[variant.share][task.key.digest] = None
    pairs = {
        share: [(bounds[key], values.get(key, math.inf)) for key in keys] for share, keys in digests.items()
    }
    return Reproduction(
        log, tuple(runs), rows, tuple(_bound_row(share, some) for share, some in pairs.items())
    )


def _known(records: Mapping[RecordKey, Record]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the largest recomputed bound (NaN without one) and the least value of each problem."""
    bounds: dict[str, float] = {}
    values: dict[str, float] = {}
    for record in records.values():
        key = record.digest
        known = max(terms(record.certified_bound)[0], terms(record.combinatorial_bound)[0])
        bounds[key] = max(bounds.get(key, -math.inf), known)
        if record.value is not None:
            values[key] = min(values.get(key, math.inf), terms(record.value)[0])
    for key, bound in bounds.items():
        if values.get(key, math.inf) < bound:
            msg = f"contradiction: a bound of {bound:.10g} s, yet a schedule of {values[key]:.10g} s"
            raise InvalidAnswer(msg)
    return {key: bound if bound > 0 else math.nan for key, bound in bounds.items()}, values


def _bound_row(share: float, pairs: Sequence[tuple[float, float]]) -> BoundRow:
    lower, upper = zip(*pairs, strict=True)
    best = gap = None
    if all(map(math.isfinite, upper)):
        best, gap = Spread.of(upper), fmean(value / bound - 1 for bound, value in pairs)
    return BoundRow(share, len(pairs), Spread.of(lower), best, gap)
