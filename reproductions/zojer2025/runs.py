"""What is run: each policy on each share of malleable jobs, and a bound of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from allocsolve.bench.runs.tasks import plan
from allocsolve.instances import elastic_workload
from allocsolve.model import Budget
from reproductions.runs import BOUND, PlannedRun, check_draws

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import WorkloadProblem

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
