"""Laws of the gate: a file holds its baseline, and a comparison finds every change and nothing else."""

from __future__ import annotations

import dataclasses
import math
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from allocsolve.bench.gate import _kernels_reference
from allocsolve.bench.gate.baseline import (
    Baseline,
    GateProblem,
    GateResult,
    GateSolver,
    read_baseline,
    write_baseline,
)
from allocsolve.bench.gate.compare import changes, failures
from allocsolve.bench.gate.measure import Measured
from allocsolve.bench.gate.timing import timing_problems
from allocsolve.families import families
from allocsolve.model import Budget, Status

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
VALUES = st.integers(0, 2**53) | st.floats(0, 1e9)
RESULTS = st.one_of(
    st.tuples(st.just(Status.OPTIMAL), VALUES).map(lambda pair: (*pair, pair[1])),
    st.tuples(st.just(Status.FEASIBLE), VALUES, st.just(-math.inf)),
    st.tuples(st.sampled_from([Status.UNKNOWN, Status.INFEASIBLE]), st.none(), st.just(-math.inf)),
)


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


def naive_walk(length: int, steps: int) -> int:
    """The slow twin of the reference kernel."""
    kept = [(idx * 7_919) % length for idx in range(length)]
    drawn, total = 2011, 0
    for _ in range(steps):
        drawn = (drawn * 1_103_515_245 + 12_345) % 2**31
        place = kept[drawn % length]
        total += place if place > drawn % length else -1
        kept[place] = (place + total) % length
    return total


@given(st.integers(1, 50), st.integers(0, 200))
def test_the_reference_kernel_is_its_twin(length: int, steps: int) -> None:
    assert _kernels_reference.walk(np.empty(length, dtype=np.int64), steps) == naive_walk(length, steps)


def test_the_reference_work_is_what_it_is_said_to_be() -> None:
    _kernels_reference.reference_work()
    assert naive_walk(_kernels_reference.LENGTH, _kernels_reference.STEPS) == _kernels_reference.RESULT
