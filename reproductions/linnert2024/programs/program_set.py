"""Programs as arrays: the kinds of Linnert et al. 2024, and the different programs of a problem."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, pairwise, starmap
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.model import PROGRAM_KINDS, frozen
from allocsolve.model.checks import integer, shown
from reproductions.linnert2024.programs._kernels_programs import STEPS, linked, waves, worker_rounds
from reproductions.linnert2024.programs.program import OPERATIONS, RECEIVE, SEND, Program
from reproductions.linnert2024.programs.state import Programs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from allocsolve.model import BoolArray, FloatArray, IntArray, ReservationProblem
    from reproductions.linnert2024.programs.program import Operation

#: This kind and the kinds after it are random: a program is drawn for each job.
FIRST_DRAWN: Final = 2

#: The largest number of workers that a process of kind 2 has at a time, and of processes of kind 3 per booked
#: node: choices, as the paper describes the kinds in words only.
_MAX_WORKERS = 6
_MAX_PER_NODE = 6


def linnert_program(kind: int, nodes: int, job_idx: int, seed: int = 0) -> Program:
    """Return the program of a job that books `nodes` nodes.

    Parameters
    ----------
    kind
        ``0``: a root gives work to all others and gathers what they have done. ``1``: bulk-synchronous, ten
        supersteps of computing, after each of which all processes exchange their results (in rounds of
        doubling distance). ``2``: as many processes as nodes, ten rounds, in each of which a process may fork
        a few workers, and sends a message to a process that is drawn. ``3``: a single process at first, and
        ten waves of trees of forked processes, one of which has the largest width.
    nodes
        Number of booked nodes, >= 1.
    job_idx, seed
        The job and the seed from which the random parts of kinds 2 and 3 are drawn.

    Notes
    -----
    Uniform numbers u on [0, 1) are drawn one after the other from `numpy.random.default_rng` with the seed
    7919 job_idx + 104729 seed + 17; an integer up to k is 1 + floor(u k), a work is 0.5 + u.

    Kind 2 draws the largest number of workers, up to 6; ten permutations, in each of which the last entry is
    exchanged with an entry up to it, then the last but one, and so on; then, process by process and round by
    round, whether there are workers (u < 0.5), if so their number and the work of each, and the work of the
    process. Kind 3 draws the size of the widest wave (6 u times nodes, rounded, at least 1); the place of
    that wave; the sizes of all waves (the one for that wave is not used); then, wave by wave, the work of
    each process, a parent before its first subtree and that before the second one.

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
    for name, (low, high) in limits.items():
        values[name] = integer(name, values[name], InvalidOption)
        if not low <= values[name] <= high:
            raise InvalidOption(f"{name} {shown(values[name])} is not in {low}..{high}")
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
    """Return an operation as programs take it: its name, then its target and its amount if it has them."""
    name, has_target, has_amount = OPERATIONS[code]
    return (name, *(target,) * has_target, *(amount,) * has_amount)


