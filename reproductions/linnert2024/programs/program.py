"""Programs of parallel jobs: processes that compute, send and receive, fork and join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.model.arrays import IntArray, frozen
from allocsolve.model.checks import instance, integer, items, real, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from allocsolve.model.columns import FloatArray

#: What a process does next: ``("compute", work)``, ``("send", channel, weight)``, ``("receive", channel)``,
#: ``("fork", process, weight)`` or ``("join", process)``.
Operation: TypeAlias = (
    tuple[Literal["compute"], float]
    | tuple[Literal["send"], int, float]
    | tuple[Literal["receive"], int]
    | tuple[Literal["fork"], int, float]
    | tuple[Literal["join"], int]
)

#: The codes of operations in `PackedProgram`.
COMPUTE, SEND, RECEIVE, FORK, JOIN = range(5)

#: For each operation, in the order of the codes: its name, whether it has a target (a channel or a process),
#: and whether it has an amount (work, or the weight of a message).
OPERATIONS: Final = (
    ("compute", False, True),
    ("send", True, True),
    ("receive", True, False),
    ("fork", True, True),
    ("join", True, False),
)

_CODES: Final = {name: code for code, (name, _, _) in enumerate(OPERATIONS)}


class PackedProgram(NamedTuple):
    """A program as read-only arrays."""

    offsets: IntArray  #: shape (processes + 1,): the operations of process q are offsets[q]:offsets[q + 1]
    code: IntArray  #: shape (operations,): `COMPUTE` to `JOIN`
    target: IntArray  #: shape (operations,): channel of a message, process of a fork or join; -1 of work
    amount: FloatArray  #: shape (operations,): work, or weight of a message; 0 of a receive or join
    is_forked: IntArray  #: shape (processes,): 1 if another process forks it, 0 if it exists from the start


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """What the processes of a job do, as data.

    The processes that no other process forks exist from the start. ``compute`` takes its work in units of
    time on a core of its own. ``send`` puts a message into a channel, which keeps the order of what is sent
    into it; ``receive`` waits for the next message of a channel. ``fork`` starts a process, after its input
    has travelled to it; ``join`` waits for the end of a forked process and for its result, which weighs as
    much as its input. Work and weights are relative: a job's run time says how long they take.

    Parameters
    ----------
    processes
        The operations of each process, in order.

    Raises
    ------
    InvalidProblem
        If no process exists from the start, or an operation is malformed; if a process is forked
        twice, or joined by another process than the one that forked it, or before; if a channel has fewer
        messages than are received from it. The message names the process and the operation.

    Examples
    --------
    >>> program = Program([[("fork", 1, 1), ("compute", 2), ("join", 1)], [("compute", 3)]])
    >>> program.packed.code.tolist(), program.work
    ([3, 0, 4, 0], 5.0)
    """

    processes: tuple[tuple[Operation, ...], ...]
    _packed: PackedProgram

    def __init__(self, processes: Iterable[Sequence[object]]) -> None:
        rows = [
            [
                _operation(f"processes[{idx}][{at}]", operation)
                for at, operation in enumerate(_rows(idx, process))
            ]
            for idx, process in enumerate(items("processes", processes))
        ]
        object.__setattr__(self, "_packed", _packed(rows))
        named = tuple(tuple(_named(*row) for row in process) for process in rows)
        object.__setattr__(self, "processes", named)
        _check(rows)

    def __reduce__(self) -> tuple[object, ...]:
        """Copy and pickle by construction: the arrays stay read-only."""
        return type(self), (self.processes,)

    def __eq__(self, other: object) -> bool:
        return self.processes == other.processes if isinstance(other, Program) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.processes)

    @property
    def packed(self) -> PackedProgram:
        """The program as arrays."""
        return self._packed

    @property
    def work(self) -> float:
        """The sum of all work."""
        return float(self._packed.amount[self._packed.code == COMPUTE].sum())


def _rows(idx: int, process: object) -> tuple[object, ...]:
    return items(f"processes[{idx}]", process)  # type: ignore[arg-type]  # it is checked there


def _operation(place: str, operation: object) -> tuple[int, int, float]:
    """Return code, target and amount of an operation."""
    fields: tuple[object, ...] = items(place, operation)  # type: ignore[arg-type]  # it is checked there
    name = instance(f"{place}[0]", fields[0] if fields else None, str)
    if name not in _CODES:
        raise InvalidProblem(f"{place} {shown(name)} is none of {', '.join(_CODES)}")
    code = _CODES[name]
    _, has_target, has_amount = OPERATIONS[code]
    if len(fields) != 1 + has_target + has_amount:
        msg = f"{place} {shown(fields)} has {len(fields)} entries, {name} has {1 + has_target + has_amount}"
        raise InvalidProblem(msg)
    target = integer(f"{place}[1]", fields[1]) if has_target else -1
    amount = real(f"{place}[{1 + has_target}]", fields[-1]) if has_amount else 0.0
    if has_target and not 0 <= target < 2**31:
        raise InvalidProblem(f"{place}[1] {shown(target)} is not in 0..2^31 - 1")
    if not 0 <= amount < np.inf:
        raise InvalidProblem(f"{place}[{1 + has_target}] {shown(amount)} is not a finite number >= 0")
    return code, target, amount


def _named(code: int, target: int, amount: float) -> Operation:
    name, has_target, has_amount = OPERATIONS[code]
    return (name, *(target,) * has_target, *(amount,) * has_amount)  # type: ignore[return-value]  # the table of operations has the types


def _packed(rows: list[list[tuple[int, int, float]]]) -> PackedProgram:
    flat = [row for process in rows for row in process]
    code = np.array([row[0] for row in flat], dtype=np.int64)
    target = np.array([row[1] for row in flat], dtype=np.int64)
    amount = np.array([row[2] for row in flat], dtype=np.float64)
    amount.setflags(write=False)
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    forked = np.zeros(len(rows), dtype=np.int64)
    named = target[code == FORK]
    forked[named[named < len(rows)]] = 1
    return PackedProgram(frozen(offsets), frozen(code), frozen(target), amount, frozen(forked))


def _check(rows: list[list[tuple[int, int, float]]]) -> None:
    """Refuse programs whose processes or messages do not belong together."""
    parent: dict[int, int] = {}
    messages: dict[int, int] = {}
    for idx, process in enumerate(rows):
        joined: set[int] = set()
        for at, (code, target, _) in enumerate(process):
            place = f"processes[{idx}][{at}]"
            if code in {FORK, JOIN} and not (target < len(rows) and target != idx):
                raise InvalidProblem(f"{place}: there is no other process {target} among {len(rows)}")
            if code == FORK and parent.setdefault(target, idx * 2**32 + at) != idx * 2**32 + at:
                raise InvalidProblem(f"{place}: process {target} is forked twice")
            if code == JOIN:
                if parent.get(target, -1) >> 32 != idx or target in joined:
                    msg = f"{place}: process {target} is not forked here before, or joined twice"
                    raise InvalidProblem(msg)
                joined.add(target)
            if code in {SEND, RECEIVE}:
                messages[target] = messages.get(target, 0) + (1 if code == SEND else -1)
    if len(parent) == len(rows):
        raise InvalidProblem("every process is forked by another one: none is there from the start")
    short = next((channel for channel, left in messages.items() if left < 0), None)
    if short is not None:
        raise InvalidProblem(f"channel {short}: {-messages[short]} more messages are received than sent")
