"""Lower bounds by CP-SAT: the ordering relaxation, solved as far as the time goes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from allocsolve.bounds.evolution import strong_makespan_bound
from allocsolve.model import Budget

if TYPE_CHECKING:
    from allocsolve.model import EvolutionProblem


def pairs_relaxation(problem: EvolutionProblem, *, seconds: float = 10.0, workers: int = 1) -> int:
    """Return a lower bound on the makespan: the optimum if only pairs of applications could be in conflict.

    In seconds: what is proven after so many seconds of wall time, on so many threads of CP-SAT; at least
    `strong_makespan_bound`.

    Notes
    -----
    *Proof*: a schedule of the problem keeps every pair of applications within the cluster. The model asks for
    just that: of two blocks of steps (each held at least at its minimum) whose minima exceed the cluster, one
    ends before the other starts. So every schedule is an answer of the model, and the model's optimum, or
    CP-SAT's bound on it, is no more than any makespan.
    *Complexity*: NP-hard in general (one-step applications above half the cluster form a one-machine problem
    with releases). Klein-sized instances take 0.1 to 2 s; often within 3-8 % of the optimum there.
    """
    from allocsolve.backends.cpsat import run_cpsat  # noqa: PLC0415 - imports ortools
    from allocsolve.exact.evolution._order_model import OrderModel  # noqa: PLC0415 - imports ortools

    budget = Budget(seconds=seconds, workers=workers)
    clock = budget.start()
    cheap = strong_makespan_bound(problem, seconds=seconds).value
    if not problem.applications:
        return cheap
    relaxation = OrderModel(problem, problem.horizon, clock, largest_cover=2)
    makespan = relaxation.term("makespan")
    relaxation.model.add(makespan >= cheap)
    relaxation.model.minimize(makespan)
    outcome = run_cpsat(relaxation.model, budget, clock, lambda _: True)
    if outcome.interrupted:
        raise KeyboardInterrupt
    return max(cheap, math.ceil(outcome.bound - 1e-6))
