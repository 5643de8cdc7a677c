"""Queue policies: starts by hand, what options refuse, and the forms that a policy may have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from allocsolve import solve
from allocsolve.adaptors import Order, PolicyDriver, named_policy
from allocsolve.errors import InvalidOption
from allocsolve.heuristics import Conservative, SlurmBackfill
from allocsolve.heuristics.workload.policies import EASY_PRESETS, Easy, Fcfs, FirstFit, decide_view
from allocsolve.instances.generators.examples import random_workload
from allocsolve.model import Amdahl, Budget, Job, Profile, SpeedupTable, Status, WorkloadProblem
from allocsolve.simulation import (
    Engine,
    EngineRules,
    QueueSnapshot,
    Reason,
    Start,
    Wake,
    forecast,
    promised_starts,
    run_policy,
    runnable,
    simulate,
)
from allocsolve.testing.policies import check_policy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.simulation import Decision, QueueView


def starts(problem: WorkloadProblem, policy: Fcfs | FirstFit | Easy) -> list[float]:
    compiled = policy.simulated(problem).schedule
    assert run_policy(problem, policy.decide, _rules(policy)).schedule == compiled
    return [float(start) for start in compiled.first_starts]


def _rules(policy: Fcfs | FirstFit | Easy) -> EngineRules:
    return policy.rules if isinstance(policy, Easy) else EngineRules()


def problem_of(num_nodes: int, *jobs: tuple[float, int, float]) -> WorkloadProblem:
    """Rows are submission, nodes and run time, which is the limit, too."""
    return WorkloadProblem(num_nodes, [Job(submit, nodes, run, run) for submit, nodes, run in jobs])


#: The head waits for A; C is long and would delay it.
DELAYED = problem_of(4, (0, 3, 100), (1, 4, 10), (2, 1, 1000))
LATE = problem_of(4, (5000, 3, 100), (5001, 4, 10), (5002, 1, 1000))
HARMLESS = problem_of(4, (0, 3, 100), (1, 4, 100_000), (2, 1, 50))
FOUR_MORE = problem_of(4, (0, 4, 103), (1, 1, 10), (2, 1, 1000), (3, 1, 2000), (4, 1, 3000))
TRUE_TIMES = WorkloadProblem(4, [Job(0, 3, 100, 100), Job(1, 4, 10), Job(2, 1, 90, 500)])
#: The third job starts, and its limit moves the shadow time from 100 s to 302 s: now the last one fits.
NOTHING_ENDS = WorkloadProblem(
    4, [Job(0, 2, 100, 100), Job(1, 4, 10, 10), Job(2, 1, 50, 300), Job(3, 1, 200, 200)]
)
#: At 100 s the head leaves 2 nodes: the long jobs of one node may use them, but not a third one.
EXTRA = problem_of(6, (0, 3, 100), (1, 4, 10), *[(2, 1, 1000)] * 3)
OVERDUE = WorkloadProblem(4, [Job(0, 3, 100, 20), Job(1, 4, 10), Job(50, 1, 10, 10)])
SCANNED = problem_of(4, (0, 3, 100), (1, 4, 10), (2, 2, 5), (3, 1, 5))
#: The last job leaves the head alone, but the one behind the head needs all nodes.
PROTECTED = problem_of(6, (0, 4, 50), (1, 5, 20), (2, 6, 20), (3, 1, 500))
#: On the three nodes that are free the last job would delay the head; on one it does not.
MOLDABLE = Job(0, 2, 500, 500, min_nodes=1, max_nodes=3, speedup=Amdahl(1))
AT_ONCE = WorkloadProblem(6, [Job(0, 3, 100, 100), Job(0, 5, 10), MOLDABLE])
LEARNED = WorkloadProblem(
    4, [Job(0, 1, 10, 1000, user="a"), Job(0, 3, 100, 100), Job(20, 4, 10), Job(21, 1, 10, 1000, user="a")]
)
ORDERED = problem_of(4, (0, 4, 100), (1, 3, 50), (2, 2, 10), (3, 4, 30))

HPCOPT = problem_of(4, (0, 3, 100), (0, 4, 10), (0, 1, 1000))
RAPS = problem_of(5, (0, 2, 100), (90, 2, 50), (91, 3, 10), (92, 1, 45))
AT_SHADOW = problem_of(4, (0, 3, 100), (0, 4, 10), (0, 1, 100))


@pytest.mark.parametrize(
    ("problem", "policy", "expected"),
    [
        # An EASY without reservation delays the head.
        *[(DELAYED, easy, [0, 100, 110]) for easy in (Easy(), Easy(like="flux"))],
        *[(DELAYED, policy, [0, 1002, 2]) for policy in (Easy(like="accasim"), FirstFit())],
        # mjs2023 compares the time of day with the estimate of the head.
        (LATE, Easy(), [5000, 5100, 5110]),
        (LATE, Easy(like="mjs2023"), [5000, 6002, 5002]),
        (HARMLESS, Easy(), [0, 100, 2]),
        (HARMLESS, Easy(like="mjs2023"), [0, 100, 100_100]),
        # It passes over the job after one that starts.
        (FOUR_MORE, Easy(), [0, 103, 103, 103, 103]),
        (FOUR_MORE, Easy(like="mjs2023"), [0, 103, 113, 1113, 3113]),
        # hpcopt has no reservation when the head starts.
        (HPCOPT, Easy(), [0, 100, 110]),
        (HPCOPT, Easy(like="hpcopt"), [0, 1000, 0]),
        # raps takes running jobs in the order of their limits.
        (RAPS, Easy(), [0, 90, 100, 110]),
        (RAPS, Easy(like="raps"), [0, 90, 137, 92]),
        # cqsim backfills by true run times, and may delay its head in a call in which nothing ends.
        (TRUE_TIMES, Easy(), [0, 100, 110]),
        (TRUE_TIMES, Easy(like="cqsim"), [0, 100, 2]),
        (NOTHING_ENDS, Easy(like="cqsim"), [0, 203, 2, 3]),
        (NOTHING_ENDS, Easy(), [0, 100, 110, 110]),
        # Extra nodes are used up.
        (EXTRA, Easy(), [0, 100, 2, 2, 110]),
        (EXTRA, Easy(extra_nodes=False), [0, 100, 100, 100, 110]),
        # A job that ends at the shadow time is in time unless strict.
        (AT_SHADOW, Easy(), [0, 100, 0]),
        (AT_SHADOW, Easy(strict=True), [0, 100, 110]),
        # A job that has run too long is expected to end now.
        (OVERDUE, Easy(), [0, 100, 110]),
        # The scan limit counts jobs behind the head.
        (SCANNED, Easy(scan_limit=2), [0, 100, 110, 3]),
        *[(SCANNED, Easy(scan_limit=most), [0, 100, 110, 110]) for most in (1, 0)],
        # More reservations protect more of the jobs that wait.
        *[(PROTECTED, easy, [0, 50, 503, 3]) for easy in (Easy(), Easy(reservations=1))],
        *[(PROTECTED, easy, [0, 50, 70, 90]) for easy in (Easy(reservations=2), Easy(reservations="all"))],
        # A reservation that begins at once is a start.
        (AT_ONCE, Easy(), [0, 100, 100]),
        (AT_ONCE, Easy(reservations=2), [0, 100, 0]),
        # User averages are learned.
        (LEARNED, Easy(), [0, 0, 100, 110]),
        (LEARNED, Easy(estimate="user-average"), [0, 0, 100, 21]),
        # Orders choose the head.
        (ORDERED, Easy(order="shortest-estimate"), [0, 140, 100, 110]),
        (ORDERED, Easy(order="largest"), [0, 130, 180, 100]),
    ],
)
def test_starts_by_hand(problem: WorkloadProblem, policy: FirstFit | Easy, expected: list[float]) -> None:
    assert starts(problem, policy) == expected


def test_a_forecast_knows_of_all_reservations() -> None:
    assert promised_starts(PROTECTED, Easy(reservations=2)).tolist() == [0, 50, 70, 90]


def test_moldable_jobs_take_what_is_free() -> None:
    table = SpeedupTable([(1, 80), (2, 40), (4, 20)])
    jobs = [Job(0, 1, 100, 100), Job(0, 2, 40, 40, min_nodes=1, max_nodes=4, speedup=table)]
    schedule = Fcfs()(WorkloadProblem(4, jobs), Budget()).answer
    assert schedule is not None
    assert schedule.nodes.tolist() == [1, 2]
    assert Fcfs("min").simulated(WorkloadProblem(4, jobs)).schedule.ends.tolist() == [100, 80]


def test_fit_backfills_on_fewer_nodes() -> None:
    # Two extra nodes at 100 s: on three nodes the last job would delay the head.
    problem = WorkloadProblem(6, [Job(0, 3, 100, 100), Job(0, 4, 10), MOLDABLE])
    sizes = {m: Easy(moldable=m).simulated(problem).schedule for m in ("max", "min", "fit")}
    assert {m: int(s.nodes[2]) for m, s in sizes.items()} == {"max": 2, "min": 1, "fit": 2}
    assert {m: float(s.starts[2]) for m, s in sizes.items()} == {"max": 100, "min": 0, "fit": 0}


def test_reasons_name_the_blocked_job() -> None:
    problem = problem_of(4, (0, 3, 100), (1, 4, 10), (2, 1, 50))
    log = Easy().simulated(problem).log
    assert [Reason(code) for code in log.reasons] == [Reason.AT_HEAD, Reason.AT_HEAD, Reason.BACKFILLED]
    assert log.blocked.tolist() == [-1, -1, 1]
    assert log.started.tolist() == [0, 2, 1]


def test_solvers_claim_nothing() -> None:
    for solver in (Fcfs(), FirstFit(), Easy()):
        result = solver(DELAYED, Budget())
        assert result.status is Status.FEASIBLE
        assert result.objective is None
        assert solver(WorkloadProblem(3, []), Budget()).answer is not None


def test_options_that_do_not_fit_each_other_are_refused() -> None:
    with pytest.raises(InvalidOption, match="strict=True is for one reservation, not for reservations=2"):
        Easy(reservations=2, strict=True)
    with pytest.raises(InvalidOption, match="extra_nodes=False is for one reservation"):
        Easy(reservations="all", extra_nodes=False)
    with pytest.raises(InvalidOption, match="like='raps' sets all options, so reservations=2 cannot be set"):
        Easy(reservations=2, like="raps")
    for like in EASY_PRESETS:
        with pytest.raises(InvalidOption, match="strict=True cannot be set"):
            Easy(strict=True, like=like)


def test_knowledge_that_the_rules_hide_is_refused() -> None:
    easy = Easy(estimate="actual")
    with pytest.raises(InvalidOption, match="hides actual run times"):
        simulate(DELAYED, easy, EngineRules())
    view = Engine(DELAYED).advance()
    assert view is not None
    with pytest.raises(InvalidOption, match="hides actual run times"):
        decide_view(view, easy.queue_policy)


def problem_of_rows(num_nodes: int, *rows: tuple[float, int, float]) -> WorkloadProblem:
    """Rows are submission, nodes and run time, which is the limit, too."""
    return WorkloadProblem(num_nodes, [Job(submit, nodes, run, run) for submit, nodes, run in rows])


def slurm_starts(problem: WorkloadProblem, policy: SlurmBackfill | Easy) -> list[float]:
    schedule = simulate(problem, policy)
    assert run_policy(problem, policy).schedule == schedule
    return [float(start) for start in schedule.first_starts]


def test_heads_start_at_events_and_others_in_passes() -> None:
    problem = problem_of_rows(4, (0, 2, 101), (3, 2, 7), (4, 4, 10), (5, 1, 20))
    assert slurm_starts(problem, Easy()) == [0, 3, 101, 10]
    assert slurm_starts(problem, SlurmBackfill()) == [0, 3, 101, 30]
    assert slurm_starts(problem, SlurmBackfill(bf_interval=4)) == [0, 3, 101, 12]


def test_a_job_has_to_end_before_the_step_in_which_a_plan_begins() -> None:
    for run, early in ((119, True), (120, False), (121, False)):
        problem = problem_of_rows(4, (0, 3, 150), (0, 4, 10), (0, 1, run))
        assert slurm_starts(problem, SlurmBackfill())[2] == (0 if early else 160)
        assert slurm_starts(problem, Easy())[2] == 0
    for run, early in ((149, True), (150, False)):
        problem = problem_of_rows(4, (0, 3, 150), (0, 4, 10), (0, 1, run))
        assert slurm_starts(problem, SlurmBackfill(bf_resolution=1))[2] == (0 if early else 160)


def test_what_a_plan_leaves_is_there_in_its_first_step_too() -> None:
    """Of six nodes three idle, and the head takes four at 150 s: two are left, from 120 s on as after it."""
    problem = problem_of_rows(6, (0, 3, 150), (0, 4, 10), (0, 2, 500), (0, 1, 500))
    assert slurm_starts(problem, SlurmBackfill()) == [0, 150, 0, 160]


def test_a_plan_lasts_to_the_end_of_its_last_step() -> None:
    """The head runs from 60 to 70 s: in steps of a minute the next job is planned at 120 s, so one passes."""
    problem = problem_of_rows(4, (0, 3, 60), (0, 3, 10), (0, 4, 20), (0, 1, 100))
    assert slurm_starts(problem, SlurmBackfill()) == [0, 60, 100, 0]
    assert slurm_starts(problem, SlurmBackfill(bf_resolution=1)) == [0, 60, 70, 90]


def test_nothing_is_planned_beyond_the_window() -> None:
    problem = problem_of_rows(4, (0, 3, 100), (0, 4, 10), (0, 1, 1000))
    assert slurm_starts(problem, SlurmBackfill(bf_window=1)) == [0, 1000, 0]
    assert slurm_starts(problem, SlurmBackfill(bf_window=2)) == [0, 100, 110]


def test_a_pass_tests_so_many_jobs() -> None:
    problem = problem_of_rows(4, (0, 3, 100), (0, 4, 10), (0, 2, 10), (0, 1, 10))
    assert slurm_starts(problem, SlurmBackfill(bf_max_job_test=2))[3] == 110
    assert slurm_starts(problem, SlurmBackfill(bf_max_job_test=3))[3] == 0


def test_it_asks_to_be_called_where_a_pass_may_start_a_job() -> None:
    engine = Engine(problem_of_rows(4, (0, 3, 100), (1, 4, 10), (2, 1, 20)))
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
    problem = problem_of_rows(4, (0, 3, 100), (1, 4, 10), (2, 1, 20))
    assert promised_starts(problem, SlurmBackfill()).tolist() == [0, 100, 30]


def test_moldable_jobs_keep_their_nodes_and_evolving_ones_are_refused() -> None:
    problem = WorkloadProblem(4, [Job(0, 2, 10, min_nodes=1, max_nodes=4, speedup=Amdahl(0.5))])
    assert simulate(problem, SlurmBackfill()).nodes.tolist() == [2]
    steps = Profile([(2, 1), (3, 3)])
    problem = WorkloadProblem(4, [Job(0, 1, 5, min_nodes=1, max_nodes=3, evolution=steps)])
    with pytest.raises(InvalidOption, match="does not answer requests"):
        simulate(problem, SlurmBackfill())


def test_slurm_plans_a_job_without_a_limit_to_the_end_of_its_window() -> None:
    """The second job has no plan then, and the third leaves the first one what it needs."""
    for limit in (np.inf, 2.0**40):
        queue = np.array([7, 8, 1]), np.arange(3.0), np.array([limit, 1000, 5000]), np.arange(3.0)
        view = QueueSnapshot(8, 30.0, np.array([6]), np.zeros(1), np.array([100.0]), *queue).view()
        assert [one.job for one in SlurmBackfill().decide(view) if isinstance(one, Start)] == [2]


def test_options_are_those_of_slurm() -> None:
    problem = problem_of_rows(4, (0, 3, 100), (1, 4, 10), (2, 1, 20))
    answer = solve(problem, "slurm-backfill(bf_interval=7,order=largest)").answer
    assert answer is not None
    assert answer.first_starts.tolist() == [0, 100, 7]
    with pytest.raises(InvalidOption, match="coalesce=False"):
        simulate(problem, SlurmBackfill(), EngineRules(coalesce=False))


# --- Policy forms -------------------------------------------------------------------------------------

PROBLEM = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 1000), Job(3, 1, 50)])


def fcfs(view: QueueView) -> Iterator[Decision]:
    free = view.free
    for job in view.queue.tolist():
        free -= int(view.jobs.nodes[job])
        if free < 0:
            return
        yield Start(job, int(view.jobs.nodes[job]))


class Deciding:
    def decide(self, view: QueueView) -> Iterator[Decision]:
        return fcfs(view)


class Called:
    def __call__(self, view: QueueView) -> Iterator[Decision]:
        return fcfs(view)


@dataclass
class Remembering:
    """Has no memory before a run begins, and one that a second run must not see."""

    rules = EngineRules(coalesce=False)

    def reset(self, seed: int) -> None:
        self.seed, self.calls = seed, 0

    def decide(self, view: QueueView) -> Iterator[Decision]:
        self.calls += 1
        assert self.calls <= 2 * len(view.jobs.submit)
        return fcfs(view)


class RememberingCalled(Remembering):
    def __call__(self, view: QueueView) -> Iterator[Decision]:
        raise AssertionError(view)  # `decide` goes before


class BornRemembering:
    """Remembers from its making on: as a class it is made anew for each run."""

    def __init__(self) -> None:
        self.calls = 0

    def decide(self, view: QueueView) -> Iterator[Decision]:
        self.calls += 1
        assert self.calls <= 2 * len(view.jobs.submit)
        return fcfs(view)


FORMS = (
    fcfs,
    Deciding(),
    Deciding,
    Deciding().decide,
    Called(),
    Called,
    Remembering(),
    Remembering,
    Remembering().decide,
    RememberingCalled(),
    BornRemembering,
    runnable(Remembering()),
    runnable(runnable(BornRemembering)),
    named_policy(Remembering()),
    named_policy(BornRemembering),
    named_policy("bad_policies:fcfs"),
)
STARTS = [0.0, 100.0, 110.0, 110.0]


@pytest.mark.parametrize(
    "policy", FORMS, ids=lambda form: str(getattr(form, "__name__", type(form).__name__))
)
def test_every_form_in_every_driver_twice(policy: Any) -> None:
    for _ in range(2):
        assert simulate(PROBLEM, policy).first_starts.tolist() == STARTS
        assert run_policy(PROBLEM, policy, seed=5).schedule.first_starts.tolist() == STARTS
        answer = solve(PROBLEM, policy).answer
        assert answer is not None
        assert answer.first_starts.tolist() == STARTS
        assert promised_starts(PROBLEM, policy).tolist() == [0.0, 125.0, 137.5, 137.5]
        named = named_policy(policy)
        assert [list(named.decide(view)) for view in [Engine(PROBLEM).advance()] if view] == [[Start(0, 3)]]


@dataclass
class AtMost:
    """First come, first served, at most so many starts a call: nodes idle while the head fits."""

    most: int = 1

    def reset(self, seed: int) -> None:
        self.calls = seed * 0

    def decide(self, view: QueueView) -> list[Decision]:
        self.calls += 1
        return list(fcfs(view))[: self.most]


class AtMostCalled(AtMost):
    def __call__(self, view: QueueView) -> list[Decision]:
        return self.decide(view)


@pytest.mark.parametrize("policy", [AtMost(), AtMostCalled(), AtMost, AtMost().decide, runnable(AtMost())])
def test_a_policy_that_lets_nodes_idle_keeps_the_contract_but_not_the_claim(policy: Any) -> None:
    check_policy(policy)
    with pytest.raises(AssertionError, match="the head, needs 1 nodes and does not start; 1 are free"):
        check_policy(policy, starts_head=True)


@dataclass
class EveryOther:
    """Starts jobs at every second call only: two runs differ if the second one goes on counting."""

    def reset(self, seed: int) -> None:
        self.calls = seed

    def decide(self, view: QueueView) -> list[Decision]:
        self.calls += 1
        return list(fcfs(view)) if self.calls % 2 else [Wake(view.now + 7)]


def driven(driver: PolicyDriver) -> list[Order]:
    """Return the first order of a driver: of a policy that begins with its first call, a start."""
    driver.jobs.add("a", submit=0, nodes=1, estimate=10)
    return driver.decide(0, free=4, queue=["a"])


@settings(deadline=None)
@given(st.integers(0, 99), st.integers(0, 1))
def test_two_runs_of_a_policy_that_remembers_are_equal_in_every_driver(draw: int, seed: int) -> None:
    problem, policy = random_workload(draw, 12, 16), EveryOther()
    first, again = (run_policy(problem, policy, seed=seed).schedule for _ in range(2))
    assert first == again
    assert simulate(problem, policy) == simulate(problem, policy) == simulate(problem, runnable(policy))
    promised, later = (promised_starts(problem, policy).tolist() for _ in range(2))
    assert promised == later
    for _ in range(3):
        assert driven(PolicyDriver(policy, 4)) == [Order("start", "a", 1)]
        assert driven(PolicyDriver(named_policy(policy), 4)) == [Order("start", "a", 1)]
    assert driven(PolicyDriver(policy, 4, seed=1)) == []


def test_a_forecast_forgets_what_the_policy_remembers() -> None:
    policy, engine = Remembering(), Engine(PROBLEM)
    running = named_policy(policy, seed=3)
    assert running.rules == EngineRules(coalesce=False)
    while (view := engine.advance()) is not None:
        if len(view.queue):
            before = policy.calls
            forecast(view, policy)
            assert (policy.calls, policy.seed) == (before, 3)
        engine.apply(running.decide(view))


def test_a_class_of_the_package() -> None:
    problem = random_workload(3, 40, 16)
    assert simulate(problem, Easy) == simulate(problem, Easy())
    assert run_policy(problem, Conservative).schedule == simulate(problem, Conservative())


class Greedy:
    def __init__(self, share: float) -> None:
        self.share = share


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("easy", r"'easy' is a name: allocsolve.adaptors.named_policy returns its policy"),
        (3, r"3 is no queue policy: it has no method decide"),
        (Greedy, r"policy Greedy\(\) raised TypeError: .*share"),
    ],
)
def test_what_is_no_policy_is_refused(policy: Any, message: str) -> None:
    for driver in (simulate, run_policy, promised_starts):
        with pytest.raises(InvalidOption, match=message):
            driver(PROBLEM, policy)
