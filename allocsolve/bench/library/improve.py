"""Better solutions and bounds for the instance library, and nothing that the judge has not confirmed."""

from __future__ import annotations

import importlib.metadata
import math
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from allocsolve import judge, registry
from allocsolve.bench.runs.runner import run_missing
from allocsolve.bench.runs.store import RecordStore
from allocsolve.bench.runs.tasks import plan
from allocsolve.errors import AllocsolveError, FormatError, InvalidAnswer, InvalidOption, UnknownName
from allocsolve.families import family_of
from allocsolve.instances import (
    BestKnown,
    HistoryEntry,
    Library,
    Member,
    digest,
    read_best_known,
    read_solution,
    solution_digest,
    write_best_known,
    write_solution,
)
from allocsolve.model import Status, terms
from allocsolve.model.columns import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from concurrent.futures import Executor
    from pathlib import Path

    from allocsolve.bench.runs.records import Record
    from allocsolve.bench.runs.runner import Announce, Progress
    from allocsolve.bench.runs.tasks import Task
    from allocsolve.instances import Suite
    from allocsolve.model import Answer, Budget, Problem


class Implied(NamedTuple):
    """A row of a library that another one betters."""

    suite: Suite
    member: Member
    problem: Problem
    before: BestKnown
    after: BestKnown
    #: The answer of the other problem, if it is better.
    answer: Answer | None
    #: The instance of the other row.
    source: str


class _Instance(NamedTuple):
    suite: Suite
    member: Member
    problem: Problem


def implied_rows(suites: Sequence[Suite]) -> Iterator[Implied]:
    """Yield the rows of suites that rows of the same library better, one after the other.

    Let two problems be the same but for a setting, such as the expand limit, which is tighter in one. Every
    answer of the tighter problem answers the other one, too: so its value is one of the other problem, and a
    lower bound of the other problem is one of its own. The answers are judged anew for the problem that they
    come to: `InvalidAnswer` if one does not have the value of its row. What is yielded should be written
    before the next row is asked for.
    """
    if not suites:
        return
    instances = _instances(Library(suites[0].root))
    members = {member for suite in suites for member in suite.members}
    for identity, own in instances.items():
        if own.member in members:
            for other in _variants(instances, identity):
                yield from _implied(own, other)


def _instances(library: Library) -> dict[str, _Instance]:
    """Return the instances of a library whose families have settings, by their digests."""
    found: dict[str, _Instance] = {}
    for name in library.folders:
        suite = library[name]
        for member in suite.members:
            problem = suite.problem(member)
            if not family_of(problem).settings:
                break
            found[digest(problem)] = _Instance(suite, member, problem)
    return found


def _variants(instances: dict[str, _Instance], identity: str) -> list[_Instance]:
    """Return the instances that are the same problem as one of them but for a setting."""
    problem = instances[identity].problem
    family = family_of(problem)
    return [
        instances[same]
        for name, setting in family.settings.items()
        for value in {getattr(other.problem, name, None) for other in instances.values()} - {None}
        if (same := digest(setting.apply(problem, value))) in instances and same != identity
    ]


def _implied(own: _Instance, other: _Instance) -> Iterator[Implied]:
    """Yield each row of an instance as a row of the other one betters it."""
    theirs = {row.objective: row for row in _rows(other)}
    for row in _rows(own):
        known = theirs.get(row.objective)
        if known is None:
            continue
        after, answer = row, None
        if _is_tighter(other, own) and known.upper < row.upper and known.solution is not None:
            answer = read_solution(other.suite.solution_path(other.member, row.objective), other.problem)
            place = f"the solution of {other.member.instance}"
            for fault in judge.violations(own.problem, answer):
                raise InvalidAnswer(f"{place}: {fault}")
            value = terms(judge.value(own.problem, answer, (row.objective,)))[0]
            if value != known.upper:
                raise InvalidAnswer(f"{place}: the judge finds {value}, its row has {known.upper}")
            identity = solution_digest(own.problem, answer)
            after = after.with_entry(_taken_over(known.solution, other, identity))
        if _is_tighter(own, other) and known.lower > row.lower:
            bound = next(entry for entry in reversed(known.history) if entry.kind == "bound")
            after = after.with_entry(_taken_over(bound, other))
        if after != row:
            yield Implied(*own, row, after, answer, other.member.instance)


