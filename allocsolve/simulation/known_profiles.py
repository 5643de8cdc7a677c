"""What policies may know of the profiles of jobs."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from allocsolve.model.evolving import PROFILE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.model import WorkloadProblem
    from allocsolve.model.arrays import IntArray
    from allocsolve.simulation.changes import Changes
    from allocsolve.simulation.rules import EngineRules

__all__ = ["NO_PROFILES", "KnownProfiles", "Steps"]

#: Pairs of seconds and nodes.
Steps: TypeAlias = tuple[tuple[float, int], ...]

NO_PROFILES: Final[Mapping[int, Steps]] = MappingProxyType({})

#: How many steps are shown.
_STEPS: Final = {"none": 0, "next": 2, "all": None}


class KnownProfiles:
    """What the rules show of the profiles of jobs.

    Parameters
    ----------
    problem, rules, changes
        Of the engine.
    """

    def __init__(self, problem: WorkloadProblem, rules: EngineRules, changes: Changes) -> None:
        self._changes, self._most = changes, _STEPS[rules.profile_knowledge]
        plan = problem.jobs.evolving
        self._has_profile, self._offsets = plan.reading == PROFILE, plan.offsets
        self._steps = list(zip(plan.amounts.tolist(), plan.nodes.tolist(), strict=True))
        self._hidden = self._most == 0 or not self._has_profile.any()

    def of(self, queue: IntArray, running: IntArray) -> Mapping[int, Steps]:
        """Return the steps that jobs which wait or run have left."""
        if self._hidden:
            return NO_PROFILES
        jobs = [*queue[self._has_profile[queue]].tolist(), *running[self._has_profile[running]].tolist()]
        return MappingProxyType({job: self._left(job) for job in jobs})

    def _left(self, job: int) -> Steps:
        row, seconds = self._changes.present_step(job)
        last = int(self._offsets[job + 1])
        steps = self._steps[row : last if self._most is None else min(last, row + self._most)]
        return ((steps[0][0] if seconds is None else seconds, steps[0][1]), *steps[1:])
