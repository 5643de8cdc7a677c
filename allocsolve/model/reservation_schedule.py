"""Answers of reservation problems: what became of each job, and which nodes it held when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.model.arrays import MAX_INTEGER, IntArray, array_of, frozen, packed_integers
from allocsolve.model.checks import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from allocsolve.model.jobs import FloatArray
    from allocsolve.model.reservation import ReservationProblem

__all__ = ["BOOKED", "CANCELLED", "OUTCOMES", "REJECTED", "SUCCESSFUL", "Hold", "ReservationSchedule"]

#: What became of a job: not accepted; accepted and not executed; ended by itself in time; stopped.
REJECTED, BOOKED, SUCCESSFUL, CANCELLED = range(4)

#: The outcomes by their codes.
OUTCOMES: Final = ("rejected", "booked", "successful", "cancelled")


class Hold(NamedTuple):
    """A node that a job has for some time."""

    node: int
    start: float  #: seconds
    end: float  #: seconds


@dataclass(frozen=True, slots=True, eq=False)
class ReservationSchedule:
    """What became of each job, and which nodes it held when.

    Parameters
    ----------
    outcomes
        Shape (jobs,): `REJECTED`, `BOOKED`, `SUCCESSFUL` or `CANCELLED`.
    ends
        Shape (jobs,), seconds: when the job ended or was stopped; of a booked one, when its booking ends; NaN
        of a rejected one.
    offsets
        Shape (jobs + 1,): the holds of job ``j`` are ``offsets[j]:offsets[j + 1]``, ordered by start, then
        node.
    nodes
        Shape (holds,): node ids.
    hold_starts, hold_ends
        Shape (holds,), seconds: from when until when the job has the node.
    computed
        Shape (jobs,), node-seconds in which a process of the job computed on a node, as an execution claims
        them; None without an execution.

    Raises
    ------
    InvalidAnswer
        If the shapes do not belong together, or a value is none. Whether the schedule answers a problem is
        for the judge to say.

    Examples
    --------
    >>> from allocsolve.model import DeadlineJob, Mesh, ReservationProblem
    >>> problem = ReservationProblem(Mesh((2, 2)), [DeadlineJob(0, 2, 10, 10), DeadlineJob(0, 3, 5, 20)])
    >>> schedule = ReservationSchedule.of(problem, {0: (0, [0, 1])})
    >>> schedule.outcomes.tolist(), schedule.holds(0)
    ([1, 0], (Hold(node=0, start=0.0, end=10.0), Hold(node=1, start=0.0, end=10.0)))
    """

    outcomes: IntArray
    ends: FloatArray
    offsets: IntArray
    nodes: IntArray
    hold_starts: FloatArray
    hold_ends: FloatArray
    computed: FloatArray | None = None

    def __post_init__(self) -> None:
        for name in ("outcomes", "offsets", "nodes"):
            object.__setattr__(self, name, packed_integers(getattr(self, name), name))
        for name in ("hold_starts", "hold_ends"):
            object.__setattr__(self, name, _times(name, getattr(self, name)))
        object.__setattr__(self, "ends", _times("ends", self.ends, has_gaps=True))
        if self.computed is not None:
            object.__setattr__(self, "computed", _times("computed", self.computed))
        offsets, outcomes = self.offsets, self.outcomes
        if offsets.ndim != 1 or not len(offsets) or offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any():
            msg = "offsets must start at 0 and never fall"
            raise InvalidAnswer(msg)
        jobs = {outcomes.shape, self.ends.shape, (len(offsets) - 1,)}
        jobs |= set() if self.computed is None else {self.computed.shape}
        holds = {self.nodes.shape, self.hold_starts.shape, self.hold_ends.shape, (int(offsets[-1]),)}
        for what, shapes in (("jobs", jobs), ("holds", holds)):
            if len(shapes) > 1:
                msg = f"columns of {what} of the shapes {sorted(shapes)}"
                raise InvalidAnswer(msg)
        if ((outcomes < REJECTED) | (outcomes > CANCELLED)).any():
            msg = f"outcome {outcomes[(outcomes < REJECTED) | (outcomes > CANCELLED)][0]} is not in 0..3"
            raise InvalidAnswer(msg)

    @classmethod
    def of(
        cls, problem: ReservationProblem, bookings: Mapping[int, tuple[int, Iterable[int]]]
    ) -> ReservationSchedule:
        """Build a schedule of jobs that book their nodes from a start for their run time.

        Parameters
        ----------
        problem
            The problem.
        bookings
            Of each accepted job, by its index: its start (seconds) and its nodes.
        """
        count = len(problem.jobs)
        starts = np.zeros(count)
        sets: list[Sequence[int]] = [()] * count
        for idx, (start, nodes) in bookings.items():
            starts[idx], sets[idx] = start, sorted(nodes)
        outcomes = np.zeros(count, dtype=np.int64)
        outcomes[list(bookings)] = BOOKED
        sizes = [len(one) for one in sets]
        flat = [node for one in sets for node in one]
        return cls.of_sets(problem, outcomes, starts, np.cumsum([0, *sizes]), np.array(flat, dtype=np.int64))

    @classmethod
    def of_sets(
        cls,
        problem: ReservationProblem,
        outcomes: IntArray,
        starts: FloatArray | IntArray,
        offsets: IntArray,
        nodes: IntArray,
    ) -> ReservationSchedule:
        """Build a schedule of booked and rejected jobs from columns.

        Parameters
        ----------
        problem
            The problem.
        outcomes, starts
            Shape (jobs,): `REJECTED` or `BOOKED`, and the starts in seconds, which are not read of rejected
            jobs.
        offsets, nodes
            The nodes of job ``j`` are ``nodes[offsets[j]:offsets[j + 1]]``.
        """
        begins = np.asarray(starts, dtype=np.float64)
        finish = begins + problem.packed.runtime
        of = np.repeat(np.arange(len(outcomes)), np.diff(offsets))
        ends = np.where(outcomes == REJECTED, np.nan, finish)
        return cls(outcomes, ends, offsets, nodes, begins[of], finish[of])

    def holds(self, job_idx: int) -> tuple[Hold, ...]:
        """Return which nodes a job held when."""
        at = slice(self.offsets[job_idx], self.offsets[job_idx + 1])
        columns = (self.nodes[at].tolist(), self.hold_starts[at].tolist(), self.hold_ends[at].tolist())
        return tuple(Hold(*row) for row in zip(*columns, strict=True))

    @property
    def accepted(self) -> IntArray:
        """The indices of the jobs that are not rejected."""
        return frozen(np.flatnonzero(self.outcomes != REJECTED))

    @property
    def job_of_hold(self) -> IntArray:
        """Shape (holds,): the index of the job that holds the node."""
        return frozen(np.repeat(np.arange(len(self.outcomes)), np.diff(self.offsets)))

    @property
    def first_starts(self) -> FloatArray:
        """Shape (jobs,), seconds: when each job has its first node; NaN for one that never has any."""
        firsts = np.full(len(self.outcomes), np.nan)
        holding = self.offsets[1:] > self.offsets[:-1]
        if holding.any():
            firsts[holding] = np.minimum.reduceat(self.hold_starts, self.offsets[:-1][holding])
        return firsts

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReservationSchedule):
            return NotImplemented
        pairs = zip(self._arrays(), other._arrays(), strict=True)
        return all(
            one is two if one is None or two is None else np.array_equal(one, two, equal_nan=True)
            for one, two in pairs
        )

    def __hash__(self) -> int:
        return hash((self.outcomes.tobytes(), self.nodes.tobytes(), self.hold_starts.tobytes()))

    def __reduce__(self) -> tuple[object, ...]:
        """Copy and pickle by construction: the arrays stay read-only."""
        return type(self), self._arrays()

    def _arrays(self) -> tuple[IntArray | FloatArray | None, ...]:
        return (
            *(self.outcomes, self.ends, self.offsets, self.nodes),
            *(self.hold_starts, self.hold_ends, self.computed),
        )


def _times(what: str, values: object, *, has_gaps: bool = False) -> FloatArray:
    """Return numbers as a read-only column; finite ones, or NaN where there may be gaps."""
    array = array_of(values)
    if array.dtype.kind not in "iuf" and array.size:
        msg = f"{what} {shown(values)} are not numbers"
        raise InvalidAnswer(msg)
    column = array.astype(np.float64)
    strange = ~(np.abs(column) <= MAX_INTEGER)
    if has_gaps:
        strange &= ~np.isnan(column)
    if strange.any():
        msg = f"{what} {shown(values)} are not all in -2^53..2^53"
        raise InvalidAnswer(msg)
    column.setflags(write=False)
    return column
