"""One job of a workload, as people write it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from allocsolve.model.evolving import Evolution, Reconfiguration
    from allocsolve.model.job_kinds import JobKind, SizeSet
    from allocsolve.model.speedup import Speedup

__all__ = ["Job"]


@dataclass(frozen=True, slots=True)
class Job:
    """One job: a row of `Jobs`, which checks it.

    Parameters
    ----------
    submit
        When it enters the queue, in seconds, >= 0.
    nodes
        How many nodes it runs on; of a moldable or malleable job, the number to which `runtime` refers.
    runtime
        How long it runs on `nodes` nodes, in seconds, above 0.
    limit
        The run time that the user asked for, in seconds, above 0; None if it is not given.
    name
        Distinct; ``j0``, ``j1``, ... by position if empty.
    user
        Who submitted it, if that is known.
    weight
        How much it counts in objectives, >= 0. A job of weight 0 runs, but does not count.
    min_nodes, max_nodes
        The fewest and most nodes of a moldable or malleable job; `nodes` if left out.
    speedup
        The law of a moldable or malleable job; None for a rigid one.
    kind
        ``rigid``, ``moldable`` (its number of nodes is chosen at its start), ``malleable`` (it may change
        while the job runs) or ``evolving`` (the job itself asks for changes); if left out, evolving with an
        evolution, else moldable with a speedup and rigid without.
    points
        Into how many equal parts the work of a malleable job is divided, between which its number of nodes
        may change; 0: it may change at any time.
    size_set
        The numbers of nodes on which the job may run, from `min_nodes` to `max_nodes`: multiples of an
        integer (1: all), or ``powers-of-two``. A table of speedups has its own.
    evolution
        How an evolving job asks for nodes and gives them back. With `Requests` it has a speedup besides; with
        `Phases` `runtime` is the time on `nodes` nodes without changes, the start included; with a `Profile`
        `runtime` is the sum of its steps, `nodes` those of the first one, and `min_nodes` and `max_nodes` are
        their least and most, each 1 where the profile says 0.
    reconfiguration
        What changes of its size cost: a `Stall` of a malleable job or one with requests, a `Join` of one with
        phases; nothing if left out.
    """

    submit: float
    nodes: int
    runtime: float
    limit: float | None = None
    name: str = ""
    user: str | None = None
    weight: float = 1
    min_nodes: int | None = None
    max_nodes: int | None = None
    speedup: Speedup | None = None
    kind: JobKind | None = None
    points: int = 0
    size_set: SizeSet = 1
    evolution: Evolution | None = None
    reconfiguration: Reconfiguration | None = None
