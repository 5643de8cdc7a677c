"""Queue policies where nodes are places are their definitions: a slow twin has the same starts and nodes."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_place_policies import naive_places
from naive_places import Spot
from place_strategies import place_problems
from tiers import examples

from allocsolve.errors import UnsupportedProblem
from allocsolve.heuristics import Conservative, Easy, Fcfs, FirstFit, SlurmBackfill
from allocsolve.heuristics.workload.places import MOST_PLANNED, NODE_CHOICES
from allocsolve.heuristics.workload.policies import QUEUE_ORDERS
from allocsolve.judge import violations, workload_breaches
from allocsolve.model import Budget, Job, Jobs, NodeType, WorkloadProblem

if TYPE_CHECKING:
    from allocsolve.model import WorkloadSchedule


@st.composite
def problems(draw: st.DrawFn) -> WorkloadProblem:
    """Draw a workload whose jobs come at all times, some with head starts, some longer than expected."""
    drawn = draw(place_problems(min_jobs=1, max_jobs=18))
    longest = draw(st.sampled_from([9, 40]))
    jobs = []
    for job in drawn.jobs:
        runtime = draw(st.integers(1, longest))
        limit = draw(st.none() | st.sampled_from([runtime, 2 * runtime, 3 * runtime, 1]))
        boost = draw(st.sampled_from([0, 0, 0, 3, -2]))
        submit, eligible = draw(st.integers(0, 2 * longest)), draw(st.none() | st.integers(0, 30))
        own: dict[str, Any] = {"submit": submit, "eligible": eligible, "boost": boost, "needs": None}
        jobs.append(replace(job, runtime=runtime, limit=limit, **own))
    return WorkloadProblem(None, jobs, node_types=drawn.node_types)


def seen(schedule: WorkloadSchedule) -> tuple[list[float], list[dict[int, int]]]:
    """Return the starts of jobs, and how many chunks of each are on which node."""
    offsets, nodes, chunks = schedule.place_offsets, schedule.place_nodes, schedule.place_chunks
    assert offsets is not None
    assert nodes is not None
    assert chunks is not None
    rows = list(zip(nodes.tolist(), chunks.tolist(), strict=True))
    at = offsets.tolist()
    if schedule.place_devices is not None:
        on = schedule.place_devices.tolist()
        rows = [(node, Spot(there, tuple(devices))) for (node, there), devices in zip(rows, on, strict=True)]
    spots = [dict(rows[first:last]) for first, last in itertools.pairwise(at)]
    return schedule.first_starts.tolist(), spots


POLICIES: dict[str, st.SearchStrategy[Fcfs | FirstFit | Easy | SlurmBackfill]] = {
    "fcfs": st.builds(Fcfs, choice=st.sampled_from(NODE_CHOICES)),
    "first-fit": st.builds(FirstFit, choice=st.sampled_from(NODE_CHOICES)),
    "easy": st.builds(Easy, choice=st.sampled_from(NODE_CHOICES)),
    "options of easy": st.builds(
        Easy,
        order=st.sampled_from(QUEUE_ORDERS),
        strict=st.booleans(),
        extra_nodes=st.booleans(),
        scan_limit=st.none() | st.integers(0, 3),
        choice=st.sampled_from(NODE_CHOICES),
    ),
    "reservations": st.builds(
        Easy,
        reservations=st.sampled_from([2, 3, 5, "all"]),
        order=st.sampled_from(QUEUE_ORDERS),
        scan_limit=st.none() | st.integers(0, 3),
        choice=st.sampled_from(NODE_CHOICES),
    ),
}
SLURM = st.builds(
    SlurmBackfill,
    bf_interval=st.integers(1, 4),
    bf_window=st.just(1),
    bf_resolution=st.integers(1, 7) | st.just(40),
    bf_max_job_test=st.integers(1, 8),
    order=st.sampled_from(QUEUE_ORDERS),
    choice=st.sampled_from(NODE_CHOICES),
)


@pytest.mark.parametrize("name", [*POLICIES, "slurm"])
@settings(max_examples=examples(1000), deadline=None)
@given(problem=problems(), data=st.data())
def test_starts_and_nodes_are_those_of_the_definition(
    name: str, problem: WorkloadProblem, data: st.DataObject
) -> None:
    policy = data.draw(SLURM if name == "slurm" else POLICIES[name])
    schedule = policy.simulated(problem).schedule
    assert violations(problem, schedule) == ()
    assert seen(schedule) == naive_places(problem, policy)


@st.composite
def whole_nodes(draw: st.DrawFn) -> tuple[WorkloadProblem, WorkloadProblem]:
    """Draw a plain problem, and the same on nodes that are places of one type."""
    count = draw(st.integers(1, 8))
    jobs = []
    for _ in range(draw(st.integers(1, 25))):
        runtime = draw(st.integers(1, 20))
        limit = draw(st.none() | st.sampled_from([runtime, 2 * runtime, 4 * runtime, 1]))
        user = draw(st.sampled_from(["a", "b"]))
        jobs.append(Job(draw(st.integers(0, 60)), draw(st.integers(1, count)), runtime, limit, user=user))
    kind = NodeType("node", count, {"cpus": 8})
    return WorkloadProblem(count, jobs), WorkloadProblem(None, jobs, node_types=[kind])


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=examples(1000), deadline=None)
@given(same=whole_nodes(), data=st.data())
def test_whole_nodes_of_one_type_are_counted(
    name: str, same: tuple[WorkloadProblem, WorkloadProblem], data: st.DataObject
) -> None:
    """Start by start, and for the same reasons."""
    policy = data.draw(POLICIES[name])
    if isinstance(policy, Easy):
        estimate: Any = data.draw(st.sampled_from(["limit", "actual", "user-average"]))
        policy = replace(policy, estimate=estimate, coalesce=data.draw(st.booleans()))
    plain, places = (policy.simulated(problem) for problem in same)
    assert places.schedule.first_starts.tolist() == plain.schedule.first_starts.tolist()
    assert places.schedule.nodes.tolist() == plain.schedule.nodes.tolist()
    for column in ("started", "reasons", "blocked"):
        assert getattr(places.log, column).tolist() == getattr(plain.log, column).tolist()
    assert workload_breaches(same[1], places.schedule) == workload_breaches(same[0], plain.schedule)


@given(same=whole_nodes(), estimate=st.sampled_from(["limit", "actual"]))
def test_plans_of_all_jobs_are_those_of_conservative_backfilling(
    same: tuple[WorkloadProblem, WorkloadProblem], estimate: Any
) -> None:
    """Where they are made anew, and nobody runs longer than expected."""
    policy = Conservative("replan", estimate)
    plain, places = (policy.simulated(problem.cut_at_limits()).schedule for problem in same)
    assert places.first_starts.tolist() == plain.first_starts.tolist()


@pytest.mark.parametrize("each", [{"cpus": 1, "gpus": 1}, {"cpus": 1}], ids=str)
def test_scores_are_whole_numbers_and_the_first_of_equal_nodes_is_taken(each: dict[str, int]) -> None:
    """Who takes the only processor of a node makes fragments of all GPUs that are left: 6 to 8.

    So much scores 0 on both, and where nobody asks for a GPU all of them have been fragments before.
    """
    types = [NodeType(str(gpus), 1, {"cpus": 1, "gpus": gpus}) for gpus in (8, 7)]
    problem = WorkloadProblem(None, [Job(0, 1, 1, chunks=1, each=each)], node_types=types)
    exact, scores = (FirstFit(choice=choice).simulated(problem).schedule for choice in ("fgd", "fgd-scores"))
    assert (seen(exact)[1], seen(scores)[1]) == ([{1: 1}], [{0: 1}])


@pytest.mark.parametrize("policy", [Fcfs(), FirstFit(), Easy(choice="fgd")], ids=repr)
def test_nobody_may_come(policy: Any) -> None:
    problem = WorkloadProblem(None, [], node_types=[NodeType("node", 2, {})])
    assert seen(policy(problem, Budget()).answer) == ([], [])


def test_plans_of_very_many_jobs_are_refused() -> None:
    jobs = Jobs(*np.ones((3, MOST_PLANNED + 1), dtype=np.int64))
    problem = WorkloadProblem(None, jobs, node_types=[NodeType("node", 2, {})])
    with pytest.raises(UnsupportedProblem, match="of 2001 jobs: on nodes that are places 2000 at most"):
        Easy(reservations="all")(problem, Budget())


@pytest.mark.parametrize("policy", [Conservative(), Easy(like="hpcopt"), Easy(like="raps")], ids=repr)
def test_other_policies_are_refused(policy: Any) -> None:
    problem = WorkloadProblem(None, [Job(0, 1, 1)], node_types=[NodeType("node", 2, {})])
    with pytest.raises(UnsupportedProblem, match="places"):
        policy(problem, Budget())
