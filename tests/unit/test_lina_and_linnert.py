"""The reproductions of Lina 2022 and Linnert 2024: figures, sentences, programs."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

import pytest
from picture_tools import SVG, parsed
from workload_traces import trace

from allocsolve.bench import RecordStore, run
from allocsolve.errors import AllocsolveError, InvalidAnswer, InvalidOption, InvalidProblem
from allocsolve.heuristics import Lina, Static
from allocsolve.instances import linnert2024, lublin1999
from allocsolve.judge import reservation_violations
from allocsolve.judge.workload.rules import workload_metrics
from allocsolve.model import (
    REJECTED,
    SUCCESSFUL,
    Budget,
    DeadlineJob,
    Mesh,
    ReservationProblem,
    ReservationSchedule,
)
from allocsolve.testing import check_solver
from reproductions import lina2022 as lina, linnert2024 as linnert
from reproductions.claims import MissingRunsError
from reproductions.linnert2024.programs import (
    ExecutionRules,
    LeakRules,
    Program,
    ReservationLeak,
    StaticExecution,
    execute,
    execute_leaking,
    linnert_program,
)
from reproductions.runs import BOUND, BoundStore
from reproductions.study import joined

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


SMALL = lina.Log("KIT", lublin1999(1, num_jobs=40), full=False)


def test_workloads_of_the_paper(traces: Path) -> None:
    """Its table 2, but for 12 jobs of KIT, 9160 processors of LLNL and 4994 of the synthetic one."""
    for pattern in ("KIT-FH2-2016-1-first25326", "LLNL-Atlas-2006-2.1-cln"):
        trace(traces, f"{pattern}.swf.gz")
    expected = {
        "KIT": (9988, 10_240, 24_048),
        "KIT_shrunk": (9988, 10_240, 24_048),
        "LLNL": (10_000, 9120, 9216),
        "LLNL_shrunk": (10_000, 9120, 9216),
        "Synthetic": (10_000, 4996, 10_000),
    }
    logs = {log.name: log for log in lina.paper_logs(traces)}
    assert list(logs) == [*lina.LOGS, *lina.FULL]
    for name, row in expected.items():
        problem = logs[name].problem
        assert (len(problem.jobs), problem.packed.nodes.max(), problem.num_nodes) == row
    assert [log.full for log in logs.values()] == [name in lina.FULL for name in logs]
    assert logs["KIT_full"].problem == logs["KIT"].problem


def test_what_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ALLOCSOLVE_TRACES", raising=False)
    with pytest.raises(AllocsolveError, match="no folder of traces"):
        lina.paper_logs(None, ["KIT"])
    with pytest.raises(AllocsolveError, match=r"holds no KIT-FH2-2016\*"):
        lina.paper_logs(tmp_path, ["KIT"])
    with pytest.raises(AllocsolveError, match="workload of the paper 'CTC'"):
        lina.paper_logs(tmp_path, ["CTC"])
    with pytest.raises(AllocsolveError, match="some twice"):
        lina.paper_logs(tmp_path, ["KIT", "KIT"])
    for shares, seeds in (([], 1), ([0.5, 0.5], 1), ([0.5], 0)):
        with pytest.raises(AllocsolveError, match="nothing, or some twice"):
            lina.variants(SMALL, shares, seeds)
    with pytest.raises(AllocsolveError, match="not all are above 0"):
        lina.variants(SMALL, [0.0, 0.5], 1)


def test_runs_of_a_workload() -> None:
    chosen = lina.variants(SMALL, [1.0, 0.5], 2)
    assert [(one.share, one.seed) for one in chosen] == [(0, 1), (0.5, 1), (0.5, 2), (1, 1), (1, 2)]
    planned = lina.planned_runs(chosen, full=False, seconds=1)
    assert len(planned) == 2 + 4 * len(lina.ALGORITHMS) * len(lina.RULES) + 3
    full = lina.Log("KIT_full", SMALL.problem, full=True)
    chosen = lina.variants(full, [1.0], 2)
    assert [(one.share, one.seed) for one in chosen] == [(0, 1), (1, 1)]
    assert {job.min_nodes for job in chosen[1].problem.jobs} == {1}
    assert len(lina.planned_runs(chosen, full=True, seconds=1)) == 2 + len(lina.ALGORITHMS)


def test_records_tell_what_the_runs_are() -> None:
    planned = lina.planned_runs(lina.variants(SMALL, [0.7], 1), full=False, seconds=0.2)
    planned = [one for one in planned if one.label.algorithm != "prices"]
    store = BoundStore()
    records = {record.key: record for record in run([one.task for one in planned], store=store)}
    found = lina.examine(planned, records)
    assert len(found.runs) == len(planned)
    for one, (task, (variant, algorithm, rule)) in zip(found.runs, planned, strict=True):
        assert (one.log, one.share, one.algorithm, one.rule) == ("KIT", variant.share, algorithm, rule)
        assert store.answer(task.key) is None
        if rule:
            schedule = Lina(algorithm, rule, variant.seed)(variant.problem, Budget()).answer  # type: ignore[arg-type]
            assert schedule is not None
            measured = workload_metrics(variant.problem, schedule)
            assert [getattr(one, name) for name in lina.METRICS] == [
                getattr(measured, name) for name in lina.METRICS
            ]
    twice = joined([found, found])
    assert len(twice.runs) == 2 * len(planned)


def test_bounds_stand_beside_and_contradictions_are_refused() -> None:
    planned = lina.planned_runs(lina.variants(SMALL, [0.5], 1), full=False, seconds=0.3)
    planned = [one for one in planned if not one.label.variant.share]
    store = RecordStore()
    records = {record.key: record for record in run([one.task for one in planned], store=store)}
    (row,) = lina.examine(planned, records).bounds
    assert (row.log, row.share) == ("KIT", 0)
    assert 0 < row.bound <= row.best <= min(one.turnaround for one in lina.examine(planned, records).runs)
    key = planned[0].task.key
    records[key] = replace(records[key], value=1.0)
    with pytest.raises(InvalidAnswer, match="contradiction: a bound of"):
        lina.examine(planned, records)


def fake(figure: Callable[[str, float, str, str, str], float]) -> lina.Reproduction:
    """Return a reproduction with these figures, of workload, share, algorithm, rule and metric."""
    rows = [(log, 0.0, "first-fit", "") for log in (*lina.LOGS, *lina.FULL)]
    rows += itertools.product(lina.LOGS, lina.SHARES, lina.ALGORITHMS, lina.RULES)
    rows += itertools.product(lina.FULL, lina.SHARES, lina.ALGORITHMS, ["gain"])
    cells = tuple(lina.Cell(*row, 3, {name: figure(*row, name) for name in lina.METRICS}) for row in rows)
    return lina.Reproduction((), cells, ())


def as_told(log: str, share: float, algorithm: str, rule: str, metric: str) -> float:
    """Return figures for which all holds that the paper says, with either reading of System."""
    rank = ["application", "default", *lina.ALGORITHMS[2:]].index(algorithm) if share else 0
    flat = 0.5 if log == "Synthetic" else min(share, 0.6)
    spread = {"gain": -1, "random": 1}.get(rule, 0) * (0.005 if "shrunk" in log else 0.01)
    if metric == "turnaround":
        gain = share if log == "Synthetic" else flat
        return 1000 * (1 - 0.5 * gain + 0.0001 * rank * (share > 0)) * (1 + spread)
    if metric == "slowdown":
        return 10 * (1 - flat + 0.001 * rank) * (1 + 5 * spread)
    most = {"KIT_full": 0.9, "KIT_shrunk_full": 0.98}.get(log, 0.9)
    use = {"random": 0.01, "shrinkable": -0.005}.get(rule, 0.0)
    return (most - 0.02 * (1 - share) + 0.00002 * (rank > 1)) * (1 + use)


def test_claims_hold_where_figures_are_as_told() -> None:
    told = {one.text: one for one in lina.claims(fake(as_told))}
    failed = [one for one in told.values() if one.verdict != "holds"]
    # System as printed cannot both be its own and close to Application, as the others demand.
    assert [one.text for one in failed] == ["System is an algorithm of its own, not Application [.5 %]"]
    assert len(told) == 19


def test_claims_that_depend_on_the_reading() -> None:
    def harmful_text(log: str, share: float, algorithm: str, rule: str, metric: str) -> float:
        worse = 3 if algorithm == "system-text" and metric == "turnaround" else 1
        return worse * as_told(log, share, algorithm, rule, metric)

    told = {one.text: one for one in lina.claims(fake(harmful_text))}
    assert told["in all cases elastic jobs improve turnaround"].verdict == "depends on the reading"
    assert told["System is an algorithm of its own, not Application [.5 %]"].verdict == "does not hold"


def test_claims_without_runs_say_so() -> None:
    few = fake(as_told)
    few = lina.Reproduction((), tuple(cell for cell in few.cells if cell.log == "LLNL"), ())
    told = {one.text: one for one in lina.claims(few)}
    assert told["and to 98.5 % on KIT_shrunk"].figures == "KIT_shrunk_full was not run"
    assert sum(one.verdict == "not run" for one in told.values()) == 9


def test_table_3_is_as_printed() -> None:
    assert len(lina.TABLE_3) == 45
    assert lina.TABLE_3["KIT", "default", "turnaround"] == ("gain", "random", 5.7, 70)
    found = lina.Figures(fake(as_told)).contrast("KIT", "default", "turnaround")

    assert (found.best, found.worst) == ("gain", "random")
    assert found.printed == lina.TABLE_3["KIT", "default", "turnaround"]
    assert found.difference == pytest.approx(1 - 0.99 / 1.01)


# --- Linnert et al. 2024 ------------------------------------------------------------------------------


HILBERT, MEDIAN, LEAK, FREE_LEAK = linnert.STRATEGIES
FIRST = linnert.READINGS[0].name
NORMAL, HEAVY, VERY_HEAVY = linnert.LOADS

#: Accepted jobs by allocator and load, as the facts have them; others accept as many as the count.
ACCEPTED = {linnert.COUNT: (500, 372, 265), HILBERT: (523, 449, 324), MEDIAN: (566, 482, 386)}
#: Cancelled shares in per cent by load, for the kinds and the mixture, about as the facts have them.
CANCELLED = {
    (NORMAL, HILBERT): (35, 32, 31, 36, 33),
    (NORMAL, MEDIAN): (11, 12, 18, 21, 14),
    (NORMAL, LEAK): (12, 15, 9, 1, 6),
    (NORMAL, FREE_LEAK): (15, 21, 8, 1, 7),
    (HEAVY, HILBERT): (35, 32, 32, 36, 33),
    (HEAVY, MEDIAN): (8, 11, 16, 17, 13),
    (HEAVY, LEAK): (38, 40, 35, 6, 36),
    (HEAVY, FREE_LEAK): (51, 52, 43, 7, 27),
    (VERY_HEAVY, HILBERT): (34, 32, 32, 37, 34),
    (VERY_HEAVY, MEDIAN): (10, 9, 17, 19, 13),
    (VERY_HEAVY, LEAK): (61, 61, 65, 54, 58),
    (VERY_HEAVY, FREE_LEAK): (63, 63, 65, 54, 59),
}


def _run(load: str, seed: int, program: str, strategy: str, reading: str, **values: Any) -> linnert.Run:
    accepted = values.get("accepted", 500)
    cancelled = values.get("cancelled", 0)
    return linnert.Run(
        *(load, seed, program, strategy, reading),
        jobs=1000,
        accepted=accepted,
        successful=accepted - cancelled,
        cancelled=cancelled,
        cancelled_share=cancelled / accepted,
        accepted_area=0.8,
        hops=2.5,
        held=0.9,
        computing=0.5,
        by_size=(0.9, 0.5, 0.3, 0.1),
        runtime_s=0.1,
    )


def _booked() -> list[linnert.Run]:
    return [
        _run(
            load, seed, "", name, "", accepted=ACCEPTED.get(name, ACCEPTED[linnert.COUNT])[place] + 10 * seed
        )
        for place, load in enumerate(linnert.LOADS)
        for name in linnert.ADMISSIONS
        for seed in range(2)
    ]


def _executed(change: Callable[[linnert.Run], linnert.Run] = lambda run: run) -> list[linnert.Run]:
    runs = []
    for (load, name), shares in CANCELLED.items():
        accepted = ACCEPTED[name][list(linnert.LOADS).index(load)] if name in ACCEPTED else 1000
        for program, share in zip(linnert.PROGRAMS, shares, strict=True):
            for reading in linnert.READINGS:
                values = {"accepted": accepted, "cancelled": accepted * share / 100}
                runs.append(change(_run(load, 0, str(program), name, reading.name, **values)))
    return runs


BOUNDS = tuple(
    linnert.BoundRow(load, term, seed, most=1 - 0.01 * seed, offline=0.9 - 0.01 * seed)
    for load in linnert.LOADS
    for term in linnert.TERMS
    for seed in range(2)
)


def _measured(change: Callable[[linnert.Run], linnert.Run] = lambda run: run) -> linnert.Reproduction:
    return linnert.Reproduction((*_booked(), *_executed(change)), BOUNDS)


def test_a_mean_has_the_interval_of_student() -> None:
    mean, half = linnert.spread([1, 2, 3])
    assert mean == 2
    assert half == pytest.approx(4.302653 * 1 / math.sqrt(3))
    assert math.isnan(linnert.spread([5]).half)
    assert linnert.spread([4, 4]).half == 0


def test_ratios_are_of_common_streams() -> None:
    on = linnert.Figures(_measured())
    assert on.ratio(HEAVY, HILBERT).mean == pytest.approx(fmean([449 / 372, 459 / 382]))
    extra = _run(HEAVY, 7, "", HILBERT, "", accepted=1000)
    more = linnert.Figures(linnert.Reproduction((*_booked(), extra), ()))
    assert more.ratio(HEAVY, HILBERT) == on.ratio(HEAVY, HILBERT)


def test_readings_are_compared_on_common_streams() -> None:
    shares = {FIRST: {0: 100, 1: 300, 2: 500}, linnert.SYNCHRONOUS: {1: 310, 2: 530, 3: 0}}
    runs = [
        _run(HEAVY, seed, "1", LEAK, reading, accepted=1000, cancelled=count)
        for reading, counts in shares.items()
        for seed, count in counts.items()
    ]
    on = linnert.Figures(linnert.Reproduction(tuple(runs), ()))
    before, after, change = on.change(HEAVY, LEAK, 1, "cancelled_share", (FIRST, linnert.SYNCHRONOUS))
    assert (before.mean, after.mean, change.mean) == pytest.approx((0.4, 0.42, 0.02))
    only = linnert.Figures(linnert.Reproduction(tuple(run for run in runs if run.seed in {0, 3}), ()))
    with pytest.raises(MissingRunsError, match="no stream of leak at heavy load in both"):
        only.change(HEAVY, LEAK, 1, "cancelled_share", (FIRST, linnert.SYNCHRONOUS))


def test_what_was_not_run_is_named() -> None:
    on = linnert.Figures(linnert.Reproduction((), ()))
    for what, figure in (
        ("no runs of leak at heavy load with programs 2", lambda: on.executed(HEAVY, LEAK, 2, "successful")),
        ("no bounds at heavy load", lambda: on.offline(HEAVY, linnert.TERMS[0])),
        ("no runs at heavy load", lambda: on.num_jobs(HEAVY)),
    ):
        with pytest.raises(MissingRunsError, match=what):
            figure()
    told = linnert.sentences(linnert.Reproduction((), ()))
    assert {one.verdict for one in told} == {"not run"}
    assert all("no runs" in one.figures for one in told)


def test_the_gap_is_that_of_each_stream() -> None:
    most, offline, gap = linnert.Figures(_measured()).offline(NORMAL, linnert.TERMS[0])
    assert (most.mean, offline.mean) == pytest.approx((0.995, 0.895))
    assert gap.mean == pytest.approx(fmean([1 / 0.9 - 1, 0.99 / 0.89 - 1]))


#: How those claims begin that do not hold with the shares of the facts, the same in all readings here.
FALSE = (
    *("at very heavy load MM accepts", "or: about half", "so does Hilbert", "normal load, mixed kinds"),
    *("very heavy load, kinds 2 and 3", "very heavy load, kind 0", "that of Hilbert"),
    "they are better for MM",
    *("the non-contiguous leak cancels", "this is even more", "very heavy load: static", "with synchronous"),
    "so does the contiguous",
)


def test_claims_are_held_against_the_figures() -> None:
    told = linnert.sentences(_measured())
    assert len(told) == len(linnert.CLAIMS) == 28
    for one in told:
        expected = "does not hold" if one.text.startswith(FALSE) else "holds"
        assert (one.text, one.verdict) == (one.text, expected)
        assert "nan" not in one.figures
    assert sum(one.verdict == "does not hold" for one in told) == len(FALSE)


def test_a_claim_may_depend_on_the_reading() -> None:
    def change(run: linnert.Run) -> linnert.Run:
        if run.reading == "grace" and run.strategy == HILBERT:
            return run._replace(cancelled_share=0.01)
        return run

    depending = {one.text: one for one in linnert.sentences(_measured(change)) if one.verdict == "depends"}
    (hilbert,) = (one for text, one in depending.items() if text.startswith("so does Hilbert"))
    assert hilbert.readings == ("grace",)
    (median,) = (one for text, one in depending.items() if text.startswith("normal load, kind 1"))
    assert median.readings == (FIRST, "demand", "no queue")


def test_synchronous_messages_are_compared_with_the_first_reading() -> None:
    def change(run: linnert.Run) -> linnert.Run:
        if run.reading == linnert.SYNCHRONOUS and run.strategy == LEAK:
            return run._replace(cancelled_share=run.cancelled_share / 2)
        return run

    told = {one.text: one for one in linnert.sentences(_measured(change))}
    (fewer,) = (one for text, one in told.items() if text.startswith("so does the contiguous leak"))
    assert fewer.verdict == "holds"
    (similar,) = (one for text, one in told.items() if text.startswith("shares are similar"))
    assert similar.verdict == "does not hold"


def _titles(picture: object) -> list[str]:
    return [text.text or "" for text in parsed(picture).iter(f"{SVG}text") if text.get("class") == "heading"]


def test_the_picture_has_the_figures_of_the_paper() -> None:
    titles = _titles(linnert.reproduction_picture(_measured()))
    assert titles[0] == "Accepted jobs (figure 14)"
    assert len(titles) == 1 + 4 * len(linnert.LOADS)
    assert f"Successful, synchronous (figure 18): {VERY_HEAVY} load" in titles
    bars = parsed(linnert.reproduction_picture(_measured())).iter(f"{SVG}path")
    assert sum(path.get("class", "").startswith("f") for path in bars) > 12 * 20
    assert _titles(linnert.reproduction_picture(linnert.Reproduction((), ()))) == []
    few = linnert.Reproduction(tuple(run for run in _booked() if run.load == HEAVY), ())
    assert _titles(linnert.reproduction_picture(few)) == ["Accepted jobs (figure 14)"]


@pytest.mark.parametrize("options", [{"seeds": 0}, {"reading_seeds": -1}])
def test_nothing_to_run_is_refused(options: dict[str, int]) -> None:
    with pytest.raises(InvalidOption, match="nothing to run"):
        linnert.planned_runs(NORMAL, **{"seeds": 1, **options}, num_jobs=2, seconds=1)
    with pytest.raises(InvalidOption, match="'idle'"):
        linnert.planned_runs("idle", seconds=1)


def test_each_reading_of_each_strategy_is_planned_once() -> None:
    planned = linnert.planned_runs(HEAVY, seeds=2, reading_seeds=1, num_jobs=3, seconds=1)
    executed = [task for task, label in planned if label.program is not None]
    assert len(executed) == len(linnert.STRATEGIES) * len(linnert.PROGRAMS) * (len(linnert.READINGS) + 1)
    labels = {label for _, label in planned if label.strategy != BOUND}
    assert len(labels) == len(planned) - 2 * len(linnert.TERMS)
    # Of the leaks nothing is asked for in the reading of a rule for bookings, and the other way round.
    assert len({task.key for task in executed}) == len(linnert.PROGRAMS) * (4 + 2 + 4 + 2 + 4 + 4)
    for one in planned:
        assert one.task.problem.meta["gap"] == linnert.LOADS[HEAVY]


# --- Linnert programs ---------------------------------------------------------------------------------

MORE: dict[str, Any] = {"reference": "demand", "synchronous": True, "cores": 2}


@pytest.mark.parametrize("solver", [StaticExecution("literal"), ReservationLeak(contiguous=False)])
def test_they_keep_the_contract_of_solvers(solver: StaticExecution | ReservationLeak) -> None:
    check_solver(solver)


@pytest.mark.parametrize(
    ("options", "overrun"), [({}, "end"), ({"allocator": "literal"}, "grace"), (MORE, "end")]
)
def test_it_is_admission_and_then_execution(options: dict[str, Any], overrun: Any) -> None:
    problem = linnert2024(1, gap=1, num_jobs=40)
    result = StaticExecution(**options, overrun=overrun)(problem, Budget())
    rules = {name: value for name, value in options.items() if name != "allocator"}
    booked = Static(options.get("allocator", "hilbert"))(problem, Budget()).answer
    assert booked is not None
    assert result.answer == execute(problem, booked, ExecutionRules(**rules), overrun=overrun)
    assert result.answer is not None
    assert not reservation_violations(problem, result.answer)


def test_jobs_without_programs_end_when_they_are_booked_to() -> None:
    problem = linnert2024(2, num_jobs=30, program=None)
    answer = StaticExecution()(problem, Budget()).answer
    assert answer is not None
    assert {*answer.outcomes.tolist()} == {REJECTED, SUCCESSFUL}


def test_unknown_allocators_are_refused() -> None:
    with pytest.raises(AllocsolveError, match="allocator 'nowhere'"):
        StaticExecution(allocator="nowhere")


def test_a_leak_is_its_rules() -> None:
    jobs = tuple(DeadlineJob(3 * k, 1 + k % 4, 20, 3 * k + 50, k % 4) for k in range(12))
    problem = ReservationProblem(Mesh((4, 2)), jobs, leaking=True)
    rules = ExecutionRules(cores=2, synchronous=True)
    leak = LeakRules(contiguous=False, waiting="reject")
    solver = ReservationLeak(contiguous=False, waiting="reject", cores=2, synchronous=True)
    assert (solver.rules, solver.leak_rules) == (rules, leak)
    answer = solver(problem, Budget()).answer
    assert answer == execute_leaking(problem, rules, leak)
    assert answer is not None
    assert reservation_violations(problem, answer) == ()
    empty = ReservationProblem(Mesh((4, 2)), (), leaking=True)
    assert len(execute_leaking(empty).outcomes) == 0
    assert len(execute(empty, ReservationSchedule.of(empty, {})).outcomes) == 0


@pytest.mark.parametrize(("shape", "contiguous"), [("run", True), ("connected", False)])
def test_a_leak_refuses_shapes_that_it_does_not_keep_to(
    shape: Literal["run", "connected"], contiguous: bool
) -> None:
    problem = ReservationProblem(Mesh((4, 2)), (DeadlineJob(0, 2, 5, 9, 0),), shape, leaking=True)
    with pytest.raises(InvalidOption, match=shape):
        execute_leaking(problem, leak=LeakRules(contiguous=contiguous))


@pytest.mark.parametrize("wrong", [{"kind": 4}, {"nodes": 0}, {"job_idx": -1}, {"seed": -1}, {"kind": 0.5}])
def test_programs_are_of_four_kinds(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidOption, match=next(iter(wrong))):
        linnert_program(**({"kind": 0, "nodes": 2, "job_idx": 0} | wrong))


@pytest.mark.parametrize(
    ("processes", "fault"),
    [
        ([], "every process is forked by another one"),
        ([[("rest", 1)]], r"processes\[0\]\[0\] 'rest' is none of compute"),
        ([[("compute",)]], "has 1 entries, compute has 2"),
        ([[("compute", -1)]], r"processes\[0\]\[0\]\[1\] -1.0 is not a finite number >= 0"),
        ([[("join", 1)], []], "process 1 is not forked here before"),
        ([[("fork", 2, 1)], []], "there is no other process 2 among 2"),
        ([[("fork", 1, 1), ("fork", 1, 1)], []], "process 1 is forked twice"),
        ([[("fork", 1, 1), ("join", 1), ("join", 1)], []], "joined twice"),
        ([[("receive", 4)]], "channel 4: 1 more messages are received than sent"),
        ([[("send", -2, 1)]], r"processes\[0\]\[0\]\[1\] -2"),
    ],
)
def test_faulty_programs(processes: Any, fault: str) -> None:
    with pytest.raises(InvalidProblem, match=fault):
        Program(processes)
