"""Prices per job and bounds of evolving jobs by example: what is refused, what ends the search."""

from __future__ import annotations

import itertools
import json
import math
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from naive_workload_optimum import workload_optimum

from allocsolve.bounds.workload import (
    job_prices,
    least_areas,
    makespan_bound,
    shortest_run_times,
    time_prices,
    work_prices,
    workload_bound,
)
from allocsolve.bounds.workload.job_prices import ascended as ascent
from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.judge import certified_bound
from allocsolve.judge.workload.job_prices import job_price_bound
from allocsolve.model import Amdahl, Clock, Job, Join, Overhead, Phases, Profile, Requests, WorkloadProblem

if TYPE_CHECKING:
    from pathlib import Path


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
        ({"kind": "time-prices"}, "kind 'time-prices'"),
        ({"term": "wait"}, "term 'wait'"),
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
        ({"prices": [2**53] * 6, "edges": [0, 10**6, 10**7]}, "costs of job 0"),
    ],
)
def test_judge_refuses(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidAnswer, match="certificate") as refused:
        job_price_bound(THREE_WIDE, certificate(**changed), "turnaround")
    assert words in str(refused.value)


def test_judge_refuses_what_is_not_for_prices_per_job() -> None:
    moldable = WorkloadProblem(4, [Job(0, 2, 10, min_nodes=1, max_nodes=4, speedup=Amdahl(0.5))])
    with pytest.raises(InvalidAnswer, match="rigid"):
        job_price_bound(moldable, certificate(), "turnaround")
    with pytest.raises(InvalidAnswer, match="makespan"):
        job_price_bound(THREE_WIDE, certificate(), "makespan")
    wide = WorkloadProblem(10**9, [Job(0, 3, 1)])
    with pytest.raises(InvalidAnswer, match="too many"):
        job_price_bound(wide, certificate(first_slots=[0], offsets=[0, 2], prices=[1, 1]), "turnaround")
    late = WorkloadProblem(1, [Job(2**53 - 10, 1, 0.3)])
    with pytest.raises(InvalidAnswer, match="2\\^53 ticks"):
        job_price_bound(late, certificate(first_slots=[0], offsets=[0, 0], prices=[]), "turnaround")
    heavy = WorkloadProblem(1, [Job(0, 1, 1, weight=2**50)])
    with pytest.raises(InvalidAnswer, match="weight"):
        job_price_bound(
            heavy, certificate(unit=2**20, first_slots=[0], offsets=[0, 0], prices=[]), "turnaround"
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


# --- Evolving jobs ------------------------------------------------------------------------------------


#: 2 s of start, 4 s on 4 nodes, 3 s on one, 1 s on 4.
PHASED = Job(
    0,
    2,
    2 + 8 + 3 + 2,
    min_nodes=2,
    max_nodes=4,
    evolution=Phases([(16, None), (3, 1), (4, 8)], release_delay=5),
    reconfiguration=Join(2, 3, 4),
)
STEPS = Job(1, 2, 12, min_nodes=1, max_nodes=3, evolution=Profile([(5, 2), (3, 1), (4, 3)]))
REQUESTED = Job(2, 2, 6, min_nodes=1, max_nodes=4, speedup=Overhead(0.2), evolution=Requests([(0.5, 2)]))
EVOLVING = WorkloadProblem(4, [PHASED, STEPS, REQUESTED])


def certified(problem: WorkloadProblem, certificate: Any) -> float:
    return certified_bound(problem, json.loads(json.dumps(certificate)), ("turnaround",))


def test_least_times_and_areas() -> None:
    """Lina's job is fastest on 2 sqrt(.8 / .2) = 4 nodes: 6 (.8 * 2 / 4 + .2 * 4 / 2) s."""
    assert shortest_run_times(EVOLVING).tolist() == pytest.approx([10, 12, 4.8])
    assert least_areas(EVOLVING).tolist() == pytest.approx([2 * 2 + 23, 10 + 3 + 12, 6 * (0.8 * 2 + 0.2 / 2)])
    assert workload_bound(EVOLVING, "turnaround") == pytest.approx((10 + 12 + 4.8) / 3, abs=1e-4)
    bound = makespan_bound(EVOLVING)
    assert bound.value == pytest.approx((27 + 25 + 10.2) / 4, abs=1e-4)
    assert bound.value <= certified_bound(EVOLVING, bound.certificate, ("makespan",)) <= 62.2 / 4


def test_jobs_with_phases_are_never_wide() -> None:
    jobs = [Job(0, 3, 10, evolution=Phases([(30, None)])) for _ in range(2)]
    wide = WorkloadProblem(4, [*jobs, Job(0, 3, 20)])
    certificate = {"kind": "makespan", "rule": "wide", "after": 0}
    assert certified_bound(wide, certificate, ("makespan",)) == pytest.approx(20)
    assert makespan_bound(wide).certificate["rule"] == "area"


@pytest.mark.parametrize("job", [PHASED, STEPS, REQUESTED])
def test_a_job_alone(job: Job) -> None:
    problem = WorkloadProblem(4, [job])
    bound = time_prices(problem)
    assert bound.value == pytest.approx(shortest_run_times(problem)[0], abs=1e-4)
    assert bound.value == certified(problem, bound.certificate)


def test_a_queue_of_phases() -> None:
    """One node, 10 s each: the optimum is 15, and the bound near it although slots are shared."""
    job = Job(0, 1, 10, evolution=Phases([(4, None), (6, 1)]))
    bound = time_prices(WorkloadProblem(1, [job, job]))
    assert 12 < bound.value <= 15


def test_work_prices_are_those_of_laws() -> None:
    prices = work_prices(EVOLVING, time_prices(EVOLVING))
    assert prices[2] > 0
    assert prices[:2].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"prices": [-1, 1]}, "is not an integer in"),
        ({"prices": [1]}, "1 prices between 3 edges"),
        ({"edges": [0, 9, 9]}, "9 after 9"),
        ({"unit": 0}, "unit 0"),
        ({"term": "slowdown"}, "bounds 'slowdown', not turnaround"),
        ({"kind": "prices"}, "is none of"),
        ({"kind": "job-prices"}, "rigid"),
    ],
)
def test_refused_certificates(change: dict[str, Any], reason: str) -> None:
    good = {"kind": "time-prices", "term": "turnaround", "edges": [0, 4, 9], "prices": [2, 1], "unit": 4}
    assert 0 <= certified(EVOLVING, good) <= 20
    with pytest.raises(InvalidAnswer, match=reason):
        certified(EVOLVING, {**good, **change})


