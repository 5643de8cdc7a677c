"""List scheduling of evolving applications, and the rigid baseline (Klein & Perez 2011, Algorithm 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.heuristics.evolution._kernels_list import list_schedule
from allocsolve.heuristics.evolution._kernels_long_list import place_next
from allocsolve.heuristics.evolution._kernels_windows import TABLE_COLUMNS
from allocsolve.heuristics.evolution._peak_index import duration_classes, flat, make_index
from allocsolve.model import (
    Budget,
    EvolutionProblem,
    EvolutionSchedule,
    PackedApplications,
    Result,
    Status,
    expand_ratio,
    frozen,
    max_expanded_durations,
)
from allocsolve.model.arrays import array_of
from allocsolve.model.checks import instance, shown
from allocsolve.model.options import Options
from allocsolve.model.profile import ExpandLimit

if TYPE_CHECKING:
    from allocsolve.model import IntArray

#: How the list is sorted; ties keep the order of submission.
Order: TypeAlias = Literal[
    "submission",  # as the problem lists them
    "largest",  # decreasing area
    "smallest",  # increasing area
    "longest",  # decreasing duration
    "shortest",  # increasing duration
    "highest",  # decreasing peak
    "random",  # by the seed of the budget
]

#: All list orders.
ORDERS: tuple[Order, ...] = get_args(Order)


@dataclass(frozen=True, slots=True)
class Fit(Options):
    """How one application is placed: base fit within an expand limit, compacted or not.

    Parameters
    ----------
    expand_limit
        1 (no expansion) to infinity. The limit of the problem holds as well: the smaller one counts.
    compacting
        Start as late as the earliest completion allows, so that less is wasted.
    """

    expand_limit: ExpandLimit = math.inf
    compacting: bool = False

    def max_durations(self, problem: EvolutionProblem) -> IntArray:
        """Return the longest time that each step may hold its nodes, shape (steps,), seconds."""
        packed = problem.packed
        if self.expand_limit >= problem.expand_limit:
            return packed.max_durations
        return max_expanded_durations(packed.durations, expand_ratio(self.expand_limit))


#: The number of applications from which on the index of window peaks saves more time than its upkeep costs.
MANY = 1500


def list_starts(problem: EvolutionProblem, order: IntArray, fit: Fit) -> IntArray:
    """Place the applications in the given order; return the starts of all steps, shape (steps,).

    The last step of each application is not expanded. See `ListScheduling` for guarantee and complexity.
    """
    count, given = len(instance("problem", problem, EvolutionProblem).releases), array_of(order)
    if given.shape != (count,) or not np.array_equal(np.sort(given, kind="stable"), np.arange(count)):
        raise InvalidOption(f"order {shown(order)} does not list each of {count} applications once")
    instance("fit", fit, Fit, InvalidOption)
    return _starts(problem, given.astype(np.int64, copy=False), fit)


def _starts(problem: EvolutionProblem, order: IntArray, fit: Fit) -> IntArray:
    apps = problem.packed._replace(max_durations=fit.max_durations(problem))
    return _schedule(order, apps, problem.num_nodes, compacting=fit.compacting)


def _schedule(order: IntArray, apps: PackedApplications, num_nodes: int, *, compacting: bool) -> IntArray:
    schedule = list_schedule if len(apps.releases) < MANY else long_list_schedule
    return schedule(order, apps, num_nodes, compacting=compacting)


def long_list_schedule(
    order: IntArray, apps: PackedApplications, num_nodes: int, *, compacting: bool
) -> IntArray:
    """Return the starts of all steps, shape (steps,), equal to those of `list_schedule`.

    *Complexity*: no bound better than that of the flat profile is proven; measured n^1.2 to n^1.4.
    """
    offsets, durations, nodes, _, releases = apps
    sizes = np.diff(offsets)
    spans = np.add.reduceat(durations, offsets[:-1])
    classes = duration_classes(durations, spans)
    longest = int(sizes.max())
    table = np.empty((3 * longest, TABLE_COLUMNS), dtype=np.int64)
    work = np.empty((2, max(longest, len(classes))), dtype=np.int64)
    starts = np.zeros(len(durations), dtype=np.int64)
    times = used = np.zeros(1, dtype=np.int64)
    # The idle share that lists leave on average; a wrong guess costs another index. (It is no scalar product,
    # since the threads of the BLAS behind it would go on spinning beside the kernel for as long as it runs.)
    busy = float((durations.astype(float) * nodes).sum()) / num_nodes
    until = int(releases.max()) + int(1.45 * busy) + 2 * int(spans.max())
    segments = len(durations) + len(releases) + 1
    position = 0
    while True:
        index = make_index(times, used, num_nodes=num_nodes, until=until, segments=segments, classes=classes)
        position = place_next(index, position, order, apps, num_nodes, compacting, starts, table, work)
        if position == len(order):
            return starts
        times, used = flat(index, 0)
        until = 2 * until


def schedule_of(problem: EvolutionProblem, step_starts: IntArray) -> EvolutionSchedule:
    """Return the schedule in which step i starts at ``step_starts[i]`` and last steps are not expanded."""
    offsets, durations, nodes, _, _ = problem.packed
    held = np.empty_like(durations)
    np.subtract(step_starts[1:], step_starts[:-1], out=held[:-1])
    last = offsets[1:] - 1
    held[last] = durations[last]
    return EvolutionSchedule(step_starts[offsets[:-1]], offsets, held, nodes)


@dataclass(frozen=True, slots=True)
class ListScheduling(Options):
    """Place each application in list order with a fit function, as early as it can complete.

    Parameters
    ----------
    fit
        How an application is placed.
    order
        How the list is sorted: by area, duration or peak, or at random. Applications that are released
        earlier come first in any case.

    Notes
    -----
    *Guarantee*: feasible; each application completes as early as those before it in the list allow. There
    is no constant ratio to the optimum: for some problems no list order at all is optimal.
    *Complexity*: O(applications x steps x segments of the resource profile) in the worst case; measured
    about n^1.3 for n applications from some thousands on, where an index of window peaks finds the windows:
    tenths of a second for ten thousand, seconds for a hundred thousand. One microsecond each for tens.

    References
    ----------
    Klein & Perez, "Towards scheduling evolving applications", 2011, Algorithm 1.

    Examples
    --------
    >>> from allocsolve.model import Budget, EvolutionProblem, EvolutionProfile
    >>> problem = EvolutionProblem(4, tuple(EvolutionProfile([(10, n)]) for n in (3, 2, 1)))
    >>> ListScheduling()(problem, Budget()).answer.starts.tolist()
    [0, 10, 0]
    """

    fit: Fit = Fit()
    order: Order = "submission"

    def list_applications(self, problem: EvolutionProblem, seed: int = 0) -> IntArray:
        """Return the applications in list order: by release first, then by the named rule."""
        offsets, durations, nodes, _, releases = instance("problem", problem, EvolutionProblem).packed
        if not len(releases):
            return np.zeros(0, dtype=np.int64)
        if self.order == "submission":
            return np.argsort(releases, kind="stable")
        if self.order == "random":
            key = np.random.default_rng(Budget(seed=seed).seed).permutation(len(releases))
        elif self.order in ("largest", "smallest"):
            key = np.add.reduceat(durations * nodes, offsets[:-1])
        elif self.order in ("longest", "shortest"):
            key = np.add.reduceat(durations, offsets[:-1])
        else:
            key = np.maximum.reduceat(nodes, offsets[:-1])
        if self.order in ("largest", "longest", "highest"):
            key = -key
        return np.lexsort((key, releases))

    def __call__(self, problem: EvolutionProblem, budget: Budget, /) -> Result[EvolutionSchedule]:
        """Schedule all applications; the budget gives the seed of a random order."""
        clock = budget.start()
        order = self.list_applications(problem, budget.seed)
        answer = schedule_of(problem, _starts(problem, order, self.fit))
        return Result(Status.FEASIBLE, answer, runtime=clock.elapsed)


def list_order(problem: EvolutionProblem, order: Order = "submission", seed: int = 0) -> IntArray:
    """Return the applications in the list order of `ListScheduling`, by release first."""
    return ListScheduling(order=order).list_applications(problem, seed)


@dataclass(frozen=True, slots=True)
class Rigid(Options):
    """Schedule as a resource manager that knows no evolution: peak nodes for the whole duration.

    Each application is reserved a rectangle (its peak, the sum of its durations), and the rectangles are
    scheduled by conservative backfilling. The answer is what the applications then hold: their requested
    profiles, unexpanded, at these starts. `allocsolve.judge.evolution_metrics` with ``rigid=True`` accounts
    for the rectangles.

    Notes
    -----
    *Guarantee*: feasible, also for the rectangles. *Complexity*: as `ListScheduling` with one step each.

    References
    ----------
    Klein & Perez, "Towards scheduling evolving applications", 2011, section 5.1 ("rigid").
    """

    order: Order = "submission"

    def __call__(self, problem: EvolutionProblem, budget: Budget, /) -> Result[EvolutionSchedule]:
        """Schedule all applications; the budget gives the seed of a random order."""
        clock = budget.start()
        offsets, durations, nodes, _, releases = problem.packed
        if not len(releases):
            return Result(Status.FEASIBLE, schedule_of(problem, durations), runtime=clock.elapsed)
        spans = frozen(np.add.reduceat(durations, offsets[:-1]))
        rectangles = PackedApplications(
            offsets=frozen(np.arange(len(releases) + 1, dtype=np.int64)),
            durations=spans,
            nodes=frozen(np.maximum.reduceat(nodes, offsets[:-1])),
            max_durations=spans,
            releases=releases,
        )
        order = list_order(problem, self.order, budget.seed)
        starts = _schedule(order, rectangles, problem.num_nodes, compacting=False)
        answer = EvolutionSchedule(starts, offsets, durations, nodes)
        return Result(Status.FEASIBLE, answer, runtime=clock.elapsed)
