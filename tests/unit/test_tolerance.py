"""Schedules whose times another program has rounded: right within a tolerance that the user chooses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pytest
from cli_tools import refused, run, run_json
from format_draws import random_workload_of
from hypothesis import example, given, settings, strategies as st
from tiers import examples

from allocsolve.errors import InvalidOption
from allocsolve.heuristics import MalleableMin
from allocsolve.instances import klein2011, write_problem, write_solution
from allocsolve.judge import violations, workload_breaches
from allocsolve.judge.workload.rules import workload_metrics, workload_violations
from allocsolve.model import (
    EvolutionSchedule,
    Job,
    Join,
    Overhead,
    Phases,
    PowerLaw,
    Profile,
    Requests,
    SpeedupTable,
    Stall,
    WorkloadProblem,
    WorkloadSchedule,
)
from allocsolve.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


Capture = pytest.CaptureFixture[str]

#: 3 nodes for 700 s and a stall of 10 s: the last 1,900 node-seconds are done on 7 nodes in 271.428... s.
GROWS = Job(0, 4, 1000, min_nodes=3, max_nodes=7, speedup=PowerLaw(1), kind="malleable")
PROBLEM = WorkloadProblem(7, [replace(GROWS, reconfiguration=Stall(10))])
ROUNDED = WorkloadSchedule(np.array([0, 2]), np.array([0.0, 700]), np.array([700, 981.429]), np.array([3, 7]))


def rounded(schedule: WorkloadSchedule, digits: int) -> WorkloadSchedule:
    return replace(schedule, starts=np.round(schedule.starts, digits), ends=np.round(schedule.ends, digits))


def test_exact_by_default_and_right_within_what_is_chosen() -> None:
    (fault,) = violations(PROBLEM, ROUNDED)
    assert fault.startswith("job 'j0' ends with 1.00000")
    assert violations(PROBLEM, ROUNDED, tolerance=1e-3) == ()
    assert violations(PROBLEM, ROUNDED, tolerance=1e-5) == (fault,)
    late = replace(ROUNDED, ends=ROUNDED.ends + np.array([0, 0.01]))
    assert violations(PROBLEM, late, tolerance=1e-3)
    assert [breach.claim for breach in workload_breaches(PROBLEM, ROUNDED, ["run-times"])] == ["run-times"]
    assert workload_breaches(PROBLEM, ROUNDED, ["run-times"], tolerance=1e-3) == ()


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4))
@example(seed=192, digits=1)  # 1917.4 s in place of 1917.5, and a hair less in floating point
def test_what_is_rounded_is_right_within_the_unit_and_no_more(seed: int, digits: int) -> None:
    problem = random_workload_of(seed, "roa")
    schedule, unit = simulate(problem, MalleableMin()), 10.0**-digits
    assert violations(problem, schedule) == ()
    assert violations(problem, rounded(schedule, digits), tolerance=unit) == ()
    if len(problem.jobs):
        job = seed % len(problem.jobs)
        last = int(schedule.offsets[job + 1]) - 1
        ends, pieces = schedule.ends.copy(), slice(int(schedule.offsets[job]), last + 1)
        run_times = problem.run_times(schedule.nodes[pieces], np.full(last + 1 - pieces.start, job))
        # What the job does in one unit in each of its pieces, in seconds of the last one, and a little.
        ends[last] += 1.001 * unit * float((run_times[-1] / run_times).sum()) + 1e-4
        assert violations(problem, replace(schedule, ends=ends), tolerance=unit)


def test_what_is_no_tolerance_is_refused() -> None:
    for tolerance in (-1, float("nan"), float("inf"), "1"):
        with pytest.raises(InvalidOption, match="tolerance"):
            violations(PROBLEM, ROUNDED, tolerance=tolerance)  # type: ignore[arg-type]  # on purpose
    problem = klein2011([7, 0], num_apps=(3, 4))
    answer = EvolutionSchedule.of([0] * len(problem.applications), problem.applications)
    with pytest.raises(InvalidOption, match="times of evolution answers are whole"):
        violations(problem, answer, tolerance=1)


def test_the_commands_say_the_tolerance(tmp_path: Path, capsys: Capture) -> None:
    problem, schedule = tmp_path / "grows.json", tmp_path / "rounded.json"
    write_problem(PROBLEM, problem)
    write_solution(schedule, PROBLEM, ROUNDED, {})
    out = run(capsys, "check", problem, schedule, status=1)
    assert out.startswith("not feasible, 1 violation:\n")
    assert "  if its times were rounded: with --tolerance 0.001 it is feasible\n" in out
    worse, off = tmp_path / "worse.json", tmp_path / "off.json"
    write_solution(worse, PROBLEM, replace(ROUNDED, ends=np.array([700, 982.0])), {})
    assert "with --tolerance 1 it is feasible" in run(capsys, "check", problem, worse, status=1)
    write_solution(off, PROBLEM, replace(ROUNDED, ends=np.array([700, 990.0])), {})
    assert "rounded" not in run(capsys, "check", problem, off, status=1)
    assert "feasible within 0.001 s (" in run(capsys, "check", problem, schedule, "--tolerance", ".001")
    told = run_json(capsys, "check", problem, schedule, "--tolerance", ".001")
    assert (told["feasible"], told["tolerance_s"]) == (True, 0.001)
    told = run_json(capsys, "check", problem, schedule, status=1)
    assert (told["feasible"], told["tolerance_s"]) == (False, 0)
    claim = ("check", problem, schedule, "--claims", "run-times")
    assert "1 of 1 claim does not hold\n" in run(capsys, *claim, status=1)
    assert "all hold within 0.001 s (" in run(capsys, *claim, "--tolerance", "1e-3")
    assert run_json(capsys, *claim, "--tolerance", "1e-3")["tolerance_s"] == 0.001
    for wrong, fault in (
        ("-1", "-1 is not a finite"),
        ("inf", "inf is not a finite"),
        ("ms", "'ms' is not a"),
    ):
        assert f"--tolerance: {fault}" in refused(capsys, "check", problem, schedule, f"--tolerance={wrong}")


def elastic(job: Job, pieces: Sequence[tuple[float, float, int]], num_nodes: int = 16) -> tuple[str, ...]:
    starts, ends, nodes = (np.array(column) for column in zip(*pieces, strict=True))
    schedule = WorkloadSchedule(np.array([0, len(pieces)]), starts, ends, nodes)
    return violations(WorkloadProblem(num_nodes, [job]), schedule)


@pytest.mark.parametrize(("reference", "runtime"), [(10, 1.0), (10, 1e-3), (10, 1e-6), (1, 1e6)])
def test_a_slow_size_ends_no_earlier(reference: int, runtime: float) -> None:
    """The tolerance is that of the end, not a share of the work: however short the job is on other sizes."""
    times = {1: 1e6, 10: 1.0} | {reference: runtime}
    law = SpeedupTable([*times.items()])
    job = Job(0, reference, runtime, min_nodes=1, max_nodes=10, speedup=law, kind="malleable")
    assert elastic(job, [(0, 1e6, 1)]) == ()
    assert elastic(job, [(0, 1e6 - 0.9e-6, 1)]) == ()
    for early in (2e-6, 1e-3, 1, 999, 1e6):
        (fault,) = elastic(job, [(0, 1e6 - early, 1)])
        assert "of its work done" in fault
        # Nor with a fast size that it has for no time, or for a hair that nobody would see.
        assert elastic(job, [(0, 1e6 - early, 1), (1e6 - early, 1e6 - early, 10)])
    assert elastic(job, [(0, 1e6 - 1, 1), (1e6 - 1, 1e6 - 1 + 1e-9, 10)])


@pytest.mark.parametrize("runtime", [10.1, 10.0])
def test_many_pieces_end_no_earlier(runtime: float) -> None:
    """Nor do pieces of which each begins a hair before the one before it ends."""
    count = 1000
    job = Job(0, 1, runtime, min_nodes=1, max_nodes=2, speedup=PowerLaw(1), kind="malleable")
    edges = np.linspace(0, runtime, count + 1)
    together = [*zip(edges[:-1], edges[1:], [1] * count, strict=True)]
    assert elastic(job, together) == ()
    assert elastic(job, [*together[:-1], (edges[-2], runtime - 1.5e-6, 1)])
    length = runtime / count
    begins = np.arange(count) * (length - 0.99e-6)
    overlapping = [*zip(begins, begins + length, [1] * count, strict=True)]
    assert "has a piece that ends at" in elastic(job, overlapping)[0]


def test_neither_stalls_nor_steps_nor_phases_add_hairs_up() -> None:
    """Each of 500 stalls, steps or phases is a hair too short: together they are far too short."""
    count, hair = 500, 0.9e-6
    law, stall = PowerLaw(1), Stall(1, holds="larger")
    job = Job(0, 1, 1.0, min_nodes=1, max_nodes=2, speedup=law, kind="malleable", reconfiguration=stall)
    # On two nodes for two stalls, less a hair, in which two nodes would do so much; then at once again.
    rows, now = [(0.0, 0.5, 1)], 0.5
    for _ in range(count):
        rows += [(now, now + 2 - hair, 2), (now + 2 - hair, now + 2 - hair, 1)]
        now += 2 - hair
    assert elastic(job, [*rows, (now, now + 0.5, 1)])
    assert elastic(job, [*rows, (now, now + 0.5 + 2 * count * hair, 1)]) == ()
    steps = Job(0, 1, count, min_nodes=1, max_nodes=2, evolution=Profile([(1, 1), (1, 2)] * (count // 2)))
    edges = np.arange(count + 1) * 1.0
    sizes = [1, 2] * (count // 2)
    assert elastic(steps, [*zip(edges[:-1], edges[1:], sizes, strict=True)]) == ()
    edges *= 1 - hair
    assert "s instead of 1 s or more" in elastic(steps, [*zip(edges[:-1], edges[1:], sizes, strict=True)])[0]
    phases = Phases([(2, 2), (1, 1)] * (count // 2), release_delay=0)
    job = Job(0, 2, count, min_nodes=1, max_nodes=2, evolution=phases)
    # With one node each phase of two node-seconds takes 2 s; with two, which it is granted at once, 1 s.
    edges = np.arange(count + 1) * 1.0
    sizes = [2, 1] * (count // 2)
    assert elastic(job, [*zip(edges[:-1], edges[1:], sizes, strict=True)]) == ()
    early = edges - np.where(np.arange(count + 1) % 2, hair, 0)
    assert "early, all in all" in elastic(job, [*zip(early[:-1], early[1:], sizes, strict=True)])[0]


def test_sizes_that_jobs_exchange_do_not_overlap() -> None:
    """Only the last end of a job may overlap what follows: what is given up before is free when it is."""
    job = Job(0, 1, 1.0, min_nodes=1, max_nodes=2, speedup=PowerLaw(1), kind="malleable")
    problem = WorkloadProblem(3, [job, job])

    def exchange(early: float) -> WorkloadSchedule:
        """One job gives up a node at .25 s, the other one takes it so much before."""
        starts = np.array([0, 0.25, 0, 0.25 - early])
        ends = np.array([0.25, 0.75, 0.25 - early, 0.625 - early / 2])
        return WorkloadSchedule(np.array([0, 2, 4]), starts, ends, np.array([2, 1, 1, 2]))

    assert violations(problem, exchange(0)) == ()
    assert violations(problem, exchange(0.9e-6))
    third = WorkloadProblem(1, [replace(job, max_nodes=1)] * 2)
    assert violations(third, WorkloadSchedule.of(third, [0, 1 - 0.9e-6])) == ()
    assert violations(third, WorkloadSchedule.of(third, [0, 1 - 1.1e-6]))
    assert violations(third, WorkloadSchedule.of(third, [-1e-9, 1]))


#: Three jobs of 10 s on one node: all have ended after 30 s at least.
CHAIN = WorkloadProblem(1, [Job(0, 1, 10)] * 3)
#: The same of 10/3 s: nobody can tell which times were meant by others.
THIRDS = WorkloadProblem(1, [Job(0, 1, 10 / 3)] * 3)


@pytest.mark.usefixtures("in_process")
def test_a_certificate_is_never_blamed(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an exact problem no answer is below a certified bound; of another one, none that is feasible."""
    monkeypatch.chdir(tmp_path)
    for name, problem, times in (
        ("chain", CHAIN, [9.9999982, 19.9999964, 29.9999946]),
        ("thirds", THIRDS, [3.333, 6.666, 9.999]),
    ):
        write_problem(problem, f"{name}.json")
        solver = ("--solver", "prices", "--objective", "makespan", "--seconds", 2)
        files = ("--out", "best.json", "--certificate", "proof.json", "--force")
        run(capsys, "solve", f"{name}.json", *solver, *files)
        ends = np.array(times)
        starts = np.array([0, *(ends[:-1] - (0.9e-6 if name == "chain" else 0))])
        early = WorkloadSchedule(np.arange(4), starts, ends, np.ones(3, dtype=np.int64))
        write_solution("early.json", problem, early, {})
        check = ("check", f"{name}.json", "early.json", "--certificate", "proof.json")
        assert "not feasible, " in run(capsys, *check, status=1)
        within = ("--tolerance", ".001")
        asked = ("--solution", "early.json,best.json", "--out", f"{name}-scores")
        score = ("score", f"{name}.json", "--baseline", *solver[1:], *asked)
        told = run_json(capsys, *score, status=1)
        assert (told["contradictions"], [row["solver"] for row in told["failures"]]) == ([], ["early.json"])
        if name == "chain":
            told = run_json(capsys, *score, *within)
            assert (told["contradictions"], told["failures"]) == ([], [])
            values = {row["solver"]: row["gap"]["mean"] for row in told["scores"]}
            assert values == {"prices": 0, "early.json": 0, "best.json": 0}
            assert "optimal: makespan is 30 s" in run(capsys, *check, *within)
            assert run_json(capsys, *check, *within)["metrics"]["makespan"] == 30
        else:
            said = run(capsys, *check, *within, status=1)
            assert ", here it is 9.999 s within 0.001 s: nothing is proven\n" in said
            assert not run_json(capsys, *check, *within, status=1)["proven"]


