"""The runs behind the reproduction: each policy on each share of malleable jobs, and a bound of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.bench.runs.tasks import plan
from allocsolve.errors import InvalidOption
from allocsolve.instances import elastic_workload
from allocsolve.judge import window_metrics
from allocsolve.model import MALLEABLE, Budget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.bench.runs.records import Record
    from allocsolve.bench.runs.tasks import Task
    from allocsolve.model import FloatArray, IntArray, WorkloadProblem, WorkloadSchedule

__all__ = [
    "BOUND",
    "COMPARED",
    "FINE_TICK",
    "POLICIES",
    "REFERENCES",
    "SEEDS",
    "SHARES",
    "TICK",
    "WARM_UP_S",
    "PlannedRun",
    "Run",
    "Variant",
    "measured",
    "planned_runs",
    "variants",
]

#: The strategies of the thesis.
POLICIES: Final = ("malleable-min", "malleable-average", "malleable-pref", "malleable-prefkeeper")
#: A policy that is not of the thesis and knows as much as they do.
COMPARED: Final = ("static-price",)
#: Policies for rigid jobs: where all are rigid they are run beside the others.
REFERENCES: Final = ("first-fit", "easy")
#: The solver that gives the bound.
BOUND: Final = "prices"

#: Shares of malleable jobs, and how many seeds; those of the thesis.
SHARES: Final = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
SEEDS: Final = 10
#: Seconds between the points where a size may change: of the thesis for this log, and of its other logs.
TICK: Final = 10.0
FINE_TICK: Final = 1.0
#: Jobs of the first 12 h do not count.
WARM_UP_S: Final = 12 * 3600.0

#: Seconds for a policy, of which none takes that long.
_POLICY_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True)
class Variant:
    """The log with a share of malleable jobs."""

    share: float
    seed: int
    tick: float
    problem: WorkloadProblem


class PlannedRun(NamedTuple):
    """A task, and the variant that it is about."""

    task: Task
    variant: Variant


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
    def regret(self) -> float:
        """By what part `all_turnaround` is above `bound`, at most: the optimum lies between."""
        return self.all_turnaround / self.bound - 1


def variants(
    problem: WorkloadProblem, shares: Sequence[float] = SHARES, seeds: int = SEEDS
) -> tuple[Variant, ...]:
    """Return the variants of a rigid workload, share by share.

    Parameters
    ----------
    problem
        All of whose jobs are rigid.
    shares
        Each in 0..1. No and all jobs malleable are one variant each: there is nothing to draw.
    seeds
        1, 2, .. up to this number choose the malleable jobs.

    Returns
    -------
    tuple
        With the tick of the thesis; behind those, where the share 1 is asked for, that one with the fine
        tick.

    Raises
    ------
    InvalidOption
        If there is nothing to run, or a share stands twice or is out of range.
    """
    if seeds < 1 or not shares or len({*shares}) < len(shares):
        msg = f"shares {', '.join(f'{share:g}' for share in shares)} of {seeds} seeds: nothing, or some twice"
        raise InvalidOption(msg)
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
) -> list[PlannedRun]:
    """Return the runs of all policies, and of the bound.

    With the fine tick there are only the first policy and no bound.

    Parameters
    ----------
    chosen
        See `variants`.
    policies
        Names of solvers; where no job is malleable, `REFERENCES` are run, too.
    seconds, workers
        Of each bound.
    """
    runs = []
    for variant in chosen:
        named = [("", variant.problem)]
        names = list(dict.fromkeys([*policies, *(REFERENCES if variant.share == 0 else ())]))
        fine = variant.tick != TICK
        budget = Budget(seconds=_POLICY_SECONDS)
        tasks = plan(named, names[: 1 if fine else None], objective="turnaround", budgets=[budget])
        if not fine:
            budget = Budget(seconds=seconds, workers=workers)
            tasks += plan(named, [BOUND], objective="turnaround", budgets=[budget])
        runs += [PlannedRun(task, variant) for task in tasks]
    return runs


def measured(variant: Variant, record: Record, answer: WorkloadSchedule, bound: float) -> Run:
    """Return what a policy came to on a variant.

    Parameters
    ----------
    variant
        The variant.
    record, answer
        Of the policy on it.
    bound
        Of the variant.
    """
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
        median_wait=float(np.median(waits)) if len(waits) else 0.0,
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
