"""How much memory a process has held."""

from __future__ import annotations

from pathlib import Path


def peak_mb() -> float:
    """Return the most that this process has held, in MB (10^6 bytes).

    Not ``ru_maxrss``: a child process starts with that of its parent.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6
