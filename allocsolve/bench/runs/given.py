"""Answers that are there already: they are judged and scored like those of solvers."""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from allocsolve.errors import AllocsolveError, FormatError, InvalidAnswer
from allocsolve.families import family_of
from allocsolve.instances import read_solution
from allocsolve.judge import metrics, rounded, violations
from allocsolve.model import Result, Status

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from allocsolve.bench.runs.records import Record
    from allocsolve.model import Answer, Budget, Problem


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """A solver of one problem, whose answer is there already; what it is worth is for the judge to say."""

    name: str  #: what rows call it
    sha256: str  #: of its file: another content is another run
    answer: Answer | None = field(repr=False, compare=False)  #: None if the file holds none
    fault: str = field(default="", repr=False, compare=False)  #: why it holds none
    tolerance: float = 0.0  #: seconds by which its times may be off; 0 if it is feasible as it is

    def __repr__(self) -> str:
        """Return what records know it by, see `tolerance_of`."""
        within = f", tolerance={self.tolerance!r}" if self.tolerance else ""
        return f"{GivenAnswer.__name__}(name={self.name!r}, sha256={self.sha256!r}{within})"

    def __call__(self, problem: Problem, budget: Budget, /) -> Result[Any]:
        """Return the answer.

        Raises `AllocsolveError` if the file holds none; `InvalidAnswer` if it is not feasible: with the
        broken rules and, where they can be measured, the values that it has all the same. They count nowhere.
        """
        del budget
        if self.answer is None:
            raise AllocsolveError(self.fault)
        if faults := violations(problem, self.answer, tolerance=self.tolerance):
            more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            within = f" within {self.tolerance:g} s" if self.tolerance else ""
            msg = f"the answer is not feasible{within}: {faults[0]}{more}{_values(problem, self.answer)}"
            raise InvalidAnswer(msg)
        return Result(Status.FEASIBLE, self.answer)


def given_answer(
    path: Path, problem: Problem, *, tolerance: float, tell: Callable[[str], None]
) -> GivenAnswer:
    """Read an answer from a file in any format of `read_solution`.

    A file that is no answer to the problem makes a failed row; one that is not there is refused. Raises
    `FormatError` if the file cannot be read; `InvalidOption` if a tolerance is given, and answers to the
    problem have no times that could be rounded. Its name is that of the file; what is told is what
    `read_solution` tells.
    """
    try:
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise FormatError(str(path), [f"cannot be read: {error.strerror}"]) from None
    try:
        answer = read_solution(path, problem, tell=tell)
    except AllocsolveError as error:
        return GivenAnswer(str(path), sha256, None, str(error))
    if tolerance:
        with suppress(InvalidAnswer):  # whose numbers are too large to be added up
            violations(problem, answer, tolerance=tolerance)  # may it be tolerated at all?
            tolerance = tolerance if violations(problem, answer) else 0
            answer = rounded(problem, answer, tolerance=tolerance)
    return GivenAnswer(str(path), sha256, answer, tolerance=float(tolerance))


def _values(problem: Problem, answer: Answer) -> str:
    """Return the values of an answer that is not feasible, as they end a message; empty if there are none."""
    family = family_of(problem)
    try:
        measured = metrics(problem, answer)
    except InvalidAnswer:
        return ""
    values = {term.name: term.value(measured) for term in family.objectives}
    return "; as it stands: " + ", ".join(f"{term} {number:.7g}" for term, number in values.items())


def is_given(record: Record) -> bool:
    """Return whether a row is about a `GivenAnswer`, not about a solver."""
    return record.solver_repr.startswith(f"{GivenAnswer.__name__}(")


def tolerance_of(record: Record) -> float:
    """Return by how many seconds times of the answer of a row may be off: 0 but for some of `GivenAnswer`.

    Such a row has an answer that is feasible but for its rounding: what is below a bound or another value by
    as little refutes neither.
    """
    told = re.search(r"', tolerance=([\d.e+-]+)\)$", record.solver_repr) if is_given(record) else None
    return float(told[1]) if told else 0.0
