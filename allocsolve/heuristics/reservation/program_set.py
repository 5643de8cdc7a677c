"""The programs of a problem as arrays, each of them once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from allocsolve.heuristics.reservation._kernels_machine import Programs
from allocsolve.heuristics.reservation._kernels_programs import linked
from allocsolve.heuristics.reservation.linnert_programs import FIRST_DRAWN, linnert_arrays
from allocsolve.model.arrays import frozen
from allocsolve.model.program import RECEIVE, SEND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import BoolArray, FloatArray, IntArray, ReservationProblem

__all__ = ["ProgramSet", "forking", "program_set"]

#: Of one program: offsets, codes, targets and amounts, then parents, weights, first messages and receivers.
_Piece: TypeAlias = (
    "tuple[IntArray, IntArray, IntArray, FloatArray, IntArray, FloatArray, IntArray, IntArray]"
)


class ProgramSet(NamedTuple):
    """Different programs of some jobs."""

    arrays: Programs
    of_job: IntArray  #: which program each of these jobs has
    names: tuple[object, ...]  #: of each program: programs of one name are equal, whatever the problem


def program_set(problem: ReservationProblem, job_idxs: Sequence[int]) -> ProgramSet:
    """Return the different programs of some jobs, all of which have one.

    Programs of users are shared by name, those of the kinds 0 and 1 by the number of nodes.
    """
    index: dict[object, int] = {}
    names: list[object] = []
    pieces: list[_Piece] = []
    of_job = np.empty(len(job_idxs), dtype=np.int64)
    for k, idx in enumerate(job_idxs):
        job = problem.jobs[idx]
        kind = job.program
        key: object = kind
        if isinstance(kind, int):
            key = (kind, job.nodes) if kind < FIRST_DRAWN else (kind, job.nodes, idx, problem.program_seed)
        if key not in index:
            index[key] = len(pieces)
            if isinstance(kind, str):
                packed = problem.programs[kind].packed
                pieces.append(_piece(packed.offsets, packed.code, packed.target, packed.amount))
                names.append(problem.programs[kind])
            else:
                assert kind is not None
                pieces.append(_piece(*linnert_arrays(kind, job.nodes, idx, problem.program_seed)))
                names.append(key)
        of_job[k] = index[key]
    return ProgramSet(_joined(pieces), of_job, tuple(names))


def forking(programs: Programs) -> BoolArray:
    """Return which programs fork."""
    forked: BoolArray = np.maximum.reduceat(programs.parent, programs.process_at[:-1]) >= 0
    return forked


def _piece(offsets: IntArray, code: IntArray, target: IntArray, amount: FloatArray) -> _Piece:
    """Return a program with its channels numbered, and what belongs together in it."""
    messages = (code == SEND) | (code == RECEIVE)
    channels, numbers = np.unique(target[messages], return_inverse=True)
    target = target.copy()
    target[messages] = numbers
    arrays = frozen(offsets), frozen(code), frozen(target), frozen(amount)
    return (*arrays, *linked(*arrays, len(channels)))


def _joined(pieces: list[_Piece]) -> Programs:
    def column(at: int) -> IntArray:
        return frozen(np.concatenate([one[at] for one in pieces]) if pieces else np.zeros(0, dtype=np.int64))

    def floats(at: int) -> FloatArray:
        return frozen(np.concatenate([one[at] for one in pieces]) if pieces else np.zeros(0))

    def ends(lengths: list[int]) -> IntArray:
        return frozen(np.cumsum([0, *lengths], dtype=np.int64))

    begins = ends([len(one[1]) for one in pieces])
    operation_at = [one[0][:-1] + begin for one, begin in zip(pieces, begins, strict=False)]
    return Programs(
        process_at=ends([len(one[4]) for one in pieces]),
        channel_at=ends([len(one[7]) for one in pieces]),
        num_messages=frozen(np.array([one[6][-1] for one in pieces], dtype=np.int64)),
        operation_at=frozen(np.concatenate([*operation_at, begins[-1:]])),
        code=column(1),
        target=column(2),
        amount=floats(3),
        parent=column(4),
        weight=floats(5),
        first_message=frozen(
            np.concatenate([one[6][:-1] for one in pieces]) if pieces else np.zeros(0, dtype=np.int64)
        ),
        receiver=column(7),
    )
