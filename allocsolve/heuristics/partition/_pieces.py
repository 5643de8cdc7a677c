"""Work in pieces, between which an allocator looks at the clock."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model.result import Clock

#: About how many seconds a piece takes: short against any budget, long against a look at the clock.
_PACE = 0.01


def pieces(count: int, clock: Clock) -> Iterator[slice]:
    """Yield slices that make up ``range(count)``: the first in any case, others while there is time.

    Their lengths follow from the times of those before. Without a limit there is one slice.
    """
    started, done = clock.elapsed, 0
    length = 1 if math.isfinite(clock.remaining) else count
    while done < count and (clock.remaining or not done):
        end = min(done + length, count)
        yield slice(done, end)
        done = end
        length = 1 + int(_PACE * done / (clock.elapsed - started + 1e-9))
