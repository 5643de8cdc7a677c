"""Slurm's scheduling: the main scheduler at events, the backfill scheduler in passes at fixed intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from allocsolve.heuristics.workload._kernels_queue import ORDER_CODES, SLURM, Passes
from allocsolve.heuristics.workload.policies import QueueOrder, QueuePolicy, QueueSolver, queue_rule
from allocsolve.model.options import Within
from allocsolve.simulation.node_choice import NODE_CHOICES, NodeChoice


@dataclass(frozen=True, slots=True)
class SlurmBackfill(QueueSolver):
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
    choice
        As of `allocsolve.heuristics.workload.policies.Fcfs`.

    Notes
    -----
    Names, units, ranges and defaults are Slurm's. Passes take no time here, so that ``bf_continue``,
    ``bf_max_time`` and ``bf_yield_interval``, which say what happens in a long pass, have no meaning, and the
    main scheduler goes through the queue as far as it can (``default_queue_depth`` is not a limit). Slurm
    counts an interval from the end of a pass; here passes are at the multiples. Not modelled are preemption
    and the grouping of ends of running jobs (``bf_window_linear``). A moldable job runs on
    `allocsolve.model.Job.nodes` nodes. On a machine with counted resources or closed windows a job fits, and
    has a plan, in all that it needs, no job starts that would run for its limit into what is closed, and
    heads start also when windows begin or end.

    Where nodes are places, a planned job keeps the nodes on which it was planned until the pass ends: of
    those with room from its start to its limit, the ones on which least of it would fit now, the first by id
    among equals. Slurm plans by its node rule instead. As plans keep their nodes, a job may have to start
    later than where nodes are counted, also if all jobs hold whole nodes.

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
    choice: NodeChoice = NODE_CHOICES[0]

    @property
    def queue_policy(self) -> QueuePolicy:
        """What the loop of events takes."""
        passes = Passes(
            float(self.bf_interval), 60.0 * self.bf_window, float(self.bf_resolution), self.bf_max_job_test
        )
        rule = queue_rule(SLURM, order=ORDER_CODES[self.order])._replace(passes=passes)
        return QueuePolicy(rule, choice=self.choice)
