"""EvolvEasyBack: backfilling next to running jobs that ask for nodes and give them back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import numpy as np

from allocsolve.heuristics.workload._kernels_easyback import EasybackRule, initial_ticking, run_easyback
from allocsolve.model import PROFILE, frozen
from allocsolve.model.options import Within
from allocsolve.simulation import EngineRules, ProfileKnowledge
from allocsolve.simulation.compiled import ResizingSolver, run_to_end

if TYPE_CHECKING:
    from allocsolve.model import IntArray, WorkloadProblem
    from allocsolve.simulation.kernels import Resizing, State

#: When requests of running jobs are granted: before queued jobs start, or after.
RequestOrder: TypeAlias = Literal["first", "last"]


@dataclass(frozen=True, slots=True)
class EvolvEasyback(ResizingSolver):
    """EasyBackfilling for jobs that evolve, after Posner: running jobs that ask for nodes come first.

    A call grants requests in the order in which they were made, each in full or not yet; those that have to
    wait, for nodes or as their jobs cool down, keep their places, and later ones go ahead. Then, with what is
    left, jobs start in the order of the queue, each on as many nodes as are free and it can use. From the
    first one that cannot start on, its shadow time is when enough running jobs reach their limits, and later
    jobs start only if they reach theirs before it. What a job gives back is used in the next call.

    Parameters
    ----------
    cooldown
        So many seconds after a job was granted nodes or began to give some back, it is granted none.
    polling
        Seconds between two ticks of the clock, which ticks at the multiples of it.
    wake_up
        Whether the policy is called when a job ends, is submitted, asks for nodes or has given some back;
        the clock is then for jobs that have cooled down. Without that it is called at ticks only.
    requests
        Whether requests come ``first`` or ``last``, after queued jobs.
    start_counts
        Whether a job also cools down after its start.
    safe
        Whether jobs with a `allocsolve.model.Profile` get nodes, and start, only if afterwards all running
        jobs could still end one after another, each with the most nodes that it may need. Else such jobs can
        wait for each other for ever.
    knowledge
        Which nodes those are, see `allocsolve.simulation.EngineRules`. ``none``: the most of the profile.
        ``next``: these, but no more than it holds if the present step is the last one. ``all``: the most of
        the steps that are left. For how long steps last the policy does not ask; while anybody waits it looks
        again at every tick, as nothing tells it that a step has ended if the next one needs as many nodes.

    Notes
    -----
    As published, a job has to end before the shadow time, not at it, and there is no use of extra nodes; the
    limit of a job does not depend on the size on which it starts. **If all limits are equal nothing is ever
    backfilled**: a job that starts now does not reach its limit before one that started earlier. So in the
    published experiments, in which no job has a limit, EASY is first come, first served.

    A job with `allocsolve.model.Requests` is expected to run longer on fewer nodes, as in all other policies.
    A job with a profile that fits, but is not safe, has a reservation for its most nodes. Malleable jobs keep
    the size on which they start, as under all policies of the queue.

    *Complexity*: O(running jobs + queue + open requests) for each call, and that of `safe`: O(jobs with
    profiles that run) for each of their requests and starts, squared at worst.
    *Guarantee*: feasible, but where a profile has an `expand_limit`: the policy does not know it, and a step
    may be held for longer, which the judge refuses. With `safe` no workload comes to a standstill. Without
    it, there is no answer if jobs wait for each other for ever: `allocsolve.errors.Deadlock` says who waits
    for whom.
    *Reference*: Posner, "EvolvEasyBack", 2024. The cool-down is in its program only.

    Examples
    --------
    >>> from allocsolve.model import Budget, Job, Phases, WorkloadProblem
    >>> tree = Phases([(40, None)])
    >>> problem = WorkloadProblem(
    ...     4, [Job(0, 3, 10), Job(0, 1, 40, min_nodes=1, max_nodes=4, evolution=tree), Job(5, 1, 10)]
    ... )
    >>> schedule = EvolvEasyback(cooldown=0)(problem, Budget()).answer
    >>> [schedule.pieces(job) for job in (1, 2)]
    [((0.0, 10.0, 1), (10.0, 20.0, 3)), ((10.0, 20.0, 1),)]
    """

    cooldown: Annotated[float, Within(0)] = 60.0
    polling: Annotated[float, Within(0, above=True)] = 5.0
    wake_up: bool = True
    requests: RequestOrder = "first"
    start_counts: bool = False
    safe: bool = True
    knowledge: ProfileKnowledge = "none"

    @property
    def rules(self) -> EngineRules:
        """The rules of a simulation under this policy, unless others are given."""
        return EngineRules(profile_knowledge=self.knowledge)

    def run(self, problem: WorkloadProblem, rules: EngineRules) -> tuple[State, Resizing]:
        """Run a workload to its end; return the states of the engine."""
        rule = EasybackRule(
            float(self.cooldown),
            float(self.polling),
            self.wake_up,
            self.requests == "first",
            self.start_counts,
            self.safe,
            _claims(problem, self.knowledge),
            self.safe and self.knowledge != "none",
        )
        ticking = initial_ticking(len(problem.jobs))
        return run_to_end(
            problem,
            lambda jobs, state, resizing: run_easyback(jobs, state, resizing, rule, ticking, rules.coalesce),
            ordered=True,
        )


def _claims(problem: WorkloadProblem, knowledge: ProfileKnowledge) -> IntArray:
    """Return the most nodes that jobs with profiles may need from each step on, by what the policy knows."""
    plan = problem.jobs.evolving
    claims = np.repeat(problem.packed.max_nodes, np.diff(plan.offsets))
    for job in np.flatnonzero(plan.reading == PROFILE).tolist() if knowledge != "none" else ():
        first, last = plan.offsets[job], plan.offsets[job + 1]
        if knowledge == "next":
            first = last - 1
        claims[first:last] = np.maximum.accumulate(plan.nodes[first:last][::-1])[::-1]
    return frozen(claims)
