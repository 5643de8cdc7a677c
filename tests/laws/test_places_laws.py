"""Queue policies where nodes are places are their definitions: a slow twin has the same starts and nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_place_policies import naive_places
from place_strategies import POLICIES, SLURM, closed_windows, problems, seen
from tiers import examples

from allocsolve.errors import UnsupportedProblem
from allocsolve.heuristics import Conservative, Easy, Fcfs, FirstFit, SlurmBackfill
from allocsolve.heuristics.workload.on_places import MOST_PLANNED
from allocsolve.judge import violations, workload_breaches
from allocsolve.model import Budget, Job, Jobs, NodeType, WorkloadProblem


@st.composite
def problems_with_windows(draw: st.DrawFn) -> WorkloadProblem:
    """Draw the same with nodes that are closed for a time; nobody runs longer than expected."""
    drawn = draw(problems())
    jobs = [replace(job, limit=max(job.runtime, job.limit or 1)) for job in drawn.jobs]
    return replace(drawn, jobs=Jobs.of(jobs), closed=draw(closed_windows(drawn.num_nodes, latest=50)))


def is_its_definition(policy: Fcfs | FirstFit | Easy | SlurmBackfill, problem: WorkloadProblem) -> None:
    schedule = policy.simulated(problem).schedule
    assert violations(problem, schedule) == ()
    assert seen(schedule) == naive_places(problem, policy)


@pytest.mark.parametrize("name", [*POLICIES, "slurm"])
@settings(max_examples=examples(1000), deadline=None)
@given(problem=problems(), data=st.data())
def test_starts_and_nodes_are_those_of_the_definition(
    name: str, problem: WorkloadProblem, data: st.DataObject
) -> None:
    is_its_definition(data.draw(SLURM if name == "slurm" else POLICIES[name]), problem)


@pytest.mark.parametrize("name", [*POLICIES, "slurm"])
@settings(max_examples=examples(1000), deadline=None)
@given(problem=problems_with_windows(), data=st.data())
def test_nobody_is_on_a_closed_node(name: str, problem: WorkloadProblem, data: st.DataObject) -> None:
    """Starts and nodes are those of the slow twin, and the judge finds nothing."""
    is_its_definition(data.draw(SLURM if name == "slurm" else POLICIES[name]), problem)


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
