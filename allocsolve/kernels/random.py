"""Random numbers, for kernels: a state of 64 bits that the caller keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.kernels.jit import inner_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


@inner_kernel
def uniform(random: NDArray[np.uint64]) -> float:
    """Return a random number in [0, 1), by xorshift64* (Vigna, ACM Trans. Math. Software 42(4), 2016)."""
    x = random[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    random[0] = x
    return float((x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(11)) / 9007199254740992.0
