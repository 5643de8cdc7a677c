"""Laws of the tree over dates: its dual is that of the twin, and no leaf is above what it holds."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import naive_date_tree as naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_date_tree import problem_of
from resource_strategies import general_problems
from tiers import examples

from allocsolve.bounds.workload.date_dual import DateDual, part_near, settled
from allocsolve.bounds.workload.job_price_dual import JobWindows, climb
from allocsolve.exact.workload._date_forest import OnMachine

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem

TERM: Final = "turnaround"
#: On plain machines, and on those with counted resources and closed windows; with more jobs for parts.
PROBLEMS, LARGER = (
    st.integers(0, 2**30).map(partial(problem_of, most=most))
    | general_problems(min_jobs=1, max_jobs=most, max_submit=5)
    for most in (4, 6)
)


def windows_of(random: np.random.Generator, jobs: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Windows of starts: of some jobs none, of some wide ones, of some narrow ones."""
    earliest = np.where(random.random(jobs) < 0.5, 0, random.integers(0, 25, jobs)).astype(float)
    width = random.integers(0, 12, jobs)
    return earliest, np.where(random.random(jobs) < 0.3, math.inf, earliest + width)


def dual_of(
    seed: int, problem: WorkloadProblem
) -> tuple[DateDual | None, np.ndarray[Any, Any], dict[str, Any], tuple[Any, ...]]:
    """The dual of any windows and prices, the levels, and a certificate whose first leaf is the same."""
    random = np.random.default_rng(seed)
    edges = np.cumsum(random.integers(1, 7, int(random.integers(2, 8)))).astype(float) - 3
    priced = OnMachine.of(problem, TERM, edges)
    count, slots = len(priced.jobs.submit), len(edges) - 1
    first = random.integers(0, slots, count)
    windows = JobWindows.empty(edges, first, np.full(count, slots - 1))
    windows = windows.with_prices(random.integers(0, 9, len(windows.prices)).astype(float))
    earliest, latest = windows_of(random, count)
    known = settled(priced.jobs, priced.rooms, edges, np.maximum(earliest, priced.release), latest)
    dual = (
        None
        if known is None
        else DateDual(priced.jobs, priced.rooms, windows, known, np.zeros(len(windows.prices)))
    )
    jobs: list[int] = []
    cuts: list[int] = []
    for row, job in enumerate(priced.counted.tolist()):
        if latest[row] < math.inf:
            jobs, cuts = [*jobs, job], [*cuts, int(latest[row])]
        jobs, cuts = [*jobs, job, -1], [*cuts, int(earliest[row]), 0]
    # The last of the leaves after each "from then on" is the one; others follow the cuts "up to then".
    certificate = {
        "kind": "date-tree",
        "term": TERM,
        "edges": edges.astype(int).tolist(),
        **priced.units,
        "unit": 1,
        "lists": [
            {
                "parent": -1,
                "jobs": priced.counted.tolist(),
                "first_slots": first.tolist(),
                "offsets": windows.offsets.tolist(),
                "differences": windows.prices.astype(int).tolist(),
            }
        ],
        "jobs": [*jobs, *[-1] * (1 + int((latest < math.inf).sum()))],
        "cuts": [*cuts, *[0] * (1 + int((latest < math.inf).sum()))],
    }
    return dual, windows.prices * windows.lengths, certificate, (earliest, latest, priced)


@settings(deadline=None)
@given(PROBLEMS, st.integers(0, 2**30))
def test_the_dual_has_the_totals_of_the_slow_twin(problem: WorkloadProblem, second: int) -> None:
    if not problem.jobs.packed.weight.any():
        return
    dual, levels, certificate, (earliest, latest, priced) = dual_of(second, problem)
    at = [
        number
        for number, (_, path) in enumerate(naive.leaves(certificate))
        if len(path) == len(certificate["jobs"]) // 2
        and sum(later for *_, later in path) == len(priced.counted)
    ]
    total = naive.totals(problem, certificate)[at[0]]
    if dual is None:
        assert total is None
    else:
        assert total is not None
        assert dual.exact(levels) == pytest.approx(total)
        _, starts = dual.cheapest(levels)
        assert (starts >= np.maximum(earliest, priced.release)).all()
        assert (starts <= latest).all()


@settings(deadline=None, max_examples=examples(100))
@given(PROBLEMS, st.integers(0, 2**30), st.sampled_from([0.3, 3.0]))
def test_gradient_is_that_of_differences(problem: WorkloadProblem, second: int, temperature: float) -> None:
    if not problem.jobs.packed.weight.any():
        return
    dual, levels, *_ = dual_of(second, problem)
    if dual is None:
        return
    levels = levels + 0.5
    direction = np.where(dual.active, np.random.default_rng(second).normal(size=len(levels)), 0.0)
    _, gradient = dual.soft(levels.copy(), temperature)
    step = 1e-4 * temperature
    ahead, behind = (dual.soft(levels + sign * step * direction, temperature)[0] for sign in (1, -1))
    assert (ahead - behind) / (2 * step) == pytest.approx(float(gradient @ direction), rel=1e-4, abs=1e-3)


@settings(deadline=None, max_examples=examples(100))
@given(LARGER, st.integers(0, 2**30), st.integers(-3, 30), st.integers(1, 20))
def test_what_a_part_gains_the_whole_gains(
    problem: WorkloadProblem, second: int, begin: int, length: int
) -> None:
    if not problem.jobs.packed.weight.any():
        return
    dual, levels, _, (earliest, latest, priced) = dual_of(second, problem)
    if dual is None:
        return
    earliest = np.maximum(earliest, priced.release)
    known = settled(priced.jobs, priced.rooms, dual.windows.edges, earliest, latest)
    assert known is not None
    fixed = np.zeros(len(dual.windows.prices))
    part = part_near(priced.jobs, priced.rooms, dual.windows, known, fixed, (begin, begin + length))
    own = levels[part.entries]
    before = part.dual.exact(own)
    better, after = climb(part.dual, own, (3.0, 0.3), steps=20, stop=lambda: False, free=part.free)
    changed = levels.copy()
    changed[part.entries] = better
    assert after >= before
    assert dual.exact(changed) - dual.exact(levels) == pytest.approx(after - before, abs=1e-6)
