"""Problems, answers and results in notebooks."""

from __future__ import annotations

import subprocess
import sys
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from picture_tools import SVG, parsed
from strategies import evolution_problems
from tiers import examples

from allocsolve import EvolutionProblem, EvolutionProfile, PartitionProblem, Torus, plot, solve
from allocsolve.errors import InvalidOption
from allocsolve.instances import klein2011
from allocsolve.model import Result, Status

EVIL = "<img src=x onerror=alert(1)>\u202e"
PROBLEM = EvolutionProblem(4, (EvolutionProfile([(10, 3), (20, 1)]),) * 2, name=EVIL)
PARTITION = PartitionProblem(Torus((4, 4)), np.ones(16, dtype=bool), size=3, name=EVIL)


def _cells(shown: Any) -> list[str]:
    """The texts of the tables that a value shows."""
    root = ET.fromstring(f"<div>{shown._repr_html_()}</div>")  # noqa: S314 - made by the package under test
    assert {node.tag for node in root.iter()} <= {"div", "table", "tr", "td", "th", "bdi", "p"}
    return ["".join(cell.itertext()) for cell in root.iter("td")]


def test_problems_say_what_they_are() -> None:
    for problem, kind, about in (
        (PROBLEM, "evolution", "2 applications, 4 nodes, expand limit inf"),
        (PARTITION, "partition", "3 of 16 free nodes on a 4x4 torus"),
    ):
        cells = _cells(problem)
        assert cells[:6] == ["name", EVIL, "kind", kind, "problem", about]


def test_whoever_imports_a_public_name_sees_tables() -> None:
    code = "from allocsolve import EvolutionProblem; print(EvolutionProblem(4, ())._repr_html_())"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "0 applications, 4 nodes" in done.stdout


def test_results_show_their_answer() -> None:
    result = solve(PROBLEM, "noX")
    cells = _cells(result)
    assert cells[:4] == ["status", str(result.status), "objective", str(result.objective)]
    # The second one needs three of the four nodes.
    assert cells[8:] == ["0", "0", "30", "3", "1", "10", "40", "3"]
    assert _cells(result.answer) == cells[8:]
    result = solve(PARTITION, "gen-alg")
    assert result.answer is not None
    assert ", ".join(map(str, result.answer.nodes.tolist())) in _cells(result)
    assert "no answer" in _cells(Result(Status.UNKNOWN, None, None))


def test_long_tables_are_cut() -> None:
    answer: Any = solve(klein2011(3, num_apps=(40, 40)), "noX").answer
    assert len(_cells(answer)) == 4 * 20
    assert "<p>and 20 more</p>" in answer._repr_html_()


def test_pictures_show_themselves() -> None:
    for problem, solver in ((PROBLEM, "noX"), (PARTITION, "gen-alg")):
        result = solve(problem, solver)
        picture: Any = plot(problem, result)
        assert picture._repr_svg_() == str(picture) == str(plot(problem, result.answer))
        texts = [text.text or "" for text in parsed(picture).iter(f"{SVG}text")]
        assert texts[0] == EVIL[:-1] + "\\u202e"  # the mark that turns letters round is shown, not followed
    with pytest.raises(InvalidOption, match="there is no answer to draw"):
        plot(PROBLEM, Result(Status.UNKNOWN, None, None))
    many = EvolutionProblem(4, (EvolutionProfile([(1, 1)]),) * 800)
    with pytest.raises(InvalidOption, match="800 applications"):
        plot(many, solve(many, "noX"))


@settings(max_examples=examples(20))
@given(evolution_problems())
def test_whatever_is_solved_can_be_shown(problem: EvolutionProblem) -> None:
    result = solve(problem, "infX")
    assert _cells(problem)
    assert len(_cells(result)) == 8 + 4 * min(20, len(problem.applications))
    assert parsed(plot(problem, result)).tag == f"{SVG}svg"
