"""List scheduling as a kernel: applications placed one after the other in a given order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.heuristics.evolution._kernels_fit import add, compact, place
from allocsolve.kernels.jit import inner_kernel, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.model import IntArray

__all__ = ["Walk", "anneal_order", "draw_order", "list_schedule", "new_walk", "uniform"]


@kernel
def _place_all(
    order: IntArray,
    offsets: IntArray,
    durations: IntArray,
    nodes: IntArray,
    max_durations: IntArray,
    releases: IntArray,
    num_nodes: int,
    compacting: bool,
    weight: tuple[float, float, float],
    too_much: float,
    starts: IntArray,
    profile: IntArray,
    work: IntArray,
) -> float:
    """Write the starts of all steps into `starts`, shape (steps,), and return the cost.

    The cost is `weight` times (makespan, total completion, waste). Gives up, with infinite cost, once it is
    sure to exceed `too_much`. `profile` has shape (2, steps + applications + 1), `work` (3, >= steps of any
    application).
    """
    times, usage = profile[0], profile[1]
    times[0] = 0
    usage[0] = 0
    count = 1
    makespan, total, waste = 0, 0, 0
    for app in order:
        total += releases[app] + durations[offsets[app] : offsets[app + 1]].sum()
    for app in order:
        a, b = offsets[app], offsets[app + 1]
        ds, ns, ls, placed = durations[a:b], nodes[a:b], max_durations[a:b], starts[a:b]
        place(times, usage, count, ds, ns, ls, num_nodes, releases[app], placed, work)
        completion = placed[-1] + ds[-1]
        # An application that was not stretched has nothing to gain.
        length = ds.sum()
        stretched = completion - placed[0] > length
        late = work[2, : b - a]
        if compacting and stretched and compact(times, usage, count, ds, ns, ls, num_nodes, completion, late):
            placed[:] = late
        makespan = max(makespan, completion)
        total += completion - releases[app] - length
        if stretched:
            for i in range(b - a - 1):
                waste += ns[i] * (placed[i + 1] - placed[i] - ds[i])
        if weight[0] * makespan + weight[1] * total + weight[2] * waste > too_much:
            return np.inf
        count = add(times, usage, count, placed, ns, completion)
    return weight[0] * makespan + weight[1] * total + weight[2] * waste


@kernel
def list_schedule(
    order: IntArray,
    offsets: IntArray,
    durations: IntArray,
    nodes: IntArray,
    max_durations: IntArray,
    releases: IntArray,
    num_nodes: int,
    compacting: bool,
) -> IntArray:
    """Return the starts of all steps, shape (steps,).

    `order` may name some of the applications only; the steps of the others keep start 0.
    """
    longest = 0
    for app in range(len(releases)):
        longest = max(longest, offsets[app + 1] - offsets[app])
    starts = np.zeros(len(durations), dtype=np.int64)
    profile = np.empty((2, len(durations) + len(releases) + 1), dtype=np.int64)
    work = np.empty((3, longest), dtype=np.int64)
    _place_all(
        order,
        offsets,
        durations,
        nodes,
        max_durations,
        releases,
        num_nodes,
        compacting,
        (0.0, 0.0, 0.0),
        np.inf,
        starts,
        profile,
        work,
    )
    return starts


class Walk(NamedTuple):
    """State of one annealing walk over list orders; the kernel goes on where it stopped."""

    #: Shape (applications,): the order that moves start from.
    order: IntArray
    #: Shape (applications, 2): a step of the application and the step of another that it waits for, or -1.
    waits: IntArray
    #: Its cost, and the least cost met.
    costs: NDArray[np.float64]
    #: Shape (steps,): the step starts of the least cost.
    best_starts: IntArray
    #: One number: the state of the random numbers, which are thus the same however a walk is cut in pieces.
    random: NDArray[np.uint64]


def new_walk(order: IntArray, num_steps: int, seed: int) -> Walk:
    """Return a walk that begins with an order; the first step evaluates that order itself."""
    state = np.random.SeedSequence(seed).generate_state(1, np.uint64) | np.uint64(1)
    waits = np.full((len(order), 2), -1, dtype=np.int64)
    return Walk(order.copy(), waits, np.full(2, np.inf), np.zeros(num_steps, dtype=np.int64), state)


@inner_kernel
def uniform(random: NDArray[np.uint64]) -> float:
    """Return a number in [0, 1): xorshift64* (Vigna, ACM Trans. Math. Software 42(4), 2016)."""
    x = random[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    random[0] = x
    return float((x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(11)) / 9007199254740992.0


@inner_kernel
def draw_order(order: IntArray, random: NDArray[np.uint64], trial: IntArray) -> tuple[int, int]:
    """Swap two applications of `trial` or insert one elsewhere; return the first and last change.

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
    offsets: IntArray,
    durations: IntArray,
    nodes: IntArray,
    max_durations: IntArray,
    releases: IntArray,
    num_nodes: int,
    compacting: bool,
    weight: tuple[float, float, float],
    temperatures: tuple[float, float],
    iterations: int,
) -> None:
    """Walk on by `iterations` moves, each a swap of two applications or the insertion of one elsewhere.

    Needs at least two applications. The temperature falls geometrically from the first to the second of
    `temperatures`. The random number of a move is drawn before its schedule, which can be given up as soon as
    it is sure to be refused.
    """
    order, random = walk.order, walk.random
    num_apps = len(order)
    longest = 0
    for app in range(num_apps):
        longest = max(longest, offsets[app + 1] - offsets[app])
    starts = np.zeros(len(durations), dtype=np.int64)
    profile = np.empty((2, len(durations) + num_apps + 1), dtype=np.int64)
    work = np.empty((3, longest), dtype=np.int64)
    trial = order.copy()
    temperature = temperatures[0]
    cooling = (temperatures[1] / temperatures[0]) ** (1.0 / max(iterations, 1))
    for _ in range(iterations):
        trial[:] = order
        if walk.costs[0] < np.inf:
            draw_order(order, random, trial)
        bar = walk.costs[0] - temperature * np.log(1.0 - uniform(random))
        cost = _place_all(
            trial,
            offsets,
            durations,
            nodes,
            max_durations,
            releases,
            num_nodes,
            compacting,
            weight,
            bar,
            starts,
            profile,
            work,
        )
        if cost <= bar:
            order[:] = trial
            walk.costs[0] = cost
            if cost < walk.costs[1]:
                walk.costs[1] = cost
                walk.best_starts[:] = starts
        temperature *= cooling
