"""Files: bytes within bounds, JSON with every fault named, and files written whole or not at all.

Devices and pipes are files, too: nothing is read beyond a bound or waited for longer than a moment. What
begins as files of gzip do is unpacked, within the same bound; what is written to a name that ends in ``.gz``
is packed. What the codecs of all kinds share is here as well: the checker of the fields of a JSON object.
"""

from __future__ import annotations

import errno
import gzip
import io
import json
import math
import os
import re
import select
import stat
import zlib
from collections import Counter
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeAlias

from allocsolve.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _typeshed import WriteableBuffer

PathLike: TypeAlias = "str | os.PathLike[str]"

#: The largest document that is read: two million applications of one step.
MAX_BYTES: Final = 2**27

#: How files of gzip begin, and how their names end.
GZIP: Final = b"\x1f\x8b"
COMPRESSED: Final = ".gz"

#: How long a named pipe waits for somebody who writes, in seconds.
_PATIENCE_S: Final = 2.0


class _Pipe(io.FileIO):
    """A pipe that ends if nobody writes; who does may take any time between two bytes."""

    def __init__(self, path: PathLike) -> None:
        # Opened like this, a pipe does not wait for its other end.
        super().__init__(path, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))
        self._patience = _PATIENCE_S

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        while True:
            count = super().readinto(buffer)
            if count is None:  # somebody is there, but silent
                select.select([self], [], [])
            elif count or not self._patience:
                self._patience = 0.0
                return count
            else:
                select.select([self], [], [], self._patience)
                self._patience = 0.0