#: Twice as fast on twice as many nodes.
LINEAR = PowerLaw(1)

#: 100 s on 4 nodes; asks for 4 more with half of its work left, and gives 6 back with a quarter left.
ASKS = Job(0, 4, 100, min_nodes=2, max_nodes=16, speedup=LINEAR, evolution=Requests([(0.5, 4), (0.25, -6)]))
#: A change costs 10 s.
STALL = Stall(fixed=2, per_node=1, shared=48)
STALLS = replace(ASKS, evolution=Requests([(0.5, 4)]), reconfiguration=STALL)
STALL = Stall(fixed=10, holds="larger")
MALLEABLE = replace(ASKS, kind="malleable", evolution=None, points=4, reconfiguration=STALL)
#: 200 node-seconds on any nodes, 100 on one, 200 on any; gives a node back 10 s after it is of no use.
REACTS = Job(
    0,
    2,
    5 + 100 + 100 + 100,
    min_nodes=2,
    max_nodes=4,
    evolution=Phases([(200, None), (100, 1), (200, None)], release_delay=10),
    reconfiguration=Join(start=5, grow=4, shrink=3),
)
#: Asks for a third node from the start on; gives one back at 15 s, where nobody gave it one before.
ASKS_ON = Job(0, 2, 30, min_nodes=2, max_nodes=4, evolution=Phases([(20, None), (20, 1)], release_delay=5))
LEAVES_LATE = replace(ASKS_ON, reconfiguration=Join(shrink=3))
STEPS = Job(0, 2, 100, min_nodes=2, max_nodes=8, evolution=Profile([(60, 2), (30, 8), (10, 4)], 2))


