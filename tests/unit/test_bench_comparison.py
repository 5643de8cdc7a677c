"""Studies are compared: solvers on common problems, and two studies in pairs."""

from __future__ import annotations

import json
import math
import statistics
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import run
from hypothesis import given, settings, strategies as st
from study_tools import failed, row, timed_out
from tiers import examples

from allocsolve.bench import Gaps, Record, RecordStore, best, compare, gap, solver_scores
from allocsolve.bench.scores.catalogue import Catalogue
from allocsolve.bench.scores.comparison import SolverChange, pair_studies
from allocsolve.bench.scores.summary import duels, primal_curves, profiles, proof_profiles, summaries
from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.model import EvolutionProblem, EvolutionProfile, Limit, Status

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from allocsolve.model import Value


ROWS = [
    row("a", "fast", 120, runtime=1),
    row("a", "fast", 110, runtime=3, seed=1),
    row("a", "exact", 100, 100, runtime=8),
    row("b", "fast", 150, runtime=2),
    timed_out(row("b", "fast", 1, seed=1)),
    row("b", "exact", 125, 100, limit=Limit.TIME),
    row("c", "fast", 60),
    row("c", "exact", 90),
    row("d", "fast", 5),
    row("d", "exact", 0, 0),
    failed(row("e", "fast", 1), "Boom: x"),
    timed_out(row("e", "exact", 1)),
]


def test_seeds_are_one_cell() -> None:
    (comparison,) = compare(ROWS)
    assert (comparison.suite, comparison.kind, comparison.objective) == ("s", "evolution", "makespan")
    assert comparison.entrants == ("fast", "exact")
    assert [on.instance for on in comparison.best_by_digest.values()] == list("abcde")
    assert comparison.common == tuple(f"digest of {name}" for name in "abcde")
    cells = {name: comparison.cells["fast"][f"digest of {name}"] for name in "abcde"}
    # A seed of b has no answer, c no bound.
    assert [cell.value for cell in cells.values()] == [(115,), None, (60,), (5,), None]
    assert [cell.gap for cell in cells.values()] == [0.15, None, None, math.inf, None]
    assert cells["a"].runtime_s == 2
    assert [(cells[name].failed, cells[name].unanswered) for name in "abe"] == [(0, 0), (0, 1), (1, 0)]
    assert [cells[name].best_run for name in "abe"] == [ROWS[1], ROWS[3], None]


def test_summaries_by_hand() -> None:
    (comparison,) = compare(ROWS)
    fast, exact = summaries(comparison)
    assert (fast.entrant, fast.instances, fast.runs, fast.failed, fast.unanswered) == ("fast", 5, 7, 1, 1)
    assert (fast.incomplete, fast.unbounded, fast.infinite) == (2, 1, 1)
    assert (fast.proven, fast.optimal, fast.best) == (0, 0, 1)
    assert fast.gap is not None
    assert (fast.gap.count, fast.gap.mean, fast.gap.median, fast.gap.max) == (2, math.inf, math.inf, math.inf)
    assert (fast.gap_intervals["mean"], fast.gap.shifted_mean, fast.gap.p95) == (None, math.inf, math.inf)
    assert (exact.incomplete, exact.unbounded, exact.infinite) == (1, 1, 0)
    assert (exact.proven, exact.optimal, exact.best) == (2, 2, 3)
    assert exact.gap is not None
    assert (exact.gap.count, exact.gap.median, exact.gap.p95, exact.gap.max) == (3, 0, 0.25, 0.25)
    assert exact.gap.mean == pytest.approx(0.25 / 3)
    assert exact.gap.shifted_mean == pytest.approx(0.01 * (26 ** (1 / 3) - 1))
    assert exact.gap_intervals["mean"] == (0, 0.25)  # three of three draws are the same with 1/27 each
    assert (exact.runtime.count, exact.runtime.max, exact.runtime.mean) == (5, 8, 12 / 5)
    assert exact.runtime.shifted_mean == pytest.approx((9 * 2**4) ** 0.2 - 1)


def test_duels_by_hand() -> None:
    (comparison,) = compare(ROWS)
    (duel,) = duels(comparison)
    assert (duel.one, duel.other, duel.wins, duel.ties, duel.losses) == ("fast", "exact", 1, 1, 3)
    # 15/115, no answer 1, -30/90, 1, twice no answer 0
    assert duel.median_difference == 15 / 115
    # Ranks 1 (a), 2 (c), 3.5 (b), 3.5 (d); below 0: 2. Six of 16 patterns are at least as uneven.
    assert duel.p == duel.p_holm == 0.375


