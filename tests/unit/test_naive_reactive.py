"""The slow twin of reactive evolving jobs: the figures of Posner's batches, and rules in hand-made cases."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from naive_reactive import Cluster, NaiveEvolvEasyback, naive_reactive
from reactive_draws import draw_policy, draw_reactive, schedule_of

from allocsolve.instances import evotree_batch
from allocsolve.judge import workload_violations
from allocsolve.model import Job, Join, Phases, WorkloadProblem

POLICY = NaiveEvolvEasyback()
POLLING = replace(POLICY, wake_up=False)


def figures(policy: NaiveEvolvEasyback = POLICY, **options: object) -> tuple[float, ...]:
    """Return makespan, turnaround, wait, utilisation, nodes granted and given back, means of five batches."""
    rows = []
    for seed in range(42, 47):
        problem = evotree_batch(seed, **options)  # type: ignore[arg-type]  # of one test each
        runs = list(naive_reactive(problem, policy).done.values())
        makespan = max(run.end for run in runs)
        area = sum((end - start) * size for run in runs for start, end, size in run.pieces)
        evolving = max(1, sum(run.evolves for run in runs))
        rows.append(
            (
                makespan,
                sum(run.end - run.row.submit for run in runs) / 20,
                sum(run.start - run.row.submit for run in runs) / 20,
                area / (10 * makespan),
                sum(run.grown for run in runs) / evolving,
                sum(run.given for run in runs) / evolving,
            )
        )
    return tuple(sum(column) / 5 for column in zip(*rows, strict=True))


@pytest.mark.parametrize(
    ("policy", "options", "reference"),
    [
        (POLICY, {"share": 0}, (1484.2, 598.9, 417.9, 0.827)),
        (POLLING, {"share": 0}, (1513.0, 612.1, 431.1, 0.811)),
        *(
            (POLICY, {"share": share / 100, "kind": "moldable"}, reference)
            for share, reference in (
                (20, (1501, 604)),
                (40, (1463, 607)),
                (60, (1507, 617)),
                (80, (1443, 606)),
                (100, (1423, 584, 411, 0.907)),
            )
        ),
    ],
)
def test_what_does_not_evolve_is_met_exactly(
    policy: NaiveEvolvEasyback, options: dict[str, object], reference: tuple[float, ...]
) -> None:
    for value, expected in zip(figures(policy, **options), reference, strict=False):
        assert value == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("policy", "options", "reference"),
    [
        *(
            (POLICY, {"share": share / 100}, reference)
            for share, reference in (
                (20, (1418, 563)),
                (40, (1275, 508)),
                (60, (1263, 487)),
                (80, (1131, 427)),
                (100, (1106, 413, 194, 0.857, 2.2, 2.4)),
            )
        ),
        (POLICY, {"release_delay": 5}, (1046, 376)),
        (POLICY, {"release_delay": 15}, (1158, 440)),
        (POLLING, {}, (1142, 426, 208, 0.828, 2.3, 2.5)),
        (replace(POLICY, cooldown=0), {}, (1154, 459, 272, 0.953, 4.6, 3.7)),
        (replace(POLICY, start_counts=True), {}, (1077, 402, 169, 0.862)),
        (replace(POLICY, requests="last"), {}, (1084, 396, 166, 0.854)),
    ],
)
def test_what_evolves_is_met_nearly(
    policy: NaiveEvolvEasyback, options: dict[str, object], reference: tuple[float, ...]
) -> None:
    """Of an independent second implementation; makespan and turnaround within 2 %, the rest within 4 %."""
    measured = figures(policy, **options)
    assert measured[:2] == pytest.approx(reference[:2], rel=0.02)
    assert measured[2 : len(reference)] == pytest.approx(reference[2:], rel=0.04)


def test_a_short_delay_is_met_within_four_per_cent() -> None:
    """Below `Join.shrink`: here one node leaves at a time."""
    assert figures(release_delay=1)[:2] == pytest.approx((991, 348), rel=0.04)


def tree(submit: float, size: int, low: int, high: int, *, limit: float = 60) -> Job:
    phases = Phases([(10 * size, None), (40, 1), (10 * size, None)], release_delay=5)
    reconfiguration = Join(start=2, grow=3, shrink=4)
    return Job(
        *(submit, size, 62, limit),
        min_nodes=low,
        max_nodes=high,
        evolution=phases,
        reconfiguration=reconfiguration,
    )


def history(cluster: Cluster, job: int) -> list[tuple[float, float, int]]:
    return [(round(start, 9), round(end, 9), size) for start, end, size in cluster.done[job].pieces]


#: It keeps a tree from starting on more than one of three nodes.
SHORT = Job(0, 2, 1, 60)


def test_a_job_grows_and_gives_back_node_by_node() -> None:
    """It asks at 2 s, and again when the node that came is useful; then it counts twice."""
    problem = WorkloadProblem(3, [SHORT, tree(0, 1, 1, 3)])
    cluster = naive_reactive(problem, replace(POLICY, cooldown=0))
    # 3 node-seconds by 5 s, 9 by 8 s, when the third node is useful: the branch begins.
    branch = 8 + 1 / 3
    freed = [round(branch + 5 + 4, 9), round(branch + 10 + 4, 9)]
    assert history(cluster, 1)[:5] == [
        *((0, 2, 1), (2, 5, 2), (5, freed[0], 3), (freed[0], freed[1], 2)),
        (freed[1], round(branch + 40, 9), 1),
    ]


def test_a_node_given_back_takes_the_request_along() -> None:
    """The request of 5 s cools down until 22 s; the node of the branch from 8.5 s on goes at 13.5 s."""
    problem = WorkloadProblem(3, [SHORT, tree(0, 1, 1, 3)])
    cluster = naive_reactive(problem, replace(POLICY, cooldown=20))
    assert history(cluster, 1)[:3] == [(0, 2, 1), (2, 17.5, 2), (17.5, 48.5, 1)]


def test_a_request_may_be_granted_when_the_node_is_of_no_use() -> None:
    """It cools down until 9 s, in the branch, and is granted when the clock ticks at 10 s."""
    problem = WorkloadProblem(3, [SHORT, tree(0, 1, 1, 3)])
    cluster = naive_reactive(problem, replace(POLICY, cooldown=7))
    assert history(cluster, 1)[:3] == [(0, 2, 1), (2, 10, 2), (10, 17.5, 3)]


def test_equal_limits_never_backfill_and_unequal_ones_do() -> None:
    def starts(limit: float) -> list[float]:
        jobs = [Job(0, 3, 50, 60), Job(1, 4, 50, 60), Job(2, 1, 10, limit)]
        cluster = naive_reactive(WorkloadProblem(4, jobs), POLICY)
        return [cluster.done[job].start for job in range(3)]

    assert starts(60) == [0, 50, 100]
    assert starts(58) == [0, 50, 100]  # it would end at the shadow time, not before it
    assert starts(57.5) == [0, 50, 2]


@pytest.mark.parametrize("seed", range(60))
def test_the_judge_finds_nothing_wrong(seed: int) -> None:
    """Each invariant of the twin is checked in every round, besides."""
    rng = random.Random(seed)
    for _ in range(5):
        problem = draw_reactive(rng)
        cluster = naive_reactive(problem, draw_policy(rng))
        assert workload_violations(problem, schedule_of(cluster)) == ()
