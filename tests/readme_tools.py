"""The blocks of the README for its three readers, as they are written there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]

_TRAIL = re.compile(r"(?ms)^\*\*You ([^*]+)\.\*\*.*?^```sh\n(.*?)^```\n\n```text\n(.*?)^```$")


class Trail(NamedTuple):
    """What a reader is, the commands, and what they print."""

    reader: str
    commands: str
    shown: str


def trails() -> dict[str, Trail]:
    """Return the trails of the README, by the last word of what their reader does."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = [Trail(*match) for match in _TRAIL.findall(text)]
    return {trail.reader.split()[-1]: trail for trail in found}
