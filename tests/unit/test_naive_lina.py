"""The twin of Lina's policies by hand; that it is the policy, which the judge accepts, is a law."""

from __future__ import annotations

from typing import Any

import pytest
from lina_draws import simulated
from naive_malleable import pieces_of

from allocsolve.model import Job, Overhead, Requests, Stall, WorkloadProblem

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
