"""The command that redoes Bender et al. 2008, and the tables under it."""

from __future__ import annotations

import pytest
from cli_tools import Capture, run, run_json

from allocsolve.model import Mesh
from reproductions.bender2008 import command as bender2008


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a heuristic that is nearly always optimal stand in for the exact solver."""
    monkeypatch.setattr("reproductions.bender2008.command.EXACT", "manhattan-median+swaps")
    names = ("manhattan-median", "leak", "random")
    monkeypatch.setattr("reproductions.bender2008.command.HEURISTICS", names)


@pytest.mark.usefixtures("quick")
def test_reproduce_bender2008(capsys: Capture) -> None:
    found = run_json(capsys, "reproduce", "bender2008", "--tests", 1, "--seed", 5)
    assert (found["paper"], found["tests"], found["seed"]) == ("bender2008", 1, 5)
    for case in found["tight_family"]:
        distance = case["distance"]
        assert (case["median"], case["optimum"]) == (28 * distance - 33, 16 * distance + 24)
        assert case["ratio"] == case["median"] / case["optimum"] < 7 / 4
    assert [case["distance"] for case in found["tight_family"]] == [10, 33, 100, 200]
    assert all(case["proven"] for case in found["tight_family"])
    tables = found["occupancies"]
    assert [(table["machine"], table["occupancy"]) for table in tables] == [
        (machine, occupancy) for machine in ("16x8", "32x32") for occupancy in ("uniform", "churned")
    ]
    names = ["manhattan-median", "leak", "random", "manhattan-median+swaps"]
    for table in tables:
        assert [row["solver"] for row in table["scores"]] == names
        assert table["tests"] == 1
    text = run(capsys, "reproduce", "bender2008", "--tests", 1)
    assert max(map(len, text.splitlines())) <= 100
    assert "1.727" in text
    assert "16x8 uniform: 0 of 1 optima proven" in text


def test_occupancy_tables_with_proven_optima(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reproductions.bender2008.command._MACHINES", (Mesh((8, 7)),))
    monkeypatch.setattr("reproductions.bender2008.command._SIZES", (4, 9))
    told: list[tuple[int, int]] = []
    tables = bender2008.occupancy_tables(
        2, seconds=20, progress=lambda done, total, _: told.append((done, total))
    )
    total = 4 * (len(bender2008.HEURISTICS) + 1) + 4  # once more for connected sets
    assert told == [(done, total) for done in range(total + 1)]
    for table in tables:
        assert (table.tests, table.proven) == (2, 2)
        by_name = {score.solver: score.optimum_gap for score in table.scores}
        assert list(by_name) == [*bender2008.HEURISTICS, "branch-and-bound"]
        exact, median = by_name["branch-and-bound"], by_name["manhattan-median"]
        assert exact is not None
        assert exact.max == 0
        assert table.connected is not None
        assert table.connected.count <= 2
        assert table.connected.mean >= 0
        assert median is not None
        assert median.max <= 3 / 4
