"""Records: one row per run of a solver on a problem, with the facts of the machine that ran it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.errors import AllocsolveError, UnsupportedProblem
from allocsolve.families import family_named
from allocsolve.registry import searches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.model import Limit, Status, Value


def objective_terms(objective: str) -> tuple[str, ...]:
    """Return the terms of an objective as records have it; whoever planned the run has checked them."""
    return tuple(objective.split(","))


#: How the text of a policy of one's own begins, see `allocsolve.simulation.compiled.PolicySolver`.
_ADAPTED_POLICY: Final = "PolicySolver("


class RecordKey(NamedTuple):
    """What makes two runs the same run: the second one is not made."""

    digest: str
    solver_repr: str
    objective: str
    seconds: float
    iterations: int | None
    workers: int
    seed: int
    version: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """One run of one solver on one instance, as the judge and the clock of the harness saw it.

    A solver that raised, crashed, hung, or whose claim the judge refuted, is a failed row: `error` says why
    in one line, and neither a value nor a bound is kept.
    """

    suite: str  #: that the problem is of; empty for a file
    instance: str  #: name of the problem, for people
    digest: str  #: of the problem
    kind: str  #: family of the problem
    features: Mapping[str, str | float | None]  #: of the problem, such as its size; see `registry.Family`
    solver: str  #: registered name
    solver_repr: str  #: the solver with its options
    objective: str  #: such as ``makespan,waste``
    seconds: float  #: of the budget, as are the next three
    iterations: int | None
    workers: int
    seed: int
    version: str  #: of allocsolve
    status: Status
    limit: Limit | None  #: why the solver stopped before it was done
    value: Value | None  #: as judged; None without an answer
    bound: Value  #: as claimed; minus infinity without a bound
    certified_bound: Value  #: that the judge recomputed from a certificate; minus infinity without one
    combinatorial_bound: Value  #: of `allocsolve.bounds`, whatever the solver
    runtime_s: float  #: wall time of the solver call, measured by the harness
    incumbents: tuple[tuple[float, Value], ...]  #: seconds and claimed value of each better answer
    error: str  #: empty unless the row failed
    metrics: Mapping[str, float]  #: every metric of the answer
    when: str  #: UTC, ISO 8601
    machine: Mapping[str, str | int | None]  #: platform, processors and versions
    code: str = ""  #: of the solver, see `registry.code_of`; empty in files of formats 1 and 2
    #: 1, 2, ...: a run that is made again has another row; the newest counts.
    attempt: int = 1
    traceback: str = ""  #: where the solver raised; empty unless it did
    #: What the verified checker has proven from the certificate, a fraction; empty if it was not asked.
    verified_bound: str = ""
    #: The SHA-256 of the lines of the problem that the verified checker has read.
    verified_digest: str = ""

    @property
    def overran(self) -> bool:
        """Whether a search took longer than its limit, by more than a tenth of it and a tenth of a second.

        A policy of one's own does not search: it has run to the end of the workload.
        """
        if self.runtime_s <= 1.1 * self.seconds + 0.1 or self.solver_repr.startswith(_ADAPTED_POLICY):
            return False
        with suppress(AllocsolveError):  # its family may not be installed here
            return searches(self.solver, family_named(self.kind))
        return True

    @property
    def is_unsupported(self) -> bool:
        """Whether the solver said that it does not take problems of this sort."""
        return self.error.startswith(f"{UnsupportedProblem.__name__}: ")

    @property
    def key(self) -> RecordKey:
        """What the row is found by."""
        return RecordKey._make(getattr(self, name) for name in RecordKey._fields)
