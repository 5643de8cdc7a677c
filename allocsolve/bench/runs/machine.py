"""The facts of this machine that stand in every record: what times depend on."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import os
import platform

__all__ = ["machine"]


@functools.cache
def machine() -> dict[str, str | int | None]:
    """Return platform, processors and the versions of what solvers are built on."""
    facts: dict[str, str | int | None] = {
        "platform": platform.platform(),
        "processor": _processor(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
    }
    for package in ("numpy", "scipy", "numba", "ortools", "pulp"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            facts[package] = importlib.metadata.version(package)
    return facts


def _processor() -> str:
    """Return the model of the processor as Linux names it; elsewhere what `platform` tells."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:  # noqa: PTH123 - read line by line until the model is named
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
