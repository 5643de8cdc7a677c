"""Columns of jobs: given values become read-only arrays, or one line says why they cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from allocsolve.errors import InvalidAnswer, InvalidProblem
from allocsolve.model.arrays import MAX_INTEGER, IntArray, array_of, frozen
from allocsolve.model.checks import items, shown
from allocsolve.model.speedup import (
    AMDAHL,
    OVERHEAD,
    POWER,
    SPEEDUP_TABLE,
    Amdahl,
    Overhead,
    PowerLaw,
    SpeedupTable,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from allocsolve.model.speedup import Speedup

#: Seconds that may have fractions, weights.
FloatArray: TypeAlias = NDArray[np.float64]


def packed_speedups(speedups: Sequence[Speedup | None], nodes: IntArray) -> dict[str, Any]:
    """Return the columns of `allocsolve.model.PackedJobs` with the speedup laws of jobs on these nodes."""
    count = len(nodes)
    codes, parameters = np.zeros(count, dtype=np.int64), np.zeros(count)
    sizes = np.zeros(count + 1, dtype=np.int64)
    rows: list[tuple[int, float]] = []
    for idx, law in enumerate(speedups[:count]):
        if isinstance(law, Amdahl):
            codes[idx], parameters[idx] = AMDAHL, law.parallel
        elif isinstance(law, PowerLaw):
            codes[idx], parameters[idx] = POWER, law.exponent
        elif isinstance(law, SpeedupTable):
            codes[idx], sizes[idx + 1] = SPEEDUP_TABLE, len(law.rows)
            rows += law.rows
        elif isinstance(law, Overhead):
            codes[idx], parameters[idx] = OVERHEAD, law.per_node(max(int(nodes[idx]), 1))
        elif law is not None:
            msg = f"speedup {shown(law)} of job {idx} is none of Amdahl, PowerLaw, SpeedupTable and Overhead"
            raise InvalidProblem(msg)
    return {
        "speedup": frozen(codes),
        "parameter": frozen(parameters),
        "table_offsets": frozen(np.cumsum(sizes)),
        "table_nodes": frozen(np.array([number for number, _ in rows], dtype=np.int64)),
        "table_seconds": frozen(np.array([seconds for _, seconds in rows], dtype=np.float64)),
    }


def within(values: FloatArray, low: float) -> NDArray[np.bool_]:
    """Return which values are in low..2^53."""
    inside: NDArray[np.bool_] = (values >= low) & (values <= MAX_INTEGER)
    return inside


def are_exact(columns: Iterable[FloatArray], latest: float) -> bool:
    """Return whether times are multiples of a quarter of a second, and differences of them are not rounded.

    Doubles hold quarters up to 2^51 s. Where times, up to the `latest`, go beyond, they must be whole.
    """
    unit = 4 if latest <= MAX_INTEGER / 4 else 1
    return all(bool((unit * column % 1 == 0).all()) for column in columns)


def positive(values: FloatArray) -> NDArray[np.bool_]:
    """Return which values are above 0 and at most 2^53."""
    return within(values, 0) & (values > 0)


def seconds_column(what: str, values: object) -> FloatArray:
    """Return numbers as a read-only column; other values are refused."""
    array = array_of(values if isinstance(values, np.ndarray) else list(items(what, values)))  # type: ignore[arg-type]
    if array.ndim != 1 or (array.dtype.kind not in "iuf" and array.size):
        msg = f"{what} {shown(values)} are not numbers"
        raise InvalidProblem(msg)
    return frozen(array.astype(np.float64))


def times_column(what: str, values: object, *, has_gaps: bool = False) -> FloatArray:
    """Return numbers as a read-only column; finite ones, or NaN where there may be gaps."""
    array = array_of(values)
    if array.dtype.kind not in "iuf" and array.size:
        msg = f"{what} {shown(values)} are not numbers"
        raise InvalidAnswer(msg)
    column = array.astype(np.float64)
    strange = ~(np.abs(column) <= MAX_INTEGER)
    if has_gaps:
        strange &= ~np.isnan(column)
    if strange.any():
        msg = f"{what} {shown(values)} are not all in -2^53..2^53"
        raise InvalidAnswer(msg)
    column.setflags(write=False)
    return column


def counts_column(what: str, values: object) -> IntArray:
    """Return whole numbers as a read-only column."""
    numbers = seconds_column(what, values)
    good = within(numbers, -MAX_INTEGER) & (numbers == np.floor(numbers))
    if not good.all():
        idx = int(np.argmin(good))
        msg = f"job {idx}: {what} {shown(plain(numbers[idx]))} is not an integer up to 2^53"
        raise InvalidProblem(msg)
    return frozen(numbers.astype(np.int64))


def texts_column(what: str, values: Iterable[Any], *, none: bool = False) -> tuple[Any, ...]:
    """Return texts, and None where it is allowed."""
    texts = items(what, values)
    if {*map(type, texts)} <= {str, *([type(None)] if none else [])}:  # faster than a look at each
        return texts
    for idx, text in enumerate(texts):
        if not (isinstance(text, str) or (none and text is None)):
            msg = f"job {idx}: {what} {shown(text)} is not of the type str"
            raise InvalidProblem(msg)
    return texts


def plain(number: Any) -> Any:  # noqa: ANN401 - an integer if it is whole
    """Return a number, of an array or Python's, as an integer if it is whole, else as a float."""
    return int(number) if float(number).is_integer() else float(number)
