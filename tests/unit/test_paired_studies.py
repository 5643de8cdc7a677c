"""Two studies side by side: the arithmetic by hand, laws on drawn records, and the command."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from cli_tools import run
from hypothesis import given, settings, strategies as st
from study_tools import failed, row, timed_out
from tiers import examples

from allocsolve.bench import Record, RecordStore
from allocsolve.bench.scores.catalogue import Catalogue
from allocsolve.bench.scores.comparison import SolverChange, pair_studies
from allocsolve.model import EvolutionProblem, EvolutionProfile

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Capture = pytest.CaptureFixture[str]

PROBLEM = EvolutionProblem(4, (EvolutionProfile([(10, 2)]),))
BEFORE = [
    row("a", "x", 120, runtime=2),
    row("a", "x", 110, runtime=4, seed=1),
    row("b", "x", 150, 100, runtime=8),
    row("c", "x", 80, runtime=1),
    timed_out(row("d", "x", 1)),
    row("e", "x", 7),
    row("a", "gone", 100, 100),
]
AFTER = [
    row("a", "x", 110, 100, runtime=1, version="0.2"),
    row("b", "x", 100, 100, runtime=1, version="0.2"),
    row("c", "x", 80, runtime=4, version="0.2"),
    row("d", "x", 50, version="0.2"),
    failed(row("e", "x", 1, version="0.2"), "Boom: x"),
    row("a", "new", 100),
    row("a", "x", 1, seconds=11.0),
]


def _change(before: Iterable[Record], after: Iterable[Record]) -> SolverChange:
    (change,) = pair_studies(before, after, Catalogue()).changes
    return change


def test_changes_by_hand() -> None:
    paired = pair_studies(BEFORE, AFTER[:6], Catalogue())
    assert paired.pairs == 5
    assert (paired.unpaired_before, paired.unpaired_after) == ({"x": 1, "gone": 1}, {"new": 1})
    assert paired.machine_differences == {}
    (one,) = paired.changes
    assert (one.entrant, one.kind, one.objective, one.instances) == ("x", "evolution", "makespan", 5)
    assert (one.better, one.equal, one.worse, one.newly_solved, one.newly_failed) == (3, 1, 1, 1, 1)
    assert (one.proven_before, one.proven_after) == (0, 1)
    differences = [-10 / 120, -50 / 150, 0]  # seed 1 of a has no counterpart
    assert one.difference == pytest.approx(sum(differences) / 3)
    assert one.median_difference == pytest.approx(-10 / 120)
    assert one.gap_before == pytest.approx(0.35)
    assert one.gap_after == pytest.approx(0.05)
    assert one.gap_change == pytest.approx(-0.3)
    assert one.time_ratio == pytest.approx((1 / 2 * 1 / 8 * 4) ** (1 / 3))
    assert one.time_ratio is not None
    assert one.time_ratio_interval is not None
    low, high = one.time_ratio_interval
    assert low <= one.time_ratio <= high


def test_another_budget_is_no_counterpart() -> None:
    paired = pair_studies(BEFORE[:1], AFTER[-1:], Catalogue())
    assert (paired.pairs, paired.changes) == (0, ())
    assert (paired.unpaired_before, paired.unpaired_after) == ({"x": 1}, {"x": 1})


def test_the_last_of_several_versions_counts() -> None:
    change = _change([row("a", "x", 9)], [row("a", "x", 12), row("a", "x", 3, version="0.2")])
    assert (change.better, change.worse) == (1, 0)


def test_the_same_code_is_named() -> None:
    before = [row("a", "x", 9, code="m:X#1"), row("a", "y", 9, code="m:Y#1"), row("a", "z", 9)]
    after = [replace(before[0], value=8), replace(before[1], code="m:Y#2"), before[2]]
    assert pair_studies(before, after, Catalogue()).same_code == ("x",)


@st.composite
def _studies(draw: st.DrawFn) -> tuple[list[Record], list[Record]]:
    """Two studies of two solvers on four instances with up to two seeds."""

    def study() -> list[Record]:
        return [
            row(instance, solver, draw(st.none() | st.integers(3, 6)), 3, seed=seed, runtime=draw(_TIMES))
            for instance in "abcd"
            for solver in "xy"
            for seed in range(draw(st.integers(0, 2)))
        ]

    return study(), study()


_TIMES = st.sampled_from([0.5, 1.0, 2.0])


@settings(max_examples=examples(60))
@given(_studies())
def test_going_back_undoes_a_change(studies: tuple[list[Record], list[Record]]) -> None:
    there = pair_studies(*studies, Catalogue())
    back = pair_studies(*studies[::-1], Catalogue())
    assert there.pairs == back.pairs
    assert there.pairs + sum(there.unpaired_before.values()) == len(studies[0])
    assert there.pairs + sum(there.unpaired_after.values()) == len(studies[1])
    returned = {change.entrant: change for change in back.changes}
    for one in there.changes:
        other = returned[one.entrant]
        assert one.instances == one.better + one.equal + one.worse
        assert (one.better, one.equal, one.worse) == (other.worse, other.equal, other.better)
        assert (one.newly_solved, one.newly_failed) == (other.newly_failed, other.newly_solved)
        assert (one.gap_before, one.gap_after) == (other.gap_after, other.gap_before)
        assert one.p == pytest.approx(other.p)
        assert 0 <= one.p <= one.p_holm <= 1
        if one.difference is not None and other.difference is not None:
            assert one.difference == pytest.approx(-other.difference)
        if one.time_ratio is not None and other.time_ratio is not None:
            assert one.time_ratio * other.time_ratio == pytest.approx(1)


@given(_studies())
def test_a_study_against_itself_has_not_changed(studies: tuple[list[Record], list[Record]]) -> None:
    paired = pair_studies(studies[0], studies[0], Catalogue())
    assert (paired.unpaired_before, paired.unpaired_after, paired.pairs) == ({}, {}, len(studies[0]))
    for one in paired.changes:
        assert (one.better, one.worse, one.newly_solved, one.newly_failed, one.p) == (0, 0, 0, 0, 1)
        assert one.difference in (0, None)
        assert one.time_ratio in (1, None)


def _written(path: Path, rows: Iterable[Record]) -> Path:
    with RecordStore(path) as store:
        for one in rows:
            store.append(one, PROBLEM, None)
    return path


def test_the_command(tmp_path: Path, capsys: Capture) -> None:
    other_machine = [replace(one, machine={**one.machine, "cpus": 64}) for one in AFTER[:6]]
    before, after = _written(tmp_path / "a.sqlite", BEFORE), _written(tmp_path / "b.sqlite", other_machine)
    out = run(capsys, "study", "compare", before, after)
    lines = out.splitlines()
    (answers, gaps) = (line.split() for line in lines if line.startswith("x "))
    assert answers[:10] == ["x", "makespan", "5", "3", "1", "1", "1", "1", "0", "1"]
    assert gaps[:4] == ["x", "makespan", "35.00", "5.00"]
    assert "Times do not compare, cpus differs: 2 before, 64 after." in lines
    assert "Runs that only stand in the study before: x 1, gone 1." in lines
    found = json.loads(run(capsys, "study", "compare", before, after, "--json"))
    assert [one["entrant"] for one in found["changes"]] == ["x"]
    assert found["changes"][0]["newly_failed"] == 1
    assert found["contradictions"] == []
    out = run(capsys, "study", "compare", before, before)
    assert "Times do not compare" not in out


def test_a_contradiction_between_studies_is_named(tmp_path: Path, capsys: Capture) -> None:
    before = _written(tmp_path / "a.sqlite", [row("a", "x", 10), row("b", "x", 10)])
    after = _written(tmp_path / "b.sqlite", [row("a", "x", 12, 11), row("b", "x", 9)])
    out = run(capsys, "study", "compare", before, after, status=1)
    assert "contradiction on a: x claims the bound 11, x found 10; 1 record struck out" in out
    (change,) = json.loads(run(capsys, "study", "compare", before, after, "--json", status=1))["changes"]
    assert change["difference"] == pytest.approx(-0.1)
