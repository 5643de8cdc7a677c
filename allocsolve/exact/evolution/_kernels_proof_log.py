"""The clauses that the conflict search learns, noted for a proof: in a buffer, then as bytes.

The buffer holds, for each clause, the number of its facts and then the facts (arc, value). A noted clause has
a number below 0 until the buffer is emptied: -1 for the first one in it, -2 for the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.exact.evolution._kernels_closure import LOGGED, NOTED
from allocsolve.kernels import inner_kernel, kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from allocsolve.exact.evolution._kernels_offsets import Engine
    from allocsolve.model import IntArray

#: The last two bits of an item of a proof; see docs/formats.md.
HORIZON, COVER, CLAUSE, DELETION = range(4)


@inner_kernel
def note_clause(e: Engine, clause: int) -> None:
    """Note a clause that has just been derived; the buffer has room for it."""
    state, log, facts = e.state, e.log, e.clause_facts
    begin, end = e.clause_offsets[clause], e.clause_offsets[clause + 1]
    to = state[LOGGED]
    log[to] = end - begin
    to += 1
    for at in range(begin, end):
        log[to], log[to + 1] = facts[at, 0], facts[at, 1]
        to += 2
    state[LOGGED] = to
    state[NOTED] += 1
    e.clause_number[clause] = -state[NOTED]


@inner_kernel
def _put(out: NDArray[np.uint8], to: int, number: int) -> int:
    """Write a number >= 0, seven bits to a byte, the lowest first; return the place behind it."""
    while number > 127:
        out[to] = (number & 127) | 128
        number >>= 7
        to += 1
    out[to] = number
    return to + 1


@kernel
def encode(log: NDArray[np.int32], deleted: IntArray, last: int, out: NDArray[np.uint8]) -> int:
    """Write the items of a buffer, then those of deleted clauses; return the number of bytes.

    The facts of each clause are sorted by their arcs in the buffer. `last` is the number of the clause that
    was deleted before. An item takes at most 5 bytes for each number in it.
    """
    at = to = 0
    while at < len(log):
        count = log[at]
        begin, end = at + 1, at + 1 + 2 * count
        to = _put(out, to, int(count) << 2 | CLAUSE)
        for fact in range(begin + 2, end, 2):
            arc, value = log[fact], log[fact + 1]
            place = fact
            while place > begin and log[place - 2] > arc:
                log[place], log[place + 1] = log[place - 2], log[place - 1]
                place -= 2
            log[place], log[place + 1] = arc, value
        for fact in range(begin, end, 2):
            value = int(log[fact + 1])
            to = _put(out, to, int(log[fact]))
            to = _put(out, to, 2 * value if value >= 0 else -2 * value - 1)
        at = end
    for number in deleted:
        step = number - last
        to = _put(out, to, (2 * step if step >= 0 else -2 * step - 1) << 2 | DELETION)
        last = number
    return to
