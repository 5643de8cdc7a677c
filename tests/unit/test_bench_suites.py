"""Suites are the same problems everywhere."""

from __future__ import annotations

import math

import pytest

from allocsolve.bench import SUITES, suite
from allocsolve.errors import UnknownName
from allocsolve.instances import digest, klein2011, uniform_occupancy
from allocsolve.model import EvolutionProblem, Mesh, PartitionProblem, Topology, Torus

NUM_APPS = {
    "tiny": (4, 5),
    "klein-5": (5, 5),
    "klein-8": (8, 8),
    "klein-10": (10, 10),
    "klein-12": (12, 12),
    "klein": (15, 20),
}
MACHINES: dict[str, Topology] = {
    "mesh-16x8": Mesh((16, 8)),
    "mesh-16x16": Mesh((16, 16)),
    "mesh-32x32": Mesh((32, 32)),
    "torus-16x16": Torus((16, 16)),
    "mesh-8x8x8": Mesh((8, 8, 8)),
}


def test_every_suite_is_tested() -> None:
    assert set(SUITES) == {*NUM_APPS, *MACHINES}


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_is_what_its_entry_says(name: str) -> None:
    entry, problems = SUITES[name], suite(name)
    assert entry.name == name
    assert len(problems) == entry.count
    assert [problem.name for problem in problems] == [f"{name}-{idx:02}" for idx in range(entry.count)]
    assert len({digest(problem) for problem in problems}) == entry.count
    assert suite(name) == problems


@pytest.mark.parametrize("name", NUM_APPS)
def test_suites_of_evolution_problems(name: str) -> None:
    least, most = NUM_APPS[name]
    for problem in suite(name):
        assert isinstance(problem, EvolutionProblem)
        assert least <= len(problem.applications) <= most
        assert problem.expand_limit == math.inf
        assert problem.num_nodes == 100


@pytest.mark.parametrize("name", MACHINES)
def test_suites_of_partition_problems(name: str) -> None:
    problems = suite(name)
    assert len(problems) == 10
    sizes = []
    for idx, problem in enumerate(problems):
        assert isinstance(problem, PartitionProblem)
        assert problem.topology == MACHINES[name]
        share = len(problem.busy) / problem.topology.num_nodes
        assert share == pytest.approx(0.3 if idx < 5 else 0.6, abs=0.005)
        assert not problem.contiguous
        sizes.append(problem.size)
    assert sizes[:5] == sizes[5:] == sorted(set(sizes))


def test_digests_are_frozen() -> None:
    assert digest(suite("tiny")[0])[:16] == "a5e2082d26be8ea0"
    assert digest(suite("klein-8")[9])[:16] == "a9183e1030c1bb40"
    assert digest(suite("klein")[0])[:16] == "b4c842bbea002c31"
    for name, frozen in FROZEN.items():
        assert digest(suite(name)[9])[:16] == frozen


#: The last problem of each suite of partition problems.
FROZEN = {
    "mesh-16x8": "15e3d52def08530e",
    "mesh-16x16": "aab8a7531cd5bcb9",
    "mesh-32x32": "fc183932c753a1f1",
    "torus-16x16": "9f1c730607b5265b",
    "mesh-8x8x8": "945d1a7acf42426c",
}


def test_klein_holds_the_first_tests_of_reproduce() -> None:
    assert [digest(problem) for problem in suite("klein")[:3]] == [
        digest(klein2011([2011, idx])) for idx in range(3)
    ]


def test_a_mesh_suite_by_hand() -> None:
    assert digest(suite("mesh-16x8")[6]) == digest(uniform_occupancy(Mesh((16, 8)), 0.6, 8, [168, 6]))


def test_unknown_suite() -> None:
    with pytest.raises(UnknownName, match="unknown suite 'klien'; did you mean klein"):
        suite("klien")
