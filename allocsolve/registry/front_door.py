"""The front door: a problem is solved by a solver, or by the name of one.

Kernels are compiled and backends loaded before any clock starts. A solver may go on from an earlier run, if
it takes its answer or the certificate of its bound.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from allocsolve.errors import AllocsolveError, InvalidOption
from allocsolve.families import family_of, quick_answers
from allocsolve.judge import assess
from allocsolve.model import Budget, Clock, Limit, Result
from allocsolve.model.checks import shown
from allocsolve.registry.table import (
    adapted,
    families_solved,
    identity,
    lacks_budget,
    make_solver,
    takes,
    with_objective,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from allocsolve.families import AnyFamily, AnySolver
    from allocsolve.judge import Verdict
    from allocsolve.model import Answer, Answerable, Problem, Solver

#: The fields of a dataclass of solvers that take what an earlier run has left, and what it is.
_FIELDS: Final = {"start": "answer", "certificate": "certificate"}


def resumed(
    name: str, solver: AnySolver, start: Answer | None, certificate: Mapping[str, object] | None
) -> AnySolver:
    """Return a solver that goes on from what an earlier run has left.

    A solver that can is a dataclass with a field ``start`` for an answer, and one ``certificate`` if it takes
    the certificate of a bound, too; None in them is a run from the beginning, and their repr does not show
    them.

    Raises
    ------
    InvalidOption
        If the solver takes no such thing.
    """
    given = {"start": start, "certificate": certificate}
    given = {field: value for field, value in given.items() if value is not None}
    missing = next((field for field in given if field not in _taken(solver)), None)
    if missing is not None:
        raise InvalidOption(f"{name} cannot go on from the {_FIELDS[missing]} of an earlier run")
    return _replaced(solver, given)


def unstarted(solver: AnySolver) -> AnySolver:
    """Return the same solver without what an earlier run has left, as it is called on other problems."""
    given = {name: None for name in _taken(solver) if getattr(solver, name) is not None}
    return _replaced(solver, given)


def _taken(solver: Any) -> list[str]:  # noqa: ANN401 - whatever is called like a solver
    if not dataclasses.is_dataclass(solver) or isinstance(solver, type):
        return []
    return [field.name for field in dataclasses.fields(solver) if field.name in _FIELDS and not field.repr]


def _replaced(solver: Any, fields: Mapping[str, object]) -> AnySolver:  # noqa: ANN401 - a dataclass if there are fields
    return dataclasses.replace(solver, **fields) if fields else solver  # type: ignore[no-any-return]  # a solver is whatever is called like one


#: Of each warm-up call: compiling may take up the time, then what comes after is for the next call.
_WARM_UP: Final = Budget(seconds=0.5, iterations=20)
#: Calls that may stop at the time limit although nothing was compiled in them, as of a backend that loads.
_PATIENCE: Final = 3
#: A warm-up that goes on for longer is ended after its call, in seconds.
_ENOUGH_S: Final = 240.0
#: Compiling for longer than that is announced, in seconds.
_MOMENT_S: Final = 1.0

#: Solvers, by class and identity, and tiny problems for which this process has compiled and loaded all.
_warmed_up: set[tuple[type, str, Problem]] = set()


def ready(solver: AnySolver, problem: Problem, *, announce: Callable[[str], None] | None = None) -> None:
    """Have a solver compile its kernels and load its backend for problems of this sort.

    It is called on tiny problems until nothing more is compiled; a process does that once for each solver and
    each sort of problems. What a search reaches on hard problems only, its method ``warm_up`` goes through,
    which is called as the solver is, if there is one. Call this before calling a solver under a time limit.

    Parameters
    ----------
    solver
        The solver. What goes wrong in a warm-up is passed over: the call that counts will fail, too.
    problem
        That will be solved; see ``warm_up`` of `allocsolve.families.Family`.
    announce
        Called with a line, once in a process, when kernels are being compiled for longer than a moment; from
        another thread. It says which kernel is compiled, and how far it is. If it has a method ``follow``,
        that is called with such a line each second.

    Raises
    ------
    KeyboardInterrupt
        When the user interrupts, also if the solver turned that into a result.
    """
    family = family_of(problem)
    for warm_up_problem in family.warm_up(problem):
        key = type(solver), identity(solver), warm_up_problem
        if key not in _warmed_up:
            with _watched(announce), contextlib.suppress(Exception, SystemExit):
                _warm_up(unstarted(solver), warm_up_problem)
                baseline = next(row for row in family.solvers if row.name == family.baseline)
                if isinstance(solver, type(baseline.load())):
                    _call_quick(warm_up_problem)
            _warmed_up.add(key)


def _warm_up(solver: AnySolver, warm_up_problem: Problem) -> None:
    _call_until_compiled(solver, warm_up_problem)
    if (own := getattr(solver, "warm_up", None)) is not None:
        _call_until_compiled(own, warm_up_problem)


def _call_until_compiled(solver: AnySolver, warm_up_problem: Problem) -> None:
    end = time.perf_counter() + _ENOUGH_S
    patience = _PATIENCE
    while patience and time.perf_counter() < end:
        before = _made()
        limit = getattr(solver(warm_up_problem, _WARM_UP), "limit", None)
        if limit is Limit.INTERRUPTED:
            raise KeyboardInterrupt
        if _made() == before:
            if limit is not Limit.TIME:
                return
            patience -= 1


def _call_quick(warm_up_problem: Problem) -> None:
    """Call the solvers that a baseline may call when its time is over."""
    objective = family_of(warm_up_problem).parse_objective(None)
    for _ in quick_answers(warm_up_problem, objective, Clock(_ENOUGH_S)):
        pass


def _made() -> tuple[int, int]:
    """Return how many compilations there were and how many kernels have been loaded so far."""
    if "numba" not in sys.modules:
        return -1, -1
    from allocsolve.kernels import compilations, loaded_kernels  # noqa: PLC0415 - imports numba

    return compilations(), loaded_kernels()


def announce_once(announce: Callable[[str], None] | None, line: str) -> None:
    """Announce that kernels are being compiled, unless that was announced before in this process."""
    if announce is not None and not _announced:
        _announced.append(line)
        announce(line)


#: What has been announced in this process.
_announced: list[str] = []


def _announcement() -> str:
    from allocsolve.kernels import compilation  # noqa: PLC0415 - imports numba

    now = compilation()
    which = f"{now.kernel}, {now.begun} of {now.functions} functions; " if now else ""
    return f"compiling kernels: {which}the first call of a solver takes a while"


@contextlib.contextmanager
def _watched(announce: Callable[[str], None] | None) -> Iterator[None]:
    """Watch for compilations, and announce them if they go on for longer than a moment."""
    follow = getattr(announce, "follow", None)
    if announce is None or (_announced and follow is None):
        yield
        return
    before, over = max(0, _made()[0]), threading.Event()

    def watch() -> None:
        while not over.wait(_MOMENT_S):
            if _made()[0] > before:
                line = _announcement()
                announce_once(announce, line)
                if follow is None:
                    return
                follow(line)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


P = TypeVar("P", bound="Problem")
A = TypeVar("A")


@overload
def solve(
    problem: P,
    solver: Solver[P, A] | Callable[[], Solver[P, A]],
    objective: str | Sequence[str] | None = None,
    *,
    seconds: float = 60.0,
    workers: int = 1,
    seed: int = 0,
) -> Result[A]: ...
@overload
def solve(
    problem: Answerable[A],
    solver: str,
    objective: str | Sequence[str] | None = None,
    *,
    seconds: float = 60.0,
    workers: int = 1,
    seed: int = 0,
) -> Result[A]: ...
@overload
def solve(
    problem: Problem,
    solver: str,
    objective: str | Sequence[str] | None = None,
    *,
    seconds: float = 60.0,
    workers: int = 1,
    seed: int = 0,
) -> Result[Any]: ...
def solve(
    problem: Problem,
    solver: str | AnySolver | Callable[[], AnySolver],
    objective: str | Sequence[str] | None = None,
    *,
    seconds: float = 60.0,
    workers: int = 1,
    seed: int = 0,
) -> Result[Any]:
    """Solve a problem by a solver, or the one of this name, and have the judge confirm the result.

    The clock starts when the solver is `ready`.

    Parameters
    ----------
    solver
        A registered name, see ``allocsolve solvers``, ``package.module:object`` or ``file.py:object``, which
        may be a queue policy, too; all may have options,
        as in ``curve-fit(method=first-fit, order=snake)``. Or a solver itself, such as those of
        `allocsolve.exact`, or a class that makes one without arguments.
    objective
        A term of the family's `objectives`, such as ``makespan``, or several, the first first: a text in
        which commas part them, or a sequence. By default that of the solver, else the first of the family.
    seconds, workers, seed
        The `Budget`.

    Returns
    -------
    Result
        With the objective value found by the judge, and the seconds of the call as `runtime`: without
        compiling, loading and judging.

    Raises
    ------
    UnknownName, InvalidOption, PluginError
        If there is no such solver, option or objective for this kind of problems.
    InvalidAnswer
        If the judge does not confirm what the solver claims.

    Examples
    --------
    >>> from allocsolve.exact import EvolutionCpSat
    >>> from allocsolve.model import EvolutionProblem, EvolutionProfile, Mesh, PartitionProblem
    >>> problem = EvolutionProblem(4, tuple(EvolutionProfile([(10, n)]) for n in (3, 2, 1)))
    >>> result = solve(problem, "noX")
    >>> result.objective, result.status.value
    (20, 'feasible')
    >>> solve(problem, EvolutionCpSat(), ("makespan", "waste")).objective
    (20, 0)
    >>> solve(PartitionProblem.of(Mesh((4, 2)), busy=[1, 6], size=4), "branch-and-bound").objective
    11
    """
    budget = Budget(seconds=seconds, workers=workers, seed=seed)
    return solve_and_assess(problem, solver, objective, budget).result


def solve_and_assess(
    problem: Problem,
    solver: str | AnySolver | Callable[[], AnySolver],
    objective: str | Sequence[str] | None,
    budget: Budget,
) -> Verdict:
    """Solve a problem as `solve` does, and return all that the judge says of the result."""
    family = family_of(problem)
    if isinstance(solver, str):
        terms = family.parse_objective(objective)
        made = make_solver(solver, problem)
    else:
        made = _solver_of(solver, family)
        terms = family.parse_objective(getattr(made, "objective", None) if objective is None else objective)
    made = with_objective(made, terms)
    ready(made, problem)
    clock = budget.start()
    result = made(problem, budget)
    runtime = clock.elapsed
    verdict = assess(problem, result, terms)
    return verdict._replace(result=replace(verdict.result, runtime=runtime))


def _solver_of(solver: Any, family: AnyFamily) -> AnySolver:  # noqa: ANN401 - also what is no solver
    """Return a solver of problems of this family, instantiated if it is a class.

    A policy that is a class stays one: it is made anew for each run, also after those that warm it up. Raises
    `InvalidOption` if it is none.
    """
    given = solver
    if isinstance(solver, type):
        try:
            solver = solver()
        except AllocsolveError:
            raise
        except Exception as error:
            raise InvalidOption(f"{solver.__name__}() raised {type(error).__name__}: {error}") from error
    if (made := adapted(given, solver, [family])) is not None:
        return made
    if not takes(solver, 2):
        fault = "lacks the parameter budget: it is" if lacks_budget(solver) else "is no name and not"
        raise InvalidOption(f"solver {shown(solver)} {fault} called with a problem and a budget")
    try:
        solved = families_solved(solver)
    except ValueError:  # not annotated: it is for the caller to know
        return solver  # type: ignore[no-any-return]  # a solver is whatever is called like one
    if family not in solved:
        kinds = " and ".join(other.kind for other in solved)
        raise InvalidOption(f"{identity(solver)} solves {kinds} problems, not {family.kind} problems")
    return solver  # type: ignore[no-any-return]  # a solver is whatever is called like one
