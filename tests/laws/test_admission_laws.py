"""Laws of static admission: equal to the naive twin, and what follows from the definition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import naive_admission as naive
import numpy as np
import pytest
from hypothesis import given, strategies as st

from allocsolve.heuristics.partition.curve_fit import first_fit_run
from allocsolve.heuristics.reservation.admission import Admission, admit
from allocsolve.heuristics.reservation.shapes import ALLOCATORS
from allocsolve.model import RESERVATION_SHAPES, Mesh, Topology, Torus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hypothesis.strategies import DrawFn

    from allocsolve.model import IntArray

SHAPED = tuple(name for name in ALLOCATORS if name != "count")

#: The last ones with bits in two words.
MACHINES = (
    *(Mesh((4, 3)), Torus((5, 3)), Mesh((3, 2, 2)), Mesh((7,))),
    *(Topology((3, 4), (True, False)), Mesh((9, 8))),
)

_Job = tuple[int, int, int, int]


@st.composite
def job_lists(draw: DrawFn, num_nodes: int, max_jobs: int = 25) -> list[_Job]:
    """Jobs whose times often meet: arrival, nodes, run time, deadline."""
    grain = draw(st.sampled_from([1, 1, 3, 10]))
    jobs, arrival = [], 0
    for _ in range(draw(st.integers(1, max_jobs))):
        arrival += grain * draw(st.integers(0, 3))
        runtime = grain * draw(st.integers(1, 12))
        deadline = arrival + runtime + grain * draw(st.integers(-2, 40))
        jobs.append((arrival, draw(st.integers(1, num_nodes)), runtime, max(0, deadline)))
    return jobs


def columns(jobs: Iterable[_Job]) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    arrival, nodes, runtime, deadline = np.array(list(jobs), dtype=np.int64).reshape(-1, 4).T
    return arrival, nodes, runtime, deadline


def decisions(admission: Admission) -> list[tuple[int, list[int]] | None]:
    starts, offsets, nodes = (column.tolist() for column in admission)
    return [
        None if start < 0 else (start, nodes[offsets[job] : offsets[job + 1]])
        for job, start in enumerate(starts)
    ]


@pytest.mark.parametrize("name", SHAPED)
@given(data=st.data())
def test_every_decision_is_that_of_the_twin(name: str, data: st.DataObject) -> None:
    slow = name in ("town", "manhattan-median")
    topology = data.draw(st.sampled_from(MACHINES[:4] if slow else MACHINES))
    jobs = data.draw(job_lists(topology.num_nodes, 10 if slow else 25))
    shape = data.draw(st.sampled_from(("any", *RESERVATION_SHAPES)))
    admission = admit(topology, *columns(jobs), name, shape=shape)
    assert decisions(admission) == naive.admit(topology, jobs, naive.shape_named(name), shape)


@given(data=st.data())
def test_counts_are_those_of_the_twin_and_get_nodes(data: st.DataObject) -> None:
    topology = data.draw(st.sampled_from(MACHINES))
    jobs = data.draw(job_lists(topology.num_nodes))
    answers = decisions(admit(topology, *columns(jobs), "count"))
    starts = [None if answer is None else answer[0] for answer in answers]
    assert starts == naive.count_starts(topology.num_nodes, jobs)
    bookings = [(start, start + jobs[j][2], nodes) for j, (start, nodes) in taken(answers)]
    for j, (_, nodes) in taken(answers):
        assert nodes == sorted(set(nodes))
        assert len(nodes) == jobs[j][1]
    for i, (start, end, nodes) in enumerate(bookings):
        for begin, finish, others in bookings[:i]:
            assert start >= finish or begin >= end or not {*nodes} & {*others}


def taken(answers: list[tuple[int, list[int]] | None]) -> list[tuple[int, tuple[int, list[int]]]]:
    return [(j, answer) for j, answer in enumerate(answers) if answer is not None]


@pytest.mark.parametrize("name", ["hilbert", "any", "growth", "literal"])
@given(data=st.data())
def test_no_other_start_is_earlier(name: str, data: st.DataObject) -> None:
    """Not just of the starts that are tried: of all."""
    topology = data.draw(st.sampled_from(MACHINES[:4]))
    jobs = data.draw(job_lists(topology.num_nodes, 12))
    twin = naive.NaiveCalendar(topology, naive.shape_named(name))
    answers = decisions(admit(topology, *columns(jobs), name))
    for (arrival, size, runtime, deadline), answer in zip(jobs, answers, strict=True):
        last = deadline - runtime if answer is None else answer[0] - 1
        for start in range(arrival, last + 1):
            free = twin.free(start, start + runtime)
            assert np.count_nonzero(free) < size or twin.choose(topology, free, size) is None
        if answer is not None:
            twin.bookings.append((answer[0], answer[0] + runtime, answer[1]))


@given(data=st.data())
def test_functions_are_asked_like_names(data: st.DataObject) -> None:
    topology = data.draw(st.sampled_from(MACHINES))
    jobs = columns(data.draw(job_lists(topology.num_nodes)))
    shape = data.draw(st.sampled_from(RESERVATION_SHAPES))
    function = admit(topology, *jobs, first_fit_run, shape=shape)
    assert decisions(function) == decisions(admit(topology, *jobs, "hilbert", shape=shape))


def drawn_jobs(rng: np.random.Generator, num_nodes: int, count: int, grain: int) -> list[_Job]:
    """Jobs that load a machine twice, in multiples of a number of seconds."""
    size = np.minimum(1 + rng.geometric(8 / num_nodes, count), num_nodes)
    runtime = grain * (1 + rng.integers(0, 200, count) // grain)
    gap = 100 * size.mean() / num_nodes / 2
    arrival = grain * (np.cumsum(rng.exponential(gap, count)).astype(np.int64) // grain)
    deadline = arrival + runtime + grain * (rng.integers(0, 8 * runtime) // grain)
    return list(zip(*(column.tolist() for column in (arrival, size, runtime, deadline)), strict=True))


@pytest.mark.parametrize(
    "topology",
    [pytest.param(Mesh((16, 8)), marks=pytest.mark.release), Torus((6, 5))],
    ids=["16x8", "6x5-torus"],
)
@pytest.mark.parametrize("name", ALLOCATORS)
def test_400_decisions_are_those_of_the_twin(topology: Topology, name: str) -> None:
    """Ten thousand over all rules, two machines and three grains of time."""
    rng = np.random.default_rng([16, ALLOCATORS.index(name)])
    for grain in (1, 20, 100):
        jobs = drawn_jobs(rng, topology.num_nodes, 134, grain)
        answers = decisions(admit(topology, *columns(jobs), name))
        if name == "count":
            starts = [answer and answer[0] for answer in answers]
            assert starts == naive.count_starts(topology.num_nodes, jobs)
        else:
            assert answers == naive.admit(topology, jobs, naive.shape_named(name))
        assert 0.05 < np.mean([answer is not None for answer in answers]) < 0.98
