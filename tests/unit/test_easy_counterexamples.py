"""Each counterexample of EASY has the starts that the rules give, by slow and independent code."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from naive_conservative import Interval, earliest_hole

from allocsolve.heuristics.workload.conservative import Conservative
from allocsolve.heuristics.workload.policies import EASY_PRESETS, Easy, Fcfs, FirstFit
from allocsolve.instances.generators.counterexamples import easy_counterexamples
from allocsolve.judge.workload.rules import workload_violations
from allocsolve.model import Budget, WorkloadSchedule
from allocsolve.simulation import CompiledPolicy, simulate

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.model import WorkloadProblem

CASES = easy_counterexamples()
RULES = ("easy", "fcfs", "first-fit", "conservative")
each = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def starts_of(case: WorkloadProblem) -> Any:
    return case.meta["starts"]


def play(
    case: WorkloadProblem, may_pass: Callable[[WorkloadProblem, list[Interval], float, int, int], bool]
) -> list[float]:
    """Start jobs in queue order; one behind the first that does not fit needs a leave to pass it."""
    jobs, estimates = list(case.jobs), case.packed.estimate
    starts = [math.nan] * len(jobs)
    now = min(job.submit for job in jobs)
    while any(math.isnan(start) for start in starts):
        queue = [idx for idx, job in enumerate(jobs) if job.submit <= now and math.isnan(starts[idx])]
        head = None
        for idx in queue:
            busy = [j for j, start in enumerate(starts) if start <= now < start + jobs[j].runtime]
            fits = sum(jobs[j].nodes for j in busy) + jobs[idx].nodes <= case.num_nodes
            plan = [Interval(starts[j], starts[j] + estimates[j], jobs[j].nodes) for j in busy]
            if fits and (head is None or may_pass(case, plan, now, head, idx)):
                starts[idx] = now
            elif head is None:
                head = idx
        ends = [start + job.runtime for start, job in zip(starts, jobs, strict=True)]
        now = min(time for time in [*ends, *(job.submit for job in jobs)] if time > now)
    return starts


def head_stays(case: WorkloadProblem, plan: list[Interval], now: float, head: int, idx: int) -> bool:
    """EASY by its definition: a job may pass if the head can be expected to start as early as without it."""
    first, later = case.jobs[head], case.jobs[idx]
    candidate = Interval(now, now + float(case.packed.estimate[idx]), later.nodes)
    before, after = (
        earliest_hole(held, case.num_nodes, first.nodes, math.inf, now) for held in (plan, [*plan, candidate])
    )
    return before == after


def head_stays_in_32_bits(
    case: WorkloadProblem, plan: list[Interval], now: float, head: int, idx: int
) -> bool:
    """EASY that compares times as 32-bit floating-point numbers."""
    rounded = [Interval(one.start, float(np.float32(one.end)), one.nodes) for one in plan]
    shadow = earliest_hole(rounded, case.num_nodes, case.jobs[head].nodes, math.inf, now)
    end = float(np.float32(now + float(case.packed.estimate[idx])))
    held = sum(one.nodes for one in rounded if one.end > shadow)
    extra = case.num_nodes - held - case.jobs[head].nodes
    return end <= shadow or case.jobs[idx].nodes <= extra


def test_they_are_small_and_have_names_of_their_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 8
    for case in CASES:
        assert 3 <= len(case.jobs) <= 5
        assert str(case.meta["reason"]).endswith(".")
        assert json.loads(json.dumps(dict(case.meta))) == dict(case.meta)


@each
def test_rules_start_the_jobs_when_the_case_says(case: WorkloadProblem) -> None:
    starts = starts_of(case)
    assert play(case, head_stays) == starts["easy"]
    assert play(case, lambda *_: False) == starts["fcfs"]
    assert play(case, lambda *_: True) == starts["first-fit"]
    schedule = Conservative()(case, Budget()).answer
    assert schedule is not None
    assert schedule.first_starts.tolist() == starts["conservative"]


@each
def test_built_in_policies_start_the_jobs_when_the_case_says(case: WorkloadProblem) -> None:
    policies: dict[str, CompiledPolicy] = {
        "easy": Easy(),
        "fcfs": Fcfs(),
        "first-fit": FirstFit(),
        "conservative": Conservative(),
        "easy(coalesce=False)": Easy(coalesce=False),
        "easy(extra_nodes=False,strict=True)": Easy(extra_nodes=False, strict=True),
    }
    policies |= {tool: Easy(like=tool) for tool in EASY_PRESETS}
    for rule, starts in starts_of(case).items():
        if rule == "float32":
            assert play(case, head_stays_in_32_bits) == starts
            continue
        assert simulate(case, policies[rule]).first_starts.tolist() == starts


@each
def test_the_tool_is_refuted_by_a_feasible_schedule(case: WorkloadProblem) -> None:
    (tool,) = set(starts_of(case)) - set(RULES)
    schedule = WorkloadSchedule.of(case, starts_of(case)[tool])
    assert schedule.first_starts.tolist() != starts_of(case)["easy"]
    assert not workload_violations(case, schedule)
