"""A policy in every form that docs/policy.md promises, in every driver: the same decisions, in each run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings, strategies as st

from allocsolve import solve
from allocsolve.adaptors import Order, PolicyDriver, named_policy
from allocsolve.errors import InvalidOption
from allocsolve.heuristics import Conservative, Easy
from allocsolve.instances.generators.examples import random_workload
from allocsolve.model import Job, WorkloadProblem
from allocsolve.simulation import (
    Engine,
    EngineRules,
    Start,
    Wake,
    forecast,
    promised_starts,
    run_policy,
    runnable,
    simulate,
)
from allocsolve.testing.policies import check_policy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.simulation import Decision, QueueView

PROBLEM = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 1000), Job(3, 1, 50)])


def fcfs(view: QueueView) -> Iterator[Decision]:
    free = view.free
    for job in view.queue.tolist():
        free -= int(view.jobs.nodes[job])
        if free < 0:
            return
        yield Start(job, int(view.jobs.nodes[job]))


class Deciding:
    def decide(self, view: QueueView) -> Iterator[Decision]:
        return fcfs(view)


class Called:
    def __call__(self, view: QueueView) -> Iterator[Decision]:
        return fcfs(view)


@dataclass
class Remembering:
    """Has no memory before a run begins, and one that a second run must not see."""

    rules = EngineRules(coalesce=False)

    def reset(self, seed: int) -> None:
        self.seed, self.calls = seed, 0

    def decide(self, view: QueueView) -> Iterator[Decision]:
        self.calls += 1
        assert self.calls <= 2 * len(view.jobs.submit)
        return fcfs(view)


class RememberingCalled(Remembering):
    def __call__(self, view: QueueView) -> Iterator[Decision]:
        raise AssertionError(view)  # `decide` goes before


class BornRemembering:
    """Remembers from its making on: as a class it is made anew for each run."""

    def __init__(self) -> None:
        self.calls = 0

    def decide(self, view: QueueView) -> Iterator[Decision]:
        self.calls += 1
        assert self.calls <= 2 * len(view.jobs.submit)
        return fcfs(view)


FORMS = (
    fcfs,
    Deciding(),
    Deciding,
    Deciding().decide,
    Called(),
    Called,
    Remembering(),
    Remembering,
    Remembering().decide,
    RememberingCalled(),
    BornRemembering,
    runnable(Remembering()),
    runnable(runnable(BornRemembering)),
    named_policy(Remembering()),
    named_policy(BornRemembering),
    named_policy("bad_policies:fcfs"),
)
STARTS = [0.0, 100.0, 110.0, 110.0]


@pytest.mark.parametrize(
    "policy", FORMS, ids=lambda form: str(getattr(form, "__name__", type(form).__name__))
)
def test_every_form_in_every_driver_twice(policy: Any) -> None:
    for _ in range(2):
        assert simulate(PROBLEM, policy).first_starts.tolist() == STARTS
        assert run_policy(PROBLEM, policy, seed=5).schedule.first_starts.tolist() == STARTS
        answer = solve(PROBLEM, policy).answer
        assert answer is not None
        assert answer.first_starts.tolist() == STARTS
        assert promised_starts(PROBLEM, policy).tolist() == [0.0, 125.0, 137.5, 137.5]
        named = named_policy(policy)
        assert [list(named.decide(view)) for view in [Engine(PROBLEM).advance()] if view] == [[Start(0, 3)]]


@dataclass
class AtMost:
    """First come, first served, at most so many starts a call: nodes idle while the head fits."""

    most: int = 1

    def reset(self, seed: int) -> None:
        self.calls = seed * 0

    def decide(self, view: QueueView) -> list[Decision]:
        self.calls += 1
        return list(fcfs(view))[: self.most]


class AtMostCalled(AtMost):
    def __call__(self, view: QueueView) -> list[Decision]:
        return self.decide(view)


@pytest.mark.parametrize("policy", [AtMost(), AtMostCalled(), AtMost, AtMost().decide, runnable(AtMost())])
def test_a_policy_that_lets_nodes_idle_keeps_the_contract_but_not_the_claim(policy: Any) -> None:
    check_policy(policy)
    with pytest.raises(AssertionError, match="the head, needs 1 nodes and does not start; 1 are free"):
        check_policy(policy, starts_head=True)


@dataclass
class EveryOther:
    """Starts jobs at every second call only: two runs differ if the second one goes on counting."""

    def reset(self, seed: int) -> None:
        self.calls = seed

    def decide(self, view: QueueView) -> list[Decision]:
        self.calls += 1
        return list(fcfs(view)) if self.calls % 2 else [Wake(view.now + 7)]


def driven(driver: PolicyDriver) -> list[Order]:
    """Return the first order of a driver: of a policy that begins with its first call, a start."""
    driver.jobs.add("a", submit=0, nodes=1, estimate=10)
    return driver.decide(0, free=4, queue=["a"])


@settings(deadline=None)
@given(st.integers(0, 99), st.integers(0, 1))
def test_two_runs_of_a_policy_that_remembers_are_equal_in_every_driver(draw: int, seed: int) -> None:
    problem, policy = random_workload(draw, 12, 16), EveryOther()
    first, again = (run_policy(problem, policy, seed=seed).schedule for _ in range(2))
    assert first == again
    assert simulate(problem, policy) == simulate(problem, policy) == simulate(problem, runnable(policy))
    promised, later = (promised_starts(problem, policy).tolist() for _ in range(2))
    assert promised == later
    for _ in range(3):
        assert driven(PolicyDriver(policy, 4)) == [Order("start", "a", 1)]
        assert driven(PolicyDriver(named_policy(policy), 4)) == [Order("start", "a", 1)]
    assert driven(PolicyDriver(policy, 4, seed=1)) == []


def test_a_forecast_forgets_what_the_policy_remembers() -> None:
    policy, engine = Remembering(), Engine(PROBLEM)
    running = named_policy(policy, seed=3)
    assert running.rules == EngineRules(coalesce=False)
    while (view := engine.advance()) is not None:
        if len(view.queue):
            before = policy.calls
            forecast(view, policy)
            assert (policy.calls, policy.seed) == (before, 3)
        engine.apply(running.decide(view))


def test_a_class_of_the_package() -> None:
    problem = random_workload(3, 40, 16)
    assert simulate(problem, Easy) == simulate(problem, Easy())
    assert run_policy(problem, Conservative).schedule == simulate(problem, Conservative())


class Greedy:
    def __init__(self, share: float) -> None:
        self.share = share


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("easy", r"'easy' is a name: allocsolve.adaptors.named_policy returns its policy"),
        (3, r"3 is no queue policy: it has no method decide"),
        (Greedy, r"policy Greedy\(\) raised TypeError: .*share"),
    ],
)
def test_what_is_no_policy_is_refused(policy: Any, message: str) -> None:
    for driver in (simulate, run_policy, promised_starts):
        with pytest.raises(InvalidOption, match=message):
            driver(PROBLEM, policy)
