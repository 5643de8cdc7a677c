"""The regression gate: fixed work on a suite, held to what an earlier run has found."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from allocsolve import registry
from allocsolve.bench.gate.baseline import (
    Baseline,
    GateChange,
    GateSolver,
    changes,
    failures,
    faster,
    read_baseline,
    write_baseline,
)
from allocsolve.bench.gate.measure import Contestant, measure
from allocsolve.bench.gate.timing import median_references
from allocsolve.bench.library.design import suite as suite_problems
from allocsolve.errors import FormatError, InvalidOption
from allocsolve.families import families, family_of
from allocsolve.model import Budget

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Executor

    from allocsolve.bench.gate.measure import Measured
    from allocsolve.bench.runs.runner import Announce, Progress
    from allocsolve.bench.runs.tasks import SolverLike
    from allocsolve.families import AnyFamily

__all__ = ["GateReport", "run_gate"]

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
    suite: str
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
    suite: str | None = None,
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
        The suite; by default that of the baseline, ``tiny`` for a new one.
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
    UnknownName
        If there is no such suite or solver.
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
    before = None if update and not path.exists() else read_baseline(path)
    name = suite or (before.suite if before else _SUITE)
    if before is not None and not update and name != before.suite:
        msg = f"{path} is a baseline of the suite {before.suite}, not {name}"
        raise InvalidOption(msg)
    problems = suite_problems(name)
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
        suite=name,
        problems=len(measured.problems),
        solvers=len(measured.solvers),
        timed=sum(row.time is not None for row in measured.solvers),
        time_factor=factor,
        changes=failed + differences,
        faster=() if before is None else tuple(faster(before, measured)),
        updated=update and not failed,
    )


def _name(solver: SolverLike) -> str:
    """Return what a solver is called in baselines."""
    return registry.canonical_name(solver) if isinstance(solver, str) else registry.identity(solver)


def _refuse_twins(contestants: Sequence[Contestant]) -> None:
    keys = [(contestant.kind, contestant.name) for contestant in contestants]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        msg = f"two {twice[0]} solvers are called {twice[1]}"
        raise InvalidOption(msg)


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
            msg = f"{_name(solver)} solves none of the problems of this suite"
            raise InvalidOption(msg)


def _solved(solver: SolverLike) -> tuple[AnyFamily, ...]:
    if isinstance(solver, str):
        return registry.families_named(solver)
    try:
        return registry.families_solved(solver)
    except ValueError as error:
        msg = f"{_name(solver)}: {error}"
        raise InvalidOption(msg) from None


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
