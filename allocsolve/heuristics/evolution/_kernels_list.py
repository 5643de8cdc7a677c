"""List scheduling as a kernel: applications placed one after the other in a given order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.heuristics._kernels_fit import Request, Segments, add, compact, first_busy, place
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.random import uniform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.model import IntArray, PackedApplications


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