def test_no_answer_is_the_largest_difference() -> None:
    (duel,) = duels(compare([timed_out(row("a", "x", 1)), row("a", "y", 5)])[0])
    assert (duel.losses, duel.median_difference) == (1, 1)
    (duel,) = duels(compare([row("a", "x", 1), failed(row("a", "y", 5), "Boom: x")])[0])
    assert (duel.wins, duel.median_difference) == (1, -1)


def test_profiles_by_hand() -> None:
    (comparison,) = compare(ROWS)
    assert profiles(comparison) == {"fast": ((1, 0.2), (1.15, 0.4)), "exact": ((1, 0.6), (1.5, 0.8))}
    assert profiles(compare(ROWS[:1] + ROWS[-1:])[0]) == {}  # no common instance


def test_profiles_of_proofs_by_hand() -> None:
    rows = [
        row("a", "x", 100, 100, runtime=2),
        row("a", "y", 100, 100, runtime=6),
        row("b", "x", 100, 100, runtime=4),
        row("b", "y", 100, 90, runtime=1),
        *(row(name, "greedy", 120) for name in "ab"),
    ]
    found = proof_profiles(compare(rows)[0])
    assert found == {"x": ((1, 1),), "y": ((3, 0.5),), "greedy": ()}
    assert proof_profiles(compare(ROWS)[0]) == {}  # one alone has nothing to be compared with


def test_primal_curves_by_hand() -> None:
    rows = [
        row("a", "anytime", 100, runtime=10, incumbents=((2, 200), (4, 100))),
        row("a", "anytime", 125, runtime=5, incumbents=((1, 200),), seed=1),
        row("a", "greedy", 200, runtime=1),
        timed_out(row("b", "greedy", 1, runtime=1)),
        row("b", "anytime", 50, runtime=1),
        row("c", "greedy", None),
    ]
    (comparison,) = compare(rows)
    anytime, greedy = primal_curves(comparison)
    assert anytime.entrant == "anytime"
    assert anytime.end == greedy.end == 10
    # a, seed 0: 1 until 2, 0.5 until 4, 0; seed 1: 1 until 1, 0.5 until 5, then 0.2; b: 1 until 1, then 0.
    assert [time for time, _ in anytime.steps] == [1, 2, 4, 5]
    assert [level for _, level in anytime.steps] == pytest.approx([0.375, 0.25, 0.125, 0.05])
    assert anytime.mean_gap == pytest.approx((3 + (1 + 2 + 5 * 0.2)) / 2 / 2 / 10 + 1 / 2 / 10)
    assert greedy.steps == ((1, 0.75),)
    assert greedy.mean_gap == pytest.approx((1 + 9 * 0.5 + 10) / 2 / 10)
    assert primal_curves(compare(ROWS)[0]) == ()


def test_entrants_are_named_by_what_tells_them_apart() -> None:
    base = row("a", "cpsat", 5)
    rows = [
        base,
        replace(base, seconds=60.0),
        replace(base, workers=2),
        replace(base, solver="noX", solver_repr="noX()"),
        replace(base, solver="ils", iterations=10),
        replace(base, solver="ils", iterations=None),
        replace(base, solver="own", solver_repr="Own(1)", version="1"),
        replace(base, solver="own", solver_repr="Own(2)", version="2"),
        replace(base, seed=7),
    ]
    (comparison,) = compare(rows)
    assert comparison.entrants == (
        "cpsat, 10 s, 1 workers",
        "cpsat, 60 s, 1 workers",
        "cpsat, 10 s, 2 workers",
        "noX",
        "ils, 10 iterations",
        "ils, no iteration limit",
        "own, Own(1), version 1",
        "own, Own(2), version 2",
    )


def test_suites_and_objectives_are_apart_but_share_what_is_known() -> None:
    shared = row("a", "fast", 120)
    rows = [
        shared,
        replace(shared, suite="t", solver="exact", solver_repr="exact()", value=100, bound=100),
        replace(shared, objective="waste", value=7),
        replace(shared, kind="partition", objective="pairwise", value=9),
    ]
    found = compare(rows)
    pairs = [("s", "makespan"), ("t", "makespan"), ("s", "waste"), ("s", "pairwise")]
    assert [(one.suite, one.objective) for one in found] == pairs
    assert found[0].cells["fast"]["digest of a"].gap == 0.2
    assert found[2].best_by_digest["digest of a"].value == 7


