"""What is run: both schedulers on each share of each batch, in several readings, and bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.model import Budget
from reproductions.runs import BOUND, PlannedRun, planned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.instances.generators.evotree import EvotreeKind
    from reproductions.posner2024.batches import Batch

#: The schedulers of the paper: jobs that are not rigid are moldable under the first, and evolve under the
#: second.
EASY: Final = "EasyBackfilling"
EVOLV: Final = "EvolvEasyBack"
SCHEDULERS: Final = (EASY, EVOLV)
_KINDS: Final[dict[str, EvotreeKind]] = {EASY: "moldable", EVOLV: "evolving"}
#: A policy that is not of the paper and knows as much; run where jobs evolve.
COMPARED: Final = "static-price"

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
    reading: Reading | None  #: None: a bound


def planned_runs(
    batches: Sequence[Batch], shares: Sequence[float], *, seconds: float, workers: int = 1
) -> list[PlannedRun[Cell]]:
    """Return the runs of both schedulers in all readings, of what is compared with them, and of the bounds.

    The batches have all of the shares of jobs that are not rigid. There is a bound, of some seconds, for
    each problem of the first reading: how long a job keeps an idle node does not matter to it.
    """
    policy, bound = Budget(seconds=_POLICY_SECONDS), Budget(seconds=seconds, workers=workers)
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
            wanted.append((COMPARED, COMPARED, READINGS[0], policy))
        for solver, name, reading, budget in wanted:
            delay = (reading or READINGS[0]).release_delay
            problem = batch.problem(share, _KINDS[scheduler], delay)
            label = Cell(batch.name, name, share, reading)
            runs += planned(problem, {solver: label}, objective="turnaround", budget=budget)
    return runs
