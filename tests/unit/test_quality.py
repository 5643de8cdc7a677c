"""The page on gaps of each version: it says what its data say, and figures of earlier versions stay."""

from __future__ import annotations

import importlib.util
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from allocsolve.errors import InvalidOption
from allocsolve.families import families, family_named
from allocsolve.instances import Library
from allocsolve.registry import make_solver

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def quality() -> Any:
    spec = importlib.util.spec_from_file_location("quality", ROOT / "docs" / "quality.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_that_of_its_data(quality: Any) -> None:
    text = quality.DATA.read_text(encoding="utf-8")
    versions = json.loads(text)
    assert quality.data_text(versions) == text
    assert quality.page(versions) == quality.PAGE.read_text(encoding="utf-8")


def test_the_newest_figures_are_of_this_version_and_of_every_suite(quality: Any) -> None:
    newest = json.loads(quality.DATA.read_text(encoding="utf-8"))[-1]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert newest["version"] == project["version"]
    for table in ("runs", "known"):
        assert list(dict.fromkeys(row["suite"] for row in newest[table])) == list(Library().folders)


def test_figures_of_earlier_versions_stay(quality: Any) -> None:
    first, second, again = ({"version": name, "seconds": idx} for idx, name in enumerate(("1", "2", "2")))
    assert quality.with_version([], first) == [first]
    assert quality.with_version([first], second) == [first, second]
    assert quality.with_version([first, second], again) == [first, again]
    with pytest.raises(InvalidOption, match="1 was measured before 2: its figures stay"):
        quality.with_version([first, second], first)
    assert quality.with_versions([first], [second, again]) == [first, again]


def test_means_are_over_the_gaps_there_are(quality: Any) -> None:
    row = quality.summary("s", "makespan", [0.0, 0.5, float("inf")])
    expected = {"suite": "s", "objective": "makespan", "problems": 3, "optimal": 1}
    assert row == {**expected, "without_gap": 1, "gap": 0.25}
    nothing = quality.summary("s", "makespan", [float("inf")])
    version = {"version": "1", "runs": [row, {**nothing, "suite": "t"}]}
    table = quality.gap_table([version, {"version": "2", "runs": [row]}], "runs").splitlines()
    assert table[2] == "| s | makespan | 3 | 25.0 %, 1 optimal, 1 without | 25.0 %, 1 optimal, 1 without |"
    assert table[3] == "| t | makespan | 1 | -, 0 optimal, 1 without | - |"


def test_each_family_has_a_solver_that_is_measured(quality: Any) -> None:
    assert list(quality.SOLVERS) == [family.kind for family in families()]
    for kind, name in quality.SOLVERS.items():
        make_solver(name, family_named(kind).problem)  # raises if it has none of this name
