"""The library that comes with the package: the same problems for ever, and nothing known but judged."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from allocsolve.bench import SUITES, build_library, suite, verify_suite
from allocsolve.bench.library.design import DESIGN, SELECTIONS
from allocsolve.errors import InvalidProblem, UnknownName
from allocsolve.instances import (
    PACKAGED,
    Selection,
    digest,
    klein2011,
    lublin1999,
    read_problem,
    regenerate,
    uniform_occupancy,
    write_problem,
)
from allocsolve.model import (
    EvolutionProblem,
    Mesh,
    PartitionProblem,
    ReservationProblem,
    Topology,
    Torus,
    WorkloadProblem,
)
from allocsolve.registry import make_allocator

KLEIN = {"klein-5": (5, 5), "klein-8": (8, 8), "klein-10": (10, 10), "klein-12": (12, 12), "klein": (15, 20)}
LIMITS = {"l1": 1, "l2": 2, "inf": math.inf}
MACHINES: dict[str, Topology] = {
    "mesh-16x8": Mesh((16, 8)),
    "mesh-16x16": Mesh((16, 16)),
    "mesh-32x32": Mesh((32, 32)),
    "mesh-8x8x8": Mesh((8, 8, 8)),
    "torus-16x16": Torus((16, 16)),
    "torus-8x8x8": Torus((8, 8, 8)),
}
OTHERS = {"amr-l1": 4, "amr-l2": 4, "amr-inf": 4, "evotree-l1": 5, "evotree-inf": 5}
OTHERS |= {"median-worst-case": 4, "towns": 7, "counterexamples": 12}
OTHERS |= {"lublin-256": 3, "easy-counterexamples": 12, "linnert-1000": 3, "shape-counterexamples": 6}
OTHERS |= {"network-counterexamples": 10, "nvl72": 20, "perlmutter": 20, "meta-24k": 20, "tpu-v5e": 20}
#: Workloads and reservations under load.
LOADED = {"lublin-load": 4, "malleable-load": 4, "moldable-load": 2, "evolving-phases": 5}
LOADED |= {"evolving-requests": 2, "leaking-load": 2}
OTHERS |= LOADED


def test_every_suite_is_tested() -> None:
    klein = {f"{stem}-{suffix}" for stem in KLEIN for suffix in LIMITS}
    assert {*SUITES.folders} == klein | {*MACHINES} | {*OTHERS}
    assert {*SUITES} == {*SUITES.folders} | {"tiny", "standard", "hard"}
    for name, count in OTHERS.items():
        assert len(SUITES[name].members) == count


@pytest.mark.parametrize("name", SUITES.folders)
def test_the_judge_confirms_all_that_is_known(name: str) -> None:
    assert list(verify_suite(SUITES[name])) == []


@pytest.mark.parametrize("name", SUITES.folders)
def test_every_problem_can_be_made_again_from_its_header(name: str) -> None:
    problems = suite(name)
    for problem in problems:
        assert digest(regenerate(problem.meta, make_allocator)) == digest(problem)
    assert len({digest(problem) for problem in problems}) == len(problems)


def test_the_design_makes_the_library(tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("library")
    shipped = sorted(path.relative_to(PACKAGED) for path in PACKAGED.rglob("*.json"))
    problems = [path for path in shipped if path.name != "best_known.json" and "solutions" not in path.parts]
    assert build_library(root) == len(problems) - 1  # the index is no problem
    assert sorted(path.relative_to(root) for path in root.rglob("*.json")) == problems
    for path in problems:
        assert (root / path).read_bytes() == (PACKAGED / path).read_bytes(), path
    assert build_library(root) == 0
    other = root / "klein-5-l1" / "klein-5-l1-00.json"
    write_problem(klein2011(1), other)
    with pytest.raises(InvalidProblem, match=r"klein-5-l1-00\.json: this is not the problem"):
        build_library(root)


def test_the_library_is_small() -> None:
    files = [path for path in PACKAGED.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 4_500_000
    assert sum(len(SUITES[name].members) for name in SUITES.folders) <= 450


@pytest.mark.parametrize("stem", KLEIN)
def test_limits_share_applications(stem: str) -> None:
    least, most = KLEIN[stem]
    by_limit = {suffix: suite(f"{stem}-{suffix}") for suffix in LIMITS}
    for suffix, problems in by_limit.items():
        assert len(problems) == 10
        for problem, unlimited in zip(problems, by_limit["inf"], strict=True):
            assert isinstance(problem, EvolutionProblem)
            assert isinstance(unlimited, EvolutionProblem)
            assert problem.expand_limit == LIMITS[suffix]
            assert problem.num_nodes == 100
            assert least <= len(problem.applications) <= most
            assert problem.applications == unlimited.applications


@pytest.mark.parametrize("stem", KLEIN)
def test_a_looser_limit_is_never_worse(stem: str) -> None:
    """A schedule within a limit is one within every larger limit."""
    rows = {
        suffix: [row for row in SUITES[f"{stem}-{suffix}"].best_known() if row.objective == "makespan"]
        for suffix in LIMITS
    }
    assert all(rows.values())
    for tight, loose in ("l1", "l2"), ("l2", "inf"):
        for row, looser in zip(rows[tight], rows[loose], strict=True):
            assert looser.lower <= row.upper


@pytest.mark.parametrize("name", MACHINES)
def test_suites_of_partition_problems(name: str) -> None:
    problems = suite(name)
    assert len(problems) == 20
    cells = []
    for problem in problems:
        assert isinstance(problem, PartitionProblem)
        assert problem.topology == MACHINES[name]
        share = len(problem.busy) / problem.topology.num_nodes
        assert share == pytest.approx(0.3, abs=0.005) or share == pytest.approx(0.6, abs=0.005)
        assert not problem.contiguous
        cells.append((problem.meta["generator"], round(share, 1), problem.size))
        kind, size = problem.name.removeprefix(f"{name}-").split("-")
        assert (kind[0], int(kind[1:]), int(size[1:])) == (
            str(problem.meta["generator"])[0],
            round(100 * share, -1),
            problem.size,
        )
    assert len(set(cells)) == 20


@pytest.mark.parametrize("name", ["nvl72", "perlmutter", "meta-24k", "tpu-v5e", "network-counterexamples"])
def test_suites_of_networks_are_proven(name: str) -> None:
    rows = SUITES[name].best_known()
    assert {row.instance for row in rows} == {problem.name for problem in suite(name)}
    assert len(rows) == (10 if name == "network-counterexamples" else 20)
    assert all(row.lower == row.upper for row in rows)


def test_suites_under_load_are_what_they_say() -> None:
    """Loads are what rigid jobs need of the nodes, the kinds of jobs those of the names."""
    kinds = {
        "lublin-load": {"rigid"},
        "malleable-load": {"rigid", "malleable"},
        "moldable-load": {"moldable"},
        "evolving-phases": {"evolving"},
        "evolving-requests": {"evolving", "malleable"},
    }
    assert {*kinds, "leaking-load"} == {*LOADED}
    for name, expected in kinds.items():
        for problem in suite(name):
            assert isinstance(problem, WorkloadProblem)
            assert {job.kind for job in problem.jobs} == expected or problem.name.endswith("-all")
    for problem in suite("lublin-load"):
        assert isinstance(problem, WorkloadProblem)
        assert _load(problem) == pytest.approx(int(problem.name.split("-")[2]) / 100, rel=0.01)
        assert max(job.nodes for job in problem.jobs) == problem.num_nodes
    for problem in suite("leaking-load"):
        assert isinstance(problem, ReservationProblem)
        assert problem.leaking


def _load(problem: WorkloadProblem) -> float:
    """Return the share of the nodes that jobs need between the first and the last submission."""
    return float(problem.area / problem.num_nodes / np.ptp(problem.packed.submit))


def test_the_seeds_of_loads_are_the_first_two() -> None:
    found: dict[int, list[str]] = {load: [] for load in (90, 120)}
    seed = 0
    while any(len(names) < 2 for names in found.values()):
        problem = lublin1999([128, seed], num_jobs=300, num_nodes=128)
        for load, names in found.items():
            near = abs(_load(problem) * 100 - load) <= 0.01 * load
            if near and len(names) < 2 and problem.packed.nodes.max() == 128:
                names.append(f"lublin-load-{load:03}-s{seed}")
        seed += 1
    members = {member.instance for member in SUITES["lublin-load"].members}
    assert members == {name for names in found.values() for name in names}


def test_suites_under_load_are_judged_and_open() -> None:
    """Of each instance a schedule is known, and a bound which some instance of the suite has not reached."""
    for name in LOADED:
        term = "unsuccessful" if name == "leaking-load" else "turnaround"
        rows = [row for row in SUITES[name].best_known() if row.objective == term]
        assert {row.instance for row in rows} == {member.instance for member in SUITES[name].members}
        assert all(0 <= row.lower <= row.upper < math.inf for row in rows)
        assert not all(row.optimal for row in rows)


def test_digests_are_frozen() -> None:
    frozen = {
        "klein-8-inf/klein-8-inf-09": "a9183e1030c1bb40",
        "klein-inf/klein-inf-00": "b4c842bbea002c31",
        "mesh-16x8/mesh-16x8-u60-k32": "15e3d52def08530e",
        "mesh-16x16/mesh-16x16-u60-k64": "aab8a7531cd5bcb9",
        "mesh-32x32/mesh-32x32-u60-k96": "fc183932c753a1f1",
        "torus-16x16/torus-16x16-u60-k32": "9f1c730607b5265b",
        "mesh-8x8x8/mesh-8x8x8-u60-k48": "945d1a7acf42426c",
        "nvl72/nvl72-c90-k200": "2d8be342a8364656",
        "perlmutter/perlmutter-u50-k064": "068c31cf01f822c6",
        "meta-24k/meta-24k-c50-k128": "af4afaabff4b0e24",
        "tpu-v5e/tpu-v5e-c50-k32": "488aab79d46ec21c",
    }
    for file, start in frozen.items():
        assert digest(read_problem(PACKAGED / f"{file}.json"))[:16] == start


def test_klein_holds_the_first_tests_of_reproduce() -> None:
    assert [digest(problem) for problem in suite("klein-inf")[:3]] == [
        digest(klein2011([2011, idx])) for idx in range(3)
    ]


def test_a_mesh_by_hand() -> None:
    problem = read_problem(PACKAGED / "mesh-16x8" / "mesh-16x8-u60-k08.json")
    assert digest(problem) == digest(uniform_occupancy(Mesh((16, 8)), 0.6, 8, [168, 6]))


@pytest.mark.parametrize("chosen", SELECTIONS, ids=lambda chosen: chosen.name)
def test_selections_are_what_they_say(chosen: Selection) -> None:
    name, _, members = chosen
    found = SUITES[name]
    assert found.members == members
    assert len(set(members)) == len(members)
    for member in members:
        assert member in SUITES[member.suite].members
    assert {type(problem) for problem in found.problems()} == {EvolutionProblem, PartitionProblem}
    if name != "hard":
        first = [row for row in found.best_known() if row.objective != "completion"]
        assert len(first) == len(members)
        assert name != "tiny" or all(row.optimal for row in first)


def test_the_towns_are_the_published_ones() -> None:
    """Demaine et al. 2011: least total distances of n cells of the empty grid."""
    published = {5: 16, 9: 72, 10: 96, 16: 318, 32: 1840}
    rows = {row.instance: row for row in SUITES["towns"].best_known()}
    for size, cost in published.items():
        row = rows[f"towns-16x16-k{size:02}"]
        assert (row.lower, row.upper) == (cost, cost)
    assert [rows[f"towns-4x4x4-k0{size}"].upper for size in (7, 9)] == [36, 68]


def test_worst_cases_have_the_optimum_of_the_construction() -> None:
    rows = SUITES["median-worst-case"].best_known()
    assert rows
    for row in rows:
        distance = int(row.instance[-2:])
        assert (row.lower, row.upper) == (16 * distance + 24,) * 2


def test_unknown_suite() -> None:
    with pytest.raises(UnknownName, match="unknown suite 'klien-5-l1'; did you mean klein-5-l1"):
        suite("klien-5-l1")


def test_names_and_summaries_are_those_of_the_design() -> None:
    assert [(s.name, s.summary) for s in (SUITES[name] for name in SUITES.folders)] == [
        (entry.name, entry.summary) for entry in DESIGN
    ]
    index = json.loads((PACKAGED / "library.json").read_text())
    assert [entry["name"] for entry in index["selections"]] == [entry.name for entry in SELECTIONS]
