"""Evolving jobs in the engine: what policies know of them, what is refused, and jobs that wait for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from bad_policies import first_fit
from cli_tools import Capture, refused, run
from eager_policy import eager

from allocsolve import solve
from allocsolve.bench import RecordStore
from allocsolve.errors import Deadlock, InvalidOption, UnknownName
from allocsolve.exact import WorkloadCpSat
from allocsolve.heuristics import (
    Conservative,
    Easy,
    EvolvEasyback,
    MalleableMin,
    Market,
    Reinsertion,
    SerialGeneration,
    SrptArea,
)
from allocsolve.instances import write_problem
from allocsolve.judge.workload.rules import workload_violations
from allocsolve.model import Amdahl, Budget, Job, Phases, Profile, Requests, WorkloadProblem
from allocsolve.simulation import (
    Answer,
    Engine,
    EngineRules,
    IllegalDecision,
    Resize,
    Start,
    forecast,
    run_policy,
    simulate,
)
from allocsolve.simulation.compiled import PolicySolver

if TYPE_CHECKING:
    from pathlib import Path

    from allocsolve.simulation import Decision, QueueView


#: A job of 100 s on 4 nodes, for which more nodes do as much more; it asks for 4 more in the middle.
ASKING = Job(*(0, 4, 100), min_nodes=2, max_nodes=8, speedup=Amdahl(1), evolution=Requests([(0.5, 4)]))


def test_what_is_known_of_profiles() -> None:
    job = Job(0, 2, 30, min_nodes=2, max_nodes=5, evolution=Profile([(10, 2), (10, 5), (10, 5)]))
    problem = WorkloadProblem(10, [job, Job(4, 7, 20)])
    known: dict[str, list[tuple[tuple[float, int], ...]]] = {}
    for knowledge in ("none", "next", "all"):
        seen = known.setdefault(knowledge, [])

        def looking(view: QueueView) -> list[Decision]:
            seen.append(view.profile(0))  # noqa: B023
            return [*eager(view)]

        run_policy(problem, looking, EngineRules(profile_knowledge=knowledge))
    assert known["none"] == [()] * 5
    assert known["next"][:3] == [((10, 2), (10, 5)), ((6, 2), (10, 5)), ((10, 5), (10, 5))]
    assert known["all"][:2] == [((10, 2), (10, 5), (10, 5)), ((6, 2), (10, 5), (10, 5))]
    with pytest.raises(UnknownName):
        EngineRules(profile_knowledge="some")  # type: ignore[arg-type]


def test_jobs_that_wait_for_each_other_wait_for_ever() -> None:
    profiles = [Profile([(20, 4), (10, 6)]), Profile([(20, 2), (10, 6)])]
    problem = WorkloadProblem(6, [Job(0, steps.steps[0][1], 30, evolution=steps) for steps in profiles])
    schedule = simulate(problem, eager)
    assert [schedule.pieces(job) for job in range(2)] == [((0, 20, 4),), ((0, 20, 2),)]
    assert "runs in 1 pieces, but has 2 steps" in workload_violations(problem, schedule)[0]


def test_illegal_answers() -> None:
    phases = Job(0, 1, 40, min_nodes=1, max_nodes=4, evolution=Phases([(40, None)]))
    engine = Engine(WorkloadProblem(8, [phases, ASKING]))
    engine.advance()
    engine.apply([Start(0, 1), Start(1, 4)])
    view = engine.advance()
    assert view is not None
    assert (view.now, view.requests.tolist(), view.requested_nodes.tolist()) == (0, [0], [2])
    for decisions, matter in (
        ([Answer(0, granted=False)], "is refused nodes, but asks until it gets them"),
        ([Answer(1)], "has no open request"),
        ([Answer(0), Answer(0)], "has no open request"),
        ([Answer(9)], "has no open request"),
        ([Resize(1, 5)], "cannot change its size: it is not malleable"),
    ):
        with pytest.raises(IllegalDecision, match=matter):
            engine.apply(decisions)
    with pytest.raises(IllegalDecision, match="is for workloads with evolving jobs"):
        Engine(WorkloadProblem(1, [Job(0, 1, 1)])).apply([Answer(0)])


@pytest.mark.parametrize("policy", [Easy(), Conservative(), MalleableMin(), Market(), SrptArea()])
def test_who_answers_no_requests_refuses_evolving_jobs(policy: Any) -> None:
    with pytest.raises(InvalidOption, match="job 'j0' is evolving: it asks for nodes"):
        policy(WorkloadProblem(10, [ASKING]), Budget())


@pytest.mark.parametrize("solver", [SerialGeneration(), Reinsertion(), WorkloadCpSat()])
def test_who_plans_constant_sizes_refuses_evolving_jobs(solver: Any) -> None:
    with pytest.raises(InvalidOption, match="job 'j1' is evolving: this solver plans jobs that keep"):
        solver(WorkloadProblem(10, [Job(0, 1, 1), ASKING]), Budget())


def test_there_is_no_forecast_of_evolving_jobs() -> None:
    view = Engine(WorkloadProblem(10, [ASKING])).advance()
    assert view is not None
    with pytest.raises(InvalidOption, match="job 0 is evolving"):
        forecast(view, eager)


# --- Deadlocks ----------------------------------------------------------------------------------------


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
