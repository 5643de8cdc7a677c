"""Slurm's scheduling: the main scheduler at events, the backfill scheduler in passes at fixed intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.heuristics.workload._kernels_slurm import Passes, decide_slurm, run_slurm
from allocsolve.heuristics.workload.policies import QueueOrder, order_code
from allocsolve.kernels.free_nodes import new_free_nodes
from allocsolve.model.options import Within
from allocsolve.simulation import EngineRules, Wake
from allocsolve.simulation.compiled import CompiledSolver
from allocsolve.simulation.kernels import (
    NOBODY,
    Continuation,
    Restart,
    initial_state,
    queue_state,
    start_of,
)
from allocsolve.simulation.outcome import Simulation, log_of, schedule_of

if TYPE_CHECKING:
    from allocsolve.kernels.free_nodes import FreeNodes
    from allocsolve.model import WorkloadProblem
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.columns import FloatArray
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
    are not alike, nodes by name, partitions, preemption, and the grouping of ends of running jobs
    (``bf_window_linear``). A moldable job runs on `allocsolve.model.Job.nodes` nodes.

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
        rules.check(problem, answers=False)
        problem = rules.applied(problem)
        packed = problem.packed
        state = initial_state(problem.num_nodes, packed.submit, ordered=True)
        run_slurm(packed, state, *self._given(problem.num_nodes, len(packed.submit)), NOBODY)
        return Simulation(schedule_of(state), log_of(state))

    def starts_from(
        self, problem: WorkloadProblem, running: IntArray, now: float, runtimes: FloatArray
    ) -> FloatArray | None:
        """Return the start of each job in each scenario, see `allocsolve.simulation.forecast.Continuing`.

        None on a machine with counted resources or closed windows.
        """
        if not problem.is_plain:
            return None
        then, packed, begun = Continuation.of(problem, running, now), problem.packed, np.empty(runtimes.shape)
        state = then.state(problem, ordered=True)
        given = self._given(problem.num_nodes, len(packed.submit))
        restart = Restart(state[:2], given)
        for row, runtime in enumerate(runtimes):
            restart()
            run_slurm(packed._replace(runtime=runtime), state, *given, then.started)
            begun[row] = state.job["start"]
        return begun

    def decide(self, view: QueueView) -> tuple[Decision, ...]:
        """Return the jobs that start now, and when the next pass is, if one is needed."""
        jobs, state, running, begun, listed = queue_state(view)
        wake = decide_slurm(jobs, state, *self._given(view.num_nodes, len(listed)), running, begun)
        chosen = state.started[len(running) : state.engine["started"]].tolist()
        starts = [start_of(state, job, listed) for job in chosen]
        return (*starts, Wake(wake)) if wake < math.inf else tuple(starts)

    def _given(self, num_nodes: int, num_jobs: int) -> tuple[Passes, FloatArray, FreeNodes]:
        """Return the options for kernels, and room for scores and plans: three steps a job at most."""
        order = order_code(self.order)
        passes = Passes(
            float(self.bf_interval),
            60.0 * self.bf_window,
            float(self.bf_resolution),
            self.bf_max_job_test,
            order,
        )
        return passes, np.empty(num_jobs if order else 0), new_free_nodes(num_nodes, 2 * num_jobs)
