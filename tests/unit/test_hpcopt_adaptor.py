"""hpcopt: what is refused, and what its entry points find."""

from __future__ import annotations

import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import hpcopt_fake
import pytest

from allocsolve.adaptors import hpcopt
from allocsolve.adaptors.hpcopt import HpcoptPlugin, HpcoptPolicy
from allocsolve.errors import InvalidOption, UnknownName
from allocsolve.model import Job, WorkloadProblem
from allocsolve.simulation import IllegalDecision, Start, Wake, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from allocsolve.simulation import Decision, QueueView

PROBLEM = WorkloadProblem(4, [Job(0, 3, 100, 100), Job(0, 2, 10, 10)])


@pytest.mark.parametrize(
    ("decide", "rule"),
    [
        (lambda _view: [Start(2, 3)], "starts no job that waits"),
        (lambda _view: [Start(0, 3), Start(0, 3)], "starts no job that waits"),
        (lambda _view: [Wake(5)], "starts no job that waits"),
        (lambda _view: [Start(0, 2)], "job 0: starts on 2 of 4 free processors, and needs 3"),
        (lambda _view: [Start(0, 3), Start(1, 2)], "job 1: starts on 2 of 1 free processors, and needs 2"),
    ],
)
def test_decisions_that_hpcopt_would_drop_raise(
    decide: Callable[[QueueView], Iterable[Decision]], rule: str
) -> None:
    with pytest.raises(IllegalDecision, match=rule):
        hpcopt_fake.run(PROBLEM, HpcoptPlugin(decide, "OURS"))


def test_a_plugin_of_others_that_starts_what_does_not_fit_is_refused() -> None:
    def greedy(snapshot: Any) -> Any:
        rows = [
            SimpleNamespace(job_id=job.job_id, requested_cpus=job.requested_cpus)
            for job in snapshot.queued_jobs
        ]
        return SimpleNamespace(decisions=rows)

    with pytest.raises(IllegalDecision, match="job 1: starts on 2 nodes, but 1 are free"):
        simulate(PROBLEM, HpcoptPolicy(greedy))


def test_a_policy_that_remembers_something_is_no_plugin() -> None:
    class Remembering:
        def reset(self, seed: int) -> None:
            """Forget."""

        def decide(self, view: QueueView) -> tuple[Start, ...]:  # noqa: ARG002 - of the interface
            return ()

    with pytest.raises(InvalidOption, match="remembers what it has seen"):
        hpcopt_fake.run(PROBLEM, HpcoptPlugin(Remembering(), "OURS"))
    with pytest.raises(InvalidOption, match="'conservative' remembers what it has seen"):
        hpcopt_fake.run(PROBLEM, HpcoptPlugin("conservative", "OURS"))


def test_seconds_have_to_be_whole() -> None:
    problem = WorkloadProblem(4, [Job(0.5, 3, 100)])
    with pytest.raises(InvalidOption, match=r"hpcopt counts whole seconds: there is no second 0\.5"):
        simulate(problem, HpcoptPolicy(hpcopt.easy))
    with pytest.raises(UnknownName, match="ends"):
        HpcoptPolicy(hpcopt.easy, ends="guessed")  # type: ignore[arg-type]  # on purpose


def test_the_entry_points_of_hpcopt_are_plugins() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    found = tomllib.loads(text)["project"]["entry-points"]["hpcopt.policies"]
    assert {*found} == {"ALLOCSOLVE_EASY", "ALLOCSOLVE_FCFS"}
    for name, target in found.items():
        module, _, thing = target.partition(":")
        assert module == hpcopt.__name__
        plugin = getattr(hpcopt, thing)
        assert callable(plugin)
        assert plugin.policy_id == name
