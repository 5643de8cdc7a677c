"""Equality, hashes and copies of what holds arrays and mappings, which have none of their own."""

from __future__ import annotations

from dataclasses import fields
from types import MappingProxyType
from typing import Any

import numpy as np


class Keyed:
    """What is equal if its keys are."""

    __slots__ = ()

    def _key(self) -> tuple[object, ...]:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())


class Rebuilt:
    """A dataclass that is copied and pickled by construction, so that arrays stay read-only."""

    __slots__ = ()

    def _given(self) -> dict[str, Any]:
        """Return the values of the fields that it is made of."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init}  # type: ignore[arg-type]  # a mixin

    def __reduce__(self) -> tuple[object, ...]:
        values = {
            name: dict(each) if isinstance(each, MappingProxyType) else each
            for name, each in self._given().items()
        }
        return _rebuilt, (type(self), values)


def _rebuilt(kind: type[Any], values: dict[str, Any]) -> Any:  # noqa: ANN401 - of that type
    return kind(**values)


class KeyedByFields(Keyed, Rebuilt):
    """A dataclass that is equal if its fields are, arrays included; where it comes from does not count."""

    __slots__ = ()

    def _key(self) -> tuple[object, ...]:
        values = (value for name, value in self._given().items() if name != "meta")
        return tuple(value.tobytes() if isinstance(value, np.ndarray) else value for value in values)


class OfArrays(Rebuilt):
    """A dataclass of arrays, some perhaps None, that is equal if these are; NaN is equal to NaN."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        pairs = zip(self._given().values(), other._given().values(), strict=True)
        return all(
            mine is theirs
            if mine is None or theirs is None
            else np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
            for mine, theirs in pairs
        )

    def __hash__(self) -> int:
        # Numbers with a fraction may be equal whose bytes differ: 0 and -0.
        arrays = (array for array in self._given().values() if array is not None)
        return hash(tuple(array.tobytes() for array in arrays if array.dtype.kind == "i"))
