"""The regression gate: fixed work of every solver on a suite, compared with what an earlier run measured.

Every solver solves every problem of its kind; then the solvers are timed, batch by batch.
"""

from __future__ import annotations

import contextlib
import math
import os
import statistics
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from allocsolve import registry
from allocsolve.bench.gate.baseline import (
    Baseline,
    GateChange,
    GateProblem,
    GateResult,
    GateSolver,
    Measured,
    changes,
    digits,
    failures,
    faster,
    read_baseline,
    write_baseline,
)
from allocsolve.bench.gate.timing import (
    BATCHES_IF_DOUBTFUL,
    References,
    Stopwatch,
    Times,
    ladder_problem,
    median_references,
    ratios,
    rung,
)
from allocsolve.bench.library.design import folder_problems, suite as suite_problems
from allocsolve.bench.runs.runner import outcomes
from allocsolve.bench.runs.tasks import plan
from allocsolve.bench.scores.gaps import gap
from allocsolve.errors import FormatError, InvalidOption
from allocsolve.families import families, family_named, family_of
from allocsolve.model import Budget, Limit, terms
from allocsolve.registry import make_solver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Executor

    from allocsolve.bench.runs.records import Record
    from allocsolve.bench.runs.runner import Announce, Progress
    from allocsolve.bench.runs.tasks import SolverLike, Task
    from allocsolve.families import AnyFamily, AnySolver
    from allocsolve.model import Problem

_NO_REFERENCES: Final = References(*(1.0 for _ in References._fields))


@dataclass(frozen=True, slots=True)
class Contestant:
    """A solver of one kind of problems, and how it is timed."""

    kind: str
    name: str
    solver: SolverLike
    timed: bool
    timed_on: str | None = None  #: the timing problem; None to choose one on which the solver does not fail
    #: CPU and wall times above these are measured again before they are believed, in units of the walk, on a
    #: machine with these reference times.
    doubtful: tuple[float, float] = (math.inf, math.inf)
    references: References | None = None

    def doubts(self, times: Times) -> bool:
        """Whether times are to be measured again."""
        largest = ratios(self.references, times.references).largest
        return any(time > largest * limit for time, limit in zip(times[:2], self.doubtful, strict=True))

    def make(self) -> AnySolver:
        """Return the solver."""
        if not isinstance(self.solver, str):
            return self.solver
        return make_solver(self.solver, family_named(self.kind).problem)


def measure(
    problems: Sequence[Problem],
    contestants: Sequence[Contestant],
    budget: Budget,
    *,
    bounded: Sequence[GateProblem] = (),
    finish: bool,
    executor: Executor | None = None,
    progress: Progress | None = None,
    announce: Announce | None = None,
) -> Measured:
    """Run all contestants on all problems of their kinds and time those that are timed.

    Raises `InvalidOption` if a run was to finish and did not; `KeyboardInterrupt` when the user interrupts,
    also if the solver turned that into a result. Names of problems are unique, those of contestants by kind.
    Gaps are to the bounds in `bounded`, of other problems to the best bounds of this run. To `finish` refuses
    a run that stops at the time limit: it would end otherwise on another machine. Solvers that have names are
    run by the executor; times are measured in this process.
    """
    kinds = {contestant.kind for contestant in contestants}
    problems = [problem for problem in problems if _kind(problem) in kinds]
    tasks = [
        task  # two names may stand for the same solver: each is a contestant of its own
        for problem in problems
        for contestant in contestants
        if contestant.kind == _kind(problem)
        for task in plan([("", problem)], [contestant.solver], budgets=[budget])
    ]
    total = len(tasks) + sum(contestant.timed for contestant in contestants)
    tell = progress or (lambda *_: None)

    def announced() -> Iterator[Task]:
        for done, task in enumerate(tasks):
            tell(done, total, task.label)
            yield task

    if any(task.unnamed is not None for task in tasks):
        executor = None
    results: list[GateResult] = []
    bounds: dict[str, float] = {}
    for task, (record, *_) in outcomes(announced(), executor=executor, ahead=1, announce=announce):
        results.append(_result(task, record, finish=finish))
        known = bounds.get(record.digest, -math.inf)
        bounds[record.digest] = max(known, results[-1].bound, _number(terms(record.combinatorial_bound)[0]))
    bounds |= {row.digest: row.bound for row in bounded}
    keys = {task.problem.name: (_kind(task.problem), task.key.digest) for task in tasks}
    rows = [GateProblem(name, kind, digest, bounds[digest]) for name, (kind, digest) in keys.items()]
    gaps = _mean_gaps(rows, results)
    times = _times(contestants, results, budget, lambda at, what: tell(len(tasks) + at, total, what))
    tell(total, total, "done")
    solvers = [
        GateSolver(*key, gaps.get(key), *times.get(key, (None, None)))
        for key in [(contestant.kind, contestant.name) for contestant in contestants]
    ]
    return Measured(tuple(sorted(rows)), tuple(sorted(solvers)), tuple(sorted(results)))


