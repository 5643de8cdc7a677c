"""Windows by CP-SAT: free a waiting job and some that overlap its wait, keep all others where they are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.model import Budget, Clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from ortools.sat.python import cp_model

    from allocsolve.heuristics.workload.reinsertion import Reinserter
    from allocsolve.model import IntArray

__all__ = ["search_window"]

#: Jobs that are free, and what one window may cost in CP-SAT's deterministic seconds.
_FREE, _EFFORT = 40, 1.0
#: A window in which the free nodes change more often is passed over.
_MOST_STEPS = 3_000
#: Grid points per second: quarters are exact, other times are rounded up.
_TICKS = 4
#: The dearest second of a job in the objective of the model.
_DEAREST = 1_000


def search_window(
    search: Reinserter, random: np.random.Generator, clock: Clock, stop: Callable[[], bool]
) -> None:
    """Search one window and put the jobs back in the best order met, if the plan is no worse with it.

    Jobs keep their sizes. In the order of the starts of a feasible schedule no job is put back later than
    there, so the plan is feasible whatever was rounded.
    """
    plan = search.plan
    jobs = _window(search, random)
    if len(jobs) < 2:
        return
    before, starts = search.cost_of(jobs), plan.placed.starts[jobs].copy()
    plan.take_out(jobs)
    order = _searched(search, jobs, clock, stop)
    plan.put(jobs[order])
    if search.cost_of(jobs) > before:
        plan.take_out(jobs)
        plan.placed.starts[jobs] = starts
        plan.put(jobs, where_they_are=True)


def _window(search: Reinserter, random: np.random.Generator) -> IntArray:
    """Return a waiting job, drawn in proportion to what its wait costs, and jobs that overlap its wait."""
    plan, excess = search.plan, search.excess()
    total = excess.sum()
    if not total > 0:
        return np.zeros(0, dtype=np.int64)
    job = int(random.choice(len(excess), p=excess / total))
    starts = plan.placed.starts
    ends = starts + plan.seconds
    near = np.flatnonzero((starts < ends[job]) & (ends > plan.problem.packed.submit[job]))
    others = near[near != job]
    if len(others) > _FREE:
        # Half of the windows are short: the jobs around one instant of the wait.
        if random.random() < 0.5:
            instant = random.uniform(plan.problem.packed.submit[job], ends[job])
            distance = np.maximum(starts[others] - instant, instant - ends[others])
            others = others[np.argsort(distance, kind="stable")[:_FREE]]
        else:
            others = random.choice(others, _FREE, replace=False)
    return np.concatenate([[job], others])


def _searched(search: Reinserter, jobs: IntArray, clock: Clock, stop: Callable[[], bool]) -> IntArray:
    """Return the order of the starts of the jobs in the best answer of CP-SAT."""
    from ortools.sat.python import cp_model  # noqa: PLC0415 - slow to import

    from allocsolve.backends.cpsat import run_cpsat  # noqa: PLC0415 - imports ortools

    plan = search.plan
    starts, seconds, nodes = plan.placed.starts[jobs], plan.seconds[jobs], plan.nodes[jobs]
    submit = plan.problem.packed.submit[jobs]
    order: IntArray = np.argsort(starts, kind="stable")
    origin, until = float(submit.min()), float((starts + seconds).max() + seconds.max())
    times, free = plan.free_nodes(origin, until)
    num_nodes = plan.problem.num_nodes
    if len(times) > _MOST_STEPS:
        return order

    def tick(second: float) -> int:
        return math.ceil((second - origin) * _TICKS)

    model = cp_model.CpModel()
    horizon = tick(until)
    variables, intervals, demands, objective = [], [], [], []
    slopes = search.slopes(jobs)
    scale = _DEAREST / max(float(slopes.max()), 1e-300)
    for idx in range(len(jobs)):
        length = math.ceil(float(seconds[idx]) * _TICKS)
        release = tick(float(submit[idx]))
        start = model.new_int_var(release, max(release, horizon - length), "")
        model.add_hint(start, tick(float(starts[idx])))
        variables.append(start)
        intervals.append(model.new_fixed_size_interval_var(start, length, ""))
        demands.append(int(nodes[idx]))
        objective.append(round(float(slopes[idx]) * scale) * start)
    ends = [*times[1:].tolist(), until]
    wanted = int(nodes.sum())
    for begin, end, left in zip(times.tolist(), ends, free.tolist(), strict=True):
        if left < wanted and end > begin:
            first = tick(max(begin, origin))
            intervals.append(model.new_fixed_size_interval_var(first, tick(end) - first, ""))
            demands.append(num_nodes - left)
    model.add_cumulative(intervals, demands, num_nodes)
    model.minimize(cp_model.LinearExpr.sum(objective))
    best: list[int] = []

    def take(value: Callable[[cp_model.LinearExpr], int]) -> bool:
        best[:] = [value(start) for start in variables]
        return True

    left_time = Clock(min(clock.remaining, 5 * _EFFORT))
    outcome = run_cpsat(model, Budget(), left_time, take, linear=True, effort=_EFFORT, stop=stop)
    if outcome.interrupted:
        raise KeyboardInterrupt
    return np.argsort(best, kind="stable") if best else order
