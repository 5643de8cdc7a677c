"""A queue at an instant as its users see it: who runs since when, who waits, with which limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.errors import InvalidOption, InvalidProblem
from allocsolve.model import Jobs, WorkloadProblem
from allocsolve.model.arrays import frozen
from allocsolve.model.job_kinds import RIGID
from allocsolve.simulation.forecast import starts_after

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model.arrays import IntArray
    from allocsolve.model.jobs import FloatArray
    from allocsolve.simulation.policy import PolicyLike
    from allocsolve.simulation.view import QueueView


@dataclass(frozen=True, slots=True, eq=False)
class QueueSnapshot:
    """The rigid jobs that run or wait at an instant, without the future of any.

    Parameters
    ----------
    num_nodes
        Nodes of the machine, >= 1.
    now
        Seconds, from any origin.
    running_nodes, running_starts, running_limits
        Shape (running,): nodes held, when each job started, and its limit, in seconds.
    nodes, submits, limits
        Shape (queued,): the jobs that wait, in the order in which the machine serves them.
    eligible
        Shape (queued,): before when a job must not start, in seconds; now or earlier if it may.

    Raises
    ------
    InvalidProblem
        If shapes do not belong together, running jobs hold more nodes than there are, a queued job asks for
        more, or a time or limit is impossible; the message names the job.
    """

    num_nodes: int
    now: float
    running_nodes: IntArray
    running_starts: FloatArray
    running_limits: FloatArray
    nodes: IntArray
    submits: FloatArray
    limits: FloatArray
    eligible: FloatArray

    def __post_init__(self) -> None:
        for name in ("running_nodes", "nodes"):
            object.__setattr__(self, name, frozen(np.array(getattr(self, name), dtype=np.int64)))
        for name in ("running_starts", "running_limits", "submits", "limits", "eligible"):
            object.__setattr__(self, name, frozen(np.array(getattr(self, name), dtype=np.float64)))
        for fault in self._faults():
            raise InvalidProblem(fault)

    def _faults(self) -> Iterator[str]:
        """Yield what is wrong, the first first."""
        running = (self.running_nodes, self.running_starts, self.running_limits)
        queued = (self.nodes, self.submits, self.limits, self.eligible)
        for what, columns in (("running", running), ("queued", queued)):
            shapes = {column.shape for column in columns}
            if len(shapes) > 1 or columns[0].ndim != 1:
                yield f"the columns of {what} jobs have the shapes {sorted(shapes)}"
        held = int(self.running_nodes.sum())
        if held > self.num_nodes:
            yield f"running jobs hold {held} nodes of a machine of {self.num_nodes}"
        checks = (
            ("running job", self.running_nodes >= 1, "nodes are below 1"),
            ("running job", self.running_starts <= self.now, "starts after now"),
            ("running job", self.running_limits > 0, "limit is not above 0"),
            ("queued job", self.nodes >= 1, "nodes are below 1"),
            (
                "queued job",
                self.nodes <= self.num_nodes,
                f"nodes are above those of the machine, {self.num_nodes}",
            ),
            ("queued job", self.submits <= self.now, "is submitted after now"),
            ("queued job", self.limits > 0, "limit is not above 0"),
            ("queued job", np.isfinite(self.eligible), "its earliest start is no time"),
        )
        for what, is_right, fault in checks:
            if not is_right.all():
                yield f"{what} {int(np.argmin(is_right))}: {fault}"

    @classmethod
    def of(cls, view: QueueView) -> QueueSnapshot:
        """Return the snapshot of a view, whose jobs must be rigid.

        Raises
        ------
        InvalidOption
            If a job that runs or waits is not rigid, or is promised nodes.
        """
        jobs, queue, running = view.jobs, view.queue, view.running
        members = np.concatenate([running, queue, view.promises])
        other = members[jobs.kind[members] != RIGID]
        if len(other) or len(view.promises):
            job = int(other[0]) if len(other) else int(view.promises[0])
            msg = f"job {job} is not rigid: there is no interval for such jobs"
            raise InvalidOption(msg)
        return cls(
            view.num_nodes,
            view.now,
            view.held,
            jobs.start[running],
            jobs.estimate[running],
            jobs.nodes[queue],
            jobs.submit[queue],
            jobs.estimate[queue],
            jobs.submit[queue],
        )

    def starts(self, policy: PolicyLike, running_times: FloatArray, run_times: FloatArray) -> FloatArray:
        """Return when each queued job starts if jobs run so long, and no more are submitted.

        Parameters
        ----------
        policy
            As for `allocsolve.simulation.forecast`; it sees limits, not run times.
        running_times, run_times
            Shapes (running,) and (queued,), seconds: the whole run times. A running job ends now at the
            earliest.

        Returns
        -------
        numpy.ndarray
            Shape (queued,), seconds; NaN for a job that the policy never starts.
        """
        if not len(self.nodes):
            return np.empty(0)
        count = len(self.running_nodes)
        # Seconds from now on: small numbers keep their digits. Whoever waits keeps his place in the queue, by
        # submissions in that order; who must not start yet is submitted when he may.
        first = np.minimum.accumulate((self.submits - self.now)[::-1])[::-1]
        arrival = np.where(self.eligible > self.now, self.eligible - self.now, first)
        begun = self.running_starts - self.now
        origin = min(float(begun.min(initial=0)), float(arrival.min()))
        problem = WorkloadProblem(
            self.num_nodes,
            Jobs(
                np.concatenate([begun, arrival]) - origin,
                np.concatenate([self.running_nodes, self.nodes]),
                np.concatenate([np.maximum(running_times, -begun + _MOMENT_S), run_times]),
                np.concatenate([self.running_limits, self.limits]),
            ),
        )
        starts = starts_after(problem, np.arange(count), -origin, policy)[count:]
        return np.maximum(starts + origin, 0.0) + self.now


#: Within which a running job ends whose time is over, in seconds.
_MOMENT_S = 1.0