def _kind(problem: Problem) -> str:
    return family_of(problem).kind


def _result(task: Task, record: Record, *, finish: bool) -> GateResult:
    if finish and record.limit is Limit.TIME:
        raise InvalidOption(
            f"{task.label} stopped at the time limit of {record.seconds:g} s, "
            f"which is not the same work on every machine: leave this solver out, or choose another suite"
        )
    value = None if record.value is None else _number(terms(record.value)[0])
    bound = _number(terms(record.bound)[0])
    # A solver that is not made for a problem answers none of this sort, today as before.
    error = "" if record.is_unsupported else record.error
    return GateResult(task.problem.name, task.solver, record.status, value, bound, error)


def _number(term: float) -> float:
    """Return an integer where the number is integral: 5 and 5.0 are the same result."""
    return int(term) if math.isfinite(term) and term == int(term) else float(term)


def _mean_gaps(
    problems: Sequence[GateProblem], results: Sequence[GateResult]
) -> dict[tuple[str, str], float]:
    """Return the mean gap of each solver, to 6 digits."""
    by_name = {row.problem: row for row in problems}
    gaps: dict[tuple[str, str], list[float]] = {}
    for row in results:
        on = by_name[row.problem]
        if row.value is not None and math.isfinite(on.bound):
            term = family_named(on.kind).term_names[0]
            distance = gap(row.value, on.bound, kind=on.kind, objective=term)
            if math.isfinite(distance):
                gaps.setdefault((on.kind, row.solver), []).append(distance)
    return {key: round(statistics.fmean(distances), 6) for key, distances in gaps.items()}


def _times(
    contestants: Sequence[Contestant],
    results: Sequence[GateResult],
    budget: Budget,
    tell: Callable[[int, str], None],
) -> dict[tuple[str, str], tuple[str, float, float | None, References | None]]:
    """Return where each contestant that is timed was timed, and its times in units of the walk."""
    failed = {row.solver for row in results if row.error}
    timed = [c for c in contestants if c.timed and c.name not in failed]
    watches: list[tuple[Contestant, str, Stopwatch]] = []
    # A solver that fails where it did not before, even in a few calls, is no longer fast.
    failure = Times(math.inf, math.inf, _NO_REFERENCES)
    times: dict[tuple[str, str], tuple[str, Times]] = {}
    for done, contestant in enumerate(timed):
        tell(done, f"timing {contestant.name}")
        times[contestant.kind, contestant.name] = contestant.timed_on or "", failure
        with contextlib.suppress(Exception):
            watches += ((contestant, *chosen) for chosen in _stopwatch(contestant, budget))
    # Round after round, so that the batches of one solver are far apart: a disturbance seldom meets them all.
    for batch in range(BATCHES_IF_DOUBTFUL):
        for contestant, name, watch in watches:
            key = contestant.kind, contestant.name
            if batch < watch.batches or contestant.doubts(times[key][1]):
                times[key] = name, failure
                with contextlib.suppress(Exception):
                    times[key] = name, watch.measure()
    return {
        key: (
            name,
            digits(measured.cpu),
            digits(measured.wall) if math.isfinite(measured.wall) else None,
            None if measured is failure else measured.references,
        )
        for key, (name, measured) in times.items()
        if name  # a solver that is timed nowhere yet cannot become slower
    }


def _stopwatch(contestant: Contestant, budget: Budget) -> Iterator[tuple[str, Stopwatch]]:
    """Yield where a contestant is timed, and the stopwatch; nothing if it cannot be."""
    solver = contestant.make()
    if contestant.timed_on is None:
        chosen = rung(contestant.kind, solver, budget)
        if chosen is not None:
            yield chosen
    else:
        problem = ladder_problem(contestant.kind, contestant.timed_on)
        yield contestant.timed_on, Stopwatch(solver, problem, budget)


#: Of new baselines.
_SUITE: Final = "tiny"
_BUDGET: Final = Budget(seconds=60, iterations=200)
#: Measured on two shared processors: 0.9 to 1.3 times the baseline with nothing changed, idle or overloaded;
#: from 1.85 times if a kernel that is nearly all of the work runs twice.
_TIME_FACTOR: Final = 1.5
#: An update keeps a time that has changed by less, so that it shows what has become faster or slower.
_SAME_TIME: Final = 1.2


