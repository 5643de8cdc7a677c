"""What a file of another program cannot hold of a problem: said and counted, not dropped in silence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from allocsolve.model.job_kinds import job_kind

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem

__all__ = ["ReadWorkload", "Unheld", "elastic_kinds"]


@dataclass(slots=True)
class Unheld:
    """Counts of what a file cannot hold, or of what could not be taken from one.

    Examples
    --------
    >>> unheld = Unheld()
    >>> unheld.add("weights", 3)
    >>> unheld.add("users", 0)
    >>> unheld.counts, str(unheld)
    ({'weights': 3}, 'weights: 3')
    """

    #: How many jobs by what is the matter; 1 for what is one thing of the whole problem.
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, what: str, count: int = 1) -> None:
        """Count something; nothing if the count is 0."""
        if count:
            self.counts[what] = self.counts.get(what, 0) + int(count)

    def lines(self) -> list[str]:
        """Return a line for each thing."""
        return [f"{what}: {count}" for what, count in self.counts.items()]

    def __str__(self) -> str:
        return "; ".join(self.lines())


@dataclass(frozen=True, slots=True)
class ReadWorkload:
    """A problem that was read from the files of another program."""

    problem: WorkloadProblem
    #: What of the files the problem does not hold.
    unheld: Unheld


def elastic_kinds(problem: WorkloadProblem) -> dict[str, int]:
    """Return how many jobs there are of each kind but the rigid one."""
    kinds = [job_kind(code) for code in problem.packed.kind.tolist()]
    return {kind: kinds.count(kind) for kind in ("moldable", "malleable", "evolving") if kind in kinds}
