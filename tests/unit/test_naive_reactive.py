"""The slow twin of reactive evolving jobs: rules in hand-made cases."""

from __future__ import annotations

from dataclasses import replace

from naive_easyback import naive_easyback

from allocsolve.heuristics import EvolvEasyback
from allocsolve.model import Job, Join, Phases, WorkloadProblem

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