@dataclass(frozen=True, slots=True)
class GateReport:
    """What a run of the gate has found."""

    baseline: Path
    suite: str  #: its name, or the folder
    problems: int
    solvers: int  #: counted by kind
    timed: int  #: how many of them were timed
    time_factor: float
    changes: tuple[GateChange, ...]
    faster: tuple[GateChange, ...]  #: solvers that take much less time than the baseline grants, which passes
    updated: bool  #: whether the baseline was written

    @property
    def passed(self) -> bool:
        """Whether nothing has changed, or what has changed is the baseline now."""
        return self.updated or not self.changes


def run_gate(
    baseline: str | os.PathLike[str],
    *,
    update: bool = False,
    suite: str | os.PathLike[str] | None = None,
    solvers: Sequence[SolverLike] | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    announce: Announce | None = None,
) -> GateReport:
    """Run solvers on a suite and compare every result and time with a baseline.

    Parameters
    ----------
    baseline
        A file that an update has written; see `allocsolve.bench.gate.baseline`.
    update
        Write the baseline instead of failing. Its budget and time factor are kept if the file is there.
    suite
        The name of a suite, or a folder of problems, which are called like their files; by default that of
        the baseline, ``tiny`` for a new one.
    solvers
        Names, and solvers; each runs on the problems of its families. By default those of the baseline; for a
        new one, or one that was written by default, all heuristics and the exact solver that is the baseline
        of its family.
    executor
        Where solvers are run, each in a process of its own; see `allocsolve.bench.run`. None is this process,
        as it is for all if one of them has no registered name. Times are measured in this process.
    progress
        Called before each run, and once at the end.
    announce
        Called with a line, once in a process, when kernels are being compiled for longer than a moment.

    Returns
    -------
    GateReport
        With all changes, better results included: a baseline is right or it is not.

    Raises
    ------
    FormatError
        If the baseline cannot be read (an update may make a new one, but does not overwrite what is no
        baseline) or written.
    InvalidOption
        If suite or solvers are not those of the baseline, two solvers have the same name, or a solver stops
        at the time limit while the baseline is made.

    Notes
    -----
    All work is fixed: seed, iterations, problems. The time limit is there only to end what does not end by
    itself. Times are CPU and wall times relative to reference works (see `allocsolve.bench.gate.timing`), of
    all solvers but the exact ones of this package, each on a problem of a size that it manages. What another
    type of processor may explain is no change (see `allocsolve.bench.gate.timing`).
    """
    path = Path(baseline)
    if not update and not path.exists():
        raise FormatError(str(path), ["cannot be read: No such file or directory; an update writes it"])
    before = None if update and not path.exists() else read_baseline(path)
    held = _suite_of(before, path)
    chosen = held if suite is None else _named_suite(suite)
    name = _suite_text(chosen, path)
    if before is not None and not update and name != _suite_text(held, path):
        raise InvalidOption(f"{path} is a baseline of the suite {held}, not {chosen}")
    problems = _problems(chosen, path)
    families_of_suite = tuple(dict.fromkeys(map(family_of, problems)))
    if before is not None and not update:
        contestants = tuple(_as_before(before, solvers, path))
    else:
        asked = before.asked if before is not None and solvers is None else solvers
        contestants = tuple(_chosen(families_of_suite, asked))
    _refuse_twins(contestants)
    kinds = {contestant.kind for contestant in contestants}
    problems = tuple(problem for problem in problems if family_of(problem).kind in kinds)
    budget = before.budget if before else _BUDGET
    measured = measure(
        problems,
        contestants,
        budget,
        bounded=before.problems if before is not None and not update else (),
        finish=update,
        executor=executor,
        progress=progress,
        announce=announce,
    )
    failed = tuple(failures(measured))
    differences = () if before is None else tuple(changes(before, measured))
    factor = before.time_factor if before else _TIME_FACTOR
    if update and not failed:
        names = None if asked is None else tuple(map(_name, asked))
        rows = tuple(_with_old_times(before, measured))
        references = median_references(row.references for row in rows if row.references is not None)
        write_baseline(
            Baseline(name, names, budget, factor, measured.problems, rows, measured.results, references), path
        )
    return GateReport(
        baseline=path,
        suite=str(chosen),
        problems=len(measured.problems),
        solvers=len(measured.solvers),
        timed=sum(row.time is not None for row in measured.solvers),
        time_factor=factor,
        changes=failed + differences,
        faster=() if before is None else tuple(faster(before, measured)),
        updated=update and not failed,
    )


