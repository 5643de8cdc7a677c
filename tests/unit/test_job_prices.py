"""Prices per job by example: what is refused, what ends the search, and who gets the given bound back."""

from __future__ import annotations

import itertools
import json
import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from naive_workload_optimum import workload_optimum

from allocsolve.bounds.workload import job_prices, time_prices
from allocsolve.bounds.workload.job_prices import ascended as ascent
from allocsolve.errors import InvalidAnswer
from allocsolve.judge import certified_bound
from allocsolve.judge.workload.job_prices import job_price_bound
from allocsolve.model import Amdahl, Clock, Job, WorkloadProblem

ENDLESS = math.inf
#: Not the function of the same name.
module = import_module("allocsolve.bounds.workload.job_prices")

#: Three jobs of which no two fit: one after the other, the mean turnaround is 2.
THREE_WIDE = WorkloadProblem(4, [Job(0, 3, 1), Job(0, 3, 1), Job(0, 3, 1)])


def log(jobs: int, seed: int = 1, num_nodes: int = 16) -> WorkloadProblem:
    """Jobs of minutes to hours on a busy cluster."""
    random = np.random.default_rng(seed)
    submits = np.cumsum(random.integers(0, 1500, jobs)).tolist()
    sizes = (2 ** random.integers(0, 5, jobs)).tolist()
    runs = random.integers(60, 7200, jobs).tolist()
    return WorkloadProblem(num_nodes, [Job(*row) for row in zip(submits, sizes, runs, strict=True)])


def certificate(**changed: Any) -> dict[str, Any]:
    """Prices of `THREE_WIDE` that prove the optimum, but for what is changed."""
    return {
        "kind": "job-prices",
        "term": "turnaround",
        "edges": [0, 1, 2],
        "nodes": 1,
        "unit": 1,
        "first_slots": [0, 0, 0],
        "offsets": [0, 2, 4, 6],
        "prices": [2, 1, 2, 1, 2, 1],
        **changed,
    }


def test_jobs_that_exclude_each_other() -> None:
    """Prices per node-second pay for a node that nobody can use."""
    assert job_price_bound(THREE_WIDE, certificate(), "turnaround") == 2
    start = time_prices(THREE_WIDE, "turnaround", clock=Clock(ENDLESS))
    bound = job_prices(THREE_WIDE, "turnaround", start, clock=Clock(ENDLESS))
    assert start.value < 1.8
    assert bound.value == pytest.approx(2, abs=1e-3)
    assert bound.value <= 2


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"kind": "time-price"}, "kind 'time-price'"),
        ({"term": "wait"}, "bounds 'wait'"),
        ({"unit": 0}, "unit 0"),
        ({"unit": 2**54}, "unit"),
        ({"nodes": True}, "nodes True"),
        ({"edges": [0, 2, 2]}, "edges"),
        ({"edges": [0, 1, 2**54]}, "edges[2]"),
        ({"edges": [0, 1]}, "prices of job 0"),
        ({"edges": None}, "edges of the certificate are NoneType"),
        ({"first_slots": [0, 0]}, "2 first slots"),
        ({"first_slots": [0, 1, 0]}, "prices of job 1"),
        ({"offsets": [0, 2, 4, 5]}, "offsets"),
        ({"offsets": [0, 4, 2, 6]}, "offsets"),
        ({"prices": [2, 1, 2, -1, 2, 1]}, "prices[3] -1"),
        ({"prices": [2, 1, 2, 1.0, 2, 1]}, "prices[3] 1.0"),
        ({"units": 7}, "units 7"),
        ({"units": {"tapes": 1}}, "the machine has no 'tapes' beside its nodes"),
        ({"units": {"nodes": 1}}, "the machine has no 'nodes' beside its nodes"),
        ({"prices": [2**53] * 6, "edges": [0, 10**6, 10**7]}, "costs of job 0"),
    ],
)
def test_judge_refuses(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidAnswer, match="certificate") as refused:
        certified_bound(THREE_WIDE, certificate(**changed), ("turnaround",))
    assert words in str(refused.value)


