"""What makes no text of a file of text, and what readers say of it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from fuzz_changes import with_changed_bytes
from offenders import all_offenders

from allocsolve.errors import AllocsolveError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


#: What a file may be instead, from its good bytes.
NO_TEXT: Final[dict[str, Callable[[bytes], bytes]]] = {
    "nothing": lambda _: b"",
    "blanks": lambda _: b" \n\t\n",
    "zeros": lambda _: bytes(999),
    "noise": lambda _: random.Random(5).randbytes(5000),
    "another file": lambda _: b"#!/bin/sh\necho hello\n",
    "text of 16 bits": lambda data: data.decode().encode("utf-16"),
    "the first bytes": lambda data: data[:40],
    "columns of a spreadsheet": lambda _: b"Job;Start;End\n1;08:00;09:00\n",
}


def mangled_json(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield what was JSON: cut, and with other marks."""
    for share in (1, 10, 30, 50, 70, 90, 99):
        yield f"cut to {share} %", data[: len(data) * share // 100]
    for old, new in ((":", "="), (",", ";"), ("[", "("), ("}", ""), ('"', "'"), ("{", "[")):
        yield f"{new!r} for {old!r}", data.decode().replace(old, new, 9).encode()


def refusal(read: Callable[[], object]) -> str | None:
    """Return what is said of a file; None if it is taken."""
    try:
        read()
    except AllocsolveError as refused:
        return str(refused)
    return None


def check_changed_bytes(data: bytes, read: Callable[[bytes], str | None]) -> None:
    """Change bytes anywhere, leave them out or write them twice: what is said of each is one line at most."""
    rng = random.Random(2024)
    with all_offenders() as offender:
        for number in range(200):
            changed = with_changed_bytes(rng, data, b'0-,:;+*/"{}[]| \n')
            with offender(f"number {number}"):
                assert "\n" not in (read(changed) or "")
