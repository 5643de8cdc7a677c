"""What every rule of placement has: its options, one method that takes nodes, and the solver made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np

from allocsolve.errors import UnsupportedProblem
from allocsolve.model import Budget, Placement, Result, Status, SwitchTree
from allocsolve.model.checks import instance
from allocsolve.model.options import Options
from allocsolve.model.problem import checked_free

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import BoolArray, IntArray, PlacementProblem


def domain_of(tree: SwitchTree, switches: IntArray, level: int) -> IntArray:
    """Return the highest switch of at most a level at or above each of these, shape (switches,).

    So the switches of level 1 fall into the domains of each level, however long the ways to the roots are:
    a switch counts as a domain of all levels from its own to below that of its parent.
    """
    while True:
        above = tree.parent[switches]
        is_below = (above >= 0) & (tree.level[above] <= level)
        if not is_below.any():
            return switches
        switches = np.where(is_below, above, switches)


def fitting_domains(
    tree: SwitchTree, below: IntArray, size: int, lowest: int, highest: int
) -> tuple[int, IntArray]:
    """Return the lowest level of a range at which a domain can hold the size, and those that can, by id.

    How many free nodes are below each switch `below` says, shape (switches,). Levels are from 1 to the
    height. Return the level and its domains (`domain_of`); 0 and none if nothing holds the size.
    """
    domains = np.flatnonzero(tree.level == 1)
    for level in range(1, highest + 1):
        domains = np.unique(domain_of(tree, domains, level))
        fitting = domains[below[domains] >= size]
        if level >= lowest and len(fitting):
            return level, fitting
    return 0, domains[:0]


def below_domains(tree: SwitchTree, domains: IntArray | Sequence[int]) -> BoolArray:
    """Return which switches are at or below any of these, shape (switches,)."""
    inside = np.zeros(tree.num_switches, dtype=np.bool_)
    inside[domains] = True
    for level in range(tree.height - 1, 0, -1):
        at = np.flatnonzero((tree.level == level) & (tree.parent >= 0))
        inside[at] |= inside[tree.parent[at]]
    return inside


def first_nodes(tree: SwitchTree, free: BoolArray, take: IntArray) -> IntArray:
    """Return the lowest free nodes of each switch, so many of each as said, shape (switches,); by id."""
    nodes = np.flatnonzero(free)
    nodes = nodes[take[tree.switch[nodes]] > 0]
    switch = tree.switch[nodes]
    order = np.argsort(switch, kind="stable")
    counts = np.bincount(switch, minlength=tree.num_switches)
    starts = np.cumsum(counts) - counts
    rank = np.arange(len(nodes)) - starts[switch[order]]
    return np.sort(nodes[order[rank < take[switch[order]]]], kind="stable")


def last_best_fit(counts: IntArray, size: int) -> IntArray:
    """Take the largest counts until one of the others holds the rest; of those, take the smallest.

    The counts must sum up to the size. Return the places of the taken ones, the one that holds the rest last.
    Of equal counts the first is taken.
    """
    order = np.argsort(-counts, kind="stable")
    falling = counts[order]
    rest = size - (np.cumsum(falling) - falling)
    whole = int(np.argmax(falling >= rest))
    fitting = order[whole:][falling[whole:] >= rest[whole]]
    last = fitting[np.argmax(counts[fitting] == counts[fitting].min())]
    return np.append(order[:whole], last)


class Request(NamedTuple):
    """A job that asks for nodes of a tree."""

    tree: SwitchTree
    #: Which nodes may be taken, shape (nodes,), read-only.
    free: BoolArray
    #: How many to take.
    size: int
    #: What else the job asks for, as `allocsolve.model.PlacementProblem` has it; rules say which they know.
    within: int = 0
    segment: int = 0
    #: Of rules that draw: the same seed gives the same nodes.
    seed: int = 0

    @classmethod
    def of(
        cls,
        tree: SwitchTree,
        free: Sequence[bool] | BoolArray,
        k: int,
        *,
        within: int = 0,
        segment: int = 0,
        seed: int = 0,
    ) -> Self:
        """Return a request for k free nodes: what the plain functions of all rules take.

        The mask `free`, shape (nodes,), is not changed. `within` and `segment` are 0 if the job asks for
        none; the seed is that of rules that draw.
        """
        mask, size = checked_free(free, k, instance("tree", tree, SwitchTree).num_nodes, "the tree")
        return cls(tree, mask, size, within, segment, Budget(seed=seed).seed)


class Rule(Options):
    """The base of rules: a rule adds its options as fields, and `take`."""

    __slots__ = ()
    #: The name in messages.
    name: ClassVar[str]
    #: Which of ``within`` and ``segment`` of a problem the rule knows.
    knows: ClassVar[tuple[str, ...]] = ()

    def take(self, request: Request) -> IntArray | None:
        """Return the ids of the nodes that the job gets, shape (size,), rising; None if it waits."""
        raise NotImplementedError

    def __call__(self, problem: PlacementProblem, budget: Budget, /) -> Result[Placement]:
        """Choose nodes; of the budget only the clock is used, and the seed by rules that draw.

        There is no answer if the job waits, or if the nodes are not what the problem asks for.

        `UnsupportedProblem` if the problem asks for more than the rule knows: a level, segments, or equal
        parts.
        """
        clock = budget.start()
        for field in ("within", "segment", "balanced"):
            if field not in self.knows and getattr(problem, field):
                msg = f"{self.name} does not know what {field} {getattr(problem, field)} asks for"
                raise UnsupportedProblem(msg)
        tree, free, size = problem.tree, problem.free, problem.size
        nodes = self.take(Request(tree, free, size, problem.within, problem.segment, budget.seed))
        answer = None if nodes is None or not _is_asked_for(problem, nodes) else Placement(nodes)
        return Result(Status.UNKNOWN if answer is None else Status.FEASIBLE, answer, runtime=clock.elapsed)


def _is_asked_for(problem: PlacementProblem, nodes: IntArray) -> bool:
    """Tell whether nodes lie below one root and within the level, in whole segments, and balanced."""
    tree = problem.tree
    chosen = np.bincount(tree.switch[nodes], minlength=tree.num_switches)
    used = np.flatnonzero(chosen)
    if not _has_common_domain(tree, used, problem.within or tree.height):
        return False
    if problem.segment:
        tops = domain_of(tree, used, problem.segment_level)
        if (np.bincount(tops, chosen[used]) % problem.segment).any():
            return False
    return not problem.balanced or bool((chosen[used] == chosen[used[0]]).all())


def _has_common_domain(tree: SwitchTree, switches: IntArray, level: int) -> bool:
    if level >= tree.height and np.count_nonzero(tree.parent < 0) == 1:
        return True
    return len(np.unique(domain_of(tree, switches, level))) == 1
