"""Equality, hashes and copies of what consists of arrays, which have neither by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Keyed:
    """What is equal if its keys are."""

    __slots__ = ()

    def _key(self) -> tuple[object, ...]:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())


class OfArrays:
    """What is equal if its arrays are; copied and pickled by construction, so these stay read-only."""

    __slots__ = ()

    def _arrays(self) -> tuple[NDArray[Any], ...]:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return all(np.array_equal(*pair) for pair in zip(self._arrays(), other._arrays(), strict=True))

    def __hash__(self) -> int:
        return hash(tuple(array.tobytes() for array in self._arrays()))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), self._arrays()
