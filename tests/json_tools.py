"""Documents of the file format, spoilt in one place, and what reading them says."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest

from allocsolve.errors import FormatError
from allocsolve.instances import digest, read_problem
from allocsolve.model import EvolutionProblem, EvolutionProfile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BIG = 2**53 + 1
MINIMAL: dict[str, Any] = {
    "format": "allocsolve/1",
    "kind": "evolution",
    "num_nodes": 8,
    "applications": [{"steps": [[60, 2], [30, 8]]}, {"steps": [[10, 0], [20, 3]]}],
}
PROBLEM = EvolutionProblem(8, (EvolutionProfile(((60, 2), (30, 8))), EvolutionProfile(((10, 0), (20, 3)))))
SOLUTION: dict[str, Any] = {
    "format": "allocsolve/1",
    "kind": "evolution-schedule",
    "problem": digest(PROBLEM),
    "applications": [
        {"name": "a1", "start": 5, "durations": [11, 20]},
        {"name": "a0", "start": 0, "durations": [60, 31]},
    ],
}


def saved(folder: Path, content: object, name: str = "file.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def faults_of(read: Callable[[], object]) -> tuple[str, ...]:
    with pytest.raises(FormatError) as caught:
        read()
    message = str(caught.value)
    assert message.startswith(f"{caught.value.source}: ")
    assert len(message.splitlines()) == 1
    return caught.value.faults


def problem_faults(folder: Path, content: object) -> tuple[str, ...]:
    return faults_of(lambda: read_problem(saved(folder, content)))


def changed(document: dict[str, Any], path: tuple[str | int, ...], value: object) -> dict[str, Any]:
    """Return a copy with another value at the path."""
    result = copy.deepcopy(document)
    place: Any = result
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return result


def without(document: dict[str, Any], *path: str | int) -> dict[str, Any]:
    result = copy.deepcopy(document)
    place: Any = result
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return result
