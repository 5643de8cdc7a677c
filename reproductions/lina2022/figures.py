"""The figures of the runs as tables and claims ask for them."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Final

from reproductions.lina2022.logs import LOGS
from reproductions.lina2022.printed import TABLE_3
from reproductions.lina2022.reproduction import METRICS
from reproductions.lina2022.runs import RIGID, RULES

if TYPE_CHECKING:
    from collections.abc import Callable

    from reproductions.lina2022.printed import Printed
    from reproductions.lina2022.reproduction import Reproduction

__all__ = ["Contrast", "Figures", "MissingRunsError", "better"]

#: Metrics of which more is better.
_MORE: Final = frozenset({"utilisation"})


class MissingRunsError(LookupError):
    """There are no runs of what a claim speaks of; the message names it."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """The orders of victims that differ most, at the share where they do."""

    log: str
    algorithm: str
    metric: str
    best: str  #: of `RULES`, as is the next one
    worst: str
    difference: float  #: by what part the best is better than the worst
    share: float
    printed: Printed | None  #: that of the paper


def better(metric: str, one: float, other: float) -> bool:
    """Return whether one value of a metric is better than another."""
    return one > other if metric in _MORE else one < other


class Figures:
    """Means over seeds, by workload, share, algorithm and order of victims."""

    def __init__(self, reproduction: Reproduction) -> None:
        self._cells = {
            (cell.log, cell.share, cell.algorithm, cell.rule): cell.figures for cell in reproduction.cells
        }
        names = {cell.log for cell in reproduction.cells}
        self.logs = [name for name in LOGS if name in names]
        self.shares = sorted({cell.share for cell in reproduction.cells if cell.share})

    def need(self, *logs: str) -> None:
        """Refuse to go on without these workloads.

        Raises
        ------
        MissingRunsError
            If one was not run.
        """
        for log in logs:
            if not any(key[0] == log for key in self._cells):
                msg = f"{log} was not run"
                raise MissingRunsError(msg)

    def rigid(self, log: str, metric: str) -> float:
        """Return the figure without elastic jobs, by first fit."""
        return self.one(log, 0.0, RIGID[0], "", metric)

    def one(self, log: str, share: float, algorithm: str, rule: str, metric: str) -> float:
        """Return a figure of an algorithm with an order of victims."""
        cell = self._cells.get((log, share, algorithm, rule))
        if cell is None:
            msg = f"no runs of {algorithm} {rule} on {log} at {100 * share:g} %"
            raise MissingRunsError(msg)
        return cell[metric]

    def mean(self, log: str, share: float, algorithm: str, metric: str) -> float:
        """Return the mean figure of an algorithm over the orders of victims."""
        return fmean(self.one(log, share, algorithm, rule, metric) for rule in RULES)

    def path(self, log: str, algorithm: str, metric: str) -> list[float]:
        """Return the mean figures by share, without the one of rigid jobs."""
        return [self.mean(log, share, algorithm, metric) for share in self.shares]

    def contrast(self, log: str, algorithm: str, metric: str, printed_as: str = "") -> Contrast:
        """Return where the orders of victims differ most."""
        found: Contrast | None = None
        for share in self.shares:
            values = {rule: self.one(log, share, algorithm, rule, metric) for rule in RULES}
            pick: Callable[..., str] = max if metric in _MORE else min
            drop: Callable[..., str] = min if metric in _MORE else max
            best, worst = pick(values, key=values.__getitem__), drop(values, key=values.__getitem__)
            difference = abs(values[best] / values[worst] - 1)
            if found is None or difference > found.difference:
                printed = TABLE_3.get((log, printed_as or algorithm, metric))
                found = Contrast(log, algorithm, metric, best, worst, difference, share, printed)
        if found is None:
            msg = "no runs with elastic jobs"
            raise MissingRunsError(msg)
        return found

    def contrasts(self, algorithms: tuple[str, ...]) -> list[Contrast]:
        """Return those of all workloads and metrics, as the paper's table 3 has them."""
        return [
            self.contrast(log, algorithm, metric)
            for log in self.logs
            for algorithm in algorithms
            for metric in METRICS
        ]
