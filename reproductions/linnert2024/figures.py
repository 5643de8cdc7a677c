"""The figures of the runs as tables and claims ask for them: means over seeds, ratios on common seeds."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from reproductions.linnert2024.reproduction import spread
from reproductions.linnert2024.runs import COUNT, LOADS, READINGS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reproductions.linnert2024.reproduction import Reproduction, Run, Spread

__all__ = ["Figures", "MissingRunsError"]


class MissingRunsError(LookupError):
    """There are no runs of what a claim speaks of; the message names it."""


class Figures:
    """Means over seeds, by load, strategy, kind of programs and reading."""

    def __init__(self, reproduction: Reproduction) -> None:
        self._runs: dict[tuple[str, ...], dict[int, Run]] = defaultdict(dict)
        for run in reproduction.runs:
            self._runs[run.load, run.strategy, run.program, run.reading][run.seed] = run
        self._bounds = reproduction.bounds
        loads = {run.load for run in reproduction.runs}
        self.loads = [load for load in LOADS if load in loads]

    def runs(self, load: str, strategy: str, program: object, reading: str) -> Mapping[int, Run]:
        """Return the runs of one sort by seed.

        Raises
        ------
        MissingRunsError
            If there is none.
        """
        some = self._runs.get((load, strategy, str(program), reading))
        if not some:
            what = f" with programs {program} ({reading})" if reading else ""
            msg = f"no runs of {strategy} at {load} load{what}"
            raise MissingRunsError(msg)
        return some

    def executed(
        self, load: str, strategy: str, program: object, figure: str, reading: str = READINGS[0].name
    ) -> Spread:
        """Return a figure of executions, one of the fields of `Run`."""
        some = self.runs(load, strategy, program, reading)
        return spread([getattr(run, figure) for run in some.values()])

    def change(
        self, load: str, strategy: str, program: object, figure: str, readings: tuple[str, str]
    ) -> tuple[Spread, Spread, Spread]:
        """Return a figure in two readings and its change from the first to the second, on common streams."""
        before, after = (self.runs(load, strategy, program, reading) for reading in readings)
        pairs = [
            (getattr(before[seed], figure), getattr(after[seed], figure))
            for seed in sorted(before.keys() & after.keys())
        ]
        if not pairs:
            msg = f"no stream of {strategy} at {load} load in both readings {' and '.join(readings)}"
            raise MissingRunsError(msg)
        one, other = zip(*pairs, strict=True)
        return spread(one), spread(other), spread([last - first for first, last in pairs])

    def booked(self, load: str, allocator: str, figure: str) -> Spread:
        """Return a figure of static admission alone."""
        return spread([getattr(run, figure) for run in self.runs(load, allocator, "", "").values()])

    def by_size(self, load: str, allocator: str) -> list[Spread]:
        """Return the accepted shares of the classes of sizes."""
        some = self.runs(load, allocator, "", "").values()
        return [spread(column) for column in zip(*(run.by_size for run in some), strict=True)]

    def ratio(self, load: str, allocator: str, base: str = COUNT) -> Spread:
        """Return how many jobs are accepted in the mean for each that another accepts of the same stream."""
        these, others = (self.runs(load, name, "", "") for name in (allocator, base))
        common = these.keys() & others.keys()
        return spread([these[seed].accepted / others[seed].accepted for seed in sorted(common)])

    def num_jobs(self, load: str) -> int:
        """Return how many jobs a stream has.

        Raises
        ------
        MissingRunsError
            If there is no run of the load.
        """
        runs = (run for key, some in self._runs.items() if key[0] == load for run in some.values())
        run = next(runs, None)
        if run is None:
            msg = f"no runs at {load} load"
            raise MissingRunsError(msg)
        return run.jobs

    def accepted_rows(self) -> list[dict[str, Any]]:
        """Return what static admission accepts, as it stands in JSON."""
        keys = [key for key in self._runs if not key[3]]
        return [
            {
                "load": load,
                "allocator": name,
                "jobs": self.booked(load, name, "accepted")._asdict(),
                "ratio": self.ratio(load, name)._asdict() if (load, COUNT, "", "") in self._runs else None,
                "area": self.booked(load, name, "accepted_area")._asdict(),
                "hops": self.booked(load, name, "hops").mean,
                "by_size": [one.mean for one in self.by_size(load, name)],
                "seeds": len(self.runs(load, name, "", "")),
            }
            for load, name, _, _ in keys
        ]

    def bound_rows(self) -> list[dict[str, Any]]:
        """Return what is possible, as it stands in JSON: shares of the jobs, and of their area."""
        keys = dict.fromkeys((row.load, row.term) for row in self._bounds)
        rows = []
        for load, term in keys:
            most, offline, gap = (one._asdict() for one in self.offline(load, term))
            rows.append({"load": load, "term": term, "most": most, "offline": offline, "gap": gap})
        return rows

    def executed_rows(self) -> list[dict[str, Any]]:
        """Return what becomes of jobs when they are executed, as it stands in JSON."""
        names = ("accepted", "cancelled_share", "successful", "held", "computing")
        return [
            {
                "load": load,
                "strategy": strategy,
                "program": program,
                "reading": reading,
                "seeds": len(self.runs(load, strategy, program, reading)),
                **{name: self.executed(load, strategy, program, name, reading)._asdict() for name in names},
            }
            for load, strategy, program, reading in self._runs
            if reading
        ]

    def offline(self, load: str, term: str) -> tuple[Spread, Spread, Spread]:
        """Return the share that no schedule is above, that of the clairvoyant one, and the gap of both.

        Raises
        ------
        MissingRunsError
            If there is none.
        """
        rows = [row for row in self._bounds if (row.load, row.term) == (load, term)]
        if not rows:
            msg = f"no bounds at {load} load"
            raise MissingRunsError(msg)
        gaps = [row.most / row.offline - 1 if row.offline else 0.0 for row in rows]
        return spread([row.most for row in rows]), spread([row.offline for row in rows]), spread(gaps)
