"""Workloads with malleable and evolving jobs under a policy in Python: what it sees, and what it decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.kernels.records import numbers
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
        running = int(self._state.engine["running"])
        needed = int(self.resizing.ledger["logged"]) + 2 * running + len(self.resizing.rows)
        if needed > len(self.resizing.log):
            self.resizing = roomier(self.resizing, running)
            self._changes = tuple(self.resizing)
        return to_next_resizing_event(self._jobs, self._arrays, self._changes, wake, coalesce)

    def columns(self, running: IntArray) -> dict[str, Any]:
        """Return what a view shows of changes."""
        resizing, elastic = self.resizing, self.resizing.job
        ledger = numbers(resizing.ledger)
        promises = resizing.promises[ledger.first_promise : ledger.last_promise].copy()
        requests = resizing.requests[: ledger.requests].copy()
        return {
            "targets": frozen(elastic["target"][running]),
            "resized": frozen(resizing.resized[: ledger.resized].copy()),
            "pool": ledger.pool,
            "reserved": ledger.reserved,
            "promises": frozen(promises),
            "promised_nodes": frozen(elastic["promise"][promises]),
            "requests": frozen(requests),
            "requested_nodes": frozen(elastic["request"][requests]),
        }

    def present_step(self, job: int) -> tuple[int, float | None]:
        """Return the row of the step of a profile in which a job is, and the seconds that are left of it.

        None if it has not begun: the job waits.
        """
        elastic, now = self.resizing.job[job], float(self._state.engine["clock"])
        row = int(elastic["row"])
        if np.isnan(self._state.job[job]["start"]) or not elastic["rate"]:
            return row, None
        return row, float(elastic["left"] - (now - elastic["since"]))

    def carry_out(self, rows: list[list[int]]) -> None:
        """Do what was decided."""
        if rows:
            carry_out(self._jobs, self._arrays, self._changes, np.array(rows, dtype=np.int64))
