"""What expansion is worth, from records by hand and from the exact solver."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pytest
from study_tools import failed, row

from allocsolve.bench import SUITES, Record, run, suite
from allocsolve.bench.library.design import KLEIN, klein_problem
from allocsolve.bench.scores.statistics import Bracket
from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.families import family_of
from allocsolve.instances import digest
from allocsolve.model import EvolutionProblem
from allocsolve.registry import solver_names
from reproductions.klein2011 import (
    ALGORITHMS,
    HEURISTIC_SECONDS,
    ExpansionDraw,
    Heuristic,
    examine_expansion,
    expansion_draws,
    expansion_picture,
    expansion_tasks,
    heuristics,
)

if TYPE_CHECKING:
    from allocsolve.instances import BestKnown
    from reproductions.klein2011 import ExpansionStudy

INF = math.inf
#: What the exact solver found, (value, bound) by limit and draw.
Exact = dict[float, list[tuple[float | None, float]]]
SVG = "{http://www.w3.org/2000/svg}"


def _draws(count: int, stem: str = "klein-5") -> tuple[ExpansionDraw, ...]:
    return expansion_draws(count, [stem])


def _records(
    draws: tuple[ExpansionDraw, ...], exact: Exact, found: dict[Heuristic, list[float]]
) -> list[Record]:
    made = []
    for idx, draw in enumerate(draws):
        for limit, problem in draw.problems.items():
            of: Any = {"digest": digest(problem)}
            value, bound = exact[limit][idx]
            made.append(row(problem.name, "cpsat", value, bound, **of))
            made += [
                row(problem.name, one.solver, values[idx], **of)
                for one, values in found.items()
                if one.limit == limit
            ]
    return made


def test_the_first_draws_are_the_library_under_every_limit() -> None:
    for stem in KLEIN:
        draws = expansion_draws(11, [stem])
        for suffix, limit in ("l1", 1), ("l2", 2), ("inf", INF):
            shipped = suite(f"{stem}-{suffix}")
            ours = [draw.problems[limit] for draw in draws]
            assert [p.name for p in ours[:10]] == [p.name for p in shipped]
            assert [digest(p) for p in ours[:10]] == [digest(p) for p in shipped]
            assert ours[10].name == f"{stem}-{suffix}-10"
            assert ours[10].expand_limit == limit
        apps = {problem.applications for problem in draws[10].problems.values()}
        assert len(apps) == 1
        assert apps.isdisjoint(
            problem.applications for draw in draws[:10] for problem in draw.problems.values()
        )
        assert [draw.name for draw in draws][9:] == [f"{stem}-09", f"{stem}-10"]
    assert [draw.apps for draw in expansion_draws(1)] == ["5", "8", "10", "12", "15-20"]
    beyond = klein_problem("klein", "inf", 123)
    assert (beyond.name, beyond.meta["seed"]) == ("klein-inf-123", [2011, 123])
    with pytest.raises(InvalidOption, match="tests 0 is below 1"):
        expansion_draws(0)


def test_tasks_are_the_heuristics_in_their_limits_and_the_baseline_in_all() -> None:
    draws = _draws(2)
    tasks = expansion_tasks(draws, seconds=60, workers=2, seed=7)
    assert len({task.key for task in tasks}) == len(tasks)
    baseline = [task for task in tasks if task.solver == "conflict-search"]
    assert len(baseline) == 6
    assert {task.suite for task in tasks} == {"klein-5-l1", "klein-5-l2", "klein-5-inf"}
    for task in tasks:
        key = task.key
        assert (key.objective, key.workers, key.seed) == ("makespan", 2, 7)
        assert key.seconds == (60 if task.solver == "conflict-search" else HEURISTIC_SECONDS)
        if task.solver in ALGORITHMS:
            assert isinstance(task.problem, EvolutionProblem)
            assert task.problem.expand_limit == ALGORITHMS[task.solver]
    assert {task.key.seconds for task in expansion_tasks(draws, seconds=3)} == {3}


def test_other_heuristics_of_the_registry_run_within_every_limit() -> None:
    family = family_of(EvolutionProblem)
    names = [name for name, row in solver_names(family).items() if row.method == "heuristic"]
    expected = {Heuristic(name, limit) for name, limit in ALGORITHMS.items()}
    expected |= {Heuristic(name, limit) for name in names if name not in ALGORITHMS for limit in (1, 2, INF)}
    assert set(heuristics()) == expected


@pytest.fixture
def by_hand() -> ExpansionStudy:
    """Two draws: of the first all is proven, of the second nothing."""
    exact: Exact = {
        1: [(1000, 1000), (900, 800)],
        2: [(900, 900), (None, 600)],
        INF: [(800, 800), (850, 500)],
    }
    found = {
        Heuristic("noX", 1): [1250.0, 1000.0],
        Heuristic("2X+c", 2): [1200.0, 880.0],
        Heuristic("infX+c", INF): [1000.0, 890.0],
    }
    draws = _draws(2)
    return examine_expansion(draws, _records(draws, exact, found), library=False)


def test_what_is_known_by_hand(by_hand: ExpansionStudy) -> None:
    one, other = by_hand.instances
    assert (one.name, one.apps) == ("klein-5-00", "5")
    assert one.optimum == {1: Bracket(1000, 1000), 2: Bracket(900, 900), INF: Bracket(800, 800)}
    assert one.gains == {2: Bracket(0.9, 0.9), INF: Bracket(0.8, 0.8)}
    # Limit 2 has a value from its heuristic; the bound 800 of limit 1 says nothing of looser limits.
    assert other.optimum == {1: Bracket(800, 900), 2: Bracket(600, 880), INF: Bracket(500, 850)}
    assert other.gains == {2: Bracket(600 / 900, 1), INF: Bracket(500 / 900, 1)}


def test_rows_by_hand(by_hand: ExpansionStudy) -> None:
    rigid, twice, unlimited = by_hand.gains
    counts = [(row.apps, row.limit, row.instances, row.proven) for row in by_hand.gains]
    assert counts == [("5", limit, 2, 1) for limit in (1, 2, INF)]
    assert (rigid.gap, twice.gap, unlimited.gap) == (100 / 800, 280 / 600, 350 / 500)
    assert (rigid.optimum, rigid.listed, rigid.p) == (None, None, None)
    assert twice.p is None, "one of two is proven: no mean, no test"
    assert twice.optimum is not None
    assert twice.listed is not None
    assert (twice.optimum.mean, twice.optimum.exact, twice.optimum.low) == (None, 1, 0.9)
    assert twice.optimum.within == pytest.approx(((0.9 + 600 / 900) / 2, (0.9 + 1) / 2))
    assert twice.listed.mean == pytest.approx((1200 / 1250 + 880 / 1000) / 2)
    rows = {(row.solver, row.limit): row for row in by_hand.heuristics}
    assert set(rows) == set(heuristics())
    limited = rows["2X+c", 2]
    assert (limited.own.low, limited.own.exact, limited.own.mean) == (1200 / 900, 1, None)
    assert limited.own.within == pytest.approx(((1200 / 900 + 1) / 2, (1200 / 900 + 880 / 600) / 2))
    assert limited.rigid.within == pytest.approx(((1.2 + 880 / 900) / 2, (1.2 + 880 / 800) / 2))
    assert rows["infX", INF].own.count == 0, "it has no record"


def test_optimum_and_list_scheduling_are_compared_where_it_is_proven() -> None:
    """Six proven instances on which list scheduling gains nothing, and one that is open."""
    draws = _draws(7)
    exact: Exact = {
        1: [(1000, 1000)] * 7,
        2: [*((900.0 + idx, 900.0 + idx) for idx in range(6)), (900, 10)],
        INF: [(800, 800)] * 7,
    }
    found = {
        Heuristic(name, limit): [1200.0] * 7 for name, limit in (("noX", 1), ("2X+c", 2), ("infX+c", INF))
    }
    _, twice, unlimited = examine_expansion(draws, _records(draws, exact, found), library=False).gains
    assert twice.optimum is not None
    assert twice.optimum.exact == 6
    # All differences have the same sign: 2 of the 2^6, and 2 of the 2^7 patterns are that uneven.
    assert (twice.p, unlimited.p) == (2 / 2**6, 2 / 2**7)


def test_values_hold_for_looser_limits_and_bounds_for_tighter_ones() -> None:
    draws = _draws(1)
    exact: Exact = {1: [(1000, 10)], 2: [(None, 1000)], INF: [(None, 700)]}
    (one,) = examine_expansion(draws, _records(draws, exact, {}), library=False).instances
    assert one.optimum == {1: Bracket(1000, 1000), 2: Bracket(1000, 1000), INF: Bracket(700, 1000)}
    assert one.gains == {2: Bracket(1, 1), INF: Bracket(0.7, 1)}
    # A failed row counts with its combinatorial bound.
    nothing: Exact = {limit: [(None, 5)] for limit in (1, 2, INF)}
    records = [failed(one, "Boom") for one in _records(draws, nothing, {})]
    (one,) = examine_expansion(draws, records, library=False).instances
    assert one.optimum == dict.fromkeys((1.0, 2.0, INF), Bracket(0, INF))


def test_contradictions_are_loud() -> None:
    looser: Exact = {1: [(1000, 10)], 2: [(None, 10)], INF: [(None, 1001)]}
    same: Exact = {1: [(1000, 1001)], 2: [(None, 1)], INF: [(None, 1)]}
    for exact, message in (
        (looser, "klein-5-00: the bound 1001 within limit inf is above 1000, found within"),
        (same, "klein-5-l1-00: cpsat claims"),
    ):
        draws = _draws(1)
        with pytest.raises(InvalidAnswer, match=f"contradiction on {message}"):
            examine_expansion(draws, _records(draws, exact, {}), library=False)


def test_the_library_counts_where_the_problem_is_the_same() -> None:
    known = {row.digest: row for name in ("l1", "l2", "inf") for row in _makespans(f"klein-5-{name}")}
    draws = _draws(11)
    nothing: Exact = {limit: [(None, 1)] * 11 for limit in (1, 2, INF)}
    study = examine_expansion(draws, _records(draws, nothing, {}))
    for draw, one in zip(draws[:10], study.instances, strict=False):
        for limit, problem in draw.problems.items():
            row = known[digest(problem)]
            assert row.lower <= one.optimum[limit].lower <= one.optimum[limit].upper <= row.upper
    assert study.instances[10].optimum == dict.fromkeys((1.0, 2.0, INF), Bracket(1, INF))
    with pytest.raises(InvalidAnswer, match=r"contradiction on klein-5-l1-00: a bound of 1\d* ?.*, yet"):
        examine_expansion(draws[:1], _records(draws[:1], nothing | {1: [(None, 10**7)]}, {}))


def _makespans(name: str) -> list[BestKnown]:
    return [row for row in SUITES[name].best_known() if row.objective == "makespan"]


@pytest.fixture(scope="module")
def solved() -> ExpansionStudy:
    draws = _draws(2)
    with pytest.MonkeyPatch.context() as patch:  # local searches need not search for long
        patch.setattr("reproductions.klein2011.expansion.HEURISTIC_SECONDS", 0.2)
        tasks = expansion_tasks(draws, seconds=30, workers=2)
    return examine_expansion(draws, run(tasks), library=False)


def test_the_exact_solver_finds_what_the_library_has(solved: ExpansionStudy) -> None:
    known = {(row.instance): row for name in ("l1", "l2", "inf") for row in _makespans(f"klein-5-{name}")}
    for one in solved.instances:
        stem, idx = one.name.rsplit("-", 1)
        for suffix, limit in ("l1", 1), ("l2", 2), ("inf", INF):
            row = known[f"{stem}-{suffix}-{idx}"]
            assert row.lower <= one.optimum[limit].upper
            assert one.optimum[limit].lower <= row.upper
            if row.optimal and one.optimum[limit].exact:
                assert one.optimum[limit].upper == row.upper
        assert set(one.heuristic_makespans) == set(heuristics())
    for found in solved.heuristics:
        assert found.own.count == 2
        assert found.own.within[0] >= 1


def test_the_picture_shows_dots_for_proofs_and_lines_for_the_rest(by_hand: ExpansionStudy) -> None:
    picture = ET.fromstring(str(expansion_picture(by_hand)))  # noqa: S314 - our own
    paths = [*picture.iter(f"{SVG}path")]
    classes = [path.get("class", "") for path in paths]
    # Bars and intervals of heuristics in the colour of the first size; its place in the legend.
    bars = [path for path in paths if path.get("class") == "c0" and path.find(f"{SVG}title") is not None]
    shown = [(row.own.mean is not None) + (row.own.interval is not None) for row in by_hand.heuristics]
    assert len(bars) == sum(shown)
    # One instance is proven, one is open, in two rows; one of each is in the legend.
    assert classes.count("d0") == classes.count("c0") - len(bars) - 1 == 3
    texts = [text.text for text in picture.iter(f"{SVG}text")]
    for text in ("5 apps, limit 2", "5 apps, limit inf", "noX, limit 1", "infX+c, limit inf"):
        assert text in texts
    assert not any(word in str(expansion_picture(by_hand)) for word in ("nan", "inf "))
