"""Published counterexamples, options and presets of the queue policies."""

from __future__ import annotations

import pytest

from allocsolve.errors import InvalidOption
from allocsolve.heuristics.workload.policies import EASY_PRESETS, Easy, Fcfs, FirstFit, decide_view
from allocsolve.model import Amdahl, Budget, Job, SpeedupTable, Status, WorkloadProblem
from allocsolve.simulation import Engine, EngineRules, Reason, run_policy, simulate
from allocsolve.simulation.forecast import promised_starts


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
