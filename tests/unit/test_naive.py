"""The slow twins against each other and against plain enumeration."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st
from lina_draws import simulated
from naive import NaiveFit, all_schedules, earliest_fit, latest_fit, longest, objective_values, violates
from naive_easyback import naive_easyback
from naive_malleable import pieces_of
from naive_optimum import optimum
from strategies import EXPAND_LIMITS, evolution_problems, evolution_profiles, occupied_profiles

from allocsolve.heuristics import EvolvEasyback
from allocsolve.model import (
    EvolutionObjective,
    EvolutionProblem,
    EvolutionProfile,
    EvolutionSchedule,
    Job,
    Join,
    Overhead,
    Phases,
    Requests,
    Stall,
    WorkloadProblem,
)

LIMITS = st.sampled_from(EXPAND_LIMITS)
OBJECTIVES: tuple[EvolutionObjective, ...] = (
    *(("makespan",), ("completion",), ("waste",)),
    *(("makespan", "waste"), ("completion", "makespan"), ("waste", "completion")),
)
NUM_NODES = 4


@st.composite
def fits(
    draw: st.DrawFn, max_steps: int = 5, max_duration: int = 4
) -> tuple[EvolutionProfile, EvolutionProfile, int, float, int]:
    """Arguments of a fit function."""
    return (
        draw(evolution_profiles(max_steps=max_steps, max_duration=max_duration)),
        draw(occupied_profiles(NUM_NODES)),
        NUM_NODES,
        draw(LIMITS),
        draw(st.integers(0, 6)),
    )


def free(occupied: EvolutionProfile, nodes: int, begin: int, end: int) -> bool:
    return all(occupied.value(t) + nodes <= NUM_NODES for t in range(begin, end))


def placements(
    request: EvolutionProfile, occupied: EvolutionProfile, expand_limit: float, first: int, last: int
) -> list[tuple[int, ...]]:
    """All starts of the steps followed by the completion, between two times; any step may be expanded."""
    return [
        times
        for times in itertools.combinations(range(first, last + 1), len(request.steps) + 1)
        if all(
            duration <= end - begin <= longest(duration, expand_limit) and free(occupied, nodes, begin, end)
            for (duration, nodes), (begin, end) in zip(request.steps, itertools.pairwise(times), strict=True)
        )
    ]


def ends(fit: NaiveFit) -> tuple[int, ...]:
    """The starts of the steps followed by the completion."""
    return tuple(itertools.accumulate(fit.durations, initial=fit.start))


# --- fits ----------------------------------------------------------------------------------------------


@given(fits(max_steps=3, max_duration=2))
def test_the_earliest_fit_is_the_least_of_all_placements(
    case: tuple[EvolutionProfile, EvolutionProfile, int, float, int],
) -> None:
    request, occupied, _, limit, first = case
    last = min(max(first, occupied.duration) + request.duration, first + 14)
    every = placements(request, occupied, limit, first, last)
    assume(every)
    least = [min(column) for column in zip(*every, strict=True)]
    fit = earliest_fit(*case)
    assert ends(fit) in every
    assert list(ends(fit)[1:]) == least[1:]
    assert fit.durations[0] == request.durations[0]
    assert fit.durations[-1] == request.durations[-1]


@given(fits(max_steps=3, max_duration=2), st.integers(0, 12))
def test_the_latest_fit_is_the_greatest_of_all_placements(
    case: tuple[EvolutionProfile, EvolutionProfile, int, float, int], length: int
) -> None:
    request, occupied, num_nodes, limit, first = case
    completion = first + length
    every = [
        times
        for times in placements(request, occupied, limit, first, completion)
        if times[-1] == completion and times[-1] - times[-2] == request.durations[-1]
    ]
    if every:
        fit = latest_fit(request, occupied, num_nodes, limit, completion, first)
        assert ends(fit) in every
        assert list(ends(fit)) == [max(column) for column in zip(*every, strict=True)]
        assert fit.durations[0] == request.durations[0]
    else:
        with pytest.raises(ValueError, match=f"ends at {completion}"):
            latest_fit(request, occupied, num_nodes, limit, completion, first)


def test_the_limit_is_read_as_a_decimal() -> None:
    assert longest(10, 1.7) == 17
    assert longest(501, 1.5) == 751
    assert longest(3, 1) == 3
    assert math.isinf(longest(3, math.inf))


# --- schedules -----------------------------------------------------------------------------------------


@given(evolution_problems(max_apps=2, max_steps=2, max_duration=2, max_nodes=3, releases=True))
def test_the_optimum_is_the_least_of_all_schedules(problem: EvolutionProblem) -> None:
    values = [
        objective_values(problem, schedule, ("makespan", "completion", "waste"))
        for schedule in all_schedules(problem)
    ]
    position = {"makespan": 0, "completion": 1, "waste": 2}
    for objective in OBJECTIVES:
        least = min(tuple(value[position[term]] for term in objective) for value in values)
        assert optimum(problem, objective) == least


# --- violations ----------------------------------------------------------------------------------------

PAIR = EvolutionProblem(
    3, (EvolutionProfile(((2, 2), (3, 1))), EvolutionProfile(((2, 2),))), releases=(1, 0), expand_limit=1.5
)


def scheduled(starts: list[int], *profiles: tuple[tuple[int, int], ...]) -> EvolutionSchedule:
    return EvolutionSchedule.of(starts, [EvolutionProfile(steps) for steps in profiles])


@pytest.mark.parametrize(
    ("schedule", "wrong"),
    [
        (scheduled([1, 3], ((2, 2), (3, 1)), ((2, 2),)), False),
        (scheduled([1, 4], ((3, 2), (4, 1)), ((3, 2),)), False),
        (scheduled([2, 0], ((2, 2), (3, 1)), ((2, 2),)), False),
        (scheduled([1, 4], ((4, 2), (3, 1)), ((2, 2),)), True),  # expanded beyond 3
        (scheduled([1, 4], ((2, 2), (5, 1)), ((2, 2),)), True),  # beyond floor(4.5)
        (scheduled([1, 3], ((2, 2), (2, 1)), ((2, 2),)), True),  # too short
        (scheduled([0, 3], ((2, 2), (3, 1)), ((2, 2),)), True),  # before its release
        (scheduled([1, -2], ((2, 2), (3, 1)), ((2, 2),)), True),
        (scheduled([1, 2], ((2, 2), (3, 1)), ((2, 2),)), True),  # four nodes at second 2
        (scheduled([1, 1], ((2, 2), (3, 1)), ((2, 2),)), True),
        (scheduled([1, 3], ((2, 2), (3, 2)), ((2, 2),)), True),  # other nodes
        (scheduled([1, 3], ((5, 2),), ((2, 2),)), True),  # other steps
        (scheduled([1], ((2, 2), (3, 1))), True),  # an application is missing
        (scheduled([1, 3, 9], ((2, 2), (3, 1)), ((2, 2),), ((1, 1),)), True),
    ],
)
def test_violations(schedule: EvolutionSchedule, wrong: bool) -> None:
    assert violates(PAIR, schedule) is wrong


Piece = tuple[float, float, int]


def elastic(submit: float, nodes: int, runtime: float, limits: tuple[int, int], **fields: Any) -> Job:
    row: dict[str, Any] = {"kind": "malleable", "speedup": Overhead(0)} | fields
    return Job(submit, nodes, runtime, min_nodes=limits[0], max_nodes=limits[1], **row)


def pieces(problem: list[Job], num_nodes: int = 8, **rules: Any) -> list[list[Piece]]:
    cluster = simulated(WorkloadProblem(num_nodes, problem), **rules)
    return [[*pieces_of(cluster, idx)] for idx in range(len(problem))]


# By hand: perfect speedup, jobs on 4 of 8 nodes.


def test_grows_and_is_shrunk_for_the_next() -> None:
    jobs = [elastic(0, 4, 100, (2, 8)), Job(10, 6, 30)]
    # 400 node-seconds: 80 by 10 s; then 2 nodes to 40 s, 60; then 260 on 8 nodes.
    assert pieces(jobs) == [[(0, 10, 8), (10, 40, 2), (40, 72.5, 8)], [(10, 40, 6)]]


def test_stalls_queue_up_and_hold_the_new_number() -> None:
    stall = Stall(fixed=2, per_node=0.5, shared=12)
    jobs = [elastic(0, 4, 100, (2, 8), reconfiguration=stall), Job(4, 6, 30)]
    # At its start from 4 to 8 nodes for nothing: 32 node-seconds by 4 s. Then to 2: 2 + 3 + 1.2 = 6.2 s, and
    # until 34 s 47.6 node-seconds more. Back to 8: it stalls until 40.2 s.
    (first, _) = pieces(jobs)
    assert first[:2] == [(0, 4, 8), (4, 34, 2)]
    assert first[2] == pytest.approx((34, 40.2 + 320.4 / 8, 8))
    jobs.append(Job(36, 6, 30))
    # While it stalls until 40.2 s it shrinks again: until 46.4 s. By 66 s 39.2 more node-seconds are done.
    (first, _, _) = pieces(jobs)
    assert first[2:] == [(34, 36, 8), (36, 66, 2), pytest.approx((66, 72.2 + 281.2 / 8, 8))]


def test_a_stall_that_holds_the_larger_number() -> None:
    stall = Stall(fixed=10, holds="larger")
    jobs = [elastic(0, 8, 100, (2, 8), reconfiguration=stall), Job(10, 6, 30)]
    assert pieces(jobs)[0][:2] == [(0, 20, 8), (20, 50, 2)]
    assert pieces(jobs)[1] == [(20, 50, 6)]


def test_nobody_is_shrunk_if_it_is_not_enough() -> None:
    jobs = [elastic(0, 4, 100, (4, 4)), Job(0, 2, 100), Job(1, 6, 30)]
    assert pieces(jobs)[2] == [(100, 130, 6)]
    jobs = [elastic(0, 6, 100, (2, 6)), Job(1, 5, 30)]
    # Two nodes are free and 4 can be had: only together are they enough.
    assert pieces(jobs)[1] == [(100, 130, 5)]


def test_requests() -> None:
    asks = Requests([(0.5, 3), (0.25, -2)])
    jobs = [elastic(0, 4, 100, (2, 8), kind="evolving", evolution=asks)]
    # 200 node-seconds on 4, 100 on 7 and 100 on 5 nodes.
    expected = [(0, 50, 4), (50, 50 + 100 / 7, 7), (50 + 100 / 7, 70 + 100 / 7, 5)]
    assert pieces(jobs)[0] == [pytest.approx(row) for row in expected]
    # It gets what a malleable job must give; with too few to be had it gets nothing, even if some are free.
    assert pieces([*jobs, elastic(0, 4, 1000, (1, 4))])[1][:2] == [(0, 50, 4), (50, 50 + 100 / 7, 1)]
    assert pieces([*jobs, Job(0, 2, 1000)])[0] == [(0, 75, 4), (75, 125, 2)]


def test_evolving_jobs_are_left_alone() -> None:
    asks = Requests([(0.01, 1)])
    jobs = [elastic(0, 4, 100, (2, 8), kind="evolving", evolution=asks), Job(1, 6, 30)]
    assert pieces(jobs)[0][0] == (0, 99, 4)


def test_malleable_jobs_that_wait_need_their_fewest_nodes() -> None:
    jobs = [elastic(0, 8, 100, (4, 8)), elastic(1, 8, 100, (3, 8))]
    assert pieces(jobs)[0][1] == pytest.approx((1, 1 + (800 - 8) / 5, 5))
    assert pieces(jobs)[1][0] == pytest.approx((1, 1 + (800 - 8) / 5, 3))


def test_the_longest_grows_first() -> None:
    jobs = [elastic(0, 2, 100, (1, 5)), elastic(0, 2, 200, (1, 5))]
    assert [rows[0][2] for rows in pieces(jobs)] == [3, 5]


@pytest.mark.parametrize(
    ("candidates", "starts"),
    [
        ("default", (10, 10, 10)),
        ("application", (14, 10, 14)),
        ("system-printed", (14, 10, 10)),
        ("system-text", (14, 50, 10)),
    ],
)
def test_candidates(candidates: str, starts: tuple[float, float, float]) -> None:
    """A job that ends soon on a full machine; one that does not; one that does where nodes are free."""
    for (nodes, runtime), start in zip([(2, 14), (2, 50), (1, 14)], starts, strict=True):
        jobs = [elastic(0, 6, 100, (1, 6)), Job(0, nodes, runtime), Job(10, 4, 30)]
        assert pieces(jobs, candidates=candidates, utilisation=0.9)[2][0][0] == start


def test_jobs_that_are_nearly_done_are_no_victims() -> None:
    jobs = [elastic(0, 8, 100, (1, 8)), Job(60, 4, 30)]
    for done, start in ((0.6, 100), (0.61, 60)):
        assert pieces(jobs, candidates="application", done=done)[1][0][0] == start


@pytest.mark.parametrize(
    ("victims", "first"), [("gain", 1), ("shrinkable", 2), ("expansions", 1), ("remaining", 0), ("cost", 3)]
)
def test_orders_of_victims(victims: str, first: int) -> None:
    rows: Any = ((2, 90, (1, 2), 0.5), (2, 180, (1, 3), 0.5), (4, 120, (1, 4), 0.5), (2, 110, (1, 2), 0.1))
    jobs = [elastic(0, *row, reconfiguration=Stall(fixed=cost)) for *row, cost in rows]
    jobs.append(Job(10, 1, 5))
    shrunk = [len(rows) > 1 and rows[1][0] == 10 for rows in pieces(jobs, 11, victims=victims)[:4]]
    assert shrunk == [idx == first for idx in range(4)]


POLICY = EvolvEasyback()
TREE = Phases([(10, None), (40, 1), (10, None)], release_delay=5)


def history(cooldown: float) -> list[tuple[float, float, int]]:
    """Return the pieces of a tree; a short job keeps it from starting on more than one of three nodes."""
    tree = Job(0, 1, 62, 60, min_nodes=1, max_nodes=3, evolution=TREE, reconfiguration=Join(2, 3, 4))
    problem = WorkloadProblem(3, [Job(0, 2, 1, 60), tree])
    pieces = naive_easyback(problem, replace(POLICY, cooldown=cooldown)).done[1].pieces
    return [(round(start, 9), round(end, 9), size) for start, end, size in pieces]


def test_a_job_grows_and_gives_back_node_by_node() -> None:
    """It asks at 2 s, and again when the node that came is useful; then it counts twice."""
    # 3 node-seconds by 5 s, 9 by 8 s, when the third node is useful: the branch begins.
    branch = 8 + 1 / 3
    freed = [round(branch + 5 + 4, 9), round(branch + 10 + 4, 9)]
    assert history(0)[:5] == [
        *((0, 2, 1), (2, 5, 2), (5, freed[0], 3), (freed[0], freed[1], 2)),
        (freed[1], round(branch + 40, 9), 1),
    ]


def test_a_node_given_back_takes_the_request_along() -> None:
    """The request of 5 s cools down until 22 s; the node of the branch from 8.5 s on goes at 13.5 s."""
    assert history(20)[:3] == [(0, 2, 1), (2, 17.5, 2), (17.5, 48.5, 1)]


def test_a_request_may_be_granted_when_the_node_is_of_no_use() -> None:
    """It cools down until 9 s, in the branch, and is granted when the clock ticks at 10 s."""
    assert history(7)[:3] == [(0, 2, 1), (2, 10, 2), (10, 17.5, 3)]


def test_equal_limits_never_backfill_and_unequal_ones_do() -> None:
    def starts(limit: float) -> list[float]:
        jobs = [Job(0, 3, 50, 60), Job(1, 4, 50, 60), Job(2, 1, 10, limit)]
        cluster = naive_easyback(WorkloadProblem(4, jobs), POLICY)
        return [cluster.done[job].start for job in range(3)]

    assert starts(60) == [0, 50, 100]
    assert starts(58) == [0, 50, 100]  # it would end at the shadow time, not before it
    assert starts(57.5) == [0, 50, 2]
