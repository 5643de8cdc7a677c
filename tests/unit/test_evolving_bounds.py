"""Bounds of evolving jobs: examples by hand, refused certificates, EvoTree's batches."""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from allocsolve.bounds.workload import (
    least_areas,
    makespan_bound,
    shortest_run_times,
    time_prices,
    work_prices,
    workload_bound,
)
from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.judge import certified_bound
from allocsolve.model import Job, Join, Overhead, Phases, Profile, Requests, WorkloadProblem

if TYPE_CHECKING:
    from pathlib import Path

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
