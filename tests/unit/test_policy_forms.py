"""A policy in every form that docs/policy.md promises, in every driver: the same decisions, in each run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from allocsolve import solve
from allocsolve.adaptors import named_policy
from allocsolve.errors import InvalidOption
from allocsolve.heuristics import Conservative, Easy
from allocsolve.instances.generators.examples import random_workload
from allocsolve.model import Job, WorkloadProblem
from allocsolve.simulation import Engine, Start, forecast, promised_starts, run_policy, runnable, simulate

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

    patience: int = 0

    def reset(self, seed: int) -> None:
        self.seed, self.calls = seed, 0

    def decide(self, view: QueueView) -> Iterator[Decision]:
        self.calls += 1
        assert self.calls <= 2 * len(view.jobs.submit)
        return fcfs(view)


class RememberingCalled(Remembering):
    def __call__(self, view: QueueView) -> Iterator[Decision]:
        raise AssertionError(view)  # `decide` goes before


FORMS = (fcfs, Deciding(), Deciding, Called(), Called, Remembering(), Remembering, RememberingCalled())
STARTS = [0.0, 100.0, 110.0, 110.0]


@pytest.mark.parametrize("policy", FORMS, ids=lambda form: getattr(form, "__name__", type(form).__name__))
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


def test_a_forecast_forgets_what_the_policy_remembers() -> None:
    policy, engine = Remembering(), Engine(PROBLEM)
    running = runnable(policy, seed=3)
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