def test_judge_refuses_what_is_not_for_prices_per_job() -> None:
    moldable = WorkloadProblem(4, [Job(0, 2, 10, min_nodes=1, max_nodes=4, speedup=Amdahl(0.5))])
    with pytest.raises(InvalidAnswer, match="rigid"):
        certified_bound(moldable, certificate(), ("turnaround",))
    with pytest.raises(InvalidAnswer, match="makespan"):
        certified_bound(THREE_WIDE, certificate(), ("makespan",))
    wide = WorkloadProblem(10**9, [Job(0, 3, 1)])
    with pytest.raises(InvalidAnswer, match="too many"):
        certified_bound(wide, certificate(first_slots=[0], offsets=[0, 2], prices=[1, 1]), ("turnaround",))
    late = WorkloadProblem(1, [Job(2**53 - 10, 1, 0.3)])
    with pytest.raises(InvalidAnswer, match="2\\^53 ticks"):
        certified_bound(late, certificate(first_slots=[0], offsets=[0, 0], prices=[]), ("turnaround",))
    heavy = WorkloadProblem(1, [Job(0, 1, 1, weight=2**50)])
    with pytest.raises(InvalidAnswer, match="weight"):
        certified_bound(
            heavy, certificate(unit=2**20, first_slots=[0], offsets=[0, 0], prices=[]), ("turnaround",)
        )


def test_who_keeps_the_given_bound() -> None:
    """Moldable jobs, the makespan, jobs without weight, and who has no time."""
    moldable = WorkloadProblem(4, [Job(0, 2, 10, min_nodes=1, max_nodes=4, speedup=Amdahl(0.5))])
    nobody = WorkloadProblem(4, [Job(0, 2, 10, weight=0)])
    cases: Any = ((moldable, "turnaround"), (THREE_WIDE, "makespan"), (nobody, "turnaround"))
    for problem, term in cases:
        start = time_prices(problem, "turnaround", clock=Clock(ENDLESS))
        assert job_prices(problem, term, start, clock=Clock(ENDLESS)) is start
    start = time_prices(log(30), "turnaround", clock=Clock(0.1))
    bound = job_prices(log(30), "turnaround", start, clock=Clock(0))
    assert (bound.value, bound.certificate) == (start.value, start.certificate)


@pytest.mark.parametrize("workers", [1, 2])
def test_pieces_of_a_log(monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    """As a log of thousands of jobs is done: pieces, then all together."""
    monkeypatch.setattr(module, "PIECE", 60)
    monkeypatch.setattr(module, "_STEPS", 15)
    problem = log(130)
    start = time_prices(problem, "turnaround", clock=Clock(0.1))
    bound = job_prices(problem, "turnaround", start, clock=Clock(ENDLESS), workers=workers)
    assert bound.value > 1.01 * start.value
    assert job_price_bound(problem, json.loads(json.dumps(bound.certificate)), "turnaround") == bound.value
    assert bound.starts.shape == (130,)


def test_ctrl_c_leaves_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = log(30)
    start = time_prices(problem, "turnaround", clock=Clock(0.1))
    calls = itertools.count()

    def ascended(*arguments: Any, **named: Any) -> Any:
        if next(calls):
            raise KeyboardInterrupt
        return original(*arguments, **named)

    original = ascent
    monkeypatch.setattr(module, "ascended", ascended)
    bound = job_prices(problem, "turnaround", start, clock=Clock(ENDLESS))
    assert bound.interrupted
    assert bound.value > start.value
    bound = job_prices(problem, "turnaround", start, clock=Clock(ENDLESS))  # in the first call
    assert bound.interrupted
    assert bound.value == start.value


def test_large_clusters_are_coarsened() -> None:
    """Sizes that share a divisor lose nothing by it; others are still bounded."""
    small = THREE_WIDE
    for factor in (1000, 1000.5):
        large = WorkloadProblem(
            int(4 * factor), [Job(0, int(3 * factor), 1), Job(0, int(3 * factor), 1), Job(0, 3000, 1)]
        )
        start = time_prices(large, "turnaround", clock=Clock(ENDLESS))
        bound = job_prices(large, "turnaround", start, clock=Clock(ENDLESS))
        assert bound.certificate["nodes"] != 1
        assert bound.value == pytest.approx(float(workload_optimum(small, "turnaround")), abs=1e-3)
        assert bound.value <= workload_optimum(large, "turnaround")
