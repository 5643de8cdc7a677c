"""Static admission whose bookings are executed: what becomes of accepted jobs (Linnert et al. 2024)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from allocsolve.heuristics.programs.execution import execute
from allocsolve.heuristics.programs.rules import OVERRUNS, ExecutionRules
from allocsolve.heuristics.reservation.admission import Static
from allocsolve.model import Result, Status
from allocsolve.model.checks import choice

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.heuristics.programs.rules import Overrun, Reference
    from allocsolve.heuristics.reservation.shapes import Allocator
    from allocsolve.model import Budget, ReservationProblem, ReservationSchedule

__all__ = ["StaticExecution"]


@dataclass(frozen=True, slots=True)
class StaticExecution:
    """Admit each job at its arrival, then run the programs of the accepted ones where they are booked.

    Parameters
    ----------
    allocator, allocators
        See `Static`.
    overrun
        How long a job may run that has booked its nodes, see `execute`.
    cores, communication, hop_part, synchronous, contention, reference
        See `ExecutionRules`.

    Raises
    ------
    InvalidOption, UnknownName
        If an option is not as said.

    Notes
    -----
    *Guarantee*: none. *Complexity*: those of `admit` and `execute`.

    References
    ----------
    Linnert et al. 2024, sections 3 and 5.

    Examples
    --------
    >>> from allocsolve.model import Budget, DeadlineJob, Mesh, ReservationProblem
    >>> jobs = [DeadlineJob(0, 3, 60, 90, program=kind) for kind in (0, 1)]
    >>> StaticExecution("growth")(ReservationProblem(Mesh((2, 2)), jobs), Budget()).answer.outcomes.tolist()
    [2, 0]
    """

    allocator: str = "hilbert"
    allocators: Callable[[str], Allocator] | None = field(default=None, repr=False, compare=False)
    overrun: Overrun = "end"
    cores: int = 4
    communication: float = 0.1
    hop_part: float = 1.0
    synchronous: bool = False
    contention: bool = False
    reference: Reference = "booked"

    def __post_init__(self) -> None:
        Static(self.allocator, self.allocators)  # which checks them
        choice("overrun", self.overrun, OVERRUNS)
        rules = self.rules
        for name in rules.__slots__:
            object.__setattr__(self, name, getattr(rules, name))

    @property
    def rules(self) -> ExecutionRules:
        """How programs run."""
        return ExecutionRules(
            self.cores,
            self.communication,
            self.hop_part,
            self.synchronous,
            self.contention,
            self.reference,
        )

    def __call__(self, problem: ReservationProblem, budget: Budget, /) -> Result[ReservationSchedule]:
        """Admit and execute; of the budget the clock is used, and for admission only."""
        clock = budget.start()
        booked = Static(self.allocator, self.allocators)(problem, budget)
        assert booked.answer is not None, "static admission rejects at worst"
        schedule = execute(problem, booked.answer, self.rules, overrun=self.overrun)
        return Result(Status.FEASIBLE, schedule, limit=booked.limit, runtime=clock.elapsed)
