"""Tables: columns of equal length, as CSV files and data frames have them, read with every fault named.

A table is turned into the fields of a JSON document, which the codec of the family checks; what it finds is
told by the row of the table.
"""

from __future__ import annotations

import csv
import io
import math
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import FormatError
from allocsolve.instances.formats.files import read_input, replace_file, show, unpacked_path
from allocsolve.model import MAX_INTEGER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from allocsolve.families import TableFormat
    from allocsolve.instances.formats.files import PathLike

#: The largest file: a million rows or so. A row takes far more room than its text.
_MAX_BYTES: Final = 2**25
_NUMBER: Final = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?[iI]nf", re.ASCII)
_MISSING: Final = ("", "NA", "NaN", "nan")
_FLAGS: Final = {"true": True, "false": False}


class Rows:
    """The rows of a table while they become the fields of a JSON document; faults are kept.

    Parameters
    ----------
    columns
        Lists of equal length; a missing cell is None.
    places
        What messages call each row, such as ``line 2``.
    """

    def __init__(self, columns: Mapping[str, Sequence[Any]], places: Sequence[str]) -> None:
        self._columns, self._places = columns, places
        self._filled: dict[str, Sequence[Any]] = {}
        self._origins: dict[str, int] = {}
        self.faults: list[str] = []

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, column: str) -> bool:
        return column in self._columns

    def column(self, name: str, default: object = None) -> Sequence[Any]:
        """Return a column, with the default in missing cells."""
        if name not in self._filled:
            cells = self._columns.get(name, [None] * len(self))
            self._filled[name] = [default if cell is None else cell for cell in cells]
        return self._filled[name]

    def starting(self, beginning: str) -> list[str]:
        """Return the names of the columns that begin so."""
        return [name for name in self._columns if name.startswith(beginning)]

    def constant(self, name: str, default: object, rows: Iterable[int] | None = None) -> Any:  # noqa: ANN401 - any cell
        """Return the one value that a column has in these rows, in all of them if None."""
        cells = self.column(name, default)
        first, *others = range(len(self)) if rows is None else rows
        for row in others:
            if cells[row] != cells[first]:
                self.add(row, f"{name} {show(cells[row])}, but {show(cells[first])} in {self._places[first]}")
                break
        return cells[first]

    def flag(self, name: str, row: int, value: object) -> bool:
        """Return a truth value, which a table may also write as 0 or 1."""
        if value not in (0, 1):
            self.add(row, f"{name} must be 0 or 1, not {show(value)}")
        return value == 1

    def add(self, row: int, fault: str) -> None:
        """Note a fault of a row."""
        self.faults.append(f"{self._places[row]}: {fault}")

    def comes_from(self, path: str, row: int) -> None:
        """Remember which row a field of the document was made of."""
        self._origins[path] = row

    def finish(self, source: str, more: Iterable[str] = ()) -> None:
        """Raise a FormatError that names every fault, also those that a codec has found in the fields."""
        faults = [*self.faults, *map(self._by_row, more)]
        if faults:
            raise FormatError(source, faults)

    def _by_row(self, fault: str) -> str:
        """Return a fault with the row in place of the path that was made of it, and the name of the field."""
        path, _, text = fault.partition(": ")
        name = ""
        while path and path not in self._origins:
            name = match[1] if not name and (match := re.search(r"\.(\w+)$", path)) else name
            path = re.sub(r"(\.?\w+|\[\d+\])$", "", path) if re.search(r"[\w\]]$", path) else ""
        if not path:
            return fault
        is_nameless = re.match(r"must |\S+ is (below|beyond|not above|none of|no multiple)", text)
        noun = f"{name} " if name and is_nameless else ""
        return f"{self._places[self._origins[path]]}: {noun}{text}"


def is_table(path: PathLike) -> bool:
    """Tell whether a file is a table by the end of its name, before ``.gz``."""
    return unpacked_path(path).suffix.lower() == ".csv"


