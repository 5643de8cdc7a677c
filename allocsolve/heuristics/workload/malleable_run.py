"""Policies that resize running jobs in both drivers: a whole workload, and one call on a view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from allocsolve.heuristics.workload._kernels_malleable import decide_malleable, run_malleable
from allocsolve.heuristics.workload._kernels_queue import EASY, Estimates, nothing_blocked
from allocsolve.heuristics.workload.malleable_rule import (
    FOR_NOBODY,
    PROMISED_NODES,
    STARTED_NOW,
    MalleableRule,
    initial_scratch,
)
from allocsolve.simulation.decisions import Promise, Resize, Start
from allocsolve.simulation.kernels import (
    initial_resizing,
    initial_state,
    packed_jobs,
    renumbered,
    resizing_of_view,
    roomier,
    start_of,
    state_of_view,
)
from allocsolve.simulation.outcome import Simulation, log_of, schedule_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import WorkloadProblem
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.jobs import FloatArray
    from allocsolve.simulation import EngineRules, QueueView
    from allocsolve.simulation.kernels import Resizing, State

__all__ = ["ROOM", "ResizeDecision", "decide_resizes", "final_states", "run_resizes"]

#: What a policy that resizes jobs decides.
ResizeDecision: TypeAlias = Start | Resize | Promise

#: Changes for each job that the log has room for at first.
ROOM: Final = 4


@dataclass(frozen=True, slots=True)
class _Noted:
    """Decisions as the kernel notes them, see `allocsolve.heuristics.workload._kernels_malleable`."""

    rows: IntArray
    #: Shape (1,): how many there are, which may be more than there is room for.
    count: IntArray

    @classmethod
    def with_room(cls, rows: int) -> _Noted:
        return cls(np.zeros((rows, 3), dtype=np.int64), np.zeros(1, dtype=np.int64))


def run_resizes(problem: WorkloadProblem, rule: MalleableRule, rules: EngineRules) -> Simulation:
    """Run a workload to its end under a policy."""
    state, resizing = final_states(problem, rule, rules)
    return Simulation(schedule_of(state, resizing), log_of(state))


def final_states(problem: WorkloadProblem, rule: MalleableRule, rules: EngineRules) -> tuple[State, Resizing]:
    """Return the states of the engine at the end of a workload under a policy."""
    rules.check(problem, answers=False)
    packed, count = problem.packed, len(problem.jobs)
    state = initial_state(problem.num_nodes, packed.submit, ordered=rule.queue.kind == EASY, resizable=True)
    resizing = initial_resizing(packed.estimate, problem.jobs.evolving, ROOM * count)
    fixed = (_estimates(packed.estimate), initial_scratch(count), rule, nothing_blocked(usable=False))
    noted = _Noted.with_room(0)
    while not run_malleable(packed, state, resizing, *fixed, rules.coalesce, noted.rows, noted.count):
        resizing = roomier(resizing, count)
    return state, resizing


def decide_resizes(view: QueueView, rule: MalleableRule) -> tuple[ResizeDecision, ...]:
    """Return what a policy decides on a view. O(running + queue), and the cost of the policy."""
    view, listed = renumbered(view)
    room = 4 * len(listed) + 64
    while True:
        noted = _Noted.with_room(room)
        state = _decided(view, rule, noted)
        room = int(noted.count[0])
        if room <= len(noted.rows):
            return tuple(_decisions(state, noted, listed))


def _decided(view: QueueView, rule: MalleableRule, noted: _Noted) -> State:
    """Return the state after one call on a view."""
    state, estimate = state_of_view(view, resizable=True), view.jobs.estimate
    decide_malleable(
        packed_jobs(view.jobs),
        state,
        resizing_of_view(view),
        _estimates(estimate),
        initial_scratch(len(estimate)),
        rule,
        nothing_blocked(usable=False),
        view.running,
        view.expected_ends,
        noted.rows,
        noted.count,
    )
    return state


def _decisions(state: State, noted: _Noted, listed: IntArray) -> Iterator[ResizeDecision]:
    for job, nodes, other in noted.rows[: noted.count[0]].tolist():
        if other == STARTED_NOW:
            yield start_of(state, job, listed, nodes)
        elif other == PROMISED_NODES:
            yield Promise(int(listed[job]), nodes)
        else:
            yield Resize(int(listed[job]), nodes, None if other == FOR_NOBODY else int(listed[other]))


def _estimates(limit: FloatArray) -> Estimates:
    """Return estimates of a policy that believes users."""
    return Estimates(
        limit=limit,
        running=limit.copy(),
        queued=limit.copy(),
        scores=np.empty(0),
        user=np.empty(0, dtype=np.int64),
        last_runs=np.empty((0, 2)),
    )
