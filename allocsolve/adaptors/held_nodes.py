"""Which nodes the jobs of another program hold, and which ones they will hold after pending changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.model.checks import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from allocsolve.model import BoolArray

__all__ = ["HeldNodes", "Holding"]


@dataclass(slots=True)
class Holding:
    """The nodes of a running job, in the order in which it got them."""

    #: Seconds.
    start: float
    #: What it holds, and what after its pending change: the same list if none is pending.
    held: list[int]
    after: list[int]
    #: Whether the other program knows of the change.
    told: bool = True

    @property
    def changes(self) -> bool:
        """Whether a change is pending."""
        return self.after is not self.held


class HeldNodes:
    """The nodes of a cluster, from 0, and the jobs that hold them, by key.

    Parameters
    ----------
    num_nodes
        Of the cluster.
    choose
        From which nodes are free, shape (nodes,), and how many are wanted, to those that a job gets. Where
        it finds none (None), and by default, a job gets the lowest ones.

    Notes
    -----
    *Complexity*: O(nodes) for each job that gets nodes or gives some up.

    Examples
    --------
    >>> nodes = HeldNodes(4)
    >>> nodes.start(7, 3, now=0), nodes.free.tolist()
    ([0, 1, 2], [False, False, False, True])
    >>> nodes.plan(7, 1)
    >>> sorted(nodes.change(7)), nodes.free.tolist()
    ([1, 2], [False, True, True, True])
    """

    def __init__(
        self, num_nodes: int, choose: Callable[[BoolArray, int], Iterable[int] | None] | None = None
    ) -> None:
        self._choose = choose
        #: Which nodes nobody holds or is to get.
        self.free: BoolArray = np.ones(num_nodes, dtype=bool)
        self.jobs: dict[int, Holding] = {}

    def start(self, key: int, count: int, now: float) -> list[int]:
        """Give a job that starts so many nodes, and return them."""
        nodes = self._take(count)
        self.jobs[key] = Holding(now, nodes, nodes)
        return nodes

    def plan(self, key: int, size: int) -> None:
        """Let a job have another size later: it will give up its last nodes, or nodes are kept for it."""
        job = self.jobs[key]
        job.after, job.told = job.after[:size] + self._take(size - len(job.after)), False

    def change(self, key: int) -> set[int]:
        """Change the size of a job as it was planned, and return the nodes that it gives up."""
        job = self.jobs[key]
        given = set(job.held).difference(job.after)
        self.free[[*given]] = True
        job.held = job.after
        return given

    def end(self, key: int) -> None:
        """Take a job off its nodes, and off those that it was to get."""
        job = self.jobs.pop(key)
        self.free[job.held] = self.free[job.after] = True

    def _take(self, count: int) -> list[int]:
        if count <= 0:
            return []
        found = self._choose(self.free.copy(), count) if self._choose else None
        chosen = np.flatnonzero(self.free)[:count].tolist() if found is None else [*found]
        if len({*chosen}) != count or not self.free[chosen].all():
            msg = f"nodes {shown(chosen)} are no choice of {count} free ones"
            raise InvalidOption(msg)
        self.free[chosen] = False
        return chosen