def test_lexicographic_values_are_compared_whole() -> None:
    rows = [
        row("a", "one", (10, 7), objective="makespan,waste", bound=(8, -math.inf)),
        row("a", "one", (10, 9), objective="makespan,waste", seed=1),
        row("a", "other", (10, 9), objective="makespan,waste"),
    ]
    (comparison,) = compare(rows)
    cell = comparison.cells["one"]["digest of a"]
    assert (cell.value, cell.gap) == ((10, 8), 0.25)
    (duel,) = duels(comparison)
    assert (duel.wins, duel.ties, duel.losses, duel.p) == (1, 0, 0, 1)


@st.composite
def _records(draw: st.DrawFn) -> list[Record]:
    """Runs of three solvers on four instances, whose bounds are below all values."""
    rows = []
    for instance in "abcd":
        bound = draw(st.sampled_from([0, 3, -math.inf]))
        for solver in "xyz":
            for seed in range(draw(st.integers(0, 2))):
                value = draw(st.none() | st.integers(3, 6))
                made = row(instance, solver, value, bound, seed=seed, runtime=draw(st.integers(0, 9)))
                rows.append(made)
                if value is None and draw(st.booleans()):
                    rows[-1] = failed(made, "Boom: x")
    return draw(st.permutations(rows))


@settings(max_examples=examples(60))
@given(_records())
def test_nothing_is_dropped(rows: list[Record]) -> None:
    found = compare(rows)
    assert len(found) == bool(rows)
    for comparison in found:
        every = [run for mine in comparison.cells.values() for cell in mine.values() for run in cell.runs]
        assert sorted(map(hash, (run.key for run in every))) == sorted(map(hash, (run.key for run in rows)))
        for one in summaries(comparison):
            mine = [run for run in rows if run.solver == one.entrant]
            assert one.instances == len({run.digest for run in mine})
            assert (one.gap.count if one.gap else 0) + one.unbounded + one.incomplete == one.instances
            assert (one.runs, one.failed) == (len(mine), sum(bool(run.error) for run in mine))
            assert one.unanswered == sum(run.value is None and not run.error for run in mine)
            assert one.optimal <= one.best <= one.instances - one.incomplete
        for duel in duels(comparison):
            both = comparison.cells[duel.one].keys() & comparison.cells[duel.other].keys()
            assert duel.wins + duel.ties + duel.losses == len(both)
            assert duel.p <= duel.p_holm <= 1
        common = comparison.common
        for entrant, steps in profiles(comparison).items():
            answered = sum(comparison.cells[entrant][digest].value is not None for digest in common)
            assert max((share for _, share in steps), default=0) == pytest.approx(answered / len(common))


@settings(max_examples=examples(60))
@given(_records())
def test_one_seed_is_what_score_says(rows: list[Record]) -> None:
    single = [run for run in rows if run.seed == 0]
    found = compare(single)
    assert len(found) == bool(single)
    for comparison in found:
        for one, score in zip(summaries(comparison), solver_scores(single), strict=True):
            assert (one.entrant, one.instances, one.failed) == (score.solver, score.instances, score.failed)
            assert (one.unanswered, one.unbounded) == (score.unanswered, score.unbounded)
            assert (one.proven, one.optimal, one.best) == (score.proven, score.optimal, score.best)
            assert (one.gap is None) == (score.gap is None)
            if one.gap and score.gap:
                for name in ("count", "median", "max", "mean"):
                    assert getattr(one.gap, name) == getattr(score.gap, name)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=5), st.integers(1, 10**6))
def test_the_gap_of_the_mean_is_the_mean_of_the_gaps(values: list[int], bound: int) -> None:
    above = [bound + value for value in values]
    rows = [row("a", "x", value, bound, seed=seed) for seed, value in enumerate(above)]
    (comparison,) = compare(rows)
    mean = fmean(gap(value, bound) for value in above)
    assert comparison.cells["x"]["digest of a"].gap == pytest.approx(mean)
    assert all(run.status is not Status.OPTIMAL for run in rows)


def test_an_edited_solver_is_another_entrant() -> None:
    digests = ("0123456789abcdef", "fedcba9876543210")
    rows = [row("a", "mine:X", 9 - 2 * idx, code=f"mine:X#{each}") for idx, each in enumerate(digests)]
    (comparison,) = compare([*rows, row("a", "mine:X", 8)])
    assert comparison.entrants == tuple(
        f"mine:X, code {one}" for one in ("X#01234567", "X#fedcba98", "unknown")
    )
    assert [cells[rows[0].digest].value for cells in comparison.cells.values()] == [(9,), (7,), (8,)]


# --- Scores -------------------------------------------------------------------------------------------


def _row(*facts: Any, floor: Value = -math.inf, **fields: Any) -> Record:
    return row(*facts, combinatorial_bound=floor, **fields)


