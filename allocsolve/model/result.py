"""What a solver may spend, and what it claims about its answer."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeAlias, TypeVar

from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.model.checks import integer, natural, real, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

A = TypeVar("A")

#: An objective value: a number, or a tuple of numbers for a lexicographic objective.
Value: TypeAlias = float | tuple[float, ...]


def terms(value: Value) -> tuple[float, ...]:
    """Return the value as a tuple; tuples compare lexicographically."""
    return value if isinstance(value, tuple) else (value,)


def shown_values(values: tuple[float, ...]) -> Value:
    """Return values in the form of results, where a single term is a number."""
    return values[0] if len(values) == 1 else values


class Status(StrEnum):
    """What a solver claims about its answer."""

    OPTIMAL = "optimal"  #: there is a proof that nothing is better
    FEASIBLE = "feasible"  #: an answer without such a proof
    INFEASIBLE = "infeasible"  #: there is a proof that no answer exists
    UNKNOWN = "unknown"  #: neither an answer nor a proof


class Limit(StrEnum):
    """Why a solver stopped before it was done."""

    TIME = "time"
    ITERATIONS = "iterations"
    SIZE = "size"  #: the method does not reach instances of this size
    ROUNDING = "rounding"  #: the method rounds the numbers of the problem, so its bound cannot be met
    INTERRUPTED = "interrupted"


#: How long a solver may take that does not search, such as a policy, in seconds: no budget shortens it.
POLICY_SECONDS: Final = 600.0


class Clock:
    """The time spent of a budget since the clock was made.

    Parameters
    ----------
    seconds
        The limit; infinite for none.
    is_divided
        Whether stages of the work may have a share of the time each. Where iterations say how much work there
        is they may not: what a stage does in a share depends on the machine, and so do all that follow.
    whole
        The clock of the work that this is a stage of: with its time this one's is over, too.
    """

    def __init__(self, seconds: float, *, is_divided: bool = True, whole: Clock | None = None) -> None:
        self._start = time.perf_counter()
        self._seconds, self._whole = seconds, whole
        self.is_divided = is_divided

    @property
    def elapsed(self) -> float:
        """Seconds since the clock was made."""
        return time.perf_counter() - self._start

    @property
    def remaining(self) -> float:
        """Seconds left, never below 0; infinite without a time limit."""
        left = max(0.0, self._seconds - self.elapsed)
        return left if self._whole is None else min(left, self._whole.remaining)

    @property
    def divisible(self) -> float:
        """Seconds left that say how much work to do; infinite without a limit, and if iterations say it."""
        return self.remaining if self.is_divided else math.inf

    def stage(self, share: float = 1.0, most: float = math.inf) -> Clock:
        """Return the clock of a stage of the work that ends by itself.

        It has a share of the time left, at most so many seconds; where iterations say how much work there is,
        all that is left.
        """
        left = self.divisible
        seconds = min(share * left, most) if left < math.inf else math.inf
        return Clock(seconds, is_divided=self.is_divided, whole=self)


@dataclass(frozen=True, slots=True)
class Budget:
    """What a solver may spend.

    Parameters
    ----------
    seconds
        Wall time from the call on, > 0; no limit by default. Stages of a search share it.
    iterations
        Work units of a local search; None for no limit. With them a run does the same work in every process
        and on every machine: each stage has its iterations, or goes on until it ends by itself, and the
        seconds are only the time at which all ends.
    workers
        Threads, >= 1.
    seed
        Seed of every random choice, >= 0.
    """

    seconds: float = math.inf
    iterations: int | None = None
    workers: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if not real("seconds", self.seconds, InvalidOption) > 0:
            msg = f"seconds {self.seconds} is not above 0"
            raise InvalidOption(msg)
        if self.iterations is not None:
            object.__setattr__(self, "iterations", natural("iterations", self.iterations))
        object.__setattr__(self, "workers", integer("workers", self.workers, InvalidOption))
        object.__setattr__(self, "seed", integer("seed", self.seed, InvalidOption))
        if self.workers < 1:
            msg = f"workers {shown(self.workers)} is below 1"
            raise InvalidOption(msg)
        if not 0 <= self.seed < 2**31:
            msg = f"seed {shown(self.seed)} is not in 0..2^31-1"
            raise InvalidOption(msg)

    def start(self) -> Clock:
        """Start the clock: the first thing that a solver does."""
        return Clock(self.seconds, is_divided=self.iterations is None)

    @property
    def racing_workers(self) -> int:
        """Threads whose answer depends on which of them comes first: 1 if iterations are given."""
        return self.workers if self.iterations is None else 1


@dataclass(frozen=True, slots=True)
class Result(Generic[A]):
    """The outcome of a solver, as claimed by the solver; `allocsolve.judge.confirm` checks the claims.

    `InvalidAnswer` if the claims contradict each other.

    Parameters
    ----------
    status
        What is claimed of the answer.
    answer
        None if there is none.
    objective
        Claimed value of the answer (to be minimised); None if the solver claims nothing, as a greedy
        heuristic does. A tuple for a lexicographic objective.
    bound
        Proven lower bound on every answer's value; minus infinity if there is none.
    limit
        Why the solver stopped before it was done; None if it was done.
    runtime
        Seconds, measured by the solver.
    incumbents
        Of an anytime solver: each better answer that it met, as seconds since the call and claimed value,
        in order; empty if it does not say.
    certificate
        Data from which the judge recomputes a lower bound by itself, which may be below `bound`: lists and
        numbers by name, as JSON holds them. None if the solver gives none.
    """

    status: Status
    answer: A | None = None
    objective: Value | None = None
    bound: Value = -math.inf
    limit: Limit | None = None
    runtime: float = 0.0
    incumbents: tuple[tuple[float, Value], ...] = ()
    certificate: Mapping[str, object] | None = None

    def __post_init__(self) -> None:
        fault = self._contradiction() or self._disorder()
        if fault:
            msg = f"contradictory result: {fault}"
            raise InvalidAnswer(msg)

    def _contradiction(self) -> str:
        has_answer = self.answer is not None
        if any(math.isnan(term) or term == math.inf for term in terms(self.bound)):
            return f"bound {self.bound} is not a number or minus infinity"
        if has_answer != (self.status in (Status.OPTIMAL, Status.FEASIBLE)):
            return f"status {self.status} {'with' if has_answer else 'without'} an answer"
        if self.objective is not None:
            if not all(math.isfinite(term) for term in terms(self.objective)):
                return f"objective {self.objective} is not finite"
            if not has_answer:
                return f"objective {self.objective} without an answer"
            if terms(self.bound) > terms(self.objective):
                return f"bound {self.bound} above the objective {self.objective}"
        if self.status is Status.OPTIMAL and (self.objective is None or self.objective != self.bound):
            return f"optimal with objective {self.objective} and bound {self.bound}"
        if self.limit is not None and self.status in (Status.OPTIMAL, Status.INFEASIBLE):
            return f"status {self.status} proven, yet stopped by {self.limit}"
        return ""

    def _disorder(self) -> str:
        for earlier, later in pairwise(self.incumbents):
            if later[0] < earlier[0] or terms(later[1]) >= terms(earlier[1]):
                return f"incumbent {later} after {earlier}"
        return ""


P_contra = TypeVar("P_contra", contravariant=True)


class Solver(Protocol[P_contra, A]):
    """Takes a problem and a budget, returns a result. Never mutates, never prints.

    A frozen dataclass of options with ``__call__`` is the usual form (its ``repr`` is its name in the
    records); a plain function is a solver too. Running out of budget is a result, never an exception.
    """

    def __call__(self, problem: P_contra, budget: Budget, /) -> Result[A]:
        """Solve within the budget."""
        ...
