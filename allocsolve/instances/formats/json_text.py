"""JSON files on disk: read with every fault named, written whole or not at all."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from allocsolve.errors import FormatError
from allocsolve.instances.formats.checker import Document, show

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PathLike", "canonical", "load", "replace_file", "save"]

PathLike: TypeAlias = "str | os.PathLike[str]"

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
    return int(digits) if len(digits) < 320 else float(digits)  # which is infinite


def load(path: PathLike) -> Document:
    """Read a JSON object.

    Raises
    ------
    FormatError
        If the file cannot be read, is not JSON (duplicate keys, NaN and Infinity are not), or no object.
    """
    try:
        document = json.loads(Path(path).read_bytes().decode(), object_pairs_hook=_pairs, parse_int=_integer)
        faults = list(_unlawful(document, ""))
    except OSError as error:
        faults = [f"cannot be read: {error.strerror}"]
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        faults = [f"line {line}: byte 0x{error.object[error.start]:02x} is not UTF-8"]
    except json.JSONDecodeError as error:
        faults = [f"line {error.lineno}, column {error.colno}: {error.msg}"]
    except RecursionError:
        faults = ["lists and objects are nested too deeply"]
    else:
        if isinstance(document, dict) and not faults:
            return document
        faults = faults or [f"must be an object, not {show(document)}"]
    raise FormatError(str(path), faults)


def _unlawful(value: object, place: str) -> Iterator[str]:
    """Find what `json` lets pass although it is not JSON, or not text that could be written again."""
    if isinstance(value, dict):
        if isinstance(value, _Repetitive):
            yield from (f"{place or 'top level'}: the key {show(key)} stands twice" for key in value.twice)
        for key, item in value.items():
            yield from _unlawful(key, place)
            name = key if key.isidentifier() else show(key)
            yield from _unlawful(item, f"{place}.{name}" if place else name)
    elif isinstance(value, list):
        for idx, item in enumerate(value):
            yield from _unlawful(item, f"{place}[{idx}]")
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
