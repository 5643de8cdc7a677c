"""Running jobs that wait for each other for ever: who waits for whom, on the screen and in records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from bad_policies import first_fit
from cli_tools import Capture, refused, run
from eager_policy import eager

from allocsolve import solve
from allocsolve.bench import RecordStore
from allocsolve.errors import Deadlock
from allocsolve.heuristics import EvolvEasyback
from allocsolve.instances import write_problem
from allocsolve.model import Budget, Job, Profile, WorkloadProblem
from allocsolve.simulation import run_policy
from allocsolve.simulation.compiled import PolicySolver

if TYPE_CHECKING:
    from pathlib import Path


UNSAFE = "evolv-easyback(safe=False)"
GROWS = Job(0, 2, 20, evolution=Profile([(10, 2), (10, 3)]))
BOTH = WorkloadProblem(5, [GROWS, GROWS, Job(0, 1, 30)], name="both")
SAID = (
    "deadlock at 30 s (free nodes: 1): 'j0' holds 2 and waits for 1 more, which the policy never grants; "
    "'j1' holds 2 and waits for 1 more, which the policy never grants"
)


def test_who_is_never_answered_is_told() -> None:
    with pytest.raises(Deadlock) as caught:
        PolicySolver(first_fit)(BOTH, Budget())
    assert str(caught.value) == SAID


@pytest.mark.parametrize("policy", [eager, EvolvEasyback(safe=False)])
def test_jobs_that_hold_what_others_need_are_named(policy: Any) -> None:
    problem = WorkloadProblem(4, [GROWS, GROWS])
    with pytest.raises(Deadlock) as caught:
        solve(problem, policy)
    assert str(caught.value) == (
        "deadlock at 10 s (free nodes: 0): 'j0' holds 2 and waits for 1 more, of 'j1'; "
        "'j1' holds 2 and waits for 1 more, of 'j0'"
    )


def test_many_are_counted() -> None:
    one = Job(0, 1, 20, evolution=Profile([(10, 1), (10, 2)]))
    stopped = run_policy(WorkloadProblem(6, [one] * 6), eager).standstill
    assert stopped is not None
    assert [waits.job for waits in stopped.waiting] == [0, 1, 2, 3, 4, 5]
    told = stopped.told("abcdef")
    assert told.startswith("deadlock at 10 s (free nodes: 0): 'a' holds 1 and waits for 1 more, of 'b', 'c' ")
    assert told.endswith("of 'a', 'b' and 3 others; and 3 more jobs wait")


def test_who_ends_does_not_stand_still() -> None:
    assert run_policy(WorkloadProblem(6, [GROWS, GROWS]), eager).standstill is None
    assert run_policy(WorkloadProblem(6, [Job(0, 1, 5)]), lambda _: []).standstill is None


def test_on_the_screen_and_in_the_records(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_problem(WorkloadProblem(4, [GROWS, GROWS], name="both"), "both.json")
    said = "deadlock at 10 s (free nodes: 0): 'j0' holds 2 and waits for 1 more, of 'j1'"
    assert said in refused(capsys, "solve", "both.json", "--solver", UNSAFE)
    out = run(capsys, "score", "both.json", "--solvers", UNSAFE, "--seconds", "2", status=1)
    assert f"{UNSAFE} failed on both: Deadlock: {said}" in out
    with RecordStore("out/records.sqlite") as store:
        errors = {record.solver: record.error for record in store}
    assert errors[UNSAFE].startswith(f"Deadlock: {said}")
