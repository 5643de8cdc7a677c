"""Evolving jobs: two families that say the same, files that keep everything."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from draw_evolving import draw_decisions, draw_evolving
from hypothesis import given, strategies as st
from strategies import evolution_problems, evolution_schedules
from tiers import draws

from allocsolve.errors import FormatError, InvalidAnswer, InvalidProblem
from allocsolve.heuristics import ListScheduling
from allocsolve.instances import (
    evolution_of_workload,
    evolution_schedule_of_workload,
    parse_problem,
    problem_document,
    workload_of_evolution,
    workload_schedule_of_evolution,
)
from allocsolve.judge import evolution_metrics, evolution_violations
from allocsolve.judge.workload.rules import workload_metrics, workload_violations
from allocsolve.model import (
    Budget,
    EvolutionProblem,
    EvolutionSchedule,
    Job,
    Profile,
    WorkloadProblem,
    WorkloadSchedule,
)
from allocsolve.simulation import Answer, Engine, EngineRules, Resize, Start


@given(evolution_problems(releases=True, max_apps=4))
def test_evolution_problems_are_workloads_and_come_back(problem: EvolutionProblem) -> None:
    workload = workload_of_evolution(problem)
    assert evolution_of_workload(workload) == problem
    read = parse_problem(problem_document(workload), "p.json")
    assert isinstance(read, WorkloadProblem)
    assert evolution_of_workload(read) == problem


@st.composite
def problems_with_schedules(draw: st.DrawFn) -> tuple[EvolutionProblem, EvolutionSchedule]:
    """Half of them list schedules, of which one number may be wrong, half of them any numbers."""
    problem = draw(evolution_problems(max_apps=3, releases=True))
    if draw(st.booleans()):
        answer = ListScheduling()(problem, Budget()).answer
        assert answer is not None
        columns = {name: getattr(answer, name).copy() for name in ("starts", "durations", "nodes")}
        changed = draw(st.sampled_from(["nothing", *columns]))
        if changed != "nothing":
            at = draw(st.integers(0, len(columns[changed]) - 1))
            columns[changed][at] = max(1, columns[changed][at] + draw(st.sampled_from([-1, 1])))
        return problem, EvolutionSchedule(offsets=answer.offsets, **columns)
    return problem, draw(evolution_schedules(problem))


@given(problems_with_schedules())
def test_the_judges_of_both_families_agree(case: tuple[EvolutionProblem, EvolutionSchedule]) -> None:
    problem, schedule = case
    workload, pieces = workload_of_evolution(problem), workload_schedule_of_evolution(schedule)
    assert evolution_schedule_of_workload(pieces) == schedule
    assert bool(evolution_violations(problem, schedule)) == bool(workload_violations(workload, pieces))
    if not evolution_violations(problem, schedule):
        ours, theirs = workload_metrics(workload, pieces), evolution_metrics(problem, schedule)
        assert ours.makespan == theirs.makespan
        releases = sum(problem.releases) / len(problem.releases)
        assert ours.turnaround + releases == pytest.approx(theirs.mean_completion)


STEPS: dict[str, Any] = {"nodes": 2, "runtime": 9, "evolution": Profile([(9, 2)])}
UNFIT: dict[str, tuple[list[Job], str]] = {
    "rigid": ([Job(0, 1, 1)], "job 'j0' is rigid without a profile"),
    "fraction": ([Job(0.5, **STEPS)], "job 'j0': submit 0.5 is no whole second"),
    "limits": (
        [Job(0, **STEPS), Job(0, 2, 9, evolution=Profile([(9, 2)], 2))],
        "job 'j1': expand_limit 2.0, after inf",
    ),
}


@pytest.mark.parametrize(("jobs", "fault"), UNFIT.values(), ids=UNFIT)
def test_other_workloads_are_no_evolution_problems(jobs: list[Job], fault: str) -> None:
    with pytest.raises(InvalidProblem) as caught:
        evolution_of_workload(WorkloadProblem(4, jobs))
    assert str(caught.value) == fault


def test_broken_seconds_are_no_evolution_schedule() -> None:
    problem = WorkloadProblem(4, [Job(0, **STEPS)])
    schedule = WorkloadSchedule.of(problem, [0.5])
    with pytest.raises(InvalidAnswer, match=r"job 0: 0\.5 s is no whole second"):
        evolution_schedule_of_workload(schedule)


JOB: dict[str, Any] = {"submit": 0, "nodes": 2, "runtime": 90, "max_nodes": 8}
FAULTY: dict[str, tuple[dict[str, Any], str]] = {
    "two ways": (
        {"requests": [], "profile": []},
        "jobs[0]: has requests and profile: a job evolves in one way",
    ),
    "no pair": ({"profile": [7]}, "jobs[0].profile[0]: must be a list, not 7"),
    "no steps": ({"profile": []}, "jobs[0].profile: a profile without steps has no work"),
    "runtime": ({"profile": [[60, 2], [31, 8]]}, "job 'j0': runtime 90, but on its nodes it takes 91 s"),
    "nodes": ({"profile": [[60, 3], [30, 8]]}, "job 'j0' has other nodes than the first step of its profile"),
    "limit": ({"phases": [[9, 1]], "expand_limit": 2}, "jobs[0].expand_limit: belongs to profile"),
    "rising": (
        {"requests": [[0.2, 1], [0.5, 1]], "speedup": {"power": 1}},
        "jobs[0].requests: request 1: remaining 0.5 does not fall, after 0.2",
    ),
    "no change": ({"requests": [[0.2, 0]], "speedup": {"power": 1}}, "a change of 0 nodes is none of"),
    "no law": ({"requests": [[0.2, 1]]}, "job 'j0' has requests, but no speedup"),
    "no work": ({"phases": [[0, None]]}, "jobs[0].phases[0][0]: work 0 is not above 0"),
    "useful": ({"phases": [[5, 0]]}, "jobs[0].phases[0][1]: 0 is below 1"),
    "holds": (
        {"speedup": {"power": 1}, "kind": "malleable", "stall": {"holds": "some"}},
        "jobs[0].stall.holds: 'some' is none of new, larger",
    ),
    "cost": ({"join": {"fixed": 1}}, "jobs[0].join: unknown field 'fixed'"),
    "rigid cost": ({"max_nodes": 2, "join": {"grow": 1}}, "job 'j0' has costs of joining, but no phases"),
    "overhead": ({"speedup": {"overhead": 1}}, "jobs[0].speedup.overhead: overhead 1 leaves no work"),
}


@pytest.mark.parametrize(("fields", "fault"), FAULTY.values(), ids=FAULTY)
def test_a_faulty_job_is_refused_with_place_and_value(fields: dict[str, Any], fault: str) -> None:
    document = {"format": "allocsolve/1", "kind": "workload", "num_nodes": 8, "jobs": [{**JOB, **fields}]}
    with pytest.raises(FormatError) as caught:
        parse_problem(document, "p.json")
    assert fault in str(caught.value)


#: After so many no sizes change any more: a job that changed in every call might stall for ever.
MOST_CALLS = 300


def ended(problem: WorkloadProblem, schedule: WorkloadSchedule) -> tuple[WorkloadProblem, WorkloadSchedule]:
    """Return the jobs that have ended: decisions at random leave some in the queue, or waiting for ever.

    Only a job with a profile can wait for ever: it has fewer pieces than steps then.
    """
    counts = np.diff(schedule.offsets)
    steps = [len(job.evolution.steps) if isinstance(job.evolution, Profile) else 1 for job in problem.jobs]
    over = counts >= np.array(steps, dtype=np.int64)
    pieces = np.repeat(over, counts)
    jobs = [job for job, is_over in zip(problem.jobs, over.tolist(), strict=True) if is_over]
    offsets = np.concatenate([[0], np.cumsum(counts[over])])
    return WorkloadProblem(problem.num_nodes, jobs), WorkloadSchedule(
        offsets, schedule.starts[pieces], schedule.ends[pieces], schedule.nodes[pieces]
    )


def check_random_run(rng: random.Random) -> int:
    """Judge a run of few jobs of all kinds; return how many have ended."""
    problem = draw_evolving(rng, 6)
    engine, calls = Engine(problem, EngineRules(rng.random() < 0.8)), 0
    changed: dict[int, float] = {}
    while (view := engine.advance()) is not None:
        decisions, calls = draw_decisions(view, rng), calls + 1
        resized = [decision.job for decision in decisions if isinstance(decision, Resize)]
        # Of one that grows and then shrinks at one instant, in two calls, the judge sees two stalls, not one.
        if calls > MOST_CALLS or any(changed.get(job) == view.now for job in resized):
            decisions = [decision for decision in decisions if isinstance(decision, Start | Answer)]
        changed |= dict.fromkeys(resized, view.now)
        engine.apply(decisions)
    problem, schedule = ended(problem, engine.result())
    assert workload_violations(problem, schedule) == ()
    return len(problem.jobs)


def test_10_000_random_runs_are_feasible() -> None:
    seeds = draws(10_000)
    assert sum(check_random_run(random.Random(seed)) for seed in seeds) > 2 * len(seeds)
