"""Laws: a policy of ours as a plug-in of hpcopt, and a plug-in under our engine, do as they should."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import hpcopt_fake
import pytest
from client_tools import rigid, under_our_engine

from allocsolve.adaptors.hpcopt import HpcoptPlugin, HpcoptPolicy, easy, fcfs
from allocsolve.simulation import simulate

CASES = 40


def narrowest(snapshot: Any) -> Any:
    """Start the narrowest jobs first: a plug-in as others write them."""
    free, chosen = snapshot.free_cpus, []
    for job in sorted(snapshot.queued_jobs, key=lambda job: (job.requested_cpus, job.job_id)):
        if job.requested_cpus <= free:
            free -= job.requested_cpus
            end = snapshot.clock_ts + job.runtime_estimate_sec
            chosen.append(
                SimpleNamespace(
                    job_id=job.job_id,
                    requested_cpus=job.requested_cpus,
                    runtime_estimate_sec=job.runtime_estimate_sec,
                    estimated_completion_ts=end,
                    reason="",
                )
            )
    return SimpleNamespace(policy_id="NARROWEST", reservation_ts=None, decisions=tuple(chosen))


@pytest.mark.parametrize("name", ["fcfs", "first-fit", "easy", "easy(strict=True)", "easy(order=f1)"])
def test_with_exact_estimates_a_plugin_does_what_the_policy_does_here(name: str) -> None:
    draw = random.Random(name)
    for _ in range(CASES):
        problem = rigid(draw, most_spare=0)
        expected = under_our_engine(problem, name).first_starts
        assert hpcopt_fake.run(problem, HpcoptPlugin(name, "OURS")) == expected.tolist()


def test_with_loose_estimates_plugins_see_the_true_ends_of_running_jobs() -> None:
    """So do all policies in hpcopt's engine; only a preset that wants it so is the same here."""
    draw = random.Random(1)
    differ = 0
    for _ in range(CASES):
        problem = rigid(draw, most_spare=20)
        for name in ("fcfs", "easy(like=hpcopt)"):
            expected = under_our_engine(problem, name).first_starts
            assert hpcopt_fake.run(problem, HpcoptPlugin(name, "OURS")) == expected.tolist()
        expected = under_our_engine(problem, "easy").first_starts
        differ += hpcopt_fake.run(problem, easy) != expected.tolist()
    assert differ


@pytest.mark.parametrize("chooser", [fcfs, easy, HpcoptPlugin("easy(like=hpcopt)", "OURS"), narrowest])
def test_a_plugin_under_our_engine_does_what_it_does_in_hpcopt(chooser: Any) -> None:
    draw = random.Random(2)
    for _ in range(CASES):
        problem = rigid(draw, most_spare=20)
        starts = simulate(problem, HpcoptPolicy(chooser)).first_starts
        assert starts.tolist() == hpcopt_fake.run(problem, chooser)


def test_a_plugin_may_see_what_a_scheduler_can_know() -> None:
    draw = random.Random(3)
    for _ in range(CASES):
        problem = rigid(draw, most_spare=20)
        expected = under_our_engine(problem, "easy").first_starts
        found = simulate(problem, HpcoptPolicy(easy, ends="estimate")).first_starts
        assert found.tolist() == expected.tolist()