def _named_suite(suite: str | os.PathLike[str]) -> str | Path:
    """Return a folder, or the name of a suite; a folder goes before a suite of its name."""
    path = Path(suite)
    if path.is_dir():
        return path
    if path.exists() or len(path.parts) > 1 or not isinstance(suite, str):
        fault = "is a file, not a directory of problems" if path.exists() else "there is no such directory"
        raise FormatError(str(path), [fault])
    return suite


def _suite_of(before: Baseline | None, path: Path) -> str | Path:
    """Return the suite of a baseline: what has a slash is a folder, seen from that of the baseline."""
    if before is None:
        return _SUITE
    if "/" not in before.suite:
        return before.suite
    folder = Path(os.path.normpath(path.parent / before.suite))
    if not folder.is_dir():
        raise FormatError(str(path), [f"suite: there is no directory {folder}"])
    return folder


def _suite_text(suite: str | Path, path: Path) -> str:
    """Return what a baseline calls a suite."""
    if isinstance(suite, str):
        return suite
    seen = Path(os.path.relpath(suite.resolve(), path.parent.resolve())).as_posix()
    return seen if seen.startswith("../") else f"./{seen}"


def _problems(suite: str | Path, baseline: Path) -> tuple[Problem, ...]:
    if isinstance(suite, str):
        return suite_problems(suite)
    return tuple(
        replace(problem, name=file.stem) for _, file, problem in folder_problems(suite, besides=baseline)
    )


def _name(solver: SolverLike) -> str:
    """Return what a solver is called in baselines."""
    return registry.canonical_name(solver) if isinstance(solver, str) else registry.identity(solver)


def _refuse_twins(contestants: Sequence[Contestant]) -> None:
    keys = [(contestant.kind, contestant.name) for contestant in contestants]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise InvalidOption(f"two {twice[0]} solvers are called {twice[1]}")


def _as_before(before: Baseline, solvers: Sequence[SolverLike] | None, path: Path) -> Iterator[Contestant]:
    """Yield the solvers of a baseline, or those of them that are named."""
    given = None if solvers is None else {_name(solver): solver for solver in solvers}
    for name in given or ():
        if name not in {row.solver for row in before.solvers}:
            msg = f"{name} is not in the baseline {path}: update it with all the solvers that it is to hold"
            raise InvalidOption(msg)
    kinds = {family.kind for family in families()}

    def limit(time: float | None) -> float:
        return math.inf if time is None else before.time_factor * time

    for row in before.solvers:
        if row.kind not in kinds:
            raise FormatError(str(path), [f"solvers: {row.kind!r} is no kind of problems"])
        if given is None or row.solver in given:
            solver = row.solver if given is None else given[row.solver]
            contestant = Contestant(
                kind=row.kind,
                name=row.solver,
                solver=solver,
                timed=row.time is not None,
                timed_on=row.timed_on,
                doubtful=(limit(row.time), limit(row.wall_time)),
                references=before.references,
            )
            contestant.make()  # refuses a name that there is no more
            yield contestant


def _chosen(families: Sequence[AnyFamily], solvers: Sequence[SolverLike] | None) -> Iterator[Contestant]:
    """Yield solvers for a new baseline, each with every family of the suite that it solves."""
    for family in families:
        names = registry.solver_names(family) if solvers is None else {}
        default = [name for name in names if names[name].method == "heuristic" or name == family.baseline]
        for solver in default if solvers is None else solvers:
            if family in _solved(solver):
                name = _name(solver)
                row = registry.solver_row(name, family)
                timed = row is None or row.method != "exact"
                yield Contestant(family.kind, name, solver, timed)
    for solver in solvers or ():
        if not {family.kind for family in _solved(solver)} & {family.kind for family in families}:
            raise InvalidOption(f"{_name(solver)} solves none of the problems of this suite")


def _solved(solver: SolverLike) -> tuple[AnyFamily, ...]:
    if isinstance(solver, str):
        return registry.families_named(solver)
    try:
        return registry.families_solved(solver)
    except ValueError as error:
        raise InvalidOption(f"{_name(solver)}: {error}") from None


def _with_old_times(before: Baseline | None, measured: Measured) -> Iterator[GateSolver]:
    """Yield the rows of the solvers, with the old times where the new ones are much the same."""
    times = {} if before is None else {(row.kind, row.solver): row for row in before.solvers}
    for row in measured.solvers:
        old = times.get((row.kind, row.solver))
        if old is not None and old.timed_on == row.timed_on:
            row = replace(row, time=_kept(old.time, row.time), wall_time=_kept(old.wall_time, row.wall_time))  # noqa: PLW2901
        yield row


def _kept(old: float | None, new: float | None) -> float | None:
    return old if old and new and 1 / _SAME_TIME < new / old < _SAME_TIME else new
