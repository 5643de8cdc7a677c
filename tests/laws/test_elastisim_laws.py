"""Our policies inside a small ElastiSim: jobs start, and change their sizes, as in our engine."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from elastisim_fake import FakeElastiSim, InvocationType, JobState, Spec, specs_of

from allocsolve.adaptors import ElastisimScheduler, node_chooser
from allocsolve.heuristics.workload import (
    Easy,
    Fcfs,
    FirstFit,
    MalleableAverage,
    MalleableMin,
    MalleablePref,
    MalleablePrefkeeper,
)
from allocsolve.model import Amdahl, Job, PowerLaw, Requests, WorkloadProblem
from allocsolve.simulation import Answer, EngineRules, Start, run_policy

if TYPE_CHECKING:
    from allocsolve.model import JobKind, WorkloadSchedule
    from allocsolve.simulation import Decision, QueueView

NODES = 16
ONE_BY_ONE = EngineRules(coalesce=False)


def rigid(rng: random.Random, count: int = 40) -> WorkloadProblem:
    """Return jobs with whole times, so that events meet, and limits that are not always exceeded."""
    jobs = []
    for submit in sorted(rng.randint(0, 8 * count) for _ in range(count)):
        runtime = rng.randint(1, 60)
        jobs.append(Job(submit, rng.randint(1, NODES), runtime, runtime * rng.randint(1, 4)))
    return WorkloadProblem(NODES, jobs)


def elastic(rng: random.Random, kinds: tuple[JobKind, ...], count: int = 30) -> WorkloadProblem:
    """Return jobs of some kinds whose events never meet by chance."""
    jobs = []
    for submit in sorted(rng.uniform(0, 12 * count) for _ in range(count)):
        low, pref, high = sorted(rng.choices(range(1, NODES // 2 + 1), k=3))
        runtime, kind = rng.uniform(10, 90), rng.choice(kinds)
        shape: dict[str, Any] = {"min_nodes": low, "max_nodes": high}
        shape["speedup"] = rng.choice([Amdahl(rng.random()), PowerLaw(rng.random())])
        if kind == "malleable":
            shape |= {"kind": kind, "points": rng.randint(1, 12)}
        elif kind == "evolving":
            moments = sorted(rng.sample(range(1, 16), k=rng.randint(1, 3)))
            shape["evolution"] = Requests([(1 - at / 16, rng.choice([-3, -1, 1, 2, 4])) for at in moments])
        jobs.append(Job(submit, pref, runtime, **(shape if kind != "rigid" else {})))
    return WorkloadProblem(NODES, jobs)


def with_limits(problem: WorkloadProblem) -> list[Spec]:
    """Return the jobs with what their users said as walltimes."""
    limits = problem.packed.estimate.tolist()
    return [replace(spec, walltime=int(limit)) for spec, limit in zip(specs_of(problem), limits, strict=True)]


def pieces_of(schedule: WorkloadSchedule) -> list[list[tuple[float, int]]]:
    jobs = range(len(schedule.offsets) - 1)
    return [[(start, nodes) for start, _, nodes in schedule.pieces(job)] for job in jobs]


def assert_same(seen: list[list[tuple[float, int]]], expected: list[list[tuple[float, int]]]) -> None:
    """Compare pieces: times are sums of other parts of the work, rounded otherwise."""
    assert [[nodes for _, nodes in job] for job in seen] == [[nodes for _, nodes in job] for job in expected]
    for mine, other in zip(seen, expected, strict=True):
        assert [at for at, _ in mine] == pytest.approx([at for at, _ in other], rel=1e-9)


@pytest.mark.parametrize("policy", [Fcfs(), FirstFit(), Easy(), Easy(extra_nodes=False, strict=True)])
def test_rigid_jobs_start_exactly_as_in_our_engine(policy: Any) -> None:
    for seed in range(12):
        problem = rigid(random.Random(seed))
        runs = FakeElastiSim(NODES, with_limits(problem)).run(ElastisimScheduler(policy))
        expected = policy.simulated(problem, ONE_BY_ONE).schedule.first_starts.tolist()
        assert [run.start for run in runs] == expected, seed


@pytest.mark.parametrize(
    "policy", [MalleableMin(), MalleableAverage(), MalleablePref(), MalleablePrefkeeper()]
)
def test_malleable_jobs_change_their_sizes_as_in_our_engine(policy: Any) -> None:
    for seed in range(10):
        problem = elastic(random.Random(seed), ("rigid", "moldable", "malleable", "malleable"))
        runs = FakeElastiSim(NODES, specs_of(problem)).run(ElastisimScheduler(policy))
        assert_same([run.pieces for run in runs], pieces_of(policy.simulated(problem, ONE_BY_ONE).schedule))


def obliging(view: QueueView) -> list[Decision]:
    """Grant what can be granted, then start what fits; refuse the rest."""
    free = view.free
    decisions: list[Decision] = []
    held = dict(zip(view.running.tolist(), view.held.tolist(), strict=True))
    for job, nodes in zip(view.requests.tolist(), view.requested_nodes.tolist(), strict=True):
        granted = nodes - held[job] <= free
        free -= (nodes - held[job]) * granted
        decisions.append(Answer(job, granted))
    for job in view.queue.tolist():
        nodes = int(view.jobs.nodes[job])
        if nodes <= free:
            free -= nodes
            decisions.append(Start(job, nodes))
    return decisions


def test_requests_are_answered_as_in_our_engine() -> None:
    grown = 0
    for seed in range(15):
        problem = elastic(random.Random(seed), ("rigid", "moldable", "evolving", "evolving"))
        runs = FakeElastiSim(NODES, specs_of(problem)).run(ElastisimScheduler(obliging))
        expected = pieces_of(run_policy(problem, obliging, ONE_BY_ONE).schedule)
        assert_same([run.pieces for run in runs], expected)
        grown += sum(after > before for job in expected for (_, before), (_, after) in pairwise(job))
    assert grown > 25  # the law says something


def mean_turnaround(runs: list[Any]) -> float:
    return float(np.mean([run.end - run.spec.submit for run in runs]))


@pytest.mark.parametrize("policy", [MalleableMin(), MalleablePref(), MalleableAverage()])
def test_with_calls_at_reconfigurations_every_job_ends(policy: Any) -> None:
    kinds: tuple[JobKind, ...] = ("rigid", "moldable", "malleable", "malleable", "evolving")
    means = []
    for seed in range(8):
        problem = elastic(random.Random(seed), kinds)
        both = [
            FakeElastiSim(NODES, specs_of(problem), on_point=on_point, on_reconfiguration=not on_point)
            for on_point in (True, False)
        ]
        runs = [one.run(ElastisimScheduler(policy)) for one in both]
        assert all(run.state is JobState.COMPLETED for jobs in runs for run in jobs)
        assert len(both[1].calls) < len(both[0].calls)
        means.append([mean_turnaround(jobs) for jobs in runs])
    first, second = np.mean(means, axis=0)
    assert second == pytest.approx(first, rel=0.05)


def test_who_coalesces_is_called_by_the_timer_and_starts_nobody_otherwise() -> None:
    for seed in range(5):
        problem = rigid(random.Random(seed))
        called: list[float] = []

        def counted(view: QueueView, called: list[float] = called) -> Any:
            called.append(view.now)
            return Easy().decide(view)

        fake = FakeElastiSim(NODES, with_limits(problem), interval=7)
        runs = fake.run(ElastisimScheduler(counted, coalesce=True))
        assert all(run.state is JobState.COMPLETED and run.start % 7 == 0 for run in runs)
        assert called == [at for at, kind in fake.calls if kind is InvocationType.INVOKE_PERIODIC]


@pytest.mark.parametrize("allocator", ["curve-fit(method=best-fit, order=row-major)", "growth"])
def test_nodes_are_those_of_the_allocator_and_starts_stay_as_they_are(allocator: str) -> None:
    choose = node_chooser(allocator, NODES)
    for seed in range(3):
        problem = elastic(random.Random(seed), ("rigid", "malleable"), count=15)
        taken: list[Any] = []

        def noted(free: Any, count: int, taken: list[Any] = taken) -> list[int] | None:
            taken.append((free.copy(), count, choose(free, count)))
            return taken[-1][2]  # type: ignore[no-any-return]  # of three kinds in one list

        runs = FakeElastiSim(NODES, specs_of(problem)).run(ElastisimScheduler("malleable-min", choose=noted))
        plain = FakeElastiSim(NODES, specs_of(problem)).run(ElastisimScheduler("malleable-min"))
        assert [run.pieces for run in runs] == [run.pieces for run in plain]
        found = [(free, count, nodes) for free, count, nodes in taken if nodes is not None]
        assert found
        for free, count, nodes in found:
            assert len(nodes) == count
            assert free[nodes].all()


@pytest.mark.parametrize("kinds", [("rigid",), ("malleable", "evolving")])
def test_jobs_that_are_killed_leave_their_nodes(kinds: tuple[JobKind, ...]) -> None:
    for seed in range(5):
        problem = elastic(random.Random(seed), kinds)
        specs = [replace(spec, walltime=20) for spec in specs_of(problem)]
        runs = FakeElastiSim(NODES, specs).run(ElastisimScheduler(MalleableMin()))
        assert {run.state for run in runs} == {JobState.COMPLETED, JobState.KILLED}
        assert all(run.end - run.start <= 20 + 1e-9 for run in runs)
