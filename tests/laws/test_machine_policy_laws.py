"""Policies on machines with counted resources and closed windows, against their definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import naive_resources
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from resource_strategies import general_problems
from strategies import workload_problems
from tiers import examples

from allocsolve.heuristics import Easy, Fcfs, FirstFit
from allocsolve.heuristics.workload._kernels_machines import run_on_machine
from allocsolve.heuristics.workload.conservative import _CODES, conservative_plan
from allocsolve.heuristics.workload.machines import conservative_plan_on_machine, machine_state
from allocsolve.heuristics.workload.policies import _prepared, run_queue
from allocsolve.judge import workload_violations
from allocsolve.model import WorkloadSchedule, packed_machine
from allocsolve.simulation.kernels import initial_state

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem

POLICIES = {"fcfs": Fcfs(), "first-fit": FirstFit(), "easy": Easy()}


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=examples(1000), deadline=None)
@given(data=st.data())
def test_starts_are_those_of_the_definition(name: str, data: st.DataObject) -> None:
    overruns = data.draw(st.booleans())
    problem = data.draw(
        general_problems(max_jobs=8, overruns=overruns).filter(lambda drawn: not drawn.is_plain)
    )
    estimates = problem.jobs.packed.estimate
    if problem.closed and (problem.jobs.packed.runtime > estimates).any():
        return
    schedule = POLICIES[name].simulated(problem).schedule
    assert workload_violations(problem, schedule) == ()
    expected = naive_resources.naive_starts(problem, name, estimates.tolist())
    assert schedule.first_starts.tolist() == expected


@pytest.mark.parametrize("name", [*POLICIES, "no-extra"])
@settings(max_examples=examples(300), deadline=None)
@given(problem=workload_problems(max_jobs=9, max_nodes=6, moldable=False), coalesce=st.booleans())
def test_on_a_plain_machine_the_general_kernel_does_what_the_plain_one_does(
    name: str, problem: WorkloadProblem, coalesce: bool
) -> None:
    policy = {**POLICIES, "no-extra": Easy(extra_nodes=False, strict=True)}[name].queue_policy
    rules = Easy(coalesce=coalesce).rules
    packed = packed_machine(problem)
    state = initial_state(problem.num_nodes, packed.release, ordered=True)
    estimates, _ = _prepared(problem, policy)
    machine = machine_state(packed, remember=True)
    run_on_machine(problem.packed, state, estimates, policy.rule, machine, coalesce)
    plain = run_queue(problem, policy, rules)
    assert np.array_equal(state.job["start"], plain.schedule.first_starts)


@pytest.mark.parametrize("compression", ["compress", "replan", "none"])
@settings(max_examples=examples(1000), deadline=None)
@given(data=st.data())
def test_reservations_are_those_of_the_definition(compression: Any, data: st.DataObject) -> None:
    overruns = data.draw(st.booleans())
    problem = data.draw(
        general_problems(max_jobs=8, overruns=overruns).filter(lambda drawn: not drawn.is_plain)
    )
    estimates = problem.jobs.packed.estimate
    if problem.closed and (problem.jobs.packed.runtime > estimates).any():
        return
    plan = conservative_plan(problem, compression)
    starts, promised = naive_resources.naive_reservations(problem, compression, estimates.tolist())
    assert plan.promised.tolist() == promised
    assert plan.starts.tolist() == starts
    assert workload_violations(problem, WorkloadSchedule.of(problem, plan.starts)) == ()


@pytest.mark.parametrize("compression", ["compress", "replan", "none"])
@settings(max_examples=examples(300), deadline=None)
@given(problem=workload_problems(max_jobs=9, max_nodes=6, moldable=False))
def test_on_a_plain_machine_reservations_are_those_of_the_plain_kernel(
    compression: Any, problem: WorkloadProblem
) -> None:
    plain = conservative_plan(problem, compression)
    general = conservative_plan_on_machine(problem, problem.packed.estimate, _CODES[compression])
    assert np.array_equal(plain.starts, general.starts)
    assert np.array_equal(plain.promised, general.promised)
