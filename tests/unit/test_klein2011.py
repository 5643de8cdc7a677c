"""Klein & Perez 2011: its tables against independent figures; what expansion is worth."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from study_tools import failed, row

from allocsolve import registry
from allocsolve.bench import SUITES, Record, run, suite
from allocsolve.bench.library.design import KLEIN, klein_problem
from allocsolve.bench.scores.statistics import Bracket
from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.families import family_of
from allocsolve.instances import digest
from allocsolve.model import Budget, EvolutionProblem, EvolutionProfile, EvolutionSchedule, Result, Status
from allocsolve.registry import solver_names
from reproductions.klein2011 import (
    ALGORITHMS,
    COLUMNS,
    HEURISTIC_SECONDS,
    PAPER,
    ExpansionDraw,
    Heuristic,
    Reproduction,
    Spread,
    examine_expansion,
    expansion_draws,
    expansion_picture,
    expansion_tasks,
    heuristics,
    reproduce,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.families import AnySolver
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


# --- Tables 1 and 2 -----------------------------------------------------------------------------------


#: One process makes the tables.
pytestmark = pytest.mark.xdist_group("klein2011")

ORDER = ("rigid", "noX", "2X", "2X+c", "infX", "infX+c")

#: Averages over 1000 other tests of the same distribution, by another implementation.
FOUND: dict[str, tuple[float, ...]] = {
    "effective_utilisation": (40.4, 61.7, 63.0, 63.2, 64.1, 64.8),
    "makespan": (1, 0.657, 0.644, 0.641, 0.632, 0.626),
    "waste": (70.5, 0, 2.56, 0.41, 6.91, 1.72),
    "completion": (1, 0.614, 0.614, 0.607, 0.623, 0.604),
    "waiting": (1, 0.557, 0.55, 0.547, 0.535, 0.537),
    "expanded": (0, 0, 22.1, 6.6, 26.4, 13.1),
}


@pytest.fixture(scope="module")
def thousand() -> Reproduction:
    return reproduce(1000)


@pytest.mark.parametrize(("column", "averages"), FOUND.items(), ids=FOUND)
def test_averages(thousand: Reproduction, column: str, averages: tuple[float, ...]) -> None:
    (unit,) = (c.unit for c in COLUMNS if c.name == column)
    within = {"relative": 0.02, "%": 1.0}[unit]
    ours = tuple(thousand.rows[name][column].avg for name in ORDER)
    assert ours == pytest.approx(averages, rel=0, abs=within)


def test_averages_are_those_of_the_paper(thousand: Reproduction) -> None:
    """The paper truncates what it prints, hence one more unit of its last digit; times are of 2011."""
    for name in ORDER:
        for column in COLUMNS:
            if column.unit != "ms":
                printed, ours = PAPER[name][column.name].avg, thousand.rows[name][column.name].avg
                within = {"relative": 0.03, "%": 2.0}[column.unit]
                assert ours == pytest.approx(printed, rel=0, abs=within), (name, column)


def test_every_cell_is_filled_and_ordered(thousand: Reproduction) -> None:
    assert (thousand.tests, thousand.seed) == (1000, 2011)
    for rows in (thousand.rows, PAPER):
        assert tuple(rows) == tuple(ALGORITHMS) == ORDER
        for columns in rows.values():
            assert list(columns) == [column.name for column in COLUMNS]
            for cell in columns.values():
                assert 0 <= cell.min <= cell.avg <= cell.max < math.inf
    limit_2 = thousand.rows["2X"]["expansion"]
    assert limit_2.max <= 100, "nothing is expanded to more than twice its duration"
    assert thousand.rows["rigid"]["waiting"] == Spread(1, 1, 1)


def test_the_same_seed_gives_the_same_tables() -> None:
    told: list[tuple[int, int, str]] = []
    once = reproduce(3, 7, progress=lambda *news: told.append(news))
    again, other = reproduce(3, 7), reproduce(3, 8)
    assert told == [(1, 3, "test 1"), (2, 3, "test 2"), (3, 3, "test 3")]
    for name in ORDER:
        for column in COLUMNS:
            if column.unit != "ms":
                assert once.rows[name][column.name] == again.rows[name][column.name]
    assert once.rows["noX"]["makespan"] != other.rows["noX"]["makespan"]
    with pytest.raises(InvalidOption, match="tests 0 is below 1"):
        reproduce(0)


def test_two_applications_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two applications, each 20 s on 1 node (in two steps) and 10 s on 3, on a cluster of 4."""
    app = EvolutionProfile(((10, 1), (10, 1), (10, 3)))
    drawn = "reproductions.klein2011.reproduction.klein2011"
    monkeypatch.setattr(drawn, lambda *_: EvolutionProblem(4, (app, app)))
    rows = reproduce(1).rows
    # Rigid: 3 nodes for 30 s, one after the other: 180 node-seconds for 100 useful ones.
    assert rows["rigid"]["waste"].avg == 80
    assert rows["rigid"]["effective_utilisation"].avg == pytest.approx(100 * 100 / 240)
    # noX: the second starts at 10, so that its 3 nodes are free when it wants them.
    assert rows["noX"]["makespan"].avg == 40 / 60
    assert rows["noX"]["utilisation"].avg == 100 / 180
    assert rows["noX"]["completion"].avg == pytest.approx((30 + 40) / (30 + 60))
    assert rows["noX"]["waiting"].avg == 10 / 30
    assert rows["noX"]["effective_utilisation"].avg == 100 * 100 / 160
    # 2X: the second starts at once and holds one node for 10 s too long.
    assert rows["2X"]["waste"].avg == 10
    assert rows["2X"]["waiting"].avg == 0
    assert rows["2X"]["expanded"].avg == 50
    assert rows["2X"]["expansion"] == pytest.approx((0, 100 / 6, 100 / 3))
    assert rows["2X"]["application_waste"] == pytest.approx((0, 10, 20))
    assert rows["2X+c"]["expansion"].max == 0
    # On 6 nodes nobody waits, and there is nothing to compare with.
    monkeypatch.setattr(drawn, lambda *_: EvolutionProblem(6, (app, app)))
    assert all(math.isnan(cell) for cell in reproduce(1).rows["noX"]["waiting"])