SCORED = (
    _row("a", "fast", 120, runtime=1),
    _row("a", "exact", 100, 100, runtime=7),
    _row("b", "fast", 150, floor=80, runtime=2),
    _row("b", "exact", 160, 100, floor=80, runtime=9),
    _row("c", "fast", 60, runtime=3),
    _row("c", "exact", None, runtime=10),
    _row("d", "fast", 50, floor=50, runtime=2),
    _row("d", "exact", None, error="Boom: x", floor=50, runtime=2),
)


def test_best_by_hand() -> None:
    known = best(SCORED)
    assert [(b.instance, b.value, b.bound, b.proven) for b in known.values()] == [
        ("a", 100, 100, True),
        ("b", 150, 100, False),
        ("c", 60, -math.inf, False),
        ("d", 50, 50, True),
    ]
    assert list(known) == [f"digest of {name}" for name in "abcd"]


def test_scores_by_hand() -> None:
    fast, exact = solver_scores(SCORED)
    assert fast.gap == Gaps(3, statistics.fmean([0.2, 0.5, 0]), 0.2, 0.5)
    assert (fast.optimum_gap, exact.optimum_gap) == (Gaps(2, 0.1, 0.1, 0.2), Gaps(1, 0, 0, 0))
    assert (fast.proven, fast.optimal, fast.best) == (0, 1, 3)
    assert (exact.failed, exact.unanswered, exact.unbounded) == (1, 1, 0)
    assert (fast.mean_runtime_s, fast.max_runtime_s) == (2, 3)
    assert (exact.mean_runtime_s, exact.max_runtime_s) == (7, 10)


def test_nothing_known_is_none() -> None:
    assert solver_scores([]) == ()
    assert best([]) == {}
    (score,) = solver_scores([_row("a", "fast", None, error="Boom: x")])
    assert (score.gap, score.optimum_gap, score.best, score.failed) == (None, None, 0, 1)


def test_lexicographic_objectives_compare_whole_and_gap_the_first_term() -> None:
    rows = [_row("a", "fast", (10, 7), floor=(8,)), _row("a", "exact", (10, 2), (10, -math.inf), floor=(8,))]
    (known,) = best(rows).values()
    assert (known.value, known.bound, known.proven) == ((10, 2), (10, -math.inf), False)
    fast, exact = solver_scores(rows)
    assert fast.gap == exact.gap == Gaps(1, 0, 0, 0)
    assert (fast.best, exact.best) == (0, 1)
    rows.append(_row("a", "better", (10, 2), (10, 2)))
    fast, exact, better = solver_scores(rows)
    assert (fast.optimal, exact.optimal, better.optimal) == (0, 1, 1)
    assert (fast.proven, exact.proven, better.proven) == (0, 0, 1)
    assert fast.optimum_gap == Gaps(1, 0, 0, 0)
    (score,) = solver_scores([_row("b", "fast", (10, 7))])
    assert (score.unbounded, score.gap) == (1, None)


FAST = _row("a", "fast", 99)


@pytest.mark.parametrize(
    ("rows", "claim"),
    [
        ([FAST, _row("a", "exact", 100, 100)], "exact claims the bound 100, fast found 99"),
        ([FAST, _row("a", "exact", None, 100)], "exact claims the bound 100, fast found 99"),
        ([_row("a", "fast", 99, floor=100)], "allocsolve.bounds claims the bound 100, fast found 99"),
        (
            [_row("a", "fast", (9, 1)), _row("a", "exact", (9, 2), (9, 2))],
            r"exact claims the bound \(9, 2\), fast found \(9, 1\)",
        ),
        (
            [FAST, _row("a", "exact", None, status=Status.INFEASIBLE)],
            "exact claims it is infeasible, fast found 99",
        ),
    ],
)
def test_contradictions_are_refused(rows: list[Record], claim: str) -> None:
    for order in (rows, rows[::-1]):
        with pytest.raises(InvalidAnswer, match=f"^contradiction on a: {claim}$"):
            best(order)
        with pytest.raises(InvalidAnswer, match=claim):
            solver_scores(order)


def test_a_failed_row_contradicts_nobody() -> None:
    (known,) = best([_row("a", "liar", None, error="InvalidAnswer: no"), FAST]).values()
    assert known.value == 99


def test_what_cannot_be_compared_is_refused() -> None:
    for function in (best, solver_scores):
        with pytest.raises(InvalidOption, match="several objectives cannot be compared: makespan; waste"):
            function([FAST, replace(FAST, objective="waste")])
    with pytest.raises(InvalidOption, match="fast has several records of a"):
        solver_scores([FAST, replace(FAST, seed=1)])


# --- Paired studies -----------------------------------------------------------------------------------

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
