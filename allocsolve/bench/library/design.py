"""The design of the instance library: which problems it holds, and how its folder is written.

What is stated of the instances of a study, by the library and by the folders of users, is here, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from allocsolve.bench.scores.catalogue import LIBRARY, Catalogue, Reference
from allocsolve.errors import FormatError, InvalidProblem
from allocsolve.families import family_of
from allocsolve.instances import (
    BEST_KNOWN,
    MACHINES,
    SWITCH_TREES,
    Library,
    Member,
    Selection,
    amr,
    churned_occupancy,
    counterexamples,
    digest,
    downey1997,
    easy_counterexamples,
    elastic_workload,
    evotree,
    evotree_batch,
    evotree_stream,
    klein2011,
    lina_workload,
    linnert2024,
    lublin1999,
    median_worst_case,
    network_counterexamples,
    read_problem,
    read_statements,
    shape_counterexamples,
    uniform_occupancy,
    write_index,
    write_problem,
)
from allocsolve.model import Mesh, SwitchTree, Topology, Torus
from allocsolve.registry import make_allocator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from allocsolve.bench.runs.records import Record
    from allocsolve.model import EvolutionProblem, Problem, WorkloadProblem

_Topology = TypeVar("_Topology", Topology, SwitchTree)


class KleinDraw(NamedTuple):
    """How the applications of some suites are drawn: how many (`low` to `high`), and from which seeds."""

    low: int
    high: int
    seed: int  #: problem i has the seed [seed, i]

    @property
    def apps(self) -> str:
        """How many applications, as people read it."""
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


#: Expand limits, by what the names of suites end in.
LIMITS: Final[Mapping[str, float]] = {"l1": 1.0, "l2": 2.0, "inf": math.inf}
#: The suites after Klein & Perez 2011, by what their names begin with.
KLEIN: Final[Mapping[str, KleinDraw]] = {
    "klein-5": KleinDraw(5, 5, seed=5),
    "klein-8": KleinDraw(8, 8, seed=8),
    "klein-10": KleinDraw(10, 10, seed=10),
    "klein-12": KleinDraw(12, 12, seed=12),
    "klein": KleinDraw(15, 20, seed=2011),
}
#: Suites of partition problems: the machine, the sizes and the seed of each.
_MACHINES: Final[Mapping[str, tuple[Topology, tuple[int, ...], int]]] = {
    "mesh-16x8": (Mesh((16, 8)), (4, 8, 16, 24, 32), 168),
    "mesh-16x16": (Mesh((16, 16)), (8, 16, 32, 48, 64), 1616),
    "mesh-32x32": (Mesh((32, 32)), (8, 16, 32, 64, 96), 3232),
    "mesh-8x8x8": (Mesh((8, 8, 8)), (4, 8, 16, 32, 48), 888),
    "torus-16x16": (Torus((16, 16)), (4, 8, 16, 24, 32), 161600),
    "torus-8x8x8": (Torus((8, 8, 8)), (4, 8, 16, 24, 32), 88800),
}
#: Occupancies, each with the places of its sizes.
_STANDARD_CELLS: Final = {"u30": (1, 2, 4), "c30": (2,), "u60": (2, 4), "c60": (3,)}


def _selection(name: str, summary: str, chosen: Mapping[str, str]) -> Selection:
    """Return a selection from the rests of the names of instances, by suite."""
    members = (Member(suite, f"{suite}-{rest}") for suite, rests in chosen.items() for rest in rests.split())
    return Selection(name, summary, tuple(members))


def _cells(sizes: tuple[int, ...]) -> str:
    return " ".join(f"{cell}-k{sizes[at]:02}" for cell, places in _STANDARD_CELLS.items() for at in places)


_ALL: Final = "00 01 02 03 04 05 06 07 08 09"

#: The members of a selection never change: scores on it can be compared.
SELECTIONS: Final = (
    _selection(
        "tiny",
        "both families, each proven within about a second",
        {
            "klein-5-l1": "01 02 06",
            "klein-5-l2": "04 06",
            "klein-5-inf": "04 06",
            "klein-8-l1": "05 08",
            "klein-8-inf": "08",
            "mesh-16x8": "u30-k08 u60-k16 c30-k32 c60-k24",
            "mesh-16x16": "u60-k16",
            "mesh-8x8x8": "u60-k08",
            "torus-16x16": "u60-k04 c60-k08",
            "median-worst-case": "d08",
            "towns": "16x16-k16",
            "counterexamples": "list-scheduling-incomplete connected-costs-more",
        },
    ),
    _selection(
        "standard",
        "some of every suite of both families",
        {
            **{f"{stem}-{limit}": "00 01 02" for stem in KLEIN for limit in LIMITS},
            **{f"amr-{limit}": "00 03" for limit in LIMITS},
            **{f"evotree-{limit}": "s42 s45" for limit in ("l1", "inf")},
            **{suite: _cells(sizes) for suite, (_, sizes, _) in _MACHINES.items()},
            "median-worst-case": "d33",
            "towns": "16x16-k32",
            "counterexamples": "list-scheduling-incomplete",
        },
    ),
    _selection(
        "hard",
        "both families, open when selected, or proven after many seconds",
        {
            "klein-8-inf": "06 09",
            "klein-10-l2": "00 01 08",
            "klein-10-inf": "00 01 05 06 07 08 09",
            "klein-12-l1": "07 08",
            "klein-12-l2": "00 01 03 04 05 06 07 08",
            "klein-12-inf": _ALL,
            **{f"klein-{limit}": _ALL for limit in LIMITS},
            "amr-l1": "01 02",
            "amr-l2": "00 01 02",
            "amr-inf": "00 01 02",
            **{f"evotree-{limit}": "s42 s43 s44 s45 s46" for limit in ("l1", "inf")},
            "mesh-8x8x8": "u30-k48 c30-k48",
            "torus-16x16": "u30-k16 u30-k24 u30-k32 u60-k24 u60-k32 c30-k32 c60-k32",
            "torus-8x8x8": "u30-k16 u30-k24 u30-k32 u60-k16 u60-k24 u60-k32"
            " c30-k08 c30-k16 c30-k24 c30-k32 c60-k16 c60-k24 c60-k32",
        },
    ),
)


@dataclass(frozen=True, slots=True)
class SuiteDesign:
    """One suite and how its problems are made, each by its name without that of the suite."""

    name: str
    summary: str
    draw: Callable[[], Iterator[tuple[str, Problem]]]

    def problems(self) -> Iterator[Problem]:
        """Yield the problems, named as in the library."""
        for suffix, problem in self.draw():
            yield replace(problem, name=f"{self.name}-{suffix}")


def klein_problem(stem: str, limit: str, idx: int) -> EvolutionProblem:
    """Return the problem ``<stem>-<limit>-<idx>`` of the library; from 10 on, one drawn like those.

    The applications are the same under each limit. The stem is a key of `KLEIN`, the limit one of `LIMITS`.

    Examples
    --------
    >>> problem = klein_problem("klein-5", "l2", 12)
    >>> problem.name, len(problem.applications), problem.expand_limit
    ('klein-5-l2-12', 5, 2.0)
    """
    draw = KLEIN[stem]
    apps = draw.low, draw.high
    problem = klein2011([draw.seed, idx], num_apps=apps, expand_limit=LIMITS[limit])
    return replace(problem, name=f"{stem}-{limit}-{idx:02}")


def _by_limit(
    stem: str,
    summary: str,
    draw: Callable[[str], Iterator[tuple[str, Problem]]],
    limits: Iterable[str] = LIMITS,
) -> Iterator[SuiteDesign]:
    """Yield a suite per expand limit, with the same applications."""
    for suffix in limits:
        limit = LIMITS[suffix]
        text = {1: "no expansion", math.inf: "unlimited expansion"}.get(limit, f"expand limit {limit:g}")
        yield SuiteDesign(f"{stem}-{suffix}", f"{summary}, {text}", partial(draw, suffix))


def _klein(stem: str, limit: str) -> Iterator[tuple[str, Problem]]:
    return ((f"{idx:02}", klein_problem(stem, limit, idx)) for idx in range(10))


def _amr(limit: str) -> Iterator[tuple[str, Problem]]:
    for idx in range(4):
        yield f"{idx:02}", amr([7644, idx], num_apps=(3, 5), expand_limit=LIMITS[limit])


def _evotree(limit: str) -> Iterator[tuple[str, Problem]]:
    return ((f"s{seed}", evotree(seed, expand_limit=LIMITS[limit])) for seed in range(42, 47))


def _occupied(
    topology: _Topology,
    sizes: Iterable[int],
    seed: int,
    allocator_name: str,
    uniform: tuple[float, ...] = (0.3, 0.6),
    churned: tuple[float, ...] = (0.3, 0.6),
    *,
    digits: int = 2,
    job_sizes: tuple[int, int] = (1, 16),
    box: bool = False,
) -> Iterator[tuple[str, Problem]]:
    """Yield problems of each share of busy nodes times each size, uniform (u), then churned (c)."""
    cells = [("u", busy, size) for busy in uniform for size in sizes]
    cells += [("c", busy, size) for busy in churned for size in sizes]
    allocator = make_allocator(allocator_name)
    for idx, (kind, busy, size) in enumerate(cells):
        drawn = topology, busy, size, [seed, idx]
        problem = (
            uniform_occupancy(*drawn, box=box)
            if kind == "u"
            else churned_occupancy(
                *drawn, allocator=allocator, allocator_name=allocator_name, job_sizes=job_sizes, box=box
            )
        )
        yield f"{kind}{busy * 100:02.0f}-k{size:0{digits}}", problem


def _machine(name: str) -> SuiteDesign:
    """Return the suite of a mesh or torus; an allocator places the jobs as Slurm does."""
    topology, sizes, seed = _MACHINES[name]
    summary = f"{sizes[0]}-{sizes[-1]} of {topology.num_nodes} nodes, 30 and 60 % busy, uniform and churned"
    return SuiteDesign(
        name, summary, lambda: _occupied(topology, sizes, seed, "hilbert-best-fit+largest-runs")
    )


def _switch_tree(name: str, machine: str, seed: int) -> SuiteDesign:
    tree, sizes, shares = SWITCH_TREES[machine], (8, 24, 64, 128, 200), (0.5, 0.9)

    def draw() -> Iterator[tuple[str, Problem]]:
        return _occupied(tree, sizes, seed, "lowest-switch", shares, shares, digits=3, job_sizes=(1, 128))

    summary = f"8-200 of the {tree.num_nodes} nodes of {machine}, 50 and 90 % busy, uniform and churned"
    return SuiteDesign(name, summary, draw)


def _boxes() -> Iterator[tuple[str, Problem]]:
    sizes, few, many = (1, 4, 8, 16, 32), (0.05, 0.1), (0.3, 0.5)  # of uniform nodes, few leave a large box
    return _occupied(MACHINES["tpu-v5e"], sizes, 256, "submesh-best-fit", few, many, box=True)


def _towns() -> Iterator[tuple[str, Problem]]:
    for topology, sizes in (Mesh((16, 16)), (5, 9, 10, 16, 32)), (Mesh((4, 4, 4)), (7, 9)):
        for size in sizes:
            shape = "x".join(map(str, topology.shape))
            yield f"{shape}-k{size:02}", uniform_occupancy(topology, 0.0, size, 0)


def _as_read(cases: Callable[[], Iterable[Problem]]) -> Callable[[], Iterator[tuple[str, Problem]]]:
    """Return what draws a suite whose files are themselves where its problems stand."""
    return lambda: ((problem.name, problem) for problem in cases())


#: The seeds of `lublin-load`, by load in per cent: the first two from 0 on whose 300 jobs need that share of
#: the 128 nodes between the first and the last submission, within 1 % of it, and one of them all nodes.
_LUBLIN_LOADS: Final = {90: (81, 262), 120: (46, 395)}
#: The loads of the other workloads under load, in per cent: what their rigid jobs need on average.
_LOADS: Final = (90, 120)


def _downey(load: int, num_jobs: int, num_nodes: int, longest: int) -> WorkloadProblem:
    sizes, times, seed = (1, num_nodes), (60, longest), [num_nodes, load // 10]
    return downey1997(
        seed, num_jobs=num_jobs, num_nodes=num_nodes, load=load / 100, nodes=sizes, runtime=times
    )


def _loaded_malleable() -> Iterator[tuple[str, Problem]]:
    """Yield workloads whose jobs are malleable at any time, or a half of them about once a minute."""
    for load in _LOADS:
        rigid = _downey(load, 60, 64, 20_000)
        yield f"{load:03}-all", elastic_workload(rigid, share=1, seed=1, tick=0)
        yield f"{load:03}-half", elastic_workload(rigid, share=0.5, seed=1, tick=60)


def _loaded_moldable() -> Iterator[tuple[str, Problem]]:
    for load in _LOADS:
        seed = [20, load // 10]
        stream = evotree_stream(seed, num_jobs=60, num_nodes=20, load=load / 100, kind="moldable")
        yield f"{load:03}", stream


def _requests() -> Iterator[tuple[str, Problem]]:
    return ((f"{load:03}", lina_workload(_downey(load, 40, 32, 7200), share=1, seed=1)) for load in _LOADS)


def _leaking() -> Iterator[tuple[str, Problem]]:
    mesh = Mesh((4, 3))
    for idx in range(2):
        yield (
            f"s{idx}",
            linnert2024(idx, gap=1, num_jobs=100, stream="feitelson96", topology=mesh, leaking=True),
        )


#: All suites. Seeds are never changed: what is known of an instance is tied to its digest. The best schedules
#: and bounds of the last ones are apart, as load is high.
DESIGN: Final[tuple[SuiteDesign, ...]] = (
    *(
        suite
        for stem, drawn in KLEIN.items()
        for suite in _by_limit(stem, f"Klein & Perez 2011, {drawn.apps} applications", partial(_klein, stem))
    ),
    *_by_limit("amr", "adaptive mesh refinement, 3-5", _amr),
    *_by_limit("evotree", "Posner et al. 2024, batches of 20 jobs", _evotree, ("l1", "inf")),
    *map(_machine, _MACHINES),
    SuiteDesign(
        "median-worst-case",
        "Bender et al. 2008, ratio of the median method goes to 7/4",
        lambda: ((f"d{far:02}", median_worst_case(8, far)) for far in (8, 16, 33, 50)),
    ),
    SuiteDesign("towns", "empty machines: the most compact sets of all", _towns),
    SuiteDesign(
        "counterexamples",
        "what is easily believed and wrong; the reason is in meta",
        _as_read(counterexamples),
    ),
    SuiteDesign(
        "lublin-256",
        "a week of 820 jobs on 256 nodes, Lublin & Feitelson 1999",
        lambda: ((f"w{seed}", lublin1999([256, seed], num_jobs=820, num_nodes=256)) for seed in range(3)),
    ),
    SuiteDesign(
        "easy-counterexamples",
        "what tells the versions of EASY apart; the expected starts are in meta",
        _as_read(easy_counterexamples),
    ),
    SuiteDesign(
        "linnert-1000",
        "1000 jobs with deadlines, very heavy load, Linnert et al. 2024",
        lambda: ((f"s{seed}", linnert2024(seed, gap=1)) for seed in range(3)),
    ),
    SuiteDesign(
        "shape-counterexamples",
        "jobs that fit by count: a shape of node sets costs one; how many can be accepted is in meta",
        _as_read(shape_counterexamples),
    ),
    _switch_tree("nvl72", "nvl72", seed=72),
    _switch_tree("perlmutter", "perlmutter-cpu", seed=1216),
    _switch_tree("meta-24k", "meta-24k", seed=24),
    SuiteDesign("tpu-v5e", "rectangles of 1-32 of the 256 chips of a torus, uniform and churned", _boxes),
    SuiteDesign(
        "network-counterexamples",
        "trees on which rules of schedulers miss the nearest nodes; what they take is in meta",
        _as_read(network_counterexamples),
    ),
    SuiteDesign(
        "lublin-load",
        "300 jobs on 128 nodes, loads of 90 and 120 %, Lublin & Feitelson 1999",
        lambda: (
            (f"{load:03}-s{seed}", lublin1999([128, seed], num_jobs=300, num_nodes=128))
            for load, seeds in _LUBLIN_LOADS.items()
            for seed in seeds
        ),
    ),
    SuiteDesign(
        "malleable-load", "60 jobs, all or a half of them malleable, loads of 90 and 120 %", _loaded_malleable
    ),
    SuiteDesign(
        "moldable-load",
        "60 moldable jobs on 20 nodes, loads of 90 and 120 %, Posner et al. 2024",
        _loaded_moldable,
    ),
    SuiteDesign(
        "evolving-phases",
        "Posner et al. 2024, batches of 20 jobs with phases on 10 nodes",
        lambda: ((f"s{seed}", evotree_batch(seed)) for seed in range(42, 47)),
    ),
    SuiteDesign(
        "evolving-requests",
        "40 malleable or evolving jobs, loads of 90 and 120 %, Lina et al. 2022",
        _requests,
    ),
    SuiteDesign("leaking-load", "100 jobs with deadlines on 12 nodes, which may leak", _leaking),
)


def build_library(root: Path) -> int:
    """Write the index of the library and all problems that are not there yet.

    Returns
    -------
    int
        How many problems were written.

    Raises
    ------
    InvalidProblem
        If a problem is there, but is another one: what is known of it would be lost.
    """
    written = 0
    for suite in DESIGN:
        folder = root / suite.name
        (folder / "solutions").mkdir(parents=True, exist_ok=True)
        for problem in suite.problems():
            path = folder / f"{problem.name}.json"
            if not path.exists():
                write_problem(problem, path)
                written += 1
            elif digest(read_problem(path)) != digest(problem):
                raise InvalidProblem(f"{path}: this is not the problem that the design makes")
    write_index(root, {suite.name: suite.summary for suite in DESIGN}, SELECTIONS)
    return written


#: The suites by name; see `allocsolve.instances.Library`.
SUITES: Final = Library()


def suite(name: str) -> tuple[Problem, ...]:
    """Return the problems of the suite of this name.

    Examples
    --------
    >>> [problem.name for problem in suite("klein-5-l1")[:2]]
    ['klein-5-l1-00', 'klein-5-l1-01']
    """
    return SUITES[name].problems()


def folder_problems(folder: Path, besides: Path | None = None) -> Iterator[tuple[str, Path, Problem]]:
    """Yield the name of the suite, empty if the folder is none, the file and the problem of each problem.

    A folder is a suite, called like the folder, if there is a ``best_known.json`` in it. The file `besides`
    may lie there, too, and is none of the problems. Raises `FormatError` if a file is no problem, there is
    none, or the suite is called like one of the package.
    """
    there = [*folder.glob("*.json"), *folder.glob("*.json.gz")]
    files = sorted(path for path in there if path.name != BEST_KNOWN)
    if besides is not None:
        files = [path for path in files if path.resolve() != besides.resolve()]
    if not files:
        raise FormatError(str(folder), ["there is no .json file in this directory"])
    suite = folder.resolve().name if (folder / BEST_KNOWN).is_file() else ""
    if suite in SUITES:
        raise FormatError(str(folder), [f"a suite of the package is called {suite}: rename the folder"])
    for file in files:
        yield suite, file, read_problem(file)


def with_library(catalogue: Catalogue) -> Catalogue:
    """Return a catalogue with what the library states, too, of the instances in suites of the library.

    The library is read each time, and its statements are kept in no study: what it has learned since the
    records were made counts.
    """
    references = dict(catalogue.references)
    for name in dict.fromkeys(name for names in catalogue.suites.values() for name in names):
        for row in SUITES[name].best_known() if name in SUITES else ():
            if row.digest in catalogue.suites:  # a study may have changed the problems of a suite
                stated = Reference(row.lower, row.upper, LIBRARY)
                place = row.digest, row.objective
                references[place] = references[place].merged(stated) if place in references else stated
    return replace(catalogue, references=references)


def library_statements(records: Iterable[Record]) -> Catalogue:
    """Return a catalogue of what the library states of the instances in the suites that records name."""
    suites: dict[str, dict[str, None]] = {}
    for row in records:
        suites.setdefault(row.digest, {})[row.suite] = None
    named = Catalogue({identity: tuple(names) for identity, names in suites.items()})
    return replace(with_library(named), suites={})


def folder_references(folder: Path) -> Mapping[tuple[str, str], Reference]:
    """Return what a folder states of its problems, by digest and objective; nothing if it is no suite.

    Raises `FormatError` if ``best_known.json`` is faulty, or states something of what is no problem of the
    folder, of a problem that it was not written for, or of what is no objective of its family.
    """
    path = folder / BEST_KNOWN
    if not path.is_file():
        return {}
    problems = {file.stem: (suite, problem) for suite, file, problem in folder_problems(folder)}
    references: dict[tuple[str, str], Reference] = {}
    faults = []
    for statement in read_statements(path):
        if statement.instance not in problems:
            faults.append(f"{statement.instance}: there is no file {statement.instance}.json")
            continue
        suite, problem = problems[statement.instance]
        identity, objectives = digest(problem), family_of(problem).term_names
        if statement.digest not in ("", identity):
            faults.append(
                f"{statement.instance} is another problem, {identity[:12]}, not {statement.digest[:12]}"
            )
        elif statement.objective not in objectives:
            faults.append(
                f"{statement.instance}: {statement.objective} is not one of {', '.join(objectives)}"
            )
        else:
            references[identity, statement.objective] = Reference(statement.lower, statement.upper, suite)
    if faults:
        raise FormatError(str(path), faults)
    return references
