"""The programs of a problem as arrays, each of them once."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, pairwise, starmap
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.heuristics.programs._kernels_programs import STEPS, linked, waves, worker_rounds
from allocsolve.heuristics.programs.state import Programs
from allocsolve.model import PROGRAM_KINDS, Program
from allocsolve.model.arrays import frozen
from allocsolve.model.checks import integer, shown
from allocsolve.model.program import OPERATIONS, RECEIVE, SEND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from allocsolve.model import BoolArray, FloatArray, IntArray, ReservationProblem
    from allocsolve.model.program import Operation

__all__ = [
    "FIRST_DRAWN",
    "ProgramSet",
    "forking",
    "linnert_arrays",
    "linnert_program",
    "program_of",
    "program_set",
]

#: This kind and those behind it are drawn, for each job anew.
FIRST_DRAWN: Final = 2

#: A process of kind 2 has 1 to this many workers at a time, a process of kind 3 up to this many per node.
_MOST_WORKERS = 6
_MOST_PER_NODE = 6


def linnert_program(kind: int, nodes: int, job_idx: int, seed: int = 0) -> Program:
    """Return the program of a job that books so many nodes.

    Parameters
    ----------
    kind
        ``0``: a root gives work to all others and gathers what they have done. ``1``: bulk-synchronous, ten
        supersteps of computing, after each of which everybody hears of everybody's results (in rounds of
        doubling distance). ``2``: as many processes as nodes, ten rounds, in each of which a process may fork
        a few workers, and sends to another one that is drawn. ``3``: one process, ten waves of a tree of
        forked processes, of which one wave is as wide as any can be.
    nodes
        How many nodes are booked, >= 1.
    job_idx, seed
        From which the random parts of kinds 2 and 3 are drawn.

    Raises
    ------
    InvalidOption
        If a value is out of range.

    Notes
    -----
    Uniform numbers u on [0, 1) come one after the other from `numpy.random.default_rng` with the seed 7919
    job_idx + 104729 seed + 17; an integer up to k is 1 + floor(u k), a work is 0.5 + u.

    Kind 2: the most workers, up to 6; ten permutations, each by exchanging the last entry with one up to it,
    then the last but one, and so on; then process by process and round by round whether there are workers (u
    < 0.5), if so how many and the work of each, and its own work. Kind 3: the widest wave, the rounded 6 u
    times nodes, at least 1; which wave it is; the sizes of all waves, of which that one is not used; then
    wave by wave the work of each process, parents before their first subtree and that before the second.

    References
    ----------
    Linnert et al. 2024, section 2. The paper describes the kinds in words; sizes and weights are choices.

    Examples
    --------
    >>> program = linnert_program(0, 3, 0)
    >>> program.processes[0]
    (('send', 0, 1.0), ('send', 2, 1.0), ('compute', 1.0), ('receive', 1), ('receive', 3))
    >>> program.processes[2]
    (('receive', 2), ('compute', 1.0), ('send', 3, 1.0))
    """
    values = {"kind": kind, "nodes": nodes, "job_idx": job_idx, "seed": seed}
    limits = {"kind": (0, PROGRAM_KINDS - 1), "nodes": (1, 2**24), "job_idx": (0, 2**31), "seed": (0, 2**53)}
    for name, (least, most) in limits.items():
        values[name] = integer(name, values[name], InvalidOption)
        if not least <= values[name] <= most:
            msg = f"{name} {shown(values[name])} is not in {least}..{most}"
            raise InvalidOption(msg)
    offsets, code, target, amount = linnert_arrays(*values.values())
    rows = list(starmap(_operation, zip(code.tolist(), target.tolist(), amount.tolist(), strict=True)))
    return Program([rows[begin:end] for begin, end in pairwise(offsets.tolist())])


def program_of(*processes: Callable[[], Iterator[Operation]]) -> Program:
    """Return the program whose processes are functions that yield their operations.

    Examples
    --------
    >>> def pings():
    ...     for _ in range(3):
    ...         yield "compute", 1
    ...         yield "send", 0, 1
    >>> def hears():
    ...     for _ in range(3):
    ...         yield "receive", 0
    >>> program_of(pings, hears).work
    3.0
    """
    return Program([list(process()) for process in processes])


def _operation(code: int, target: int, amount: float) -> tuple[object, ...]:
    name, has_target, has_amount = OPERATIONS[code]
    return (name, *(target,) * has_target, *(amount,) * has_amount)


def linnert_arrays(
    kind: int, nodes: int, job_idx: int, seed: int
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return offsets, codes, targets and amounts of a program, see `linnert_program`."""
    if kind < FIRST_DRAWN:
        return _drawn_by_nobody(kind, nodes)
    generator = np.random.default_rng(7919 * job_idx + 104729 * seed + 17)
    if kind == FIRST_DRAWN:
        most = 1 + int(generator.random() * _MOST_WORKERS)
        draws = generator.random(STEPS * nodes * (4 + most))
        return worker_rounds(draws, nodes, most)
    widest = max(1, round(nodes * _MOST_PER_NODE * generator.random()))
    full = int(generator.random() * STEPS)
    sizes = 1 + (generator.random(STEPS) * widest).astype(np.int64)
    sizes[full] = widest
    return waves(generator.random(int(sizes.sum())), sizes)


@lru_cache(maxsize=512)
def _drawn_by_nobody(kind: int, nodes: int) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    if kind == 0:
        others = range(nodes - 1)
        root = [
            *((SEND, 2 * i, 1.0) for i in others),
            (0, -1, 1.0),
            *((RECEIVE, 2 * i + 1, 0.0) for i in others),
        ]
        rest = [[(RECEIVE, 2 * i, 0.0), (0, -1, 1.0), (SEND, 2 * i + 1, 1.0)] for i in others]
        rows = [root, *rest]
    else:
        distances = [2**r for r in range((nodes - 1).bit_length())]
        steps = [
            [
                (0, -1, 1.0),
                *chain.from_iterable(
                    ((SEND, r * nodes + i, 1.0), (RECEIVE, r * nodes + (i - far) % nodes, 0.0))
                    for r, far in enumerate(distances)
                ),
            ]
            for i in range(nodes)
        ]
        rows = [step * STEPS for step in steps]
    flat = np.array([row for one in rows for row in one])
    amount = flat[:, 2].copy()
    amount.setflags(write=False)
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return (
        frozen(offsets),
        frozen(flat[:, 0].astype(np.int64)),
        frozen(flat[:, 1].astype(np.int64)),
        amount,
    )


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
