"""The contract of a solver, rule by rule, as one function, and as a class of tests to inherit."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import inspect
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, TypeAlias

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidOption, UnknownName, UnsupportedProblem
from allocsolve.families import AnyFamily, AnySolver, family_named
from allocsolve.model import Budget, Limit, Problem, Result, Status, terms
from allocsolve.model.options import Options, field_options
from allocsolve.registry import (
    families_solved,
    identity,
    ready,
    solve_and_assess,
    solver_fault,
    with_objective,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.bench.runs.records import Record
    from allocsolve.model import Answer

#: Called with a solver, its family and problems of it.
Check: TypeAlias = Callable[[AnySolver, AnyFamily, Sequence[Problem]], None]

#: Ample for tiny problems; the iterations end searches that would go on for all the time.
ENOUGH: Final = Budget(seconds=2, iterations=1000)

#: The time limit on the large problem, and how far it may be overrun: a model must be built in any case.
SHORT_S: Final = 1.0
OVERRUN_S: Final = 20.0

#: For the baseline on one example, which it may not prove optimal: then the iterations end its search.
_REFERENCE: Final = Budget(seconds=30, iterations=20_000)


def check_answers(solver: AnySolver, family: AnyFamily, problems: Sequence[Problem]) -> None:
    """Claim only what holds: answer, value, bound, status and limit, for every objective that it takes."""
    answered = 0
    for objective in _objectives(solver, family):
        aimed = with_objective(solver, objective)
        for problem in problems:
            optimum = _reference(family.baseline, problem, ",".join(objective)).objective
            record, answer = _judged(aimed, problem, ENOUGH, objective)
            if optimum is not None and record.status is Status.INFEASIBLE:
                _fail(aimed, problem, f"claims that there is no answer; there is one with {optimum}")
            if optimum is not None and terms(record.bound) > terms(optimum):
                _fail(aimed, problem, f"claims the bound {record.bound}; there is an answer with {optimum}")
            answered += answer is not None
    if problems and not answered:
        raise AssertionError(f"{identity(solver)} answers none of {len(problems)} {family.kind} problems")


def check_repeatable(solver: AnySolver, family: AnyFamily, problems: Sequence[Problem]) -> None:
    """Give the same answer for the same seed, in whatever order problems are solved.

    Of two proven optima the answers may differ (threads decide which is found), and what the clock has
    stopped may be anything.
    """
    objective = family.term_names[:1]
    aimed = with_objective(solver, objective)
    for seed in range(2):
        budget = dataclasses.replace(ENOUGH, seed=seed)
        first = [_judged(aimed, problem, budget, objective) for problem in problems]
        again = [_judged(aimed, problem, budget, objective) for problem in reversed(problems)][::-1]
        for problem, call, other in zip(problems, first, again, strict=True):
            if Limit.TIME not in (call[0].limit, other[0].limit) and _essence(*call) != _essence(*other):
                shown = f"{_shown(*call)}, then {_shown(*other)}"
                _fail(aimed, problem, f"seed {seed} gives different results: {shown}")


def check_options(solver: AnySolver, _family: AnyFamily, _problems: Sequence[Problem]) -> None:
    """Refuse what no option takes, in one line that names the option; of solvers that are `Options`."""
    for held in (solver, *(getattr(solver, name) for name in _parts(solver))):
        for option in field_options(type(held)) if isinstance(held, Options) else ():
            for value in option.invalid_examples():
                _refused(held, option.name, value)


def _parts(solver: AnySolver) -> Iterator[str]:
    """Yield the fields of a solver that hold some of its options."""
    for option in field_options(type(solver)) if isinstance(solver, Options) else ():
        if isinstance(getattr(solver, option.name), Options):
            yield option.name


def _refused(held: Any, name: str, value: object) -> None:  # noqa: ANN401 - a solver or a part of one
    try:
        dataclasses.replace(held, **{name: value})
    except (InvalidOption, UnknownName) as error:
        text = str(error)
        assert "\n" not in text, (
            f"{identity(held)}: the message on {name}={value!r} has several lines: {text}"
        )
        assert name in text, f"{identity(held)}: the message on {name}={value!r} does not name it: {text}"
    else:
        raise AssertionError(f"{identity(held)} takes {name}={value!r}")


def check_input_stays(solver: AnySolver, family: AnyFamily, problems: Sequence[Problem]) -> None:
    """Leave the problem as it is, its arrays included."""
    objective = family.term_names[:1]
    aimed = with_objective(solver, objective)
    for problem in problems:
        before = _snapshot(problem)
        _call(aimed, problem, ENOUGH)
        after = _snapshot(problem)
        changed = [name for name in before if before[name] != after[name]]
        if changed:
            _fail(aimed, problem, f"changes the problem: {', '.join(changed)}")


def check_silent(solver: AnySolver, family: AnyFamily, problems: Sequence[Problem]) -> None:
    """Print nothing to stdout, neither from Python nor from a library or a child process."""
    aimed = with_objective(solver, family.term_names[:1])
    for problem in problems:
        with _stdout() as written:
            _call(aimed, problem, ENOUGH)
            text = written()
        if text:
            _fail(aimed, problem, f"prints {text if len(text) <= 60 else text[:60] + '...'!r}")


def check_budget(solver: AnySolver, family: AnyFamily, problems: Sequence[Problem]) -> None:
    """Make do with hardly any budget, whatever the objective, and end a large problem in time."""
    for objective in _objectives(solver, family):
        for idx, problem in enumerate(problems):
            budget = Budget(0.001, ENOUGH.iterations, workers=1 + idx % 2)
            _timed(with_objective(solver, objective), problem, budget, objective)
    objective = family.term_names[:1]
    aimed, large = with_objective(solver, objective), family.large_example()
    for problem in problems:
        for iterations in (0, 1):
            _timed(aimed, problem, Budget(ENOUGH.seconds, iterations), objective)
    ready(aimed, large)
    _timed(aimed, large, Budget(SHORT_S), objective)


def _timed(solver: AnySolver, problem: Problem, budget: Budget, objective: tuple[str, ...]) -> None:
    begun = time.perf_counter()
    _judged(solver, problem, budget, objective)
    took = time.perf_counter() - begun
    if took > budget.seconds + OVERRUN_S:
        _fail(solver, problem, f"takes {took:.1f} s with a budget of {budget.seconds:g} s")


def _objectives(solver: AnySolver, family: AnyFamily) -> list[tuple[str, ...]]:
    """Return each single term, and two as a pair in both orders; the default if the solver takes none."""
    first, *others = family.term_names
    default = (first,)
    if not others or with_objective(solver, default) == with_objective(solver, (others[0],)):
        return [default]
    pair = (first, others[-1])
    return [default, *((term,) for term in others), pair, pair[::-1]]


@functools.cache
def _reference(baseline: str, problem: Problem, objective: str) -> Result[Any]:
    return solve_and_assess(problem, baseline, objective, _REFERENCE).result


def _call(solver: AnySolver, problem: Problem, budget: Budget) -> Result[Any] | None:
    """Return the result, None for a problem that the solver is not made for."""
    try:
        return solver(problem, budget)
    except UnsupportedProblem:
        return None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a solver raises is what is looked for
        _fail(solver, problem, f"raises {type(error).__name__}: {error}", error)


def _judged(
    solver: AnySolver, problem: Problem, budget: Budget, objective: tuple[str, ...]
) -> tuple[Record, Answer | None]:
    """Return the record and the answer of a run that the judge confirms."""
    # Every run of pytest imports this package, for the fixture of the gate.
    from allocsolve.bench.runs.execution import execute  # noqa: PLC0415 - keeps pytest light
    from allocsolve.bench.runs.tasks import plan  # noqa: PLC0415 - keeps pytest light
    from allocsolve.bench.runs.worker import SolverInterrupted  # noqa: PLC0415 - keeps pytest light

    (task,) = plan([("", problem)], [solver], objective=",".join(objective), budgets=[budget])
    try:
        record, answer, cause, _ = execute(task, solver)
    except SolverInterrupted:
        _fail(solver, problem, f"claims the limit {Limit.INTERRUPTED}; there was none")
    if isinstance(cause, InvalidAnswer):
        _fail(solver, problem, str(cause), cause)
    if cause is not None and not isinstance(cause, UnsupportedProblem):
        _fail(solver, problem, f"raises {type(cause).__name__}: {cause}", cause)
    if record.limit is Limit.ITERATIONS and budget.iterations is None:
        _fail(solver, problem, f"claims the limit {record.limit}; there was none")
    return record, answer


def _fail(solver: AnySolver, problem: Problem, what: str, cause: BaseException | None = None) -> NoReturn:
    raise AssertionError(f"{identity(solver)} on {problem.name or problem!r}: {what}") from cause


def _essence(record: Record, answer: Answer | None) -> tuple[object, ...]:
    """Return what must be the same in every run."""
    compared = None if record.status is Status.OPTIMAL else answer
    return record.status, record.value, record.bound, compared


def _shown(record: Record, answer: Answer | None) -> str:
    value = "" if record.value is None else f" {record.value}"
    return f"{record.status}{value} {answer}"


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

        stdout = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            with contextlib.redirect_stdout(file):
                yield written
        finally:
            os.dup2(stdout, 1)
            os.close(stdout)


def example_problems(kind: str) -> tuple[Problem, ...]:
    """Return the problems of a kind on which `check_solver` tries a solver, each with a name that says why.

    They are at the edges of what the model allows: empty and one-element problems, the full machine,
    requests without an answer, times of 2^50 seconds, and some small random ones with fixed seeds. An exact
    solver proves each within a second, unless its model grows with the time.

    Parameters
    ----------
    kind
        That of a family, such as ``evolution``.

    Examples
    --------
    >>> [problem.name for problem in example_problems("evolution")][:3]
    ['no application', 'one application, released late', 'one node']
    """
    # Made anew for every call: some solver may have written into those of the last one.
    return tuple(family_named(kind).examples())


def check_solver(
    solver: AnySolver, *, kind: str | None = None, examples: Sequence[Problem] | None = None
) -> None:
    """Check that a solver keeps the contract of all solvers, on small problems with known optima.

    What is checked, in this order: the solver has a name for the records; problems stay as they are; on
    every example there is a `Result` whose answer, objective value, bound and status hold; the same seed
    gives the same answer; nothing is printed; the budget is kept; values that no option takes are refused, if
    the solver is an `allocsolve.model.options.Options`. An example that the solver is not made for
    may be refused by `allocsolve.errors.UnsupportedProblem`, as long as another is answered.

    Parameters
    ----------
    solver
        A function or a frozen dataclass, called with a problem and a `Budget`; or a class that makes one
        without arguments. One with a field ``objective`` is tried with every objective, any other with the
        default objective.
    kind
        That of a family, such as ``evolution``; by default what the annotation of the first parameter says.
    examples
        The problems, all of this kind; by default `example_problems`.

    Raises
    ------
    AssertionError
        With what is wrong, and on which problem.

    Notes
    -----
    Optima are those of the baseline solver of the kind, as confirmed by the judge. A solver that never
    returns cannot be stopped. *Complexity*: some 200 to 500 calls on tiny problems, and one of a second.

    Examples
    --------
    >>> from allocsolve.heuristics import ListScheduling
    >>> check_solver(ListScheduling(order="longest"))
    """
    for check in _CHECKS:
        _apply(check, solver, kind, examples)


_CHECKS = (
    check_input_stays,  # first: what follows would be tried on changed problems
    check_answers,
    check_repeatable,
    check_silent,
    check_budget,
    check_options,
)


def _apply(check: Check, solver: Any, kind: str | None, examples: Sequence[Problem] | None) -> None:  # noqa: ANN401 - also what is no solver
    if isinstance(solver, type):
        solver = solver()
    fault = solver_fault(solver)
    assert not fault, fault
    for family in _families(solver, kind):
        chosen = example_problems(family.kind) if examples is None else examples
        check(solver, family, copy.deepcopy(tuple(chosen)))


def _families(solver: AnySolver, kind: str | None) -> tuple[AnyFamily, ...]:
    if kind is None:
        try:
            return families_solved(solver)
        except ValueError as error:
            raise AssertionError(str(error)) from error
    return (family_named(kind),)


class SolverConformance:
    """What `check_solver` does as tests: a subclass whose name starts with ``Test`` is collected by pytest.

    Attributes
    ----------
    solver, kind, examples
        See the parameters of `check_solver`.

    Examples
    --------
    >>> from allocsolve.heuristics import Growth
    >>> class TestGrowth(SolverConformance):
    ...     solver = Growth("all")
    >>> TestGrowth().test_answers_hold()
    """

    solver: ClassVar[Any]
    kind: ClassVar[str | None] = None
    examples: ClassVar[Sequence[Problem] | None] = None

    def test_answers_hold(self) -> None:
        """Every answer, value, bound and status holds."""
        self._apply(check_answers)

    def test_same_seed_same_answer(self) -> None:
        """The same seed gives the same answer, whatever was solved in between."""
        self._apply(check_repeatable)

    def test_input_stays(self) -> None:
        """The problem is not changed."""
        self._apply(check_input_stays)

    def test_nothing_is_printed(self) -> None:
        """Nothing goes to stdout."""
        self._apply(check_silent)

    def test_budget_is_kept(self) -> None:
        """No call lasts much longer than its budget, and a budget of nearly nothing still gives a result."""
        self._apply(check_budget)

    def test_wrong_options_are_refused(self) -> None:
        """What no option takes is refused in one line."""
        self._apply(check_options)

    def _apply(self, check: Check) -> None:
        solver = inspect.getattr_static(self, "solver", None)  # a function would become a method
        assert solver is not None, f"{type(self).__name__} has no attribute 'solver': set it to yours"
        solver = solver.__func__ if isinstance(solver, staticmethod) else solver
        _apply(check, solver, self.kind, self.examples)
