"""Answers of the heuristics that take milliseconds: what a baseline has to be no worse than."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from allocsolve.errors import InvalidOption
from allocsolve.families.table import family_of
from allocsolve.model import Budget, Clock, terms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import Problem

#: After this time (s), or this share of the time that is left, whichever is later, no other solver is called:
#: on problems of usual size all of them take a tenth of it together.
_ENOUGH_S: Final = 0.25
_SHARE: Final = 0.1


def quick_answers(
    problem: Problem, objective: tuple[str, ...], clock: Clock, *, seed: int = 0
) -> Iterator[tuple[Any, tuple[float, ...]]]:
    """Yield answers of the quick solvers of a problem's family, each better than those before.

    Parameters
    ----------
    objective
        By whose terms, as the rules of the family value an answer, one is better than another.
    clock
        Of the caller. All quick solvers are called as long as a quarter of a second or a tenth of the time
        left lasts, whichever is longer, and in any case until one has given an answer.

    Yields
    ------
    answer, values
        A feasible answer, and its value under each term.
    """
    family = family_of(problem)
    own = clock.stage(_SHARE)
    if own.remaining < _ENOUGH_S:
        own = Clock(_ENOUGH_S)
    best: tuple[float, ...] = ()
    for solver in family.quick_solvers(problem, objective):
        if best and own.remaining == 0:
            return
        try:
            answer = solver(problem, Budget(seconds=max(own.remaining, 1e-3), seed=seed)).answer
        except InvalidOption:  # it is not made for this problem
            continue
        if answer is None:
            continue
        values = terms(family.value(family.rules.metrics(problem, answer), objective))
        if (not best or values < best) and not family.rules.violations(problem, answer):
            best = values
            yield answer, values