def test_wait_has_no_bound() -> None:
    with pytest.raises(InvalidOption, match="jobs that are not rigid"):
        time_prices(EVOLVING, "wait")
    certificate = {"kind": "time-prices", "term": "wait", "edges": [0], "prices": [], "unit": 1}
    with pytest.raises(InvalidAnswer, match="jobs that are not rigid"):
        certified_bound(EVOLVING, certificate, ("wait",))


def evotree(traces: Path, *, evolving: bool) -> list[WorkloadProblem]:
    """Return the five batches of Posner et al. (2024); a nominal job of k nodes takes the measured 181 s."""
    data = json.loads((traces / "evotree_batches.json").read_text())
    seconds, start = data["measured_rigid_runtime_s"], data["start_cost_s"]
    unit = (seconds - start) / 200
    problems = []
    for batch in data["batches"]:
        jobs = []
        for submit, nodes in zip(batch["effective_submit"], batch["nodes"], strict=True):
            low, high = data["ranges"][str(nodes)]
            tree = (50 * nodes * unit, None)
            phases = Phases([tree, (100 * unit, 1), tree], 10)
            shape: dict[str, Any] = {}
            if evolving:
                join = Join(start, data["grow_cost_s"], data["shrink_cost_s"])
                shape = {"evolution": phases, "reconfiguration": join, "min_nodes": low, "max_nodes": high}
            runtime = start + phases.run_time(nodes) if evolving else seconds
            jobs.append(Job(submit, nodes, runtime, **shape))
        problems.append(WorkloadProblem(data["nodes"], jobs))
    return problems


def test_evotree_rigid(traces: Path) -> None:
    bounds = [time_prices(problem).value for problem in evotree(traces, evolving=False)]
    assert np.mean(bounds) >= 350


def test_evotree_evolving(traces: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On some 70 slots of 10 s and more, which is fixed work; all work in any order alone is worth 200.5."""
    # The function has the name of its module.
    monkeypatch.setattr(import_module("allocsolve.bounds.workload.time_prices"), "_MOST_WIDTHS", 2)
    values = []
    for problem in evotree(traces, evolving=True):
        bound = time_prices(problem)
        assert bound.value == certified(problem, bound.certificate)
        values.append(bound.value)
    assert np.mean(values) >= 205
