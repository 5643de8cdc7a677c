"""What is known of an instance: files come back as they were, histories only grow, claims need the judge."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given, strategies as st
from library_tools import best_knowns, entry
from naive_optimum import optimum
from strategies import evolution_problems

from allocsolve import judge
from allocsolve.bench import plan
from allocsolve.bench.library.improve import improved
from allocsolve.bench.runs.execution import execute
from allocsolve.errors import InvalidAnswer
from allocsolve.heuristics import Rigid
from allocsolve.instances import BestKnown, digest, read_best_known, solution_digest, write_best_known
from allocsolve.model import Budget, EvolutionProblem, EvolutionSchedule, Result, Status

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject


rows = st.tuples(best_knowns(), best_knowns(objective="completion"), best_knowns(instance="äöü 2"))


@given(rows=rows)
def test_rows_come_back_as_they_were(rows: tuple[BestKnown, ...]) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "best_known.json"
        write_best_known(path, rows)
        again = read_best_known(path)
        assert sorted(again, key=repr) == sorted(rows, key=repr)
        text = path.read_bytes()
        write_best_known(path, again[::-1])
        assert path.read_bytes() == text


@given(rows=rows, data=st.data())
def test_a_history_only_grows(rows: tuple[BestKnown, ...], data: DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "best_known.json"
        lengths = [data.draw(st.integers(0, len(row.history))) for row in rows]
        before = [replace(row, history=row.history[:n]) for row, n in zip(rows, lengths, strict=True)]
        write_best_known(path, before)
        write_best_known(path, rows)
        text = path.read_bytes()
        if [len(row.history) for row in rows] != lengths:
            with pytest.raises(InvalidAnswer, match="would lose entries"):
                write_best_known(path, before)
        with pytest.raises(InvalidAnswer, match="would lose entries"):
            write_best_known(path, rows[1:])
        assert path.read_bytes() == text


@given(row=best_knowns())
def test_the_statement_of_a_row_is_that_of_its_history(row: BestKnown) -> None:
    bounds = [entry.value for entry in row.history if entry.kind == "bound"]
    solutions = [entry.value for entry in row.history if entry.kind == "solution"]
    assert row.lower == (bounds[-1] if bounds else -math.inf)
    assert row.upper == (solutions[-1] if solutions else math.inf)
    assert row.lower <= row.upper
    assert row.optimal == bool(bounds and solutions and bounds[-1] == solutions[-1])


@given(row=best_knowns(), kind=st.sampled_from(("bound", "solution")), value=st.floats(-10, 2e9))
def test_an_entry_is_better_and_contradicts_nothing(row: BestKnown, kind: str, value: float) -> None:
    better = row.lower < value <= row.upper if kind == "bound" else row.lower <= value < row.upper
    if better:
        assert row.with_entry(entry(kind, value)).history[:-1] == row.history
    else:
        with pytest.raises(InvalidAnswer, match=r"some \(makespan\): history"):
            row.with_entry(entry(kind, value))


@given(data=st.data())
def test_nothing_is_accepted_without_the_judge(data: DataObject) -> None:
    problem = data.draw(evolution_problems())
    known = BestKnown("some", "makespan", digest(problem))
    if data.draw(st.booleans()):
        start = Rigid()(problem, Budget())
        known = _accepted(known, problem, start, exact=False)
    if data.draw(st.booleans()):
        best = int(optimum(problem, ("makespan",))[0])
        today = {"date": known.history[-1].date} if known.history else {}
        known = known.with_entry(entry("bound", data.draw(st.integers(0, best)), **today))
    schedule = _schedule(problem, data)
    true = int(schedule.completions.max())
    claim = data.draw(st.none() | st.just(true) | st.integers(0, 30))
    bound = data.draw(st.just(-math.inf) | st.integers(0, 30))
    assume(claim is None or bound <= claim)
    status = Status.OPTIMAL if claim is not None and claim == bound else Status.FEASIBLE
    result: Result[EvolutionSchedule] = Result(status, schedule, claim, bound)
    exact = data.draw(st.booleans())
    honest = not judge.violations(problem, schedule) and claim in (None, true) and bound <= true
    proven = bound if exact else -math.inf
    agrees = proven <= known.upper and true >= known.lower
    if not honest or not agrees:
        with pytest.raises(InvalidAnswer):
            _accepted(known, problem, result, exact=exact)
        return
    after = _accepted(known, problem, result, exact=exact)
    assert after.history[: len(known.history)] == known.history
    assert after.upper == min(known.upper, true)
    assert after.lower == max(known.lower, proven)
    if after.upper < known.upper:
        assert after.solution is not None
        assert after.solution.solution == solution_digest(problem, schedule)


def _accepted(known: BestKnown, problem: EvolutionProblem, result: Result[Any], *, exact: bool) -> BestKnown:
    """What is known after a solver has returned this result."""
    (task,) = plan([("", problem)], [lambda *_: result], budgets=[Budget()])
    outcome = execute(task, task.make_solver())
    if outcome.cause is not None:
        raise outcome.cause
    return improved(known, problem, outcome.record, outcome.answer, exact=exact)


def _schedule(problem: EvolutionProblem, data: DataObject) -> EvolutionSchedule:
    """A good schedule, or applications as requested at any times."""
    found = Rigid()(problem, Budget()).answer
    starts = [data.draw(st.integers(0, 9)) for _ in problem.applications]
    loose = EvolutionSchedule.of(starts, problem.applications)
    assert found is not None
    return data.draw(st.sampled_from([found, loose]))


def test_an_infeasibility_is_never_accepted() -> None:
    problem = EvolutionProblem(1, ())
    known = BestKnown("some", "makespan", digest(problem))
    with pytest.raises(InvalidAnswer, match="claims that some has no answer"):
        _accepted(known, problem, Result(Status.INFEASIBLE), exact=True)
