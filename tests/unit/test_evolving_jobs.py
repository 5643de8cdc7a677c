"""Jobs that evolve: in the engine, waiting for ever, and the figures of evolv-easyback and lina."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from statistics import fmean
from typing import TYPE_CHECKING, Any, get_args

import pytest
from bad_policies import first_fit
from cli_tools import Capture, refused, run
from eager_policy import eager
from tiers import before_a_release
from workload_traces import kit_problem

from allocsolve import solve
from allocsolve.bench import RecordStore
from allocsolve.errors import Deadlock, InvalidOption, UnknownName
from allocsolve.exact import WorkloadCpSat
from allocsolve.heuristics import (
    Conservative,
    Easy,
    EvolvEasyback,
    Lina,
    MalleableMin,
    Market,
    Reinsertion,
    SerialGeneration,
    SrptArea,
)
from allocsolve.heuristics.workload.lina import ShrinkCandidates, VictimOrder
from allocsolve.instances import evotree_batch, lina_workload, lublin1999, shrunk_arrivals, write_problem
from allocsolve.judge.workload.rules import workload_metrics, workload_violations
from allocsolve.model import Amdahl, Budget, Job, Phases, Profile, Requests, WorkloadProblem
from allocsolve.registry import make_solver
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

    from allocsolve.judge.workload.rules import WorkloadMetrics
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
    out = run(capsys, "score", "both.json", "--solvers", UNSAFE, "--seconds", "2", "--out", "out", status=1)
    assert f"{UNSAFE} failed on both: Deadlock: {said}" in out
    with RecordStore("out/records.sqlite") as store:
        errors = {record.solver: record.error for record in store}
    assert errors[UNSAFE].startswith(f"Deadlock: {said}")


# --- evolv-easyback -----------------------------------------------------------------------------------


POLICY = EvolvEasyback()
POLLING = EvolvEasyback(wake_up=False)


FIGURES = attrgetter(
    *("makespan", "turnaround", "wait", "utilisation", "expansions_per_job", "shrinks_per_job")
)


def figures(policy: EvolvEasyback | Easy, **options: Any) -> tuple[float, ...]:
    """Return makespan, turnaround, wait, utilisation, nodes granted and given back, means of five batches."""
    rows = []
    for seed in range(42, 47):
        problem = evotree_batch(seed, **options)
        schedule = policy(problem, Budget()).answer
        assert schedule is not None
        assert workload_violations(problem, schedule) == ()
        rows.append(FIGURES(workload_metrics(problem, schedule)))
    return tuple(map(fmean, zip(*rows, strict=True)))


#: Policy, options of the batches, and what an independent second implementation prints: the first are exact,
#: with jobs that evolve makespan and turnaround are within 2 %, the rest is within 4 %.
RIGID = [
    (POLICY, {"share": 0}, (1484.2, 598.9, 417.9, 0.827)),
    (POLLING, {"share": 0}, (1513.0, 612.1, 431.1, 0.811)),
    # Textbook EASY does better; there the second implementation has 464.9 s of turnaround.
    (Easy(), {"share": 0}, (1411.8, 460.1)),
    (POLICY, {"share": 0.2, "kind": "moldable"}, (1501, 604)),
    (POLICY, {"share": 0.4, "kind": "moldable"}, (1463, 607)),
    (POLICY, {"share": 0.6, "kind": "moldable"}, (1507, 617)),
    (POLICY, {"share": 0.8, "kind": "moldable"}, (1443, 606)),
    (POLICY, {"share": 1, "kind": "moldable"}, (1423, 584, 411, 0.907)),
]
EVOLVING = [
    (POLICY, {"share": 0.2}, (1418, 563)),
    (POLICY, {"share": 0.4}, (1275, 508)),
    (POLICY, {"share": 0.6}, (1263, 487)),
    (POLICY, {"share": 0.8}, (1131, 427)),
    (POLICY, {"share": 1}, (1106, 413, 194, 0.857, 2.2, 2.4)),
    (POLICY, {"release_delay": 1}, (991, 348)),
    (POLICY, {"release_delay": 5}, (1046, 376)),
    (POLICY, {"release_delay": 15}, (1158, 440)),
    (POLLING, {}, (1142, 426, 208, 0.828, 2.3, 2.5)),
    (replace(POLICY, cooldown=0), {}, (1154, 459, 272, 0.953, 4.6, 3.7)),
    (replace(POLICY, start_counts=True), {}, (1077, 402, 169, 0.862)),
    (replace(POLICY, requests="last"), {}, (1084, 396, 166, 0.854)),
]


@pytest.mark.parametrize(("policy", "options", "reference"), [*RIGID, *EVOLVING])
def test_batches(policy: Any, options: dict[str, Any], reference: tuple[float, ...]) -> None:
    measured = figures(policy, **options)
    first, rest = (1e-3, 1e-3) if (policy, options, reference) in RIGID else (0.02, 0.04)
    if options.get("release_delay") == 1:  # below `Join.shrink` one node leaves at a time here
        first = 0.04
    assert measured[:2] == pytest.approx(reference[:2], rel=first)
    assert measured[2 : len(reference)] == pytest.approx(reference[2:], rel=rest)


def test_the_limit_of_the_batches_does_not_matter() -> None:
    problem = evotree_batch(42)
    schedule = POLICY.simulated(problem).schedule
    for limit in (190.0, 1e5):
        jobs = [replace(job, limit=limit) for job in problem.jobs]
        assert POLICY.simulated(WorkloadProblem(10, jobs)).schedule == schedule


#: Each holds two of four nodes and needs one more.
DOUBLE = Job(0, 2, 20, min_nodes=2, max_nodes=3, evolution=Profile([(10, 2), (10, 3)]))
STANDSTILL = WorkloadProblem(4, [DOUBLE, DOUBLE])


def test_jobs_with_profiles_do_not_wait_for_each_other_for_ever() -> None:
    result = POLICY(STANDSTILL, Budget())
    assert result.answer is not None
    assert result.answer.first_starts.tolist() == [0, 20]
    for policy in (replace(POLICY, safe=False), replace(POLLING, safe=False)):
        with pytest.raises(Deadlock, match=r"^deadlock at 10 s .*: 'j0' holds 2 and waits for 1 "):
            policy(STANDSTILL, Budget())


def test_it_has_a_name() -> None:
    assert make_solver("evolv-easyback", WorkloadProblem) == POLICY
    assert make_solver("evolv-easyback(cooldown=0,requests=last)", WorkloadProblem) == replace(
        POLICY, cooldown=0.0, requests="last"
    )


# --- lina ---------------------------------------------------------------------------------------------


def metrics(problem: WorkloadProblem, **options: Any) -> WorkloadMetrics:
    schedule = Lina(**options)(problem, Budget()).answer
    assert schedule is not None
    assert workload_violations(problem, schedule) == ()
    return workload_metrics(problem, schedule)


def test_lina_has_a_name() -> None:
    assert make_solver("lina", WorkloadProblem) == Lina()
    assert make_solver("lina(candidates=system-text,victims=random,seed=3)", WorkloadProblem) == Lina(
        "system-text", "random", 3
    )
    problem = lina_workload(lublin1999(1, num_jobs=30), share=1, seed=1)
    assert solve(problem, "lina").answer == Lina()(problem, Budget()).answer


def test_victims_at_random_depend_on_the_seed() -> None:
    rigid = shrunk_arrivals(lublin1999(1, num_jobs=300), 0.5)
    problem = lina_workload(rigid, share=1, seed=1)
    answers = [Lina(victims="random", seed=seed)(problem, Budget()).answer for seed in (1, 1, 2, 2**63 - 1)]
    assert answers[0] == answers[1]
    assert answers[0] != answers[2] != answers[3]


# Figures of a log.


def test_rigid_rows(traces: Path) -> None:
    """As an independent program prints them."""
    problem = kit_problem(traces)
    shrunk = shrunk_arrivals(problem, 0.65)
    assert metrics(problem).turnaround == pytest.approx(27_767.77, abs=0.01)
    assert metrics(shrunk).turnaround == pytest.approx(58_021.15, abs=0.01)


@pytest.mark.parametrize(
    ("share", "candidates", "expected"),
    [
        (0.1, "default", 26_130.78),  # 26,299, mean over six rules and three other seeds
        (0.1, "application", 26_130.83),  # 26,300
        (0.1, "system-text", 27_208.21),  # 27,461
        (1, "default", 16_627.05),  # 16,775
        (1, "application", 16_642.04),  # 16,768
        (1, "system-printed", 16_642.04),
        (1, "system-text", 21_106.75),  # 21,290
    ],
)
def test_elastic_rows(traces: Path, share: float, candidates: str, expected: float) -> None:
    problem = lina_workload(kit_problem(traces), share=share, seed=1)
    assert metrics(problem, candidates=candidates).turnaround == pytest.approx(expected, abs=0.01)


def test_gates(traces: Path) -> None:
    """The text of System has the higher utilisation and turnaround in all shares; its listing is Application.

    Before a release in all shares, else in the least and the largest one.

    In the mean over six orders of victims and three seeds, as an independent program has it. At 10 % the
    turnaround is 4-7 % better, at 100 % it is 16,775 s.
    """
    rigid = kit_problem(traces)
    for percent in range(10, 110, 10 if before_a_release() else 90):
        turnaround: dict[str, list[float]] = {name: [] for name in get_args(ShrinkCandidates)}
        utilisation: dict[str, list[float]] = {name: [] for name in get_args(ShrinkCandidates)}
        for seed in (1, 2, 3):
            problem = lina_workload(rigid, share=percent / 100, seed=seed)
            for name in get_args(ShrinkCandidates):
                for victims in get_args(VictimOrder):
                    schedule = Lina(name, victims, seed)(problem, Budget()).answer
                    assert schedule is not None
                    measured = workload_metrics(problem, schedule)
                    turnaround[name].append(measured.turnaround)
                    utilisation[name].append(measured.utilisation)
        means = {name: fmean(values) for name, values in turnaround.items()}
        assert means["system-text"] > means["default"]
        assert fmean(utilisation["system-text"]) > fmean(utilisation["default"])
        assert means["system-printed"] == pytest.approx(means["application"], rel=0.005)
        if percent == 10:
            for name in ("default", "application"):
                assert 0.04 <= 1 - means[name] / 27_767.77 <= 0.07
        if percent == 100:
            assert means["default"] == pytest.approx(16_775, rel=0.03)
