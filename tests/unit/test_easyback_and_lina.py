"""evolv-easyback and lina: the figures of batches and logs beside those of independent programs."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from statistics import fmean
from typing import TYPE_CHECKING, Any, get_args

import pytest
from tiers import before_a_release
from workload_traces import kit_problem

from allocsolve import solve
from allocsolve.errors import Deadlock
from allocsolve.heuristics import Easy, EvolvEasyback, Lina
from allocsolve.heuristics.workload.lina import ShrinkCandidates, VictimOrder
from allocsolve.instances import evotree_batch, lina_workload, lublin1999, shrunk_arrivals
from allocsolve.judge import workload_violations
from allocsolve.judge.workload.rules import workload_metrics
from allocsolve.model import Budget, Job, Profile, WorkloadProblem
from allocsolve.registry import make_solver

if TYPE_CHECKING:
    from pathlib import Path

    from allocsolve.judge.workload.rules import WorkloadMetrics


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


#: Policy, options of the batches, and what an independent second implementation prints: the first are exact,
#: with jobs that evolve makespan and turnaround are within 2 %, the rest is within 4 %.
RIGID = [
    (POLICY, {"share": 0}, (1484.2, 598.9, 417.9, 0.827)),
    (POLLING, {"share": 0}, (1513.0, 612.1, 431.1, 0.811)),
    # Textbook EASY does better; there the second implementation has 464.9 s of turnaround.
    (Easy(), {"share": 0}, (1411.8, 460.1)),
    (POLICY, {"share": 0.2, "kind": "moldable"}, (1501, 604)),
    (POLICY, {"share": 0.4, "kind": "moldable"}, (1463, 607)),
    (POLICY, {"share": 0.6, "kind": "moldable"}, (1507, 617)),
    (POLICY, {"share": 0.8, "kind": "moldable"}, (1443, 606)),
    (POLICY, {"share": 1, "kind": "moldable"}, (1423, 584, 411, 0.907)),
]
EVOLVING = [
    (POLICY, {"share": 0.2}, (1418, 563)),
    (POLICY, {"share": 0.4}, (1275, 508)),
    (POLICY, {"share": 0.6}, (1263, 487)),
    (POLICY, {"share": 0.8}, (1131, 427)),
    (POLICY, {"share": 1}, (1106, 413, 194, 0.857, 2.2, 2.4)),
    (POLICY, {"release_delay": 1}, (991, 348)),
    (POLICY, {"release_delay": 5}, (1046, 376)),
    (POLICY, {"release_delay": 15}, (1158, 440)),
    (POLLING, {}, (1142, 426, 208, 0.828, 2.3, 2.5)),
    (replace(POLICY, cooldown=0), {}, (1154, 459, 272, 0.953, 4.6, 3.7)),
    (replace(POLICY, start_counts=True), {}, (1077, 402, 169, 0.862)),
    (replace(POLICY, requests="last"), {}, (1084, 396, 166, 0.854)),
]


@pytest.mark.parametrize(("policy", "options", "reference"), [*RIGID, *EVOLVING])
def test_batches(policy: Any, options: dict[str, Any], reference: tuple[float, ...]) -> None:
    measured = figures(policy, **options)
    first, rest = (1e-3, 1e-3) if (policy, options, reference) in RIGID else (0.02, 0.04)
    if options.get("release_delay") == 1:  # below `Join.shrink` one node leaves at a time here
        first = 0.04
    assert measured[:2] == pytest.approx(reference[:2], rel=first)
    assert measured[2 : len(reference)] == pytest.approx(reference[2:], rel=rest)


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


# --- lina ---------------------------------------------------------------------------------------------


def metrics(problem: WorkloadProblem, **options: Any) -> WorkloadMetrics:
    schedule = Lina(**options)(problem, Budget()).answer
    assert schedule is not None
    assert workload_violations(problem, schedule) == ()
    return workload_metrics(problem, schedule)


def test_lina_has_a_name() -> None:
    assert make_solver("lina", WorkloadProblem) == Lina()
    assert make_solver("lina(candidates=system-text,victims=random,seed=3)", WorkloadProblem) == Lina(
        "system-text", "random", 3
    )
    problem = lina_workload(lublin1999(1, num_jobs=30), share=1, seed=1)
    assert solve(problem, "lina").answer == Lina()(problem, Budget()).answer


def test_victims_at_random_depend_on_the_seed() -> None:
    rigid = shrunk_arrivals(lublin1999(1, num_jobs=300), 0.5)
    problem = lina_workload(rigid, share=1, seed=1)
    answers = [Lina(victims="random", seed=seed)(problem, Budget()).answer for seed in (1, 1, 2, 2**63 - 1)]
    assert answers[0] == answers[1]
    assert answers[0] != answers[2] != answers[3]


# Figures of a log.


def test_rigid_rows(traces: Path) -> None:
    """As an independent program prints them."""
    problem = kit_problem(traces)
    shrunk = shrunk_arrivals(problem, 0.65)
    assert metrics(problem).turnaround == pytest.approx(27_767.77, abs=0.01)
    assert metrics(shrunk).turnaround == pytest.approx(58_021.15, abs=0.01)


@pytest.mark.parametrize(
    ("share", "candidates", "expected"),
    [
        (0.1, "default", 26_130.78),  # 26,299, mean over six rules and three other seeds
        (0.1, "application", 26_130.83),  # 26,300
        (0.1, "system-text", 27_208.21),  # 27,461
        (1, "default", 16_627.05),  # 16,775
        (1, "application", 16_642.04),  # 16,768
        (1, "system-printed", 16_642.04),
        (1, "system-text", 21_106.75),  # 21,290
    ],
)
def test_elastic_rows(traces: Path, share: float, candidates: str, expected: float) -> None:
    problem = lina_workload(kit_problem(traces), share=share, seed=1)
    assert metrics(problem, candidates=candidates).turnaround == pytest.approx(expected, abs=0.01)


def test_gates(traces: Path) -> None:
    """The text of System has the higher utilisation and turnaround in all shares; its listing is Application.

    Before a release in all shares, else in the least and the largest one.

    In the mean over six orders of victims and three seeds, as an independent program has it. At 10 % the
    turnaround is 4-7 % better, at 100 % it is 16,775 s.
    """
    rigid = kit_problem(traces)
    for percent in range(10, 110, 10 if before_a_release() else 90):
        turnaround: dict[str, list[float]] = {name: [] for name in get_args(ShrinkCandidates)}
        utilisation: dict[str, list[float]] = {name: [] for name in get_args(ShrinkCandidates)}
        for seed in (1, 2, 3):
            problem = lina_workload(rigid, share=percent / 100, seed=seed)
            for name in get_args(ShrinkCandidates):
                for victims in get_args(VictimOrder):
                    schedule = Lina(name, victims, seed)(problem, Budget()).answer
                    assert schedule is not None
                    measured = workload_metrics(problem, schedule)
                    turnaround[name].append(measured.turnaround)
                    utilisation[name].append(measured.utilisation)
        means = {name: fmean(values) for name, values in turnaround.items()}
        assert means["system-text"] > means["default"]
        assert fmean(utilisation["system-text"]) > fmean(utilisation["default"])
        assert means["system-printed"] == pytest.approx(means["application"], rel=0.005)
        if percent == 10:
            for name in ("default", "application"):
                assert 0.04 <= 1 - means[name] / 27_767.77 <= 0.07
        if percent == 100:
            assert means["default"] == pytest.approx(16_775, rel=0.03)
