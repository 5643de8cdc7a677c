"""Published policies that shrink running jobs for waiting ones and expand them into free nodes.

The module holds the four policies, the run of a whole workload and the decision on a view; what differs
between the policies is their `MalleableRule`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from allocsolve.heuristics.workload import _kernels_malleable as kernels
from allocsolve.heuristics.workload._kernels_queue import (
    FIRST_FIT,
    MIN_SIZE,
    PREFERRED_SIZE,
    nothing_blocked,
)
from allocsolve.heuristics.workload.policies import initial_estimates, queue_rule
from allocsolve.simulation import EngineRules, Promise, Resize, Start
from allocsolve.simulation.compiled import ResizingSolver, run_to_end
from allocsolve.simulation.kernels import packed_jobs, renumbered, resizing_of_view, start_of, state_of_view

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import IntArray, WorkloadProblem
    from allocsolve.simulation import EngineRules, QueueView
    from allocsolve.simulation.kernels import Resizing, State

#: A decision of a policy that resizes jobs.
ResizeDecision: TypeAlias = Start | Resize | Promise


def _rule(
    measure: int,
    start_size: int = MIN_SIZE,
    *,
    needs_preferred: bool = False,
    keeps_preferred: bool = False,
    relaxes: bool = False,
) -> kernels.MalleableRule:
    queue = queue_rule(FIRST_FIT)._replace(moldable=start_size)
    return kernels.MalleableRule(queue, measure, needs_preferred, keeps_preferred, relaxes)


@dataclass(frozen=True, slots=True)
class _Malleable(ResizingSolver):
    """The base of the four policies; each of them adds its rule, see `MalleableMin`."""

    #: What the loop of events takes.
    malleable_rule: ClassVar[kernels.MalleableRule]
    answers = False

    def decide(self, view: QueueView) -> tuple[ResizeDecision, ...]:
        """Return the decisions on a view; this method is a policy for `allocsolve.simulation.run_policy`."""
        return decide_resizes(view, self.malleable_rule)

    def run(self, problem: WorkloadProblem, rules: EngineRules) -> tuple[State, Resizing]:
        """Run a workload to its end; return the states of the engine."""
        scratch = kernels.initial_scratch(len(problem.jobs), room=0)
        estimates, memory = (
            initial_estimates(problem.packed.estimate),
            nothing_blocked(usable=False),
        )
        fixed = estimates, scratch, self.malleable_rule, memory, rules.coalesce
        return run_to_end(
            problem,
            lambda jobs, state, resizing: kernels.run_malleable(jobs, state, resizing, *fixed),
            ordered=False,
        )


@dataclass(frozen=True, slots=True)
class MalleableMin(_Malleable):
    """Jobs start on their fewest nodes; the largest surplus above them is given up first.

    At every call: queued jobs start by backfilling, each on its fewest nodes. For each job that still waits,
    in the order of the queue, running malleable jobs shrink if together they can give up what it needs, its
    fewest nodes: first the one that has the most nodes above its fewest, as far as needed and possible; then
    the job is promised these nodes. What is free after that goes to running malleable jobs, first to the one
    that has the fewest nodes above its fewest ones, as many as it takes. Of equal ones the first submitted
    (by index) comes first. Rigid jobs start and wait as others do; moldable ones choose at their start only.

    Notes
    -----
    *Complexity*: O(running jobs) for each call and for each job that changes its size. *Guarantee*: feasible;
    without malleable jobs the schedule of first fit, or of EASY, with `moldable` ``min``.
    *References*: Zojer, Posner & Oezden, MalleableJobScheduling, 2023; Zojer 2025. Where they leave a step
    open, the defaults are those under which the published mean turnaround of Cori KNL comes out (1,695 s).

    Examples
    --------
    >>> from allocsolve.model import Amdahl, Budget, Job, WorkloadProblem
    >>> job = {"min_nodes": 1, "max_nodes": 4, "speedup": Amdahl(1), "kind": "malleable", "points": 10}
    >>> problem = WorkloadProblem(4, [Job(0, 2, 100, **job), Job(52, 2, 100, **job)])
    >>> schedule = MalleableMin()(problem, Budget()).answer
    >>> [(start, nodes) for start, _, nodes in schedule.pieces(0)], schedule.first_starts.tolist()
    ([(0.0, 1), (20.0, 4), (55.0, 3)], [0.0, 55.0])
    """

    malleable_rule = _rule(kernels.ABOVE_MIN)


@dataclass(frozen=True, slots=True)
class MalleableAverage(_Malleable):
    """Jobs start on their fewest nodes; running ones shrink and grow together, by the share of their range.

    As `MalleableMin`, but nodes are given up one by one, always by the job that is highest in its range, and
    taken one by one, always by the job that is lowest.

    Notes
    -----
    *Complexity*: O(running jobs) for each call, O(log running jobs) for each node that moves.
    *Guarantee*: as of `MalleableMin`. *References*: as of `MalleableMin`.

    Examples
    --------
    >>> from allocsolve.model import Amdahl, Budget, Job, WorkloadProblem
    >>> job = {"min_nodes": 1, "max_nodes": 4, "speedup": Amdahl(1), "kind": "malleable", "points": 10}
    >>> problem = WorkloadProblem(6, [Job(0, 2, 100, **job), Job(0, 2, 100, **job)])
    >>> [piece[2] for piece in MalleableAverage()(problem, Budget()).answer.pieces(0)]
    [1, 3]
    """

    malleable_rule = _rule(kernels.SHARE_ABOVE_MIN)


@dataclass(frozen=True, slots=True)
class MalleablePref(_Malleable):
    """Jobs start on their preferred nodes, or fewer; those that have most above them give up nodes first.

    As `MalleableMin`, but a job starts on as many nodes as are free, its preferred ones at most. For a
    waiting job running jobs give up its preferred nodes and keep their own preferred ones; if they cannot,
    its fewest nodes; if they still cannot, they give up all but their own fewest. First come those with the
    most nodes above their preferred ones. Jobs grow to their preferred nodes before others grow beyond them.

    Notes
    -----
    *Complexity*: as of `MalleableMin`. *Guarantee*: feasible; on rigid jobs that of first fit, or of EASY.
    *References*: as of `MalleableMin`.

    Examples
    --------
    >>> from allocsolve.model import Amdahl, Budget, Job, WorkloadProblem
    >>> job = {"min_nodes": 1, "max_nodes": 4, "speedup": Amdahl(1), "kind": "malleable", "points": 10}
    >>> problem = WorkloadProblem(4, [Job(0, 2, 100, **job), Job(60, 2, 100, **job)])
    >>> [piece[2] for piece in MalleablePref()(problem, Budget()).answer.pieces(1)]
    [2, 4]
    """

    malleable_rule = _rule(
        kernels.ABOVE_PREFERRED, PREFERRED_SIZE, needs_preferred=True, keeps_preferred=True, relaxes=True
    )


@dataclass(frozen=True, slots=True)
class MalleablePrefkeeper(_Malleable):
    """As `MalleablePref`, but no running job ever gives up its preferred nodes.

    A job starts on as many nodes as are free, its preferred ones at most. For a waiting job running jobs give
    up what they have above their preferred nodes.

    Notes
    -----
    *Complexity*: as of `MalleableMin`. *Guarantee*: feasible; on rigid jobs that of first fit, or of EASY.
    *References*: as of `MalleableMin`.

    Examples
    --------
    >>> from allocsolve.model import Amdahl, Budget, Job, WorkloadProblem
    >>> job = {"min_nodes": 1, "max_nodes": 4, "speedup": Amdahl(1), "kind": "malleable", "points": 10}
    >>> problem = WorkloadProblem(4, [Job(0, 2, 100, **job), Job(60, 2, 100, **job)])
    >>> schedule = MalleablePrefkeeper()(problem, Budget()).answer
    >>> [piece[2] for piece in schedule.pieces(0)], schedule.pieces(1)[0][2]
    ([2, 4], 2)
    """

    malleable_rule = _rule(kernels.ABOVE_PREFERRED, PREFERRED_SIZE, keeps_preferred=True)


def decide_resizes(view: QueueView, rule: kernels.MalleableRule) -> tuple[ResizeDecision, ...]:
    """Return what a policy decides on a view. O(running + queue), and the cost of the policy."""
    view, listed = renumbered(view)
    room = 4 * len(listed) + 64  # enough for most calls; a call that needs more is repeated
    while True:
        scratch = kernels.initial_scratch(len(listed), room)
        state = _state_after(view, rule, scratch)
        room = int(scratch.decided[0])
        if room <= len(scratch.decisions):
            return tuple(_decisions(state, scratch.decisions[:room], listed))


def _state_after(view: QueueView, rule: kernels.MalleableRule, scratch: kernels.Scratch) -> State:
    """Return the state after one call on a view."""
    state, columns, memory = state_of_view(view, resizable=True), view.jobs, nothing_blocked(usable=False)
    estimates, resizing = (
        initial_estimates(columns.estimate),
        resizing_of_view(view),
    )
    which = packed_jobs(columns), state, resizing, estimates, scratch, rule, memory
    kernels.decide_malleable(*which, view.running, view.expected_ends)
    return state


def _decisions(state: State, decisions: IntArray, listed: IntArray) -> Iterator[ResizeDecision]:
    for job, nodes, other in decisions.tolist():
        if other == kernels.STARTED_NOW:
            yield start_of(state, job, listed, nodes)
        elif other == kernels.PROMISED_NODES:
            yield Promise(int(listed[job]), nodes)
        else:
            yield Resize(int(listed[job]), nodes, None if other == kernels.FOR_NOBODY else int(listed[other]))
