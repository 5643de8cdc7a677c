"""Single jobs and calls of the adaptor to ElastiSim, and what it refuses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from elastisim_fake import FakeElastiSim, JobType, Spec

from allocsolve.adaptors import ElastisimScheduler
from allocsolve.errors import InvalidOption, InvalidProblem, UnknownName
from allocsolve.heuristics.workload import Easy
from allocsolve.model import Amdahl
from allocsolve.simulation import IllegalDecision, Resize, Start

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.simulation import QueueView


def same(seconds: float) -> Callable[[int], float]:
    """Return a run time that is the same on all sizes."""
    return lambda _: seconds


@dataclass
class Recorder:
    """A policy that notes its views, and decides nothing but what it is given."""

    decisions: list[list[Any]] = field(default_factory=list)
    views: list[QueueView] = field(default_factory=list)

    def __call__(self, view: QueueView) -> list[Any]:
        self.views.append(view)
        return self.decisions.pop(0) if self.decisions else []


def test_columns_are_those_of_the_jobs() -> None:
    specs = [
        Spec(JobType.RIGID, 1, 3, 3, same(5), walltime=9, arguments={"num_nodes_pref": "2"}),
        Spec(JobType.MOLDABLE, 2, 2, 5, same(5)),
        Spec(JobType.MALLEABLE, 3, 1, 6, same(5), arguments={"num_nodes_pref": "4.000000"}),
        Spec(JobType.EVOLVING, 4, 1, 6, same(5), arguments={"num_nodes_pref": "1"}),
        Spec(JobType.ADAPTIVE, 5, 2, 2, same(5)),
    ]
    policy = Recorder()
    FakeElastiSim(8, specs).run(ElastisimScheduler(policy, speedup=lambda job: Amdahl(job.identifier / 4)))
    jobs = policy.views[-1].jobs
    assert jobs.submit.tolist() == [1, 2, 3, 4, 5]
    assert jobs.nodes.tolist() == [3, 3, 4, 1, 2]
    assert jobs.min_nodes.tolist() == [3, 2, 1, 1, 2]
    assert jobs.max_nodes.tolist() == [3, 5, 6, 6, 2]
    assert jobs.kind.tolist() == [0, 1, 2, 3, 2]
    assert jobs.estimate.tolist() == [9, *[float("inf")] * 4]
    assert jobs.parameter.tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert policy.views[-1].queue.tolist() == [0, 1, 2, 3, 4]


def test_what_is_no_preference_policy_decision_or_choice_is_refused() -> None:
    rigid = [Spec(JobType.RIGID, 0, 2, 2, same(5))]
    for preference, message in (
        ("many", "job 0: num_nodes_pref 'many' is not a whole number"),
        ("2.5", "num_nodes_pref '2.5'"),
        ("9", "9"),
    ):
        spec = Spec(JobType.MALLEABLE, 0, 1, 4, same(5), arguments={"num_nodes_pref": preference})
        with pytest.raises(InvalidProblem, match=message):
            FakeElastiSim(4, [spec]).run(ElastisimScheduler("fcfs"))
    with pytest.raises(UnknownName, match="easyy"):
        ElastisimScheduler("easyy")
    with pytest.raises(IllegalDecision, match="job 0: cannot run on 3 nodes"):
        FakeElastiSim(4, rigid).run(ElastisimScheduler(Recorder([[Start(0, 3)]])))
    for nodes in ([0], [0, 0], [1, 2, 3]):
        with pytest.raises(InvalidOption, match="no choice of 2 free ones"):
            FakeElastiSim(4, rigid).run(ElastisimScheduler("fcfs", choose=lambda _free, _count: nodes))  # noqa: B023 - called at once


def test_a_job_that_is_shrunk_gives_up_the_nodes_that_it_got_last() -> None:
    spec = Spec(JobType.MALLEABLE, 0, 1, 4, same(30), iterations=3)
    order = iter([[3, 1], [2]])
    policy = Recorder([[Start(0, 2)], [Resize(0, 3)], [Resize(0, 1)]])
    others = [Spec(JobType.RIGID, at, 4, 4, same(1)) for at in (1, 11)]
    fake = FakeElastiSim(4, [spec, *others])
    runs = fake.run(ElastisimScheduler(policy, choose=lambda _free, _count: next(order)))
    assert runs[0].pieces == [(0, 2), (10, 3), (20, 1)]
    assert runs[0].executing == [3]


def test_nodes_given_up_at_a_point_serve_starts_in_the_same_call_and_growth_in_the_next() -> None:
    specs = [
        Spec(JobType.MALLEABLE, 0, 1, 4, same(40), iterations=4),
        Spec(JobType.MALLEABLE, 0.5, 1, 4, same(40), iterations=4),
        Spec(JobType.RIGID, 1, 1, 1, same(5)),
    ]
    policy = Recorder(
        [[Start(0, 3)], [Start(1, 1)], [Resize(0, 1)], [Start(2, 1), Resize(1, 2)]],
    )
    runs = FakeElastiSim(4, specs).run(ElastisimScheduler(policy))
    assert runs[0].pieces == [(0, 3), (10, 1)]
    assert runs[2].start == 10
    assert runs[1].pieces == [(0.5, 1), (10.5, 2)]


def test_a_request_that_nobody_answers_lapses_and_one_for_fewer_nodes_is_met() -> None:
    spec = Spec(JobType.EVOLVING, 0, 1, 4, same(40), iterations=4, requests={1: 2, 2: -1})
    policy = Recorder([[Start(0, 2)]])
    runs = FakeElastiSim(4, [spec]).run(ElastisimScheduler(policy))
    assert runs[0].pieces == [(0, 2), (20, 1)]
    asked = [view.requested_nodes.tolist() for view in policy.views]
    assert asked == [[], [4], [], []]
    assert policy.views[2].resized.tolist() == [0]
    assert policy.views[2].free == 3


def test_gpus_of_jobs_that_may_choose_are_taken() -> None:
    taken: list[int] = []
    inner = ElastisimScheduler("fcfs")

    def schedule(jobs: Any, nodes: Any, system: Any) -> None:
        jobs[0].num_gpus_per_node_max = 2
        jobs[0].assign_num_gpus_per_node = taken.append
        inner(jobs, nodes, system)

    FakeElastiSim(4, [Spec(JobType.MOLDABLE, 0, 1, 4, same(5))]).run(schedule)
    assert taken == [2]


def test_jobs_without_walltime_keep_the_head_waiting_for_ever() -> None:
    specs = [Spec(JobType.RIGID, 0, 3, 3, same(5)), Spec(JobType.RIGID, 1, 4, 4, same(5), walltime=5)]
    specs.append(Spec(JobType.RIGID, 2, 1, 1, same(50), walltime=60))
    runs = FakeElastiSim(4, specs).run(ElastisimScheduler(Easy()))
    assert [run.start for run in runs] == [0, 52, 2]  # the head is never expected to start
