"""Random changes that spoil what is valid: files of every format, and command lines."""

from __future__ import annotations

import gzip
import json
import sqlite3
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

#: Raw texts of JSON and TOML in place of a value.
RAW: Final = (
    *("null", "true", "-1", "0", "1.5", "1e308", "-1e308", "1e400", "9007199254740993", "[]", "{}", '""'),
    *("9" * 400, "-" + "9" * 400, "9" * 5000, "0." + "3" * 5000, "NaN", "-Infinity", "Infinity", "inf"),
    *("nan", "[" * 60 + "]" * 60, "[" * 5000 + "]" * 5000, '{"a":' * 200 + "1" + "}" * 200, "[[[]], {}]"),
    *('"\\u001b[2J\\u0007"', '"\\u202eb\\u2066"', '"\\ud800"', '"\\u0000"', '"' + "x" * 5000 + '"'),
    "1979-05-27",
)
#: Values that a field might well have, at the edges of what it may.
EDGES: Final = (
    *("0", "1", "2", "3", "-1", "-9007199254740992", "9007199254740992", "9007199254740991", "1.0000001"),
    *("2147483647", "2147483648", "16777216", "16384", "1e15", "4611686018427387904", "0.1", "true", "false"),
    *("1e300", '"a0"', '"a1"', '""', '"optimal"', "[]", "[1]", "[[1, 1]]", "[0, 1, 2]", '["noX"]'),
    '{"a": 1}',
)
#: Texts in place of a word of a command line, or of a name.
WORDS: Final = (
    *("", "-", "--", "-1", "0", "1.5", "nan", "inf", "-inf", "1e400", "1e308", "9" * 400, "9007199254740993"),
    *("x" * 5000, "\x1b[2J\x07", "a\nb\rc", "\u202eb\u2066", "\udcff", "\x85\u2028", "\u0663", "=", ","),
    *("a=b", "1-", "-1-5", "5-1", "(", ")", "noX(", "noX)", "no-such", "no/such", "no.json", ".", "..", "~"),
    *("*", "--no-such", "--json", "--force", "-v", "expand_limit=1e308", "makespan,makespan", ":", "a:b"),
    "a.b:c",
)
#: Bytes that a file may not hold.
BYTES: Final = (
    *(b"", b"\0", b"\xff", b"\xef\xbb\xbf", b"\x1b[2J", b"\n", b"\r", b'"', b"{", b"]", b",", b"9" * 400),
    *(b"\xe2\x80\xae", b"x" * 20_000, b"(" * 3000, b"[" * 3000, b"1e999", b"-", b".", b"NaN", b"#", b"'"),
    b";",
)
#: Values that a cell of a table may not hold.
CELLS: Final = (
    *(None, -1, 0, 2**62, 1e308, float("inf"), "", "x" * 5000, "\x1b[2J", "\u202e", b"\xff\0", "[1, ", "{}"),
)


def spoilt(rng: random.Random, name: str, data: bytes) -> bytes:
    """Return a file with a few changes."""
    if name.endswith(".sqlite") and rng.random() < 0.8:
        return _spoil_records(rng, data)
    if name.endswith(".gz") and rng.random() < 0.7:
        return gzip.compress(spoilt_text(rng, gzip.decompress(data)), mtime=0)
    if name.endswith(".json") and rng.random() < 0.7:
        return _spoil_document(rng, json.loads(data))
    return spoilt_text(rng, data)


def spoilt_text(rng: random.Random, data: bytes) -> bytes:
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        start = rng.randrange(len(data) + 1)
        end = min(len(data), start + rng.choice((0, 0, 1, 1, 2, 8, 100)))
        words = [match for match in data.split() if match] or [b""]
        kind = rng.randrange(6)
        if kind == 0:
            data = data[:start]
        elif kind == 1:
            data = data[:start] + data[end:]
        elif kind == 2:
            data = data[:end] + data[start:]
        elif kind == 3:
            data = data[:start] + bytes([rng.randrange(256)]) + data[start + 1 :]
        elif kind == 4:
            old = rng.choice(words)
            data = data.replace(
                old, rng.choice((*BYTES, *(raw.encode() for raw in (*RAW, *EDGES, *EDGES)))), 1
            )
        else:
            data = data[:start] + rng.choice(BYTES) + data[end:]
    return data


