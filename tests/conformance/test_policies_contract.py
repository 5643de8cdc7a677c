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


class TestFcfs(PolicyConformance):
    policy = Fcfs()
    starts_head = True
    reserves_head = True
    starts_like = "fcfs"


class TestFirstFit(PolicyConformance):
    policy = FirstFit
    starts_head = True
    starts_like = "first-fit"


class TestEasy(PolicyConformance):
    policy = Easy()
    starts_head = True
    reserves_head = True
    starts_like = "easy"


class TestFunction(PolicyConformance):
    policy = first_fit
    starts_head = True
    starts_like = "first-fit"


class TestShortestFirst(PolicyConformance):
    policy = Easy(order="shortest-estimate")
    starts_head = True

    def order(self, view: Any) -> Any:
        jobs = view.jobs
        return sorted(view.queue.tolist(), key=lambda job: (jobs.estimate[job], jobs.submit[job], job))


@pytest.mark.parametrize(
    "policy",
    [MalleableMin, MalleableAverage(), MalleablePref(), MalleablePrefkeeper(), StaticPrice()],
    ids=str,
)
def test_malleable_policies_start_like_first_fit(policy: Any) -> None:
    check_policy(policy, starts_head=True, starts_like="first-fit")


@pytest.mark.parametrize(
    "policy",
    [
        Easy(extra_nodes=False),
        Easy(strict=True),
        Easy(extra_nodes=False, strict=True),
        Easy(estimate="actual"),
        Easy(scan_limit=3),
        Easy(moldable="min"),
        Easy(moldable="fit"),
        fcfs,
    ],
    ids=lambda policy: getattr(policy, "__name__", str(policy)),
)
def test_variants_reserve_for_the_head(policy: Any) -> None:
    check_policy(policy, starts_head=True, reserves_head=True)


def test_a_policy_that_learns_decides_legally() -> None:
    check_policy(Easy(estimate="user-average"), starts_head=True)


@pytest.mark.parametrize("tool", [tool for tool in EASY_PRESETS if tool != "mjs2023"])
def test_presets_do_what_the_tool_does(tool: Any) -> None:
    check_policy(Easy(like=tool), starts_head=True, starts_like=tool, reserves_head=tool in {"flux", "cqsim"})


def test_one_tool_has_nodes_idle() -> None:
    check_policy(Easy(like="mjs2023"), starts_like="mjs2023")
    with pytest.raises(AssertionError, match="the head, needs"):
        check_policy(Easy(like="mjs2023"), starts_head=True)


@pytest.mark.parametrize("tool", ["accasim", "hpcopt", "raps"])
def test_tools_that_delay_the_head_are_caught(tool: Any) -> None:
    with pytest.raises(AssertionError, match="the head, starts after its shadow time"):
        check_policy(Easy(like=tool), reserves_head=True)


@pytest.mark.parametrize("order", QUEUE_ORDERS[1:])
def test_orders_decide_legally(order: Any) -> None:
    check_policy(Easy(order=order))


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
