"""Better solutions and bounds for the instance library, and nothing that the judge has not confirmed."""

from __future__ import annotations

import importlib.metadata
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from allocsolve import judge, registry
from allocsolve.bench.runs.tasks import warm_up
from allocsolve.errors import FormatError, InvalidAnswer, InvalidOption, UnknownName
from allocsolve.families import AnySolver, family_of
from allocsolve.instances import (
    BestKnown,
    Entry,
    digest,
    read_best_known,
    solution_digest,
    write_best_known,
    write_solution,
)
from allocsolve.model import Limit, terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.bench.runs.runner import Progress
    from allocsolve.instances import Member, Suite
    from allocsolve.model import Answer, Budget, Problem, Result

__all__ = ["Change", "improve_suites", "improved"]

_BACKENDS = ("allocsolve", "numba", "ortools")


@dataclass(frozen=True, slots=True)
class Change:
    """What a run of a solver brought for an instance."""

    instance: str
    objective: str
    solver: str  #: registered name
    before: BestKnown
    after: BestKnown  #: as `before` if nothing was accepted
    error: str = ""  #: why the claims were refused, in one line; empty if they were not


@dataclass(frozen=True, slots=True)
class _Task:
    suite: Suite
    member: Member
    problem: Problem
    objective: str
    solver: str
    exact: bool
    run: AnySolver


def improve_suites(
    suites: Sequence[Suite],
    solvers: Sequence[str],
    *,
    objective: str | None = None,
    budget: Budget,
    progress: Progress | None = None,
) -> Iterator[Change]:
    """Run solvers on the instances that are open, and write down what is better than what is known.

    After each run, a solution is kept if the judge finds it better than the best one, and a bound if it is
    that of an exact solver, is better, and no judged solution is below it. Claims that contradict each other
    or what is known are refused, all of the run. The files of a suite are whole at any time.

    Parameters
    ----------
    suites
        Of a library whose folder can be written.
    solvers
        Registered names, besides the baseline of each family, which runs first. A solver runs on the
        problems of its kind; instances that are proven optimal are skipped.
    objective
        One term of an objective; instances of other kinds are skipped. By default the first of each kind.
    budget
        Of each run.
    progress
        Told before each run, and once at the end.

    Yields
    ------
    Change
        One per run, after its outcome is on disk.

    Raises
    ------
    UnknownName, InvalidOption
        Before anything is run, if a solver or the objective goes with none of the instances.
    FormatError
        If a file of the library is faulty, or cannot be written.
    KeyboardInterrupt
        When the user interrupts; what was found before is on disk.
    """
    tasks = list(_tasks(suites, solvers, objective))
    warm: set[tuple[str, Problem]] = set()
    for idx, task in enumerate(tasks):
        known = _known(task)
        if known.optimal:
            continue
        if progress:
            progress(idx, len(tasks), f"{task.solver} on {task.member.instance}")
        tiny = family_of(task.problem).warm_up(task.problem)
        if (task.solver, tiny) not in warm:
            warm_up(task.run, tiny)
            warm.add((task.solver, tiny))
        yield _attempt(task, known, budget)
    if progress:
        progress(len(tasks), len(tasks), "done")


def _tasks(suites: Sequence[Suite], solvers: Sequence[str], objective: str | None) -> Iterator[_Task]:
    used: set[str] = set()
    found = 0
    for suite in suites:
        for member in suite.members:
            problem = suite.problem(member)
            family = family_of(problem)
            if objective is not None and objective not in family.objectives:
                continue
            found += 1
            term = objective or family.objectives[0]
            for name in dict.fromkeys((family.baseline, *solvers)):
                row = registry.solver_row(name, family)
                if row is not None:
                    used.add(name)
                    made = registry.make_solver(name, problem, term)
                    yield _Task(suite, member, problem, term, name, row.method == "exact", made)
    if not found:
        msg = f"no instance has the objective {objective}"
        raise InvalidOption(msg)
    for name in solvers:
        if name not in used:
            raise UnknownName("solver of these instances", name, sorted(used))


