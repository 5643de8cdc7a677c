"""Records: named numbers that kernels take as one pointer, and lists of them as one array.

A class of annotations says what a record holds::

    class Running(Record):
        end: float
        job: int

Kernels read and write fields by name, ``running[0].end``, Python by text, ``running["end"]``: the column of
a list, or the number of a single record.
"""

from __future__ import annotations

import functools
from collections import namedtuple
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, overload

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


class Record:
    """Named numbers of 64 bits, as annotated: ``float`` or ``int``."""

    #: How numpy holds them.
    layout: ClassVar[np.dtype[Any]]

    def __init_subclass__(cls) -> None:
        kinds = {"float": np.float64, "int": np.int64}
        fields = [(name, kinds[text]) for name, text in cls.__annotations__.items()]
        cls.layout = np.dtype(fields, align=True)

    if TYPE_CHECKING:

        def __getitem__(self, field: str) -> Any: ...  # noqa: ANN401 - a float or an integer
        def __setitem__(self, field: str, value: float) -> None: ...


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
    made: R = np.zeros(1, kind.layout)[0]
    return made


def records(
    kind: type[R], count: int, *, frozen: bool = False, **columns: NDArray[Any] | float
) -> Records[R]:
    """Return a list of records of zeros, except for these columns, each a number or a number per record.

    `kind` is their class; with `frozen` the list is read-only.
    """
    made: Any = np.zeros(count, kind.layout)
    single: dict[str, float] = {}
    whole: dict[str, NDArray[Any]] = {}
    for name, values in columns.items():
        if isinstance(values, int | float):
            single[name] = values
        else:
            whole[name] = values
    if single:
        # copying a record at a time is several times faster than a column at a time
        made.view(np.int64).reshape(count, len(made.dtype))[:] = _bits(made.dtype, tuple(single.items()))
    for name, column in whole.items():
        made[name] = column
    if frozen:
        made.setflags(write=False)
    listed: Records[R] = made
    return listed


def numbers(values: R) -> R:
    """Return the numbers of a record as attributes: reading all at once is faster than three one by one."""
    plain: Any = values
    made: R = _tuple_of(plain.dtype.names)._make(plain.item())
    return made


@functools.cache
def _tuple_of(names: tuple[str, ...]) -> Any:  # noqa: ANN401 - a class with these fields
    return namedtuple("Numbers", names)  # noqa: PYI024 - the fields are listed once, by the record


@functools.lru_cache(maxsize=64)
def _bits(layout: np.dtype[Any], fields: tuple[tuple[str, float], ...]) -> NDArray[np.int64]:
    """Return a record with these numbers, as integers with the same bits."""
    made: Any = np.zeros(1, layout)
    for name, value in fields:
        made[name] = value
    bits: NDArray[np.int64] = made.view(np.int64)
    bits.setflags(write=False)
    return bits
