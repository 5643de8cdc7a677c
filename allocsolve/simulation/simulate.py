"""Drivers of the engine: a policy is called until no event is left."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from allocsolve.simulation.decisions import Decision
from allocsolve.simulation.engine import Engine
from allocsolve.simulation.outcome import Simulation
from allocsolve.simulation.view import QueueView

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem, WorkloadSchedule
    from allocsolve.simulation.rules import EngineRules

__all__ = ["CompiledPolicy", "Policy", "run_policy", "simulate"]

#: A policy: a function from a view to decisions.
Policy: TypeAlias = Callable[[QueueView], Iterable[Decision]]


@runtime_checkable
class CompiledPolicy(Protocol):
    """A policy that runs inside the compiled event loop."""

    def simulated(self, problem: WorkloadProblem, rules: EngineRules | None = None) -> Simulation:
        """Run a workload to its end; without rules, by those of the policy."""


def run_policy(problem: WorkloadProblem, policy: Policy, rules: EngineRules | None = None) -> Simulation:
    """Run a workload to its end under any policy, calling it from Python.

    Parameters
    ----------
    problem
        The workload.
    policy
        Called with a `QueueView` at each event; returns decisions.
    rules
        Those of the policy (its attribute ``rules``) if left out, or `EngineRules()` if it has none.

    Raises
    ------
    IllegalDecision
        If the policy breaks a rule.
    """
    engine = Engine(problem, rules or getattr(policy, "rules", None))
    while (view := engine.advance()) is not None:
        engine.apply(policy(view))
    return Simulation(engine.result(), engine.log)


def simulate(
    problem: WorkloadProblem, policy: Policy | CompiledPolicy, rules: EngineRules | None = None
) -> WorkloadSchedule:
    """Return the schedule of a workload under a policy: compiled where it can be, else as `run_policy`.

    Parameters
    ----------
    problem
        The workload.
    policy
        A function from views to decisions, or one of `allocsolve.heuristics` such as ``Easy()``.
    rules
        Those of the policy if left out.

    Returns
    -------
    WorkloadSchedule
        Jobs that the policy did not start have no pieces. Jobs whose requests for nodes are never answered
        end at the last event, before their work is done; the judge reports this.

    Raises
    ------
    IllegalDecision
        If the policy breaks a rule.
    InvalidOption
        If a policy needs to know more than the rules allow.

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
    if isinstance(policy, CompiledPolicy):
        return policy.simulated(problem, rules).schedule
    return run_policy(problem, policy, rules).schedule