#: Start and end in seconds, nodes.
Piece: TypeAlias = tuple[float, float, int]
Case: TypeAlias = tuple[Job, list[Piece]]


def schedule(pieces: Sequence[Piece]) -> WorkloadSchedule:
    starts, ends = (np.array([piece[column] for piece in pieces], dtype=np.float64) for column in (0, 1))
    return WorkloadSchedule(
        np.array([0, len(pieces)]), starts, ends, np.array([piece[2] for piece in pieces])
    )


def matters(job: Job, pieces: Sequence[Piece]) -> tuple[str, ...]:
    return workload_violations(WorkloadProblem(16, [job]), schedule(pieces))


GOOD: dict[str, Case] = {
    "nothing granted": (ASKS, [(0, 75, 4), (75, 125, 2)]),
    "granted at once": (ASKS, [(0, 50, 4), (50, 62.5, 8), (62.5, 112.5, 2)]),
    "granted later": (ASKS, [(0, 60, 4), (60, 67.5, 8), (67.5, 117.5, 2)]),
    "little to give back": (ASKS, [(0, 100, 2), (100, 350 / 3, 6), (350 / 3, 500 / 3, 2)]),
    "starts later": (ASKS, [(7, 82, 4), (82, 132, 2)]),
    "stalls": (STALLS, [(0, 50, 4), (50, 85, 8)]),
    "stall refused": (STALLS, [(0, 100, 4)]),
    "larger number held": (MALLEABLE, [(0, 35, 4), (35, 185, 2)]),
    "two stalls": (MALLEABLE, [(0, 25, 4), (25, 57.5, 8), (57.5, 157.5, 2)]),
    "asks for nobody": (REACTS, [(0, 118, 2), (118, 405, 1)]),
    "a node comes and goes at 15 s": (ASKS_ON, [(0, 20, 2), (20, 30, 1)]),
    "a node comes as one begins to leave": (LEAVES_LATE, [(0, 15, 2), (15, 18, 3), (18, 23, 2), (23, 30, 1)]),
    "a node leaves at the end": (REACTS, [(0, 118, 2), (118, 405 - 1e-9, 1), (405 - 1e-9, 405, 1)]),
    "profile": (STEPS, [(0, 60, 2), (60, 90, 8), (90, 100, 4)]),
    "profile waits": (STEPS, [(3, 123, 2), (123, 160, 8), (160, 180, 4)]),
}


