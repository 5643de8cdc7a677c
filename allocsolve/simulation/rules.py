"""The rules of a simulation: when a policy is called, what it may know, and when jobs are killed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from allocsolve.errors import UnsupportedProblem
from allocsolve.model.job_kinds import EVOLVING
from allocsolve.model.options import Options
from allocsolve.simulation.node_choice import NodeChoice

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem

#: What a policy may know of run times: what users said, or the truth.
Knowledge: TypeAlias = Literal["estimate", "actual"]

#: What a policy may know of the profiles of jobs: nothing, the present and the next step, or all steps.
ProfileKnowledge: TypeAlias = Literal["none", "next", "all"]

#: When running malleable jobs change their sizes after a decision.
ResizeEffect: TypeAlias = Literal["next_point", "at_once"]


@dataclass(frozen=True, slots=True)
class EngineRules(Options):
    """When a policy is called, what it may know, and whether jobs are killed at their limits.

    Parameters
    ----------
    coalesce
        Whether a policy is called once an instant, after all completions and submissions at it; else once an
        event: completions first, then submissions, each by job.
    knowledge
        ``estimate``: the policy sees what users said of run times, and run times of completed jobs;
        ``actual``: it sees all run times of submitted jobs.

    resize_takes_effect
        ``next_point``: a running malleable job changes its size at the next point of its work, strictly after
        the decision; one without points (`Job.points` 0) at once. ``at_once`` says that all jobs do so:
        workloads whose jobs have points are refused.

    profile_knowledge
        What `QueueView.profile` shows of jobs with an `allocsolve.model.Profile`: ``none`` of the steps; with
        ``next``, the present step (or the one for which the job waits) and the one after it; with ``all``,
        all steps that are left.
    kill_at_limit
        Whether a job ends at its limit if its work is not done by then; one without a limit is not killed.
        The schedule is an answer to the workload that `allocsolve.model.WorkloadProblem.cut_at_limits`
        returns: there the judge accepts it, as one of the given workload it is refused.
    choice
        On which nodes a job starts, where nodes are places and the policy does not say it.
    """

    coalesce: bool = True
    knowledge: Knowledge = "estimate"
    resize_takes_effect: ResizeEffect = "next_point"
    profile_knowledge: ProfileKnowledge = "none"
    kill_at_limit: bool = False
    choice: NodeChoice = "first"

    def applied(self, problem: WorkloadProblem) -> WorkloadProblem:
        """Return the workload that runs under these rules: with `kill_at_limit`, run times end at limits.

        `InvalidOption` if a job that is to be killed may change its size.
        """
        return problem.cut_at_limits() if self.kill_at_limit else problem

    def check(self, problem: WorkloadProblem, *, answers: bool = True) -> None:
        """Refuse a workload that does not allow what the rules say.

        `answers` says whether the policy that is to run answers requests: evolving jobs ask for nodes.
        `UnsupportedProblem` if it does not and a job asks, or if sizes are to change at once, but a job
        changes its size only at points.
        """
        evolves = problem.jobs.packed.kind == EVOLVING
        if not answers:
            why = "is evolving: it asks for nodes, and this policy does not answer requests"
            problem.jobs.refuse(evolves, why)
        if self.resize_takes_effect != "at_once":
            return
        # Work in one part has no point before its end: such a job never changes its size.
        pointed = problem.jobs.packed.points > 1
        if pointed.any():
            job = int(np.argmax(pointed))
            name, points = problem.jobs.names[job], problem.jobs.packed.points[job]
            msg = (
                f"resize_takes_effect='at_once': job {name!r} changes its size only between its {points} "
                "points; with points 0 a job may do so at any time"
            )
            raise UnsupportedProblem(msg)
