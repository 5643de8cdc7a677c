"""Small libraries of instances in a folder of a test, and what is drawn for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from allocsolve.instances import (
    BestKnown,
    HistoryEntry,
    Library,
    Member,
    Selection,
    klein2011,
    write_index,
    write_problem,
)
from allocsolve.model import Mesh, PartitionProblem

if TYPE_CHECKING:
    from pathlib import Path

    from hypothesis.strategies import DrawFn

    from allocsolve.model import Problem

KLEIN = tuple(klein2011([3, idx], num_apps=(3, 3), expand_limit=1) for idx in range(2))
MESH = PartitionProblem.of(Mesh((4, 3)), busy=[5], size=4)


def small_library(root: Path) -> Library:
    """Two suites of three problems, nothing known of them, and a selection of both."""
    suites: dict[str, tuple[Problem, ...]] = {"klein": KLEIN, "mesh": (MESH,)}
    for name, problems in suites.items():
        (root / name).mkdir(parents=True)
        for idx, problem in enumerate(problems):
            write_problem(replace(problem, name=f"{name}-{idx}"), root / name / f"{name}-{idx}.json")
    both = Selection("both", "of both kinds", (Member("mesh", "mesh-0"), Member("klein", "klein-1")))
    write_index(root, {"klein": "three applications", "mesh": "a small mesh"}, [both])
    return Library(root)


def entry(kind: Any, value: float, **others: Any) -> HistoryEntry:
    facts = {"date": "2026-11-20", "solver": "Fake()", "versions": {"allocsolve": "0.1.0"}, "seconds": 0.5}
    facts["solution"] = "5" * 64 if kind == "solution" else ""
    return HistoryEntry(kind, value, **{**facts, **others})


@st.composite
def best_knowns(draw: DrawFn, *, instance: str = "some", objective: str = "makespan") -> BestKnown:
    """Rows with a history in which solutions fall and bounds rise, perhaps until they meet."""
    values: list[float] = sorted(draw(st.sets(st.integers(0, 2**53), max_size=8)))
    if draw(st.booleans()):
        values = [value / 8 for value in values]
    meet = draw(st.integers(0, len(values)))
    bounds, solutions = values[:meet], values[meet:][::-1]
    meets = draw(st.booleans())
    if bounds and meets:
        solutions.append(bounds[-1])
    row = BestKnown(instance, objective, draw(st.text("0123456789abcdef", min_size=64, max_size=64)))
    for kind in draw(st.permutations(["bound"] * len(bounds) + ["solution"] * len(solutions))):
        value = (bounds if kind == "bound" else solutions).pop(0)
        others = {"seconds": draw(st.floats(0, 1e6)), "solver": draw(st.text(max_size=9))}
        row = row.with_entry(entry(kind, value, **others))
    return row
