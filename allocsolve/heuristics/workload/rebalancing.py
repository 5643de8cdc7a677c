"""Policies that give each running job the size that pays at the clearing price of a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from allocsolve.errors import UnsupportedProblem
from allocsolve.heuristics.workload import _kernels_rebalancing as kernels
from allocsolve.heuristics.workload._kernels_clearing import price_takers
from allocsolve.heuristics.workload._kernels_queue import ORDER_CODES
from allocsolve.heuristics.workload.policies import QueueOrder
from allocsolve.model import MALLEABLE, PROFILE
from allocsolve.model.options import Within
from allocsolve.simulation import Answer, EngineRules, Resize
from allocsolve.simulation.compiled import CompiledSolver, run_to_end, simulation_of
from allocsolve.simulation.kernels import packed_jobs, renumbered, resizing_of_view, start_of, state_of_view

if TYPE_CHECKING:
    from allocsolve.heuristics.workload.malleable import ResizeDecision
    from allocsolve.model import Clock, FloatArray, PackedJobs, WorkloadProblem
    from allocsolve.simulation import QueueView, Simulation
    from allocsolve.simulation.kernels import Resizing, State

#: The end of the message for workloads that the policy does not support.
_NO_PROFILES = "has a profile: static-price knows no price of nodes that a job has to wait for"

#: Calls of the policy between two checks of the clock, and for Ctrl-C: a tenth of a second if a thousand jobs
#: run.
_CALLS = 4_000


@dataclass(frozen=True, slots=True)
class StaticPrice(CompiledSolver):
    """Every running job has the size that is worthwhile at the price at which all nodes are in demand.

    At a price l of a node a job wants the size on which a unit of its work costs least, its time and l times
    its node-seconds: with Amdahl's law and the parallel share p that is ``sqrt(p / (l (1 - p)))`` nodes,
    within its limits. At every call the price is set such that running jobs and those that may start want as
    many nodes as there are. Those may start that would fit in the order of the queue if all malleable jobs
    shrank as far as they can: first fit. The policy knows speedups and limits of sizes; it knows no run
    times, and asks for no estimates unless the order of the queue does.

    Evolving jobs choose the size on which they start like malleable ones, and cannot be shrunk. A request for
    more nodes is granted if at the clearing price a unit of the work costs less on them: jobs that start come
    first, then requests, the one that pays at the highest price before others, in full or not yet; a
    request that is not granted stays open. Where more nodes do as much more, as in jobs with phases, the jobs
    with the fewest nodes come first. Jobs with a `allocsolve.model.Profile` are refused.

    `InvalidOption, UnknownName` if an option is not as said; when called, `UnsupportedProblem` if a job has a
    profile.

    Parameters
    ----------
    hysteresis
        A running job keeps its size while what it wants is no more than this share above or below, unless
        waiting jobs lack nodes: each change may cost a job time. 0: it always follows the price. Where a
        change stalls the job, it keeps its size, too, if the stall takes longer than the change would save,
        or cost, in a third of the time for which it has run.
    order
        Which queued job comes first; see `allocsolve.heuristics.workload.policies.QueueOrder`.

    Notes
    -----
    Nodes that a job gives up at a later point of its work are free from then on; nobody is promised them, but
    running jobs do not grow into what queued jobs lack until then.

    *Complexity*: O(running jobs + queue) for each of ten or twenty looks at a price in each call, and for
    each open request that might be granted.
    *Guarantee*: feasible; on rigid jobs the schedule of first fit in the order of the queue.

    Examples
    --------
    >>> from allocsolve.model import Amdahl, Budget, Job, WorkloadProblem
    >>> job = {"min_nodes": 1, "max_nodes": 6, "speedup": Amdahl(0.9), "kind": "malleable"}
    >>> problem = WorkloadProblem(6, [Job(0, 2, 110, **job), Job(40, 2, 110, **job)])
    >>> [[piece[2] for piece in StaticPrice()(problem, Budget()).answer.pieces(idx)] for idx in range(2)]
    [[6, 3], [3, 6]]
    """

    hysteresis: Annotated[float, Within(0)] = 0.25
    order: QueueOrder = "submission"

    @property
    def _rule(self) -> kernels.RebalancingRule:
        return kernels.RebalancingRule(float(self.hysteresis), ORDER_CODES[self.order])

    def simulated(
        self, problem: WorkloadProblem, rules: EngineRules | None = None, clock: Clock | None = None
    ) -> Simulation:
        """Run a workload to its end in the compiled loop, with the reasons of all starts.

        `UnsupportedProblem` if a job has a `allocsolve.model.Profile`; `InvalidOption` if the rules do not
        fit the workload; `TimeoutError` if the time of the clock ends before the run does.
        """
        problem.jobs.refuse(problem.jobs.evolving.reading == PROFILE, _NO_PROFILES)
        rules = rules or self.rules
        rules.check(problem)
        problem = rules.applied(problem)
        auction = kernels.initial_auction(price_takers(problem.packed))
        return run_auctions(problem, auction, self._rule, rules, clock=clock)

    def decide(self, view: QueueView) -> tuple[ResizeDecision | Answer, ...]:
        """Return the decisions on a view; this method is a policy for `allocsolve.simulation.run_policy`."""
        profiles = view.queue[view.jobs.reading[view.queue] == PROFILE]
        if len(profiles):
            raise UnsupportedProblem(f"job {int(profiles[0])} {_NO_PROFILES}")
        view, listed = renumbered(view)
        packed, state, resizing = (
            packed_jobs(view.jobs),
            state_of_view(view, resizable=True),
            resizing_of_view(view),
        )
        state.engine["submitted"] = len(view.queue)  # so that the whole queue is sorted
        auction = kernels.initial_auction(price_takers(packed))
        running = view.running[packed.kind[view.running] == MALLEABLE]
        before, targets = resizing.job["target"][running], resizing.job["target"]
        kernels.decide_rebalancing(
            packed, state, resizing, auction, self._rule, view.running, view.expected_ends
        )
        changed = [
            (job, after, after > held)
            for job, held, after in zip(
                listed[running].tolist(), before.tolist(), targets[running].tolist(), strict=True
            )
            if after != held
        ]
        starts = state.started[len(view.running) : state.engine["started"]].tolist()
        granted = view.requests[resizing.job["request"][view.requests] == 0]
        return (
            *(Resize(job, size) for job, size, grows in changed if not grows),
            *(start_of(state, job, listed) for job in starts),
            *(Answer(job) for job in listed[granted].tolist()),
            *(Resize(job, size) for job, size, grows in changed if grows),
        )


def run_auctions(
    problem: WorkloadProblem,
    auction: kernels.Auction,
    rule: kernels.RebalancingRule,
    rules: EngineRules,
    estimate: FloatArray | None = None,
    clock: Clock | None = None,
) -> Simulation:
    """Run a workload, which the rules and the policy admit, to its end.

    The auction is the result of `initial_auction`. The queue is sorted by the run times `estimate`, shape
    (jobs,), in seconds; by the estimates of users if left out. `TimeoutError` if the time of the clock ends
    before the run does.
    """

    def run(jobs: PackedJobs, state: State, resizing: Resizing) -> bool:
        stopped = kernels.CALLS_MADE
        while stopped == kernels.CALLS_MADE:
            stopped = kernels.run_rebalancing(jobs, state, resizing, auction, rule, rules.coalesce, _CALLS)
            if stopped != kernels.COMPLETE and clock is not None and clock.remaining == 0:
                raise TimeoutError
        return stopped == kernels.COMPLETE

    return simulation_of(run_to_end(problem, run, ordered=None, estimate=estimate))
