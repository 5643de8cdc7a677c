"""List scheduling of evolving applications, and the rigid baseline (Klein & Perez 2011, Algorithm 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.heuristics._kernels_fit import Request, Segments, add, compact, first_busy, place
from allocsolve.heuristics.evolution._kernels_windows import (
    TABLE_COLUMNS,
    PeakIndex,
    change,
    duration_classes,
    first_busy as first_busy_in_index,
    flat,
    has_room,
    make_index,
    place_in,
)
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.random import uniform
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
    from numpy.typing import NDArray

    from allocsolve.model import IntArray


class ListWork(NamedTuple):
    """The work space of a list schedule; made once for many schedules."""

    #: Shape (steps,): the starts of all steps.
    starts: IntArray
    #: With room for steps + applications + 1 segments.
    segments: Segments
    #: Shape (3, steps): work space.
    steps: IntArray


def list_work(apps: PackedApplications) -> ListWork:
    """Return work space for list schedules of these applications."""
    num_steps = len(apps.durations)
    times, usage = np.empty((2, num_steps + len(apps.releases) + 1), dtype=np.int64)
    return ListWork(
        np.zeros(num_steps, dtype=np.int64),
        Segments(times, usage, np.empty(1, dtype=np.int64)),
        np.empty((3, num_steps), dtype=np.int64),
    )


@inner_kernel
def _place_all(
    order: IntArray,
    apps: PackedApplications,
    num_nodes: int,
    compacting: bool,
    weight: tuple[float, float, float],
    bar: float,
    work: ListWork,
) -> float:
    """Write the starts of all steps into `work` and return the cost.

    The cost is `weight` times (makespan, total completion, waste). Returns an infinite cost once it is sure
    to exceed `bar`.
    """
    segments, starts = work.segments, work.starts
    segments.times[0] = 0
    segments.usage[0] = 0
    segments.in_use[0] = 1
    makespan, total, waste = 0, 0, 0
    for app in order:
        total += apps.releases[app]
        for step in range(apps.offsets[app], apps.offsets[app + 1]):
            total += apps.durations[step]
    for app in order:
        a, b = apps.offsets[app], apps.offsets[app + 1]
        request = Request(apps.durations[a:b], apps.nodes[a:b], apps.max_durations[a:b])
        placed = starts[a:b]
        place(segments, request, num_nodes, apps.releases[app], placed, work.steps)
        completion = starts[b - 1] + apps.durations[b - 1]
        length = 0
        for step in range(a, b):
            length += apps.durations[step]
        # An application that was not expanded has nothing to gain.
        stretched = completion - starts[a] > length
        late = work.steps[2, : b - a]
        if (
            compacting
            and stretched
            and compact(segments, first_busy, 0, request, num_nodes, completion, late)
        ):
            for i in range(b - a):
                placed[i] = late[i]
        makespan = max(makespan, completion)
        total += completion - apps.releases[app] - length
        if stretched:
            for step in range(a, b - 1):
                waste += apps.nodes[step] * (starts[step + 1] - starts[step] - apps.durations[step])
        if weight[0] * makespan + weight[1] * total + weight[2] * waste > bar:
            return np.inf
        add(segments, placed, request.nodes, completion)
    return weight[0] * makespan + weight[1] * total + weight[2] * waste


@kernel
def _place_list(
    order: IntArray, apps: PackedApplications, num_nodes: int, compacting: bool, room: IntArray
) -> None:
    """Place the applications in this order; write the starts of all steps at the front of `room`, all 0."""
    steps = len(apps.durations)
    bounds = steps + len(apps.releases) + 1
    times, usage = steps, steps + bounds
    in_use = usage + bounds
    segments = Segments(room[times:usage], room[usage:in_use], room[in_use : in_use + 1])
    work = ListWork(room[:steps], segments, room[in_use + 1 :].reshape(3, steps))
    _place_all(order, apps, num_nodes, compacting, (0.0, 0.0, 0.0), np.inf, work)


def list_schedule(order: IntArray, apps: PackedApplications, num_nodes: int, *, compacting: bool) -> IntArray:
    """Return the starts of all steps, shape (steps,).

    `order` may name some of the applications only; the steps of the others keep start 0.
    """
    # One array has all that the kernel writes, since numba inspects every argument of every call.
    steps = len(apps.durations)
    room = np.zeros(6 * steps + 2 * len(apps.releases) + 3, dtype=np.int64)
    _place_list(order, apps, num_nodes, compacting, room)
    return room[:steps]


class Walk(NamedTuple):
    """The state of an annealing walk over list orders; the kernel continues where it stopped."""

    #: Shape (applications,): the order that moves start from.
    order: IntArray
    #: Shape (applications,): the order that is tried; work space.
    trial: IntArray
    #: Shape (applications, 2): a step of the application and the step of another one for which it waits, or
    #: -1.
    waits: IntArray
    #: The cost of the order that moves start from, and the least cost met.
    costs: NDArray[np.float64]
    #: Shape (steps,): the step starts of the least cost.
    best_starts: IntArray
    #: One number: the state of the random numbers, so that these do not depend on how a walk is cut into
    #: pieces.
    random: NDArray[np.uint64]


def new_walk(order: IntArray, num_steps: int, seed: int) -> Walk:
    """Return a walk that begins with an order; the first step evaluates that order itself."""
    state = np.random.SeedSequence(seed).generate_state(1, np.uint64) | np.uint64(1)
    waits = np.full((len(order), 2), -1, dtype=np.int64)
    return Walk(
        order.copy(), order.copy(), waits, np.full(2, np.inf), np.zeros(num_steps, dtype=np.int64), state
    )


@inner_kernel
def draw_order(order: IntArray, random: NDArray[np.uint64], trial: IntArray) -> tuple[int, int]:
    """Swap two applications of `trial` or insert one elsewhere; return the first and last changed place.

    `trial` is a copy of `order` of at least two applications.
    """
    a, b = int(uniform(random) * len(order)), int(uniform(random) * (len(order) - 1))
    b += b >= a
    if uniform(random) < 0.5:
        trial[a], trial[b] = order[b], order[a]
    else:
        step = 1 if b > a else -1
        for k in range(a, b, step):
            trial[k] = order[k + step]
        trial[b] = order[a]
    return min(a, b), max(a, b)


@kernel
def anneal_order(
    walk: Walk,
    apps: PackedApplications,
    num_nodes: int,
    compacting: bool,
    weight: tuple[float, float, float],
    temperatures: tuple[float, float],
    iterations: int,
    work: ListWork,
) -> None:
    """Walk on by `iterations` moves, each a swap of two applications or the insertion of one elsewhere.

    Needs at least two applications. The temperature falls geometrically from the first to the second of
    `temperatures`. The random number of a move is drawn before its schedule is made, which can therefore stop
    as soon as it is sure to be refused.
    """
    order, trial, random = walk.order, walk.trial, walk.random
    num_apps = len(order)
    temperature = temperatures[0]
    cooling = (temperatures[1] / temperatures[0]) ** (1.0 / max(iterations, 1))
    for _ in range(iterations):
        for k in range(num_apps):
            trial[k] = order[k]
        if walk.costs[0] < np.inf:
            draw_order(order, random, trial)
        bar = walk.costs[0] - temperature * np.log(1.0 - uniform(random))
        cost = _place_all(trial, apps, num_nodes, compacting, weight, bar, work)
        if cost <= bar:
            for k in range(num_apps):
                order[k] = trial[k]
            walk.costs[0] = cost
            if cost < walk.costs[1]:
                walk.costs[1] = cost
                for step in range(len(work.starts)):
                    walk.best_starts[step] = work.starts[step]
        temperature *= cooling


@kernel
def place_next(
    index: PeakIndex,
    position: int,
    order: IntArray,
    apps: PackedApplications,
    num_nodes: int,
    compacting: bool,
    starts: IntArray,
    table: IntArray,
    work: IntArray,
) -> int:
    """Place applications from this position of the order on, while the index has room.

    Writes `starts`, shape (steps,); returns the position of the first application that was not placed.
    """
    while position < len(order):
        app = order[position]
        a, b = apps.offsets[app], apps.offsets[app + 1]
        request = Request(apps.durations[a:b], apps.nodes[a:b], apps.max_durations[a:b])
        placed = starts[a:b]
        span = 0
        for step in range(a, b):
            span += apps.durations[step]
        if not has_room(index, apps.releases[app], span, b - a):
            break
        place_in(index, request, num_nodes, apps.releases[app], placed, table, work)
        completion = starts[b - 1] + apps.durations[b - 1]
        late = work[0, : b - a]
        if (
            compacting
            and completion - starts[a] > span
            and compact(index, first_busy_in_index, index.origin, request, num_nodes, completion, late)
        ):
            for i in range(b - a):
                placed[i] = late[i]
        change(index, placed, request.nodes, completion, 1)
        position += 1
    return position


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
