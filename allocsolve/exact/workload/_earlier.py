"""What an earlier run has left: its schedule and its certificate, judged before anything builds on them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from allocsolve.errors import InvalidAnswer
from allocsolve.exact.workload._bounds import bound_of_certificate
from allocsolve.judge.workload import workload_value, workload_violations
from allocsolve.judge.workload_certificate import workload_certified_bound
from allocsolve.model import Status, terms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.exact.workload._bounds import TermBound
    from allocsolve.model import Result, WorkloadObjective, WorkloadProblem, WorkloadSchedule

__all__ = ["Earlier"]


class Earlier(NamedTuple):
    """A schedule and a bound from which a run goes on; it returns none that are worse."""

    problem: WorkloadProblem
    objective: WorkloadObjective
    schedule: WorkloadSchedule | None
    #: Of the first term.
    bound: TermBound | None

    @classmethod
    def judged(
        cls,
        problem: WorkloadProblem,
        objective: WorkloadObjective,
        schedule: WorkloadSchedule | None,
        certificate: Mapping[str, object] | None,
    ) -> Earlier:
        """Return what holds of a schedule and a certificate.

        Raises
        ------
        InvalidAnswer
            If the schedule is not feasible, or the certificate is none of the problem and objective.
        """
        faults = () if schedule is None else workload_violations(problem, schedule)
        if faults:
            msg = f"the schedule to start from is not feasible: {faults[0]}"
            raise InvalidAnswer(msg)
        bound = None if certificate is None else bound_of_certificate(problem, objective[0], certificate)
        return cls(problem, objective, schedule, bound)

    @property
    def unbroken(self) -> WorkloadSchedule | None:
        """The schedule if each job runs in one piece, as in a plan; None if not."""
        schedule, count = self.schedule, len(self.problem.jobs)
        return schedule if schedule is not None and len(schedule.starts) == count else None

    def or_better(self, result: Result[WorkloadSchedule]) -> Result[WorkloadSchedule]:
        """Return the result, with the earlier schedule or certificate in place of worse ones."""
        if result.objective is None or result.answer is None:
            return result
        return self._bounded(self._answered(result))

    def _answered(self, result: Result[WorkloadSchedule]) -> Result[WorkloadSchedule]:
        # The plan that repeats a schedule may be later by what the judge tolerates.
        if self.schedule is None or result.answer is None or result.status is Status.OPTIMAL:
            return result
        value = workload_value(self.problem, self.schedule, self.objective)
        if terms(value) >= terms(workload_value(self.problem, result.answer, self.objective)):
            return result
        return replace(
            result, answer=self.schedule, objective=value, bound=min(result.bound, value, key=terms)
        )

    def _bounded(self, result: Result[WorkloadSchedule]) -> Result[WorkloadSchedule]:
        if self.bound is None:
            return result
        certificate, certified = result.certificate, -math.inf
        if certificate is self.bound.certificate:
            certified = self.bound.value
        elif certificate is not None:
            certified = workload_certified_bound(self.problem, certificate, self.objective)
        if certified < self.bound.value:
            certificate = self.bound.certificate
        (lower, *others), (value, *_) = terms(result.bound), terms(result.objective or 0.0)
        lower = max(lower, min(self.bound.value, value))
        return replace(result, certificate=certificate, bound=(lower, *others) if others else lower)
