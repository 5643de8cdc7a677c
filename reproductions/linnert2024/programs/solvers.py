"""The strategies of the paper as solvers: static admission with execution, and the leak."""

from __future__ import annotations

from dataclasses import dataclass

from allocsolve.heuristics import Static
from allocsolve.model import Budget, ReservationProblem, ReservationSchedule, Result, Status
from allocsolve.model.options import Options
from reproductions.linnert2024.programs.execution import execute
from reproductions.linnert2024.programs.leak import execute_leaking
from reproductions.linnert2024.programs.rules import (
    Cores,
    ExecutionRules,
    LeakRules,
    Overrun,
    Reference,
    Waiting,
)


@dataclass(frozen=True, slots=True)
class StaticExecution(Options):
    """Admit each job at its arrival, then run the programs of the accepted ones where they are booked.

    Parameters
    ----------
    allocator
        One of the names that `allocsolve.heuristics.admit` describes.
    overrun
        How long a job may run that has booked its nodes, see `execute`.
    cores, synchronous, reference
        See `ExecutionRules`, which has more.

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
    overrun: Overrun = "end"
    cores: Cores = 4
    synchronous: bool = False
    reference: Reference = "booked"

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        Static(self.allocator)

    @property
    def rules(self) -> ExecutionRules:
        """The rules by which programs run."""
        return ExecutionRules(self.cores, synchronous=self.synchronous, reference=self.reference)

    def __call__(self, problem: ReservationProblem, budget: Budget, /) -> Result[ReservationSchedule]:
        """Admit and execute; the time limit of the budget ends admission only."""
        clock = budget.start()
        booked = Static(self.allocator)(problem, budget)
        assert booked.answer is not None, "static admission rejects at worst"
        schedule = execute(problem, booked.answer, self.rules, overrun=self.overrun)
        return Result(Status.FEASIBLE, schedule, limit=booked.limit, runtime=clock.elapsed)


@dataclass(frozen=True, slots=True)
class ReservationLeak(Options):
    """Let all jobs leak: see `execute_leaking`.

    Parameters
    ----------
    contiguous, waiting
        See `LeakRules`, which has more.
    cores, synchronous, reference
        See `ExecutionRules`, which has more.

    Notes
    -----
    *Guarantee*: none. *Complexity*: as `execute_leaking`.

    References
    ----------
    Linnert et al. 2024, section 4.

    Examples
    --------
    >>> from allocsolve.model import Budget, DeadlineJob, Mesh
    >>> problem = ReservationProblem(Mesh((4, 2)), [DeadlineJob(0, 3, 60, 90, program=3)], leaking=True)
    >>> ReservationLeak()(problem, Budget()).answer.outcomes.tolist()
    [2]
    """

    contiguous: bool = True
    waiting: Waiting = "queue"
    cores: Cores = 4
    synchronous: bool = False
    reference: Reference = "booked"

    @property
    def leak_rules(self) -> LeakRules:
        """The rules by which jobs take nodes."""
        return LeakRules(self.contiguous, self.waiting)

    @property
    def rules(self) -> ExecutionRules:
        """The rules by which programs run."""
        return ExecutionRules(self.cores, synchronous=self.synchronous, reference=self.reference)

    def __call__(self, problem: ReservationProblem, budget: Budget, /) -> Result[ReservationSchedule]:
        """Run all jobs; the budget does not limit it, only its clock is used."""
        clock = budget.start()
        schedule = execute_leaking(problem, self.rules, self.leak_rules)
        return Result(Status.FEASIBLE, schedule, runtime=clock.elapsed)