def read_rows(path: PathLike, choices: Collection[TableFormat]) -> tuple[TableFormat, Rows]:
    """Read a CSV file with a line of column names, and find out which of the formats it is in.

    Raises `FormatError` if the file cannot be read, is no table of equally long lines, or fits no format.
    """
    faults: list[str] = []
    lines: list[list[str]] = []
    places: list[str] = []
    try:
        text = read_input(path, _MAX_BYTES).decode("utf-8-sig")  # some programs begin with a mark
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        for line in reader:
            if line:
                lines.append(line)
                places.append(f"line {reader.line_num}")
    except OSError as error:
        faults = [f"cannot be read: {error.strerror}"]
    except UnicodeDecodeError as error:
        faults = [f"byte {error.start}: 0x{error.object[error.start]:02x} is not UTF-8"]
    except csv.Error as error:
        faults = [f"line {reader.line_num}: {error}"]
    if not faults and not lines:
        faults = ["is empty"]
    if faults:
        raise FormatError(str(path), faults)
    names = [name.strip() for name in lines[0]]
    faults = [
        f"{place}: {len(line)} cells for {len(names)} columns"
        for place, line in zip(places, lines, strict=True)
        if len(line) != len(names)
    ]
    faults += [f"the column {show(name)} stands twice" for name in {*names} if names.count(name) > 1]
    chosen = _fitting(names, choices, str(path), faults)
    cells = zip(*lines[1:], strict=True) if len(lines) > 1 else [()] * len(names)
    columns = {
        name: [cell if name in chosen.texts else _parsed(cell) for cell in column]
        for name, column in zip(names, cells, strict=True)
    }
    return chosen, Rows(columns, places[1:])


def rows_of(
    columns: Mapping[str, Any], choices: Collection[TableFormat], source: str
) -> tuple[TableFormat, Rows]:
    """Return the rows of columns (arrays, lists; a single value stands for a column of it), and their format.

    Raises `FormatError` if the columns differ in length, or fit no format.
    """
    arrays = {str(name): _array(columns[name]) for name in columns}
    faults = [f"{name} has shape {array.shape}" for name, array in arrays.items() if array.ndim > 1]
    lengths = {name: len(array) for name, array in arrays.items() if array.ndim == 1}
    length = next(iter(lengths.values()), 1)
    faults += [f"{length} rows, but {n} of {name}" for name, n in lengths.items() if n != length]
    chosen = _fitting(list(arrays), choices, source, faults)
    cells = {name: np.broadcast_to(array, (length,)).tolist() for name, array in arrays.items()}
    plain = {
        name: [_plain(cell, as_text=name in chosen.texts) for cell in column]
        for name, column in cells.items()
    }
    return chosen, Rows(plain, [f"row {row}" for row in range(length)])


def _array(cells: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401 - whatever numpy takes
    return np.asarray(cells, dtype=object if isinstance(cells, list | tuple) else None)


def _fitting(
    names: Sequence[str], choices: Collection[TableFormat], source: str, faults: list[str]
) -> TableFormat:
    """Return the format that has these columns; if none has, the fault is about the one that fits best."""
    chosen = max(choices, key=lambda choice: len({*choice.required} & {*names}) / len(choice.required))
    known = (*chosen.required, *chosen.optional)
    faults = [f"there is no column {show(name)}" for name in chosen.required if name not in names] + faults
    strange = [show(name) for name in names if not (name in known or name.startswith(chosen.beginnings))]
    if strange and not chosen.is_open:
        faults.append(f"unknown column {', '.join(strange)}; known: {', '.join(known)}")
    if faults:
        raise FormatError(source, faults)
    return chosen


def _parsed(text: str) -> object:
    """Return what a cell of a CSV file holds; 1e+05 is an integer, and text stays text."""
    text = text.strip()
    if text in _MISSING:
        return None
    if _NUMBER.fullmatch(text):
        short = text.lstrip("+-").isdigit() and len(text) < 20
        value = int(text) if short else _whole(float(text))
        return value if math.isfinite(value) or text.lower().endswith("inf") else text
    return _FLAGS.get(text.lower(), text)


def _plain(cell: object, *, as_text: bool) -> object:
    """Return a cell as JSON can hold it."""
    if isinstance(cell, np.generic):
        cell = cell.item()
    if cell is None or cell != cell:  # noqa: PLR0124 - NaN
        return None
    if isinstance(cell, float):
        cell = _whole(cell)
    return str(cell) if as_text or not isinstance(cell, bool | int | float) else cell


def _whole(value: float) -> float:
    return int(value) if value.is_integer() and abs(value) <= MAX_INTEGER else value


def write_columns(columns: Mapping[str, Any], path: PathLike) -> None:
    """Write columns as a CSV file, which appears whole or not at all."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(columns)
    lists = (column.tolist() for column in columns.values())
    writer.writerows([_written(cell) for cell in row] for row in zip(*lists, strict=True))
    try:
        replace_file(path, text.getvalue().encode())
    except UnicodeEncodeError as error:
        fault = f"cannot be written: {show(error.object[error.start])} is half of a surrogate pair"
        raise FormatError(str(path), [fault]) from None


def _written(cell: object) -> object:
    if isinstance(cell, bool):
        return int(cell)
    return _whole(cell) if isinstance(cell, float) else cell
