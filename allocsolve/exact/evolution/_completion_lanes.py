"""What the searches for the mean completion time share; they are those for the makespan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.bounds import mean_busy_time, total_completion
from allocsolve.exact.evolution._makespan_lanes import Knowledge
from allocsolve.exact.evolution._offset_model import OffsetModel

if TYPE_CHECKING:
    from allocsolve.exact.evolution._proof_log import ProofLog
    from allocsolve.model import EvolutionObjective, IntArray

__all__ = ["TotalKnowledge"]


class TotalKnowledge(Knowledge):
    """The best schedule and the bound on its total completion, shared by the lanes of one solve."""

    @property
    def objective(self) -> EvolutionObjective:
        """What is minimised."""
        return ("completion",)

    def combinatorial_bound(self) -> int:
        """Return the bound by mean busy times."""
        return mean_busy_time(self.problem)

    def measure(self, starts: IntArray) -> int:
        """Return the sum of all completions."""
        offsets, durations, _, _, _ = self.problem.packed
        last = offsets[1:] - 1
        return int((starts[last] + durations[last]).sum())

    def new_model(self, time: int, seed: int, log: ProofLog | None = None) -> OffsetModel:
        """Return a model of the schedules whose completions add up to `time` or less.

        Applications that complete as soon as they can, all but one, leave that one the rest. The horizon of
        the problem has room for the best schedules.
        """
        problem = self.problem
        pairs = zip(problem.releases, problem.applications, strict=True)
        least = max(release + app.duration for release, app in pairs)
        horizon = min(problem.horizon, least + time - total_completion(problem))
        model = OffsetModel(problem, horizon, self.clock, seed=seed, log=log)
        model.must_total(time)
        return model

    def lower(self, model: OffsetModel, time: int) -> None:
        """Keep, of a model, only the schedules whose completions add up to `time` or less."""
        model.must_total(time)