def with_changed_bytes(rng: random.Random, data: bytes, signs: bytes) -> bytes:
    """Return bytes of which some are changed, left out, written twice, or one of the signs."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 3, 20))):
        at = rng.randrange(len(changed))
        kind = rng.randrange(4)
        if kind == 0:
            changed[at] = rng.randrange(256)
        elif kind == 1:
            del changed[at : at + rng.randrange(1, 30)]
        elif kind == 2:
            changed[at:at] = changed[at : at + rng.randrange(1, 400)]
        else:
            changed[at] = rng.choice(signs)
    return bytes(changed)


def _places(value: Any, parent: Any = None, key: Any = None) -> list[tuple[Any, Any]]:
    found = [] if parent is None else [(parent, key)]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for below, item in list(items):
        found += _places(item, value, below)
    return found


def _spoil_document(rng: random.Random, document: Any) -> bytes:
    raws: list[str] = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        parent, key = rng.choice(_places(document) or [(document, "x")])
        kind = rng.randrange(6)
        if kind <= 2:
            raws.append(rng.choice(rng.choice((RAW, EDGES, EDGES))))
            parent[key] = f"<{len(raws) - 1}>"
        elif kind == 3:
            del parent[key]
        elif isinstance(parent, dict):
            parent[rng.choice((*WORDS[:30], *map(str, parent)))] = parent[key]
        else:
            parent.append(rng.choice((parent[key], None, "x", -5, 10**9, [[1, 1]])))
        if not document:
            break
    text = json.dumps(document)
    for idx, raw in enumerate(raws):
        text = text.replace(f'"<{idx}>"', raw)
    if rng.random() < 0.1 and text.startswith("{"):
        text = f'{{"format": "allocsolve/1", {text[1:]}'
    return text.encode("utf-8", "surrogatepass")


def _spoil_records(rng: random.Random, data: bytes) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.sqlite"
        path.write_bytes(data)
        base = sqlite3.connect(path)
        for _ in range(rng.randint(1, 2)):
            tables = [
                name
                for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            ]
            table = rng.choice([*tables, "records", "records"])
            columns = [row[1] for row in base.execute(f"PRAGMA table_info({table})").fetchall()]
            value: object = rng.choice(CELLS)
            if rng.random() < 0.4:
                value = rng.choice((*RAW, *EDGES, *WORDS)).encode("utf-8", "replace").decode()
            row = rng.randint(1, 3)
            where = "" if table == "problems" else f"WHERE rowid = {row}"
            try:
                base.execute(f'UPDATE {table} SET "{rng.choice(columns)}" = ? {where}', (value,))  # noqa: S608 - of our own file
            except sqlite3.Error:  # a constraint of the file itself
                base.execute(f"PRAGMA user_version = {rng.choice((0, 1, 2, 99))}")
        base.commit()
        base.close()
        return path.read_bytes()


def spoilt_words(rng: random.Random, argv: Sequence[str]) -> tuple[str, ...]:
    words = list(argv)
    for _ in range(rng.randint(1, 2)):
        place = rng.randrange(1, len(words))
        kind = rng.randrange(7)
        if kind <= 2:
            words[place] = rng.choice(WORDS)
        elif kind == 3:
            del words[place]
        elif kind == 4:
            words.insert(place, rng.choice((*WORDS, *words)))
        elif kind == 5:
            words[place] = words[place] + rng.choice(WORDS)
        else:
            cut = rng.randrange(len(words[place]) + 1)
            words[place] = words[place][:cut] + rng.choice(WORDS) + words[place][cut:]
        if len(words) < 2:
            break
    return tuple(words)
