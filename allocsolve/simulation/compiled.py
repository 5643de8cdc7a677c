"""Policies with a compiled event loop: what all of them share to run a whole workload."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from allocsolve.errors import Deadlock
from allocsolve.model import Result, Status
from allocsolve.model.options import Options
from allocsolve.simulation import EngineRules
from allocsolve.simulation.engine import run_policy
from allocsolve.simulation.outcome import Simulation, log_of, schedule_of, standstill_of
from allocsolve.simulation.state import initial_resizing, initial_state, roomier

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.model import Budget, FloatArray, PackedJobs, WorkloadProblem, WorkloadSchedule
    from allocsolve.simulation.state import Resizing, State


class CompiledSolver(Options):
    """A policy that runs a whole workload at once, as a solver: it always runs to the end of the workload."""

    __slots__ = ()
    #: Whoever watches its time does not hold it to the budget.
    runs_to_end: ClassVar[bool] = True

    @property
    def rules(self) -> EngineRules:
        """The rules of a simulation under this policy, unless others are given."""
        return EngineRules()

    if TYPE_CHECKING:

        def simulated(self, problem: WorkloadProblem, rules: EngineRules | None = None) -> Simulation:
            """Run a workload to its end; without rules, by those of the policy."""

    def __call__(self, problem: WorkloadProblem, budget: Budget, /) -> Result[WorkloadSchedule]:
        """Run the workload; the budget does not limit it, only its clock is used.

        `Deadlock` if running jobs wait for nodes for ever.
        """
        clock = budget.start()
        run = self.simulated(problem)
        if run.standstill is not None:
            raise Deadlock(run.standstill.told(problem.jobs.names))
        return Result(Status.FEASIBLE, run.schedule, runtime=clock.elapsed)


class ResizingSolver(CompiledSolver):
    """A policy under which jobs change their sizes while they run."""

    __slots__ = ()
    #: Whether it answers the requests of evolving jobs.
    answers: ClassVar[bool] = True

    if TYPE_CHECKING:

        def run(self, problem: WorkloadProblem, rules: EngineRules) -> tuple[State, Resizing]:
            """Run a workload, which has been checked, to its end; return the states of the engine."""

    def final_states(
        self, problem: WorkloadProblem, rules: EngineRules | None = None
    ) -> tuple[State, Resizing]:
        """Return the states of the engine at the end of a workload; without rules, by those of the policy."""
        rules = rules or self.rules
        problem.check_plain("sizes")
        rules.check(problem, answers=self.answers)
        return self.run(rules.applied(problem), rules)

    def simulated(self, problem: WorkloadProblem, rules: EngineRules | None = None) -> Simulation:
        """Run a workload to its end in the compiled loop, with the reasons of all starts."""
        return simulation_of(self.final_states(problem, rules))


@dataclass(frozen=True, slots=True)
class PolicySolver(CompiledSolver):
    """Any policy as a solver: it is called from Python at each event."""

    #: In any form that `allocsolve.simulation.runnable` takes.
    policy: Any

    def __repr__(self) -> str:
        """Return a text that tells policies apart, the same in every process if that of the policy is."""
        policy = self.policy
        is_named = isinstance(policy, type) or inspect.isfunction(policy)
        shown = f"{policy.__module__}.{policy.__qualname__}" if is_named else repr(policy)
        return f"{PolicySolver.__name__}({shown})"

    def simulated(self, problem: WorkloadProblem, rules: EngineRules | None = None) -> Simulation:
        """Run a workload to its end; without rules, by those of the policy."""
        return run_policy(problem, self.policy, rules)


def run_to_end(
    problem: WorkloadProblem,
    run: Callable[[PackedJobs, State, Resizing], bool],
    *,
    ordered: bool | None,
    estimate: FloatArray | None = None,
) -> tuple[State, Resizing]:
    """Return the states of the engine at the end of a workload whose jobs may change their sizes.

    `run` goes on from event to event, and returns False if the log of changes needs more room before it can
    continue. For `ordered` see `initial_state`; `estimate`, shape (jobs,), are the seconds that the policy
    expects, the estimates of users if left out.
    """
    problem.check_plain("sizes")
    packed, count = problem.jobs.packed, len(problem.jobs)
    state = initial_state(problem.num_nodes, packed.submit, ordered=ordered, resizable=True)
    known = packed.estimate if estimate is None else estimate
    resizing = initial_resizing(known, problem.jobs.evolving)
    while not run(packed, state, resizing):
        resizing = roomier(resizing, count)
    return state, resizing


def simulation_of(states: tuple[State, Resizing]) -> Simulation:
    """Return the schedule of a run, and why it is so."""
    state, resizing = states
    return Simulation(schedule_of(state, resizing), log_of(state), standstill_of(state, resizing))