def _rows(instance: _Instance) -> list[BestKnown]:
    return [row for row in instance.suite.best_known() if row.instance == instance.member.instance]


def _taken_over(entry: HistoryEntry, other: _Instance, solution: str = "") -> HistoryEntry:
    """Return the entry of another instance as one of today; it says where it comes from."""
    solver = f"{entry.solver.partition(', on ')[0]}, on {other.member.instance}"
    return replace(entry, solver=solver, date=datetime.now(UTC).date().isoformat(), solution=solution)


def _is_tighter(one: _Instance, other: _Instance) -> bool:
    """Return whether every answer of one problem answers the other, of which it is a variant."""
    return any(
        setting.tightens(other.problem, getattr(one.problem, name))
        for name, setting in family_of(one.problem).settings.items()
    )


_BACKENDS = ("allocsolve", "numba", "ortools")


@dataclass(frozen=True, slots=True)
class Change:
    """What a run of a solver brought for an instance."""

    instance: str
    objective: str
    solver: str  #: registered name, or where the change is from
    before: BestKnown
    after: BestKnown  #: as `before` if nothing was accepted
    error: str = ""  #: why the claims were refused, in one line; empty if they were not
    unsupported: str = ""  #: why the solver does not take the problem, in one line; empty if it does


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A run of a solver, and the row of the library that it may improve."""

    suite: Suite
    member: Member
    task: Task
    exact: bool

    @property
    def objective(self) -> str:
        return self.task.key.objective


def improve_suites(
    suites: Sequence[Suite],
    solvers: Sequence[str],
    *,
    objective: str | None = None,
    budget: Budget,
    store: RecordStore | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    announce: Announce | None = None,
) -> Iterator[Change]:
    """Run solvers on the instances that are open, and write down what is better than what is known.

    After each run, a solution is kept if the judge finds it better than the best one, and a bound if it is
    that of an exact solver, is better, and no judged solution is below it. Claims that contradict each other
    or what is known are refused, all of the run. In the end the rows take over what those of the library say
    of the same problem under another setting, such as a tighter expand limit. The files of a suite are whole
    at any time.

    Parameters
    ----------
    suites
        Of a library whose folder can be written.
    solvers
        Registered names, besides the baseline of each family, which runs first. A solver runs on the
        problems of its kind, and passes over those that it does not take; instances that are proven optimal
        are skipped.
    objective
        One term of an objective; instances of other kinds are skipped. By default the first of each kind.
    store
        Where runs are found that have been made before, as by an interrupted call of the same arguments, and
        new ones are kept; what they brought is written down again where it is missing. None keeps nothing.
    executor
        Where solvers are run, each in a process of its own; see `allocsolve.bench.run`. None is this process.
    progress
        Told before each run, and once at the end.
    announce
        Called with a line, once in a process, when kernels are being compiled for longer than a moment.

    Yields
    ------
    Change
        One per run, and one per row that another one betters, after the outcome is on disk.

    Raises
    ------
    UnknownName, InvalidOption
        Before anything is run, if a solver or the objective goes with none of the instances.
    KeyboardInterrupt
        When the user interrupts; what came of the runs before is on disk.
    """
    attempts = list(_attempts(suites, solvers, objective, budget))
    store = RecordStore() if store is None else store
    for idx, attempt in enumerate(attempts):
        before = _best_known(attempt)
        if before.optimal:
            continue
        if progress:
            progress(idx, len(attempts), f"{attempt.task.solver} on {attempt.member.instance}")
        run_missing([attempt.task], store, executor=executor, announce=announce)
        key = attempt.task.key
        yield _accept(attempt, before, store[key], store.answer(key))
    for suite, member, problem, before, after, answer, source in implied_rows(suites):
        if objective in (None, before.objective):
            _write(suite, member, problem, before, after, answer)
            yield Change(member.instance, before.objective, f"what is known of {source}", before, after)
    if progress:
        progress(len(attempts), len(attempts), "done")


def _attempts(
    suites: Sequence[Suite], solvers: Sequence[str], objective: str | None, budget: Budget
) -> Iterator[_Attempt]:
    used: set[str] = set()
    instances = 0
    for suite in suites:
        for member in suite.members:
            problem = suite.problem(member)
            family = family_of(problem)
            if objective is not None and objective not in family.term_names:
                continue
            instances += 1
            term = objective or family.term_names[0]
            for name in dict.fromkeys((family.baseline, *solvers)):
                row = registry.solver_row(name, family)
                if row is not None:
                    used.add(name)
                    (task,) = plan([(member.suite, problem)], [name], objective=term, budgets=[budget])
                    yield _Attempt(suite, member, task, row.method == "exact")
    if not instances:
        raise InvalidOption(f"no instance has the objective {objective}")
    for name in solvers:
        if name not in used:
            raise UnknownName("solver of these instances", name, sorted(used))


def _best_known(attempt: _Attempt) -> BestKnown:
    """Return the row of an instance, an empty one if there is none."""
    identity = attempt.task.key.digest
    path = attempt.suite.best_known_path(attempt.member.suite)
    for row in read_best_known(path) if path.exists() else ():
        if (row.instance, row.objective) == (attempt.member.instance, attempt.objective):
            if row.digest != identity:
                fault = f"{row.instance} is another problem, {identity[:12]}, not {row.digest[:12]}"
                raise FormatError(str(path), [fault])
            return row
    return BestKnown(attempt.member.instance, attempt.objective, identity)


def _accept(attempt: _Attempt, before: BestKnown, record: Record, answer: Answer | None) -> Change:
    """Write down what a run has brought; what contradicts the row becomes the error of the change."""
    after, error, unsupported = before, record.error, ""
    if record.is_unsupported:
        error, unsupported = "", error.partition(": ")[2]
    elif not error:
        try:
            after = improved(before, attempt.task.problem, record, answer, exact=attempt.exact)
        except InvalidAnswer as refusal:
            error = " ".join(f"{type(refusal).__name__}: {refusal}".split())
    if after != before:
        _write(attempt.suite, attempt.member, attempt.task.problem, before, after, answer)
    return Change(
        attempt.member.instance, attempt.objective, attempt.task.solver, before, after, error, unsupported
    )


def improved(
    row: BestKnown, problem: Problem, record: Record, answer: Answer | None, *, exact: bool
) -> BestKnown:
    """Return what is known after a run that the judge has confirmed.

    Raises `InvalidAnswer` if the result contradicts what is known. Bounds of solvers that are not exact are
    not kept.
    """
    if answer is None and record.status is Status.INFEASIBLE:
        raise InvalidAnswer(f"the solver claims that {row.instance} has no answer")
    bound = terms(record.bound)[0] if exact else row.lower
    value = row.upper if record.value is None else terms(record.value)[0]
    if bound > row.upper or (answer is not None and value < row.lower):
        what = f"the bound {bound}" if bound > row.upper else f"a solution of {value}"
        raise InvalidAnswer(f"the solver claims {what}, but {row.lower} to {row.upper} is known")
    today = datetime.now(UTC).date().isoformat()
    source = today, record.solver_repr, _versions(), round(record.runtime_s, 3)
    if answer is not None and value < row.upper:
        solution = solution_digest(problem, answer)
        row = row.with_entry(HistoryEntry("solution", plain(value), *source, solution))
    if bound > row.lower:
        row = row.with_entry(HistoryEntry("bound", plain(bound), *source))
    return row


def _versions() -> dict[str, str]:
    versions = {}
    for package in _BACKENDS:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return versions


def _write(
    suite: Suite,
    member: Member,
    problem: Problem,
    before: BestKnown,
    after: BestKnown,
    answer: Answer | None,
) -> None:
    """Write the solution, if there is a new one, and then the row: killed in between, the row is old.

    Then `verify_suite` tells of the solution, and one as good again repairs it.
    """
    if after.upper < before.upper and answer is not None:
        path = suite.solution_path(member, after.objective)
        path.parent.mkdir(exist_ok=True)
        entry = after.solution
        assert entry is not None, "it is new"
        meta = {"objective": after.objective, "value": entry.value, "solver": entry.solver}
        write_solution(path, problem, answer, meta)
    path = suite.best_known_path(member.suite)
    rows = read_best_known(path) if path.exists() else ()
    others = [row for row in rows if (row.instance, row.objective) != (after.instance, after.objective)]
    write_best_known(path, [*others, after])


def verify_suite(suite: Suite) -> Iterator[str]:
    """Yield what is wrong with the instances of a suite and with what is known of them, a line each.

    Each problem is read and its digest compared; the judge recomputes each solution, which must have the
    value and the digest that its row states; no bound, that of `allocsolve.bounds` among them, may be above
    it; every file must belong to a row. That a bound is proven cannot be recomputed.
    """
    rows: dict[Member, list[BestKnown]] = {}
    expected: dict[Path, set[str]] = {}
    for folder in dict.fromkeys(member.suite for member in suite.members):
        path = suite.best_known_path(folder)
        try:
            listed = read_best_known(path)
        except AllocsolveError as error:
            yield str(error)
            return
        for row in listed:
            rows.setdefault(Member(folder, row.instance), []).append(row)
            solution = suite.solution_path(Member(folder, row.instance), row.objective)
            names = expected.setdefault(solution.parent, set())
            if row.solution is not None:
                names.add(solution.name)
            if not (suite.root / folder / f"{row.instance}.json").is_file():
                yield f"{path}: there is no instance {row.instance}"
    for member in suite.members:
        try:
            problem = suite.problem(member)
        except AllocsolveError as error:
            yield str(error)
            continue
        family = family_of(problem)
        if not any(row.objective == family.term_names[0] for row in rows.get(member, ())):
            yield f"{member}: nothing is known of its {family.term_names[0]}"
        for row in rows.get(member, ()):
            yield from _row_faults(suite, member, problem, row)
    yield from _strangers(expected)


def _strangers(expected: dict[Path, set[str]]) -> Iterator[str]:
    for solutions, names in expected.items():
        for path in sorted(solutions.glob("*")):
            if path.name not in names:
                yield f"{path}: belongs to no row of best_known.json"


def _row_faults(suite: Suite, member: Member, problem: Problem, row: BestKnown) -> Iterator[str]:
    place = f"{member} ({row.objective})"
    if digest(problem) != row.digest:
        yield f"{place}: best_known.json is of another problem, {row.digest[:12]}"
        return
    family = family_of(problem)
    if row.objective not in family.term_names:
        yield f"{place}: no objective of {family.kind} problems"
        return
    floor = family.bound(problem, row.objective)
    if floor > row.upper:
        yield f"{place}: the solution {row.upper} is below the combinatorial bound {floor}"
    entry = row.solution
    if entry is None:
        return
    path = suite.solution_path(member, row.objective)
    try:
        answer = read_solution(path, problem)
        faults = judge.violations(problem, answer)
        value = math.nan if faults else terms(judge.value(problem, answer, (row.objective,)))[0]
        identity = solution_digest(problem, answer)
    except AllocsolveError as error:
        yield str(error)
        return
    if faults:
        yield f"{path}: {faults[0]}"
    elif value != row.upper:
        yield f"{path}: the judge finds {value}, best_known.json has {row.upper}"
    elif identity != entry.solution:
        yield f"{path}: this is solution {identity[:12]}, best_known.json has {entry.solution[:12]}"


def claimed_bounds(suites: Iterable[Suite]) -> tuple[int, int]:
    """Return how many lower bounds of suites nothing here recomputes, and how many there are.

    One up to that of `allocsolve.bounds` is recomputed; the others are as exact solvers claim them, which no
    judged solution has refuted. Instances that are in several suites count once.
    """
    recomputed: dict[tuple[str, str], bool] = {}
    for suite in suites:
        problems = {digest(problem): problem for problem in suite.problems()}
        for row in suite.best_known():
            if row.lower > -math.inf:
                bound = family_of(problems[row.digest]).bound(problems[row.digest], row.objective)
                recomputed[row.digest, row.objective] = row.lower <= bound
    return sum(not holds for holds in recomputed.values()), len(recomputed)
