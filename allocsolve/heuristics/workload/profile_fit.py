"""Profile fit: jobs whose demand changes in steps are planned by those of their steps that are known."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.heuristics.workload import _kernels_profile_fit as kernels
from allocsolve.model import NOT_EVOLVING, PROFILE, WorkloadProblem, WorkloadSchedule, expand_ratio, frozen
from allocsolve.model.checks import instance
from allocsolve.model.profile import ExpandLimit, max_expanded_durations
from allocsolve.simulation import EngineRules, Log, ProfileKnowledge, Simulation
from allocsolve.simulation.compiled import CompiledSolver
from allocsolve.simulation.decisions import AT_HEAD, BACKFILLED

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class ProfileFit(CompiledSolver):
    """Plan every job when it is submitted, with the steps of its profile that are known by then.

    The plan says when each step of each job will begin. Jobs are put into it in the order of submission, each
    by the base fit of Klein & Perez: it completes as early as the jobs before it allow, and a step may hold
    its nodes until the next one, which needs more, has them. For what is not known of a job its most nodes
    are reserved, for the time that is left of its run time.

    `InvalidOption` when called, if a job evolves in another way than by a profile.

    Parameters
    ----------
    knowledge
        What is known of a profile, see `allocsolve.simulation.EngineRules`. ``all``: all steps, the plan
        is carried out as it was made. ``next``: the present step and the next one; whenever a step ends,
        jobs that go on are planned again with what is known now, then, in the order of submission, all jobs
        that have not ended: none ever gets later. ``none``: nothing but the most nodes, which are
        reserved from start to end. The run time of a job is known in any case.
    expand_limit
        How many times its duration a step may hold its nodes, 1 (it never waits) to infinity; the limit of
        the profile holds as well. With ``next`` knowledge steps wait only if there is no limit, as how long
        the next one will have to wait is not known.
    compacting
        Start as late as the planned completion allows, so that less is held while waiting.

    Notes
    -----
    Jobs without a profile are of one step, on `allocsolve.model.Job.nodes` nodes; malleable ones keep them.

    *Guarantee*: feasible and never at a standstill; no job completes after the completion that was planned
    when it was submitted. With ``all`` the schedule is that of `allocsolve.heuristics.ListScheduling` in
    the order of submission, without a limit or with limit 1, and not compacted (other limits differ: here a
    job gives nodes back as soon as it does not need them); with ``none`` that of
    `allocsolve.heuristics.Rigid`. *Complexity*: O(steps x segments of the plan); with ``next`` O(jobs in the
    plan x its segments) for every step.
    *Reference*: Klein & Perez, "Towards scheduling evolving applications", 2011, Algorithm 2, for the fit.

    Examples
    --------
    >>> from allocsolve.model import Budget, Job, Profile, WorkloadProblem
    >>> grows = Profile([(10, 1), (10, 3)])
    >>> problem = WorkloadProblem(
    ...     4, [Job(0, 3, 15), Job(0, 1, 20, min_nodes=1, max_nodes=3, evolution=grows), Job(1, 2, 5)]
    ... )
    >>> for knowledge in "all", "none":
    ...     schedule = ProfileFit(knowledge)(problem, Budget()).answer
    ...     print([schedule.pieces(job) for job in (1, 2)])
    [((5.0, 15.0, 1), (15.0, 25.0, 3)), ((25.0, 30.0, 2),)]
    [((15.0, 25.0, 1), (25.0, 35.0, 3)), ((35.0, 40.0, 2),)]
    """

    knowledge: ProfileKnowledge = "all"
    expand_limit: ExpandLimit = math.inf
    compacting: bool = False

    @property
    def rules(self) -> EngineRules:
        """The rules of a simulation under this policy: they say what it knows."""
        return EngineRules(knowledge="actual", profile_knowledge=self.knowledge)

    def simulated(self, problem: WorkloadProblem, rules: EngineRules | None = None) -> Simulation:
        """Run a workload to its end in the compiled loop of this policy, with the reasons of all starts.

        `InvalidOption` if rules are given that differ from those of the policy in more than `kill_at_limit`;
        `UnsupportedProblem` if a job evolves without a profile.
        """
        if rules is not None:
            problem = rules.applied(problem)
        if rules not in {None, self.rules, dataclasses.replace(self.rules, kill_at_limit=True)}:
            raise InvalidOption(f"profile fit has the rules {self.rules}, not {rules}")
        steps = _job_steps(instance("problem", problem, WorkloadProblem), self.expand_limit)
        order = frozen(np.argsort(problem.packed.submit, kind="stable"))
        starts = self._step_starts(order, steps, problem.num_nodes)
        ends = np.append(starts[1:], 0.0)[: len(starts)]
        last = steps.offsets[1:] - 1
        ends[last] = starts[last] + steps.seconds[last]
        schedule = WorkloadSchedule(steps.offsets, starts, ends, steps.nodes)
        return Simulation(schedule, _log(order, schedule.first_starts))

    def _step_starts(self, order: IntArray, steps: kernels.JobSteps, num_nodes: int) -> FloatArray:
        """Return the start of each step, in seconds; jobs are planned in this order."""
        jobs, starts = len(order), np.zeros(len(steps.seconds))
        lengths = np.diff(steps.offsets)
        if self.knowledge == "next":
            state = (
                kernels.new_plan(32 * jobs),
                kernels.no_reservations(jobs),
                kernels.new_room(kernels.ROWS),
                np.zeros_like(order),
            )
            kernels.place_known_steps(order, steps, num_nodes, self.compacting, *state, starts)
        elif self.knowledge == "all":
            plan, room = kernels.new_plan(2 * len(starts)), kernels.new_room(lengths.max(initial=1))
            kernels.place_jobs(order, steps, num_nodes, self.compacting, plan, room, starts)
        else:
            begins, plan = np.zeros(jobs), kernels.new_plan(2 * jobs)
            kernels.place_jobs(
                order, _in_one_step(steps), num_nodes, self.compacting, plan, kernels.new_room(1), begins
            )
            starts = np.repeat(steps.runtime, lengths) - (steps.after + steps.seconds)
            starts += np.repeat(begins, lengths)
        return starts


def _job_steps(problem: WorkloadProblem, expand_limit: float) -> kernels.JobSteps:
    """Return the steps of all jobs, which have profiles or one step."""
    packed, plan = problem.packed, problem.jobs.evolving
    profiled = plan.reading == PROFILE
    other = ~profiled & (plan.reading != NOT_EVOLVING)
    problem.jobs.refuse(other, "evolves without a profile: profile fit does not answer its requests")
    lengths = np.where(profiled, np.diff(plan.offsets), 1)
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    seconds, nodes = np.repeat(packed.runtime, lengths), np.repeat(packed.nodes, lengths)
    of_profiles = np.repeat(profiled, lengths)
    seconds[of_profiles], nodes[of_profiles] = plan.amounts, plan.nodes
    # Sums of whole seconds are exact.
    done, last = np.cumsum(np.where(of_profiles, seconds, 0)), offsets[1:] - 1
    limits = np.minimum(plan.expand_limit, expand_limit)
    longest = seconds.copy()
    # A job gives nodes back as soon as it can: only a step before one that needs more nodes may wait.
    waits = np.zeros(len(nodes), dtype=bool)
    waits[:-1] = nodes[1:] > nodes[:-1]
    waits[last] = False
    step_limits = np.repeat(limits, lengths)
    for limit in np.unique(step_limits[waits]).tolist():
        these = waits & (step_limits == limit)
        ratio = expand_ratio(limit)
        longest[these] = (
            np.inf if ratio is None else max_expanded_durations(seconds[these].astype(np.int64), ratio)
        )
    return kernels.JobSteps(
        submit=packed.submit,
        offsets=frozen(offsets),
        seconds=frozen(seconds),
        nodes=frozen(nodes),
        longest=frozen(longest),
        after=frozen(np.repeat(done[last], lengths) - done),
        runtime=packed.runtime,
        peak=frozen(np.maximum.reduceat(nodes, offsets[:-1]) if len(lengths) else nodes.copy()),
        patient=frozen(np.isinf(limits).astype(np.int64)),
    )


def _in_one_step(steps: kernels.JobSteps) -> kernels.JobSteps:
    """Return the jobs with a single step each, in which they hold their most nodes from start to end."""
    jobs = len(steps.submit)
    return steps._replace(
        offsets=frozen(np.arange(jobs + 1)),
        seconds=steps.runtime,
        nodes=steps.peak,
        longest=steps.runtime,
        after=frozen(np.zeros(jobs)),
    )


def _log(order: IntArray, starts: FloatArray) -> Log:
    """Return why jobs started: at the head of the queue, or before a job that was submitted earlier."""
    latest = np.maximum.accumulate(starts[order])
    first = np.searchsorted(latest, starts, side="right")
    blocked = np.full(len(order), -1)
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    passed = first < places
    blocked[passed] = order[first[passed]]
    reasons = np.where(blocked < 0, AT_HEAD, BACKFILLED).astype(np.int64)
    started = order[np.argsort(starts[order], kind="stable")]
    return Log(frozen(started), frozen(reasons), frozen(blocked))
