"""Work in pieces, between which an allocator looks at the clock."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model.result import Clock

__all__ = ["pieces"]

#: Seconds that a piece takes, about.
_PACE = 0.01


def pieces(count: int, clock: Clock) -> Iterator[slice]:
    """Yield slices that make up ``range(count)``: the first in any case, others as long as there is time.

    Their lengths follow the time that those before took. Without a limit there is one.
    """
    started, done = clock.elapsed, 0
    length = 1 if math.isfinite(clock.remaining) else count
    while done < count and (clock.remaining or not done):
        end = min(done + length, count)
        yield slice(done, end)
        done = end
        length = 1 + int(_PACE * done / (clock.elapsed - started + 1e-9))
