"""Evolving jobs in the engine: what policies know of them, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eager_policy import eager

from allocsolve.errors import InvalidOption, UnknownName
from allocsolve.exact import WorkloadCpSat
from allocsolve.heuristics import (
    Conservative,
    Easy,
    MalleableMin,
    Market,
    Reinsertion,
    SerialGeneration,
    SrptArea,
)
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

if TYPE_CHECKING:
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
