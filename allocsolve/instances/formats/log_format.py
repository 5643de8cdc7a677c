"""Which format a log of a real machine has, by what stands in it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from allocsolve.errors import FormatError
from allocsolve.instances.formats.log_lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.instances.formats.reading import PathLike

__all__ = ["LOG_FORMATS", "log_format"]

LOG_FORMATS: Final = ("swf", "sacct")

#: Lines that are looked at: a log begins with its header or with jobs.
_LOOKED_AT: Final = 100
#: Fields of a line of the Standard Workload Format, at least.
_SWF_FIELDS: Final = 18


def log_format(path: PathLike) -> str:
    """Return ``swf`` or ``sacct``, as the first line that is not empty says; the name does not count.

    Parameters
    ----------
    path
        The file; gzipped if its name ends in ``.gz``.

    Raises
    ------
    FormatError
        If the file cannot be read, or begins like neither.
    """
    first, _ = read_lines(path, _first)
    fields = first.split()
    if first.lstrip().startswith(";") or (len(fields) >= _SWF_FIELDS and all(map(_is_number, fields))):
        return "swf"
    if "submit" in first.lower():
        return "sacct"
    fault = "begins neither with comments or jobs of the Standard Workload Format nor with names of columns"
    raise FormatError(str(path), [f"{fault} such as sacct -P prints, with Submit among them"])


def _first(lines: Iterator[tuple[int, str]]) -> str:
    return next((text for _, text in islice(lines, _LOOKED_AT) if text.strip()), "")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