def open_input(path: PathLike) -> io.BufferedReader:
    """Open a file, a device or a pipe. A pipe into which nobody writes is empty."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - a path of any type
    except ValueError as error:  # a null character
        raise OSError(errno.EINVAL, str(error), path) from None
    if stat.S_ISFIFO(mode):
        return io.BufferedReader(_Pipe(path))
    return open(path, "rb")  # noqa: PTH123 - a path of any type; the caller closes it


def read_input(path: PathLike, max_bytes: int | None = None) -> bytes:
    """Read a file, a device or a pipe; one that is gzipped is unpacked.

    Raises `FormatError` if it has more than `max_bytes` (`MAX_BYTES` by default), packed or unpacked, as
    endless devices have; or if it begins as files of gzip do and is none.
    """
    with open_input(path) as stream:
        return read_stream(stream, str(path), max_bytes)


def read_whole(path: PathLike, max_bytes: int | None = None) -> bytes:
    """Do as `read_input`; also a file that is not there, or may not be read, is a `FormatError`."""
    try:
        return read_input(path, max_bytes)
    except OSError as error:
        raise FormatError(str(path), [f"cannot be read: {error.strerror}"]) from error


def read_stream(stream: BinaryIO, source: str, max_bytes: int | None = None) -> bytes:
    """Read all of a stream, which messages call `source`; errors as in `read_input`."""
    largest = MAX_BYTES if max_bytes is None else max_bytes
    data, more = stream.read(largest + 1), ""
    if data.startswith(GZIP) and len(data) <= largest:
        more = " unpacked"
        try:
            with gzip.open(io.BytesIO(data)) as unpacked:
                data = unpacked.read(largest + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise FormatError(source, [f"cannot be unpacked: {error}"]) from error
    if len(data) > largest:
        raise FormatError(source, [f"is larger than {largest >> 20} MiB{more}"])
    return data


def unpacked_path(path: PathLike) -> Path:
    """Return a path without the ending that files of gzip have: what is left tells what is in them."""
    return Path(path).with_suffix("") if is_compressed(path) else Path(path)


def is_compressed(path: PathLike) -> bool:
    """Tell whether a file is packed by gzip, by the end of its name."""
    return Path(path).suffix.lower() == COMPRESSED


#: A JSON object as `json.loads` returns it.
Document: TypeAlias = dict[str, Any]


def show(value: object) -> str:
    """Return a JSON value as it may stand in a one-line message."""
    if isinstance(value, list | dict):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    text = repr(value) if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 50 else f"{text[:47]}..."


class Checker:
    """Keeps the faults of a file until all are known.

    A fault is either one that the JSON Schema of the kind of file shows, too (a field that is missing,
    unknown, of another type or out of its range), or one that only the reader finds: it lies between fields.
    """

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.breaks_schema = False

    def add(self, place: str, fault: str) -> None:
        """Note a fault that no schema shows; the place is the path of a field, empty for the document."""
        self.faults.append(f"{place}: {fault}" if place else fault)

    def add_shape(self, place: str, fault: str) -> None:
        """Note a fault that the schema shows, too."""
        self.add(place, fault)
        self.breaks_schema = True

    def finish(self, source: str) -> None:
        """Raise a FormatError that names every fault, if there is one."""
        if self.faults:
            raise FormatError(source, self.faults, breaks_schema=self.breaks_schema)


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
    """Read a JSON object from a file."""
    return parse(read_whole(path), str(path))


def parse(data: bytes, source: str) -> Document:
    """Return the JSON object that a text in UTF-8 holds.

    Raises `FormatError` if it is empty, not JSON (duplicate keys, NaN and Infinity are not), nested deeper
    than `MAX_DEPTH`, or no object.
    """
    try:
        text = data.decode()
        if (document := _plain_document(data, text)) is not None:
            faults = []
        else:
            document = json.loads(text, object_pairs_hook=_pairs, parse_int=_integer)
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


#: Every digit is a 0 and every blank a space, so that a number of many digits is found as a text.
_PATTERN: Final = bytes.maketrans(b"123456789\t\n\r", b"000000000   ")


def _plain_document(data: bytes, text: str) -> object:
    """Return what a text holds if it is certain that `_unlawful` finds no fault there; else None.

    The walk over all places takes two thirds of the time of reading, and hardly any file has a fault. A text
    is plain if no integer has 200 digits, no half of a surrogate pair is written as an escape, and each colon
    after a key stands right behind it. Then `":` occurs at least once for each key, so no key stands twice if
    it occurs as often as there are keys in all objects together. Infinite numbers are named so, or have an
    exponent; and only lists and objects are gone through level by level.
    """
    pattern, behind = data.translate(_PATTERN), data.count(b'":')
    if (
        (data.count(b":") > behind and b" :" in pattern)
        or b"0" * 200 in pattern
        or (b"\\" in data and re.search(rb"\\u[dD][89a-fA-F]", data))
    ):
        return None
    document = json.loads(text)
    keys = 0
    objects: list[Document] = [{"": document}]
    lists: list[list[Any]] = []
    for _ in range(MAX_DEPTH + 1):
        kinds = {*map(type, _values(objects, lists))}
        if float in kinds and _may_be_infinite(data, pattern):
            floats = (value for value in _values(objects, lists) if type(value) is float)
            if not all(map(math.isfinite, floats)):
                return None
        if kinds.isdisjoint({dict, list}):
            return document if keys == behind else None
        level = [*_values(objects, lists)]
        objects = [value for value in level if type(value) is dict] if dict in kinds else []
        lists = [value for value in level if type(value) is list] if list in kinds else []
        keys += sum(map(len, objects))
    return None


def _values(objects: list[Document], lists: list[list[Any]]) -> Iterator[Any]:
    return chain(chain.from_iterable(map(dict.values, objects)), chain.from_iterable(lists))


def _may_be_infinite(data: bytes, pattern: bytes) -> bool:
    return any(sign in pattern for sign in (b"0e", b"0E")) or b"NaN" in data or b"Infinity" in data


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
    """Write a JSON object with a line for each field, and for each object in a list."""
    try:
        data = _layout(document).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise FormatError(str(path), [f"cannot be written as JSON: {error}"]) from error
    replace_file(path, data)


def replace_file(path: PathLike, data: bytes) -> None:
    """Write a file, packed if its name ends in ``.gz``; it appears whole or not at all."""
    target = Path(path)
    temporary = target.parent / f".{target.name}.{os.getpid()}"
    if is_compressed(path):
        data = gzip.compress(data, mtime=0)
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
            temporary.unlink()  # there only if something failed, or after Ctrl-C


def _layout(document: Document) -> str:
    """Return JSON with a line for each field and each application: a change shows as a short diff."""
    lines = []
    for key, value in document.items():
        items = value if isinstance(value, list) and any(isinstance(item, dict) for item in value) else []
        rows = ",\n".join(f"    {_dumps(item)}" for item in items)
        lines.append(f"  {_dumps(key)}: " + (f"[\n{rows}\n  ]" if rows else _dumps(value)))
    return "{\n" + ",\n".join(lines) + "\n}\n"
