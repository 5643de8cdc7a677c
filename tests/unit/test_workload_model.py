"""Jobs, workloads and schedules: what they hold, what they refuse, and in which words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from allocsolve.errors import InvalidAnswer, InvalidProblem
from allocsolve.model import Amdahl, Job, Jobs, PowerLaw, SpeedupTable, WorkloadProblem, WorkloadSchedule

#: Takes lists, too.
PIECES: Any = WorkloadSchedule


def test_rows_and_columns_are_the_same_jobs() -> None:
    rows = [
        Job(0, 4, 600, 900, "first", "ada"),
        Job(2.5, 2, 0.25, weight=0),
        Job(3, 2, 60, min_nodes=1, max_nodes=4, speedup=Amdahl(0.9)),
    ]
    jobs = Jobs.of(rows)
    assert [job.name for job in jobs] == ["first", "j1", "j2"]
    assert jobs[0] == Job(0, 4, 600, 900, "first", "ada", min_nodes=4, max_nodes=4, kind="rigid")
    assert jobs[-1].speedup == Amdahl(0.9)
    assert jobs[1:] == Jobs.of([jobs[1], jobs[2]])
    assert Jobs.of(jobs) is jobs
    assert jobs.packed.estimate.tolist() == [900, 0.3125, 75]
    with pytest.raises(IndexError):
        jobs[3]


def test_run_times_follow_the_law() -> None:
    laws = (None, Amdahl(0.5), PowerLaw(0.5), SpeedupTable([(1, 30), (4, 10)]))
    rows = [Job(0, 4, 10, min_nodes=None if law is None else 1, max_nodes=4, speedup=law) for law in laws]
    problem = WorkloadProblem(4, rows)
    assert problem.run_times(np.array([4, 4, 4, 4])).tolist() == [10, 10, 10, 10]
    on_one = problem.run_times(np.array([1, 1, 1, 1]))
    assert math.isnan(on_one[0])
    assert on_one[1:].tolist() == pytest.approx([10 / 0.625, 20, 30])
    assert np.isnan(problem.run_times(np.array([5, 0, 5, 2]))).all()
    assert problem.horizon == pytest.approx(10 + 16 + 20 + 30)
    assert not problem.is_exact
    assert WorkloadProblem(4, rows[:1]).is_exact


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no nodes": ({"nodes": 0}, "job 'j0': nodes 0 is not in 1..2^53"),
    "half a node": ({"nodes": 1.5}, "job 0: nodes 1.5 is not an integer up to 2^53"),
    "too wide": ({"nodes": 9}, "job 'j0': 9 nodes on a cluster of 8"),
    "before time": ({"submit": -1}, "job 'j0': submit -1 is not in 0..2^53"),
    "never": ({"submit": math.inf}, "job 'j0': submit inf is not in 0..2^53"),
    "no time": ({"runtime": 0}, "job 'j0': runtime 0 is not in 0..2^53, above 0"),
    "no number": ({"runtime": "long"}, "runtime ['long'] are not numbers"),
    "no limit": ({"limit": 0}, "job 'j0': limit 0 is not in 0..2^53, above 0"),
    "weight": ({"weight": -2}, "job 'j0': weight -2 is not in 0..2^53"),
    "name": ({"name": 7}, "job 0: names 7 is not of the type str"),
    "user": ({"user": 7}, "job 0: users 7 is not of the type str"),
    "elastic without law": ({"max_nodes": 4}, "max_nodes 4 is not in nodes: a job without speedup is rigid"),
    "below": (
        {"min_nodes": 3, "max_nodes": 4, "speedup": Amdahl(1)},
        "job 'j0': nodes 2 is not in min_nodes..max_nodes, 3..4",
    ),
    "law": ({"speedup": 0.9}, "speedup 0.9 of job 0 is none of Amdahl, PowerLaw, SpeedupTable and Overhead"),
    "table": (
        {"min_nodes": 1, "speedup": SpeedupTable([(1, 9), (2, 6)])},
        "job 'j0': the speedup table has no row [2, 5.0]",
    ),
    "range of a table": (
        {"min_nodes": 1, "max_nodes": 4, "speedup": SpeedupTable([(1, 9), (2, 5)])},
        "job 'j0': the speedup table has 1..2 nodes, min_nodes..max_nodes are 1..4",
    ),
}


@pytest.mark.parametrize(("changes", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_job_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidProblem) as caught:
        WorkloadProblem(8, [Job(**{"submit": 0, "nodes": 2, "runtime": 5, **changes})])
    assert message in str(caught.value)


def test_what_is_wrong_with_all_of_it() -> None:
    job = Job(0, 1, 1)
    for make, message in (
        (lambda: WorkloadProblem(0, ()), "num_nodes 0 is not in 1..2^53"),
        (lambda: WorkloadProblem(1, [Job(0, 1, 1, name="a")] * 2), "job name 'a' is used twice"),
        (lambda: WorkloadProblem(1, [job, 7]), "job 1 7 is not of the type Job"),  # type: ignore[list-item]
        (lambda: WorkloadProblem(1, 7), "jobs 7 is not a sequence"),  # type: ignore[arg-type]
        (lambda: Jobs([0, 1], [1], [1, 1]), "1 nodes for 2 jobs"),
        (lambda: Jobs([0], [1], [1], names=["a", "b"]), "2 names for 1 jobs"),
        (lambda: WorkloadProblem(1, [Job(2**53, 1, 2**53)]), "latest submission plus all run times"),
        (lambda: Amdahl(1.5), "amdahl 1.5 is not in 0..1"),
        (lambda: PowerLaw(-1), "power -1 is not in 0..1"),
        (lambda: SpeedupTable([]), "a speedup table has no rows"),
        (lambda: SpeedupTable([(2, 1), (1, 2)]), "speedup table: 1 nodes after 2"),
        (lambda: SpeedupTable([(0, 1)]), "nodes 0 of a speedup table are not in 1..2^53"),
        (lambda: SpeedupTable([(1, 0)]), "seconds 0 of a speedup table are not in 0..2^53, above 0"),
        (lambda: SpeedupTable([(1, 2, 3)]), "is no pair of nodes and seconds"),  # type: ignore[list-item]
    ):
        with pytest.raises(InvalidProblem) as caught:
            make()
        assert message in str(caught.value)


def test_schedules_refuse_what_does_not_belong_together() -> None:
    problem = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10)])
    for make, message in (
        (lambda: PIECES([1, 2], [0], [1], [1]), "offsets must start at 0 and never fall"),
        (lambda: PIECES([0, 1], [0, 1], [1, 2], [1, 1]), "for 1 pieces"),
        (lambda: PIECES([0, 1], [math.nan], [1], [1]), "are not all in -2^53..2^53"),
        (lambda: PIECES([0, 1], ["a"], [1], [1]), "starts ['a'] are not numbers"),
        (lambda: WorkloadSchedule.of(problem, [0]), "(1,) starts and (2,) sizes for 2 jobs"),
        (lambda: WorkloadSchedule.of(problem, [0, 1], [3, 3]), "job 'j1' cannot run on 3 nodes"),
    ):
        with pytest.raises(InvalidAnswer) as caught:
            make()
        assert message in str(caught.value)
    pieces = PIECES([0, 2, 2], [0, 5], [3, 9], [1, 2])
    assert pieces.pieces(0) == ((0, 3, 1), (5, 9, 2))
    assert pieces.first_starts[0] == 0
    assert pieces.last_ends[0] == 9
    assert np.isnan(pieces.last_ends[1])
