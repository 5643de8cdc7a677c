"""Slurm's scheduling: the main scheduler at events, the backfill scheduler in passes at fixed intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.heuristics.workload._kernels_reservations import RESERVING
from allocsolve.heuristics.workload._kernels_slurm import Passes, decide_slurm, run_slurm
from allocsolve.heuristics.workload.policies import (
    NO_USERS,
    QueueOrder,
    estimates_of,
    order_code,
    queue_rule,
)
from allocsolve.heuristics.workload.resources import check_machine, given_to_kernels, held_now
from allocsolve.kernels.free_nodes import new_free_nodes
from allocsolve.model.arrays import frozen
from allocsolve.model.job_kinds import ALL_SIZES
from allocsolve.model.options import Within
from allocsolve.model.speedup import NO_SPEEDUP
from allocsolve.simulation import EngineRules, Wake
from allocsolve.simulation.compiled import CompiledSolver
from allocsolve.simulation.kernels import NOBODY, Continuation, Restart, queue_state, start_of
from allocsolve.simulation.outcome import Simulation, log_of, schedule_of

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_queue import Estimates, QueueRule
    from allocsolve.model import WorkloadProblem
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.jobs import FloatArray, PackedJobs
    from allocsolve.simulation import Decision, QueueView


@dataclass(frozen=True, slots=True)
class SlurmBackfill(CompiledSolver):
    """Slurm with sched/backfill: heads start at events, all others in passes at fixed intervals.

    The *main scheduler* runs whenever a job ends or is submitted, and before each pass: the head of the queue
    starts while it fits. The *backfill scheduler* makes a pass at each multiple of `bf_interval`. In it jobs
    are gone through in the order of the queue. A job starts if it fits and can run for its limit beside the
    running jobs and the plans of the jobs before it; otherwise it is planned at its earliest start. The next
    pass plans anew.

    A running job holds its nodes until its limit; one that has run longer is expected to end now. A planned
    job is entered in steps of `bf_resolution`, from the step in which it starts to the one in which it ends.
    A later job has to end *before* the step in which the planned one starts, or leave it enough nodes; nodes
    are counted, and the planned job takes those that become free in that step before idle ones. What lies
    beyond the window is not planned: a job that could start there only has no plan, and plans end there.

    Parameters
    ----------
    bf_interval
        Seconds from pass to pass.
    bf_window
        Minutes that a pass looks ahead.
    bf_resolution
        Seconds of a step of the plan.
    bf_max_job_test
        How many jobs from the head on are gone through in a pass.
    order
        The priority of jobs; see `allocsolve.heuristics.workload.policies.QueueOrder`.

    Notes
    -----
    Names, units, ranges and defaults are Slurm's. Passes take no time here, so that ``bf_continue``,
    ``bf_max_time`` and ``bf_yield_interval``, which say what happens in a long pass, have no meaning, and the
    main scheduler goes through the queue as far as it can (``default_queue_depth`` is not a limit). Slurm
    counts an interval from the end of a pass; here passes are at the multiples. Not modelled are nodes that
    are not alike, nodes by name, preemption, and the grouping of ends of running jobs
    (``bf_window_linear``). A moldable job runs on `allocsolve.model.Job.nodes` nodes. On a machine with
    counted resources or closed windows a job fits, and has a plan, in all that it needs, no job starts that
    would run for its limit into what is closed, and heads start also when windows begin or end.

    *Guarantee*: feasible; the head does not wait while it fits. Where nobody runs longer than estimated, no
    pass delays a job that has a plan. *Complexity*: O(running jobs + tested jobs x steps of the plan) for
    each pass in which some job that is tested fits into the idle nodes; other passes are left out.

    References
    ----------
    SchedMD, "Slurm Workload Manager: Scheduling Configuration Guide" and slurm.conf(5),
    ``SchedulerParameters``; the source of sched/backfill in Slurm 26.11 for rounding and what ends in time.

    Examples
    --------
    >>> from allocsolve.model import Budget, Job, WorkloadProblem
    >>> problem = WorkloadProblem(4, [Job(0, 3, 100, 100), Job(1, 4, 10), Job(2, 1, 20, 25)])
    >>> SlurmBackfill()(problem, Budget()).answer.first_starts.tolist()
    [0.0, 100.0, 30.0]
    """

    bf_interval: Annotated[int, Within(1, 10_800)] = 30
    bf_window: Annotated[int, Within(1, 43_200)] = 1440
    bf_resolution: Annotated[int, Within(1, 3_600)] = 60
    bf_max_job_test: Annotated[int, Within(1, 1_000_000)] = 500
    order: QueueOrder = "submission"

    @property
    def rules(self) -> EngineRules:
        """The rules of a simulation under this policy, unless others are given."""
        return EngineRules()

    def simulated(self, problem: WorkloadProblem, rules: EngineRules | None = None) -> Simulation:
        """Run a workload to its end in the compiled loop, with the reasons of all starts.

        Raises
        ------
        InvalidOption
            If the rules say that the policy is called once an event, or do not fit the workload.
        """
        rules = rules or self.rules
        if not rules.coalesce:
            msg = "coalesce=False: Slurm's passes are made once an instant"
            raise InvalidOption(msg)
        problem = rules.applied(problem)
        packed = problem.jobs.packed
        check_machine(problem, packed.estimate)
        rules.check(problem, answers=False)
        given = given_to_kernels(problem, 2 * len(packed.submit))
        state = given.state(problem, None, ordered=True)
        run_slurm(_on_own_nodes(given.jobs), state, *self._given(packed), given.free, NOBODY, given.machine)
        return Simulation(schedule_of(state), log_of(state))

    def starts_from(
        self, problem: WorkloadProblem, running: IntArray, now: float, runtimes: FloatArray
    ) -> FloatArray | None:
        """Return the start of each job in each scenario, see `allocsolve.simulation.forecast.Continuing`."""
        then, packed = Continuation.of(problem, running, now), problem.jobs.packed
        given, begun = given_to_kernels(problem, 2 * len(packed.submit)), np.empty(runtimes.shape)
        state, jobs = given.state(problem, then, ordered=True), _on_own_nodes(given.jobs)
        restart = Restart(state[:2], held_now(given.machine))
        for row, runtime in enumerate(runtimes):
            restart()
            check_machine(problem, packed.estimate, runtime, running=then.started.jobs)
            timed = jobs._replace(runtime=runtime)
            run_slurm(timed, state, *self._given(packed), given.free, then.started, given.machine)
            begun[row] = state.job["start"]
        return begun

    def decide(self, view: QueueView) -> tuple[Decision, ...]:
        """Return the jobs that start now, and when the next pass is, if one is needed."""
        jobs, state, running, begun, listed = queue_state(view)
        free = new_free_nodes(view.num_nodes, 2 * len(listed))
        wake = decide_slurm(_on_own_nodes(jobs), state, *self._given(jobs), free, running, begun)
        chosen = state.started[len(running) : state.engine["started"]].tolist()
        starts = [start_of(state, job, listed) for job in chosen]
        return (*starts, Wake(wake)) if wake < math.inf else tuple(starts)

    def _given(self, jobs: PackedJobs) -> tuple[Estimates, QueueRule, Passes]:
        """Return the options for kernels."""
        passes = Passes(
            float(self.bf_interval), 60.0 * self.bf_window, float(self.bf_resolution), self.bf_max_job_test
        )
        rule = queue_rule(RESERVING, order=order_code(self.order))
        return estimates_of(jobs.estimate, jobs.estimate, jobs.estimate, NO_USERS), rule, passes


def _on_own_nodes(jobs: PackedJobs) -> PackedJobs:
    """Return jobs that run on their own numbers of nodes only."""
    law, sizes = (frozen(np.full_like(jobs.kind, code)) for code in (NO_SPEEDUP, ALL_SIZES))
    return jobs._replace(min_nodes=jobs.nodes, max_nodes=jobs.nodes, speedup=law, size_step=sizes)
