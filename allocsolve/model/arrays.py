"""The types of arrays and the limits of integers that all models share."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from allocsolve.errors import InvalidAnswer
from allocsolve.model.checks import shown

S = TypeVar("S", bound=np.generic)

#: Seconds, nodes, node ids and the like: 64-bit integers.
IntArray: TypeAlias = NDArray[np.int64]

#: A mask, such as one over the nodes of a machine.
BoolArray: TypeAlias = NDArray[np.bool_]

#: The largest time, node count or area: integers up to here survive JSON readers that use doubles.
MAX_INTEGER: Final = 2**53

#: Stands for "no limit on the duration of a step"; leaves room for sums in 64 bits.
UNLIMITED: Final = 2**62


def frozen(array: NDArray[S]) -> NDArray[S]:
    """Return the array itself, made read-only.

    Kernels are compiled per type of array, and read-only is part of the type: with frozen arrays throughout,
    each kernel is compiled once.
    """
    array.setflags(write=False)
    return array


def read_only_view(array: NDArray[S]) -> NDArray[S]:
    """Return a read-only view of an array; the array itself stays as it is."""
    return frozen(array.view())


def array_of(values: object) -> NDArray[Any]:
    """Return values as a new array; if rows differ in length, its shape is one that no caller accepts."""
    try:
        return np.array(values)
    except ValueError:
        return np.array(None)


def packed_integers(values: object, what: str = "values") -> IntArray:
    """Return whole numbers as a read-only int64 array; the input stays as it was, nothing is rounded.

    `InvalidAnswer` if a value is not a whole number of at most 64 bits.
    """
    array = array_of(values)
    if array.dtype == np.int64:
        return frozen(array)
    with np.errstate(invalid="ignore"):
        integers = array.astype(np.int64) if array.dtype.kind in "iuf" else None
    if integers is None or (integers != array).any():
        msg = f"{what} {shown(values)} are not integers of at most 64 bits"
        raise InvalidAnswer(msg)
    return frozen(integers)
