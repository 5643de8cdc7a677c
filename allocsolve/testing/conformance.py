"""The contract of a solver as one function, and as a class of tests to inherit."""

from __future__ import annotations

import copy
import inspect
from typing import TYPE_CHECKING, Any, ClassVar

from allocsolve.families import family_named
from allocsolve.registry import families_solved, solver_fault
from allocsolve.testing.checks import Check, check_answers, check_budget, check_input_stays, check_repeatable, check_silent, example_problems

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.families import AnyFamily, AnySolver
    from allocsolve.model import Problem

__all__ = ["SolverConformance", "check_solver"]


def check_solver(
    solver: AnySolver, *, kind: str | None = None, examples: Sequence[Problem] | None = None
) -> None:
    """Check that a solver keeps the contract of all solvers, on small problems with known optima.

    What is checked, in this order: the solver has a name for the records; problems stay as they are; on
    every example there is a `Result` whose answer, objective value, bound and status hold; the same seed
    gives the same answer; nothing is printed; the budget is kept. An example that the solver is not made for
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
    UnknownName
        If there is no such kind.

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

    def _apply(self, check: Check) -> None:
        solver = inspect.getattr_static(self, "solver", None)  # a function would become a method
        assert solver is not None, f"{type(self).__name__} has no attribute 'solver': set it to yours"
        solver = solver.__func__ if isinstance(solver, staticmethod) else solver
        _apply(check, solver, self.kind, self.examples)
