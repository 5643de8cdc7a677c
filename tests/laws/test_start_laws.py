"""Who starts now, as functions on arrays: simulators around them give the schedules of our engine."""

from __future__ import annotations

import heapq
import math
import runpy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_workload_engine import draw_problem
from tiers import examples

from allocsolve.adaptors import named_policy, node_chooser
from allocsolve.errors import InvalidOption, InvalidProblem, UnknownName
from allocsolve.heuristics import (
    Easy,
    Fcfs,
    FirstFit,
    SlurmBackfill,
    conservative_starts,
    easy_starts,
    fcfs_starts,
    first_fit_starts,
    queue_order,
    slurm_backfill_starts,
)
from allocsolve.heuristics.workload.policies import QUEUE_ORDERS
from allocsolve.model import WorkloadProblem
from allocsolve.simulation import simulate

if TYPE_CHECKING:
    import random

Rule: TypeAlias = Callable[..., Any]
MINUTE: dict[str, Any] = {"bf_interval": 7, "bf_window": 1, "bf_resolution": 5, "bf_max_job_test": 3}
NARROW: dict[str, Any] = {"extra_nodes": False, "strict": True, "scan_limit": 2}
#: Functions, the policies that they stand for, and at multiples of what number of seconds they are called.
RULES: tuple[tuple[Rule, Any, int], ...] = (
    (fcfs_starts, Fcfs(), 0),
    (first_fit_starts, FirstFit(), 0),
    (easy_starts, Easy(), 0),
    (partial(easy_starts, **NARROW), Easy(**NARROW), 0),
    (partial(easy_starts, reservations=2), Easy(reservations=2), 0),
    (conservative_starts, Easy(reservations="all"), 0),
    (slurm_backfill_starts, SlurmBackfill(), 30),
    (partial(slurm_backfill_starts, **MINUTE), SlurmBackfill(**MINUTE), 7),
)