def linnert_arrays(
    kind: int, nodes: int, job_idx: int, seed: int
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return offsets, codes, targets and amounts of a program, see `linnert_program`."""
    if kind < FIRST_DRAWN:
        return _fixed_arrays(kind, nodes)
    generator = np.random.default_rng(7919 * job_idx + 104729 * seed + 17)
    if kind == FIRST_DRAWN:
        max_workers = 1 + int(generator.random() * _MAX_WORKERS)
        draws = generator.random(STEPS * nodes * (4 + max_workers))
        return worker_rounds(draws, nodes, max_workers)
    widest = max(1, round(nodes * _MAX_PER_NODE * generator.random()))
    full = int(generator.random() * STEPS)
    sizes = 1 + (generator.random(STEPS) * widest).astype(np.int64)
    sizes[full] = widest
    return waves(generator.random(int(sizes.sum())), sizes)


@lru_cache(maxsize=512)
def _fixed_arrays(kind: int, nodes: int) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return the arrays of a program of kind 0 or 1, which have no random parts."""
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
    flat = np.array([operation for row in rows for operation in row])
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return (
        frozen(offsets),
        frozen(flat[:, 0].astype(np.int64)),
        frozen(flat[:, 1].astype(np.int64)),
        frozen(flat[:, 2].copy()),
    )


#: The arrays of a program: offsets, codes, targets and amounts, then parents, weights, first messages and
#: receivers.
_Piece: TypeAlias = (
    "tuple[IntArray, IntArray, IntArray, FloatArray, IntArray, FloatArray, IntArray, IntArray]"
)


class ProgramSet(NamedTuple):
    """The different programs of some jobs."""

    arrays: Programs
    of_job: IntArray  #: shape (jobs,): the index of the program of each job
    names: tuple[object, ...]  #: by program; programs with the same name are equal, in all problems


def program_set(
    problem: ReservationProblem, job_idxs: Sequence[int], programs: Mapping[int, Program]
) -> ProgramSet:
    """Return the different programs of some jobs, each of which must have a program.

    A job runs the program that `programs` has for its index, else one of its kind. Equal programs are shared,
    programs of the kinds 0 and 1 by the number of nodes.
    """
    index: dict[object, int] = {}
    names: list[object] = []
    pieces: list[_Piece] = []
    of_job = np.empty(len(job_idxs), dtype=np.int64)
    for k, idx in enumerate(job_idxs):
        job, own = problem.jobs[idx], programs.get(idx)
        kind = job.program
        key: object = own
        if own is None:
            assert kind is not None, "each of these jobs has a program"
            key = (kind, job.nodes) if kind < FIRST_DRAWN else (kind, job.nodes, idx, problem.program_seed)
        if key not in index:
            index[key] = len(pieces)
            names.append(key)
            if own is not None:
                pieces.append(_piece(*own.packed[:4]))
            elif kind is not None:
                pieces.append(_piece(*linnert_arrays(kind, job.nodes, idx, problem.program_seed)))
        of_job[k] = index[key]
    return ProgramSet(_joined(pieces), of_job, tuple(names))


def forking(programs: Programs) -> BoolArray:
    """Return the mask of the programs that fork. Shape (programs,)."""
    forked: BoolArray = np.maximum.reduceat(programs.parent, programs.process_at[:-1]) >= 0
    return forked


def _piece(offsets: IntArray, code: IntArray, target: IntArray, amount: FloatArray) -> _Piece:
    """Return the arrays of a program with its channels renumbered from 0, and the links between its parts."""
    messages = (code == SEND) | (code == RECEIVE)
    channels, numbers = np.unique(target[messages], return_inverse=True)
    target = target.copy()
    target[messages] = numbers
    arrays = frozen(offsets), frozen(code), frozen(target), frozen(amount)
    return (*arrays, *linked(*arrays, len(channels)))


def _joined(pieces: list[_Piece]) -> Programs:
    """Return programs in one set of arrays, one after the other."""

    def column(at: int) -> IntArray:
        empty = np.zeros(0, dtype=np.int64)
        return frozen(np.concatenate([piece[at] for piece in pieces]) if pieces else empty)

    def floats(at: int) -> FloatArray:
        return frozen(np.concatenate([piece[at] for piece in pieces]) if pieces else np.zeros(0))

    def ends(lengths: list[int]) -> IntArray:
        return frozen(np.cumsum([0, *lengths], dtype=np.int64))

    begins = ends([len(piece[1]) for piece in pieces])
    operation_at = [piece[0][:-1] + begin for piece, begin in zip(pieces, begins, strict=False)]
    return Programs(
        process_at=ends([len(piece[4]) for piece in pieces]),
        channel_at=ends([len(piece[7]) for piece in pieces]),
        num_messages=frozen(np.array([piece[6][-1] for piece in pieces], dtype=np.int64)),
        operation_at=frozen(np.concatenate([*operation_at, begins[-1:]])),
        code=column(1),
        target=column(2),
        amount=floats(3),
        parent=column(4),
        weight=floats(5),
        first_message=frozen(
            np.concatenate([piece[6][:-1] for piece in pieces]) if pieces else np.zeros(0, dtype=np.int64)
        ),
        receiver=column(7),
    )
