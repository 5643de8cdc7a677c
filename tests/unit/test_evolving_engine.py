"""Evolving jobs and stalls in the engine: what happens in small cases, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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
from allocsolve.model import Amdahl, Budget, Job, Join, Phases, Profile, Requests, Stall, WorkloadProblem
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


def generous(view: QueueView) -> list[Decision]:
    """Grant what is there, then start jobs on their own nodes."""
    decisions: list[Decision] = []
    free, held = view.free, dict(zip(view.running.tolist(), view.held.tolist(), strict=True))
    for job, nodes in zip(view.requests.tolist(), view.requested_nodes.tolist(), strict=True):
        if nodes - held[job] <= free:
            decisions.append(Answer(job))
            free -= nodes - held[job]
    for job in view.queue.tolist():
        nodes = int(view.jobs.nodes[job])
        if nodes <= free:
            decisions.append(Start(job, nodes))
            free -= nodes
    return decisions


def asking(*events: tuple[float, int], stall: Stall | None = None) -> Job:
    """Return a job of 100 s on 4 nodes, for which more nodes do as much more."""
    return Job(
        0,
        4,
        100,
        min_nodes=2,
        max_nodes=8,
        speedup=Amdahl(1),
        evolution=Requests(events),
        reconfiguration=stall,
    )


def test_a_job_stalls_and_holds_the_larger_number() -> None:
    problem = WorkloadProblem(10, [asking((0.75, 4), (0.5, -3), (0.25, 1), stall=Stall(2, holds="larger"))])
    schedule = simulate(problem, generous)
    assert schedule.pieces(0)[:3] == ((0, 25, 4), (25, 41.5, 8), (41.5, 61.5, 5))
    assert not workload_violations(problem, schedule)


def test_a_request_is_clipped_replaced_or_refused() -> None:
    seen: list[tuple[float, list[int]]] = []

    def refusing(view: QueueView) -> list[Decision]:
        seen.append((view.now, view.requested_nodes.tolist()))
        return [
            *(Answer(job, granted=False) for job in view.requests if view.now > 60),
            *generous_starts(view),
        ]

    problem = WorkloadProblem(10, [asking((0.9, 1), (0.6, 9), (0.3, 2), (0.2, -1))])
    simulate(problem, refusing)
    assert seen[:4] == [(0, []), (10, [5]), (40, [8]), (70, [6])]
    assert seen[4:] == [(80, []), (pytest.approx(80 + 20 * 4 / 3), [])]


def generous_starts(view: QueueView) -> list[Decision]:
    return [decision for decision in generous(view) if isinstance(decision, Start)]


def test_phases() -> None:
    # Two nodes more, of which each comes 4 s later; in the second phase one goes back after 10 s, and 4 more.
    phases = Phases([(40, None), (20, 1), (40, None)], release_delay=10)
    job = Job(0, 2, 65, min_nodes=1, max_nodes=4, evolution=phases, reconfiguration=Join(5, 4, 4))
    schedule = simulate(WorkloadProblem(4, [job]), generous)
    assert schedule.pieces(0) == ((0, 5, 2), (5, 9, 3), (9, 32, 4), (32, 38, 3), (38, 49, 4))


def test_jobs_that_wait_for_each_other_wait_for_ever() -> None:
    profiles = [Profile([(20, 4), (10, 6)]), Profile([(20, 2), (10, 6)])]
    jobs = [
        Job(0, steps.steps[0][1], 30, min_nodes=steps.steps[0][1], max_nodes=6, evolution=steps)
        for steps in profiles
    ]
    problem = WorkloadProblem(6, jobs)
    schedule = simulate(problem, generous)
    assert [schedule.pieces(job) for job in range(2)] == [((0, 20, 4),), ((0, 20, 2),)]
    assert "runs in 1 pieces, but has 2 steps" in workload_violations(problem, schedule)[0]


def test_what_is_known_of_profiles() -> None:
    job = Job(0, 2, 30, min_nodes=2, max_nodes=5, evolution=Profile([(10, 2), (10, 5), (10, 5)]))
    problem = WorkloadProblem(10, [job, Job(4, 7, 20)])
    known: dict[str, list[tuple[tuple[float, int], ...]]] = {}
    for knowledge in ("none", "next", "all"):
        seen = known.setdefault(knowledge, [])

        def looking(view: QueueView) -> list[Decision]:
            seen.append(view.profile(0))  # noqa: B023
            return generous(view)

        run_policy(problem, looking, EngineRules(profile_knowledge=knowledge))
    assert known["none"] == [()] * 5
    assert known["next"][:3] == [((10, 2), (10, 5)), ((6, 2), (10, 5)), ((10, 5), (10, 5))]
    assert known["all"][:2] == [((10, 2), (10, 5), (10, 5)), ((6, 2), (10, 5), (10, 5))]
    with pytest.raises(UnknownName):
        EngineRules(profile_knowledge="some")  # type: ignore[arg-type]


def test_illegal_answers() -> None:
    phases = Job(0, 1, 40, min_nodes=1, max_nodes=4, evolution=Phases([(40, None)]))
    engine = Engine(WorkloadProblem(8, [phases, asking((0.5, 4))]))
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
def test_who_answers_no_requests_refuses_evolving_jobs(
    policy: Easy | Conservative | MalleableMin | Market | SrptArea,
) -> None:
    with pytest.raises(InvalidOption, match="job 'j0' is evolving: it asks for nodes"):
        policy(WorkloadProblem(10, [asking((0.5, 4))]), Budget())


@pytest.mark.parametrize("solver", [SerialGeneration(), Reinsertion(), WorkloadCpSat()])
def test_who_plans_constant_sizes_refuses_evolving_jobs(
    solver: SerialGeneration | Reinsertion | WorkloadCpSat,
) -> None:
    with pytest.raises(InvalidOption, match="job 'j1' is evolving: this solver plans jobs that keep"):
        solver(WorkloadProblem(10, [Job(0, 1, 1), asking((0.5, 4))]), Budget())


def test_there_is_no_forecast_of_evolving_jobs() -> None:
    view = Engine(WorkloadProblem(10, [asking((0.5, 4))])).advance()
    assert view is not None
    with pytest.raises(InvalidOption, match="job 0 is evolving"):
        forecast(view, generous)
