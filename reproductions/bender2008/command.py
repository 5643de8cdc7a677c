"""Bender et al. 2008, computed again and shown: the tight family, and heuristics beside optima."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Final

from allocsolve import registry
from allocsolve.bench.runs.runner import run
from allocsolve.bench.runs.tasks import plan
from allocsolve.bench.scores.gaps import Gaps, gap, solver_scores
from allocsolve.cli.output import count_bar, say, write_json
from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.instances import churned_occupancy, median_worst_case, uniform_occupancy
from allocsolve.judge.quantiles import quantile
from allocsolve.model import Budget, Mesh, Status, terms
from allocsolve.pictures.chart import time_text
from allocsolve.report.plain import plain
from reproductions.tables import show

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from allocsolve.bench.runs.records import Record
    from allocsolve.bench.runs.runner import Progress
    from allocsolve.bench.scores.gaps import SolverScore
    from allocsolve.model import PartitionProblem, Topology

MEDIAN: Final = "manhattan-median"
EXACT: Final = "branch-and-bound"
#: The worst case has few free nodes, far apart on a large mesh: few variables, many cuts.
EXACT_TIGHT: Final = "milp"

#: What is compared with the optimum, from the best to the worst.
HEURISTICS: Final = (
    *("manhattan-median+swaps", "manhattan-median+greedy-ring", "manhattan-median", "gen-alg", "mc1x1"),
    *("growth-best", "growth", "leak", "leak-noncontiguous", "hilbert-first-fit"),
    *("hilbert-best-fit+min-span", "hilbert-best-fit+largest-runs", "random"),
)

_MACHINES: Final = (Mesh((16, 8)), Mesh((32, 32)))
#: Nodes to choose and shares of busy nodes; the problems take them in turn.
_SIZES: Final = (4, 16, 32)
_BUSY: Final = (0.3, 0.6)
#: Places the jobs of the churned machines.
_ALLOCATOR: Final = "hilbert-best-fit+min-span"


@dataclass(frozen=True, slots=True)
class TightCase:
    """The median method on one problem of its worst case; distances in hops."""

    distance: int  #: between the two blobs
    median: int  #: total pairwise distance of the median method
    optimum: int  #: of the optimum, or of the best set that is known
    bound: float  #: on the optimum
    proven: bool  #: whether `optimum` is the optimum
    seconds: float  #: of the exact solver

    @property
    def ratio(self) -> float:
        """How many times the optimum the median method needs; below 7/4."""
        return self.median / self.optimum


@dataclass(frozen=True, slots=True)
class OccupancyTable:
    """Solvers beside the optimum on one machine with one kind of occupancy."""

    machine: str
    occupancy: str
    tests: int
    proven: int  #: tests of which the optimum is proven
    scores: tuple[SolverScore, ...]  #: the exact solver last
    connected: Gaps | None  #: of proven optima of connected sets to proven optima; None if there are none


def tight_family(
    distances: Sequence[int] = (10, 33, 100, 200),
    *,
    size: int = 8,
    step: int = 2,
    seconds: float = 60.0,
    progress: Progress | None = None,
) -> tuple[TightCase, ...]:
    """Run the median method and an exact solver on its worst case, whose ratio goes to 7/4.

    The problems are those of `allocsolve.instances.median_worst_case`; the exact solver has a budget in
    seconds for each. The progress is called before each run, and once at the end. `InvalidAnswer` is raised
    if a claim is refuted, or there is no answer.

    References
    ----------
    Bender, Bunde, Demaine, Fekete, Leung, Meijer & Phillips, "Communication-aware processor allocation for
    supercomputers", Algorithmica 50(2), 2008.
    """
    cases = []
    for idx, distance in enumerate(distances):
        problem = median_worst_case(size, distance, step)
        if progress:
            progress(idx, len(distances), problem.name)
        tasks = plan([("", problem)], [MEDIAN, EXACT_TIGHT], budgets=[Budget(seconds=seconds)])
        heuristic, exact = _sound(run(tasks))
        values, bound = (_total_distance(heuristic), _total_distance(exact)), terms(exact.bound)[0]
        proven = exact.status is Status.OPTIMAL
        cases.append(TightCase(distance, *values, bound, proven, exact.runtime_s))
    if progress:
        progress(len(distances), len(distances), "done")
    return tuple(cases)


def _total_distance(record: Record) -> int:
    if record.value is None:
        msg = f"{record.solver} on {record.instance}: no answer"
        raise InvalidAnswer(msg)
    return int(terms(record.value)[0])


def occupancy_tables(
    tests: int = 30, seed: int = 2008, *, seconds: float = 10.0, progress: Progress | None = None
) -> tuple[OccupancyTable, ...]:
    """Compare heuristics with the optimum on machines of 16x8 and 32x32 nodes.

    There are as many tests, >= 1, of each machine and kind of occupancy: uniform, or churned by jobs under
    best fit on a Hilbert curve. They ask in turn for 4, 16 and 32 nodes with 30 and 60 % busy; test ``i``
    has the seed ``[seed, i]``. All are solved once more for connected sets. Each run has a budget in
    seconds. The progress is called before each run, and once at the end. `InvalidAnswer` is raised if a run
    failed, or bounds and answers contradict each other.
    """
    if tests < 1:
        msg = f"tests {tests} is below 1"
        raise InvalidOption(msg)
    groups = {
        (machine, occupancy): [_problem(machine, occupancy, idx, seed) for idx in range(tests)]
        for machine in _MACHINES
        for occupancy in ("uniform", "churned")
    }
    solvers = [*HEURISTICS, EXACT]
    problems = [problem for group in groups.values() for problem in group]
    budget = Budget(seconds=seconds, seed=seed)
    tasks = plan((("", problem) for problem in problems), solvers, budgets=[budget])
    connected = (("", replace(problem, contiguous=True)) for problem in problems)
    tasks += plan(connected, [EXACT], budgets=[budget])
    records = _sound(run(tasks, progress=progress))
    return tuple(
        _table(machine, occupancy, [r for r in records if r.instance in {problem.name for problem in group}])
        for (machine, occupancy), group in groups.items()
    )


def _problem(machine: Topology, occupancy: str, idx: int, seed: int) -> PartitionProblem:
    size, busy = _SIZES[idx % len(_SIZES)], _BUSY[idx // len(_SIZES) % len(_BUSY)]
    if occupancy == "uniform":
        return uniform_occupancy(machine, busy, size, [seed, idx])
    allocator = registry.make_allocator(_ALLOCATOR)
    return churned_occupancy(machine, busy, size, [seed, idx], allocator=allocator, allocator_name=_ALLOCATOR)


def _table(machine: Topology, occupancy: str, records: Sequence[Record]) -> OccupancyTable:
    free = [record for record in records if not record.features["contiguous"]]
    by_solver = solver_scores(free)
    optima = {r.instance: r.value for r in free if r.solver == EXACT and r.status is Status.OPTIMAL}
    gaps = [
        gap(r.value, optimum)
        for r in records
        if r.features["contiguous"] and r.status is Status.OPTIMAL and r.value is not None
        if (optimum := optima.get(r.instance)) is not None
    ]
    name, exact = "x".join(map(str, machine.shape)), by_solver[-1]
    connected = Gaps(len(gaps), fmean(gaps), quantile(gaps, 0.5), max(gaps)) if gaps else None
    return OccupancyTable(name, occupancy, exact.instances, exact.proven, by_solver, connected)


def _sound(records: list[Record]) -> list[Record]:
    for record in records:
        if record.error:
            msg = f"{record.solver} on {record.instance}: {record.error}"
            raise InvalidAnswer(msg)
    return records


def bender2008(args: argparse.Namespace) -> int:
    """Show the worst case of the median method, then heuristics beside optima, which the paper had not."""
    with count_bar("worst case") as progress:
        cases = tight_family(seconds=args.seconds, progress=progress)
    if not args.json:
        _show_cases(cases)
    with count_bar("proving optima") as progress:
        tables = occupancy_tables(args.tests, args.seed, seconds=args.seconds, progress=progress)
    if args.json:
        family = [{**plain(case), "ratio": case.ratio} for case in cases]
        results = {"tight_family": family, "occupancies": tables}
        write_json({"paper": args.paper, "tests": args.tests, "seed": args.seed, **results})
        return 0
    _show_tables(tables)
    return 0


def _show_cases(cases: Sequence[TightCase]) -> None:
    rows = (
        (
            *(str(case.distance), str(case.median)),
            str(case.optimum) if case.proven else f"{case.bound:g}..{case.optimum}",
            *(f"{case.ratio:.3f}", time_text(case.seconds)),
        )
        for case in cases
    )
    title = "The worst case of manhattan-median: its pairwise distance approaches 7/4 of the optimum"
    show(("distance", "median", "optimum", "ratio", "time to prove"), rows, title=title, texts=())


def _show_tables(tables: Sequence[OccupancyTable]) -> None:
    """Show all machines side by side: mean and largest ratio to proven optima, and how often there is one."""
    heads = ("\nsolver", *(f"{table.machine}\n{table.occupancy}" for table in tables))
    rows = [
        (score.solver, *(_ratio(table.scores[place].optimum_gap, table.proven) for table in tables))
        for place, score in enumerate(tables[0].scores)
    ]
    rows.append(("the same, connected", *(_ratio(table.connected, table.proven) for table in tables)))
    title = "Pairwise distance / proven optimum: mean/max, and how many problems were answered if not all"
    show(heads, rows, title=title)
    for table in tables:
        exact = table.scores[-1]
        mean, longest = time_text(exact.mean_runtime_s), time_text(exact.max_runtime_s)
        proven = f"{table.proven} of {table.tests} optima proven"
        say(f"{table.machine} {table.occupancy}: {proven}, mean time {mean}, longest {longest}.")


def _ratio(gaps: Gaps | None, proven: int) -> str:
    if gaps is None:
        return "-"
    answered = "" if gaps.count == proven else f" ({gaps.count})"
    return f"{1 + gaps.mean:.3f}/{1 + gaps.max:.3f}{answered}"
