"""Queue policies in both drivers: a whole workload in the compiled loop, and one call on a view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.heuristics.workload._kernels_queue import (
    EASY,
    FIRST_FIT,
    HPCOPT,
    RAPS,
    Estimates,
    QueueRule,
    decide,
    nothing_blocked,
    run,
)
from allocsolve.simulation import EngineRules
from allocsolve.simulation.columns import user_numbers
from allocsolve.simulation.kernels import (
    initial_state,
    packed_jobs,
    renumbered,
    start_of,
    state_of_view,
)
from allocsolve.simulation.outcome import Simulation, log_of, schedule_of

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.jobs import FloatArray
    from allocsolve.simulation import QueueView
    from allocsolve.simulation.decisions import Start

__all__ = ["EstimateSource", "QueuePolicy", "decide_view", "run_queue"]

#: Where a policy takes run times from, see `Easy`.
EstimateSource: TypeAlias = Literal["limit", "actual", "user-average"]

#: No limit on the number of jobs that are looked at.
ALL_JOBS: Final = 2**62

#: Policies that ask when running jobs are expected to end.
_RESERVING: Final = frozenset({EASY, HPCOPT, RAPS})


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """What a policy does, which run times it takes for running jobs and jobs that wait, when it is called."""

    rule: QueueRule
    running: EstimateSource = "limit"
    queued: EstimateSource = "limit"
    coalesce: bool = True

    @property
    def rules(self) -> EngineRules:
        """The rules of a simulation that has this policy, if nobody says otherwise."""
        return EngineRules(self.coalesce, "actual" if "actual" in {self.running, self.queued} else "estimate")

    def check(self, rules: EngineRules) -> None:
        """Refuse rules that hide what the policy needs."""
        if rules.knowledge != "actual" and "actual" in {self.running, self.queued}:
            msg = f"knowledge {rules.knowledge!r} hides actual run times, which the policy needs"
            raise InvalidOption(msg)


def run_queue(problem: WorkloadProblem, policy: QueuePolicy, rules: EngineRules) -> Simulation:
    """Run a workload to its end under a policy."""
    policy.check(rules)
    rules.check(problem, answers=False)
    packed = problem.packed
    sources = {"limit": packed.estimate, "actual": packed.runtime, "user-average": packed.estimate}
    learning = policy.rule.learning
    users = user_numbers(problem) if learning else np.empty(0, dtype=np.int64)
    estimates = _estimates(
        packed.estimate, sources[policy.running], sources[policy.queued], users, scored=policy.rule.order != 0
    )
    state = initial_state(problem.num_nodes, packed.submit, ordered=policy.rule.kind in _RESERVING)
    # A job that starts by one estimate and runs by another one may move the shadow time for those behind it.
    lasting = policy.running == policy.queued and _looks_at_all(policy.rule)
    memory = nothing_blocked(usable=problem.is_rigid and lasting)
    run(packed, state, estimates, policy.rule, memory, rules.coalesce)
    return Simulation(schedule_of(state), log_of(state))


def decide_view(view: QueueView, policy: QueuePolicy) -> tuple[Start, ...]:
    """Return what a policy decides on a view. O(running^2 + queue) at worst, and the cost of the policy.

    A policy that learns from users looks at all jobs that have ended, too.
    """
    shown = view
    view, listed = renumbered(shown)
    jobs, running = view.jobs, view.running
    running = running[np.lexsort((running, jobs.start[running]))]
    sources = {"limit": jobs.estimate, "actual": jobs.runtime}
    if "actual" in {policy.running, policy.queued} and np.isnan(jobs.runtime).any():
        msg = "the view hides actual run times, which the policy needs"
        raise InvalidOption(msg)
    if policy.rule.learning:
        sources["user-average"] = _learned(shown, listed)
    estimates = _estimates(
        jobs.estimate,
        sources[policy.running],
        sources[policy.queued],
        np.empty(0, dtype=np.int64),
        scored=policy.rule.order != 0,
    )
    state = state_of_view(view, resizable=False)
    memory = nothing_blocked(usable=False)
    decide(packed_jobs(jobs), state, estimates, policy.rule, memory, running, jobs.start[running])
    chosen = state.started[len(running) : state.engine["started"]].tolist()
    return tuple(start_of(state, job, listed) for job in chosen)


def _looks_at_all(rule: QueueRule) -> bool:
    """Return whether new jobs come last, and those that may not start now may not before the next end."""
    plain = rule.kind == FIRST_FIT or (rule.kind == EASY and not rule.strict)
    return plain and rule.order == 0 and rule.scan_limit == ALL_JOBS


def _estimates(
    limit: FloatArray, running: FloatArray, queued: FloatArray, users: IntArray, *, scored: bool
) -> Estimates:
    return Estimates(
        limit=limit,
        running=running.copy(),
        queued=queued.copy(),
        scores=np.empty(len(limit) if scored else 0),
        user=users,
        last_runs=np.full((int(users.max(initial=-1)) + 1, 2), np.nan),
    )


def _learned(view: QueueView, wanted: IntArray) -> FloatArray:
    """Return estimates of these jobs as `learn` makes them at their submission. O(jobs log jobs)."""
    jobs = view.jobs
    learned = jobs.estimate[wanted]
    completed = np.flatnonzero(jobs.end <= view.now)
    completed = completed[np.lexsort((completed, jobs.end[completed]))]
    for place, job in enumerate(wanted.tolist()):
        mine = completed[(jobs.user[completed] == jobs.user[job]) & (jobs.end[completed] <= jobs.submit[job])]
        runs = (jobs.end[mine[-2:]] - jobs.start[mine[-2:]]).tolist()
        if runs and jobs.user[job] >= 0:
            learned[place] = min(learned[place], sum(reversed(runs)) / len(runs))
    return learned
