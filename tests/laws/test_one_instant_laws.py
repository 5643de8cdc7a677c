"""What starts at one instant on nodes that are places is the best choice: all choices are tried."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings, strategies as st
from naive_places import first_fit, room, schedule_of, shape_of
from place_strategies import place_problems
from tiers import examples

from allocsolve.errors import InvalidProblem
from allocsolve.exact import most_at_once
from allocsolve.judge import violations
from allocsolve.model import Job, NodeType, WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from naive_places import Placement


def _placements(rooms: list[int], chunks: int, fewest: int) -> Iterator[Placement]:
    """Yield all ways to put chunks into the room of nodes."""
    if not rooms:
        if not chunks and fewest <= 0:
            yield {}
        return
    *others, last = rooms
    for here in range(min(last, chunks) + 1):
        for placed in _placements(others, chunks - here, fewest - (here > 0)):
            yield {**placed, len(others): here} if here else placed


def _best(problem: WorkloadProblem, values: list[int], here: list[tuple[Job, Placement]], first: int) -> int:
    """Return the largest value of jobs from one on, beside those that are there."""
    if first == len(values):
        return 0
    job = list(problem.jobs)[first]
    best = _best(problem, values, here, first + 1)
    if best == sum(values[first:]):
        return best
    chunks, _, _, fewest, _ = shape_of(job)
    for placed in _placements(room(problem, job, here), chunks, fewest):
        best = max(best, values[first] + _best(problem, values, [*here, (job, placed)], first + 1))
        if best == sum(values[first:]):
            break
    return best


@settings(max_examples=examples(100), deadline=None)
@given(problem=place_problems(min_jobs=1, max_jobs=4), data=st.data())
def test_no_choice_of_jobs_is_worth_more(problem: WorkloadProblem, data: st.DataObject) -> None:
    jobs = [replace(job, submit=0) for job in problem.jobs]
    problem = WorkloadProblem(None, jobs, node_types=problem.node_types)
    values = [data.draw(st.integers(0, 3)) for _ in jobs]
    there = first_fit(problem, jobs[0], []) if data.draw(st.booleans()) else None
    running = {} if there is None else {0: there}
    found = most_at_once(problem, values, running)
    assert not running.keys() & found.placed.keys()
    here = [(jobs[0], running[0])] if running else []
    assert found.value == found.bound == _best(problem, values, here, len(here))
    assert found.value == sum(values[job] for job in found.placed)
    placed = {**found.placed, **running}
    chosen = [jobs[job] for job in placed]
    at_once = WorkloadProblem(None, chosen, node_types=problem.node_types)
    where = [dict(placed[job]) for job in placed]
    assert violations(at_once, schedule_of(at_once, [0.0] * len(chosen), where)) == ()


def test_values_are_of_jobs() -> None:
    problem = WorkloadProblem(None, [Job(0, 1, 1)], node_types=[NodeType("node", 2, {})])
    for values in ([1, 2], [-1]):
        with pytest.raises(InvalidProblem, match="values, none below 0, for 1 jobs"):
            most_at_once(problem, values)