def looped(problem: WorkloadProblem, rule: Rule, interval: int, order: Any = None) -> list[float]:
    """Return the starts of rigid jobs in a loop of events around a function."""
    packed = problem.jobs.packed
    starts = np.full(len(packed.submit), math.nan)
    events = [(at, 1, job) for job, at in enumerate(packed.submit.tolist())]
    heapq.heapify(events)
    queue: list[int] = []
    running: list[int] = []
    while events:
        now = events[0][0]
        while events and events[0][0] == now:
            _, event, job = heapq.heappop(events)
            if event < 2:
                (queue.append, running.remove)[event == 0](job)
        waiting = np.array(sorted(queue, key=lambda job: (packed.submit[job], job)), dtype=np.int64)
        nodes, limits, submits = packed.nodes[waiting], packed.estimate[waiting], packed.submit[waiting]
        if order is not None:
            waiting = waiting[queue_order(order, now, nodes, limits, submits)]
        free, ends = problem.num_nodes - packed.nodes[running].sum(), (starts + packed.estimate)[running]
        state = packed.nodes[waiting], packed.estimate[waiting], packed.nodes[running], ends
        for job in waiting[rule(now, free, *state)].tolist():
            queue.remove(job)
            running.append(job)
            starts[job] = now
            heapq.heappush(events, (now + packed.runtime[job], 0, job))
        if queue and interval:
            heapq.heappush(events, ((now // interval + 1) * interval, 2, 0))
    return starts.tolist()


@pytest.mark.parametrize(("rule", "policy", "interval"), RULES, ids=[str(policy) for _, policy, _ in RULES])
@settings(max_examples=examples(1000))
@given(rng=st.randoms(use_true_random=False))
def test_a_simulator_around_a_function_is_the_engine(
    rule: Rule, policy: Any, interval: int, rng: random.Random
) -> None:
    problem = draw_problem(rng, moldable=False)
    assert looped(problem, rule, interval) == simulate(problem, policy).first_starts.tolist()


@given(rng=st.randoms(use_true_random=False), order=st.sampled_from(QUEUE_ORDERS))
def test_queues_have_the_orders_of_the_engine(rng: random.Random, order: Any) -> None:
    problem = draw_problem(rng, moldable=False)
    found = looped(problem, easy_starts, 0, order)
    assert found == simulate(problem, Easy(order=order)).first_starts.tolist()


LOOP: dict[str, Any] = runpy.run_path(
    str(Path(__file__).parents[2] / "examples" / "embed_loop.py"), run_name="example"
)


@pytest.mark.parametrize("name", ["easy", "slurm-backfill", "conservative", "malleable-min"])
@settings(max_examples=examples(100))
@given(rng=st.randoms(use_true_random=False))
def test_the_loop_of_the_page_is_the_engine(name: str, rng: random.Random) -> None:
    """The nodes of jobs are compared, too; no node is held twice at one instant."""
    jobs = LOOP["drawn_jobs"](30, rng.randrange(2**32))
    jobs = [job for job in jobs if name == "malleable-min" or job.speedup is None]
    problem = WorkloadProblem(LOOP["NUM_NODES"], jobs)
    schedule = simulate(problem, named_policy(name))
    held = LOOP["run"](dict(enumerate(jobs)), name, node_chooser("sorted-free-list", problem.num_nodes))
    uses: list[list[tuple[float, float]]] = [[] for _ in range(problem.num_nodes)]
    for job, pieces in held.items():
        expected = list(schedule.pieces(job))
        assert [len(nodes) for nodes in pieces.values()] == [nodes for _, _, nodes in expected]
        for (start, nodes), (begin, end, _) in zip(pieces.items(), expected, strict=True):
            assert math.isclose(start, begin, rel_tol=1e-9)
            for node in nodes:
                uses[node].append((begin, end))
    assert all(end <= begin for use in uses for (_, end), (begin, _) in pairwise(sorted(use)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"now": math.nan}, "now nan is no time"),
        ({"free": -1}, "free -1 is negative"),
        ({"free": 1.5}, "free 1.5 is not an integer"),
        ({"queue_limits": [1, 2, 3]}, "queue_nodes has 2 jobs, queue_limits has 3"),
        ({"running_ends": []}, "running_nodes has 1 jobs, running_ends has 0"),
        ({"queue_nodes": [[1], [2]]}, "queue_nodes [[1], [2]] is no column of whole numbers"),
        ({"queue_nodes": [1, [2]]}, "queue_nodes [1, [2]] is no column"),
        ({"queue_nodes": [1.5, 1]}, "queue_nodes [1.5, 1] is no column of whole numbers"),
        ({"queue_limits": [1, "x"]}, "queue_limits [1, 'x'] is no column of numbers"),
        ({"queue_nodes": [1, 0]}, "queue_nodes[1] 0 is not at least 1"),
        ({"queue_limits": [math.nan, 1]}, "queue_limits[0] nan is not above 0"),
        ({"running_nodes": [-2]}, "running_nodes[0] -2 is negative"),
        ({"running_ends": [math.nan]}, "running_ends[0] nan is no time"),
        ({"queue_nodes": [4, 5]}, "queue_nodes[1] 5 can never start: 4 are free or held"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(change: dict[str, Any], message: str) -> None:
    state: dict[str, Any] = {"now": 5, "free": 1, "queue_nodes": [4, 1], "queue_limits": [10, 50]}
    state |= {"running_nodes": [3], "running_ends": [100]}
    with pytest.raises(InvalidProblem) as caught:
        easy_starts(**state | change)
    assert str(caught.value) == message
    assert easy_starts(**state).tolist() == [1]


@pytest.mark.parametrize("rule", [rule for rule, _, _ in RULES], ids=[str(policy) for _, policy, _ in RULES])
@settings(max_examples=examples(100))
@given(rng=st.randoms(use_true_random=False))
def test_columns_are_read_only_whether_or_not_they_can_be_written(rule: Rule, rng: random.Random) -> None:
    columns = [
        np.array([rng.randint(1, 4) for _ in range(5)]),
        np.array([rng.choice([1.0, 60.0, math.inf]) for _ in range(5)]),
        np.array([1, 3]),
        np.array([rng.uniform(0, 99), math.inf]),
    ]
    given_columns = [column.copy() for column in columns]
    starts = rule(30, 2, *columns).tolist()
    for column, given_one in zip(columns, given_columns, strict=True):
        np.testing.assert_array_equal(column, given_one)
        column.flags.writeable = False
    assert rule(30, 2, *columns).tolist() == starts
    assert rule(30, 2, *(np.repeat(column, 2)[::2] for column in columns)).tolist() == starts


def test_options_and_orders_are_checked() -> None:
    with pytest.raises(InvalidOption, match="reservations"):
        easy_starts(0, 1, [], [], [], [], reservations=0)
    with pytest.raises(UnknownName, match="order"):
        queue_order("sjf", 0, [], [], [])  # type: ignore[arg-type]  # no order
    with pytest.raises(InvalidProblem, match=r"limits\[0\] 0.0 is not above 0"):
        queue_order("f1", 0, [1], [0], [0])


def test_threads_do_not_share_what_calls_work_in() -> None:
    """Also with more jobs than there was room for."""
    rng = np.random.default_rng(1)
    states = [
        (0, 4, rng.integers(1, 9, count), rng.uniform(1, 99, count), [4] * count, rng.uniform(0, 99, count))
        for count in rng.integers(1, 900, 40).tolist()
    ]
    expected = [conservative_starts(*state).tolist() for state in states]
    with ThreadPoolExecutor(4) as pool:
        assert [
            starts.tolist() for starts in pool.map(lambda state: conservative_starts(*state), states)
        ] == expected
