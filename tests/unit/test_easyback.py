"""evolv-easyback: the figures of Posner's batches, its strict test, jobs that could wait for each other."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from statistics import fmean
from typing import Any

import pytest

from allocsolve.errors import Deadlock
from allocsolve.heuristics import Easy, EvolvEasyback
from allocsolve.instances import evotree_batch
from allocsolve.judge import workload_violations
from allocsolve.judge.workload.rules import workload_metrics
from allocsolve.model import Budget, Job, Profile, WorkloadProblem
from allocsolve.registry import make_solver

POLICY = EvolvEasyback()
POLLING = EvolvEasyback(wake_up=False)


FIGURES = attrgetter(
    *("makespan", "turnaround", "wait", "utilisation", "expansions_per_job", "shrinks_per_job")
)


def figures(policy: EvolvEasyback | Easy, **options: Any) -> tuple[float, ...]:
    """Return makespan, turnaround, wait, utilisation, nodes granted and given back, means of five batches."""
    rows = []
    for seed in range(42, 47):
        problem = evotree_batch(seed, **options)
        schedule = policy(problem, Budget()).answer
        assert schedule is not None
        assert workload_violations(problem, schedule) == ()
        rows.append(FIGURES(workload_metrics(problem, schedule)))
    return tuple(map(fmean, zip(*rows, strict=True)))


@pytest.mark.parametrize(
    ("policy", "options", "reference"),
    [
        (POLICY, {"share": 0}, (1484.2, 598.9, 417.9, 0.827)),
        (POLLING, {"share": 0}, (1513.0, 612.1, 431.1, 0.811)),
        # Textbook EASY does better; there the second implementation has 464.9 s of turnaround.
        (Easy(), {"share": 0}, (1411.8, 460.1)),
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
def test_batches_of_jobs_that_keep_their_sizes(
    policy: EvolvEasyback | Easy, options: dict[str, Any], reference: tuple[float, ...]
) -> None:
    """Of an independent second implementation, as it prints them."""
    assert figures(policy, **options)[: len(reference)] == pytest.approx(reference, rel=1e-3)


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
        (POLICY, {"release_delay": 1}, (991, 348)),
        (POLICY, {"release_delay": 5}, (1046, 376)),
        (POLICY, {"release_delay": 15}, (1158, 440)),
        (POLLING, {}, (1142, 426, 208, 0.828, 2.3, 2.5)),
        (replace(POLICY, cooldown=0), {}, (1154, 459, 272, 0.953, 4.6, 3.7)),
        (replace(POLICY, start_counts=True), {}, (1077, 402, 169, 0.862)),
        (replace(POLICY, requests="last"), {}, (1084, 396, 166, 0.854)),
    ],
)
def test_batches_of_jobs_that_evolve(
    policy: EvolvEasyback, options: dict[str, Any], reference: tuple[float, ...]
) -> None:
    """Of the same implementation; makespan and turnaround within 2 %, the rest within 4 %."""
    measured = figures(policy, **options)
    # Below `Join.shrink` one node leaves at a time here.
    within = 0.04 if options.get("release_delay") == 1 else 0.02
    assert measured[:2] == pytest.approx(reference[:2], rel=within)
    assert measured[2 : len(reference)] == pytest.approx(reference[2:], rel=0.04)


def test_the_limit_of_the_batches_does_not_matter() -> None:
    problem = evotree_batch(42)
    schedule = POLICY.simulated(problem).schedule
    for limit in (190.0, 1e5):
        jobs = [replace(job, limit=limit) for job in problem.jobs]
        assert POLICY.simulated(WorkloadProblem(10, jobs)).schedule == schedule


#: Each holds two of four nodes and needs one more.
DOUBLE = Job(0, 2, 20, min_nodes=2, max_nodes=3, evolution=Profile([(10, 2), (10, 3)]))
STANDSTILL = WorkloadProblem(4, [DOUBLE, DOUBLE])


def test_jobs_with_profiles_do_not_wait_for_each_other_for_ever() -> None:
    result = POLICY(STANDSTILL, Budget())
    assert result.answer is not None
    assert result.answer.first_starts.tolist() == [0, 20]
    for policy in (replace(POLICY, safe=False), replace(POLLING, safe=False)):
        with pytest.raises(Deadlock, match=r"^deadlock at 10 s .*: 'j0' holds 2 and waits for 1 "):
            policy(STANDSTILL, Budget())


def test_it_has_a_name() -> None:
    assert make_solver("evolv-easyback", WorkloadProblem) == POLICY
    assert make_solver("evolv-easyback(cooldown=0,requests=last)", WorkloadProblem) == replace(
        POLICY, cooldown=0.0, requests="last"
    )
