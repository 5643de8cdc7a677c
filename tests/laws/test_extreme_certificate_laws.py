"""Certificates with numbers that no solver writes: the judge refuses them, or the bound holds."""

from __future__ import annotations

import copy
import functools
import itertools
from typing import TYPE_CHECKING, Any

import pytest
from certificate_draws import Example, certificate_examples

from allocsolve.errors import InvalidAnswer
from allocsolve.families import family_of
from allocsolve.judge import certified_bound
from allocsolve.model import Mesh, PartitionProblem, Status, terms
from allocsolve.registry import solve

if TYPE_CHECKING:
    from collections.abc import Iterator

EXACT = {
    "evolution": "cpsat",
    "partition": "branch-and-bound",
    "placement": "tree-knapsack",
    "reservation": "cpsat",
    "workload": "milp",
}
EXAMPLES = certificate_examples()
_MESH = PartitionProblem.of(Mesh((3, 4)), busy=[5], size=5)
_SEARCHED = solve(_MESH, EXACT["partition"]).certificate
assert _SEARCHED is not None
EXAMPLES["cut-tree of a search"] = Example(_MESH, "pairwise", dict(_SEARCHED))
#: At the edges of what fits into integers of 32 and 64 bits, into floats, and of what judges add up.
EDGES = [0, 1, -1, 0.5, 1e308, 10**30, 1 - 2**63, *(2**power for power in (31, 32, 50, 53, 57, 60, 61, 62))]
EDGES += [2**61 - 1, 2**63 - 1, 2**64]


@functools.cache
def optimum(name: str) -> float:
    """Return the least value, as an exact solver proves it."""
    problem, term, _ = EXAMPLES[name]
    result = solve(problem, EXACT[family_of(problem).kind], objective=term)
    assert result.status is Status.OPTIMAL
    assert result.objective is not None
    return float(terms(result.objective)[0])


def places(content: Any) -> Iterator[tuple[Any, Any]]:
    """Yield where in lists and records there is a number, or a list of numbers only."""
    for key, value in content.items() if isinstance(content, dict) else enumerate(content):
        if is_number(value) or (isinstance(value, list) and value and all(map(is_number, value))):
            yield content, key
        if isinstance(value, dict | list):
            yield from places(value)


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def check(name: str, content: dict[str, Any]) -> None:
    """Have the judge read a certificate in place of that of an example."""
    problem, term, _ = EXAMPLES[name]
    try:
        bound = certified_bound(problem, content, (term,))
    except InvalidAnswer:
        return
    assert bound <= optimum(name), content


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_bound_with_one_extreme_number_holds(name: str) -> None:
    for idx, edge in itertools.product(range(len(list(places(EXAMPLES[name].certificate)))), EDGES):
        content = copy.deepcopy(EXAMPLES[name].certificate)
        holder, key = list(places(content))[idx]
        holder[key] = [edge] * len(holder[key]) if isinstance(holder[key], list) else edge
        check(name, content)
