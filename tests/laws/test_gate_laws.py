"""Laws of the gate: a file holds its baseline, and a comparison finds every change and nothing else."""

from __future__ import annotations

import dataclasses
import math
import tempfile
from pathlib import Path

from hypothesis import assume, given, strategies as st

from allocsolve.bench.gate import timing
from allocsolve.bench.gate.baseline import (
    Baseline,
    GateProblem,
    GateResult,
    GateSolver,
    Measured,
    changes,
    failures,
    faster,
    read_baseline,
    write_baseline,
)
from allocsolve.bench.gate.timing import References, timing_problems
from allocsolve.families import families
from allocsolve.model import Budget, Status

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
VALUES = st.integers(0, 2**53) | st.floats(0, 1e9)
RESULTS = st.one_of(
    st.tuples(st.just(Status.OPTIMAL), VALUES).map(lambda pair: (*pair, pair[1])),
    st.tuples(st.just(Status.FEASIBLE), VALUES, st.just(-math.inf)),
    st.tuples(st.sampled_from([Status.UNKNOWN, Status.INFEASIBLE]), st.none(), st.just(-math.inf)),
)


#: Times of reference works, from which two machines follow that differ by as much as 100 times.
TIMES = st.floats(0.1, 10)
MACHINES = st.builds(References, *(TIMES for _ in References._fields))


@st.composite
def baselines(draw: st.DrawFn) -> Baseline:
    kinds = st.sampled_from([family.kind for family in families()])
    problems = draw(st.dictionaries(NAMES, kinds, min_size=1, max_size=4))
    solvers = draw(st.sets(st.tuples(kinds, NAMES), min_size=1, max_size=4))
    rows = []
    for kind, name in sorted(solvers):
        timed = draw(st.none() | st.tuples(st.sampled_from([*timing_problems(kind)]), st.floats(0.001, 1e6)))
        gap = draw(st.none() | st.floats(0, 100))
        rows.append(GateSolver(kind, name, gap, *(timed or (None, None))))
    return Baseline(
        suite=draw(NAMES),
        asked=draw(st.none() | st.lists(NAMES, max_size=3).map(tuple)),
        budget=Budget(
            seconds=draw(st.integers(1, 99)),
            iterations=draw(st.integers(0, 99)),
            seed=draw(st.integers(0, 9)),
        ),
        time_factor=draw(st.floats(1.1, 9)),
        problems=tuple(
            GateProblem(name, kind, draw(NAMES), draw(VALUES)) for name, kind in sorted(problems.items())
        ),
        solvers=tuple(rows),
        results=tuple(
            GateResult(problem, name, *draw(RESULTS))
            for problem, of in sorted(problems.items())
            for kind, name in sorted(solvers)
            if kind == of
        ),
        references=draw(st.none() | MACHINES),
    )


