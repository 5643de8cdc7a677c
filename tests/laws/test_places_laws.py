"""Queue policies where nodes are places are their definitions: a slow twin has the same starts and nodes."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings, strategies as st
from naive_place_policies import Machine, naive_places
from tiers import examples

from allocsolve.errors import UnsupportedProblem
from allocsolve.heuristics import Easy, Fcfs, FirstFit, SlurmBackfill
from allocsolve.heuristics.workload.places import NODE_CHOICES
from allocsolve.heuristics.workload.policies import QUEUE_ORDERS
from allocsolve.model import Budget, Job, NodeType, WorkloadProblem

if TYPE_CHECKING:
    from allocsolve.heuristics.workload.places import NodeChoice
    from allocsolve.model import WorkloadSchedule


@st.composite
def places_problems(draw: st.DrawFn, *, max_jobs: int = 10) -> WorkloadProblem:
    """Few nodes of few types, and jobs of all sorts, each of which fits the empty machine."""
    names = draw(st.sampled_from([("cpus",), ("cpus", "mem"), ("cpus", "mem", "gpus"), ("cpus", "gpus"), ()]))
    types = [
        NodeType(
            name,
            draw(st.integers(1, 3)),
            {resource: draw(st.integers(0 if resource == "gpus" else 2, 9)) for resource in names},
            weight=draw(st.sampled_from([0, 0, 1])),
        )
        for name in "abc"[: draw(st.integers(1, 3))]
    ]
    jobs = []
    for idx in range(draw(st.integers(1, max_jobs))):
        runtime = draw(st.integers(1, 9))
        times: dict[str, Any] = {
            "submit": draw(st.integers(0, 12)),
            "runtime": runtime,
            "limit": draw(st.none() | st.sampled_from([runtime, 2 * runtime, 3 * runtime, 1])),
            "boost": draw(st.sampled_from([0, 0, 0, 3, -2])),
        }
        some = draw(st.none() | st.sets(st.sampled_from([kind.name for kind in types]), min_size=1))
        more: dict[str, Any] = {"types": sorted(some)} if some else {}
        if draw(st.integers(0, 4)):
            more["chunks"] = draw(st.integers(1, 4))
            more["each"] = {resource: draw(st.integers(0, 4)) for resource in names}
            more["per_node"] = draw(st.sampled_from([None, 1, 2]))
            more["exclusive"] = draw(st.integers(0, 4)) == 0
            more["nodes"] = draw(st.integers(1, more["chunks"]))
        else:
            more["nodes"] = draw(st.integers(1, 3))
        job = Job(**times, **more, name=f"j{idx}")
        machine = Machine(WorkloadProblem(None, [Job(0, 1, 1)], node_types=types), "first")
        machine.jobs = [job]
        jobs.append(job if machine.fits(0, machine.rooms(0, {})) else Job(**times, nodes=1, name=f"j{idx}"))
    return WorkloadProblem(None, jobs, node_types=types)


def seen(schedule: WorkloadSchedule) -> tuple[list[float], list[dict[int, int]]]:
    """Return the starts of jobs, and how many chunks of each are on which node."""
    offsets, nodes, chunks = schedule.place_offsets, schedule.place_nodes, schedule.place_chunks
    assert offsets is not None
    assert nodes is not None
    assert chunks is not None
    rows = list(zip(nodes.tolist(), chunks.tolist(), strict=True))
    at = offsets.tolist()
    spots = [dict(rows[first:last]) for first, last in itertools.pairwise(at)]
    return schedule.first_starts.tolist(), spots


@pytest.mark.parametrize("kind", ["fcfs", "first-fit", "easy"])
@settings(max_examples=examples(1000), deadline=None)
@given(problem=places_problems(), choice=st.sampled_from(NODE_CHOICES))
def test_starts_and_nodes_are_those_of_the_definition(
    kind: str, problem: WorkloadProblem, choice: NodeChoice
) -> None:
    policies = {
        "fcfs": Fcfs(choice=choice),
        "first-fit": FirstFit(choice=choice),
        "easy": Easy(choice=choice),
    }
    assert seen(policies[kind].simulated(problem).schedule) == naive_places(problem, kind, choice)


@settings(max_examples=examples(1000), deadline=None)
@given(
    problem=places_problems(),
    easy=st.builds(
        Easy,
        order=st.sampled_from(QUEUE_ORDERS),
        strict=st.booleans(),
        extra_nodes=st.booleans(),
        scan_limit=st.none() | st.integers(0, 3),
        choice=st.sampled_from(NODE_CHOICES),
    ),
)
def test_so_are_those_of_the_options_of_easy(problem: WorkloadProblem, easy: Easy) -> None:
    assert seen(easy.simulated(problem).schedule) == naive_places(
        problem,
        "easy",
        easy.choice,
        order=easy.order,
        strict=easy.strict,
        extra_nodes=easy.extra_nodes,
        scan_limit=easy.scan_limit,
    )


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


@settings(max_examples=examples(1000), deadline=None)
@given(
    problems=whole_nodes(),
    policy=st.builds(Fcfs, choice=st.sampled_from(NODE_CHOICES))
    | st.builds(FirstFit, choice=st.sampled_from(NODE_CHOICES))
    | st.builds(
        Easy,
        order=st.sampled_from(QUEUE_ORDERS),
        strict=st.booleans(),
        extra_nodes=st.booleans(),
        estimate=st.sampled_from(["limit", "actual", "user-average"]),
        scan_limit=st.none() | st.integers(0, 3),
        coalesce=st.booleans(),
        choice=st.sampled_from(NODE_CHOICES),
    ),
)
def test_whole_nodes_of_one_type_are_counted(
    problems: tuple[WorkloadProblem, WorkloadProblem], policy: Easy | Fcfs | FirstFit
) -> None:
    """Start by start, and for the same reasons."""
    plain, places = (policy.simulated(problem) for problem in problems)
    assert places.schedule.first_starts.tolist() == plain.schedule.first_starts.tolist()
    assert places.schedule.nodes.tolist() == plain.schedule.nodes.tolist()
    for column in ("started", "reasons", "blocked"):
        assert getattr(places.log, column).tolist() == getattr(plain.log, column).tolist()


def test_scores_are_whole_numbers_and_ties_go_to_the_first_node() -> None:
    """A growth of fragments by half a GPU is less than one by 1, and no score tells it from one of 0.02.

    Three of four jobs ask for one GPU and one for two. Where a job leaves one GPU of three, the typical job
    of two does not fit any more, so that its share of that GPU is lost.
    """
    types = [NodeType("three", 1, {"gpus": 3}), NodeType("two", 1, {"gpus": 2})]
    one, two = ({"chunks": 1, "each": {"gpus": gpus}} for gpus in (1, 2))
    jobs = [Job(9, 1, 1, **one), Job(99, 1, 1, **one), Job(999, 1, 1, **one), Job(0, 1, 1, **two)]  # type: ignore[arg-type]  # fields by name
    problem = WorkloadProblem(None, jobs, node_types=types)
    exact, scored = (Easy(choice=choice).simulated(problem).schedule for choice in ("fgd", "fgd-scores"))
    assert seen(exact)[1] == [{0: 1}, {0: 1}, {0: 1}, {1: 2}]
    assert seen(scored)[1] == [{0: 1}, {0: 1}, {0: 1}, {0: 2}]


@pytest.mark.parametrize("policy", [SlurmBackfill(), Easy(reservations=2), Easy(like="raps")], ids=repr)
def test_other_policies_are_refused(policy: Any) -> None:
    problem = WorkloadProblem(None, [Job(0, 1, 1)], node_types=[NodeType("node", 2, {})])
    with pytest.raises(UnsupportedProblem, match="places"):
        policy(problem, Budget())
