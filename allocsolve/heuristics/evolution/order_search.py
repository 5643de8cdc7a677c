"""Search over list orders and delays by simulated annealing, forward and backward in time.

A move does not change the schedule before the first position that it changes. So the profile after each
position is stored, and only the applications from there on are placed anew.

A step of an application may *wait* for the end of a step of another one earlier in the list: the application
then starts so late that its step begins no earlier. Orders alone do not reach every schedule; with
waits they do: in a schedule that cannot be tightened, each application begins at its release or one of its
steps needs the nodes that the end of another's step frees, and one order has all of these earlier.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.heuristics.evolution.list_scheduling import (
    Fit,
    anneal_order,
    draw_order,
    list_order,
    list_work,
    new_walk,
)
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.random import uniform
from allocsolve.model import EvolutionProblem, EvolutionProfile
from allocsolve.model.options import Params

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from allocsolve.heuristics.evolution.list_scheduling import Walk
    from allocsolve.model import EvolutionObjective, IntArray, PackedApplications

#: The share of the moves that change a wait, the share of those on a waiting application that end its wait,
#: and the number of pairs of steps that are drawn to find a wait that delays.
_WAITS, _ENDED, _DRAWN = 0.2, 0.5, 20


class Staircases(NamedTuple):
    """The applications with their steps at fixed distances, for look-up by the kernel."""

    offsets: IntArray
    durations: IntArray
    nodes: IntArray
    releases: IntArray
    #: Shape (steps,): from the start of the application to the start of the step.
    begins: IntArray
    #: Shape (steps,): the application of a step.
    owners: IntArray
    #: Shape (applications,): the duration, and the step with the highest node count, which is placed first.
    lengths: IntArray
    peaks: IntArray


def staircases(apps: PackedApplications) -> Staircases:
    """Return the same applications with derived arrays."""
    offsets, durations, nodes, _, releases = apps
    sizes = np.diff(offsets)
    before = np.cumsum(durations) - durations
    peaks = [a + int(np.argmax(nodes[a:b])) for a, b in itertools.pairwise(offsets.tolist())]
    return Staircases(
        offsets,
        durations,
        nodes,
        releases,
        begins=before - np.repeat(before[offsets[:-1]], sizes),
        owners=np.repeat(np.arange(len(sizes)), sizes),
        lengths=np.add.reduceat(durations, offsets[:-1]),
        peaks=np.array(peaks, dtype=np.int64),
    )


class Profiles(NamedTuple):
    """The resource profile after each number k of applications, of two schedules.

    Row 2 k + side[k] belongs to the schedule that moves start from; the other row is free for a trial.
    """

    #: Shape (rows, segments): the begin of a segment, and its busy nodes.
    times: IntArray
    usage: IntArray
    #: Shape (rows,): number of segments, makespan, total completion (the rest count as if never delayed).
    counts: IntArray
    makespans: IntArray
    totals: IntArray
    #: Shape (applications + 1,).
    side: IntArray


class Trial(NamedTuple):
    """Work space: the trial and the schedule that moves start from; made once for many moves."""

    #: As in `Walk`.
    order: IntArray
    waits: IntArray
    #: Shape (applications,): the position of an application in the order.
    position: IntArray
    #: Shape (applications,): starts in the schedule that moves start from, and in the trial.
    starts: IntArray
    new_starts: IntArray
    #: As in `Profiles`.
    counts: IntArray
    makespans: IntArray
    totals: IntArray
    side: IntArray


def new_trial(apps: Staircases) -> Trial:
    """Return work space for schedules of these applications."""
    num_apps = len(apps.lengths)
    rows = 2 * num_apps + 2

    def zeros(*shape: int) -> IntArray:
        return np.zeros(shape, dtype=np.int64)

    return Trial(
        order=zeros(num_apps),
        waits=zeros(num_apps, 2),
        position=zeros(num_apps),
        starts=zeros(num_apps),
        new_starts=zeros(num_apps),
        counts=np.ones(rows, dtype=np.int64),
        makespans=zeros(rows),
        totals=np.full(rows, int((apps.releases + apps.lengths).sum())),
        side=zeros(num_apps + 1),
    )


@inner_kernel
def _first_start(
    times: IntArray,
    usage: IntArray,
    at: int,
    count: int,
    apps: Staircases,
    app: int,
    num_nodes: int,
    start: int,
) -> int:
    """Return the least start from `start` on at which all steps fit; the profile is in row `at`."""
    first, last, peak = apps.offsets[app], apps.offsets[app + 1], apps.peaks[app]
    k, kp = 0, 0
    while True:
        # The step with the highest node count gets a window.
        begin = start + apps.begins[peak]
        free = num_nodes - apps.nodes[peak]
        while kp + 1 < count and times[at, kp + 1] <= begin:
            kp += 1
        j = kp
        while j < count and times[at, j] < begin + apps.durations[peak]:
            if usage[at, j] > free:
                kp = j + 1
                begin = times[at, kp]
            j += 1
        start = begin - apps.begins[peak]
        # The other steps fit around it, or the first that does not is moved behind what is in its way.
        while k + 1 < count and times[at, k + 1] <= start:
            k += 1
        j = k
        end = start
        moved = False
        for step in range(first, last):
            end += apps.durations[step]
            free = num_nodes - apps.nodes[step]
            while usage[at, j] <= free and j + 1 < count and times[at, j + 1] < end:
                j += 1
            if usage[at, j] > free:
                while usage[at, j + 1] > free:
                    j += 1
                start = times[at, j + 1] - apps.begins[step]
                moved = True
                break
            if j + 1 < count and times[at, j + 1] == end:
                j += 1
        if not moved:
            return start


@inner_kernel
def _add(
    times: IntArray, usage: IntArray, at: int, to: int, count: int, apps: Staircases, app: int, start: int
) -> int:
    """Write the profile in row `at` plus the application into row `to`; return its number of segments."""
    k = 0
    while k < count and times[at, k] < start:
        times[to, k] = times[at, k]
        usage[to, k] = usage[at, k]
        k += 1
    m = k
    busy = usage[at, k - 1] if k > 0 else 0
    time = start
    for step in range(apps.offsets[app], apps.offsets[app + 1]):
        held = apps.nodes[step]
        if k < count and times[at, k] == time:
            busy = usage[at, k]
            k += 1
        times[to, m] = time
        usage[to, m] = busy + held
        m += 1
        time += apps.durations[step]
        while k < count and times[at, k] < time:
            busy = usage[at, k]
            times[to, m] = times[at, k]
            usage[to, m] = busy + held
            m += 1
            k += 1
    if k == count or times[at, k] != time:
        times[to, m] = time
        usage[to, m] = busy
        m += 1
    while k < count:
        times[to, m] = times[at, k]
        usage[to, m] = usage[at, k]
        m += 1
        k += 1
    return m


@inner_kernel
def _draw_wait(waits: IntArray, random: NDArray[np.uint64], apps: Staircases, starts: IntArray) -> int:
    """Change a wait at random; return its application, or -1 if none with a small delay was drawn."""
    app = int(uniform(random) * len(starts))
    if waits[app, 0] >= 0 and uniform(random) < _ENDED:
        waits[app, 0] = -1
        return app
    first, last = apps.offsets[app], apps.offsets[app + 1]
    for _ in range(_DRAWN):
        other = int(uniform(random) * len(apps.owners))
        owner = apps.owners[other]
        step = first + int(uniform(random) * (last - first))
        if owner == app:
            continue
        delay = starts[owner] + apps.begins[other] + apps.durations[other] - apps.begins[step] - starts[app]
        # Only a step that needs more nodes than the step before has to wait, and only for one that frees
        # some.
        rises = step == first or apps.nodes[step] > apps.nodes[step - 1]
        falls = other + 1 == apps.offsets[owner + 1] or apps.nodes[other] > apps.nodes[other + 1]
        if rises and falls and 0 < delay <= apps.lengths[app]:
            waits[app, 0], waits[app, 1] = step, other
            return app
    return -1


@inner_kernel
def _place_from(
    low: int,
    trial: Trial,
    profiles: Profiles,
    apps: Staircases,
    num_nodes: int,
    weight: tuple[float, float],
    bar: float,
) -> float:
    """Place the applications from position `low` on, into `Trial.new_starts`; return the cost.

    Stops once the cost is sure to exceed `bar`.
    """
    times, usage, counts, makespans, totals, side = profiles
    order, waits, position = trial.order, trial.waits, trial.position
    starts, new_starts = trial.starts, trial.new_starts
    at = 2 * low + side[low]
    cost = np.inf
    for k in range(low, len(order)):
        app = order[k]
        start = apps.releases[app]
        step, other = waits[app, 0], waits[app, 1]
        if step >= 0:
            owner = apps.owners[other]
            if position[owner] < k:
                since = starts[owner] if position[owner] < low else new_starts[owner]
                end = since + apps.begins[other] + apps.durations[other]
                start = max(start, end - apps.begins[step])
        start = _first_start(times, usage, at, counts[at], apps, app, num_nodes, start)
        new_starts[app] = start
        makespan = max(makespans[at], start + apps.lengths[app])
        total = totals[at] + start - apps.releases[app]
        cost = weight[0] * makespan + weight[1] * total
        if cost > bar:
            break
        to = 2 * (k + 1) + 1 - side[k + 1]
        counts[to] = _add(times, usage, at, to, counts[at], apps, app, start)
        makespans[to], totals[to] = makespan, total
        at = to
    return cost


@kernel
def anneal_waits(
    walk: Walk,
    apps: Staircases,
    num_nodes: int,
    weight: tuple[float, float],
    temperatures: tuple[float, float],
    iterations: int,
    trial: Trial,
) -> None:
    """Walk on as `list_scheduling.anneal_order`, without expansion; a fifth of the moves change a wait.

    `weight` is that of the makespan and of the total completion; `trial` is work space.
    """
    order, waits, random = walk.order, walk.waits, walk.random
    num_apps, segments = len(order), len(apps.durations) + len(order) + 1
    # They are made here so that the compiler knows that both have one shape, which saves 5 % of the time.
    times = np.empty((2 * num_apps + 2, segments), dtype=np.int64)
    usage = np.empty((2 * num_apps + 2, segments), dtype=np.int64)
    profiles = Profiles(times, usage, trial.counts, trial.makespans, trial.totals, trial.side)
    for row in range(2):  # before the first application
        times[row, 0] = usage[row, 0] = 0
    for k in range(num_apps):
        trial.order[k] = order[k]
        trial.position[order[k]] = k
        trial.waits[k, 0], trial.waits[k, 1] = waits[k, 0], waits[k, 1]
    temperature = temperatures[0]
    cooling = (temperatures[1] / temperatures[0]) ** (1.0 / max(iterations, 1))
    # The order itself comes first; a continued walk has counted it before.
    for number in range(-1, iterations - (walk.costs[0] == np.inf)):
        low, high, waiting, bar = 0, num_apps - 1, -1, np.inf
        if number >= 0:
            if uniform(random) < _WAITS:
                waiting = _draw_wait(trial.waits, random, apps, trial.starts)
            if waiting >= 0:
                low = high = trial.position[waiting]
            else:
                low, high = draw_order(order, random, trial.order)
            bar = walk.costs[0] - temperature * np.log(1.0 - uniform(random))
            temperature *= cooling
        for k in range(low, high + 1):
            trial.position[trial.order[k]] = k
        cost = _place_from(low, trial, profiles, apps, num_nodes, weight, bar)
        if cost <= bar:
            for k in range(low, num_apps):
                app = trial.order[k]
                profiles.side[k + 1] = 1 - profiles.side[k + 1]
                order[k] = app
                trial.starts[app] = trial.new_starts[app]
            if waiting >= 0:
                waits[waiting, 0], waits[waiting, 1] = trial.waits[waiting, 0], trial.waits[waiting, 1]
            walk.costs[0] = cost
            if cost < walk.costs[1]:
                walk.costs[1] = cost
                for step in range(len(apps.owners)):
                    walk.best_starts[step] = trial.starts[apps.owners[step]] + apps.begins[step]
        else:
            for k in range(low, high + 1):
                trial.order[k] = order[k]
                trial.position[order[k]] = k
            if waiting >= 0:
                trial.waits[waiting, 0], trial.waits[waiting, 1] = waits[waiting, 0], waits[waiting, 1]


@dataclass(frozen=True, slots=True)
class OrderSearchParams(Params):
    """The numbers of a search over list orders, measured on 10 to 20 applications."""

    #: Schedules that are tried if the budget limits neither seconds nor iterations.
    schedules: int = 250_000
    #: With fewer applications than this, the walk ends when it has drawn each order about this number of
    #: times.
    few_applications: int = 8
    tries_per_order: int = 1_000
    #: The least schedules of a round, and those for each application. Longer rounds get stuck more often than
    #: they gain.
    least_round: int = 16_384
    round_per_application: int = 800
    #: The first and the last temperature for a makespan, in the mean application's share of the horizon.
    hot_makespan: float = 0.1
    cold_makespan: float = 0.03
    #: Those for a total over all applications, in the horizon.
    hot_total: float = 0.05
    cold_total: float = 0.002
    #: Steps that are placed between two looks at the clock: about 20 ms.
    look_steps: int = 100_000


#: Applications times steps up to which a profile is stored for each position: 8 MB.
SEGMENT_LIMIT = 1 << 18


def mirrored(problem: EvolutionProblem) -> EvolutionProblem:
    """Return the problem with time running backwards: each profile reversed.

    Only for problems whose releases are all 0. Its schedules, mirrored, are those of the problem, for any
    expand limit; a list in this direction finds schedules that no forward list finds.
    """
    apps = tuple(EvolutionProfile(app.steps[::-1]) for app in problem.applications)
    return EvolutionProblem(problem.num_nodes, apps, expand_limit=problem.expand_limit)


def mirrored_starts(problem: EvolutionProblem, backward: IntArray) -> IntArray:
    """Return step starts for `problem` from step starts for its mirror image.

    The schedule is turned round at its own makespan. Last steps are not expanded in either.
    """
    offsets, durations, _, _, _ = problem.packed
    starts = backward.copy()
    for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        ends = np.append(backward[a + 1 : b], backward[b - 1] + durations[a])
        starts[a:b] = -ends[::-1]
    starts -= starts.min(initial=0)
    return starts


def interval_value(
    problem: EvolutionProblem, starts: IntArray, ends: IntArray, objective: EvolutionObjective
) -> tuple[int, ...]:
    """Return the terms of the objective for starts and ends of all steps, with completion as the total."""
    offsets, durations, nodes, _, _ = problem.packed
    values = {
        "makespan": int(ends.max(initial=0)),
        "completion": int(ends[offsets[1:] - 1].sum()),
        "waste": int((nodes * (ends - starts - durations)).sum()),
    }
    return tuple(values[term] for term in objective)


def starts_value(
    problem: EvolutionProblem, starts: IntArray, objective: EvolutionObjective
) -> tuple[int, ...]:
    """Return the terms of an objective for step starts whose last steps are not expanded."""
    offsets, durations, _, _, _ = problem.packed
    last = offsets[1:] - 1
    ends = np.roll(starts, -1)
    ends[last] = starts[last] + durations[last]
    return interval_value(problem, starts, ends, objective)


def _weights(problem: EvolutionProblem, objective: EvolutionObjective) -> tuple[float, float, float]:
    """Return the cost of a second of makespan, of total completion, and of a node-second of waste.

    The first term that is not waste leads (waste is 0 without expansion); the others break ties.
    """
    largest = {
        "completion": problem.horizon * len(problem.releases),
        "waste": problem.horizon * problem.num_nodes,
    }
    lead = next((term for term in objective if term != "waste"), "waste")
    weight = {term: 1e-3 / largest.get(term, problem.horizon) for term in ("makespan", "completion", "waste")}
    return tuple(  # type: ignore[return-value]  # a generator over three terms makes three weights
        1.0 if term == lead else weight[term] * (term != "waste" or term in objective)
        for term in ("makespan", "completion", "waste")
    )


def anneal(
    problem: EvolutionProblem,
    fit: Fit,
    objective: EvolutionObjective,
    *,
    iterations: int,
    max_schedules: float = math.inf,
    seed: int,
    params: OrderSearchParams = OrderSearchParams(),
) -> Iterator[tuple[int, IntArray]]:
    """Anneal the list order; yield now and then the number of schedules tried and the best step starts.

    There are at least two applications. A list schedule, of which `iterations` are tried, takes 5 to 10
    microseconds for 15-20 applications; after `max_schedules` the search stops at any temperature. The same
    seed gives the same answer.

    Notes
    -----
    A move swaps two applications or inserts one elsewhere; without expansion, a fifth of the moves make an
    application wait for another or end that (`order_search`), unless there are too many applications. The
    temperature falls from 10 % to 3 % of the mean application's share of the horizon for a makespan; for a
    total over all applications from 5 % to 0.2 % of the horizon.
    """
    packed = problem.packed._replace(max_durations=fit.max_durations(problem))
    num_apps, num_steps = len(packed.releases), len(packed.durations)
    weights = _weights(problem, objective)
    walk = new_walk(list_order(problem, "largest"), num_steps, seed)
    stays_rigid = min(fit.expand_limit, problem.expand_limit) == 1
    apps = staircases(packed) if stays_rigid and num_apps * num_steps <= SEGMENT_LIMIT else None
    trial = None if apps is None else new_trial(apps)
    list_room = list_work(packed)
    if weights[0] == 1:  # the makespan leads
        hot, cold = (
            share * problem.horizon / num_apps for share in (params.hot_makespan, params.cold_makespan)
        )
    else:  # a total over all applications
        hot, cold = (share * problem.horizon for share in (params.hot_total, params.cold_total))
    look = max(1, params.look_steps // num_steps)
    done = 0
    while done < min(iterations, max_schedules):
        piece = int(min(look, iterations - done, max_schedules - done))
        temperatures = tuple(hot * (cold / hot) ** ((done + k) / iterations) for k in (0, piece))
        if apps is not None and trial is not None:
            anneal_waits(walk, apps, problem.num_nodes, weights[:2], temperatures, piece, trial)
        else:
            anneal_order(
                walk, packed, problem.num_nodes, fit.compacting, weights, temperatures, piece, list_room
            )
        done += piece
        yield piece, walk.best_starts


def anneal_in_rounds(
    problem: EvolutionProblem,
    objective: EvolutionObjective,
    *,
    max_schedules: float,
    seed: int,
    params: OrderSearchParams = OrderSearchParams(),
) -> Iterator[Iterator[tuple[int, IntArray]]]:
    """Yield rounds of annealing, `max_schedules` in all: all variants in turn, in rounds of equal length.

    Needs at least two applications. Variants are without expansion and, where the problem allows it,
    compacted with all of it; forward and, for a makespan without releases, backward in time. A round yields
    as `anneal`, step starts for `problem` itself. No round depends on another.
    """
    fits = [Fit(1)]
    if problem.expand_limit > 1 and objective[0] != "waste":
        fits.append(Fit(compacting=True))
    lead = next((term for term in objective if term != "waste"), "waste")
    image = mirrored(problem) if lead == "makespan" and not any(problem.releases) else None
    variants = [(fit, towards) for fit in fits for towards in (problem, image) if towards is not None]
    length = max(params.least_round, params.round_per_application * len(problem.releases))
    length = max(1, int(min(length, max_schedules / len(variants))))  # so that each direction cools down

    def anneal_round(number: int, max_schedules: float) -> Iterator[tuple[int, IntArray]]:
        fit, towards = variants[number % len(variants)]
        own = int(
            np.random.SeedSequence([seed, number]).generate_state(1)[0]
        )  # rounds of different seeds differ
        for tried, starts in anneal(
            towards, fit, objective, iterations=length, max_schedules=max_schedules, seed=own, params=params
        ):
            yield tried, starts if towards is problem else mirrored_starts(problem, starts)

    for number in itertools.count():
        if max_schedules <= 0:
            return
        yield anneal_round(number, max_schedules)
        max_schedules -= length