def _written(baseline: Baseline) -> tuple[Baseline, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gate.json"
        write_baseline(baseline, path)
        return read_baseline(path), path.read_text(encoding="utf-8").splitlines()


def _measured(baseline: Baseline) -> Measured:
    return Measured(baseline.problems, baseline.solvers, baseline.results)


@given(baselines())
def test_a_file_holds_its_baseline(baseline: Baseline) -> None:
    assert _written(baseline)[0] == baseline


@given(baselines())
def test_nothing_has_changed_from_itself(baseline: Baseline) -> None:
    assert not [*changes(baseline, _measured(baseline)), *failures(_measured(baseline))]


@given(baselines(), st.data())
def test_one_changed_value_is_one_change_and_one_line(baseline: Baseline, data: st.DataObject) -> None:
    answered = [row for row in baseline.results if row.value is not None]
    assume(answered)
    old = data.draw(st.sampled_from(answered))
    value = data.draw(VALUES.filter(lambda value: value != old.value))
    new = dataclasses.replace(old, value=value, bound=value if old.status is Status.OPTIMAL else old.bound)
    rows = tuple(new if row == old else row for row in baseline.results)
    changed = dataclasses.replace(baseline, results=rows)
    assert old.value is not None
    (found,) = changes(baseline, _measured(changed))
    assert (found.what, found.solver, found.problem) == (
        "worse" if value > old.value else "better",
        old.solver,
        old.problem,
    )
    assert (found.before, found.now) == (old.value, value)
    lines = zip(_written(baseline)[1], _written(changed)[1], strict=True)
    assert sum(ours != theirs for ours, theirs in lines) == 1


@given(baselines(), st.data())
def test_whatever_is_lost_is_found(baseline: Baseline, data: st.DataObject) -> None:
    assume(baseline.results)
    old = data.draw(st.sampled_from(baseline.results))
    lost = GateResult(old.problem, old.solver, Status.UNKNOWN, None, -math.inf)
    rows = tuple(lost if row == old else row for row in baseline.results)
    found = {
        change.what for change in changes(baseline, dataclasses.replace(_measured(baseline), results=rows))
    }
    expected = {"proof lost"} if old.status in (Status.OPTIMAL, Status.INFEASIBLE) else set()
    assert found == expected | ({"answer lost"} if old.value is not None else set())


@given(baselines(), st.floats(0.01, 10))
def test_only_times_beyond_the_factor_count(baseline: Baseline, times: float) -> None:
    rows = tuple(
        dataclasses.replace(row, time=None if row.time is None else row.time * times)
        for row in baseline.solvers
    )
    found = [*changes(baseline, dataclasses.replace(_measured(baseline), solvers=rows))]
    slower = {
        (old.kind, old.solver)
        for old, new in zip(baseline.solvers, rows, strict=True)
        if old.time is not None and new.time is not None and new.time > baseline.time_factor * old.time
    }
    assert {(change.kind, change.solver) for change in found} == slower
    assert {change.what for change in found} <= {"slower"}


def _timed(before: float, old: References, now: float, new: References) -> tuple[Baseline, Measured]:
    """Return a baseline of one solver on one machine, and what is measured on another."""
    row = GateSolver("evolution", "it", None, "10-applications", before, before)
    baseline = Baseline("tiny", None, Budget(), 1.5, (), (row,), (), old)
    again = dataclasses.replace(row, time=now, wall_time=now, references=new)
    return baseline, Measured((), (again,), ())


@given(st.floats(0.01, 100), st.floats(0.01, 100), MACHINES)
def test_times_on_two_problems_are_not_compared(before: float, now: float, machine: References) -> None:
    """An update may time a solver on a larger problem than before."""
    baseline, measured = _timed(before, machine, now, machine)
    (row,) = measured.solvers
    measured = dataclasses.replace(measured, solvers=(dataclasses.replace(row, timed_on="100-applications"),))
    assert [str(change) for change in changes(baseline, measured)] == [
        "timed on: it: 10-applications -> 100-applications"
    ]
    assert not [*faster(baseline, measured)]


@given(MACHINES, MACHINES, st.floats(0.01, 100), st.floats(0.01, 100))
def test_slower_is_slower_in_units_of_every_reference_work(
    old: References, new: References, before: float, now: float
) -> None:
    """So a mixture of them is neither slower nor faster, between any two machines."""
    times = [(now / unit) / (before / unit_before) for unit_before, unit in zip(old, new, strict=True)]
    assume(all(abs(time / limit - 1) > 1e-9 for time in times for limit in (1.5, 1 / 1.5)))
    baseline, measured = _timed(before, old, now, new)
    assert bool([*changes(baseline, measured)]) == all(time > 1.5 for time in times)
    assert bool([*faster(baseline, measured)]) == all(time < 1 / 1.5 for time in times)


@given(baselines(), st.floats(0.01, 10), MACHINES)
def test_a_machine_that_does_all_works_as_before_excuses_nothing(
    baseline: Baseline, times: float, machine: References
) -> None:
    baseline = dataclasses.replace(baseline, references=machine)
    rows = tuple(
        dataclasses.replace(row, time=None if row.time is None else row.time * times, references=machine)
        for row in baseline.solvers
    )
    measured = dataclasses.replace(_measured(baseline), solvers=rows)
    bare = dataclasses.replace(baseline, references=None)
    assert [*changes(baseline, measured)] == [*changes(bare, measured)]


def test_the_reference_works_can_be_done_again() -> None:
    """Each checks its result: the arrays that the first one has written to are as good as new."""
    for name in References._fields:
        timing.do(name)
        timing.do(name)
