"""EASY as Posner 2024 has it: where all limits are equal nothing is ever backfilled."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given, strategies as st

from allocsolve.heuristics import Easy, EvolvEasyback, Fcfs
from allocsolve.instances import evotree_batch
from allocsolve.model import Amdahl, Job, WorkloadProblem
from allocsolve.simulation import Reason

#: Takes the same time on every number of nodes: so its limit is one, too.
SAME = Amdahl(0)


def as_published(moldable: Literal["max", "min", "fit"]) -> Easy:
    return Easy(extra_nodes=False, strict=True, moldable=moldable)


@st.composite
def workloads_of_one_limit(draw: st.DrawFn) -> WorkloadProblem:
    num_nodes = draw(st.integers(1, 8))
    jobs = []
    for _ in range(draw(st.integers(0, 8))):
        low, nodes, high = sorted(draw(st.integers(1, num_nodes)) for _ in range(3))
        row = draw(st.integers(0, 20)), nodes, draw(st.sampled_from([1, 2.5, 10, 30])), 20
        moldable = draw(st.booleans())
        jobs.append(Job(*row, min_nodes=low, max_nodes=high, speedup=SAME) if moldable else Job(*row))
    return WorkloadProblem(num_nodes, jobs)


@given(workloads_of_one_limit(), st.sampled_from(["max", "min", "fit"]))
def test_equal_limits_are_never_backfilled(
    problem: WorkloadProblem, moldable: Literal["max", "min", "fit"]
) -> None:
    run = as_published(moldable).simulated(problem)
    assert Reason.BACKFILLED not in run.log.reasons.tolist()
    if moldable != "fit":
        assert run.schedule == Fcfs(moldable).simulated(problem).schedule
    assert Reason.BACKFILLED not in EvolvEasyback().simulated(problem).log.reasons.tolist()


@pytest.mark.parametrize("moldable", ["max", "min", "fit"])
@pytest.mark.parametrize(("limit", "starts"), [(60, 100), (58, 100), (57.5, 2)])
def test_unequal_limits_are(moldable: Literal["max", "min", "fit"], limit: float, starts: float) -> None:
    """The head can start at 60 s: what is backfilled at 2 s has to end before that, not at it."""
    narrow = Job(2, 1, 10, limit, min_nodes=1, max_nodes=2, speedup=SAME)
    problem = WorkloadProblem(4, [Job(0, 3, 50, 60), Job(1, 4, 50, 60), narrow])
    assert as_published(moldable).simulated(problem).schedule.first_starts.tolist() == [0, 50, starts]


def test_in_the_batches_of_the_paper_easy_is_first_come_first_served() -> None:
    for seed in range(42, 47):
        problem = evotree_batch(seed, share=0)
        served = Fcfs().simulated(problem).schedule
        assert as_published("max").simulated(problem).schedule == served
        assert EvolvEasyback().simulated(problem).schedule == served
        assert Easy().simulated(problem).schedule != served
