"""Workloads with malleable and evolving jobs under a policy in Python: what it sees, and what it decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.model.arrays import frozen
from allocsolve.simulation._kernels_orders import carry_out, to_next_resizing_event
from allocsolve.simulation.state import initial_resizing, roomier

if TYPE_CHECKING:
    from typing import Any

    from allocsolve.model import WorkloadProblem
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.jobs import FloatArray
    from allocsolve.simulation.state import State

__all__ = ["Changes"]

#: Changes for each job that there is room for at first.
_ROOM: Final = 4


class Changes:
    """The part of an engine that knows of sizes that change.

    Parameters
    ----------
    problem, state
        Of the engine.
    estimate
        What jobs are expected to run on their own nodes, in seconds.
    """

    def __init__(self, problem: WorkloadProblem, state: State, estimate: FloatArray) -> None:
        self._jobs, self._state = tuple(problem.packed), state
        self._arrays = tuple(state)
        self.resizing = initial_resizing(estimate, problem.jobs.evolving, _ROOM * len(estimate))
        self._changes = tuple(self.resizing)

    def advance(self, wake: float, coalesce: bool) -> bool:  # noqa: FBT001 - as the kernel takes it
        """Go on to the next instant; False if there is none."""
        running = int(self._state.counts[RUNNING])
        needed = int(self.resizing.counts[LOGGED]) + 2 * running + len(self.resizing.evolving.rows)
        if needed > len(self.resizing.log_jobs):
            self.resizing = roomier(self.resizing, running)
            self._changes = tuple(self.resizing)
        return to_next_resizing_event(self._jobs, self._arrays, self._changes, wake, coalesce)

    def columns(self, running: IntArray) -> dict[str, Any]:
        """Return what a view shows of changes."""
        resizing, counts = self.resizing, self.resizing.counts.tolist()
        promises = resizing.promises[counts[FIRST_PROMISE] : counts[LAST_PROMISE]].copy()
        requests = resizing.evolving.requests[: counts[REQUESTS]].copy()
        return {
            "targets": frozen(resizing.target[running]),
            "resized": frozen(resizing.resized[: counts[RESIZED]].copy()),
            "pool": counts[POOL],
            "reserved": counts[RESERVED],
            "promises": frozen(promises),
            "promised_nodes": frozen(resizing.promise[promises]),
            "requests": frozen(requests),
            "requested_nodes": frozen(resizing.evolving.numbers[requests, REQUEST]),
        }

    def present_step(self, job: int) -> tuple[int, float | None]:
        """Return the row of the step of a profile in which a job is, and the seconds that are left of it.

        None if it has not begun: the job waits.
        """
        resizing, now = self.resizing, float(self._state.clock[0])
        row = int(resizing.evolving.numbers[job, ROW])
        if np.isnan(self._state.start[job]) or not resizing.rate[job]:
            return row, None
        return row, float(resizing.left[job] - (now - resizing.since[job]))

    def carry_out(self, rows: list[list[int]]) -> None:
        """Do what was decided."""
        if rows:
            carry_out(self._jobs, self._arrays, self._changes, np.array(rows, dtype=np.int64))