def _known(task: _Task) -> BestKnown:
    """Return what is known of the instance of a task."""
    ours = digest(task.problem)
    path = task.suite.best_known_path(task.member.suite)
    for row in read_best_known(path) if path.exists() else ():
        if (row.instance, row.objective) == (task.member.instance, task.objective):
            if row.digest != ours:
                fault = f"{row.instance} is another problem, {ours[:12]}, not {row.digest[:12]}"
                raise FormatError(str(path), [fault])
            return row
    return BestKnown(task.member.instance, task.objective, ours)


def _attempt(task: _Task, known: BestKnown, budget: Budget) -> Change:
    """Run, judge and write; whatever the solver does wrong becomes the error of the change."""
    start = time.perf_counter()
    try:
        result = task.run(task.problem, budget)
        if result.limit is Limit.INTERRUPTED:
            raise KeyboardInterrupt
        seconds = round(time.perf_counter() - start, 3)
        after = improved(
            known, task.problem, result, solver=repr(task.run), seconds=seconds, exact=task.exact
        )
    except Exception as error:  # noqa: BLE001 - anything at all that a solver may raise
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return Change(task.member.instance, task.objective, task.solver, known, known, text)
    if after != known:
        _write(task, known, after, result.answer)
    return Change(task.member.instance, task.objective, task.solver, known, after)


def improved(
    known: BestKnown, problem: Problem, result: Result[Any], *, solver: str, seconds: float, exact: bool
) -> BestKnown:
    """Return what is known after a result has been judged.

    Parameters
    ----------
    known
        What is known before.
    problem, result
        The problem and what a solver claims.
    solver, seconds
        For the history: the solver with its options, and the time of the run.
    exact
        Whether the solver proves its bounds; those of others are not kept.

    Raises
    ------
    InvalidAnswer
        If the judge does not confirm the result, or it contradicts what is known.
    """
    judged = judge.confirm(problem, result, (known.objective,))
    if judged.answer is None and judged.status == "infeasible":
        msg = f"the solver claims that {known.instance} has no answer"
        raise InvalidAnswer(msg)
    bound = terms(judged.bound)[0] if exact else known.lower
    value = known.upper if judged.objective is None else terms(judged.objective)[0]
    if bound > known.upper or (judged.answer is not None and value < known.lower):
        what = f"the bound {bound}" if bound > known.upper else f"a solution of {value}"
        msg = f"the solver claims {what}, but {known.lower} to {known.upper} is known"
        raise InvalidAnswer(msg)
    today, versions = datetime.now(UTC).date().isoformat(), _versions()
    if judged.answer is not None and value < known.upper:
        solution = solution_digest(problem, judged.answer)
        entry = Entry("solution", _plain(value), today, solver, versions, seconds, solution)
        known = known.with_entry(entry)
    if bound > known.lower:
        known = known.with_entry(Entry("bound", _plain(bound), today, solver, versions, seconds))
    return known


def _plain(value: float) -> float:
    """Return a whole number as an integer, for the file."""
    return int(value) if float(value).is_integer() else float(value)


def _versions() -> dict[str, str]:
    versions = {}
    for package in _BACKENDS:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return versions


def _write(task: _Task, before: BestKnown, after: BestKnown, answer: Answer | None) -> None:
    """Write the solution, if there is a new one, and then the row: killed in between, the row is old.

    Then `verify_suite` tells of the solution, and finding one as good again repairs it.
    """
    if after.upper < before.upper and answer is not None:
        path = task.suite.solution_path(task.member, task.objective)
        path.parent.mkdir(exist_ok=True)
        entry = after.solution
        assert entry is not None, "it is new"
        meta = {"objective": task.objective, "value": entry.value, "solver": entry.solver}
        write_solution(path, task.problem, answer, meta)
    path = task.suite.best_known_path(task.member.suite)
    rows = read_best_known(path) if path.exists() else ()
    others = [row for row in rows if (row.instance, row.objective) != (after.instance, after.objective)]
    write_best_known(path, [*others, after])
