"""What starts at one instant on nodes that are places is the best choice: all choices are tried."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings, strategies as st
from naive_places import Spot, devices_of, divided, first_fit, room, schedule_of, shape_of
from place_strategies import place_problems
from tiers import examples

from allocsolve.errors import InvalidProblem
from allocsolve.exact import most_at_once
from allocsolve.judge import violations
from allocsolve.model import Job, NodeType, WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from naive_places import Placement


def _placements(rooms: list[int], chunks: int, fewest: int, size: int, amount: int) -> Iterator[Placement]:
    """Yield all ways to put chunks, which take an amount of devices, into the room of nodes."""
    if not rooms:
        if not chunks and fewest <= 0:
            yield {}
        return
    *others, last = rooms
    for here in range(min(int(last), chunks) + 1):
        layouts = [*_layouts(devices_of(last), size, amount, here)] if here else [()]
        for placed in _placements(others, chunks - here, fewest - (here > 0), size, amount):
            for on in layouts:
                yield {**placed, len(others): Spot(here, on)} if here else placed


def _layouts(left: tuple[int, ...], size: int, amount: int, chunks: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to lay chunks on devices of which so much is left, those alike only once."""
    part, parts = min(size, amount), chunks * max(amount // max(size, 1), 1) if amount else 0
    seen = set()
    for on in itertools.product(*(range(there // part + 1 if part else 1) for there in left)):
        rest = tuple(sorted(there - part * number for there, number in zip(left, on, strict=True)))
        if sum(on) == parts and rest not in seen:
            seen.add(rest)
            yield on


def _best(problem: WorkloadProblem, values: list[int], here: list[tuple[Job, Placement]], first: int) -> int:
    """Return the largest value of jobs from one on, beside those that are there."""
    if first == len(values):
        return 0
    job = list(problem.jobs)[first]
    best = _best(problem, values, here, first + 1)
    if best == sum(values[first:]):
        return best
    chunks, each, _, fewest, _ = shape_of(job)
    name, size = divided(problem)
    for placed in _placements(room(problem, job, here), chunks, fewest, size, each.get(name, 0)):
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
    on = {job: {node: devices_of(spot) for node, spot in spots.items()} for job, spots in running.items()}
    found = most_at_once(problem, values, running, devices=on)
    assert not running.keys() & found.placed.keys()
    here = [(jobs[0], running[0])] if running else []
    assert found.value == found.bound == _best(problem, values, here, len(here))
    assert found.value == sum(values[job] for job in found.placed)
    placed = {**found.placed, **running}
    chosen = [jobs[job] for job in placed]
    at_once = WorkloadProblem(None, chosen, node_types=problem.node_types)
    said = {**found.devices, **on}
    where: list[Placement] = [
        {node: Spot(count, said.get(job, {}).get(node, ())) for node, count in spots.items()}
        for job, spots in placed.items()
    ]
    assert violations(at_once, schedule_of(at_once, [0.0] * len(chosen), where)) == ()


def test_values_are_of_jobs() -> None:
    problem = WorkloadProblem(None, [Job(0, 1, 1)], node_types=[NodeType("node", 2, {})])
    for values in ([1, 2], [-1]):
        with pytest.raises(InvalidProblem, match="values, none below 0, for 1 jobs"):
            most_at_once(problem, values)


def test_a_share_needs_a_device_with_so_much_left() -> None:
    """Two of eight tenths and two of five tenths are less than three GPUs, but need four devices or three."""
    kinds = [NodeType("gpu", 1, {"gpus": 30}, devices={"gpus": 3})]
    sizes = [8, 8, 5, 5, 3]
    jobs = [Job(0, 1, 60, chunks=1, each={"gpus": size}) for size in sizes]
    found = most_at_once(WorkloadProblem(None, jobs, node_types=kinds), values=sizes)
    assert (found.value, found.bound, sorted(found.placed)) == (26, 26, [0, 1, 2, 3])
    whole = [Job(0, 1, 60, chunks=1, each={"gpus": 20}), *jobs[:2]]
    found = most_at_once(WorkloadProblem(None, whole, node_types=kinds), values=[2, 1, 1])
    assert (found.value, sum(found.devices[0][0])) == (3, 2)
    running = WorkloadProblem(None, whole, node_types=kinds)
    with pytest.raises(InvalidProblem, match="devices of job 0 on node 0: 0 of 2"):
        most_at_once(running, running={0: {0: 1}})
