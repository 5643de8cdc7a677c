"""What a solver must keep to, rule by rule; each check raises an AssertionError that says what is wrong."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

import numpy as np

from allocsolve.errors import AllocsolveError
from allocsolve.families import AnyFamily, AnySolver
from allocsolve.judge import confirm
from allocsolve.model import Budget, Limit, Problem, Result, Status, terms
from allocsolve.registry import identity, make_solver, with_objective

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "Check",
    "check_answers",
    "check_budget",
    "check_input_stays",
    "check_repeatable",
    "check_silent",
]

#: Called with a solver, its family and problems of it.
Check: TypeAlias = Callable[[AnySolver, AnyFamily, Sequence[Problem]], None]

#: Ample for tiny problems; the iterations end searches that would go on for all the time.
ENOUGH: Final = Budget(seconds=2, iterations=1000)

#: The time limit on the large problem, and how far it may be overrun: a model must be built in any case.
SHORT_S: Final = 1.0
OVERRUN_S: Final = 20.0

#: For the baseline on one example.
_REFERENCE_S: Final = 30.0


def check_answers(solver: AnySolver, family: AnyFamily, problems: Sequence[Problem]) -> None:
    """Claim only what holds: answer, value, bound, status and limit, for every objective that it takes."""
    answered = 0
    for objective in _objectives(solver, family):
        told = with_objective(solver, objective)
        for problem in problems:
            worth = _reference(family.baseline, problem, ",".join(objective)).objective
            result = _judged(told, problem, ENOUGH, objective)
            if worth is not None and result.status is Status.INFEASIBLE:
                _fail(told, problem, f"claims that there is no answer; there is one with {worth}")
            if worth is not None and terms(result.bound) > terms(worth):
                _fail(told, problem, f"claims the bound {result.bound}; there is an answer with {worth}")
            answered += result.answer is not None
    if problems and not answered:
        msg = f"{identity(solver)} answers none of {len(problems)} {family.kind} problems"
        raise AssertionError(msg)


def check_repeatable(solver: AnySolver, family: AnyFamily, problems: Sequence[Problem]) -> None:
    """Give the same answer for the same seed, in whatever order problems are solved.

    Of two proven optima the answers may differ (threads decide which is found), and what the clock has
    stopped may be anything.
    """
    objective = family.objectives[:1]
    told = with_objective(solver, objective)
    for seed in range(2):
        budget = dataclasses.replace(ENOUGH, seed=seed)
        first = [_judged(told, problem, budget, objective) for problem in problems]
        again = [_judged(told, problem, budget, objective) for problem in reversed(problems)][::-1]
        for problem, one, other in zip(problems, first, again, strict=True):
            if Limit.TIME not in (one.limit, other.limit) and _essence(one) != _essence(other):
                shown = f"{_shown(one)}, then {_shown(other)}"
                _fail(told, problem, f"seed {seed} gives different results: {shown}")


def check_input_stays(solver: AnySolver, family: AnyFamily, problems: Sequence[Problem]) -> None:
    """Leave the problem as it is, its arrays included."""
    objective = family.objectives[:1]
    told = with_objective(solver, objective)
    for problem in problems:
        before = _snapshot(problem)
        _judged(told, problem, ENOUGH, objective)
        after = _snapshot(problem)
        changed = [name for name in before if before[name] != after[name]]
        if changed:
            _fail(told, problem, f"changes the problem: {', '.join(changed)}")


def check_silent(solver: AnySolver, family: AnyFamily, problems: Sequence[Problem]) -> None:
    """Print nothing to stdout, neither from Python nor from a library or a child process."""
    told = with_objective(solver, family.objectives[:1])
    for problem in problems:
        with _stdout() as written:
            _call(told, problem, ENOUGH)
            text = written()
        if text:
            _fail(told, problem, f"prints {text if len(text) <= 60 else text[:60] + '...'!r}")


def check_budget(solver: AnySolver, family: AnyFamily, problems: Sequence[Problem]) -> None:
    """Make do with hardly any budget, and end a large problem in time."""
    objective = family.objectives[:1]
    told = with_objective(solver, objective)
    for budget in (
        Budget(seconds=ENOUGH.seconds, iterations=0),
        Budget(seconds=ENOUGH.seconds, iterations=1),
        Budget(seconds=0.001, iterations=ENOUGH.iterations),
    ):
        for problem in problems:
            _judged(told, problem, budget, objective)
    large = family.large_example()
    _call(told, family.warm_up(large), ENOUGH)  # compiles and loads what is needed
    begun = time.perf_counter()
    _judged(told, large, Budget(seconds=SHORT_S), objective)
    took = time.perf_counter() - begun
    if took > SHORT_S + OVERRUN_S:
        _fail(told, large, f"takes {took:.1f} s with a budget of {SHORT_S:g} s")


def _objectives(solver: AnySolver, family: AnyFamily) -> list[tuple[str, ...]]:
    """Return each single term and a lexicographic pair; only the default if the solver takes no objective."""
    first, *others = family.objectives
    default = (first,)
    if not others or with_objective(solver, default) == with_objective(solver, (others[0],)):
        return [default]
    return [default, *((term,) for term in others), (first, others[-1])]


@functools.cache
def _reference(baseline: str, problem: Problem, objective: str) -> Result[Any]:
    result = make_solver(baseline, problem, objective)(problem, Budget(seconds=_REFERENCE_S))
    return confirm(problem, result, tuple(objective.split(",")))


def _call(solver: AnySolver, problem: Problem, budget: Budget) -> Result[Any]:
    try:
        return solver(problem, budget)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a solver raises is what is looked for
        _fail(solver, problem, f"raises {type(error).__name__}: {error}", error)


def _judged(solver: AnySolver, problem: Problem, budget: Budget, objective: tuple[str, ...]) -> Result[Any]:
    """Return the result as confirmed by the judge."""
    result = _call(solver, problem, budget)
    try:
        judged = confirm(problem, result, objective)
    except AllocsolveError as error:
        _fail(solver, problem, str(error), error)
    if result.limit is Limit.INTERRUPTED or (result.limit is Limit.ITERATIONS and budget.iterations is None):
        _fail(solver, problem, f"claims the limit {result.limit}; there was none")
    return judged


def _fail(solver: AnySolver, problem: Problem, what: str, cause: BaseException | None = None) -> NoReturn:
    msg = f"{identity(solver)} on {problem.name or problem!r}: {what}"
    raise AssertionError(msg) from cause


def _essence(result: Result[Any]) -> tuple[object, ...]:
    """Return what must be the same in every run."""
    answer = None if result.status is Status.OPTIMAL else result.answer
    return result.status, result.objective, result.bound, answer


def _shown(result: Result[Any]) -> str:
    value = "" if result.objective is None else f" {result.objective}"
    return f"{result.status}{value} {result.answer}"


def _snapshot(problem: Problem) -> dict[str, object]:
    """Return all that a problem holds, by field, in a form that shares nothing with it."""
    return {field.name: _frozen(getattr(problem, field.name)) for field in dataclasses.fields(problem)}


def _frozen(value: object) -> object:
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.flags.writeable, value.tobytes()
    if isinstance(value, tuple | list):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, Mapping):
        return tuple((key, _frozen(item)) for key, item in value.items())
    if dataclasses.is_dataclass(value):
        return tuple(_frozen(getattr(value, field.name)) for field in dataclasses.fields(value))
    return value


@contextlib.contextmanager
def _stdout() -> Iterator[Callable[[], str]]:
    """Catch what is written to stdout, by Python and by its number; the function returns it so far."""
    sys.stdout.flush()
    with tempfile.TemporaryFile("w+", errors="backslashreplace") as file:

        def written() -> str:
            file.flush()
            file.seek(0)
            return file.read()

        kept = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            with contextlib.redirect_stdout(file):
                yield written
        finally:
            os.dup2(kept, 1)
            os.close(kept)
