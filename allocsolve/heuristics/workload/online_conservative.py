"""Conservative backfilling call by call, for engines that are not ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.heuristics.workload._kernels_conservative import COMPRESS, NO_COMPRESSION, REPLAN
from allocsolve.heuristics.workload._kernels_conservative_call import conservative_call
from allocsolve.heuristics.workload.conservative import Conservative
from allocsolve.simulation import Reason, Start, Wake

if TYPE_CHECKING:
    from allocsolve.simulation import Decision, EngineRules, QueueView

__all__ = ["OnlineConservative"]

#: Codes of `allocsolve.heuristics.workload.conservative.Compression` for the kernel.
_CODES: Final = {"compress": COMPRESS, "replan": REPLAN, "none": NO_COMPRESSION}


class OnlineConservative:
    """Conservative backfilling that decides on views: it remembers the reservations between them.

    Parameters
    ----------
    policy
        What it is to do.

    Notes
    -----
    Under the engine of `allocsolve.simulation` it gives the schedule of `Conservative`. *Complexity*:
    O(queued jobs x segments of the plan) for each call.

    Examples
    --------
    >>> from allocsolve.model import Job, WorkloadProblem
    >>> from allocsolve.simulation import simulate
    >>> problem = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 1000), Job(3, 1, 90)])
    >>> simulate(problem, OnlineConservative().decide).first_starts.tolist()
    [0.0, 100.0, 110.0, 3.0]
    """

    def __init__(self, policy: Conservative | None = None) -> None:
        self.policy = policy or Conservative()
        self.reset()

    @property
    def rules(self) -> EngineRules:
        """The rules of a simulation that has this policy."""
        return self.policy.rules

    def reset(self, seed: int = 0) -> None:  # noqa: ARG002 - nothing is random
        """Forget all reservations: a new run begins."""
        self._reserved: dict[int, float] = {}
        self._due = np.inf

    def decide(self, view: QueueView) -> list[Decision]:
        """Return which jobs start now, and when the next reservation begins."""
        if view.woken and self._due != view.now and not (len(view.completed) or len(view.submitted)):
            return []  # the reservation for which it wanted to be called is none any more
        jobs, queue, ended = view.jobs, view.queue, view.completed
        lengths = jobs.estimate if self.policy.estimate == "limit" else jobs.runtime
        reserved = np.array([self._reserved.get(job, np.nan) for job in queue.tolist()])
        starts = np.zeros(len(queue), dtype=bool)
        conservative_call(
            view.now,
            view.free,
            view.expected_ends,
            view.held,
            jobs.nodes[queue],
            lengths[queue],
            reserved,
            bool((jobs.start[ended] + lengths[ended] > view.now).any()),
            _CODES[self.policy.compression],
            starts,
        )
        left = queue[~starts].tolist()
        self._reserved = dict(zip(left, reserved[~starts].tolist(), strict=True))
        later = reserved[~starts & (reserved > view.now)]
        self._due = float(later.min(initial=np.inf))
        first = np.flatnonzero(~starts)[:1]
        decisions: list[Decision] = []
        for at in np.flatnonzero(starts).tolist():
            job, passed = int(queue[at]), bool(len(first)) and at > first[0]
            reason = Reason.BACKFILLED if passed else Reason.AT_HEAD
            decisions.append(Start(job, int(jobs.nodes[job]), reason, left[0] if passed else None))
        if self._due < np.inf:
            decisions.append(Wake(self._due))
        return decisions