@pytest.mark.parametrize("case", ["larger number held", "profile waits", *GOOD])
def test_good_answers(case: str) -> None:
    assert matters(*GOOD[case]) == ()


BROKEN: dict[str, Case] = {
    "no give-back": (ASKS, [(0, 100, 4)]),
    "gives back too much": (ASKS, [(0, 75, 4), (75, 125, 3)]),
    "gives back late": (ASKS, [(0, 80, 4), (80, 120, 2)]),
    "gives back early": (ASKS, [(0, 70, 4), (70, 130, 2)]),
    "takes early": (ASKS, [(0, 40, 4), (40, 57.5, 8), (57.5, 107.5, 2)]),
    "takes after the next moment": (ASKS, [(0, 75, 4), (75, 80, 2), (80, 91.25, 8)]),
    "takes half of it": (ASKS, [(0, 50, 4), (50, 200 / 3, 6), (200 / 3, 200 / 3 + 50, 2)]),
    "takes twice": (ASKS, [(0, 50, 4), (50, 55, 8), (55, 60, 12), (60, 110, 2)]),
    "too little work": (ASKS, [(0, 75, 4), (75, 120, 2)]),
    "too few nodes": (ASKS, [(0, 400, 1)]),
    "gap": (ASKS, [(0, 75, 4), (76, 126, 2)]),
    "no stall": (STALLS, [(0, 50, 4), (50, 75, 8)]),
    "stalls too long": (STALLS, [(0, 50, 4), (50, 95, 8)]),
    "leaves before its stall is over": (MALLEABLE, [(0, 25, 4), (25, 185, 2)]),
    "no room for the stall": (MALLEABLE, [(0, 25, 4), (25, 34, 8), (34, 184, 2)]),
    "off its points": (MALLEABLE, [(0, 40, 4), (40, 180, 2)]),
    "gives back nothing": (REACTS, [(0, 305, 2)]),
    "node leaves early": (REACTS, [(0, 115, 2), (115, 405, 1)]),
    "node leaves late": (REACTS, [(0, 121, 2), (121, 405, 1)]),
    "takes two": (REACTS, [(0, 10, 2), (10, 300, 4)]),
    "starts below": (REACTS, [(0, 505, 1)]),
    "ends early": (REACTS, [(0, 118, 2), (118, 400, 1)]),
    "keeps a node": (ASKS_ON, [(0, 30, 2)]),
    "keeps a node and gives it back later": (ASKS_ON, [(0, 17, 2), (17, 30, 1)]),
    "useless node": (REACTS, [(0, 118, 2), (118, 150, 1), (150, 360, 2)]),
    "step too short": (STEPS, [(0, 60, 2), (60, 80, 8), (80, 90, 4)]),
    "step too long": (STEPS, [(0, 130, 2), (130, 160, 8), (160, 170, 4)]),
    "wrong nodes": (STEPS, [(0, 60, 2), (60, 90, 7), (90, 100, 4)]),
    "step left out": (STEPS, [(0, 60, 2), (60, 90, 8)]),
    "steps apart": (STEPS, [(0, 60, 2), (61, 91, 8), (91, 101, 4)]),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_answers(case: str) -> None:
    (matter,) = matters(*BROKEN[case])
    assert matter.startswith("job 'j0' ")


def test_messages_name_what_is_wrong() -> None:
    said = {case: matters(*BROKEN[case])[0] for case in BROKEN}
    assert said["no give-back"] == "job 'j0' does not give back 2 of 4 nodes with 25 % of its work left"
    assert said["takes half of it"] == "job 'j0' changes from 4 to 6 nodes at 50 s, but asks for 8 nodes"
    assert said["takes early"] == "job 'j0' changes from 4 to 8 nodes at 40 s, but asks for nothing"
    assert "gives up nodes at 34 s, before its stall of 10 s is over" in said["no room for the stall"]
    assert said["gives back nothing"] == "job 'j0' gives back a node at 118 s, but holds 2 after that"
    assert said["step too long"] == "job 'j0' holds the nodes of step 0 for 130 s instead of 60 to 120 s"


def test_a_node_joins_and_leaves() -> None:
    # 5 s nothing, from 15 s on 2 nodes and from 19 s on 3 useful ones: 200 node-seconds are done at
    # 19 + (200 - 28) / 3, and so on.
    first = 19 + 172 / 3
    second = first + 100
    last = second + 200
    pieces: list[Piece] = [
        (0, 15, 2),
        (15, first + 13, 3),
        (first + 13, first + 23, 2),
        (first + 23, last, 1),
    ]
    assert matters(REACTS, pieces) == ()
    metrics = workload_metrics(WorkloadProblem(16, [REACTS]), schedule(pieces))
    assert (metrics.expansions_per_job, metrics.shrinks_per_job) == (1, 2)
    held = sum((end - start) * nodes for start, end, nodes in pieces)
    assert metrics.useful_share == pytest.approx(500 / held)


def test_overhead_is_fastest_where_its_paper_says() -> None:
    law = Overhead(0.01)
    times = [law.time_ratio(nodes, 10) for nodes in range(1, 200)]
    assert times[9] == 1
    assert abs(1 + times.index(min(times)) - 10 * (0.99 / 0.01) ** 0.5) < 1
