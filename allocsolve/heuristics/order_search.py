"""Search over list orders: a good schedule for the start of an exact search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from allocsolve.heuristics._kernels_list import anneal_order
from allocsolve.heuristics.list_scheduling import Fit, list_order
from allocsolve.model import EvolutionProblem, EvolutionProfile

if TYPE_CHECKING:
    from allocsolve.model import IntArray

__all__ = ["anneal_starts", "mirrored", "mirrored_starts"]


def mirrored(problem: EvolutionProblem) -> EvolutionProblem:
    """Return the problem with time running backwards: each profile reversed.

    Only for problems whose releases are all 0. With an expand limit of 1 its schedules, mirrored, are those
    of the problem; a list in this direction finds schedules that no forward list finds.
    """
    apps = tuple(EvolutionProfile(app.steps[::-1]) for app in problem.applications)
    return EvolutionProblem(problem.num_nodes, apps, expand_limit=problem.expand_limit)


def mirrored_starts(problem: EvolutionProblem, backward: IntArray) -> IntArray:
    """Return step starts for `problem` from step starts for its mirror image (expand limit 1).

    The schedule is turned round at its own makespan.
    """
    offsets, durations, _, _, _ = problem.packed
    starts = backward.copy()
    for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        starts[a:b] = -(backward[a:b] + durations[a:b][::-1])[::-1]
    starts -= starts.min(initial=0)
    return starts


def anneal_starts(
    problem: EvolutionProblem,
    fit: Fit,
    objective: Literal["makespan", "completion"],
    *,
    iterations: int,
    seed: int = 0,
) -> IntArray:
    """Return the step starts of the best list schedule found by simulated annealing over the order.

    Parameters
    ----------
    problem
        With at least one application.
    fit
        How each application is placed.
    objective
        What to minimise; the other one breaks ties.
    iterations
        Schedules that are tried, each O(one list schedule): about 10 microseconds for 15-20 applications.
    seed
        Of the moves; same seed, same answer.

    Returns
    -------
    Array of shape (steps,), seconds. No guarantee on the quality.
    """
    offsets, durations, nodes, _, releases = problem.packed
    # Near 1 % of the cost at first, hardly any uphill step at the end.
    scale = float(problem.horizon) / len(releases) * (1 if objective == "makespan" else len(releases))
    _, starts = anneal_order(
        list_order(problem, "largest"),
        offsets,
        durations,
        nodes,
        fit.max_durations(problem),
        releases,
        problem.num_nodes,
        fit.compacting,
        (1.0, 1e-6) if objective == "makespan" else (1e-6, 1.0),
        (0.1 * scale, 0.001 * scale),
        iterations,
        seed,
    )
    return starts
