"""Records: named numbers that kernels take as one pointer, and lists of them as one array.

A class of annotations says what a record holds::

    class Running(Record):
        end: float
        job: int

Kernels read and write fields by name, ``running[0].end``, Python by text, ``running["end"]``: the column of
a list, or the number of a single record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Record", "Records", "record", "records"]


class Record:
    """Named numbers of 64 bits, as annotated: ``float`` or ``int``."""

    if TYPE_CHECKING:

        def __getitem__(self, field: str) -> Any: ...  # noqa: ANN401 - a float or an integer
        def __setitem__(self, field: str, value: float) -> None: ...
        def item(self) -> tuple[Any, ...]: ...  # noqa: D102 - of numpy: all numbers


R = TypeVar("R", bound=Record)


class Records(Protocol[R]):
    """A list of records, for type checkers: at run time it is an array of numpy."""

    @overload
    def __getitem__(self, place: int, /) -> R: ...
    @overload
    def __getitem__(self, field: str, /) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, places: slice, /) -> Records[R]: ...
    def __setitem__(self, place: int, value: R, /) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[R]: ...


def record(kind: type[R]) -> R:
    """Return a record of zeros."""
    made: R = np.zeros(1, _layout(kind))[0]
    return made


def records(kind: type[R], count: int, *, frozen: bool = False, **columns: ArrayLike) -> Records[R]:
    """Return a list of records: zeros but for these columns, each a number or one number per record.

    Parameters
    ----------
    kind
        What a record holds.
    count
        Of records.
    frozen
        Whether it is read-only.
    **columns
        By name of the field.
    """
    made: Any = np.zeros(count, _layout(kind))
    for name, values in columns.items():
        made[name] = values
    made.setflags(write=not frozen)
    listed: Records[R] = made
    return listed


def _layout(kind: type[Record]) -> np.dtype[Any]:
    numbers = {"float": np.float64, "int": np.int64}
    return np.dtype([(name, numbers[text]) for name, text in kind.__annotations__.items()], align=True)
