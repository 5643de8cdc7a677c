"""Files of the gate that are none: every fault is named, in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from json_tools import changed, faults_of, saved, without

from allocsolve.bench.gate.baseline import read_baseline

if TYPE_CHECKING:
    from pathlib import Path

ABSENT = object()
GOOD: dict[str, Any] = {
    "format": "allocsolve-gate/1",
    "suite": "tiny",
    "solvers_asked": ["noX"],
    "budget": {"seconds": 60, "iterations": 200, "seed": 0},
    "time_factor": 1.5,
    "references": {"walk": 1, "scan": 1.3, "sort": 0.7, "floats": 0.6, "sweep": 0.4, "interpreter": 0.9},
    "problems": [
        {"problem": "a", "kind": "evolution", "digest": "00", "bound": None},
        {"problem": "b", "kind": "evolution", "digest": "01", "bound": 8},
    ],
    "solvers": [
        {"kind": "evolution", "solver": "noX", "mean_gap": 0.1, "timed_on": "300-applications", "time": 2.5}
    ],
    "results": [
        {"problem": "a", "solver": "noX", "status": "feasible", "value": 7, "bound": None},
        {"problem": "b", "solver": "noX", "status": "optimal", "value": 8, "bound": 8},
    ],
}


def test_the_good_one(tmp_path: Path) -> None:
    baseline = read_baseline(saved(tmp_path, GOOD))
    assert [row.value for row in baseline.results] == [7, 8]
    assert baseline.references == (1, 1.3, 0.7, 0.6, 0.4, 0.9)


def test_an_older_one(tmp_path: Path) -> None:
    """Before there were several reference works, times were in units of the walk, too."""
    baseline = read_baseline(saved(tmp_path, without(GOOD, "references")))
    assert baseline.references is None
    assert [row.time for row in baseline.solvers] == [2.5]


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        (("format",), "allocsolve-gate/2", "format: must be 'allocsolve-gate/1', not 'allocsolve-gate/2'"),
        (("suite",), ABSENT, "suite: missing"),
        (("budget", "seed"), 2**40, f"budget: seed {2**40} is not in 0..2^31-1"),
        (("time_factor",), 1, "time_factor: 1 is not above 1"),
        (("problems", 1, "problem"), "a", "problems: one stands twice"),
        (("solvers", 0, "timed_on"), "x", "solvers[0].timed_on: 'x' is no timing problem of this version"),
        (("solvers", 0, "time"), None, "solvers[0].time: must be null where timed_on is, and only there"),
        (("results", 0, "solver"), "infX", "results: none of 'noX' on 'a'"),
        (("results", 0, "problem"), "b", "results: one stands twice"),
    ],
)
def test_faults_are_named(tmp_path: Path, path: tuple[str | int, ...], value: object, fault: str) -> None:
    document = without(GOOD, *path) if value is ABSENT else changed(GOOD, path, value)
    assert fault in faults_of(lambda: read_baseline(saved(tmp_path, document)))
