"""JSON files on disk: read with every fault named, written whole or not at all."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from allocsolve.errors import FormatError
from allocsolve.instances.formats.checker import Document, show
from allocsolve.instances.formats.reading import PathLike, read_input

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MAX_DEPTH", "canonical", "load", "parse", "replace_file", "save"]

#: How deep lists and objects may be nested. What is read can then be written, copied and sent, too.
MAX_DEPTH: Final = 100

_dumps = partial(json.dumps, ensure_ascii=False, allow_nan=False)


def canonical(document: Document) -> bytes:
    """Return the text that digests are taken of."""
    return _dumps(document, sort_keys=True, separators=(",", ":")).encode()


class _Repetitive(dict[str, Any]):
    """An object in which a key stands twice: refused as soon as its place is known."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.twice = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]


def _pairs(pairs: list[tuple[str, Any]]) -> Document:
    document = dict(pairs)
    return document if len(document) == len(pairs) else _Repetitive(pairs)


def _integer(digits: str) -> float:
    return int(digits) if len(digits) < 309 else float(digits)  # as large as a double, or infinite


def load(path: PathLike) -> Document:
    """Read a JSON object from a file.

    Raises
    ------
    FormatError
        If the file cannot be read, or as `parse`.
    """
    try:
        data = read_input(path)
    except OSError as error:
        raise FormatError(str(path), [f"cannot be read: {error.strerror}"]) from error
    return parse(data, str(path))


def parse(data: bytes, source: str) -> Document:
    """Return the JSON object that a text in UTF-8 holds.

    Parameters
    ----------
    data
        The text.
    source
        What messages call it.

    Raises
    ------
    FormatError
        If it is empty, not JSON (duplicate keys, NaN and Infinity are not), nested deeper than `MAX_DEPTH`,
        or no object.
    """
    try:
        document = json.loads(data.decode(), object_pairs_hook=_pairs, parse_int=_integer)
        faults = list(_unlawful(document, "", MAX_DEPTH))
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        faults = [f"line {line}: byte 0x{error.object[error.start]:02x} is not UTF-8"]
    except json.JSONDecodeError as error:
        faults = [f"line {error.lineno}, column {error.colno}: {error.msg}" if data.strip() else "is empty"]
    except RecursionError:
        faults = ["lists and objects are nested too deeply"]
    else:
        if isinstance(document, dict) and not faults:
            return document
        faults = faults or [f"must be an object, not {show(document)}"]
    raise FormatError(source, faults)


def _unlawful(value: object, place: str, depth: int) -> Iterator[str]:
    """Find what `json` lets pass although it is not JSON, or not text that could be written again."""
    if isinstance(value, dict | list) and not depth:
        top = place.partition(".")[0].partition("[")[0]
        yield f"{top or 'top level'}: lists and objects are nested deeper than {MAX_DEPTH}"
    elif isinstance(value, dict):
        if isinstance(value, _Repetitive):
            yield from (f"{place or 'top level'}: the key {show(key)} stands twice" for key in value.twice)
        for key, item in value.items():
            yield from _unlawful(key, place, depth - 1)
            name = key if key.isidentifier() else show(key)
            yield from _unlawful(item, f"{place}.{name}" if place else name, depth - 1)
    elif isinstance(value, list):
        for idx, item in enumerate(value):
            yield from _unlawful(item, f"{place}[{idx}]", depth - 1)
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{place}: {value} is not a finite number"
    elif isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
        yield f"{place}: {show(value)} has half of a surrogate pair"


def save(document: Document, path: PathLike) -> None:
    """Write a JSON object with a line for each field, and for each object in a list.

    Raises
    ------
    FormatError
        If the file cannot be written, or the document holds something that is not JSON.
    """
    try:
        data = _layout(document).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise FormatError(str(path), [f"cannot be written as JSON: {error}"]) from error
    replace_file(path, data)


def replace_file(path: PathLike, data: bytes) -> None:
    """Write a file, which appears whole or not at all.

    Raises
    ------
    FormatError
        If it cannot be written.
    """
    target = Path(path)
    temporary = target.parent / f".{target.name}.{os.getpid()}"
    try:
        if target.exists() and not target.is_file():  # a device or a pipe must not be replaced
            target.write_bytes(data)
        else:
            temporary.write_bytes(data)
            temporary.replace(target)
    except OSError as error:
        raise FormatError(str(path), [f"cannot be written: {error.strerror}"]) from error
    finally:
        with suppress(OSError):
            temporary.unlink()  # there only if something failed, be it by Ctrl-C


def _layout(document: Document) -> str:
    """Return JSON with a line for each field and each application: a change shows as a short diff."""
    lines = []
    for key, value in document.items():
        items = value if isinstance(value, list) and any(isinstance(item, dict) for item in value) else []
        rows = ",\n".join(f"    {_dumps(item)}" for item in items)
        lines.append(f"  {_dumps(key)}: " + (f"[\n{rows}\n  ]" if rows else _dumps(value)))
    return "{\n" + ",\n".join(lines) + "\n}\n"
