"""The baseline of every family is no worse than any of its heuristics, however little time it has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from evolving_strategies import evolving_problems
from hypothesis import HealthCheck, given, settings, strategies as st
from placement_strategies import placement_problems
from reservation_strategies import reservation_problems
from strategies import evolution_problems, partition_problems, workload_problems
from tiers import examples

from allocsolve import Budget
from allocsolve.errors import InvalidOption
from allocsolve.families import families, family_of
from allocsolve.judge import assess
from allocsolve.model import Amdahl, Job, PowerLaw, Stall, WorkloadProblem, terms
from allocsolve.registry import make_solver, solver_names

if TYPE_CHECKING:
    from allocsolve.model import Problem

#: Hardly any: a search has no time to begin.
NO_TIME = Budget(seconds=1e-6)
#: What both sides get when searches are compared: on few jobs both reach the best plans.
MOVES = Budget(iterations=20_000)
#: By what share sums that are rounded in another order may differ.
ROUNDING = 1e-9


@st.composite
def malleable_problems(draw: st.DrawFn, *, stalls: bool) -> WorkloadProblem:
    """Few jobs that can change their sizes, at any time or at points, beside rigid and moldable ones."""
    num_nodes = draw(st.integers(2, 8))
    jobs = []
    for _ in range(draw(st.integers(1, 5))):
        nodes = draw(st.integers(1, num_nodes))
        job: dict[str, Any] = {}
        if draw(st.integers(0, 3)):
            law = draw(st.sampled_from([PowerLaw(1), PowerLaw(0.5), Amdahl(0.9), Amdahl(1)]))
            job = {"min_nodes": draw(st.integers(1, nodes)), "max_nodes": num_nodes, "speedup": law}
            if draw(st.integers(0, 4)):
                job |= {"kind": "malleable", "points": draw(st.sampled_from([0, 0, 2, 10]))}
                if stalls:
                    job["reconfiguration"] = Stall(fixed=draw(st.integers(1, 20)))
        jobs.append(Job(draw(st.integers(0, 30)), nodes, draw(st.integers(1, 60)), **job))
    return WorkloadProblem(num_nodes, jobs)


KINDS: dict[str, st.SearchStrategy[Any]] = {
    "rigid": workload_problems(min_jobs=1, max_jobs=8, max_nodes=6, moldable=False),
    "moldable": workload_problems(min_jobs=1, max_jobs=6, max_nodes=6),
    "malleable": malleable_problems(stalls=False),
    "malleable with stalls": malleable_problems(stalls=True),
    "evolving": evolving_problems(),
    "reservation": reservation_problems(may_leak=True),
    "evolution": evolution_problems(max_apps=4, releases=True),
    "partition": partition_problems(max_nodes=16, contiguous=None),
    "placement": placement_problems(),
}
few = settings(max_examples=examples(500), suppress_health_check=[HealthCheck.too_slow])
of_each_kind = pytest.mark.parametrize("kind", KINDS)


def _values(
    name: str, problem: Problem, objective: tuple[str, ...], budget: Budget
) -> tuple[float, ...] | None:
    """Return what the judge says of an answer; None if there is none."""
    try:
        result = make_solver(name, problem, objective)(problem, budget)
    except InvalidOption:  # it is not made for this problem
        return None
    judged = assess(problem, result, objective).result
    return None if judged.objective is None else terms(judged.objective)


def _check(problem: Problem, objective: tuple[str, ...], budget: Budget, *, searches: bool) -> None:
    family = family_of(problem)
    best = _values(family.baseline, problem, objective, budget)
    for name, row in solver_names(family).items():
        if row.method == "heuristic" and row.searches == searches:
            other = _values(name, problem, objective, budget)
            if other is not None:
                assert best is not None, name
                allowed = tuple(value + ROUNDING * abs(value) for value in other)
                assert best <= allowed, name


@of_each_kind
@few
@given(data=st.data())
def test_no_quick_heuristic_is_better_than_a_baseline_without_time(kind: str, data: st.DataObject) -> None:
    problem = data.draw(KINDS[kind])
    objective = data.draw(st.sampled_from(family_of(problem).term_names))
    _check(problem, (objective,), NO_TIME, searches=False)


@of_each_kind
@few
@given(data=st.data())
def test_no_heuristic_is_better_than_a_baseline(kind: str, data: st.DataObject) -> None:
    problem = data.draw(KINDS[kind])
    objective = data.draw(st.sampled_from(family_of(problem).term_names))
    for searches in (False, True):
        _check(problem, (objective,), MOVES, searches=searches)


def test_every_family_has_quick_solvers() -> None:
    assert all(family.quick_solvers(family.large_example(), family.term_names[:1]) for family in families())


def two_that_overlap(law: PowerLaw, nodes: int = 30, **fields: Any) -> WorkloadProblem:
    """Two jobs that together want more than all nodes, the second of which comes a little later."""
    job = {"min_nodes": 1, "max_nodes": nodes, "speedup": law, "kind": "malleable", **fields}
    return WorkloadProblem(50, [Job(0, nodes, 400, **job), Job(20, nodes, 400, **job)])


def test_a_policy_that_changes_sizes_at_the_end_of_another_job() -> None:
    """The second job takes what the first leaves, and more after its end: no constant size is as good."""
    problem = two_that_overlap(PowerLaw(1))
    # 20 nodes for 380 s, then 30: 400 s and 380 + (12000 - 7600) / 30 s.
    least = (400 + 380 + 4400 / 30) / 2
    for budget in (NO_TIME, Budget(seconds=2)):
        values = _values("prices", problem, ("turnaround",), budget)
        assert values is not None
        assert values[0] <= least + 1e-6
    stalled = replace(problem, jobs=two_that_overlap(PowerLaw(1), reconfiguration=Stall(fixed=30)).jobs)
    _check(stalled, ("turnaround",), NO_TIME, searches=False)
