"""The public suite of queue policies: built-in ones pass, each bad one fails the test that is for it."""

from __future__ import annotations

from typing import Any

import pytest
from bad_policies import BAD_POLICIES, fcfs, first_fit

from allocsolve.errors import UnknownName
from allocsolve.heuristics.workload import (
    MalleableAverage,
    MalleableMin,
    MalleablePref,
    MalleablePrefkeeper,
    StaticPrice,
)
from allocsolve.heuristics.workload.policies import EASY_PRESETS, QUEUE_ORDERS, Easy, Fcfs, FirstFit
from allocsolve.testing.policies import PolicyConformance, check_policy, example_workloads


class TestEasy(PolicyConformance):
    policy = Easy()
    starts_head = True
    reserves_head = True
    starts_like = "easy"


class TestShortestFirst(PolicyConformance):
    policy = Easy(order="shortest-estimate")
    starts_head = True

    def order(self, view: Any) -> Any:
        jobs = view.jobs
        return sorted(view.queue.tolist(), key=lambda job: (jobs.estimate[job], jobs.submit[job], job))


HEAD: dict[str, Any] = {"starts_head": True}
HEADS: dict[str, Any] = {**HEAD, "reserves_head": True}
LIKE_FIRST_FIT: dict[str, Any] = {**HEAD, "starts_like": "first-fit"}
#: What policies claim besides that their decisions are legal.
CLAIMS: list[tuple[Any, dict[str, Any]]] = [
    (Fcfs(), {**HEADS, "starts_like": "fcfs"}),
    (FirstFit, LIKE_FIRST_FIT),
    (first_fit, LIKE_FIRST_FIT),
    (MalleableMin, LIKE_FIRST_FIT),
    (MalleableAverage(), LIKE_FIRST_FIT),
    (MalleablePref(), LIKE_FIRST_FIT),
    (MalleablePrefkeeper(), LIKE_FIRST_FIT),
    (StaticPrice(), LIKE_FIRST_FIT),
    (Easy(extra_nodes=False), HEADS),
    (Easy(strict=True), HEADS),
    (Easy(extra_nodes=False, strict=True), HEADS),
    (Easy(estimate="actual"), HEADS),
    (Easy(scan_limit=3), HEADS),
    (Easy(moldable="min"), HEADS),
    (Easy(moldable="fit"), HEADS),
    (fcfs, HEADS),
    (Easy(estimate="user-average"), HEAD),
    *((Easy(order=order), {}) for order in QUEUE_ORDERS[1:]),
    *(
        (Easy(like=tool), {**HEAD, "starts_like": tool, "reserves_head": tool in {"flux", "cqsim"}})
        for tool in EASY_PRESETS
        if tool != "mjs2023"
    ),
]


@pytest.mark.parametrize(
    ("policy", "claims"), CLAIMS, ids=[getattr(policy, "__name__", str(policy)) for policy, _ in CLAIMS]
)
def test_policies_are_what_they_claim(policy: Any, claims: dict[str, Any]) -> None:
    check_policy(policy, **claims)


def test_one_tool_has_nodes_idle() -> None:
    check_policy(Easy(like="mjs2023"), starts_like="mjs2023")
    with pytest.raises(AssertionError, match="the head, needs"):
        check_policy(Easy(like="mjs2023"), starts_head=True)


@pytest.mark.parametrize("tool", ["accasim", "hpcopt", "raps"])
def test_tools_that_delay_the_head_are_caught(tool: Any) -> None:
    with pytest.raises(AssertionError, match="the head, starts after its shadow time"):
        check_policy(Easy(like=tool), reserves_head=True)


@pytest.mark.parametrize(
    ("policy", "claims", "test", "message"),
    BAD_POLICIES,
    ids=[f"{bad[0].__name__}-{bad[2]}" for bad in BAD_POLICIES],
)
def test_each_fault_is_caught(policy: Any, claims: dict[str, Any], test: str, message: str) -> None:
    class Suite(PolicyConformance):
        pass

    Suite.policy = staticmethod(policy) if not isinstance(policy, type) else policy
    for name, value in claims.items():
        setattr(Suite, name, value)
    with pytest.raises(AssertionError, match=message):
        getattr(Suite(), f"test_{test}")()
    with pytest.raises(AssertionError):
        check_policy(policy, **claims)


def test_a_rule_that_no_counterexample_knows_is_refused() -> None:
    with pytest.raises(UnknownName, match="'slurm'"):
        check_policy(fcfs, starts_like="slurm")


def test_a_suite_without_a_policy_says_so() -> None:
    with pytest.raises(AssertionError, match="set it to yours"):
        PolicyConformance().test_decisions_are_legal()


def test_examples_have_names_of_their_own() -> None:
    names = [problem.name for problem in example_workloads()]
    assert len(set(names)) == len(names)
