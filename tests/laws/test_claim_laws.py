"""What schedules claim: the judge finds what a slow twin finds, and policies are what they say they are."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from naive_conservative import Interval, earliest_hole
from naive_workload_engine import draw_problem

from allocsolve.heuristics.workload.conservative import COMPRESSIONS, Conservative
from allocsolve.heuristics.workload.policies import EASY_PRESETS, Easy, Fcfs, FirstFit
from allocsolve.judge import WORKLOAD_CLAIMS, workload_breaches
from allocsolve.judge.workload.rules import workload_violations
from allocsolve.model import Jobs, WorkloadProblem, WorkloadSchedule
from allocsolve.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Run(NamedTuple):
    job: int
    submit: float
    start: float
    end: float
    nodes: int
    fewest: int
    expected: float  #: seconds on the nodes that it holds


def naive_breaches(problem: WorkloadProblem, schedule: WorkloadSchedule) -> dict[str, tuple[str, float]]:
    """Return the job and the instant of the first breach of each claim that does not hold."""
    runs = [run_of(problem, schedule, job) for job in range(len(problem.jobs))]
    queue = sorted(runs, key=lambda run: run.submit)
    found: dict[str, tuple[str, float]] = {}
    for claim, run, at in [*early(queue), *breaches(problem, queue)]:
        found.setdefault(claim, (problem.jobs.names[run.job], at))
    return found


def early(queue: list[Run]) -> Iterator[tuple[str, Run, float]]:
    for run in sorted(queue, key=lambda run: run.start):
        if run.start < run.submit:
            yield "release", run, run.start


def breaches(problem: WorkloadProblem, queue: list[Run]) -> Iterator[tuple[str, Run, float]]:
    """Yield what is wrong at each instant, in order of time."""
    instants = {time for run in queue for time in (run.submit, run.start, run.end)}
    for at in sorted(instants - {math.inf}):
        started = [run for run in queue if run.start == at]
        waiting = [run for run in queue if run.submit <= at < run.start]
        running = [run for run in queue if run.start < at < run.end]
        held = sum(run.nodes for run in [*running, *started])
        if started and held > problem.num_nodes:
            yield "capacity", started[-1], at
        if waiting:
            fitting = [run for run in waiting if run.fewest <= problem.num_nodes - held]
            yield from (("non-idling", run, at) for run in fitting)
            yield from (("work-conserving", run, at) for run in fitting if run == waiting[0])
            place = queue.index(waiting[0])
            running += [run for run in started if queue.index(run) < place]
            yield from behind(problem, running, waiting, queue[place + 1 :], at)


def behind(
    problem: WorkloadProblem, running: list[Run], waiting: list[Run], others: list[Run], at: float
) -> Iterator[tuple[str, Run, float]]:
    """Yield what is wrong with jobs behind the head, which have their turns in queue order."""
    head = waiting[0]
    for run in others:
        if run.start == at:
            yield "fcfs", run, at
            if later(problem, running, run, [head], at, least=True):
                yield "easy", run, at
            ahead = [other for other in waiting if (other.submit, other.job) < (run.submit, run.job)]
            if later(problem, running, run, ahead, at, least=False):
                yield "conservative", run, at
            running.append(run)
        elif run in waiting and is_rigid(problem, run):
            free = problem.num_nodes - sum(other.nodes for other in running)
            begun = run._replace(start=at, nodes=run.fewest)
            begun = begun._replace(expected=estimate(problem, begun))
            if run.fewest <= free and not later(problem, running, begun, [head], at, least=True):
                yield "eager", run, at


def run_of(problem: WorkloadProblem, schedule: WorkloadSchedule, job: int) -> Run:
    pieces, row = schedule.pieces(job), problem.jobs[job]
    fewest = int(problem.packed.min_nodes[job])
    if not pieces:
        return Run(job, row.submit, math.inf, math.inf, 0, fewest, math.nan)
    ((start, end, nodes),) = pieces
    run = Run(job, row.submit, start, end, nodes, fewest, 0)
    return run._replace(expected=estimate(problem, run))


def is_rigid(problem: WorkloadProblem, run: Run) -> bool:
    return bool(problem.packed.min_nodes[run.job] == problem.packed.max_nodes[run.job])


def estimate(problem: WorkloadProblem, run: Run) -> float:
    """Return for how long a job is expected to run on the nodes that it holds."""
    row = problem.jobs[run.job]
    asked = 1.25 * row.runtime if row.limit is None else row.limit
    if run.nodes in (0, row.nodes) or row.speedup is None:
        return asked
    (seconds,) = problem.run_times(np.array([run.nodes]), np.array([run.job])).tolist()
    return float(asked * (seconds / row.runtime))


def later(
    problem: WorkloadProblem, running: list[Run], run: Run, ahead: list[Run], at: float, *, least: bool
) -> bool:
    """Return whether a start makes the planned start of a job ahead later; `least`: on its fewest nodes."""
    before, after = (planned(problem, held, ahead, at, least=least) for held in (running, [*running, run]))
    return any(late > early + 1e-6 for early, late in zip(before, after, strict=True))


def planned(
    problem: WorkloadProblem, running: list[Run], ahead: list[Run], at: float, *, least: bool
) -> list[float]:
    """Return when jobs can start, one after the other; one that runs for too long is expected to end now."""
    plan = [Interval(-math.inf, max(at, run.start + run.expected), run.nodes) for run in running]
    starts = []
    for run in ahead:
        nodes = run.fewest if least else problem.jobs[run.job].nodes
        length = math.inf if least else estimate(problem, run._replace(nodes=nodes))
        starts.append(earliest_hole(plan, problem.num_nodes, nodes, length, at))
        plan.append(Interval(starts[-1], starts[-1] + length, nodes))
    return starts


#: Claims that the twin knows, too; run times, limits, sizes and points are of single jobs.
TWINS = ("capacity", "release", "fcfs", "work-conserving", "non-idling", "easy", "eager", "conservative")
MACHINE = ("capacity", "release", "run-times", "sizes", "points")


def broken(problem: WorkloadProblem, schedule: WorkloadSchedule, claims: Sequence[str]) -> dict[str, Any]:
    breaches = workload_breaches(problem, schedule, claims)
    return {breach.claim: (breach.job, breach.at) for breach in breaches}


def with_limits_above(problem: WorkloadProblem, rng: random.Random, *, exact: bool) -> WorkloadProblem:
    """Return the rigid workload with limits that no job exceeds; `exact`: that they all reach."""
    packed = problem.packed
    limits = [time + (0 if exact else rng.choice([0, 0, 1, 7])) for time in packed.runtime.tolist()]
    jobs = Jobs(packed.submit, packed.nodes, packed.runtime, limits, names=problem.jobs.names)
    return WorkloadProblem(problem.num_nodes, jobs)


def draw_policy(rng: random.Random, *, moldable: bool) -> Any:
    easy = [Easy(), Easy(extra_nodes=False), Easy(strict=True), Easy(estimate="actual"), Easy(coalesce=False)]
    easy += [Easy(like=name) for name in EASY_PRESETS]
    plans = [] if moldable else [Conservative(compression) for compression in COMPRESSIONS]
    return rng.choice([Fcfs(), FirstFit(), *easy, *plans])


def moved(rng: random.Random, schedule: WorkloadSchedule) -> WorkloadSchedule:
    """Return a schedule in which some jobs run at other times, and some perhaps never."""
    starts, ends = schedule.starts.copy(), schedule.ends.copy()
    for job in range(len(starts)):
        if rng.random() < 0.2:
            by = rng.choice([-2, -1, -0.25, 0.25, 1, 5])
            by = max(by, -starts[job])
            starts[job] += by
            ends[job] += by
    keep = [rng.random() > 0.03 for _ in starts]
    offsets = [sum(keep[:job]) for job in range(len(keep) + 1)]
    rows = [job for job, kept in enumerate(keep) if kept]
    return WorkloadSchedule(np.array(offsets), starts[rows], ends[rows], schedule.nodes[rows])


@pytest.mark.parametrize("moldable", [False, True])
def test_the_judge_finds_what_the_twin_finds(moldable: bool) -> None:
    rng = random.Random(moldable)
    seen = dict.fromkeys(TWINS, 0)
    for _ in range(400):
        problem = draw_problem(rng, moldable=moldable)
        schedule = simulate(problem, draw_policy(rng, moldable=moldable))
        if rng.random() < 0.5:
            schedule = moved(rng, schedule)
        expected = naive_breaches(problem, schedule)
        assert broken(problem, schedule, TWINS) == expected
        for claim in expected:
            seen[claim] += 1
    assert min(seen.values()) > 5, seen


def test_policies_keep_their_claims() -> None:
    rng = random.Random(7)
    for _ in range(300):
        problem = draw_problem(rng, moldable=rng.random() < 0.3)
        claims: dict[Any, tuple[str, ...]] = {
            Fcfs(): ("fcfs", "work-conserving", "easy", "conservative"),
            FirstFit(): ("work-conserving", "non-idling"),
            Easy(): ("work-conserving", "easy", "eager"),
            Easy(extra_nodes=False): ("work-conserving", "easy"),
            Easy(strict=True): ("work-conserving", "easy"),
            Easy(scan_limit=1): ("work-conserving", "easy"),
        }
        for policy, kept in claims.items():
            schedule = simulate(problem, policy)
            assert broken(problem, schedule, (*MACHINE, *kept)) == {}, policy


def test_conservative_backfilling_delays_nobody() -> None:
    """Where jobs end early, only planning anew keeps what a plan made anew promises."""
    rng = random.Random(8)
    for _ in range(300):
        problem = with_limits_above(draw_problem(rng, moldable=False), rng, exact=False)
        claims = (*MACHINE, "limits", "conservative")
        assert broken(problem, simulate(problem, Conservative("replan")), claims) == {}
        problem = with_limits_above(problem, rng, exact=True)
        for compression in COMPRESSIONS:
            schedule = simulate(problem, Conservative(compression))
            assert broken(problem, schedule, (*claims, "work-conserving", "easy")) == {}


def test_three_claims_are_easy_backfilling() -> None:
    """A schedule of rigid jobs keeps them if, and only if, it is the one of EASY."""
    rng = random.Random(9)
    others = 0
    for _ in range(400):
        problem = draw_problem(rng, moldable=False)
        expected = simulate(problem, Easy())
        schedule = simulate(problem, draw_policy(rng, moldable=False))
        if rng.random() < 0.2:
            moved_one = moved(rng, schedule)
            schedule = schedule if workload_violations(problem, moved_one) else moved_one
        others += schedule != expected
        assert (broken(problem, schedule, ("easy", "eager", "work-conserving")) == {}) == (
            schedule == expected
        )
    assert others > 60


def test_all_claims_are_broken_by_something() -> None:
    assert set(TWINS) | set(MACHINE) | {"limits"} == set(WORKLOAD_CLAIMS)
