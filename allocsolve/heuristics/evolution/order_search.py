"""Search over list orders and delays by simulated annealing, forward and backward in time."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.evolution._kernels_list import anneal_order, list_work, new_walk
from allocsolve.heuristics.evolution._kernels_waits import anneal_waits, new_trial, staircases
from allocsolve.heuristics.evolution.list_scheduling import Fit, list_order
from allocsolve.model import EvolutionProblem, EvolutionProfile
from allocsolve.model.options import Params

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import EvolutionObjective, IntArray


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
    application wait for another or end that (`_kernels_waits`), unless there are too many applications. The
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
            towards,
            fit,
            objective,
            iterations=length,
            max_schedules=max_schedules,
            seed=own,
            params=params,
        ):
            yield tried, starts if towards is problem else mirrored_starts(problem, starts)

    for number in itertools.count():
        if max_schedules <= 0:
            return
        yield anneal_round(number, max_schedules)
        max_schedules -= length
