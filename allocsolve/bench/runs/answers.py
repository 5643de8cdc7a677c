"""Answers that somebody else has made, judged and recorded beside those of solvers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from allocsolve.errors import AllocsolveError, FormatError, InvalidAnswer
from allocsolve.families import family_of
from allocsolve.instances import read_solution
from allocsolve.judge import metrics, violations
from allocsolve.model import Result, Status

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from allocsolve.bench.runs.records import Record
    from allocsolve.model import Answer, Budget, Problem

__all__ = ["GivenAnswer", "given_answer", "is_given"]


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """A solver of one problem, whose answer is there already; what it is worth is for the judge to say.

    Parameters
    ----------
    name
        What rows call it.
    sha256
        Of its file: another content is another run.
    answer
        None if the file holds none.
    fault
        Why it holds none.
    """

    name: str
    sha256: str
    answer: Answer | None = field(repr=False, compare=False)
    fault: str = field(default="", repr=False, compare=False)

    def __call__(self, problem: Problem, budget: Budget, /) -> Result[Any]:
        """Return the answer.

        Raises
        ------
        AllocsolveError
            If the file holds none.
        InvalidAnswer
            If it is not feasible: with the broken rules and, where they can be measured, the values that it
            has all the same. They count nowhere.
        """
        del budget
        if self.answer is None:
            raise AllocsolveError(self.fault)
        if faults := violations(problem, self.answer):
            more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            msg = f"the answer is not feasible: {faults[0]}{more}{_values(problem, self.answer)}"
            raise InvalidAnswer(msg)
        return Result(Status.FEASIBLE, self.answer)


def given_answer(path: Path, problem: Problem, *, tell: Callable[[str], None] | None = None) -> GivenAnswer:
    """Read an answer from a file in any format of `read_solution`.

    A file that is no answer to the problem makes a failed row; one that is not there is refused.

    Parameters
    ----------
    path
        The file; it gives the name.
    problem
        That it answers.
    tell
        See `read_solution`.

    Raises
    ------
    FormatError
        If the file cannot be read.
    """
    try:
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise FormatError(str(path), [f"cannot be read: {error.strerror}"]) from None
    try:
        return GivenAnswer(str(path), sha256, read_solution(path, problem, tell=tell))
    except AllocsolveError as error:
        return GivenAnswer(str(path), sha256, None, str(error))


def _values(problem: Problem, answer: Answer) -> str:
    """Return the values of an answer that is not feasible, as they end a message; empty if there are none."""
    family = family_of(problem)
    try:
        measured = metrics(problem, answer)
    except InvalidAnswer:
        return ""
    values = {term: family.rules.value(measured, (term,)) for term in family.objectives}
    return "; as it stands: " + ", ".join(f"{term} {number:.7g}" for term, number in values.items())


def is_given(record: Record) -> bool:
    """Return whether a row is about a `GivenAnswer`, not about a solver."""
    return record.solver_repr.startswith(f"{GivenAnswer.__name__}(")
