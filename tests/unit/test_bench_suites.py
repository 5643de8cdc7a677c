"""Suites are the same problems everywhere."""

from __future__ import annotations

import math

import pytest

from allocsolve.bench import SUITES, suite
from allocsolve.errors import UnknownName
from allocsolve.instances import digest, klein2011


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_is_what_its_entry_says(name: str) -> None:
    entry, problems = SUITES[name], suite(name)
    assert len(problems) == entry.count
    assert [problem.name for problem in problems] == [f"{name}-{idx:02}" for idx in range(entry.count)]
    assert len({digest(problem) for problem in problems}) == entry.count
    least, most = entry.num_apps
    for problem in problems:
        assert least <= len(problem.applications) <= most
        assert problem.expand_limit == math.inf
        assert problem.num_nodes == 100
    assert suite(name) == problems


def test_digests_are_frozen() -> None:
    assert digest(suite("tiny")[0])[:16] == "a5e2082d26be8ea0"
    assert digest(suite("klein-8")[9])[:16] == "a9183e1030c1bb40"
    assert digest(suite("klein")[0])[:16] == "b4c842bbea002c31"


def test_klein_holds_the_first_tests_of_reproduce() -> None:
    assert [digest(problem) for problem in suite("klein")[:3]] == [
        digest(klein2011([2011, idx])) for idx in range(3)
    ]


def test_unknown_suite() -> None:
    with pytest.raises(UnknownName, match="unknown suite 'klien'; did you mean klein"):
        suite("klien")