@pytest.fixture
def replaced(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, AnySolver], None]:
    real = registry.make_solver

    def use(name: str, solver: AnySolver) -> None:
        monkeypatch.setattr(
            registry, "make_solver", lambda asked, *told: solver if asked == name else real(asked, *told)
        )

    return use


def _all_at_once(problem: EvolutionProblem, _: Budget) -> Result[EvolutionSchedule]:
    apps = problem.applications
    return Result(Status.FEASIBLE, EvolutionSchedule.of([0] * len(apps), apps))


def _expanding(problem: EvolutionProblem, budget: Budget) -> Result[EvolutionSchedule]:
    return registry.make_solver("infX", problem)(replace(problem, expand_limit=math.inf), budget)


def _nothing(_: EvolutionProblem, __: Budget) -> Result[EvolutionSchedule]:
    return Result(Status.UNKNOWN)


@pytest.mark.parametrize(
    ("name", "solver", "message"),
    [
        ("noX", _all_at_once, "noX on klein2011-s2011-0: .*from .* nodes are held"),
        ("2X", _expanding, "2X on klein2011-s2011-.*beyond the limit of 2"),
        ("infX", _nothing, "infX on klein2011-s2011-0: no answer"),
    ],
)
def test_schedules_are_judged_within_the_limit_of_their_algorithm(
    replaced: Callable[[str, AnySolver], None], name: str, solver: AnySolver, message: str
) -> None:
    replaced(name, solver)
    with pytest.raises(InvalidAnswer, match=message):
        reproduce(10)
