"""Drivers of the engine: a policy is called until no event is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from allocsolve.simulation.engine import Engine
from allocsolve.simulation.outcome import Simulation
from allocsolve.simulation.policy import instantiated, runnable

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem, WorkloadSchedule
    from allocsolve.simulation.policy import PolicyLike
    from allocsolve.simulation.rules import EngineRules


@runtime_checkable
class CompiledPolicy(Protocol):
    """A policy that runs inside the compiled event loop."""

    def simulated(self, problem: WorkloadProblem, rules: EngineRules | None = None) -> Simulation:
        """Run a workload to its end; without rules, by those of the policy."""


def run_policy(
    problem: WorkloadProblem, policy: PolicyLike, rules: EngineRules | None = None, *, seed: int = 0
) -> Simulation:
    """Run a workload to its end under any policy, calling it from Python.

    Policy and rules are as for `runnable` and `forecast`; `reset`, if there is one, is called with the seed
    before the run.
    """
    ready = runnable(policy, seed=seed)
    engine = Engine(problem, rules or ready.rules)
    while (view := engine.advance()) is not None:
        engine.apply(ready.decide(view))
    return Simulation(engine.result(), engine.log, engine.standstill)


def simulate(
    problem: WorkloadProblem, policy: PolicyLike | CompiledPolicy, rules: EngineRules | None = None
) -> WorkloadSchedule:
    """Return the schedule of a workload under a policy: compiled where it can be, else as `run_policy`.

    `InvalidOption` if a policy needs to know more than the rules allow.

    The policy is a function from views to decisions, or one of `allocsolve.heuristics` such as ``Easy()``;
    rules are those of the policy if left out. Jobs that the policy did not start have no pieces. Jobs whose
    requests for nodes are never answered end at the last event, before their work is done; the judge reports
    this.

    Examples
    --------
    >>> from allocsolve.model import Job, WorkloadProblem
    >>> from allocsolve.simulation import Start
    >>> def widest_first(view):
    ...     free = view.free
    ...     for job in sorted(view.queue, key=lambda job: -view.jobs.nodes[job]):
    ...         nodes = int(view.jobs.nodes[job])
    ...         if nodes <= free:
    ...             free -= nodes
    ...             yield Start(job, nodes)
    >>> problem = WorkloadProblem(4, [Job(0, 1, 100), Job(0, 4, 10), Job(0, 3, 50)])
    >>> simulate(problem, widest_first).first_starts.tolist()
    [10.0, 0.0, 10.0]
    """
    made = instantiated(policy)
    if isinstance(made, CompiledPolicy):
        return made.simulated(problem, rules).schedule
    return run_policy(problem, made, rules).schedule
