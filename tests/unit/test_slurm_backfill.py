"""Slurm's backfill: instances on which it differs from EASY, its options, and when it asks to be called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from allocsolve import solve
from allocsolve.errors import InvalidOption
from allocsolve.heuristics import Easy, SlurmBackfill
from allocsolve.model import Amdahl, Job, Profile, WorkloadProblem
from allocsolve.simulation import Engine, EngineRules, Wake, promised_starts, run_policy, simulate

if TYPE_CHECKING:
    from allocsolve.simulation import Decision


def problem_of(num_nodes: int, *rows: tuple[float, int, float]) -> WorkloadProblem:
    """Rows are submission, nodes and run time, which is the limit, too."""
    return WorkloadProblem(num_nodes, [Job(submit, nodes, run, run) for submit, nodes, run in rows])


def starts(problem: WorkloadProblem, policy: SlurmBackfill | Easy) -> list[float]:
    schedule = simulate(problem, policy)
    assert run_policy(problem, policy).schedule == schedule
    return [float(start) for start in schedule.first_starts]


def test_heads_start_at_events_and_others_in_passes() -> None:
    problem = problem_of(4, (0, 2, 101), (3, 2, 7), (4, 4, 10), (5, 1, 20))
    assert starts(problem, Easy()) == [0, 3, 101, 10]
    assert starts(problem, SlurmBackfill()) == [0, 3, 101, 30]
    assert starts(problem, SlurmBackfill(bf_interval=4)) == [0, 3, 101, 12]


def test_a_job_has_to_end_before_the_step_in_which_a_plan_begins() -> None:
    for run, early in ((119, True), (120, False), (121, False)):
        problem = problem_of(4, (0, 3, 150), (0, 4, 10), (0, 1, run))
        assert starts(problem, SlurmBackfill())[2] == (0 if early else 160)
        assert starts(problem, Easy())[2] == 0
    for run, early in ((149, True), (150, False)):
        problem = problem_of(4, (0, 3, 150), (0, 4, 10), (0, 1, run))
        assert starts(problem, SlurmBackfill(bf_resolution=1))[2] == (0 if early else 160)


def test_what_a_plan_leaves_is_there_in_its_first_step_too() -> None:
    """Of six nodes three idle, and the head takes four at 150 s: two are left, from 120 s on as after it."""
    problem = problem_of(6, (0, 3, 150), (0, 4, 10), (0, 2, 500), (0, 1, 500))
    assert starts(problem, SlurmBackfill()) == [0, 150, 0, 160]


def test_a_plan_lasts_to_the_end_of_its_last_step() -> None:
    """The head runs from 60 to 70 s: in steps of a minute the next job is planned at 120 s, so one passes."""
    problem = problem_of(4, (0, 3, 60), (0, 3, 10), (0, 4, 20), (0, 1, 100))
    assert starts(problem, SlurmBackfill()) == [0, 60, 100, 0]
    assert starts(problem, SlurmBackfill(bf_resolution=1)) == [0, 60, 70, 90]


def test_nothing_is_planned_beyond_the_window() -> None:
    problem = problem_of(4, (0, 3, 100), (0, 4, 10), (0, 1, 1000))
    assert starts(problem, SlurmBackfill(bf_window=1)) == [0, 1000, 0]
    assert starts(problem, SlurmBackfill(bf_window=2)) == [0, 100, 110]


def test_a_pass_tests_so_many_jobs() -> None:
    problem = problem_of(4, (0, 3, 100), (0, 4, 10), (0, 2, 10), (0, 1, 10))
    assert starts(problem, SlurmBackfill(bf_max_job_test=2))[3] == 110
    assert starts(problem, SlurmBackfill(bf_max_job_test=3))[3] == 0


def test_it_asks_to_be_called_where_a_pass_may_start_a_job() -> None:
    engine = Engine(problem_of(4, (0, 3, 100), (1, 4, 10), (2, 1, 20)))
    asked: list[tuple[float, list[float]]] = []
    while (view := engine.advance()) is not None:
        decisions: tuple[Decision, ...] = SlurmBackfill().decide(view)
        asked.append((view.now, [wake.at for wake in decisions if isinstance(wake, Wake)]))
        engine.apply(decisions)
    assert asked == [(0, []), (1, []), (2, [30]), (30, []), (50, []), (100, []), (110, [])]


def test_a_job_that_is_killed_at_its_limit_ends_there() -> None:
    problem = WorkloadProblem(4, [Job(0, 3, 100, 40), Job(0, 4, 10)])
    schedule = simulate(problem, SlurmBackfill(), EngineRules(kill_at_limit=True))
    assert schedule.first_starts.tolist() == [0, 40]


def test_promises_are_made_by_it() -> None:
    problem = problem_of(4, (0, 3, 100), (1, 4, 10), (2, 1, 20))
    assert promised_starts(problem, SlurmBackfill()).tolist() == [0, 100, 30]


def test_moldable_jobs_keep_their_nodes_and_evolving_ones_are_refused() -> None:
    problem = WorkloadProblem(4, [Job(0, 2, 10, min_nodes=1, max_nodes=4, speedup=Amdahl(0.5))])
    assert simulate(problem, SlurmBackfill()).nodes.tolist() == [2]
    steps = Profile([(2, 1), (3, 3)])
    problem = WorkloadProblem(4, [Job(0, 1, 5, min_nodes=1, max_nodes=3, evolution=steps)])
    with pytest.raises(InvalidOption, match="does not answer requests"):
        simulate(problem, SlurmBackfill())


def test_options_are_those_of_slurm() -> None:
    problem = problem_of(4, (0, 3, 100), (1, 4, 10), (2, 1, 20))
    answer = solve(problem, "slurm-backfill(bf_interval=7,order=largest)").answer
    assert answer is not None
    assert answer.first_starts.tolist() == [0, 100, 7]
    with pytest.raises(InvalidOption, match="coalesce=False"):
        simulate(problem, SlurmBackfill(), EngineRules(coalesce=False))
