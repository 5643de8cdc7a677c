"""Tables 1 and 2 of Klein & Perez 2011 against the figures that were found independently of this code."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from allocsolve import registry
from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.model import Budget, EvolutionProblem, EvolutionProfile, EvolutionSchedule, Result, Status
from reproductions.klein2011 import COLUMNS, PAPER, Reproduction, Spread, reproduce
from reproductions.klein2011.reproduction import ALGORITHMS

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.families import AnySolver

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
        for row in rows.values():
            assert list(row) == [column.name for column in COLUMNS]
            for cell in row.values():
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
    replaced: Callable[[str, AnySolver], None],
    name: str,
    solver: AnySolver,
    message: str,
) -> None:
    replaced(name, solver)
    with pytest.raises(InvalidAnswer, match=message):
        reproduce(10)
