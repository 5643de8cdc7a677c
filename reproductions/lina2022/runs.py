"""What is run: three algorithms, six orders of victims, ten shares of elastic jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.errors import InvalidOption
from allocsolve.instances import lina_workload
from allocsolve.model import Budget
from reproductions.runs import BOUND, PlannedRun, check_draws, planned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.model import WorkloadProblem
    from reproductions.lina2022.logs import Log

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
