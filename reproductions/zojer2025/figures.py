"""The figures of policies as sentences ask for them, by policy and share; and how they are written."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from reproductions.zojer2025.runs import FINE_TICK, POLICIES, REFERENCES, TICK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reproductions.zojer2025.reproduction import PolicyRow, Reproduction, Spread

__all__ = ["Figures", "MissingRunsError", "each", "numbers"]


class MissingRunsError(LookupError):
    """There are no runs of a policy and share that a sentence speaks of; the message names them."""


class Figures:
    """The figures of the policies of the thesis, by policy and share."""

    def __init__(self, reproduction: Reproduction) -> None:
        self._rows = {(row.policy, row.share): row for row in reproduction.policies}
        self._runs = reproduction.runs

    @property
    def shares(self) -> list[float]:
        """Shares with malleable jobs, increasing; at least one."""
        shares = sorted({share for _, share in self._rows if share > 0})
        if not shares:
            msg = "no runs with malleable jobs"
            raise MissingRunsError(msg)
        return shares

    def row(self, policy: str, share: float) -> PolicyRow:
        """Return a row."""
        row = self._rows.get((policy, share))
        if row is None:
            msg = f"no runs of {policy} at {100 * share:g} %"
            raise MissingRunsError(msg)
        return row

    def spread(self, policy: str, share: float, name: str) -> Spread:
        """Return a figure with its quartiles over seeds."""
        return self.row(policy, share).figures[name]

    def mean(self, policy: str, share: float, name: str) -> float:
        """Return the mean of a figure over seeds."""
        return self.spread(policy, share, name).mean

    def series(self, policy: str, name: str, shares: Iterable[float] | None = None) -> list[float]:
        """Return the means of a figure by share; of all with malleable jobs by default, which are several."""
        chosen = self.shares if shares is None else [*shares]
        if len(chosen) < 2:
            msg = "less than two shares"
            raise MissingRunsError(msg)
        return [self.mean(policy, share, name) for share in chosen]

    def falls(self, policy: str, name: str) -> bool:
        """Tell whether a figure falls with every share, from the first to the last."""
        return all(after < before for before, after in pairwise(self.series(policy, name)))

    def from_rigid(self, policy: str, name: str) -> list[float]:
        """Return the means of a figure by share, with that of rigid jobs first."""
        return [self.mean(REFERENCES[0], 0, name), *self.series(policy, name)]

    def tick_runs(self) -> tuple[float, float]:
        """Return the turnaround of one policy where all jobs are malleable: with either tick."""
        by_tick = {run.tick: run for run in self._runs if run.share == 1 and run.policy == POLICIES[0]}
        if {TICK, FINE_TICK} - {*by_tick}:
            msg = f"no runs of {POLICIES[0]} at 100 % with both ticks"
            raise MissingRunsError(msg)
        return by_tick[TICK].turnaround, by_tick[FINE_TICK].turnaround


def each(values: dict[str, str]) -> str:
    """Return a text for each policy."""
    return "; ".join(f"{policy.removeprefix('malleable-')} {text}" for policy, text in values.items())


def numbers(values: Iterable[float], digits: int = 0, factor: float = 1) -> str:
    """Return numbers in a row, multiplied, with so many digits behind the point."""
    return " ".join(f"{factor * value:.{digits}f}" for value in values)
