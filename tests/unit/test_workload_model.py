"""Workloads and their schedules: the model, and what may be left out of files."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from format_draws import random_workload_of
from hypothesis import given, settings, strategies as st
from tiers import examples

from allocsolve.errors import AllocsolveError, FormatError, InvalidAnswer, InvalidProblem, UnsupportedProblem
from allocsolve.heuristics import Conservative, Easy
from allocsolve.instances import digest, parse_problem, problem_document, read_problem, solution_document
from allocsolve.judge import workload_metrics, workload_violations
from allocsolve.model import (
    Amdahl,
    Budget,
    ClosedWindow,
    Job,
    Jobs,
    PowerLaw,
    Profile,
    SpeedupTable,
    WorkloadProblem,
    WorkloadSchedule,
    packed_machine,
)
from allocsolve.simulation import EngineRules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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


_BAD_MACHINES: list[tuple[dict[str, Any], str]] = [
    ({"resources": {"gpus": 0}}, "resources: gpus 0 is not in 1..2^53"),
    ({"resources": {"gpus": 1.5}}, "resources: gpus 1.5 is not an integer"),
    ({"resources": 7}, "resources 7 is not a mapping from names to amounts"),
    ({"resources": {"": 1}}, "resources: the name '' of a resource is not a text"),
    ({"resources": {"nodes": 3}}, "resources: the name 'nodes' is taken"),
    ({"closed": [(0, 5)]}, "closed[0] (0, 5) is not of the type ClosedWindow"),
    (
        {"closed": [ClosedWindow(3, 5, {"gpus": 1})]},
        "closed window from 3 s: the machine has no 'gpus', only nodes",
    ),
    ({"closed": [ClosedWindow(3, 5, {"nodes": 9})]}, "closed window from 3 s: closes 9 nodes of 8"),
]
_BAD_JOBS: list[tuple[dict[str, Any], str]] = [
    ({"needs": {"tapes": 1}}, "job 'a' needs 'tapes': the machine has no such resource, only gpus, long"),
    ({"needs": {"gpus": 5}}, "job 'a' needs 5 gpus of 4"),
    ({"needs": {"gpus": -1}}, "job 'a': needs: gpus -1 is not in 0..2^53"),
    ({"partition": "long"}, "job 'a' needs 3 long of 2"),
    ({"partition": ""}, "job 'a': partition '' has no name"),
    ({"nodes": 1, "partition": "gpus", "needs": {"gpus": 1}}, "partition 'gpus' is also among its needs"),
    ({"eligible": -2}, "job 'a': eligible -2 is not in 0..2^53"),
    ({"boost": float("inf")}, "job 'a': boost inf is not in -2^53..2^53"),
    (
        {"min_nodes": 1, "max_nodes": 3, "speedup": Amdahl(0.5), "needs": {"gpus": 1}},
        "job 'a' is not rigid, but needs 'gpus': only rigid jobs need more than nodes",
    ),
]


@pytest.mark.parametrize(("machine", "message"), _BAD_MACHINES)
def test_what_a_machine_cannot_be(machine: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidProblem, match=f"^{re.escape(message)}$"):
        WorkloadProblem(8, [], **machine)


@pytest.mark.parametrize(("fields", "message"), _BAD_JOBS)
def test_what_jobs_cannot_need(fields: dict[str, Any], message: str) -> None:
    row = {"submit": 0, "nodes": 3, "runtime": 5, "name": "a", **fields}
    with pytest.raises(InvalidProblem, match=re.escape(message)):
        WorkloadProblem(8, [Job(**row)], resources={"gpus": 4, "long": 2})


@pytest.mark.parametrize(("start", "end"), [(-1, 3), (3, 3), (0, float("inf")), (float("nan"), 1)])
def test_windows_have_a_start_before_their_end(start: float, end: float) -> None:
    with pytest.raises(InvalidProblem, match=r"not 0 <= start < end"):
        ClosedWindow(start, end)


def test_a_file_with_faults_names_each_place() -> None:
    jobs = [{"submit": 0, "nodes": 1, "runtime": 1, "needs": {"gpus": True}, "eligible": "x", "boost": []}]
    closed = [{"start": 5, "end": 4}, {"end": 1, "nodes": 0}, 7]
    document = {"format": "allocsolve/1", "kind": "workload", "num_nodes": 2, "jobs": jobs}
    with pytest.raises(FormatError) as caught:
        parse_problem({**document, "closed": closed, "resources": {"gpus": "two"}}, "file")
    assert caught.value.faults == (
        "jobs[0].needs.gpus: must be an integer, not true",
        "jobs[0].eligible: must be a number or null, not 'x'",
        "jobs[0].boost: must be a number or null, not a list of 0",
        "closed[1].start: missing",
        "closed[1].nodes: 0 is below 1",
        "closed[2]: must be an object, not 7",
        "resources.gpus: must be an integer, not 'two'",
    )
    closed, jobs = closed[:1], [{"submit": 0, "nodes": 1, "runtime": 1}]
    with pytest.raises(FormatError, match=r"closed\[0\].end: end 4 is not above start 5"):
        parse_problem({**document, "jobs": jobs, "closed": closed}, "file")


def test_a_table_names_the_resources_of_its_columns(tmp_path: Path) -> None:
    table = tmp_path / "jobs.csv"
    table.write_text(
        "submit,nodes,runtime,num_nodes,need_gpus,num_gpus,partition,num_7,eligible,boost\n"
        "0,2,5,8,4,6,7,3,9,-1\n1,1,5,8,,6,,3,,\n"
    )
    problem = read_problem(table)
    assert isinstance(problem, WorkloadProblem)
    assert problem.resources == (("7", 3), ("gpus", 6))
    assert [(job.needs, job.partition, job.eligible, job.boost) for job in problem.jobs] == [
        ({"gpus": 4}, "7", 9, -1),
        (None, None, None, 0),
    ]
    table.write_text("submit,nodes,runtime,num_nodes,need_gpus\n0,2,5,8,4\n")
    with pytest.raises(FormatError, match=r"needs 'gpus': the machine has no such resource"):
        read_problem(table)


def test_what_windows_close_adds_up_and_ends() -> None:
    closed = [ClosedWindow(2, 6, {"nodes": 5}), ClosedWindow(0, 4, {"nodes": 6}), ClosedWindow(6, 7)]
    machine = packed_machine(WorkloadProblem(8, [], resources={"gpus": 3}, closed=closed))
    assert machine.names == ("nodes", "gpus")
    assert machine.times.tolist() == [0, 2, 4, 6, 7]
    assert machine.capacity.tolist() == [[2, 3], [0, 3], [3, 3], [0, 0], [8, 3]]


def test_the_judge_names_resource_time_and_amounts() -> None:
    jobs = [Job(0, 4, 10, needs={"gpus": 2}), Job(0, 2, 10, needs={"gpus": 1}, eligible=3)]
    closed = [ClosedWindow(5, 8, {"nodes": 4})]
    problem = WorkloadProblem(8, jobs, resources={"gpus": 2}, closed=closed)
    assert workload_violations(problem, WorkloadSchedule.of(problem, [0, 1])) == (
        "job 'j1' starts at 1 s, before it is eligible at 3 s",
        "from 5 s to 8 s more nodes are held than there are, most at 5 s: 6 of 4",
        "from 1 s to 10 s more gpus are held than there are, most at 1 s: 3 of 2",
    )
    good = WorkloadSchedule.of(problem, [0, 10])
    assert workload_violations(problem, good) == ()
    # 4 x 10 + 2 x 10 node-seconds of 8 x 20 - 4 x 3.
    assert workload_metrics(problem, good).utilisation == pytest.approx(60 / 148)


_REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (
        Easy(),
        {"limit": 3},
        "job 'a' runs for 5 s, but is expected to run for 3 s: it would run into closed windows",
    ),
    (Conservative(), {"limit": 3}, "job 'a' runs for 5 s, but is expected to run for 3 s"),
    (
        Easy(estimate="user-average"),
        {},
        "estimate='user-average': with closed windows jobs must not run longer",
    ),
    (Easy(reservations=2), {"limit": 3}, "job 'a' runs for 5 s, but is expected to run for 3 s"),
    (Easy(like="raps"), {}, "the workload has closed windows, which the tool that like= names does not know"),
    (Easy(like="cqsim"), {"limit": 3}, "job 'a' runs for 5 s, but is expected to run for 3 s"),
]


@pytest.mark.parametrize(("policy", "fields", "message"), _REFUSED)
def test_what_policies_do_not_take(policy: Any, fields: dict[str, Any], message: str) -> None:
    job = Job(**{"submit": 0, "nodes": 3, "runtime": 5, "name": "a", **fields})
    with pytest.raises(UnsupportedProblem, match=re.escape(message)):
        policy(WorkloadProblem(8, [job], closed=[ClosedWindow(50, 60)]), Budget())


def test_limits_that_cut_make_room_for_windows() -> None:
    problem = WorkloadProblem(8, [Job(0, 3, 5, limit=3), Job(0, 3, 2)], closed=[ClosedWindow(4, 9)])
    schedule = Easy().simulated(problem, EngineRules(kill_at_limit=True)).schedule
    assert schedule.first_starts.tolist() == [0, 0]
    assert schedule.last_ends.tolist() == [3, 2]
    assert Easy(estimate="actual").simulated(problem).schedule.first_starts.tolist() == [9, 0]


def test_plain_fields_stay_plain() -> None:
    said = WorkloadProblem(4, [Job(5, 1, 1, needs={}, partition=None, eligible=5, boost=0)])
    assert said.is_plain
    assert said == WorkloadProblem(4, [Job(5, 1, 1)])
    with pytest.raises(UnsupportedProblem, match="has head starts, which are not taken into account here"):
        _ = WorkloadProblem(4, [Job(5, 1, 1, boost=1)]).packed
    with pytest.raises(AllocsolveError, match="closed windows and counted resources"):
        _ = WorkloadProblem(4, [], resources={"gpus": 1}, closed=[ClosedWindow(0, 1)]).packed


# --- Workload json ------------------------------------------------------------------------------------

PROBLEM = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10)])


def test_a_schedule_of_another_problem_is_not_written() -> None:
    other = WorkloadSchedule.of(WorkloadProblem(4, [Job(0, 1, 1)]), [0])
    with pytest.raises(InvalidAnswer, match="1 scheduled jobs for 2 submitted"):
        solution_document(PROBLEM, other, {})


def test_tables_of_speedups_are_written() -> None:
    table = SpeedupTable([(1, 8), (2, 5.5)])
    problem = WorkloadProblem(2, [Job(0, 1, 8, min_nodes=1, max_nodes=2, speedup=table)])
    document = problem_document(problem)
    assert document["jobs"][0]["speedup"] == {"table": [[1, 8], [2, 5.5]]}
    assert parse_problem(document, "p.json") == problem


STEPS = [[10, 2], [10, 3]]


def stated(row: dict[str, Any]) -> Iterator[str]:
    """Yield the fields of a job in a file that its other fields say."""
    table = "table" in row.get("speedup", {})
    if "profile" in row:
        yield from ("nodes", "runtime", "min_nodes", "max_nodes")
    elif table:
        yield from ("runtime", "min_nodes", "max_nodes")
    elif "phases" in row:
        yield "runtime"


@settings(max_examples=examples(200))
@given(st.integers(0, 10_000), st.data())
def test_any_of_them_may_be_left_out(seed: int, data: st.DataObject) -> None:
    problem = random_workload_of(seed, "roaqps")
    document = problem_document(problem)
    for row in document["jobs"]:
        for field in [*stated(row)]:
            if data.draw(st.booleans()):
                row.pop(field, None)
    assert digest(parse_problem(document, "mine.json")) == digest(problem)


@settings(max_examples=examples(100))
@given(st.integers(0, 10_000))
def test_jobs_and_columns_take_the_range_from_the_profile_or_the_table(seed: int) -> None:
    problem = random_workload_of(seed, "roaqps")
    said = [job for job in problem.jobs if isinstance(job.evolution or job.speedup, Profile | SpeedupTable)]
    bare = [replace(job, min_nodes=None, max_nodes=None) for job in said]
    assert Jobs.of(bare) == Jobs.of(said)
    if said:
        columns = Jobs(
            *([getattr(job, name) for job in said] for name in ("submit", "nodes", "runtime")),
            speedups=[job.speedup for job in said],
            evolutions=[job.evolution for job in said],
        )
        whole = Jobs.of(said).packed
        assert columns.packed.min_nodes.tolist() == whole.min_nodes.tolist()
        assert columns.packed.max_nodes.tolist() == whole.max_nodes.tolist()


def test_a_profile_alone_is_a_job() -> None:
    job = Job(0, 2, 20, evolution=Profile([(10, 2), (10, 3)]))
    problem = WorkloadProblem(4, [job])
    head = {"format": "allocsolve/1", "kind": "workload", "num_nodes": 4}
    assert digest(parse_problem({**head, "jobs": [{"submit": 0, "profile": STEPS}]}, "f")) == digest(problem)
