"""What has changed between the baseline of a gate and a run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from allocsolve.bench.gate.units import ratios
from allocsolve.errors import InvalidAnswer
from allocsolve.model import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.bench.gate.baseline import Baseline, GateProblem, GateResult, GateSolver
    from allocsolve.bench.gate.measure import Measured

__all__ = ["GateChange", "changes", "failures", "faster"]

#: Proofs are statuses, and so is having no answer.
_PROOFS = (Status.OPTIMAL, Status.INFEASIBLE)


@dataclass(frozen=True, slots=True)
class GateChange:
    """One difference; solver or problem are empty where it concerns all of them."""

    what: str  #: such as ``worse``, ``proof lost``, ``slower``, ``slower (wall time)``
    kind: str
    solver: str
    problem: str
    before: float | str | None
    now: float | str | None

    @property
    def relative(self) -> str:
        """How much a number has changed, for people; empty for all else."""
        if not isinstance(self.before, int | float) or not isinstance(self.now, int | float):
            return ""
        if self.what.startswith(("slower", "faster")):
            return f"{self.now / self.before:.2f} times" if math.isfinite(self.now) else "it fails"
        if self.what == "mean gap":
            return f"{100 * (self.now - self.before):+.2f} points"
        return f"{100 * (self.now / self.before - 1):+.2f} %" if self.before else ""

    def __str__(self) -> str:
        """Return one line."""
        where = " on ".join(filter(None, (self.solver, self.problem)))
        values = " -> ".join(str(value) for value in (self.before, self.now) if value is not None)
        return f"{self.what}: {where}: {values}" + (f" ({self.relative})" if self.relative else "")


def failures(now: Measured) -> Iterator[GateChange]:
    """Yield the results of solvers that raised or were refuted by the judge: no baseline has any."""
    kinds = {row.problem: row.kind for row in now.problems}
    for row in now.results:
        if row.error:
            what = "refuted" if row.error.startswith(InvalidAnswer.__name__) else "failed"
            yield GateChange(what, kinds[row.problem], row.solver, row.problem, None, row.error)


def changes(before: Baseline, now: Measured) -> Iterator[GateChange]:
    """Yield all differences but the failures.

    Parameters
    ----------
    before
        Its solvers that were not run are left out.
    now
        Its solvers that the baseline does not know are left out.

    Notes
    -----
    The times of now are those on the machine of the baseline, at the least: see `allocsolve.bench.gate.units`
    on the ratios of two machines.
    """
    kinds = {row.kind for row in now.solvers}
    old = {row.problem: row for row in before.problems if row.kind in kinds}
    new = {row.problem: row for row in now.problems if row.kind in kinds}
    for name in sorted(old.keys() | new.keys()):
        if name not in new:
            yield GateChange("problem gone", old[name].kind, "", name, old[name].digest[:12], None)
        elif name not in old:
            yield GateChange("problem new", new[name].kind, "", name, None, new[name].digest[:12])
        elif not _same(old[name], new[name]):
            digests = old[name].digest[:12], new[name].digest[:12]
            yield GateChange("problem changed", new[name].kind, "", name, *digests)
    same = {name for name in old.keys() & new.keys() if _same(old[name], new[name])}
    old_results = {(row.problem, row.solver): row for row in before.results if row.problem in same}
    for row in now.results:
        if (row.problem, row.solver) in old_results and not row.error:
            for what, *values in _differences(old_results[row.problem, row.solver], row):
                yield GateChange(what, new[row.problem].kind, row.solver, row.problem, *values)
    yield from _of_solvers(before, now, same_problems=old.keys() == new.keys() == same)


def _same(old: GateProblem, new: GateProblem) -> bool:
    return (old.kind, old.digest) == (new.kind, new.digest)


def _differences(
    old: GateResult, new: GateResult
) -> Iterator[tuple[str, float | str | None, float | str | None]]:
    """Yield what has become of one result, with the values or statuses."""
    if old.status in _PROOFS and new.status not in _PROOFS:
        yield "proof lost", old.status, new.status
    elif new.status in _PROOFS and old.status not in _PROOFS:
        yield "proof won", old.status, new.status
    if (old.value is None) != (new.value is None):
        yield f"answer {'lost' if new.value is None else 'won'}", old.value, new.value
    elif old.value is not None and new.value is not None and old.value != new.value:
        yield "worse" if new.value > old.value else "better", old.value, new.value
    elif old.status != new.status and (old.status in _PROOFS) == (new.status in _PROOFS):
        yield "status", old.status, new.status
    if old.bound != new.bound and {old.status, new.status}.isdisjoint(_PROOFS):
        yield f"bound {'weaker' if new.bound < old.bound else 'stronger'}", old.bound, new.bound


def _of_solvers(before: Baseline, now: Measured, *, same_problems: bool) -> Iterator[GateChange]:
    """Yield what concerns a solver as a whole: its mean gap, if over the same problems, and its time."""
    old_solvers = {(row.kind, row.solver): row for row in before.solvers}
    for row in now.solvers:
        old = old_solvers.get((row.kind, row.solver))
        if old is None:
            continue
        gap, least = row.mean_gap, old.mean_gap
        if same_problems and gap is not None and least is not None and gap > least:
            yield GateChange("mean gap", row.kind, row.solver, "", least, gap)
        largest = ratios(before.references, row.references).largest
        # Wall time alone is no second change where CPU time has grown, too.
        for what, time, time_now in _times("slower", old, row):
            if time_now > before.time_factor * largest * time:
                yield GateChange(
                    what, row.kind, row.solver, row.timed_on or "", time, _digits(time_now / largest)
                )
                break


def faster(before: Baseline, now: Measured) -> Iterator[GateChange]:
    """Yield the solvers that take less time than in the baseline, by more than the factor, CPU and wall.

    The times of now are those on the machine of the baseline, at the most; see `allocsolve.bench.gate.units`.
    """
    old_solvers = {(row.kind, row.solver): row for row in before.solvers}
    for row in now.solvers:
        old = old_solvers.get((row.kind, row.solver))
        if old is not None:
            smallest = ratios(before.references, row.references).smallest
            times = [*_times("faster", old, row)]
            if times and all(now * before.time_factor < smallest * time for _, time, now in times):
                what, time, time_now = times[0]
                yield GateChange(
                    what, row.kind, row.solver, row.timed_on or "", time, _digits(time_now / smallest)
                )


def _times(what: str, old: GateSolver, new: GateSolver) -> Iterator[tuple[str, float, float]]:
    """Yield the CPU times before and now, then the wall times, where both are known."""
    if old.time is not None and new.time is not None:
        yield what, old.time, new.time
    if old.wall_time is not None and new.wall_time is not None:
        yield f"{what} (wall time)", old.wall_time, new.wall_time


def _digits(time: float) -> float:
    return float(f"{time:.4g}")
