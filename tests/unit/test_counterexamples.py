"""Counterexamples do what their reasons say; claims of schedules are broken where they should be."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise, permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cli_tools import Capture, refused, run
from naive import TooManyLoops, published_fit
from naive_conservative import Interval, earliest_hole
from naive_optimum import optimum

from allocsolve import judge, solve
from allocsolve.errors import InvalidAnswer, InvalidOption, UnknownName
from allocsolve.heuristics.evolution.list_scheduling import Fit, list_starts, schedule_of
from allocsolve.heuristics.workload.conservative import Conservative
from allocsolve.heuristics.workload.policies import Easy
from allocsolve.instances import counterexamples, write_problem, write_solution
from allocsolve.instances.generators.examples import easy_counterexamples
from allocsolve.judge import WORKLOAD_CLAIMS, workload_breaches
from allocsolve.judge.workload.rules import workload_violations
from allocsolve.model import (
    Amdahl,
    Budget,
    EvolutionProblem,
    EvolutionProfile,
    Job,
    Jobs,
    Profile,
    WorkloadProblem,
    WorkloadSchedule,
)
from allocsolve.pictures.workload import breach_picture
from allocsolve.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


CASES: dict[str, Any] = {problem.name: problem for problem in counterexamples()}


def in_order(problem: EvolutionProblem, fit: Fit) -> tuple[int, list[int]]:
    """Return start and durations of the second application, placed after the first."""
    schedule = schedule_of(problem, list_starts(problem, np.arange(2), fit))
    begin = problem.packed.offsets[1]
    return int(schedule.starts[1]), schedule.durations[begin:].tolist()


def test_each_has_a_reason_and_another_name() -> None:
    assert len(CASES) == len(counterexamples())
    for problem in CASES.values():
        assert str(problem.meta["reason"]).endswith(".")
        assert problem.meta["case"] == problem.name


def test_list_scheduling_is_incomplete() -> None:
    problem = CASES["list-scheduling-incomplete"]
    lists = [list_starts(problem, np.array(order), Fit(1)) for order in permutations(range(3))]
    assert min(schedule_of(problem, starts).completions.max() for starts in lists) == 7


@pytest.mark.parametrize(
    ("name", "limit", "objective", "best"),
    [
        ("list-scheduling-incomplete", None, ("makespan",), (6,)),
        ("expansion-pays", None, ("makespan", "waste"), (6, 2)),
        ("expansion-pays", 1, ("makespan",), (8,)),
        ("limit-is-floored", None, ("makespan",), (5,)),
        ("limit-is-floored", 2, ("makespan",), (4,)),
    ],
)
def test_optima_are_what_they_say(name: str, limit: float | None, objective: Any, best: object) -> None:
    problem = CASES[name] if limit is None else replace(CASES[name], expand_limit=limit)
    assert optimum(problem, objective) == best


def test_steps_are_delayed_and_gaps_are_on_the_left() -> None:
    assert in_order(CASES["misprint-line-17"], Fit()) == (5, [1, 1])
    problem = CASES["compacting-gap-is-left"]
    assert in_order(problem, Fit()) == (0, [2, 6, 2])
    assert in_order(problem, Fit(compacting=True)) == (2, [2, 4, 2])
    assert problem.applications[0].value(6) + problem.applications[1].steps[2][1] > problem.num_nodes


def test_the_published_recursion_is_exponential() -> None:
    problem = CASES["published-recursion-exponential"]
    busy, request = problem.applications
    loops = []
    for leading in range(1, 5):
        fewer = EvolutionProfile(((20, 1),) * leading + tuple(request.steps[-3:]))
        loops.append(published_fit(fewer, busy, 2, problem.expand_limit).loops)
    assert all(after > 2.5 * before for before, after in pairwise(loops[1:]))
    with pytest.raises(TooManyLoops):
        published_fit(request, busy, 2, problem.expand_limit, max_loops=2 * loops[-1])
    assert published_fit(request, busy, 2, math.inf).loops < 50


def test_compacting_can_waste() -> None:
    problem = CASES["compacting-wastes"]
    wastes = []
    for name in ("infX", "infX+c"):
        answer = solve(problem, name).answer
        wastes.append(judge.value(problem, answer, ("waste",)))
    assert wastes == [1, 2]


@pytest.mark.parametrize(
    ("name", "solver", "cost", "best"),
    [
        ("median-is-not-optimal", "manhattan-median", 26, 22),
        ("growth-is-not-median", "growth", 35, 25),
        ("shells-are-not-hops", "mc1x1", 14, 8),
        ("runs-scatter", "hilbert-best-fit+largest-runs", 28, 10),
    ],
)
def test_heuristics_miss_the_optimum(name: str, solver: str, cost: int, best: int) -> None:
    problem = CASES[name]
    assert solve(problem, solver).objective == cost
    assert solve(problem, "cpsat").bound == best == solve(problem, "branch-and-bound").objective


def test_no_run_suffices() -> None:
    problem = CASES["runs-scatter"]
    assert problem.free.sum() == 13
    assert solve(problem, "hilbert-first-fit").answer is None


def test_connected_sets_cost_more() -> None:
    problem = CASES["connected-costs-more"]
    assert problem.contiguous
    for solver in ("cpsat", "branch-and-bound"):
        assert solve(problem, solver).bound == 76
        assert solve(replace(problem, contiguous=False), solver).bound == 62


# --- EASY ---------------------------------------------------------------------------------------------


EASY_CASES = easy_counterexamples()
RULES = ("easy", "fcfs", "first-fit", "conservative")
each = pytest.mark.parametrize("case", EASY_CASES, ids=lambda case: case.name)


def starts_of(case: WorkloadProblem) -> Any:
    return case.meta["starts"]


def play(
    case: WorkloadProblem, may_pass: Callable[[WorkloadProblem, list[Interval], float, int, int], bool]
) -> list[float]:
    """Start jobs in queue order; one behind the first that does not fit needs a leave to pass it."""
    jobs, estimates = list(case.jobs), case.packed.estimate
    starts = [math.nan] * len(jobs)
    now = min(job.submit for job in jobs)
    while any(math.isnan(start) for start in starts):
        queue = [idx for idx, job in enumerate(jobs) if job.submit <= now and math.isnan(starts[idx])]
        head = None
        for idx in queue:
            busy = [j for j, start in enumerate(starts) if start <= now < start + jobs[j].runtime]
            fits = sum(jobs[j].nodes for j in busy) + jobs[idx].nodes <= case.num_nodes
            plan = [Interval(starts[j], starts[j] + estimates[j], jobs[j].nodes) for j in busy]
            if fits and (head is None or may_pass(case, plan, now, head, idx)):
                starts[idx] = now
            elif head is None:
                head = idx
        ends = [start + job.runtime for start, job in zip(starts, jobs, strict=True)]
        now = min(time for time in [*ends, *(job.submit for job in jobs)] if time > now)
    return starts


def head_stays(case: WorkloadProblem, plan: list[Interval], now: float, head: int, idx: int) -> bool:
    """EASY by its definition: a job may pass if the head can be expected to start as early as without it."""
    first, later = case.jobs[head], case.jobs[idx]
    candidate = Interval(now, now + float(case.packed.estimate[idx]), later.nodes)
    before, after = (
        earliest_hole(held, case.num_nodes, first.nodes, math.inf, now) for held in (plan, [*plan, candidate])
    )
    return before == after


def head_stays_in_32_bits(
    case: WorkloadProblem, plan: list[Interval], now: float, head: int, idx: int
) -> bool:
    """EASY that compares times as 32-bit floating-point numbers."""
    rounded = [Interval(one.start, float(np.float32(one.end)), one.nodes) for one in plan]
    shadow = earliest_hole(rounded, case.num_nodes, case.jobs[head].nodes, math.inf, now)
    end = float(np.float32(now + float(case.packed.estimate[idx])))
    held = sum(one.nodes for one in rounded if one.end > shadow)
    extra = case.num_nodes - held - case.jobs[head].nodes
    return end <= shadow or case.jobs[idx].nodes <= extra


def test_they_are_small_and_have_names_of_their_own() -> None:
    assert len({case.name for case in EASY_CASES}) == len(EASY_CASES) >= 8
    for case in EASY_CASES:
        assert 3 <= len(case.jobs) <= 5
        assert str(case.meta["reason"]).endswith(".")
        assert json.loads(json.dumps(dict(case.meta))) == dict(case.meta)


@each
def test_rules_start_the_jobs_when_the_case_says(case: WorkloadProblem) -> None:
    starts = starts_of(case)
    assert play(case, head_stays) == starts["easy"]
    assert play(case, lambda *_: False) == starts["fcfs"]
    assert play(case, lambda *_: True) == starts["first-fit"]
    schedule = Conservative()(case, Budget()).answer
    assert schedule is not None
    assert schedule.first_starts.tolist() == starts["conservative"]


@each
def test_options_start_the_jobs_when_the_case_says(case: WorkloadProblem) -> None:
    """Rules and presets do by the contract of policies."""
    policies = {
        "easy(coalesce=False)": Easy(coalesce=False),
        "easy(extra_nodes=False,strict=True)": Easy(extra_nodes=False, strict=True),
    }
    for rule, starts in starts_of(case).items():
        if rule == "float32":
            assert play(case, head_stays_in_32_bits) == starts
        elif rule in policies:
            assert simulate(case, policies[rule]).first_starts.tolist() == starts


@each
def test_the_tool_is_refuted_by_a_feasible_schedule(case: WorkloadProblem) -> None:
    (tool,) = set(starts_of(case)) - set(RULES)
    schedule = WorkloadSchedule.of(case, starts_of(case)[tool])
    assert schedule.first_starts.tolist() != starts_of(case)["easy"]
    assert not workload_violations(case, schedule)


# --- Claims -------------------------------------------------------------------------------------------


LATE = 2**24 + 2
#: What the schedule of the tool breaks first of what is EASY backfilling: the claim, the job, the instant.
BROKEN: dict[str, tuple[str, str, float]] = {
    "reservation-without-nodes": ("easy", "j2", 2),
    "head-forgotten-after-a-start": ("easy", "j2", 0),
    "releases-in-order-of-limits": ("easy", "j3", 92),
    "clock-against-run-time-late": ("easy", "j2", 5002),
    "clock-against-run-time-early": ("eager", "j2", 2),
    "one-start-a-call": ("work-conserving", "j2", 103),
    "extra-nodes": ("eager", "j2", 2),
    "run-time-of-candidates-known": ("easy", "j2", 2),
    "true-ends-of-running-jobs": ("eager", "j2", 2),
    "ends-at-the-shadow-time": ("eager", "j2", 2),
    "one-call-an-event": ("easy", "j3", 100),
    "times-in-32-bits": ("easy", "j2", LATE),
}
EASY = ("easy", "work-conserving", "eager")

THREE = WorkloadProblem(4, [Job(0, 3, 100, 100), Job(1, 4, 10, 10), Job(2, 1, 1000, 1000)], name="three")
LATE_HEAD = WorkloadSchedule.of(THREE, [0, 1002, 2])


def pieces(offsets: Any, starts: Any, ends: Any, nodes: Any) -> WorkloadSchedule:
    return WorkloadSchedule(*map(np.array, (offsets, starts, ends, nodes)))


def found(problem: WorkloadProblem, schedule: WorkloadSchedule, *claims: str) -> dict[str, Any]:
    breaches = workload_breaches(problem, schedule, claims or tuple(WORKLOAD_CLAIMS))
    return {breach.claim: (breach.job, breach.at) for breach in breaches}


@pytest.mark.parametrize("name", BROKEN)
def test_the_schedule_of_a_tool_is_caught_where_it_departs(name: str) -> None:
    assert set(BROKEN) == {case.name for case in EASY_CASES}
    (case,) = (case for case in EASY_CASES if case.name == name)
    starts: Any = case.meta["starts"]
    (tool,) = set(starts) - {"easy", "fcfs", "first-fit", "conservative"}
    claim, job, at = BROKEN[name]
    assert found(case, WorkloadSchedule.of(case, starts["easy"]), *EASY) == {}
    breaches = workload_breaches(case, WorkloadSchedule.of(case, starts[tool]), EASY)
    first = min(breaches, key=lambda breach: breach.at)
    assert (first.claim, first.job, first.at) == (claim, job, at)
    assert ("easy" in {breach.claim for breach in breaches}) == (claim == "easy")


def test_the_numbers_of_a_breach_are_those_of_the_definition() -> None:
    (breach,) = workload_breaches(THREE, LATE_HEAD, ["easy"])
    assert breach.message == (
        "job 'j2' starts at 2 s on 1 node, expected to end at 1002 s: the shadow time of 'j1', the head, "
        "which needs 4 nodes, moves from 100 s (0 extra) to 1002 s"
    )
    times = {"expected_end": 1002, "shadow_time": 100, "shadow_time_after": 1002}
    assert breach.numbers == {"nodes": 1, "head": "j1", "head_nodes": 4, "extra_nodes": 0, **times}


def test_conservative_backfilling_may_idle_nodes_while_the_head_fits() -> None:
    """A reservation that is kept after jobs have ended early: why that claim is not its own."""
    problem = WorkloadProblem(2, [Job(0, 2, 5, 10), Job(0, 1, 5), Job(0, 1, 5)])
    schedule = simulate(problem, Conservative("none"))
    assert found(problem, schedule, "work-conserving") == {"work-conserving": ("j1", 5)}


def test_nodes_are_idle_for_a_profile_if_they_are_enough_for_its_first_step() -> None:
    for first, second, breaches in ((1, 2, 2), (2, 1, 0)):
        job = Job(0, first, 20, evolution=Profile([(10, first), (10, second)]))
        problem = WorkloadProblem(2, [Job(0, 1, 10), job])
        schedule = pieces([0, 1, 3], [0, 10, 20], [10, 20, 30], [1, first, second])
        assert workload_violations(problem, schedule) == ()
        assert len(workload_breaches(problem, schedule, ["work-conserving", "non-idling"])) == breaches


def test_run_times_limits_and_sizes() -> None:
    problem = WorkloadProblem(4, [Job(0, 2, 10, 8), Job(3, 1, 5), Job(9, 1, 5)])
    late = pieces([0, 1, 2, 2], [0.0, 3], [10.0, 9], [3, 1])
    assert found(problem, late, "run-times", "limits", "sizes") == {
        "run-times": ("j1", 9),
        "limits": ("j0", 8),
        "sizes": ("j0", 0),
    }
    never = workload_breaches(problem, late, ["work-conserving"])[0]
    assert (never.job, never.at, never.message[-17:]) == ("j2", 9, "; it starts never")
    several = pieces([0, 2, 3, 4], [0.0, 5, 3, 9], [5.0, 10, 8, 14], [2, 2, 1, 1])
    assert found(problem, several, "run-times") == {"run-times": ("j0", 5)}
    with pytest.raises(InvalidAnswer, match="the claim easy is about jobs of one piece, job 'j0' has 2"):
        workload_breaches(problem, several, ["easy"])


def test_malleable_jobs_change_sizes_at_points_only() -> None:
    rows = [Job(0, 2, 100, kind="malleable", min_nodes=1, max_nodes=4, speedup=Amdahl(1), points=4)]
    problem = WorkloadProblem(4, rows)

    def of(first: float, size: int) -> WorkloadSchedule:
        left = (1 - first / 100) * 100 * 2 / size
        return pieces([0, 2], [0, first], [first, first + left], [2, size])

    claims = ("points", "sizes", "run-times", "capacity", "release", "limits", "fcfs", "work-conserving")
    assert found(problem, of(25, 4), *claims) == {}
    assert found(problem, of(30, 4), *claims) == {"points": ("j0", 30)}
    assert found(problem, of(25, 5), *claims) == {"sizes": ("j0", 25), "capacity": ("j0", 25)}
    short = pieces([0, 1], [0.0], [60.0], [2])
    assert found(problem, short, *claims) == {"run-times": ("j0", 60)}
    told = "claim eager is about jobs that keep their size, job 'j0' is mal"
    with pytest.raises(InvalidOption, match=told):
        workload_breaches(problem, short, ["eager"])


def test_times_that_are_no_quarters_have_a_tolerance() -> None:
    """An end and a start that are meant to be one instant: nodes are free then, and no head waits."""
    problem = WorkloadProblem(2, [Job(0, 2, 0.1 + 0.2), Job(0.1, 2, 1.1)])
    schedule = pieces([0, 1, 2], [0, 0.3], [0.1 + 0.2, 1.4], [2, 2])
    assert found(problem, schedule) == {}
    late = pieces([0, 1, 2], [0, 0.31], [0.3, 1.41], [2, 2])
    assert found(problem, late, "work-conserving") == {"work-conserving": ("j1", 0.3)}


def test_unknown_claims_and_other_schedules_are_refused() -> None:
    with pytest.raises(UnknownName, match=r"unknown claim 'esay'; did you mean easy"):
        workload_breaches(THREE, LATE_HEAD, ["esay"])
    with pytest.raises(InvalidAnswer, match="3 scheduled jobs for 1 submitted"):
        workload_breaches(WorkloadProblem(4, [Job(0, 1, 1)]), LATE_HEAD, ["easy"])
    assert workload_breaches(WorkloadProblem(4, []), WorkloadSchedule.of(WorkloadProblem(4, []), [])) == ()


def files(folder: Path, schedule: WorkloadSchedule = LATE_HEAD) -> tuple[Path, Path]:
    write_problem(THREE, folder / "three.json")
    write_solution(folder / "late.json", THREE, schedule, {})
    return folder / "three.json", folder / "late.json"


def test_a_picture_marks_the_job_and_the_instant(capsys: Capture, tmp_path: Path) -> None:
    problem, schedule = files(tmp_path)
    picture = tmp_path / "breach.svg"
    command = ("check", problem, schedule, "--plot", picture, "--claims")
    shown = run(capsys, *command, "release")
    assert shown.endswith(f"no breach, so {picture} was not written\n")
    assert not picture.exists()
    run(capsys, *command, "easy", status=1)
    text = picture.read_text(encoding="utf-8")
    assert '<path class="line"' in text
    assert "><title>2 s</title>" in text
    assert 'class="median"' in text
    assert "><title>j2</title>" in text
    assert "exists; --force replaces it" in refused(capsys, *command, "easy")


def test_a_picture_of_a_long_schedule_shows_the_part_around_the_instant() -> None:
    count = 1000
    problem = WorkloadProblem(2, Jobs([10 * idx for idx in range(count)], [1] * count, [5] * count))
    starts = [10.0 * idx for idx in range(count)]
    starts[700] += 3
    schedule = WorkloadSchedule.of(problem, starts)
    (breach,) = workload_breaches(problem, schedule, ["work-conserving"])
    assert (breach.job, breach.at) == ("j700", 7000)
    text = str(breach_picture(problem, schedule, breach))
    assert 80 < text.count("nodes from") + text.count("node from") < 130
    assert "j700: 1 node from 7003 s" in text
