"""The schedulers for Flux and hpcopt: what they deny, wait for and refuse, and what entry points find."""

from __future__ import annotations

import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import hpcopt_fake
import pytest
from flux_fake import AllocRequest, FluxFake, Grant, PendingJob, ResourceCount, ResourceRequest, Scheduler

from allocsolve.adaptors import hpcopt
from allocsolve.adaptors.flux import FluxScheduler
from allocsolve.adaptors.hpcopt import HpcoptPlugin, HpcoptPolicy
from allocsolve.errors import InvalidOption, UnknownName
from allocsolve.model import Job, WorkloadProblem
from allocsolve.simulation import IllegalDecision, Start, Wake, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from allocsolve.simulation import Decision, QueueView


NOBODY = WorkloadProblem(4, [])


def flux(policy: object = "easy", most_forecast: int = 0) -> FluxFake:
    """Return a Flux of four nodes, without jobs."""
    attributes = {"policy": policy, "most_forecast": most_forecast}
    return FluxFake(NOBODY, type("OurScheduler", (FluxScheduler, Scheduler), attributes))


def submit(
    fake: FluxFake,
    jobid: int,
    nodes: int,
    seconds: float = 10,
    *,
    priority: int = 16,
    constraint: frozenset[int] | None = None,
) -> AllocRequest:
    """Submit a job, and return its request."""
    request = AllocRequest()
    wanted = ResourceRequest(ResourceCount(nodes, nodes), seconds, constraint)
    fake.scheduler.alloc(PendingJob(jobid, priority, fake.pool.clock, request, wanted))
    return request


def test_a_job_that_can_never_run_is_denied() -> None:
    fake = flux()
    wide, narrow = submit(fake, 1, 5), submit(fake, 2, 4)
    assert fake.one_pass() == [2]
    assert wide.answer == ("deny", "unsatisfiable request: need 5 node(s)")
    assert narrow.answer == ("success", {"sched": {"resource_summary": "rank0,1,2,3"}})


def test_a_job_that_the_pool_denies_leaves_the_queue() -> None:
    fake = flux()
    odd = submit(fake, 1, 2, constraint=frozenset({1}))
    submit(fake, 2, 2)
    assert fake.one_pass() == [2]
    assert odd.answer == ("deny", "unsatisfiable request: need 2 node(s)")


def test_a_job_waits_for_nodes_that_are_down() -> None:
    fake = flux()
    fake.pool.down = {0}
    wide = submit(fake, 1, 4)
    submit(fake, 2, 3)
    assert fake.one_pass() == [2]
    assert wide.answer is None
    fake.scheduler.free(2, fake.pool.jobs[2][1], final=True)
    fake.pool.down = set()
    assert fake.one_pass() == [1]


def test_the_pass_ends_where_the_pool_has_not_what_the_policy_thought() -> None:
    fake = flux("first-fit")
    submit(fake, 1, 1, constraint=frozenset({2}))
    submit(fake, 2, 1, constraint=frozenset({2}))
    submit(fake, 3, 1)
    assert fake.one_pass() == [1]
    assert fake.one_pass() == []
    fake.scheduler.free(1, fake.pool.jobs[1][1], final=True)
    assert fake.one_pass() == [2, 3]


def test_higher_priorities_come_first() -> None:
    fake = flux("fcfs")
    submit(fake, 1, 3)
    submit(fake, 2, 4, priority=20)
    assert fake.one_pass() == [2]


def test_backfilled_jobs_say_before_whom() -> None:
    fake = flux()
    submit(fake, 1, 3, 100)
    submit(fake, 2, 4)
    third = submit(fake, 3, 1, 50)
    assert fake.one_pass() == [1, 3]
    assert third.answer == ("success", {"sched": {"resource_summary": "rank3", "backfill": "2"}})


def test_a_job_without_a_limit_never_ends_as_far_as_anybody_knows() -> None:
    fake = flux(most_forecast=64)
    submit(fake, 1, 3, 0)
    head = submit(fake, 2, 4)
    submit(fake, 3, 1, 1000)
    assert fake.one_pass() == [1, 3]
    assert not head.annotations
    assert fake.pool.jobs[1][1].times == {"starttime": 0.0}


def test_jobs_that_run_already_count() -> None:
    fake = flux()
    held = Grant(frozenset({0, 1, 2}))
    held.set_expiration(100)
    fake.scheduler.hello(7, 16, 1000, 0.0, held)
    submit(fake, 8, 4)
    submit(fake, 9, 1, 150)
    assert fake.one_pass() == []
    fake.scheduler.expiration("message", 7, 150)
    assert fake.scheduler.handle.responses == [("message", None)]
    assert fake.one_pass() == [9]


def test_nodes_may_come_back_in_parts() -> None:
    fake = flux()
    submit(fake, 1, 4, 100)
    submit(fake, 2, 3)
    submit(fake, 3, 1, 100)
    assert fake.one_pass() == [1]
    fake.scheduler.free(1, Grant(frozenset({3})))
    assert fake.one_pass() == [3]
    fake.scheduler.free(1, Grant(frozenset({0, 1, 2})), final=True)
    assert fake.one_pass() == [2]


def test_too_many_jobs_are_not_forecast() -> None:
    for most, told in ((2, 0), (3, 1)):
        fake = flux(most_forecast=most)
        submit(fake, 1, 3, 100)
        head = submit(fake, 2, 4)
        submit(fake, 3, 1, 50)
        fake.one_pass()
        fake.one_pass()  # what has been told is not told again
        assert [said["sched"]["t_estimate"] for said in head.annotations] == [100.0] * told


@pytest.mark.parametrize(
    ("decide", "rule"),
    [
        (lambda _view: [Start(1, 4)], "starts no job that waits"),
        (lambda _view: [Wake(5)], "starts no job that waits"),
        (lambda _view: [Start(0, 3)], "job 0: starts on 3 nodes, 4 are free"),
    ],
)
def test_illegal_decisions_raise(decide: Callable[[QueueView], Iterator[Decision]], rule: str) -> None:
    fake = flux(staticmethod(decide))
    submit(fake, 1, 4)
    with pytest.raises(IllegalDecision, match=rule):
        fake.one_pass()


def test_a_policy_that_remembers_something_is_refused() -> None:
    with pytest.raises(InvalidOption, match="'conservative' remembers what it has seen"):
        flux("conservative")


# --- hpcopt -------------------------------------------------------------------------------------------


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
